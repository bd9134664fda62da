//! A symbol, as a Python object.

use super::bits;
use super::components::Components;
use super::element::{Element, element};
use super::held::Held;
use super::location::Location;
use crate::graph::arguments::{count_of, number, text_of, word_of};
use crate::make::{ensure_memory, make_float, make_int, make_tuple};
use crate::record::{self, Names, Record};
use compactwire::gcf::graph;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::hash::{Hash, Hasher};

/// A symbol of a program, with its relevance to the request.
///
/// Immutable; equal if all fields are equal.
///
/// Parameters
/// ----------
/// qualified_name : str
///     The name, including the package.
/// kind : str
///     The kind: "function", "type", "method", "interface", ... or any other word.
/// score : float
///     The relevance.
/// provenance : str
///     How the symbol was found: "lsp_resolved", "ast_inferred", ...
/// distance : int
///     The number of edges between the symbol and the target: 0 target, 1 related, 2 and more
///     extended.
/// signature : str
///     The signature; may be empty.
/// components : Components or dict, optional
///     The components of the score.
/// location : Location or dict, optional
///     The source location.
///
/// Raises
/// ------
/// EncodeError
///     A string has a lone surrogate, or an int exceeds 64 bits.
///
/// Source: wire codecs, "Symbol".
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq)]
pub(crate) struct Symbol(pub(in super::super) Held<graph::Symbol>);

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_symbol(&self.0, state);
    }
}

impl Element<8> for Symbol {
    type Core = graph::Symbol;

    const FIELDS: [&'static str; 8] = [
        "qualified_name",
        "kind",
        "score",
        "provenance",
        "distance",
        "signature",
        "components",
        "location",
    ];
    const ITEMS: &'static str = "Symbol or dict";
    const REQUIRED: usize = 2;

    fn core(&self) -> graph::Symbol {
        (*self.0).clone()
    }

    fn of(fields: [Option<&Bound<'_, PyAny>>; 8]) -> PyResult<graph::Symbol> {
        let [qualified_name, kind, score, provenance, distance, signature, components, location] =
            fields;
        let components =
            components.map(|given| element::<Components>(given, "components")).transpose()?;
        let location = location.map(|given| element::<Location>(given, "location")).transpose()?;
        Ok(graph::Symbol {
            qualified_name: text_of(qualified_name, "qualified_name")?,
            kind: word_of(kind, "kind")?,
            score: number(score, "score")?,
            provenance: word_of(provenance, "provenance")?,
            distance: count_of(distance, "distance")?,
            signature: text_of(signature, "signature")?,
            components: components.map(|components| components.get().core()).unwrap_or_default(),
            location: location.map(|location| Box::new(location.get().core())),
        })
    }
}

#[pymethods]
impl Symbol {
    #[classattr]
    const _fields: Names = Names(&Self::FIELDS);
    #[classattr]
    const __match_args__: Names =
        Names(&["qualified_name", "kind", "score", "provenance", "distance"]);

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
        let (qualified_name, kind) = (Some(qualified_name), Some(kind));
        let fields =
            [qualified_name, kind, score, provenance, distance, signature, components, location];
        Ok(Self(Held::own(Self::of(fields)?)))
    }

    /// The name, including the package.
    #[getter]
    fn qualified_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |symbol| &symbol.qualified_name)
    }

    /// The kind of the symbol.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |symbol| &symbol.kind)
    }

    /// The relevance.
    #[getter]
    fn score<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        make_float(py, self.0.score)
    }

    /// How the symbol was found.
    #[getter]
    fn provenance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |symbol| &symbol.provenance)
    }

    /// The number of edges between the symbol and the target.
    #[getter]
    fn distance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        make_int(py, self.0.distance)
    }

    /// The signature; may be empty.
    #[getter]
    fn signature<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.0.string(py, |symbol| &symbol.signature)
    }

    /// The components of the score.
    #[getter]
    fn components(&self) -> Components {
        self.0.components.into()
    }

    /// The source location; None if unknown.
    #[getter]
    fn location(&self) -> Option<Location> {
        self.0.location.as_deref().map(Into::into)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        let plain = slf.get().0.components == graph::Components::default();
        record::repr(slf.as_any(), |name, value| {
            Ok(value.is_truthy()? && !(plain && name == "components"))
        })
    }
}

pub(super) fn symbols_of(py: Python<'_>, symbols: &[graph::Symbol]) -> PyResult<Py<PyTuple>> {
    ensure_memory(4 * size_of_val(symbols))?;
    let symbols = symbols.iter().cloned().map(|symbol| Symbol(Held::own(symbol)).into_pyobject(py));
    Ok(make_tuple(py, symbols)?.unbind())
}

pub(super) fn hash_symbol<H: Hasher>(symbol: &graph::Symbol, state: &mut H) {
    (&symbol.qualified_name, &symbol.kind, bits(symbol.score)).hash(state);
    (&symbol.provenance, symbol.distance, &symbol.signature).hash(state);
    (symbol.components.values().map(bits), &symbol.location).hash(state);
}
