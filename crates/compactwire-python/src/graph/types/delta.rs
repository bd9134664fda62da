//! A delta, as a Python object.

use super::edge::{Edge, edges_of};
use super::element::elements;
use super::symbol::{Symbol, hash_symbol, symbols_of};
use super::{STATE_FACTOR, restored};
use crate::calls::Run;
use crate::graph::GRAPH_FACTOR;
use crate::graph::arguments::{count_of, text_of};
use crate::interrupt::detached;
use crate::make::{Number, Str, ensure_memory, join, make_bytes, make_str, name};
use crate::record::{Names, Record, reduced};
use compactwire::gcf::graph;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::hash::{Hash, Hasher};

/// The changes from one payload to another.
///
/// Immutable; equal if all fields are equal. `full_tokens` is 0 in a decoded delta, because the
/// text does not contain it.
///
/// Parameters
/// ----------
/// tool : str
///     The tool that produced the payload.
/// base_root, new_root : str
///     The roots of the payloads before and after the delta.
/// removed, added : iterable of Symbol or dict
///     Removed symbols, identified by kind and name, and added symbols.
/// removed_edges, added_edges : iterable of Edge or dict
///     Removed and added edges.
/// delta_tokens, full_tokens : int
///     The number of tokens of the delta and of the whole payload; 0 if unknown.
///
/// Raises
/// ------
/// EncodeError
///     A string has a lone surrogate, or an int exceeds 64 bits.
///
/// Source: wire codecs, "DeltaPayload".
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq)]
pub(crate) struct DeltaPayload(pub(in super::super) graph::DeltaPayload);

impl Hash for DeltaPayload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let delta = &self.0;
        (&delta.tool, &delta.base_root, &delta.new_root).hash(state);
        (&delta.removed_edges, &delta.added_edges, delta.delta_tokens).hash(state);
        for symbol in delta.removed.iter().chain(&delta.added) {
            hash_symbol(symbol, state);
        }
    }
}

#[pymethods]
impl DeltaPayload {
    #[classattr]
    const _fields: Names = Names(&[
        "tool",
        "base_root",
        "new_root",
        "removed",
        "added",
        "removed_edges",
        "added_edges",
        "delta_tokens",
        "full_tokens",
    ]);

    #[new]
    #[pyo3(signature = (
        tool = None, base_root = None, new_root = None, removed = None, added = None,
        removed_edges = None, added_edges = None, delta_tokens = None, full_tokens = None,
    ))]
    #[pyo3(text_signature = "(tool='', base_root='', new_root='', removed=(), added=(), \
                             removed_edges=(), added_edges=(), delta_tokens=0, full_tokens=0)")]
    #[expect(clippy::too_many_arguments, reason = "the fields of a delta")]
    fn new(
        tool: Option<&Bound<'_, PyAny>>,
        base_root: Option<&Bound<'_, PyAny>>,
        new_root: Option<&Bound<'_, PyAny>>,
        removed: Option<&Bound<'_, PyAny>>,
        added: Option<&Bound<'_, PyAny>>,
        removed_edges: Option<&Bound<'_, PyAny>>,
        added_edges: Option<&Bound<'_, PyAny>>,
        delta_tokens: Option<&Bound<'_, PyAny>>,
        full_tokens: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(graph::DeltaPayload {
            tool: text_of(tool, "tool")?,
            base_root: text_of(base_root, "base_root")?,
            new_root: text_of(new_root, "new_root")?,
            removed: elements::<Symbol, _>(removed, "removed")?,
            added: elements::<Symbol, _>(added, "added")?,
            removed_edges: elements::<Edge, _>(removed_edges, "removed_edges")?,
            added_edges: elements::<Edge, _>(added_edges, "added_edges")?,
            delta_tokens: count_of(delta_tokens, "delta_tokens")?,
            full_tokens: count_of(full_tokens, "full_tokens")?,
        }))
    }

    /// The tool that produced the payload.
    #[getter]
    fn tool(&self) -> Str<&str> {
        Str(&self.0.tool)
    }

    /// The root of the payload before the delta.
    #[getter]
    fn base_root(&self) -> Str<&str> {
        Str(&self.0.base_root)
    }

    /// The root of the payload after the delta.
    #[getter]
    fn new_root(&self) -> Str<&str> {
        Str(&self.0.new_root)
    }

    /// The removed symbols.
    #[getter]
    fn removed(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        symbols_of(py, &self.0.removed)
    }

    /// The added symbols.
    #[getter]
    fn added(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        symbols_of(py, &self.0.added)
    }

    /// The removed edges.
    #[getter]
    fn removed_edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        edges_of(py, &self.0.removed_edges)
    }

    /// The added edges.
    #[getter]
    fn added_edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        edges_of(py, &self.0.added_edges)
    }

    /// The number of tokens of the delta; 0 if unknown.
    #[getter]
    fn delta_tokens(&self) -> Number<i64> {
        Number(self.0.delta_tokens)
    }

    /// The number of tokens of the whole payload; 0 if unknown.
    #[getter]
    fn full_tokens(&self) -> Number<i64> {
        Number(self.0.full_tokens)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let delta = &self.0;
        let tool = make_str(py, &delta.tool)?.repr()?;
        let rest = format!(
            ": -{} +{} symbols, -{} +{} edges>",
            delta.removed.len(),
            delta.added.len(),
            delta.removed_edges.len(),
            delta.added_edges.len()
        );
        join(py, "", vec![make_str(py, "<DeltaPayload ")?, tool, make_str(py, &rest)?])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let delta = &slf.get().0;
        let size = delta.size();
        ensure_memory(GRAPH_FACTOR.saturating_mul(size))?;
        let state = detached(slf.py(), size, || delta.to_state())?;
        let state = make_bytes(slf.py(), &state)?;
        reduced(slf.get_type().run_getattr(name!(slf.py(), "_restore")?)?, [state.into_any()])
    }

    #[staticmethod]
    #[pyo3(signature = (state, /))]
    fn _restore(state: &[u8]) -> PyResult<Self> {
        ensure_memory(STATE_FACTOR * state.len())?;
        restored(graph::DeltaPayload::from_state(state)).map(Self)
    }
}
