//! `compactwire.gcf`, generic profile: `dumps` and `loads`, their variants for bytes, files and groups of
//! rows, and `from_json` and `to_json`, which make no Python objects. GCF 3.6 sections 2 to 8.
//!
//! `keyed` has sets of rows with a key, `rows` reads and `stream` writes row by row, `tree` takes values for
//! the writer.

pub(super) mod keyed;
mod rows;
mod stream;
mod tree;

use super::args::{self, Input, depth, path_of, read_file, sizes};
use super::detached;
use crate::args::named;
use crate::bytes_memory::BytesMemory;
use crate::calls::{Run, detach, import};
use crate::column;
use crate::errors::Result;
use crate::files::write_file;
use crate::interrupt::{attached, undone};
use crate::make::{args, make_bytes, make_str, memory_error, name, py_error};
use crate::value::collector::CollectorPause;
use crate::value::conversions::Conversions;
use crate::value::converter;
use crate::value::objects::Objects;
use crate::value::owned::OwnedWalk;
use crate::value::read_fast::{BorrowedWalk, NotPlain};
use crate::value::{read, read_fast};
use compactwire::arrow::{Column, Error, Table};
use compactwire::gcf::{self, Builder, Bump, DecodeOptions, EncodeOptions, Grouping, Limits, Tree};
use compactwire::json::Escape;
use compactwire::memory::NO_MEMORY;
use compactwire::text::output::{Memory, Output};
use compactwire::walk::Stop;
use pyo3::exceptions::{PyBlockingIOError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use tree::TreeTarget;

pub(super) use keyed::KeyedSet;

/// GCF; import `compactwire.gcf` instead.
#[pymodule(name = "gcf", gil_used = false)]
pub(super) mod module {
    #[pymodule_export]
    use super::keyed::{
        KeyedDelta, KeyedProducer, KeyedSet, KeyedSnapshots, read_keyed, read_keyed_delta,
        receive_keyed,
    };
    #[pymodule_export]
    use super::rows::iter_rows;
    #[pymodule_export]
    use super::stream::StreamEncoder;
    #[pymodule_export]
    use super::{dump, dumps, dumps_bytes, dumps_grouped, from_json, load, loads, to_json};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_class::<super::rows::RowIterator>(module.py())?;
        crate::make_importable(module)
    }
}

/// Encode a value as GCF text.
///
/// Parameters
/// ----------
/// obj : dict, list, tuple, str, int, float, bool or None
///     The value, as for `json.dumps`; keys are str.
/// default : callable, optional
///     Called with each object of another class; returns an object to write in its place, or raises
///     `TypeError`, as in `json.dumps`.
/// types : {"json", "common"}
///     Which objects the value may contain: "json" only those listed for `obj`; "common" also
///     dates, UUIDs, enums, dataclasses, numpy values and others, as `compactwire.shrink` writes
///     them.
/// flatten : bool
///     Whether nested objects with the same keys in every row of a table are written as columns
///     `"a>b"`.
/// constant_columns : bool
///     Whether a column with the same value in all rows is written in the header. `loads` reads
///     this, but other readers of GCF 3.6 may not.
/// group_values : bool
///     Whether the rows of the root are written in groups with the same value of one column. This
///     is done only if all values are scalars, the rows keep their order, and the text becomes
///     shorter. A text with groups also has constant columns, as with `constant_columns`; other
///     readers of GCF 3.6 may not read it.
/// list_columns : bool
///     Whether a column of lists of scalars is written as cells, `a,b`, and not below the rows.
///     This is an extension: only readers with `extensions=True` read it.
/// matrices : bool
///     Whether an array of two or more arrays of scalars of the same length is written as rows.
///     This is an extension, too.
/// max_depth : int
///     The maximum nesting of containers, at most 256.
///
/// Returns
/// -------
/// str
///     The canonical text, which is the same for the same value. `loads` returns the value with its
///     order of keys, except that 1.0 becomes 1, and that the keys of rows follow the columns of
///     their table.
///
/// Raises
/// ------
/// UnsupportedValue
///     The value cannot be written; `path` is its path, such as `$.orders[3].total`. `not_finite`,
///     `out_of_range` for an int that exceeds 64 bits, `invalid_surrogate`, `unsupported_type`,
///     `duplicate_key` for keys with the same text, `limit_exceeded` for a value that is nested too
///     deeply or contains itself.
/// RuntimeError
///     `default` has changed the value: an object that it has converted is not there any more.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    obj, /, *, default = None, types = "json", flatten = true, constant_columns = false,
    group_values = false, list_columns = false, matrices = false,
    max_depth = 128
))]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the options of the function"
)]
pub(super) fn dumps<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = named::group_values)] group_values: bool,
    #[pyo3(from_py_with = named::list_columns)] list_columns: bool,
    #[pyo3(from_py_with = named::matrices)] matrices: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
) -> PyResult<Bound<'py, PyString>> {
    let limits = Limits { max_depth, ..Limits::default() };
    let options =
        EncodeOptions { flatten, constant_columns, group_values, list_columns, matrices, limits };
    let default = converter(obj.py(), types, default)?;
    make_str(obj.py(), &encode(obj, default.as_ref(), &options)?)
}

