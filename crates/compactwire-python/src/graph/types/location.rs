//! The source location of a symbol, as a Python object.

use super::super::text_of;
use crate::args::int64;
use crate::record::{Names, Record, returned_by_value};
use compactwire::gcf::graph;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The source location of a symbol; lines and columns count from 1.
///
/// Parameters
/// ----------
/// file : str
///     The file.
/// line, column : int
///     The start.
/// end_line, end_column : int, optional
///     The end; both or neither.
///
/// Raises
/// ------
/// ValueError
///     A number is below 1, or only one of `end_line` and `end_column` is passed.
///
/// Source: GCF 3.6 section 6b.
#[pyclass(frozen, extends = Record, eq, hash, skip_from_py_object, module = "compactwire.gcf")]
#[derive(PartialEq, Hash, Clone)]
pub(crate) struct Location(pub(super) graph::Location);

returned_by_value!(Location, Record);

#[pymethods]
impl Location {
    #[classattr]
    #[pyo3(name = "_fields")]
    const FIELDS: Names = Names(&["file", "line", "column", "end_line", "end_column"]);
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: Names = Names(&["file", "line", "column"]);

    #[new]
    #[pyo3(signature = (file, line, column, end_line = None, end_column = None))]
    fn new(
        file: &Bound<'_, PyAny>,
        line: &Bound<'_, PyAny>,
        column: &Bound<'_, PyAny>,
        end_line: Option<&Bound<'_, PyAny>>,
        end_column: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let from_one = |value: &Bound<'_, PyAny>, field| match u64::try_from(int64(value, field)?) {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(PyValueError::new_err(format!("{field} counts from 1, so it is not {value}"))),
        };
        let end = match (end_line, end_column) {
            (Some(line), Some(column)) => {
                Some((from_one(line, "end_line")?, from_one(column, "end_column")?))
            }
            (None, None) => None,
            _ => return Err(PyValueError::new_err("end_line and end_column go together")),
        };
        Ok(Self(graph::Location {
            file: text_of(Some(file), "file")?,
            line: from_one(line, "line")?,
            column: from_one(column, "column")?,
            end,
        }))
    }

    /// The file.
    #[getter]
    fn file(&self) -> &str {
        &self.0.file
    }

    /// The line, from 1.
    #[getter]
    fn line(&self) -> u64 {
        self.0.line
    }

    /// The column, from 1.
    #[getter]
    fn column(&self) -> u64 {
        self.0.column
    }

    /// The last line; None if unknown.
    #[getter]
    fn end_line(&self) -> Option<u64> {
        self.0.end.map(|(line, _)| line)
    }

    /// The column of the end; None if unknown.
    #[getter]
    fn end_column(&self) -> Option<u64> {
        self.0.end.map(|(_, column)| column)
    }
}
