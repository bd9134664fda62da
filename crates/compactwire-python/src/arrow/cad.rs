//! `compactwire.arrow`: columns of CAD documents, one in each row, between JSON, compact text and bytes.

use super::{call, row_options};
use crate::args::named;
use crate::args::{self, one_of, sizes};
use crate::cad::{Form, Lossy, Writing};
use crate::column::Column;
use crate::errors::Result;
use compactwire::arrow::{self as core, CadUnknown, CadWrite};
use compactwire::cad::{Dialect, Losses, MAX_EXPANSION, Options};
use pyo3::prelude::*;

/// Decode each row of a column of compact CAD texts to a document as JSON text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Compact CAD texts.
/// dialect : {"auto", "0.1", "0.2"}
///     As in `compactwire.cad.from_compact`.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents as JSON texts, in canonical form.
///
/// Raises
/// ------
/// CompactParseError
///     As `compactwire.cad.from_compact`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Format Specification".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, dialect = "auto", max_expansion = 268_435_456, errors = "raise", threads = None,
))]
pub(super) fn cad_from_compact(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let choices = [("auto", Dialect::Auto), ("0.1", Dialect::V0_1), ("0.2", Dialect::V0_2)];
    let dialect = one_of("dialect", dialect, choices)?;
    call(column, |column| core::cad_from_compact(column, dialect, max_expansion, options))
}

/// Encode each row of a column of CAD documents as compact text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents as JSON texts.
/// dialect, target, names, lossy, unknown
///     As in `compactwire.cad.to_compact`.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The compact texts.
///
/// Raises
/// ------
/// DocumentError
///     As `compactwire.cad.to_compact`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Rust Implementation".
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "options")]
#[pyo3(signature = (
    column, /, *, dialect = None, target = None, names = true, lossy = Lossy::All(false),
    unknown = "error", max_expansion = 268_435_456, errors = "raise", threads = None,
))]
#[pyo3(
    text_signature = "(column, /, *, dialect=None, target=None, names=True, lossy=False, unknown='error', max_expansion=268435456, errors='raise', threads=None)"
)]
pub(super) fn cad_to_compact(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words_if_any::dialect)] dialect: Option<&str>,
    #[pyo3(from_py_with = args::words_if_any::target)] target: Option<&str>,
    #[pyo3(from_py_with = named::names)] names: bool,
    lossy: Lossy,
    #[pyo3(from_py_with = args::words::unknown)] unknown: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let write = cad_write(Writing::new(dialect, target, names, lossy, unknown)?);
    call(column, |column| core::cad_to_compact(column, write, max_expansion, options))
}

/// The options of `cad.to_compact` for a column.
fn cad_write(Writing { form, names, allowed, keep_unknown }: Writing) -> CadWrite {
    let lossy = allowed == Losses::ALL;
    match form {
        Form::Vcad => CadWrite::Vcad { names, allowed },
        Form::Dialect(Dialect::V0_2) if keep_unknown => CadWrite::V0_2(CadUnknown::Keep),
        Form::Dialect(Dialect::V0_2) if lossy => CadWrite::V0_2(CadUnknown::Drop),
        Form::Dialect(Dialect::V0_2) => CadWrite::V0_2(CadUnknown::Refuse),
        Form::Dialect(Dialect::Auto | Dialect::V0_1) => CadWrite::V0_1(Options { names, lossy }),
    }
}

/// Decode each row of a column of CAD documents in the binary form to JSON text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents in the binary form, as bytes.
/// max_expansion : int
///     As in `compactwire.cad.from_binary`, for each row. All rows together may become as many
///     bytes more than 64 times the documents and 1 KiB for each.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents as JSON texts, in canonical form.
///
/// Raises
/// ------
/// BinaryError
///     As `compactwire.cad.from_binary`, with the attribute `row`.
/// OutputTooLarge
///     All rows together exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_expansion = MAX_EXPANSION, errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, max_expansion=268435456, errors='raise', threads=None)")]
pub(super) fn cad_from_binary(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::cad_from_binary(column, max_expansion, options))
}

/// Encode each row of a column of CAD documents in the binary form.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents as JSON texts.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents in the binary form, as bytes.
///
/// Raises
/// ------
/// DocumentError
///     As `compactwire.cad.to_binary`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_expansion = 268_435_456, errors = "raise", threads = None,
))]
pub(super) fn cad_to_binary(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::cad_to_binary(column, max_expansion, options))
}
