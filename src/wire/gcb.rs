//! GCB: a payload as bytes, positions instead of names, words as numbers (version 1).
//!
//! ```text
//! GCB1 01  tool tokens_used token_budget symbols edges
//! symbol:  qualified_name kind:u8 score:f32 provenance:u8 distance:u8 signature 4 * f32
//! edge:    source target type:u8 status:u8
//! ```
//! A text is its length in bytes and UTF-8; lengths, counts and positions are LEB128; f32 is
//! little-endian. Symbols and edges keep their order.
//!
//! # What it cannot carry
//! A root, locations, words without an id, distances beyond one byte, more than some seven digits, an
//! edge whose end is no symbol or two. Each is an error that names it, unless [`Lossy`] gives it up.

use super::error::{Code, Error};
use crate::gcf::graph::vocabulary::{EDGE_TYPES, KINDS, PROVENANCES, STATUSES, id};
use crate::gcf::graph::{Components, Edge, Payload, Symbol, Text, Whole};
use crate::position::excerpt;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

const MAGIC: &[u8; 4] = b"GCB1";
const VERSION: u8 = 1;
const SMALLEST_SYMBOL: u64 = 25;
const SMALLEST_EDGE: u64 = 4;

/// What a caller gives up; by default, nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a set of losses")]
pub struct Lossy {
    /// Words without an id are written as 0, and read as empty.
    pub ids: bool,
    /// The root is left out.
    pub pack_root: bool,
    /// Locations are left out.
    pub location: bool,
    /// Of a distance, the lowest byte is written.
    pub distance: bool,
    /// Numbers are rounded to binary32.
    pub precision: bool,
    /// An edge that names two symbols goes to the last.
    pub duplicates: bool,
    /// What happens to an edge that names no symbol.
    pub dangling: Dangling,
}

/// What happens to an edge that names no symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dangling {
    /// `gcb_dangling_edge`.
    #[default]
    Refuse,
    /// It is left out.
    Drop,
    /// It goes to the first symbol, as the original codec writes it.
    Zero,
}

/// How bytes are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DecodeOptions {
    /// Whether numbers are the widened binary32, not the shortest decimal that rounds to it.
    pub raw_float32: bool,
    /// Whether an id without a word is read as `unknown_N`.
    pub unknown_ids: bool,
    /// Whether an edge may go to a symbol whose name another has: which one is then lost.
    pub duplicates: bool,
}

