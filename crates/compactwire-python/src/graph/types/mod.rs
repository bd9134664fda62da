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

use crate::args::named::content_of;
use crate::calls::warn;
use crate::errors::invalid_format;
use crate::make::{make_str, memory_error};
use crate::record::{Record, returned_by_value};
use compactwire::gcf::graph::{Content, Decoded, SharedStr, StateError};
use compactwire::memory::NO_MEMORY;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::CString;

pub(crate) use components::Components;
pub(crate) use delta::DeltaPayload;
pub(crate) use edge::Edge;
pub(crate) use held::Owner;
pub(crate) use location::Location;
pub(crate) use payload::Payload;
pub(crate) use symbol::Symbol;
pub(crate) use unchanged::Unchanged;

content_of! { DeltaPayload Edge Payload Symbol }

returned_by_value!(Record: Components, DeltaPayload, Edge, Location, Payload, Symbol, Unchanged);

/// A string of the core as a field that Python reads.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Text(SharedStr);

impl<'py> IntoPyObject<'py> for &Text {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        make_str(py, &self.0)
    }
}

/// Shows the warnings of decoded text; raises the first one that the caller treats as an error.
pub(crate) fn show_warnings(py: Python<'_>, warnings: &[String]) -> PyResult<()> {
    for warning in warnings {
        let warning = CString::new(warning.as_str()).unwrap_or_default();
        warn(py, &warning)?;
    }
    Ok(())
}

/// The Python object of decoded text.
pub(crate) fn content(py: Python<'_>, decoded: Decoded) -> PyResult<Bound<'_, PyAny>> {
    Ok(match decoded.content {
        Content::Payload(payload) => Payload::from(payload).into_bound_py_any(py)?,
        Content::Delta(delta) => DeltaPayload(delta).into_bound_py_any(py)?,
        Content::Unchanged(unchanged) => Unchanged::from(unchanged).into_bound_py_any(py)?,
    })
}

/// The bytes of memory taken at most per byte of a pickled state.
const STATE_FACTOR: usize = 16;

pub(super) fn restored<T>(state: Result<T, StateError>) -> PyResult<T> {
    state.map_err(|error| match error {
        StateError::Invalid { .. } => Python::attach(|py| invalid_format(py, &error.to_string())),
        StateError::OutOfMemory => memory_error(NO_MEMORY),
    })
}

/// The bits of a number for hashing: equal for 0.0 and -0.0.
pub(super) fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}