/// Encode a value as GCF text, in UTF-8.
///
/// The `bytes` object is created without a `str`, which takes less time and half the memory.
///
/// Parameters
/// ----------
/// obj, default, types, flatten, constant_columns, group_values, list_columns, matrices,
/// max_depth
///     As in `dumps`.
///
/// Returns
/// -------
/// bytes
///     The text that `dumps` returns.
///
/// Raises
/// ------
/// UnsupportedValue
///     As `dumps`.
///
/// Examples
/// --------
/// >>> from compactwire import gcf
/// >>> gcf.dumps_bytes({"id": 1}).splitlines()
/// [b'GCF profile=generic', b'id=1']
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    obj, /, *, default = None, types = "json", flatten = true, constant_columns = false,
    group_values = false, list_columns = false, matrices = false,
    max_depth = 128
))]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the options of the function"
)]
pub(super) fn dumps_bytes<'py>(
    obj: &Bound<'py, PyAny>,
    default: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = named::group_values)] group_values: bool,
    #[pyo3(from_py_with = named::list_columns)] list_columns: bool,
    #[pyo3(from_py_with = named::matrices)] matrices: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let py = obj.py();
    let limits = Limits { max_depth, ..Limits::default() };
    let options =
        EncodeOptions { flatten, constant_columns, group_values, list_columns, matrices, limits };
    let default = converter(py, types, default)?;
    match write_text(obj, default.as_ref(), &options, || BytesMemory::new(py))? {
        Text::OnePass(out) => {
            let made = out.finish().and_then(|(memory, size)| memory.finish(size));
            made.ok_or_else(|| memory_error(NO_MEMORY))
        }
        Text::Tree(text) => Ok(make_bytes(py, text.as_bytes())?),
    }
}

fn encode(
    obj: &Bound<'_, PyAny>,
    default: Option<&Bound<'_, PyAny>>,
    options: &EncodeOptions,
) -> PyResult<String> {
    match write_text(obj, default, options, Vec::new)? {
        Text::OnePass(out) => out.into_string().ok_or_else(|| memory_error(NO_MEMORY)),
        Text::Tree(text) => Ok(text),
    }
}

/// The text, written in one pass or from a tree.
enum Text<M> {
    OnePass(Output<M>),
    Tree(String),
}

fn write_text<M: Memory>(
    obj: &Bound<'_, PyAny>,
    default: Option<&Bound<'_, PyAny>>,
    options: &EncodeOptions,
    memory: impl Fn() -> M,
) -> Result<Text<M>> {
    let conversions = default.map(Conversions::new);
    let py = obj.py();
    let borrowed = || {
        // SAFETY: until the text is written, nothing below calls Python or drops a reference.
        let (mut walk, value) = unsafe { BorrowedWalk::new(obj) };
        gcf::write_walk(&mut walk, &value, options, memory())
    };
    let write_tree =
        || with_tree(obj, conversions.as_ref(), options.limits, |tree| gcf::write(tree, options));
    if read_fast::LOCKED {
        match undone(py, borrowed)? {
            Ok(out) => return Ok(Text::OnePass(out)),
            Err(Stop::Failed(NotPlain)) => {}
            Err(Stop::Unusual) => return Ok(Text::Tree(write_tree()??)),
        }
    }
    if let Some(message) = column::lost_index(obj)? {
        let place = gcf::Place::Value("$".to_owned());
        return Err(gcf::Error { code: gcf::Code::UnsupportedType, message, place }.into());
    }
    if let Some(column) = column::if_column(obj)? {
        return Ok(Text::Tree(write_table(py, &column, options)?));
    }
    let mut walk = OwnedWalk(conversions.as_ref());
    match attached(|| gcf::write_walk(&mut walk, obj, options, memory()))? {
        Ok(out) => Ok(Text::OnePass(out)),
        Err(Stop::Failed(error)) => Err(error.into()),
        Err(Stop::Unusual) => Ok(Text::Tree(write_tree()??)),
    }
}