/// Writes a payload.
///
/// # Errors
/// What the layout cannot carry, with the path to it.
pub fn encode(payload: &Payload, lossy: Lossy) -> Result<Vec<u8>, Error> {
    if !payload.pack_root.is_empty() && !lossy.pack_root {
        let message = "GCB has no place for a root; give up pack_root";
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
    for (i, symbol) in payload.symbols.iter().enumerate() {
        writer.symbol(symbol, i)?;
    }
    for (i, source, target) in edges {
        writer.edge(&payload.edges[i], i, source, target)?;
    }
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    lossy: Lossy,
}

impl Writer {
    /// The edges that are written: which, and the positions of source and target.
    fn ends(payload: &Payload, lossy: Lossy) -> Result<Vec<(usize, u64, u64)>, Error> {
        if payload.edges.is_empty() {
            return Ok(Vec::new());
        }
        let mut by_name = HashMap::with_capacity(payload.symbols.len());
        let mut shared = HashSet::new();
        for (i, symbol) in (0_u64..).zip(&payload.symbols) {
            if by_name.insert(&*symbol.qualified_name, i).is_some() {
                shared.insert(&*symbol.qualified_name);
            }
        }
        let end = |name: &str, i: usize, which: &str| match by_name.get(name) {
            Some(_) if !lossy.duplicates && !shared.is_empty() && shared.contains(name) => {
                let message = format!("more than one symbol is called {}", excerpt(name));
                Err(Error::of(Code::DuplicateSymbol, format!("$.edges[{i}].{which}"), message))
            }
            Some(&index) => Ok(Some(index)),
            None => match lossy.dangling {
                Dangling::Zero => Ok(Some(0)),
                Dangling::Drop => Ok(None),
                Dangling::Refuse => {
                    let message = format!("{} is not among the symbols", excerpt(name));
                    Err(Error::of(Code::DanglingEdge, format!("$.edges[{i}].{which}"), message))
                }
            },
        };
        let mut edges = Vec::with_capacity(payload.edges.len());
        for (i, edge) in payload.edges.iter().enumerate() {
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
            let message = "GCB has no place for a location; give up location";
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
                let message = format!("the distance {} is not 0 to 255", symbol.distance);
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
        // That an edge is unchanged is said by saying nothing.
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
                let message = format!("{} has no id; give up ids", excerpt(word));
                return Err(Error::of(code, path(), message));
            }
        }
        Ok(())
    }

    #[expect(clippy::cast_possible_truncation, reason = "what is lost is looked at")]
    fn number(&mut self, value: f64, path: impl FnOnce() -> String) -> Result<(), Error> {
        let narrow = value as f32;
        if !narrow.is_finite() {
            let message = format!("{value} is no finite binary32");
            return Err(Error::of(Code::NotFinite, path(), message));
        }
        // Most are quick to see: widened back, they are the value or near it.
        #[expect(clippy::float_cmp, reason = "whether exactly this value is read back")]
        if !self.lossy.precision && shortest(narrow) != value {
            let message = format!("binary32 gives back {} for {value}", shortest(narrow));
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

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.out.push(value.to_le_bytes()[0]);
    }
}

/// The shortest decimal that rounds to this binary32, as a double.
fn shortest(narrow: f32) -> f64 {
    // 1.5 * 2^52: added to a small number it leaves no bits for a fraction.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let rounded = (f64::from(narrow) * 100.0 + WHOLE - WHOLE) / 100.0;
    // Two decimals, as scores mostly have: up to six digits, they are the shortest.
    #[expect(clippy::cast_possible_truncation, reason = "that it rounds back is the question")]
    if rounded.abs() < 1000.0 && (rounded as f32).to_bits() == narrow.to_bits() {
        return rounded;
    }
    zmij::Buffer::new().format_finite(narrow).parse().unwrap_or(f64::from(narrow))
}

/// Reads a payload.
///
/// # Errors
/// With the offset of what is wrong. Memory is never more than a small multiple of the input.
pub fn decode(bytes: &[u8], options: DecodeOptions) -> Result<Payload, Error> {
    if bytes.len() <= MAGIC.len() {
        let message = format!("{} bytes are no GCB, which begins with GCB1", bytes.len());
        return Err(Error::at(Code::Truncated, bytes.len(), message));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Error::at(Code::BadMagic, 0, "the bytes do not begin with GCB1"));
    }
    if bytes[MAGIC.len()] != VERSION {
        let message = format!("version {} is unknown; 1 is known", bytes[MAGIC.len()]);
        return Err(Error::at(Code::BadVersion, MAGIC.len(), message));
    }
    let mut reader = Reader { at: MAGIC.len() + 1, ..Reader::new(bytes, options) };
    let tool = reader.text()?.into();
    let tokens_used = reader.count()?;
    let token_budget = reader.count()?;
    let (symbol_count, edge_count) = (reader.varint()?, reader.varint()?);
    let least = u128::from(symbol_count) * u128::from(SMALLEST_SYMBOL)
        + u128::from(edge_count) * u128::from(SMALLEST_EDGE);
    let left = bytes.len() - reader.at;
    if least > left as u128 {
        let message = format!(
            "{symbol_count} symbols and {edge_count} edges need {least} bytes, {left} are left"
        );
        return Err(Error::at(Code::Truncated, reader.at, message));
    }
    // As many as the bytes can hold.
    let capacity = usize::try_from(symbol_count).unwrap_or(0);
    let (mut symbols, mut places) = (Vec::with_capacity(capacity), Vec::with_capacity(capacity));
    for _ in 0..symbol_count {
        let (symbol, texts) = reader.symbol()?;
        symbols.push(symbol);
        places.push(texts);
    }
    // All texts are parts of one, which takes one allocation.
    let texts = std::mem::take(&mut reader.texts);
    let whole = Whole::new(&texts, true);
    for (symbol, [name, signature]) in symbols.iter_mut().zip(places) {
        symbol.qualified_name = whole.part(name.start, name.end);
        symbol.signature = whole.part(signature.start, signature.end);
    }
    let edges = reader.edges(edge_count, &symbols, &whole)?;
    if reader.at < bytes.len() {
        let message = format!("{} bytes are left over", bytes.len() - reader.at);
        return Err(Error::at(Code::TrailingData, reader.at, message));
    }
    Ok(Payload { tool, tokens_used, token_budget, pack_root: Text::default(), symbols, edges })
}

/// Names that more than one symbol has, if that is `asked`.
fn shared_names(symbols: &[Symbol], asked: bool) -> HashSet<&str> {
    let mut names = HashSet::new();
    let asked = if asked { symbols } else { &[] };
    names.reserve(asked.len());
    asked.iter().map(|symbol| &*symbol.qualified_name).filter(|name| !names.insert(*name)).collect()
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    options: DecodeOptions,
    /// Names and signatures, one behind the other.
    texts: String,
}

impl<'b> Reader<'b> {
    fn new(bytes: &'b [u8], options: DecodeOptions) -> Self {
        Self { bytes, at: 0, options, texts: String::new() }
    }

