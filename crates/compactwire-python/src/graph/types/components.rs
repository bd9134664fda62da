//! The components of a score, as a Python object.

use super::{bits, number};
use crate::record::{Names, Record, returned_by_value};
use compactwire::gcf::graph;
use pyo3::prelude::*;
use std::hash::{Hash, Hasher};

/// The components of a score.
///
/// Parameters
/// ----------
/// blast_radius, confidence, recency, distance : float
///     The components: graph impact, confidence in the edges, recency and proximity.
///
/// Source: wire codecs, "Symbol".
#[pyclass(frozen, extends = Record, eq, hash, skip_from_py_object, module = "compactwire.gcf")]
#[derive(PartialEq, Clone, Copy, Default)]
pub(crate) struct Components(pub(super) graph::Components);

impl Hash for Components {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.values().map(bits).hash(state);
    }
}

returned_by_value!(Components, Record);

const FIELDS: Names = Names(&["blast_radius", "confidence", "recency", "distance"]);

#[pymethods]
impl Components {
    #[classattr]
    #[pyo3(name = "_fields")]
    const FIELDS: Names = FIELDS;
    #[classattr]
    #[pyo3(name = "__match_args__")]
    const MATCH_ARGS: Names = FIELDS;

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

    /// How much depends on the symbol.
    #[getter]
    fn blast_radius(&self) -> f64 {
        self.0.blast_radius
    }

    /// The confidence in the edges of the symbol.
    #[getter]
    fn confidence(&self) -> f64 {
        self.0.confidence
    }

    /// How recent the symbol is.
    #[getter]
    fn recency(&self) -> f64 {
        self.0.recency
    }

    /// How close the symbol is to the target.
    #[getter]
    fn distance(&self) -> f64 {
        self.0.distance
    }
}
