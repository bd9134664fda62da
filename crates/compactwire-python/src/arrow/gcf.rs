//! `compactwire.arrow`: columns of GCF texts from and to JSON, and one GCF text as a column.

use super::{call, row_options};
use crate::args::named;
use crate::args::{self, Input, sizes};
use crate::calls::detach;
use crate::column::{Column, field};
use crate::errors::Result;
use crate::interrupt::attached;
use compactwire::arrow as core;
use compactwire::gcf::{self, Limits};
use compactwire::json::Escape;
use pyo3::prelude::*;

/// Encode each row of a column of JSON texts as a GCF text of its own.
///
/// Parameters
/// ----------
/// column : Arrow column
///     JSON texts.
/// flatten, constant_columns, group_values, list_columns, matrices, max_depth
///     As in `compactwire.gcf.from_json`.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The GCF texts.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.from_json`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, flatten = true, constant_columns = false, group_values = false,
    list_columns = false, matrices = false, max_depth = 128, max_expansion = 268_435_456,
    errors = "raise", threads = None,
))]
#[expect(clippy::fn_params_excessive_bools, clippy::too_many_arguments, reason = "options")]
pub(super) fn gcf_from_json(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = named::group_values)] group_values: bool,
    #[pyo3(from_py_with = named::list_columns)] list_columns: bool,
    #[pyo3(from_py_with = named::matrices)] matrices: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let limits = Limits { max_depth, ..Limits::default() };
    let encode = gcf::EncodeOptions {
        flatten,
        constant_columns,
        group_values,
        list_columns,
        matrices,
        limits,
    };
    call(column, |column| core::gcf_from_json(column, &encode, max_expansion, options))
}

/// Decode each row of a column of GCF texts to JSON.
///
/// Parameters
/// ----------
/// column : Arrow column
///     GCF texts.
/// ensure_ascii, extensions, max_depth
///     As in `compactwire.gcf.to_json`.
/// max_expansion : int
///     As in `compactwire.gcf.to_json`, for each row. All rows together may become as many bytes
///     more than 64 times the texts and 1 KiB for each.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The JSON texts, compact.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.to_json`, with the attribute `row`.
/// OutputTooLarge
///     All rows together exceed `max_expansion`, whatever `errors` is.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, ensure_ascii = false, extensions = false, max_depth = 128,
    max_expansion = 268_435_456, errors = "raise", threads = None,
))]
pub(super) fn gcf_to_json(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = named::ensure_ascii)] ensure_ascii: bool,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let limits = Limits { max_depth, max_expansion };
    let decode = gcf::DecodeOptions { extensions, limits };
    let escape = if ensure_ascii { Escape::NonAscii } else { Escape::Needed };
    call(column, |column| core::gcf_to_json(column, decode, escape, options))
}

/// Decode a GCF text to a column: a table to structs.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A text whose value is an array, or an object whose only member is an array.
/// schema : object with `__arrow_c_schema__`, optional
///     The type and metadata, such as a schema of pyarrow for a table. Integers may stand for
///     floats, texts for dates, times, timestamps, decimals and UUIDs, nulls for values of any
///     type but a union. By default bool, int64, float64 (for integers and floats), utf8, struct,
///     list or null, as the values need it.
/// extensions, max_depth, max_expansion
///     As in `compactwire.gcf.loads`.
///
/// Returns
/// -------
/// Column
///     One chunk. A field that a row does not have is null. `gcf_loads(gcf.dumps(table),
///     schema=table.schema)` gives a column that is equal to `table`; keys of maps may be in
///     another order.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.loads`.
/// UnsupportedValue
///     A value does not fit its column, or a number is not exactly a value of its type; `path`
///     is its path, such as ``$[3].price``, or that of its column, such as ``$[*].price``.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    text, /, *, schema = None, extensions = false, max_depth = 128, max_expansion = 268_435_456,
))]
pub(super) fn gcf_loads(
    text: &Bound<'_, PyAny>,
    schema: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Column> {
    let options = gcf::DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let field = schema.map(field).transpose()?;
    let py = text.py();
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let loads = || core::gcf_loads(text, field.as_ref(), options);
    Ok(Column(detach(py, || attached(loads))??))
}
