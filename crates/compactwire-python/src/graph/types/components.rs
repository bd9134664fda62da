//! The components of a score, as a Python object.

use super::bits;
use crate::graph::arguments::number;
use crate::make::Number;
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
    blast_radius: Number<f64>,
    /// The confidence in the edges of the symbol.
    confidence: Number<f64>,
    /// How recent the symbol is.
    recency: Number<f64>,
    /// How close the symbol is to the target.
    distance: Number<f64>,
}

impl Components {
    pub(super) fn core(self) -> graph::Components {
        let Self { blast_radius, confidence, recency, distance } = self;
        [blast_radius, confidence, recency, distance].map(|Number(value)| value).into()
    }
}

impl From<graph::Components> for Components {
    fn from(components: graph::Components) -> Self {
        let [blast_radius, confidence, recency, distance] = components.values().map(Number);
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
            blast_radius: number(blast_radius, "blast_radius").map(Number)?,
            confidence: number(confidence, "confidence").map(Number)?,
            recency: number(recency, "recency").map(Number)?,
            distance: number(distance, "distance").map(Number)?,
        })
    }
}