    /// A symbol, and where among the texts its name and its signature stand.
    fn symbol(&mut self) -> Result<(Symbol, [Range<usize>; 2]), Error> {
        let name = self.kept_text()?;
        let mut symbol = Symbol {
            kind: self.word(KINDS, Code::UnknownKind)?,
            score: self.number()?,
            provenance: self.word(PROVENANCES, Code::UnknownProvenance)?,
            distance: self.byte()?.into(),
            ..Symbol::default()
        };
        let signature = self.kept_text()?;
        symbol.components = self.components()?;
        Ok((symbol, [name, signature]))
    }

    fn components(&mut self) -> Result<Components, Error> {
        // Mostly there are none.
        const NONE: &[u8] = &[0; 16];
        if self.bytes[self.at..].starts_with(NONE) {
            self.at += NONE.len();
            return Ok(Components::default());
        }
        Ok([self.number()?, self.number()?, self.number()?, self.number()?].into())
    }

    fn kept_text(&mut self) -> Result<Range<usize>, Error> {
        let start = self.texts.len();
        let text = self.text()?;
        self.texts.push_str(text);
        Ok(start..self.texts.len())
    }

    fn edges(
        &mut self,
        count: u64,
        symbols: &[Symbol],
        whole: &Whole<'_>,
    ) -> Result<Vec<Edge>, Error> {
        let shared = shared_names(symbols, count > 0 && !self.options.duplicates);
        let mut edges = Vec::new();
        for _ in 0..count {
            let at = self.at;
            let edge = self.edge(symbols, whole)?;
            let ends = [&*edge.source, &*edge.target];
            let is_shared = |end: &&str| !shared.is_empty() && shared.contains(*end);
            if let Some(end) = ends.into_iter().find(is_shared) {
                let message = format!("more than one symbol is called {}", excerpt(end));
                return Err(Error::at(Code::DuplicateSymbol, at, message));
            }
            edges.push(edge);
        }
        Ok(edges)
    }

    fn edge(&mut self, symbols: &[Symbol], whole: &Whole<'_>) -> Result<Edge, Error> {
        Ok(Edge {
            source: self.end(symbols, whole)?,
            target: self.end(symbols, whole)?,
            edge_type: self.word(EDGE_TYPES, Code::UnknownEdgeType)?,
            status: self.word(STATUSES, Code::UnknownStatus)?,
        })
    }

    fn end(&mut self, symbols: &[Symbol], whole: &Whole<'_>) -> Result<Text, Error> {
        let at = self.at;
        let index = self.varint()?;
        let symbol = usize::try_from(index).ok().and_then(|index| symbols.get(index));
        symbol.map(|symbol| whole.again(&symbol.qualified_name)).ok_or_else(|| {
            let message = format!("the edge goes to symbol {index} of {}", symbols.len());
            Error::at(Code::EdgeIndex, at, message)
        })
    }