/// The text of a column of Arrow, whose rows are an array.
fn write_table(py: Python<'_>, column: &Column, options: &EncodeOptions) -> Result<String> {
    let write = || Ok::<_, Error>(Table::new(column)?.write(options)?);
    Ok(detach(py, || attached(write))??)
}

/// Calls `write` with the tree of a value. `write` must not call Python.
fn with_tree<'py, R>(
    obj: &Bound<'py, PyAny>,
    conversions: Option<&Conversions<'py>>,
    limits: Limits,
    write: impl Fn(&Tree<'_>) -> R,
) -> PyResult<R> {
    let borrowed = || {
        let bump = Bump::new();
        let mut builder = Builder::new(&bump, limits);
        // SAFETY: until the tree is complete, nothing below calls Python or drops a reference.
        let (mut walk, value) = unsafe { BorrowedWalk::new(obj) };
        let complete = builder.add(&mut walk, &value).is_ok();
        complete.then(|| write(&builder.finish()))
    };
    if read_fast::LOCKED
        && conversions.is_none()
        && let Some(written) = undone(obj.py(), borrowed)?
    {
        return Ok(written);
    }
    attached(|| {
        let bump = Bump::new();
        let mut builder = Builder::new(&bump, limits);
        read::emit(obj, conversions, &mut TreeTarget(&mut builder))?;
        Ok(write(&builder.finish()))
    })?
}

/// Encode rows as GCF text, in groups with the same value of one column.
///
/// The text is byte for byte that of `encode_generic_grouped` of the package gcf-python 2.8.
/// `loads` reads it, but other readers of GCF 3.6 may not. It can be longer than the text of
/// `dumps`, which with `group_values=True` groups only where that makes the text shorter.
///
/// Parameters
/// ----------
/// rows : list of dict
///     At least one row; all values are scalars.
/// key : str
///     The name of the field that identifies a row: every row has it, never None, and no two rows
///     have the same.
/// group : str
///     The name of the field whose values are written once per group; every row has it.
/// reorder : bool
///     Whether the rows may be reordered, so that those of a group follow each other. `loads` then
///     returns the rows in the new order.
/// default, types
///     As in `dumps`.
///
/// Returns
/// -------
/// str
///     The text.
///
/// Raises
/// ------
/// GcfError
///     As `dumps`; `invalid_grouping` if the rows cannot be grouped so that `loads` returns them,
///     or have few fields in common; `path` names row and field.
///
/// Examples
/// --------
/// >>> from compactwire import gcf
/// >>> rows = [{"id": 1, "state": "open"}, {"id": 2, "state": "open"}, {"id": 3, "state": "done"}]
/// >>> print(gcf.dumps_grouped(rows, "id", "state"), end="")
/// GCF profile=generic
/// ## [3]{@id,state} group=state
/// state=open [2]
/// 1
/// 2
/// state=done [1]
/// 3
///
/// Source: the published writers gcf-python 2.8 and gcf 3.1; not in GCF 3.6.
#[pyfunction]
#[pyo3(signature = (rows, key, group, *, reorder = false, default = None, types = "json"))]
pub(super) fn dumps_grouped<'py>(
    rows: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::written::key)] key: &str,
    #[pyo3(from_py_with = args::written::group)] group: &str,
    #[pyo3(from_py_with = named::reorder)] reorder: bool,
    default: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
) -> Result<Bound<'py, PyString>> {
    let grouping = Grouping { key, group, reorder };
    let default = converter(rows.py(), types, default)?;
    let conversions = default.as_ref().map(Conversions::new);
    // All values are scalars, so there is no option for deeper ones.
    let limits = Limits { max_depth: Limits::DEEPEST, ..Limits::default() };
    let text =
        with_tree(rows, conversions.as_ref(), limits, |tree| gcf::write_grouped(tree, grouping))??;
    Ok(make_str(rows.py(), &text)?)
}

