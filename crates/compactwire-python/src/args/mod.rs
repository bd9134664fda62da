//! Converts arguments from Python to the values that the core accepts.
//!
//! Invariant: an argument of a wrong type is a `TypeError`, and a value that the core does not accept is one
//! of the package's errors. Both name the argument.
//!
//! # Modules
//!
//! - [`text`]: the UTF-8 of a `str`. [`input`]: text or bytes. [`file`]: files and paths.
//! - [`number`]: numbers and sizes. [`option`]: the words of options.
//! - [`object`]: the type of an argument, and the items of an iterable.
//! - [`named`]: arguments of one type.

pub(crate) mod file;
pub(crate) mod input;
pub(crate) mod named;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod option;
pub(crate) mod text;

pub(crate) use file::{PathFile, open_path, path, path_of, read_file};
pub(crate) use input::{Input, view_of_bytes};
pub(crate) use number::{
    clamped, depth, double, int64, min_saving, natural, shown, sizes, token_count,
};
pub(crate) use object::{
    Passed, Unused, as_mapping, boolean, check_callable, each, is_sequence, iterator, lacks_method,
    names, text, wrong_type,
};
pub(crate) use option::{
    choice, layout, one_of, protocol, replace, word, words, words_if_any, written,
};
pub(crate) use text::{
    class_name, enough_for, lossy, option_text, surrogate_at, utf8, utf8_if_whole, utf8_or,
    utf8_with_surrogates,
};
