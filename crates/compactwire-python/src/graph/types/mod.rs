//! The classes of graph payloads: frozen wrappers of the core's types, one file each, and their
//! shared functions.

mod components;
mod delta;
mod edge;
mod element;
mod held;
mod location;
mod payload;
mod symbol;
mod unchanged;

use compactwire::gcf::graph::StateError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyString};

pub(crate) use components::Components;
pub(crate) use delta::DeltaPayload;
pub(crate) use edge::Edge;
pub(crate) use location::Location;
pub(crate) use payload::Payload;
pub(crate) use symbol::Symbol;
pub(crate) use unchanged::Unchanged;

/// The result of `__reduce__`: a function, and the state as bytes.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

pub(super) fn restored<T>(state: Result<T, StateError>) -> PyResult<T> {
    state.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The number of a field; 0 if it was not passed.
pub(super) fn number(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<f64> {
    let Some(value) = value else { return Ok(0.0) };
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        let found = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{field} must be a float, not {found}")));
    }
    if let Ok(int) = value.cast::<PyInt>() {
        // Python raises `OverflowError` for an int that exceeds a double.
        return int.call_method0(intern!(value.py(), "__float__"))?.extract();
    }
    value.extract()
}

/// The bits of a number for hashing: equal for 0.0 and -0.0.
pub(super) fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}
