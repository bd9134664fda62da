//! The types of graph payloads: the core's, frozen, with Python's manners.

use super::text_of;
use crate::gcf::graph;
use crate::python::args::int64;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple};
use pyo3::{PyClass, intern};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// What a score is made of.
///
/// Parameters
/// ----------
/// blast_radius, confidence, recency, distance : float
///     Shares of the score.
///
/// Source: wire codecs, "Symbol".
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "compactwire.gcf")]
#[derive(PartialEq, Clone, Copy, Default)]
pub(in crate::python) struct Components(graph::Components);

impl Hash for Components {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.values().map(bits).hash(state);
    }
}

const COMPONENTS: &[&str] = &["blast_radius", "confidence", "recency", "distance"];

#[pymethods]
impl Components {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str) {
        ("blast_radius", "confidence", "recency", "distance")
    }

    #[new]
    #[pyo3(signature = (blast_radius = None, confidence = None, recency = None, distance = None))]
    #[pyo3(text_signature = "(blast_radius=0.0, confidence=0.0, recency=0.0, distance=0.0)")]
    fn new(
        blast_radius: Option<&Bound<'_, PyAny>>,
        confidence: Option<&Bound<'_, PyAny>>,
        recency: Option<&Bound<'_, PyAny>>,
        distance: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let values = [
            number(blast_radius, "blast_radius")?,
            number(confidence, "confidence")?,
            number(recency, "recency")?,
            number(distance, "distance")?,
        ];
        Ok(Self(values.into()))
    }

    /// How much hangs on the symbol.
    #[getter]
    fn blast_radius(&self) -> f64 {
        self.0.blast_radius
    }

    /// How sure its edges are.
    #[getter]
    fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// How new it is.
    #[getter]
    fn recency(&self) -> f64 {
        self.0.recency
    }

    /// How near it is.
    #[getter]
    fn distance(&self) -> f64 {
        self.0.distance
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr("Components", slf.as_any(), COMPONENTS.iter().copied())
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), COMPONENTS)
    }

    /// Components with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), COMPONENTS, changes)
    }
}

/// Where a symbol is declared; lines and columns count from 1.
///
/// Parameters
/// ----------
/// file : str
///     The file.
/// line, column : int
///     Where it begins.
/// end_line, end_column : int, optional
///     Where it ends; both or neither.
///
/// Raises
/// ------
/// ValueError
///     A number below 1, or half an end.
///
/// Source: GCF 3.6 section 6b.
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "compactwire.gcf")]
#[derive(PartialEq, Hash, Clone)]
pub(in crate::python) struct Location(graph::Location);

const LOCATION: &[&str] = &["file", "line", "column", "end_line", "end_column"];

#[pymethods]
impl Location {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("file", "line", "column")
    }

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

    /// The last line; None where it is not known.
    #[getter]
    fn end_line(&self) -> Option<u64> {
        self.0.end.map(|(line, _)| line)
    }

    /// The column of the end; None where it is not known.
    #[getter]
    fn end_column(&self) -> Option<u64> {
        self.0.end.map(|(_, column)| column)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr("Location", slf.as_any(), LOCATION.iter().copied())
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), LOCATION)
    }

    /// A location with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), LOCATION, changes)
    }
}

/// A value of its own, or a part of a payload, which lives as long then: nothing is copied.
pub(in crate::python) enum Held<T> {
    Own(Box<T>),
    Of(Arc<graph::Payload>, usize),
}

impl<T> Held<T> {
    fn own(value: T) -> Self {
        Self::Own(Box::new(value))
    }
}

/// What a payload has many of.
pub(in crate::python) trait Part: Sized {
    fn of(payload: &graph::Payload) -> &[Self];
}

impl Part for graph::Symbol {
    fn of(payload: &graph::Payload) -> &[Self] {
        &payload.symbols
    }
}

impl Part for graph::Edge {
    fn of(payload: &graph::Payload) -> &[Self] {
        &payload.edges
    }
}

impl<T: Part> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Own(value) => value,
            Self::Of(payload, at) => &T::of(payload)[*at],
        }
    }
}

