//! An edge, as a Python object.

use super::element::{Element, Given, for_each_element};
use super::held::Held;
use crate::graph::arguments::{str_of, text_of, word_of};
use crate::make::{ensure_memory, make_tuple, memory_error};
use crate::record::{Names, Record};
use compactwire::gcf::graph::{self, EdgeLinker};
use compactwire::memory::NO_MEMORY;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// A directed edge between two symbols of a payload, given by their names.
///
/// Immutable; equal if all fields are equal.
///
/// Parameters
/// ----------
/// source, target : str
///     The qualified names of the symbols where the edge begins and ends.
/// edge_type : str
///     The type: "calls", "imports", "implements", ...
/// status : str
///     "added", "removed" or "unchanged" in a difference; otherwise empty.
///
/// Raises
/// ------
/// EncodeError
///     A string has a lone surrogate.
///
/// Source: wire codecs, "Edge".
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq, Hash)]
pub(crate) struct Edge(pub(in super::super) Held<graph::Edge>);

impl Element<4> for Edge {
    type Core = graph::Edge;

    const FIELDS: [&'static str; 4] = ["source", "target", "edge_type", "status"];
    const ITEMS: &'static str = "Edge or dict";
    const REQUIRED: usize = 3;

    fn core(&self) -> graph::Edge {
        (*self.0).clone()
    }

    fn of(
        [source, target, edge_type, status]: [Option<&Bound<'_, PyAny>>; 4],
    ) -> PyResult<graph::Edge> {
        Ok(graph::Edge {
            source: text_of(source, "source")?,
            target: text_of(target, "target")?,
            edge_type: word_of(edge_type, "edge_type")?,
            status: word_of(status, "status")?,
        })
    }
}

#[pymethods]
impl Edge {
    #[classattr]
    const _fields: Names = Names(&Self::FIELDS);
    #[classattr]
    const __match_args__: Names = Self::_fields;

    #[new]
    #[pyo3(signature = (source, target, edge_type, status = None))]
    #[pyo3(text_signature = "(source, target, edge_type, status='')")]
    fn new(
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        edge_type: &Bound<'_, PyAny>,
        status: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let fields = [Some(source), Some(target), Some(edge_type), status];
        Ok(Self(Held::own(Self::of(fields)?)))
    }

    /// The name of the symbol where the edge begins.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |edge| &edge.source)
    }

    /// The name of the symbol where the edge ends.
    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |edge| &edge.target)
    }

    /// The type of the edge.
    #[getter]
    fn edge_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |edge| &edge.edge_type)
    }

    /// The status in a difference; otherwise empty.
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |edge| &edge.status)
    }
}

pub(super) fn edges_of(py: Python<'_>, edges: &[graph::Edge]) -> PyResult<Py<PyTuple>> {
    ensure_memory(4 * size_of_val(edges))?;
    let edges = edges.iter().cloned().map(|edge| Edge(Held::own(edge)).into_pyobject(py));
    Ok(make_tuple(py, edges)?.unbind())
}

/// Adds the edges of an iterable to a payload.
pub(super) fn link_edges(
    iterable: Option<&Bound<'_, PyAny>>,
    name: &str,
    edges: &mut EdgeLinker<'_>,
) -> PyResult<()> {
    for_each_element::<Edge, _>(iterable, name, |given| {
        let added = match given {
            Given::Object(Edge(edge)) => {
                edges.push(&edge.source, &edge.target, edge.edge_type.clone(), edge.status.clone())
            }
            Given::Fields([source, target, edge_type, status]) => edges.push(
                str_of(source, "source")?,
                str_of(target, "target")?,
                word_of(edge_type, "edge_type")?,
                word_of(status, "status")?,
            ),
        };
        added.map_err(|_| memory_error(NO_MEMORY))
    })
}
