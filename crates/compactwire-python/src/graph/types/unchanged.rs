//! The message that nothing changed, as a Python object.

use super::Text;
use crate::graph::arguments::{count_of, text_of};
use crate::make::Number;
use crate::record::{Names, Record};
use compactwire::gcf::graph;
use pyo3::prelude::*;

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
#[pyclass(frozen, extends = Record, eq, hash, get_all, module = "compactwire.gcf")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Unchanged {
    /// The tool that produced the payload.
    tool: Text,
    /// The root of the peer's snapshot.
    pack_root: Text,
    /// The number of symbols of the snapshot.
    symbols: Number<i64>,
}

impl From<graph::Unchanged> for Unchanged {
    fn from(unchanged: graph::Unchanged) -> Self {
        let graph::Unchanged { tool, pack_root, symbols } = unchanged;
        Self { tool: Text(tool), pack_root: Text(pack_root), symbols: Number(symbols) }
    }
}

#[pymethods]
impl Unchanged {
    #[classattr]
    const _fields: Names = Names(&["tool", "pack_root", "symbols"]);

    #[new]
    #[pyo3(signature = (tool = None, pack_root = None, symbols = None))]
    #[pyo3(text_signature = "(tool='', pack_root='', symbols=0)")]
    fn new(
        tool: Option<&Bound<'_, PyAny>>,
        pack_root: Option<&Bound<'_, PyAny>>,
        symbols: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            tool: Text(text_of(tool, "tool")?),
            pack_root: Text(text_of(pack_root, "pack_root")?),
            symbols: count_of(symbols, "symbols").map(Number)?,
        })
    }
}