impl<T: Part + PartialEq> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Part + Hash> Hash for Held<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// A symbol of a program, and why it is in a payload.
///
/// Immutable; equal when all fields are.
///
/// Parameters
/// ----------
/// qualified_name : str
///     Its name, with its package.
/// kind : str
///     function, type, method, interface, ... or any other word.
/// score : float
///     How relevant it is.
/// provenance : str
///     How it is known: lsp_resolved, ast_inferred, ...
/// distance : int
///     How many edges it is away from what was asked for: 0 target, 1 related, 2 and more extended.
/// signature : str
///     Its signature; may be empty.
/// components : Components or dict, optional
///     What the score is made of.
/// location : Location or dict, optional
///     Where it is declared.
///
/// Raises
/// ------
/// EncodeError
///     Text with a lone surrogate, an int beyond 64 bits.
///
/// Source: wire codecs, "Symbol".
#[pyclass(frozen, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq)]
pub(in crate::python) struct Symbol(pub(super) Held<graph::Symbol>);

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_symbol(&self.0, state);
    }
}

const SYMBOL: &[&str] = &[
    "qualified_name",
    "kind",
    "score",
    "provenance",
    "distance",
    "signature",
    "components",
    "location",
];

#[pymethods]
impl Symbol {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str, &'static str) {
        ("qualified_name", "kind", "score", "provenance", "distance")
    }

    #[new]
    #[pyo3(signature = (
        qualified_name, kind, score = None, provenance = None, distance = None, signature = None,
        components = None, *, location = None,
    ))]
    #[pyo3(text_signature = "(qualified_name, kind, score=0.0, provenance='', distance=0, \
                             signature='', components=None, *, location=None)")]
    #[expect(clippy::too_many_arguments, reason = "the fields of a symbol")]
    fn new(
        qualified_name: &Bound<'_, PyAny>,
        kind: &Bound<'_, PyAny>,
        score: Option<&Bound<'_, PyAny>>,
        provenance: Option<&Bound<'_, PyAny>>,
        distance: Option<&Bound<'_, PyAny>>,
        signature: Option<&Bound<'_, PyAny>>,
        components: Option<&Bound<'_, PyAny>>,
        location: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let components = components.map(element::<Components>).transpose()?;
        let location = location.map(element::<Location>).transpose()?;
        Ok(Self(Held::own(graph::Symbol {
            qualified_name: text_of(Some(qualified_name), "qualified_name")?,
            kind: text_of(Some(kind), "kind")?,
            score: number(score, "score")?,
            provenance: text_of(provenance, "provenance")?,
            distance: distance.map_or(Ok(0), |distance| int64(distance, "distance"))?,
            signature: text_of(signature, "signature")?,
            components: components.map(|components| components.get().0).unwrap_or_default(),
            location: location.map(|location| Box::new(location.get().0.clone())),
        })))
    }

    /// The name, with its package.
    #[getter]
    fn qualified_name(&self) -> &str {
        &self.0.qualified_name
    }

    /// What kind of symbol.
    #[getter]
    fn kind(&self) -> &str {
        &self.0.kind
    }

    /// How relevant it is.
    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    /// How it is known.
    #[getter]
    fn provenance(&self) -> &str {
        &self.0.provenance
    }

    /// How many edges it is away.
    #[getter]
    fn distance(&self) -> i64 {
        self.0.distance
    }

    /// Its signature.
    #[getter]
    fn signature(&self) -> &str {
        &self.0.signature
    }

    /// What the score is made of.
    #[getter]
    fn components(&self) -> Components {
        Components(self.0.components)
    }

    /// Where it is declared, if that is known.
    #[getter]
    fn location(&self) -> Option<Location> {
        self.0.location.as_deref().cloned().map(Location)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let plain = slf.get().0.components == graph::Components::default();
        let fields = SYMBOL.iter().copied().filter(|&name| !(plain && name == "components"));
        repr("Symbol", slf.as_any(), fields)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), SYMBOL)
    }

    /// A symbol with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), SYMBOL, changes)
    }
}

/// A directed edge between two symbols of a payload, by their names.
///
/// Immutable; equal when all fields are.
///
/// Parameters
/// ----------
/// source, target : str
///     The qualified names of its ends.
/// edge_type : str
///     calls, imports, implements, ...
/// status : str
///     added, removed, unchanged in a difference; else empty.
///
/// Raises
/// ------
/// EncodeError
///     Text with a lone surrogate.
///
/// Source: wire codecs, "Edge".
#[pyclass(frozen, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq, Hash)]
pub(in crate::python) struct Edge(pub(super) Held<graph::Edge>);

