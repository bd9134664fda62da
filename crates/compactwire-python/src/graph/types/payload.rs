//! A payload, as a Python object; the objects of its symbols and edges are created on first access.

use super::edge::{Edge, link_edges};
use super::element::elements;
use super::held::{Owner, parts};
use super::symbol::{Symbol, hash_symbol};
use super::{STATE_FACTOR, restored};
use crate::calls::Run;
use crate::graph::arguments::{count_of, text_of};
use crate::graph::{GRAPH_FACTOR, on_payloads};
use crate::interrupt::detached;
use crate::make::{Number, Str, ensure_memory, join, make_bytes, make_str, name, once};
use crate::record::{self, Names, Record, reduced};
use compactwire::gcf::graph::{self, ResolvedPayload};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The result of a tool: symbols, and the edges between them.
///
/// Immutable; equal if all fields are equal.
///
/// Parameters
/// ----------
/// tool : str
///     The tool that produced the payload.
/// tokens_used, token_budget : int
///     The number of tokens that the context uses, and the number available.
/// pack_root : str
///     The identity of the content, as returned by `pack_root`; may be empty.
/// symbols : iterable of Symbol or dict
///     The symbols.
/// edges : iterable of Edge or dict
///     The edges.
///
/// Raises
/// ------
/// EncodeError
///     A string has a lone surrogate, or an int exceeds 64 bits.
///
/// Source: wire codecs, "Payload".
#[pyclass(frozen, extends = Record, module = "compactwire.gcf")]
pub(crate) struct Payload {
    pub(crate) core: Arc<ResolvedPayload>,
    /// Shared by the objects of all symbols and edges.
    owner: PyOnceLock<Py<Owner>>,
    symbols: PyOnceLock<Py<PyTuple>>,
    edges: PyOnceLock<Py<PyTuple>>,
}

impl From<graph::Payload> for Payload {
    fn from(core: graph::Payload) -> Self {
        ResolvedPayload::from(core).into()
    }
}

impl From<ResolvedPayload> for Payload {
    fn from(core: ResolvedPayload) -> Self {
        Self {
            core: Arc::new(core),
            owner: PyOnceLock::new(),
            symbols: PyOnceLock::new(),
            edges: PyOnceLock::new(),
        }
    }
}

impl Payload {
    fn owner(&self, py: Python<'_>) -> PyResult<&Py<Owner>> {
        once(py, &self.owner, || Owner::new(py, self.core.clone()))
    }
}

impl Hash for Payload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let graph::Payload { tool, tokens_used, token_budget, pack_root, symbols, edges } =
            &**self.core;
        (tool, tokens_used, token_budget, pack_root, edges.len()).hash(state);
        for edge in self.core.edge_keys() {
            edge.hash(state);
        }
        for symbol in symbols {
            hash_symbol(symbol, state);
        }
    }
}

#[pymethods]
impl Payload {
    #[classattr]
    const _fields: Names =
        Names(&["tool", "tokens_used", "token_budget", "pack_root", "symbols", "edges"]);

    #[new]
    #[pyo3(signature = (
        tool = None, tokens_used = None, token_budget = None, pack_root = None, symbols = None,
        edges = None,
    ))]
    #[pyo3(text_signature = "(tool='', tokens_used=0, token_budget=0, pack_root='', symbols=(), \
                             edges=())")]
    fn new(
        tool: Option<&Bound<'_, PyAny>>,
        tokens_used: Option<&Bound<'_, PyAny>>,
        token_budget: Option<&Bound<'_, PyAny>>,
        pack_root: Option<&Bound<'_, PyAny>>,
        symbols: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let payload = graph::Payload {
            tool: text_of(tool, "tool")?,
            tokens_used: count_of(tokens_used, "tokens_used")?,
            token_budget: count_of(token_budget, "token_budget")?,
            pack_root: text_of(pack_root, "pack_root")?,
            symbols: elements::<Symbol, _>(symbols, "symbols")?,
            edges: Vec::new(),
        };
        ensure_memory(GRAPH_FACTOR.saturating_mul(payload.size()))?;
        let linked =
            ResolvedPayload::with_edges(payload, |linker| link_edges(edges, "edges", linker))?;
        Ok(linked.into())
    }

    /// The tool that produced the payload.
    #[getter]
    fn tool(&self) -> Str<&str> {
        Str(&self.core.tool)
    }

    /// The number of tokens that the context uses.
    #[getter]
    fn tokens_used(&self) -> Number<i64> {
        Number(self.core.tokens_used)
    }

    /// The number of tokens available.
    #[getter]
    fn token_budget(&self) -> Number<i64> {
        Number(self.core.token_budget)
    }

    /// The identity of the content; may be empty.
    #[getter]
    fn pack_root(&self) -> Str<&str> {
        Str(&self.core.pack_root)
    }

    /// The symbols.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let owner = self.owner(py)?;
        let tuple = || parts(py, owner, Symbol);
        Ok(once(py, &self.symbols, tuple)?.clone_ref(py))
    }

    /// The edges.
    #[getter]
    fn edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let owner = self.owner(py)?;
        let tuple = || parts(py, owner, Edge);
        Ok(once(py, &self.edges, tuple)?.clone_ref(py))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| {
            let (py, other) = (other.py(), &other.get().core);
            let size = self.core.size().saturating_add(other.size());
            on_payloads(py, size, || self.core == *other)
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        on_payloads(py, self.core.size(), || {
            let mut state = DefaultHasher::new();
            self.hash(&mut state);
            state.finish()
        })
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let core = &**self.core;
        let tool = make_str(py, &core.tool)?.repr()?;
        let of = |name: &str, count: i64| match count {
            0 => String::new(),
            _ => format!(" {name}={count}"),
        };
        let many = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        let rest = format!(
            "{}{}: {}, {}>",
            of("tokens_used", core.tokens_used),
            of("token_budget", core.token_budget),
            many(core.symbols.len(), "symbol"),
            many(core.edges.len(), "edge")
        );
        join(py, "", vec![make_str(py, "<Payload ")?, tool, make_str(py, &rest)?])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let payload = &slf.get().core;
        let size = payload.size();
        ensure_memory(GRAPH_FACTOR.saturating_mul(size))?;
        let state = detached(slf.py(), size, || payload.to_state())?;
        let state = make_bytes(slf.py(), &state)?;
        reduced(slf.get_type().run_getattr(name!(slf.py(), "_restore")?)?, [state.into_any()])
    }

    #[staticmethod]
    #[pyo3(signature = (state, /))]
    fn _restore(state: &[u8]) -> PyResult<Self> {
        ensure_memory(STATE_FACTOR * state.len())?;
        restored(graph::Payload::from_state(state)).map(Into::into)
    }
}
