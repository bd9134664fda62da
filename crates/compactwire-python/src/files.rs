//! Writing files at a path, with the function of the package that the commands use.

use crate::make::{PathString, make_bytes, name};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a file. An existing one is replaced once its new content is complete.
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, content: &[u8]) -> PyResult<()> {
    let arguments = (make_bytes(py, content)?, PathString(path));
    py.import(name!(py, "compactwire._files")?)?
        .call_method1(name!(py, "write_file")?, arguments)?;
    Ok(())
}