const EDGE: &[&str] = &["source", "target", "edge_type", "status"];

#[pymethods]
impl Edge {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str, &'static str) {
        ("source", "target", "edge_type", "status")
    }

    #[new]
    #[pyo3(signature = (source, target, edge_type, status = None))]
    #[pyo3(text_signature = "(source, target, edge_type, status='')")]
    fn new(
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        edge_type: &Bound<'_, PyAny>,
        status: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(Held::own(graph::Edge {
            source: text_of(Some(source), "source")?,
            target: text_of(Some(target), "target")?,
            edge_type: text_of(Some(edge_type), "edge_type")?,
            status: text_of(status, "status")?,
        })))
    }

    /// The name of where it begins.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// The name of where it ends.
    #[getter]
    fn target(&self) -> &str {
        &self.0.target
    }

    /// What kind of edge.
    #[getter]
    fn edge_type(&self) -> &str {
        &self.0.edge_type
    }

    /// What a difference says of it.
    #[getter]
    fn status(&self) -> &str {
        &self.0.status
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr("Edge", slf.as_any(), EDGE.iter().copied())
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), EDGE)
    }

    /// An edge with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), EDGE, changes)
    }
}

/// What a tool answers with: symbols, and the edges between them.
///
/// Immutable; equal when all fields are.
///
/// Parameters
/// ----------
/// tool : str
///     Who answers.
/// tokens_used, token_budget : int
///     How many tokens the context took, and might take.
/// pack_root : str
///     The identity of the content, as `pack_root` makes it; may be empty.
/// symbols : iterable of Symbol or dict
///     The symbols.
/// edges : iterable of Edge or dict
///     The edges.
///
/// Raises
/// ------
/// EncodeError
///     Text with a lone surrogate, an int beyond 64 bits.
///
/// Source: wire codecs, "Payload".
#[pyclass(frozen, eq, hash, module = "compactwire.gcf")]
pub(in crate::python) struct Payload {
    pub(in crate::python) core: Arc<graph::Payload>,
    symbols: PyOnceLock<Py<PyTuple>>,
    edges: PyOnceLock<Py<PyTuple>>,
}

impl From<graph::Payload> for Payload {
    fn from(core: graph::Payload) -> Self {
        Self { core: Arc::new(core), symbols: PyOnceLock::new(), edges: PyOnceLock::new() }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

impl Hash for Payload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let graph::Payload { tool, tokens_used, token_budget, pack_root, symbols, edges } =
            &*self.core;
        (tool, tokens_used, token_budget, pack_root, edges).hash(state);
        for symbol in symbols {
            hash_symbol(symbol, state);
        }
    }
}

const PAYLOAD: &[&str] = &["tool", "tokens_used", "token_budget", "pack_root", "symbols", "edges"];

#[pymethods]
impl Payload {
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
        let count =
            |value: Option<&Bound<'_, PyAny>>, field| value.map_or(Ok(0), |v| int64(v, field));
        let core = graph::Payload {
            tool: text_of(tool, "tool")?,
            tokens_used: count(tokens_used, "tokens_used")?,
            token_budget: count(token_budget, "token_budget")?,
            pack_root: text_of(pack_root, "pack_root")?,
            symbols: elements(symbols, |symbol: &Symbol| (*symbol.0).clone())?,
            edges: elements(edges, |edge: &Edge| (*edge.0).clone())?,
        };
        Ok(core.into())
    }

    /// Who answers.
    #[getter]
    fn tool(&self) -> &str {
        &self.core.tool
    }

    /// How many tokens the context took.
    #[getter]
    fn tokens_used(&self) -> i64 {
        self.core.tokens_used
    }

    /// How many it might take.
    #[getter]
    fn token_budget(&self) -> i64 {
        self.core.token_budget
    }

    /// The identity of the content; may be empty.
    #[getter]
    fn pack_root(&self) -> &str {
        &self.core.pack_root
    }

    /// The symbols.
    #[getter]
    fn symbols(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let symbol = |at| Symbol(Held::Of(self.core.clone(), at));
        let tuple =
            || Ok::<_, PyErr>(PyTuple::new(py, (0..self.core.symbols.len()).map(symbol))?.unbind());
        Ok(self.symbols.get_or_try_init(py, tuple)?.clone_ref(py))
    }

    /// The edges.
    #[getter]
    fn edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let edge = |at| Edge(Held::Of(self.core.clone(), at));
        let tuple =
            || Ok::<_, PyErr>(PyTuple::new(py, (0..self.core.edges.len()).map(edge))?.unbind());
        Ok(self.edges.get_or_try_init(py, tuple)?.clone_ref(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let core = &*self.core;
        let tool = PyString::new(py, &core.tool).repr()?;
        let of = |name: &str, count: i64| match count {
            0 => String::new(),
            _ => format!(" {name}={count}"),
        };
        let many = |count: usize, noun: &str| {
            format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
        };
        Ok(format!(
            "<Payload {tool}{}{}: {}, {}>",
            of("tokens_used", core.tokens_used),
            of("token_budget", core.token_budget),
            many(core.symbols.len(), "symbol"),
            many(core.edges.len(), "edge")
        ))
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), PAYLOAD)
    }

    /// A payload with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), PAYLOAD, changes)
    }
}

