//! The writer. A field that the layout cannot carry is an error.

use super::{Dangling, Lossy, MAGIC, VERSION, shortest};
use crate::excerpt::excerpt;
use crate::gcf::graph::vocabulary::{EDGE_TYPES, KINDS, PROVENANCES, STATUSES, id};
use crate::gcf::graph::{Components, Edge, NameMemo, Payload, Symbol};
use crate::interrupt::polled;
use crate::text::leb128;
use crate::wire::error::{Code, Error};
use hashbrown::{HashMap, HashSet};

/// Writes a payload.
///
/// # Errors
/// The payload has something that the layout cannot carry; the error has its path.
pub fn encode(payload: &Payload, lossy: Lossy) -> Result<Vec<u8>, Error> {
    if !payload.pack_root.is_empty() && !lossy.pack_root {
        let message = "GCB has no field for a root; lossy \"pack_root\" omits it";
        return Err(Error::of(Code::PackRoot, "$.pack_root", message));
    }
    let edges = Writer::ends(payload, lossy)?;
    let texts = payload.symbols.iter().map(|s| s.qualified_name.len() + s.signature.len() + 28);
    let mut out = Vec::with_capacity(64 + texts.sum::<usize>() + 8 * edges.len());
    out.extend_from_slice(MAGIC);
    out.push(VERSION);
    let mut writer = Writer { out, lossy };
    writer.text(&payload.tool);
    writer.count(payload.tokens_used, "$.tokens_used")?;
    writer.count(payload.token_budget, "$.token_budget")?;
    writer.varint(payload.symbols.len() as u64);
    writer.varint(edges.len() as u64);
    for (i, symbol) in polled(&payload.symbols).enumerate() {
        writer.symbol(symbol, i)?;
    }
    for (i, source, target) in polled(edges) {
        writer.edge(&payload.edges[i], i, source, target)?;
    }
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    lossy: Lossy,
}

impl Writer {
    /// The edges to write: their index, and the positions of source and target.
    fn ends(payload: &Payload, lossy: Lossy) -> Result<Vec<(usize, u64, u64)>, Error> {
        if payload.edges.is_empty() {
            return Ok(Vec::new());
        }
        let mut by_name = HashMap::with_capacity(payload.symbols.len());
        let mut shared = HashSet::new();
        for (i, symbol) in (0_u64..).zip(polled(&payload.symbols)) {
            if by_name.insert(&*symbol.qualified_name, i).is_some() {
                shared.insert(&*symbol.qualified_name);
            }
        }
        let found = NameMemo::default();
        let find = |name| (by_name.get(name).copied(), shared.contains(name));
        let end = |name, i: usize, which: &str| match found.get(name, find) {
            (Some(_), true) if !lossy.duplicates => {
                let message = format!("more than one symbol is called {}", excerpt(name));
                Err(Error::of(Code::DuplicateSymbol, format!("$.edges[{i}].{which}"), message))
            }
            (Some(index), _) => Ok(Some(index)),
            (None, _) => match lossy.dangling {
                Dangling::Zero => Ok(Some(0)),
                Dangling::Drop => Ok(None),
                Dangling::Refuse => {
                    let message = format!("{} is not among the symbols", excerpt(name));
                    Err(Error::of(Code::DanglingEdge, format!("$.edges[{i}].{which}"), message))
                }
            },
        };
        let mut edges = Vec::with_capacity(payload.edges.len());
        for (i, edge) in polled(&payload.edges).enumerate() {
            let source = end(&edge.source, i, "source")?;
            let target = end(&edge.target, i, "target")?;
            if let (Some(source), Some(target)) = (source, target) {
                edges.push((i, source, target));
            }
        }
        Ok(edges)
    }

    fn symbol(&mut self, symbol: &Symbol, i: usize) -> Result<(), Error> {
        let path = |field: &str| format!("$.symbols[{i}].{field}");
        if symbol.location.is_some() && !self.lossy.location {
            let message = "GCB has no field for a location; lossy \"location\" omits it";
            return Err(Error::of(Code::Location, path("location"), message));
        }
        self.text(&symbol.qualified_name);
        self.word(KINDS, &symbol.kind, Code::UnknownKind, || path("kind"))?;
        self.number(symbol.score, || path("score"))?;
        let code = Code::UnknownProvenance;
        self.word(PROVENANCES, &symbol.provenance, code, || path("provenance"))?;
        match u8::try_from(symbol.distance) {
            Ok(distance) => self.out.push(distance),
            Err(_) if self.lossy.distance => self.out.push(symbol.distance.to_le_bytes()[0]),
            Err(_) => {
                let message = format!("expected a distance of 0 to 255, found {}", symbol.distance);
                return Err(Error::of(Code::DistanceRange, path("distance"), message));
            }
        }
        self.text(&symbol.signature);
        for (name, value) in Components::NAMES.iter().zip(symbol.components.values()) {
            self.number(value, || path(&format!("components.{name}")))?;
        }
        Ok(())
    }

    fn edge(&mut self, edge: &Edge, i: usize, source: u64, target: u64) -> Result<(), Error> {
        self.varint(source);
        self.varint(target);
        let path = |field: &str| format!("$.edges[{i}].{field}");
        self.word(EDGE_TYPES, &edge.edge_type, Code::UnknownEdgeType, || path("edge_type"))?;
        // The status "unchanged" is written as an empty status.
        let status = if &*edge.status == "unchanged" { "" } else { &edge.status };
        self.word(STATUSES, status, Code::UnknownStatus, || path("status"))
    }

    fn word(
        &mut self,
        table: &[&str],
        word: &str,
        code: Code,
        path: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        match id(table, word) {
            Some(id) => self.out.push(id),
            None if self.lossy.ids => self.out.push(0),
            None => {
                let message =
                    format!("GCB has no id for the word {}; lossy \"ids\" omits it", excerpt(word));
                return Err(Error::of(code, path(), message));
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "the check below detects a loss")]
    fn number(&mut self, value: f64, path: impl FnOnce() -> String) -> Result<(), Error> {
        let narrow = value as f32;
        if !narrow.is_finite() {
            let message = format!("expected a number within the range of binary32, found {value}");
            return Err(Error::of(Code::NotFinite, path(), message));
        }
        // By default, the reader returns `shortest(narrow)`, which must be the same value.
        #[expect(clippy::float_cmp, reason = "whether exactly this value is read back")]
        if !self.lossy.precision && shortest(narrow) != value {
            let message = format!(
                "binary32 would change {value} to {}; lossy \"precision\" allows it",
                shortest(narrow)
            );
            return Err(Error::of(Code::Precision, path(), message));
        }
        self.out.extend_from_slice(&narrow.to_le_bytes());
        Ok(())
    }

    fn count(&mut self, count: i64, path: &str) -> Result<(), Error> {
        let Ok(count) = u64::try_from(count) else {
            let message = format!("the count {count} is negative");
            return Err(Error::of(Code::CountRange, path, message));
        };
        self.varint(count);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    fn varint(&mut self, value: u64) {
        leb128::write(value, &mut self.out);
    }
}
