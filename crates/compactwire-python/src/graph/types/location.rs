//! The source location of a symbol, as a Python object.

use super::Text;
use crate::args::{int64, shown};
use crate::errors::invalid_field;
use crate::graph::arguments::text_of;
use crate::make::Number;
use crate::record::{Names, Record};
use compactwire::gcf::graph;
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
/// EncodeError
///     A number is below 1, or only one of `end_line` and `end_column` is passed.
///
/// Source: GCF 3.6 section 6b.
#[pyclass(
    frozen, extends = Record, eq, hash, get_all, skip_from_py_object, module = "compactwire.gcf"
)]
#[derive(PartialEq, Hash, Clone)]
pub(crate) struct Location {
    /// The file.
    file: Text,
    /// The line, from 1.
    line: Number<u64>,
    /// The column, from 1.
    column: Number<u64>,
    /// The last line; None if unknown.
    end_line: Option<Number<u64>>,
    /// The column of the end; None if unknown.
    end_column: Option<Number<u64>>,
}

impl Location {
    pub(super) fn core(&self) -> graph::Location {
        let Self { file, line, column, end_line, end_column } = self;
        let (Text(file), end) = (file.clone(), end_line.zip(*end_column));
        let end = end.map(|(Number(line), Number(column))| (line, column));
        graph::Location { file, line: line.0, column: column.0, end }
    }
}

impl From<&graph::Location> for Location {
    fn from(location: &graph::Location) -> Self {
        let graph::Location { file, line, column, end } = location;
        let (file, [line, column]) = (Text(file.clone()), [*line, *column].map(Number));
        let (end_line, end_column) =
            end.map(|(line, column)| (Number(line), Number(column))).unzip();
        Self { file, line, column, end_line, end_column }
    }
}

#[pymethods]
impl Location {
    #[classattr]
    const _fields: Names = Names(&["file", "line", "column", "end_line", "end_column"]);
    #[classattr]
    const __match_args__: Names = Names(&["file", "line", "column"]);

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
            Ok(number) if number > 0 => Ok(Number(number)),
            _ => {
                let message = format!("the number must be 1 or more, not {}", shown(value));
                Err(invalid_field(value.py(), field, &message))
            }
        };
        if end_line.is_some() != end_column.is_some() {
            let message = "pass both end_line and end_column, or neither";
            return Err(invalid_field(file.py(), "end_line", message));
        }
        Ok(Self {
            end_line: end_line.map(|line| from_one(line, "end_line")).transpose()?,
            end_column: end_column.map(|column| from_one(column, "end_column")).transpose()?,
            file: Text(text_of(Some(file), "file")?),
            line: from_one(line, "line")?,
            column: from_one(column, "column")?,
        })
    }
}
