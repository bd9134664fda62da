//! The components of a score, as a Python object.

use super::bits;
use crate::graph::arguments::number;
use crate::record::{Names, Record};
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
#[pyclass(
    frozen, extends = Record, eq, hash, get_all, skip_from_py_object, module = "compactwire.gcf"
)]
#[derive(PartialEq, Clone, Copy)]
pub(crate) struct Components {
    /// The impact on the graph: how much depends on the symbol.
    blast_radius: f64,
    /// The confidence in the edges of the symbol.
    confidence: f64,
    /// How recent the symbol is.
    recency: f64,
    /// How close the symbol is to the target.
    distance: f64,
}

impl Components {
    pub(super) fn core(self) -> graph::Components {
        [self.blast_radius, self.confidence, self.recency, self.distance].into()
    }
}

impl From<graph::Components> for Components {
    fn from(components: graph::Components) -> Self {
        let [blast_radius, confidence, recency, distance] = components.values();
        Self { blast_radius, confidence, recency, distance }
    }
}

impl Hash for Components {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.core().values().map(bits).hash(state);
    }
}

#[pymethods]
impl Components {
    #[classattr]
    const _fields: Names = Names(&["blast_radius", "confidence", "recency", "distance"]);
    #[classattr]
    const __match_args__: Names = Self::_fields;

    #[new]
    #[pyo3(signature = (blast_radius = None, confidence = None, recency = None, distance = None))]
    #[pyo3(text_signature = "(blast_radius=0.0, confidence=0.0, recency=0.0, distance=0.0)")]
    fn new(
        blast_radius: Option<&Bound<'_, PyAny>>,
        confidence: Option<&Bound<'_, PyAny>>,
        recency: Option<&Bound<'_, PyAny>>,
        distance: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            blast_radius: number(blast_radius, "blast_radius")?,
            confidence: number(confidence, "confidence")?,
            recency: number(recency, "recency")?,
            distance: number(distance, "distance")?,
        })
    }
}