/// What changes one payload into another.
///
/// Immutable; equal when all fields are. A delta that was read knows no `full_tokens`.
///
/// Parameters
/// ----------
/// tool : str
///     Who answers.
/// base_root, new_root : str
///     The roots of what the peer has and will have.
/// removed, added : iterable of Symbol or dict
///     Symbols that go, of which kind and name count, and symbols that come.
/// removed_edges, added_edges : iterable of Edge or dict
///     Edges that go and come.
/// delta_tokens, full_tokens : int
///     Tokens of the delta and of the whole payload; 0 for unknown.
///
/// Raises
/// ------
/// EncodeError
///     Text with a lone surrogate, an int beyond 64 bits.
///
/// Source: wire codecs, "DeltaPayload".
#[pyclass(frozen, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq)]
pub(in crate::python) struct DeltaPayload(pub(super) graph::DeltaPayload);

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

const DELTA: &[&str] = &[
    "tool",
    "base_root",
    "new_root",
    "removed",
    "added",
    "removed_edges",
    "added_edges",
    "delta_tokens",
    "full_tokens",
];

#[pymethods]
impl DeltaPayload {
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
        let count =
            |value: Option<&Bound<'_, PyAny>>, field| value.map_or(Ok(0), |v| int64(v, field));
        let symbol = |symbol: &Symbol| (*symbol.0).clone();
        let edge = |edge: &Edge| (*edge.0).clone();
        Ok(Self(graph::DeltaPayload {
            tool: text_of(tool, "tool")?,
            base_root: text_of(base_root, "base_root")?,
            new_root: text_of(new_root, "new_root")?,
            removed: elements(removed, symbol)?,
            added: elements(added, symbol)?,
            removed_edges: elements(removed_edges, edge)?,
            added_edges: elements(added_edges, edge)?,
            delta_tokens: count(delta_tokens, "delta_tokens")?,
            full_tokens: count(full_tokens, "full_tokens")?,
        }))
    }

    /// Who answers.
    #[getter]
    fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The root of what the peer has.
    #[getter]
    fn base_root(&self) -> &str {
        &self.0.base_root
    }

    /// The root of what it will have.
    #[getter]
    fn new_root(&self) -> &str {
        &self.0.new_root
    }

    /// Symbols that go.
    #[getter]
    fn removed(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        symbols_of(py, &self.0.removed)
    }

    /// Symbols that come.
    #[getter]
    fn added(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        symbols_of(py, &self.0.added)
    }

    /// Edges that go.
    #[getter]
    fn removed_edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        edges_of(py, &self.0.removed_edges)
    }

    /// Edges that come.
    #[getter]
    fn added_edges(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        edges_of(py, &self.0.added_edges)
    }

    /// Tokens of the delta; 0 for unknown.
    #[getter]
    fn delta_tokens(&self) -> i64 {
        self.0.delta_tokens
    }

    /// Tokens of the whole payload; 0 for unknown.
    #[getter]
    fn full_tokens(&self) -> i64 {
        self.0.full_tokens
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let delta = &self.0;
        let tool = PyString::new(py, &delta.tool).repr()?;
        Ok(format!(
            "<DeltaPayload {tool}: -{} +{} symbols, -{} +{} edges>",
            delta.removed.len(),
            delta.added.len(),
            delta.removed_edges.len(),
            delta.added_edges.len()
        ))
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), DELTA)
    }

    /// A delta with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        replaced(slf.as_any(), DELTA, changes)
    }
}

