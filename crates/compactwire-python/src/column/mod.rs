//! Columns of any library that implements the Arrow PyCapsule interface: [`import`] reads them, and
//! [`Column`] is one of ours.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

mod import;

pub(crate) use import::{
    Unreadable, caused, column, field, if_column, is_column, lazy, lost_index,
};

use crate::calls::detach;
use crate::errors::Result;
use crate::interrupt::attached;
use crate::make::{Number, Str, make_str, make_tuple, py_error};
use compactwire::arrow as core;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyTuple};
use std::ffi::CStr;

/// The names of the capsules.
const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// A column in Arrow memory: what the functions of this module return.
///
/// Any library that speaks Arrow takes it, as often as wanted: `pyarrow.chunked_array(column)`,
/// `polars.Series(column)`, `pandas.Series.from_arrow(column)`. To look at rows, make such an
/// array of it. It cannot be pickled.
///
/// Source: the Arrow PyCapsule interface.
#[pyclass(frozen, module = "compactwire.arrow")]
pub(crate) struct Column(pub(crate) core::Column);

#[pymethods]
impl Column {
    /// Return the type as a capsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        Ok(PyCapsule::new_with_value(py, self.0.schema()?, SCHEMA)?)
    }

    /// Return capsules `arrow_schema` and `arrow_array`.
    ///
    /// Parameters
    /// ----------
    /// requested_schema : optional
    ///     Ignored, as the interface allows.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     The texts are too large for one array: use `__arrow_c_stream__`.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let join = || attached(|| self.0.to_array());
        let array = detach(py, join)??.ok_or_else(|| {
            let chunks = self.0.chunks().len();
            py_error::<PyValueError>(format!(
                "the texts of the {chunks} chunks are too large for one array: take the column by \
                 __arrow_c_stream__"
            ))
        })?;
        let schema = PyCapsule::new_with_value(py, self.0.schema()?, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        Ok(make_tuple(py, [Ok(schema), Ok(array)].into_iter())?)
    }

    /// Return a capsule `arrow_array_stream`, with an array for each chunk.
    ///
    /// Parameters
    /// ----------
    /// requested_schema : optional
    ///     Ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, self.0.to_stream(), STREAM)
    }

    /// The type as a format string of Arrow: "u" for texts, "+s" for structs.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        Ok(make_str(py, self.0.schema()?.format())?)
    }

    /// The number of chunks.
    #[getter]
    fn num_chunks(&self) -> Number<usize> {
        Number(self.0.chunks().len())
    }

    /// The memory of all buffers, in bytes.
    #[getter]
    fn nbytes(&self) -> Number<usize> {
        Number(self.0.size())
    }

    /// The number of null rows.
    #[getter]
    fn null_count(&self) -> Number<usize> {
        Number(self.0.null_count())
    }

    /// The number of rows that failed and became null under `errors="null"`.
    #[getter]
    fn failed(&self) -> Number<usize> {
        Number(self.0.failed())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Raise `TypeError`: engines send arrays of Arrow libraries.
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(py_error::<PyTypeError>(
            "a Column cannot be pickled or copied; make an array of it, such as pyarrow.chunked_array(column)",
        ))
    }

    fn __repr__(&self) -> Result<Str<String>> {
        let Self(core) = self;
        let chunks = match core.chunks().len() {
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        let (schema, rows, nulls) = (core.schema()?, core.len(), core.null_count());
        let format = schema.format();
        Ok(Str(format!("<Column {format:?}: {rows} rows in {chunks}, {nulls} null>")))
    }
}
