//! Writing files at a path, with the function of the package that the commands use.

use crate::calls::{Run, import};
use crate::make::{PathString, args, make_bytes, name};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a file. An existing one is replaced once its new content is complete.
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    let arguments = args!(py, make_bytes(py, content)?, PathString(path))?;
    let files = import(py, name!(py, "compactwire._files")?)?;
    files.run_method(name!(py, "write_file")?, arguments)?;
    Ok(())
}
