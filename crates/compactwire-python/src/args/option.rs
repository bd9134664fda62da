//! The words of options, and arguments of free text.

use super::number::shown;
use super::object::{text, wrong_type};
use super::text::lossy;
use super::text::{enough_for, utf8, utf8_if_whole};
use crate::errors::invalid_option;
use crate::make::Str;
use compactwire::compact::delta::Replace;
use compactwire::compact::{Choice, Format, Layout, Protocol};
use compactwire::excerpt::excerpt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use std::fmt::Display;

/// The name of a choice. A text with a lone surrogate becomes a name that no choice has, so that the caller
/// rejects it with an error that lists the choices.
pub(crate) fn word<'a>(value: &'a Bound<'_, PyAny>, option: impl Display) -> PyResult<&'a str> {
    Ok(utf8_if_whole(text(value, option)?)?.unwrap_or("\u{fffd}"))
}

/// Functions for `#[pyo3(from_py_with = args::words::types)]` and the like: each is [`word`] with the name of
/// its option, which PyO3 tells only in a note on the exception.
macro_rules! words {
    ($($option:ident)*) => {
        pub(crate) mod words {
            use pyo3::prelude::*;
            $(pub(crate) fn $option<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
                super::word(value, stringify!($option))
            })*
        }
    };
}

words! { dangling dialect errors format output reason replace types unknown }

/// As [`words`], for options that may be `None`.
macro_rules! words_if_any {
    ($($option:ident)*) => {
        pub(crate) mod words_if_any {
            use pyo3::prelude::*;
            $(pub(crate) fn $option<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
                if value.is_none() {
                    return Ok(None);
                }
                super::word(value, stringify!($option)).map(Some)
            })*
        }
    };
}

words_if_any! { dialect format target }

/// A conversion for each argument of free text, with the argument's name, for
/// `#[pyo3(from_py_with = args::written::tool)]`: PyO3 does not pass the name to a conversion, and the
/// `UnsupportedValue` for a lone surrogate contains it.
pub(crate) mod written {
    use super::{enough_for, text as text_of, utf8};
    use pyo3::prelude::*;

    macro_rules! arguments {
        ($($name:ident),*) => { $(
            pub(crate) fn $name<'a, T: From<&'a str>>(value: &'a Bound<'_, PyAny>) -> PyResult<T> {
                Ok(enough_for(utf8(text_of(value, stringify!($name))?, stringify!($name))?)?.into())
            }
        )* };
    }

    /// As above, for arguments that may be `None`.
    macro_rules! optional_arguments {
        ($($name:ident),*) => { $(
            pub(crate) fn $name<'a, T: From<&'a str>>(
                value: &'a Bound<'_, PyAny>,
            ) -> PyResult<Option<T>> {
                if value.is_none() {
                    return Ok(None);
                }
                Ok(Some(enough_for(utf8(text_of(value, stringify!($name))?, stringify!($name))?)?.into()))
            }
        )* };
    }

    arguments!(base_root, check, code, content_type, group, id, key, label, message, model);
    arguments!(name, new_root, phase, status, text, tool);
    optional_arguments!(path, peer_root);

    /// `name=` of a dictionary.
    pub(crate) mod optional {
        use super::{enough_for, text_of, utf8};
        use pyo3::prelude::*;
        optional_arguments!(name);
    }
}

/// `protocol=`: 2 or 4.
pub(crate) fn protocol(value: &Bound<'_, PyInt>) -> PyResult<Protocol> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(value, "protocol", "an int or None"));
    }
    match value.extract::<i64>() {
        Ok(2) => Ok(Protocol::V2),
        Ok(4) => Ok(Protocol::V4),
        _ => {
            let message = format!("protocol must be 2 or 4, not {}", shown(value));
            Err(invalid_option("protocol", &message))
        }
    }
}

/// `format=`: one of the seven formats, `auto` or `smallest`.
pub(crate) fn choice(name: &str) -> PyResult<Choice> {
    match name {
        "auto" => return Ok(Choice::Auto),
        "smallest" => return Ok(Choice::Smallest),
        _ => {}
    }
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    format.map(Choice::Format).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        let message =
            format!("format must be one of {names}, auto, smallest, not {}", excerpt(name));
        invalid_option("format", &message)
    })
}

/// `msgpack_version=`: 1, 2, 3 or `"map"`.
pub(crate) fn layout(value: &Bound<'_, PyAny>) -> PyResult<Layout> {
    if value.is_instance_of::<PyBool>() {
        // `True` equals 1, but is an error here.
    } else if let Ok(number) = value.cast::<PyInt>() {
        match number.extract::<i64>() {
            Ok(1) => return Ok(Layout::V1),
            Ok(2) => return Ok(Layout::V2),
            Ok(3) => return Ok(Layout::V3),
            _ => {}
        }
    } else if value.eq(Str("map"))? {
        return Ok(Layout::Map);
    }
    let expected = "1, 2, 3 or 'map'";
    let found = match (value.cast::<PyString>(), value.cast::<PyInt>()) {
        (Ok(text), _) => excerpt(&lossy(text)?),
        (Err(_), Ok(number)) if !number.is_instance_of::<PyBool>() => shown(number),
        _ => return Err(wrong_type(value, "msgpack_version", expected)),
    };
    Err(invalid_option(
        "msgpack_version",
        &format!("msgpack_version must be {expected}, not {found}"),
    ))
}

/// `replace=`: `overwrite` or `truncate`.
pub(crate) fn replace(name: &str) -> PyResult<Replace> {
    one_of("replace", name, [("overwrite", Replace::Overwrite), ("truncate", Replace::Truncate)])
}

/// The choice that has this name; `OptionError` on `option` if none has.
pub(crate) fn one_of<T, const N: usize>(
    option: &str,
    name: &str,
    choices: [(&str, T); N],
) -> PyResult<T> {
    // Most calls name a choice, so no text is made before it is needed.
    let names = choices.each_ref().map(|(choice, _)| *choice);
    let chosen = choices.into_iter().find(|(choice, _)| *choice == name);
    chosen.map(|(_, choice)| choice).ok_or_else(|| {
        let names = alternatives(&names.map(|name| format!("'{name}'")));
        invalid_option(option, &format!("{option} must be {names}, not {}", excerpt(name)))
    })
}

/// `a, b or c`.
fn alternatives(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}
