//! The message that nothing changed, as a Python object.

use super::super::text_of;
use crate::args::int64;
use crate::record::{Names, Record, returned_by_value};
use compactwire::gcf::graph;
use pyo3::prelude::*;
use std::hash::{Hash, Hasher};

/// The message that the peer's snapshot is still current.
///
/// Parameters
/// ----------
/// tool : str
///     The tool that produced the payload.
/// pack_root : str
///     The root of the peer's snapshot.
/// symbols : int
///     The number of symbols of the snapshot.
///
/// Source: GCF 3.6 section 10.
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.gcf")]
#[derive(PartialEq, Eq)]
pub(crate) struct Unchanged(pub(in super::super) graph::Unchanged);

impl Hash for Unchanged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.0.tool, &self.0.pack_root, self.0.symbols).hash(state);
    }
}

returned_by_value!(Unchanged, Record);

#[pymethods]
impl Unchanged {
    #[classattr]
    #[pyo3(name = "_fields")]
    const FIELDS: Names = Names(&["tool", "pack_root", "symbols"]);

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

    /// The tool that produced the payload.
    #[getter]
    fn tool(&self) -> &str {
        &self.0.tool
    }

    /// The root of the peer's snapshot.
    #[getter]
    fn pack_root(&self) -> &str {
        &self.0.pack_root
    }

    /// The number of symbols of the snapshot.
    #[getter]
    fn symbols(&self) -> i64 {
        self.0.symbols
    }
}