    fn word(&mut self, table: &[&'static str], code: Code) -> Result<Text, Error> {
        let at = self.at;
        let id = self.byte()?;
        match table.get(usize::from(id)) {
            Some(word) => Ok(Text::known(word)),
            None if self.options.unknown_ids => Ok(format!("unknown_{id}").into()),
            None => Err(Error::at(code, at, format!("the id {id} has no word"))),
        }
    }

    fn number(&mut self) -> Result<f64, Error> {
        let at = self.at;
        let mut bits = [0; 4];
        bits.copy_from_slice(self.take(4)?);
        let narrow = f32::from_le_bytes(bits);
        if !narrow.is_finite() {
            return Err(Error::at(Code::NotFinite, at, format!("the number is {narrow}")));
        }
        Ok(if self.options.raw_float32 { narrow.into() } else { shortest(narrow) })
    }

    fn count(&mut self) -> Result<i64, Error> {
        let at = self.at;
        let count = self.varint()?;
        i64::try_from(count).map_err(|_| {
            Error::at(Code::CountRange, at, format!("the count {count} is above 2^63 - 1"))
        })
    }

    fn text(&mut self) -> Result<&'b str, Error> {
        let length = self.varint()?;
        let at = self.at;
        let bytes = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        std::str::from_utf8(bytes).map_err(|error| {
            let at = at + error.valid_up_to();
            Error::at(Code::InvalidUtf8, at, "a text is not UTF-8")
        })
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let at = self.at;
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    let message = "the number is not in its shortest form";
                    return Err(Error::at(Code::BadVarint, at, message));
                }
                return Ok(value);
            }
        }
        Err(Error::at(Code::BadVarint, at, "the number is above 2^64 - 1"))
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Error> {
        self.take(1).map(|bytes| bytes[0])
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'b [u8], Error> {
        let left = self.bytes.len() - self.at;
        if length > left {
            return Err(self.truncated(length, left));
        }
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    #[cold]
    fn truncated(&self, length: usize, left: usize) -> Error {
        let message = format!("{length} bytes are needed, {left} are left");
        Error::at(Code::Truncated, self.at, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payload() -> Payload {
        let symbol = |name: &str| Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score: 0.78,
            provenance: "lsp_resolved".into(),
            distance: 255,
            signature: "func()".into(),
            components: [0.4, 0.25, 0.06, 1e-7].into(),
            location: None,
        };
        Payload {
            tool: "t".into(),
            tokens_used: 300,
            token_budget: i64::MAX,
            pack_root: Text::default(),
            symbols: vec![symbol("a"), symbol("é")],
            edges: vec![Edge { status: "added".into(), ..Edge::new("é", "a", "calls") }],
        }
    }

    #[test]
    fn what_is_written_is_read_and_every_prefix_is_too_short() {
        let bytes = encode(&payload(), Lossy::default()).unwrap();
        assert_eq!(decode(&bytes, DecodeOptions::default()).unwrap(), payload());
        for end in 0..bytes.len() {
            let error = decode(&bytes[..end], DecodeOptions::default()).unwrap_err();
            assert_eq!(error.code, Code::Truncated, "{end}: {error}");
        }
    }

    #[test]
    fn what_the_layout_cannot_carry_is_refused_or_given_up() {
        type Change = fn(&mut Payload);
        let all = Lossy {
            ids: true,
            pack_root: true,
            location: true,
            distance: true,
            precision: true,
            duplicates: true,
            dangling: Dangling::Drop,
        };
        let cases: [(Change, Code, bool); 12] = [
            (|p| p.pack_root = "x".into(), Code::PackRoot, true),
            (|p| p.symbols[0].location = Some(Box::default()), Code::Location, true),
            (|p| p.symbols[0].kind = "widget".into(), Code::UnknownKind, true),
            (|p| p.symbols[0].provenance = "x".into(), Code::UnknownProvenance, true),
            (|p| p.edges[0].edge_type = "x".into(), Code::UnknownEdgeType, true),
            (|p| p.edges[0].status = "x".into(), Code::UnknownStatus, true),
            (|p| p.symbols[0].distance = 256, Code::DistanceRange, true),
            (|p| p.symbols[0].score = 0.123_456_789, Code::Precision, true),
            (|p| p.symbols[0].score = 1e300, Code::NotFinite, false),
            (|p| p.symbols[1].qualified_name = "a".into(), Code::DanglingEdge, true),
            (|p| p.edges[0].target = "z".into(), Code::DanglingEdge, true),
            (|p| p.tokens_used = -1, Code::CountRange, false),
        ];
        for (change, code, can_be_given_up) in cases {
            let mut payload = payload();
            change(&mut payload);
            assert_eq!(encode(&payload, Lossy::default()).unwrap_err().code, code);
            assert_eq!(encode(&payload, all).is_ok(), can_be_given_up, "{code}");
        }
        let mut twins = payload();
        twins.edges[0].source = "a".into();
        twins.symbols[1].qualified_name = "a".into();
        assert_eq!(encode(&twins, Lossy::default()).unwrap_err().code, Code::DuplicateSymbol);
    }

    #[test]
    fn numbers_have_one_form() {
        let read = |bytes: &[u8]| {
            let mut reader = Reader::new(bytes, DecodeOptions::default());
            reader.varint().map_err(|error| error.code)
        };
        assert_eq!(read(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]), Ok(u64::MAX));
        assert_eq!(read(&[0x80; 11]), Err(Code::BadVarint));
        assert_eq!(
            read(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]),
            Err(Code::BadVarint)
        );
        assert_eq!(read(&[0x80, 0]), Err(Code::BadVarint));
    }

    proptest! {
        #[test]
        fn the_shortest_decimal_is_the_formatters(bits: u32, cents in -20_000..20_000_i16) {
            for narrow in [f32::from_bits(bits), f32::from(cents) / 100.0] {
                prop_assume!(narrow.is_finite());
                // Between two that are equally short and near, the standard library takes the upper.
                let expected: f64 = zmij::Buffer::new().format_finite(narrow).parse().unwrap();
                prop_assert_eq!(shortest(narrow).to_bits(), expected.to_bits());
                let text = format!("{}", shortest(narrow));
                prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), narrow.to_bits());
                prop_assert_eq!(text.len(), format!("{narrow}").len());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let with_magic = [&b"GCB1\x01"[..], &bytes].concat();
            if let Ok(payload) = decode(&with_magic, DecodeOptions::default()) {
                prop_assert_eq!(encode(&payload, Lossy::default()).ok(), Some(with_magic));
            }
        }
    }
}
