//! The types of graph payloads: the core's, frozen, with Python's manners. A file for each, and here
//! what they have in common.

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
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyString, PyTuple};

pub(crate) use components::Components;
pub(crate) use delta::DeltaPayload;
pub(crate) use edge::Edge;
pub(crate) use location::Location;
pub(crate) use payload::Payload;
pub(crate) use symbol::Symbol;
pub(crate) use unchanged::Unchanged;

/// How pickle makes an object again: of all that it holds, as bytes.
pub(super) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

pub(super) fn restored<T>(state: Result<T, StateError>) -> PyResult<T> {
    state.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What pickle and copy give to the constructor.
pub(super) type NewArgs<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

pub(super) fn fields<'py>(
    object: &Bound<'py, PyAny>,
    names: &[&str],
) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(object.py());
    for &name in names {
        fields.set_item(name, object.getattr(name)?)?;
    }
    Ok(fields)
}

pub(super) fn new_args<'py>(object: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<NewArgs<'py>> {
    Ok((PyTuple::empty(object.py()), fields(object, names)?))
}

pub(super) fn replaced<'py>(
    object: &Bound<'py, PyAny>,
    names: &[&str],
    changes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = fields(object, names)?;
    if let Some(changes) = changes {
        fields.update(changes.as_mapping())?;
    }
    object.get_type().call((), Some(&fields))
}

/// `Class(field=value, …)` with the fields that say something.
pub(super) fn repr<'n>(
    class: &str,
    object: &Bound<'_, PyAny>,
    names: impl Iterator<Item = &'n str>,
) -> PyResult<String> {
    let mut parts = Vec::new();
    for name in names {
        let value = object.getattr(name)?;
        if value.is_truthy()? {
            parts.push(format!("{name}={}", value.repr()?));
        }
    }
    Ok(format!("{class}({})", parts.join(", ")))
}

/// A number of a field; 0 where there is none.
pub(super) fn number(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<f64> {
    let Some(value) = value else { return Ok(0.0) };
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        let found = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{field} must be a float, not {found}")));
    }
    if let Ok(int) = value.cast::<PyInt>() {
        // As the largest int that a double holds; beyond, Python's own error says so.
        return int.call_method0(intern!(value.py(), "__float__"))?.extract();
    }
    value.extract()
}

/// Equal numbers have equal bits.
pub(super) fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}