/// Decode GCF text.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A text of the generic profile; bytes are UTF-8.
/// extensions : bool
///     Whether the forms that only this package writes are read: list columns and
///     matrices. Without it they raise `unsupported_extension`, because other readers
///     of GCF do not accept them.
/// max_depth : int
///     The maximum nesting of containers, at most 256.
/// max_expansion : int
///     The maximum size in bytes of content that is in the value but not in the text. For every
///     row of a table, a column with a constant in the header counts 16 bytes and the length of its
///     text, a column name its length, and a dict that is made of columns `"a>b"` 144 bytes and the
///     length of its name. An allowance of 16 bytes for each byte of the text is not counted.
///
/// Returns
/// -------
/// dict, list, str, int, float, bool or None
///     The value.
///
/// Raises
/// ------
/// GcfError
///     The text is invalid; `code`, `line` and `column` say why and where. `limit_exceeded` for a
///     text beyond `max_depth` or `max_expansion`.
///
/// Source: GCF 3.6 sections 2 to 8 and 16.
#[pyfunction]
#[pyo3(signature = (text, /, *, extensions = false, max_depth = 128, max_expansion = 268_435_456))]
pub(super) fn loads<'py>(
    text: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyAny>> {
    let options = DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let py = text.py();
    let text = Input::new(text, "text")?;
    decode(py, text.gcf_text()?, options)
}

fn decode<'py>(py: Python<'py>, text: &str, options: DecodeOptions) -> Result<Bound<'py, PyAny>> {
    let mut objects = Objects::new(py, text.len());
    // The number of dicts and lists is a guess: rows have some cells, and most objects take some lines.
    let pause = CollectorPause::new(py, text.len() / 32);
    let read = attached(|| gcf::read(text, options, &mut objects));
    drop(pause);
    read??;
    Ok(objects.finish())
}

/// Whether a text that was given for a path is GCF.
fn begins_as_gcf(text: &[u8]) -> bool {
    const PROFILE: &[u8] = b"profile=";
    text.starts_with(b"GCF ") && text.windows(PROFILE.len()).any(|part| part == PROFILE)
}

/// Writes text to a file that is open.
fn write_to<'py>(file: &Bound<'py, PyAny>, text: &str) -> PyResult<()> {
    let py = file.py();
    let io = import(py, name!(py, "io")?)?;
    let write = |arguments: Bound<'py, PyTuple>| file.run_method(name!(py, "write")?, arguments);
    if file.run_is_instance(&io.run_getattr(name!(py, "RawIOBase")?)?)? {
        // A raw file may write only part of the bytes.
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let taken = write(args!(py, make_bytes(py, rest)?)?)?;
            let taken = taken.extract::<Option<i64>>()?.unwrap_or(0);
            let taken = usize::try_from(taken).ok().filter(|taken| *taken <= rest.len());
            let taken = taken.ok_or_else(|| {
                let message =
                    "the file says that it has written fewer bytes than none, or more than all";
                py_error::<PyOSError>(message)
            })?;
            if taken == 0 {
                let message = format!(
                    "the file accepted only a part of the text; {} bytes are missing",
                    rest.len()
                );
                return Err(py_error::<PyBlockingIOError>(message));
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
    } else if file.run_is_instance(&io.run_getattr(name!(py, "BufferedIOBase")?)?)? {
        write(args!(py, make_bytes(py, text.as_bytes())?)?)?;
    } else {
        write(args!(py, make_str(py, text)?)?)?;
    }
    Ok(())
}

/// Encode a value as GCF text and write it to a file.
///
/// Parameters
/// ----------
/// obj : dict, list, tuple, str, int, float, bool or None
///     The value.
/// file : path-like, or a file open for writing
///     A file at a path is written as UTF-8; an existing one is replaced once the new one is
///     complete. The `write` method of a binary file gets bytes, that of any other object a str.
/// default, types, flatten, constant_columns, group_values, list_columns, matrices,
/// max_depth
///     As in `dumps`.
///
/// Raises
/// ------
/// UnsupportedValue
///     As `dumps`; nothing is written.
/// OSError
///     The file cannot be written.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    obj, file, /, *, default = None, types = "json", flatten = true, constant_columns = false,
    group_values = false, list_columns = false, matrices = false,
    max_depth = 128
))]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the options of the function"
)]
pub(super) fn dump(
    obj: &Bound<'_, PyAny>,
    file: &Bound<'_, PyAny>,
    default: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = named::group_values)] group_values: bool,
    #[pyo3(from_py_with = named::list_columns)] list_columns: bool,
    #[pyo3(from_py_with = named::matrices)] matrices: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
) -> PyResult<()> {
    let py = obj.py();
    let limits = Limits { max_depth, ..Limits::default() };
    let options =
        EncodeOptions { flatten, constant_columns, group_values, list_columns, matrices, limits };
    let default = converter(py, types, default)?;
    let text = encode(obj, default.as_ref(), &options)?;
    if !file.run_hasattr(name!(file.py(), "write")?)? {
        return write_file(py, path_of(file, "file")?, text.as_bytes());
    }
    write_to(file, &text)
}