/// What the peer has is still right.
///
/// Parameters
/// ----------
/// tool : str
///     Who answers.
/// pack_root : str
///     The root of what the peer has.
/// symbols : int
///     How many symbols that has.
///
/// Source: GCF 3.6 section 10.
#[pyclass(frozen, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq, Eq)]
pub(in crate::python) struct Unchanged(pub(super) graph::Unchanged);

impl Hash for Unchanged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.tool, &self.0.pack_root, self.0.symbols).hash(state);
    }
}

const UNCHANGED: &[&str] = &["tool", "pack_root", "symbols"];

#[pymethods]
impl Unchanged {
    #[new]
    #[pyo3(signature = (tool = None, pack_root = None, symbols = None))]
    #[pyo3(text_signature = "(tool='', pack_root='', symbols=0)")]
    fn new(
        tool: Option<&Bound<'_, PyAny>>,
        pack_root: Option<&Bound<'_, PyAny>>,
        symbols: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self(graph::Unchanged {
            tool: text_of(tool, "tool")?,
            pack_root: text_of(pack_root, "pack_root")?,
            symbols: symbols.map_or(Ok(0), |count| int64(count, "symbols"))?,
        }))
    }

    /// Who answers.
    #[getter]
    fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The root of what the peer has.
    #[getter]
    fn pack_root(&self) -> &str {
        &self.0.pack_root
    }

    /// How many symbols that has.
    #[getter]
    fn symbols(&self) -> i64 {
        self.0.symbols
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr("Unchanged", slf.as_any(), UNCHANGED.iter().copied())
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArgs<'py>> {
        new_args(slf.as_any(), UNCHANGED)
    }
}

/// What pickle and copy give to the constructor.
type NewArgs<'py> = (Bound<'py, PyTuple>, Bound<'py, PyDict>);

fn fields<'py>(object: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(object.py());
    for &name in names {
        fields.set_item(name, object.getattr(name)?)?;
    }
    Ok(fields)
}

fn new_args<'py>(object: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<NewArgs<'py>> {
    Ok((PyTuple::empty(object.py()), fields(object, names)?))
}

fn replaced<'py>(
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
fn repr<'n>(
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

/// An object of a class, or made of a dict with its fields.
fn element<'py, T: PyClass + pyo3::PyTypeInfo>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, T>> {
    if let Ok(element) = object.cast::<T>() {
        return Ok(element.clone());
    }
    let class = object.py().get_type::<T>();
    let Ok(fields) = object.cast::<PyDict>() else {
        let found = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "expected {} or dict, not {found}",
            class.name()?
        )));
    };
    Ok(class.call((), Some(fields))?.cast_into()?)
}

fn elements<T, C>(list: Option<&Bound<'_, PyAny>>, take: impl Fn(&T) -> C) -> PyResult<Vec<C>>
where
    T: PyClass<Frozen = True> + pyo3::PyTypeInfo + Sync,
{
    let Some(list) = list else { return Ok(Vec::new()) };
    let mut taken = Vec::new();
    for object in list.try_iter()? {
        taken.push(take(element::<T>(&object?)?.get()));
    }
    Ok(taken)
}

fn symbols_of(py: Python<'_>, symbols: &[graph::Symbol]) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, symbols.iter().cloned().map(|symbol| Symbol(Held::own(symbol))))?.unbind())
}

fn edges_of(py: Python<'_>, edges: &[graph::Edge]) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, edges.iter().cloned().map(|edge| Edge(Held::own(edge))))?.unbind())
}

/// A number of a field; 0 where there is none.
fn number(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<f64> {
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
fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

fn hash_symbol<H: Hasher>(symbol: &graph::Symbol, state: &mut H) {
    (&symbol.qualified_name, &symbol.kind, bits(symbol.score)).hash(state);
    (&symbol.provenance, symbol.distance, &symbol.signature).hash(state);
    (symbol.components.values().map(bits), &symbol.location).hash(state);
}
