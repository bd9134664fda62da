//! `compactwire.arrow`: functions of columns, over the Arrow PyCapsule interface.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
//! Only [`crate::column`] touches capsules.

mod cad;
mod gcf;
mod messages;

use crate::args::{class_name, one_of, shown};
use crate::calls::detach;
use crate::column::{Column, column};
use crate::errors::{Result, invalid_option};
use crate::interrupt::attached;
use crate::make::{Number, py_error};
use compactwire::arrow::{self as core, OnError, RowOptions};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// Functions of columns; import `compactwire.arrow` instead.
#[pymodule(name = "arrow", gil_used = false)]
pub(super) mod module {
    #[pymodule_export]
    use super::cad::{cad_from_binary, cad_from_compact, cad_to_binary, cad_to_compact};
    #[pymodule_export]
    use super::gcf::{gcf_from_json, gcf_loads, gcf_to_json};
    #[pymodule_export]
    use super::messages::{count_tokens, decode, detect, encode, inspect};
    #[pymodule_export]
    use crate::column::Column;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_importable(module)
    }
}

/// `errors=` and `threads=`, which all functions of rows have.
fn row_options(errors: &str, threads: Option<&Bound<'_, PyAny>>) -> PyResult<RowOptions> {
    let choices = [("raise", OnError::Raise), ("null", OnError::Null), ("report", OnError::Report)];
    let errors = one_of("errors", errors, choices)?;
    let threads = threads.map_or(Ok(0), count)?;
    Ok(RowOptions { errors, threads })
}

/// `threads=`: 1 or more.
fn count(threads: &Bound<'_, PyAny>) -> PyResult<usize> {
    if !threads.is_instance_of::<PyInt>() || threads.is_instance_of::<PyBool>() {
        let found = class_name(&threads.get_type());
        return Err(py_error::<PyTypeError>(format!(
            "threads must be an int or None, not {found}"
        )));
    }
    match threads.extract::<usize>() {
        Ok(threads) if threads > 0 => Ok(threads),
        Err(error) if !error.is_instance_of::<PyOverflowError>(threads.py()) => Err(error),
        Err(_) if threads.gt(Number(0_i64))? => Ok(usize::MAX),
        _ => {
            let message = format!("threads must be 1 or more, not {}", shown(threads));
            Err(invalid_option("threads", &message))
        }
    }
}

/// Calls a function of the core without the interpreter lock.
fn call(
    object: &Bound<'_, PyAny>,
    work: impl Send + FnOnce(&core::Column) -> std::result::Result<core::Column, core::Error>,
) -> Result<Column> {
    let column = column(object)?;
    Ok(Column(detach(object.py(), || attached(|| work(&column)))??))
}