/// Read a file and decode it as GCF text.
///
/// Parameters
/// ----------
/// file : path-like, or a file open for reading
///     A path, or an object whose `read()` returns str or bytes.
/// extensions, max_depth, max_expansion
///     As in `loads`.
///
/// Returns
/// -------
/// dict, list, str, int, float, bool or None
///     The value.
///
/// Raises
/// ------
/// GcfError
///     As `loads`.
/// OSError
///     The file cannot be read.
/// ValueError
///     The argument is not a path, but GCF text: use `loads`.
///
/// Source: GCF 3.6 sections 2 to 8 and 16.
#[pyfunction]
#[pyo3(signature = (file, /, *, extensions = false, max_depth = 128, max_expansion = 268_435_456))]
pub(super) fn load<'py>(
    file: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyAny>> {
    let options = DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let content = Input::new(&read_file(file, "loads", begins_as_gcf)?, "file.read()")?;
    decode(file.py(), content.gcf_text()?, options)
}

/// Convert JSON text to GCF text, without creating Python objects.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     JSON as in RFC 8259; integers stay exact, members keep their order.
/// flatten, constant_columns, group_values, list_columns, matrices,
/// max_depth
///     As in `dumps`.
///
/// Returns
/// -------
/// str
///     The text that `dumps` returns for the value.
///
/// Raises
/// ------
/// GcfError
///     With `line` and `column` for invalid JSON (`invalid_json`, `duplicate_key`,
///     `invalid_surrogate`), with `path` for an integer that exceeds 64 bits (`out_of_range`).
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    text, /, *, flatten = true, constant_columns = false, group_values = false,
    list_columns = false, matrices = false,
    max_depth = 128
))]
#[expect(clippy::fn_params_excessive_bools, reason = "the options of the function")]
pub(super) fn from_json<'py>(
    text: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = named::group_values)] group_values: bool,
    #[pyo3(from_py_with = named::list_columns)] list_columns: bool,
    #[pyo3(from_py_with = named::matrices)] matrices: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
) -> Result<Bound<'py, PyString>> {
    let py = text.py();
    let limits = Limits { max_depth, ..Limits::default() };
    let options =
        EncodeOptions { flatten, constant_columns, group_values, list_columns, matrices, limits };
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || gcf::from_json(text, &options))?;
    Ok(make_str(py, &made?)?)
}

/// Convert GCF text to JSON text, without creating Python objects.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A text of the generic profile.
/// ensure_ascii : bool
///     Whether non-ASCII characters are escaped.
/// extensions, max_depth, max_expansion
///     As in `loads`.
///
/// Returns
/// -------
/// str
///     JSON without white space; integers stay exact, members keep their order.
///
/// Raises
/// ------
/// GcfError
///     As `loads`.
///
/// Source: GCF 3.6 sections 2 to 8 and 16.
#[pyfunction]
#[pyo3(signature = (
    text, /, *, ensure_ascii = false, extensions = false, max_depth = 128,
    max_expansion = 268_435_456
))]
pub(super) fn to_json<'py>(
    text: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = named::ensure_ascii)] ensure_ascii: bool,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyString>> {
    let py = text.py();
    let options = DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let escape = if ensure_ascii { Escape::NonAscii } else { Escape::Needed };
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let made = detached(py, text.len(), || gcf::to_json(text, options, escape))?;
    Ok(make_str(py, &made?)?)
}
