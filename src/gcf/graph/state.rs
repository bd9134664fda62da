//! Serializes payloads and deltas for pickle, in a format that only the same version reads.
//!
//! ```text
//! CWG1 P string-count length… string… tool tokens_used … symbols edges
//! ```
//!
//! Each distinct string is stored once and referred to by its index. Numbers are LEB128, signed numbers
//! zigzag, scores eight bytes. With `rmp_serde` and derived implementations, 100,000 symbols and
//! edges took 1.6 times as long to write, 2.2 times to read, and a fifth more bytes.
//!
//! Invariant: every payload is restored exactly, including values that no codec represents (a NaN score).
//! Invalid bytes are an error with their position, and take memory proportional to their size at most.

use super::expansion::NameMemo;
use super::shared_str::{SharedBuffer, SharedStr};
use super::types::{DeltaPayload, Edge, Location, Payload, Symbol};
use super::vocabulary;
use crate::interrupt::polled;
use crate::memory::NO_MEMORY;
use crate::text::leb128;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::fmt::Display;

const PAYLOAD: &[u8; 5] = b"CWG1P";
const DELTA: &[u8; 5] = b"CWG1D";

/// The error for bytes that are not a valid state, or for which there is not enough memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum StateError {
    /// The bytes are not a valid state.
    #[error("invalid state: {what} at byte {at}")]
    Invalid {
        /// What is wrong.
        what: String,
        /// Where it was found.
        at: usize,
    },
    /// There is not enough memory for the content.
    #[error("{NO_MEMORY}")]
    OutOfMemory,
}

impl Payload {
    /// Serializes all fields.
    pub fn to_state(&self) -> Vec<u8> {
        Writer::write(PAYLOAD, |writer| writer.payload(self))
    }

    /// Restores what [`Payload::to_state`] serialized.
    ///
    /// # Errors
    /// The bytes are not a valid state, or there is not enough memory.
    pub fn from_state(state: &[u8]) -> Result<Self, StateError> {
        Reader::read(state, PAYLOAD, Reader::payload)
    }
}

impl DeltaPayload {
    /// Serializes all fields.
    pub fn to_state(&self) -> Vec<u8> {
        Writer::write(DELTA, |writer| writer.delta(self))
    }

    /// Restores what [`DeltaPayload::to_state`] serialized.
    ///
    /// # Errors
    /// The bytes are not a valid state, or there is not enough memory.
    pub fn from_state(state: &[u8]) -> Result<Self, StateError> {
        Reader::read(state, DELTA, Reader::delta)
    }
}

/// The minimum size in bytes of a serialized symbol.
const MIN_SYMBOL: usize = 14;
/// The minimum size in bytes of a serialized edge.
const MIN_EDGE: usize = 4;

// Flags of a symbol: which optional fields follow.
const COMPONENTS: u8 = 1;
const LOCATION: u8 = 2;
const END: u8 = 4;

#[derive(Default)]
struct Writer<'p> {
    body: Vec<u8>,
    /// The distinct strings, and the index of each.
    strings: Vec<&'p str>,
    indices: HashMap<&'p str, usize>,
    found: NameMemo<'p, usize>,
}

impl<'p> Writer<'p> {
    /// Writes a whole state of the given form.
    fn write(form: &[u8], write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut writer = Self::default();
        write(&mut writer);
        writer.finish(form)
    }

    fn payload(&mut self, payload: &'p Payload) {
        let Payload { tool, tokens_used, token_budget, pack_root, symbols, edges } = payload;
        self.string(tool);
        self.signed(*tokens_used);
        self.signed(*token_budget);
        self.string(pack_root);
        self.list(symbols, Self::symbol);
        self.list(edges, Self::edge);
    }

    fn delta(&mut self, delta: &'p DeltaPayload) {
        for string in [&delta.tool, &delta.base_root, &delta.new_root] {
            self.string(string);
        }
        for symbols in [&delta.removed, &delta.added] {
            self.list(symbols, Self::symbol);
        }
        for edges in [&delta.removed_edges, &delta.added_edges] {
            self.list(edges, Self::edge);
        }
        self.signed(delta.delta_tokens);
        self.signed(delta.full_tokens);
    }

    fn string(&mut self, string: &'p SharedStr) {
        let Self { strings, indices, found, .. } = self;
        let next = strings.len();
        let index = found.get(string, |string| match indices.entry(string) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                strings.push(string);
                *entry.insert(next)
            }
        });
        leb128::write(index as u64, &mut self.body);
    }

    fn signed(&mut self, value: i64) {
        leb128::write(((value << 1) ^ (value >> 63)).cast_unsigned(), &mut self.body);
    }

    fn double(&mut self, value: f64) {
        self.body.extend_from_slice(&value.to_le_bytes());
    }

    fn list<T>(&mut self, items: &'p [T], write: impl Fn(&mut Self, &'p T)) {
        leb128::write(items.len() as u64, &mut self.body);
        for item in polled(items) {
            write(self, item);
        }
    }

    fn symbol(&mut self, symbol: &'p Symbol) {
        self.string(&symbol.qualified_name);
        self.string(&symbol.kind);
        self.double(symbol.score);
        self.string(&symbol.provenance);
        self.signed(symbol.distance);
        self.string(&symbol.signature);
        // Compared by their bits, so that -0.0 is kept.
        let components = symbol.components.values();
        let has_components = components.map(f64::to_bits) != [0; 4];
        let end = symbol.location.as_ref().and_then(|location| location.end);
        let flag = |is: bool, bit: u8| if is { bit } else { 0 };
        let flags = flag(has_components, COMPONENTS)
            | flag(symbol.location.is_some(), LOCATION)
            | flag(end.is_some(), END);
        self.body.push(flags);
        if has_components {
            for value in components {
                self.double(value);
            }
        }
        if let Some(location) = &symbol.location {
            self.string(&location.file);
            let (end_line, end_column) = end.unzip();
            let numbers = [Some(location.line), Some(location.column), end_line, end_column];
            for number in numbers.into_iter().flatten() {
                leb128::write(number, &mut self.body);
            }
        }
    }

    fn edge(&mut self, edge: &'p Edge) {
        for string in [&edge.source, &edge.target, &edge.edge_type, &edge.status] {
            self.string(string);
        }
    }

    fn finish(self, form: &[u8]) -> Vec<u8> {
        let size: usize = self.strings.iter().map(|string| string.len() + 2).sum();
        let mut out = Vec::with_capacity(form.len() + 10 + size + self.body.len());
        out.extend_from_slice(form);
        leb128::write(self.strings.len() as u64, &mut out);
        for string in polled(&self.strings) {
            leb128::write(string.len() as u64, &mut out);
        }
        for string in &self.strings {
            out.extend_from_slice(string.as_bytes());
        }
        out.extend_from_slice(&self.body);
        out
    }
}

struct Reader<'s> {
    state: &'s [u8],
    at: usize,
    strings: Vec<SharedStr>,
}

impl<'s> Reader<'s> {
    /// Reads a whole state of the given form: nothing may follow what `read` reads.
    fn read<T>(
        state: &'s [u8],
        form: &[u8],
        read: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut reader = Self::new(state, form)?;
        let value = read(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }

    fn new(state: &'s [u8], form: &[u8]) -> Result<Self, StateError> {
        let mut reader = Self { state, at: 0, strings: Vec::new() };
        if !state.starts_with(form) {
            let form = String::from_utf8_lossy(form);
            return reader.wrong(format_args!("it does not start with {form}"));
        }
        reader.at = form.len();
        let count = reader.count("strings", 1)?;
        let mut lengths = Vec::new();
        if lengths.try_reserve_exact(count).is_err()
            || reader.strings.try_reserve_exact(count).is_err()
        {
            return Err(StateError::OutOfMemory);
        }
        for _ in polled(0..count) {
            lengths.push(reader.unsigned()?);
        }
        let left = (state.len() - reader.at) as u64;
        let size = lengths.iter().try_fold(0_u64, |size, length| size.checked_add(*length));
        let Some(size) = size.filter(|&size| size <= left).and_then(|s| usize::try_from(s).ok())
        else {
            return reader.wrong("the strings are longer than the rest of the state");
        };
        let Ok(joined) = std::str::from_utf8(&state[reader.at..reader.at + size]) else {
            return reader.wrong("the strings are not valid UTF-8");
        };
        let Some(buffer) = SharedBuffer::try_new(joined) else {
            return Err(StateError::OutOfMemory);
        };
        let mut from = 0;
        for length in polled(lengths) {
            // Each length is at most the sum of all, which is `size`.
            let to = from + usize::try_from(length).unwrap_or(size);
            let Some(string) = joined.get(from..to) else {
                return reader.wrong("a string ends within a character");
            };
            let shared = vocabulary::word(string)
                .map_or_else(|| buffer.slice(from..to), SharedStr::from_static);
            reader.strings.push(shared);
            from = to;
        }
        reader.at += size;
        Ok(reader)
    }

    fn payload(&mut self) -> Result<Payload, StateError> {
        let tool = self.string()?;
        let (tokens_used, token_budget) = (self.signed()?, self.signed()?);
        let pack_root = self.string()?;
        let symbols = self.list(MIN_SYMBOL, Self::symbol)?;
        let edges = self.list(MIN_EDGE, Self::edge)?;
        Ok(Payload { tool, tokens_used, token_budget, pack_root, symbols, edges })
    }

    fn delta(&mut self) -> Result<DeltaPayload, StateError> {
        Ok(DeltaPayload {
            tool: self.string()?,
            base_root: self.string()?,
            new_root: self.string()?,
            removed: self.list(MIN_SYMBOL, Self::symbol)?,
            added: self.list(MIN_SYMBOL, Self::symbol)?,
            removed_edges: self.list(MIN_EDGE, Self::edge)?,
            added_edges: self.list(MIN_EDGE, Self::edge)?,
            delta_tokens: self.signed()?,
            full_tokens: self.signed()?,
        })
    }

    #[cold]
    fn wrong<T>(&self, what: impl Display) -> Result<T, StateError> {
        Err(StateError::Invalid { what: what.to_string(), at: self.at })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        match self.state[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => self.wrong("unexpected end"),
        }
    }

    fn unsigned(&mut self) -> Result<u64, StateError> {
        match leb128::read(self.state, self.at) {
            Ok((value, after)) => {
                self.at = after;
                Ok(value)
            }
            Err(leb128::Error::Truncated) => self.wrong("unexpected end"),
            Err(leb128::Error::TooLarge) => self.wrong("a number exceeds 64 bits"),
            Err(leb128::Error::NotShortest) => self.wrong("a number is not in its shortest form"),
        }
    }

    fn signed(&mut self) -> Result<i64, StateError> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn double(&mut self) -> Result<f64, StateError> {
        self.take().map(f64::from_le_bytes)
    }

    /// Reads a number that is at least 1.
    fn number(&mut self) -> Result<u64, StateError> {
        match self.unsigned()? {
            0 => self.wrong("a line or column is 0"),
            number => Ok(number),
        }
    }

    fn string(&mut self) -> Result<SharedStr, StateError> {
        let index = self.unsigned()?;
        match usize::try_from(index).ok().and_then(|index| self.strings.get(index)) {
            Some(string) => Ok(string.clone()),
            None => self
                .wrong(format_args!("string index {index}, but there are {}", self.strings.len())),
        }
    }

    /// Reads the number of items that follow, each of at least `min_size` bytes.
    fn count(&mut self, what: &str, min_size: usize) -> Result<usize, StateError> {
        let count = self.unsigned()?;
        match usize::try_from(count) {
            Ok(items) if items <= (self.state.len() - self.at) / min_size => Ok(items),
            _ => self
                .wrong(format_args!("{count} {what}, more than the rest of the state can contain")),
        }
    }

    fn list<T>(
        &mut self,
        min_size: usize,
        read: impl Fn(&mut Self) -> Result<T, StateError>,
    ) -> Result<Vec<T>, StateError> {
        let count = self.count("items", min_size)?;
        let mut items = Vec::new();
        if items.try_reserve_exact(count).is_err() {
            return Err(StateError::OutOfMemory);
        }
        for _ in polled(0..count) {
            items.push(read(self)?);
        }
        Ok(items)
    }

    fn symbol(&mut self) -> Result<Symbol, StateError> {
        let mut symbol = Symbol {
            qualified_name: self.string()?,
            kind: self.string()?,
            score: self.double()?,
            provenance: self.string()?,
            distance: self.signed()?,
            signature: self.string()?,
            ..Symbol::default()
        };
        let [flags] = self.take()?;
        if flags & COMPONENTS > 0 {
            let values = [self.double()?, self.double()?, self.double()?, self.double()?];
            symbol.components = values.into();
        }
        match flags & !COMPONENTS {
            0 => {}
            LOCATION | 6 => {
                let (file, line, column) = (self.string()?, self.number()?, self.number()?);
                let end = match flags & END {
                    0 => None,
                    _ => Some((self.number()?, self.number()?)),
                };
                symbol.location = Some(Box::new(Location { file, line, column, end }));
            }
            _ => return self.wrong(format_args!("invalid flags {flags}")),
        }
        Ok(symbol)
    }

    fn edge(&mut self) -> Result<Edge, StateError> {
        Ok(Edge {
            source: self.string()?,
            target: self.string()?,
            edge_type: self.string()?,
            status: self.string()?,
        })
    }

    fn finish(self) -> Result<(), StateError> {
        match self.state.len() - self.at {
            0 => Ok(()),
            left => self.wrong(format_args!("{left} unexpected bytes at the end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> Payload {
        let location = |end| Location { file: "a b".into(), line: 7, column: u64::MAX, end };
        let symbol = |name: &str, location| Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score: -0.0,
            provenance: "é".into(),
            distance: i64::MIN,
            signature: name.into(),
            components: [0.0, -1.0, f64::MAX, 5e-324].into(),
            location: Option::map(location, Box::new),
        };
        Payload {
            tool: "t".into(),
            tokens_used: i64::MAX,
            token_budget: -1,
            pack_root: SharedStr::default(),
            symbols: vec![
                symbol("a", None),
                symbol("a", Some(location(None))),
                symbol("", Some(location(Some((1, 2))))),
                Symbol::default(),
            ],
            edges: vec![Edge::new("a", "b", "calls"), Edge::default()],
        }
    }

    fn delta() -> DeltaPayload {
        let Payload { tool, symbols, edges, .. } = payload();
        DeltaPayload {
            tool,
            base_root: "b".into(),
            removed: symbols.clone(),
            added: symbols,
            added_edges: edges,
            full_tokens: -9,
            ..DeltaPayload::default()
        }
    }

    #[test]
    fn every_field_is_restored() {
        for payload in [payload(), Payload::default()] {
            let again = Payload::from_state(&payload.to_state()).unwrap();
            assert_eq!(again, payload);
            assert_eq!(again.to_state(), payload.to_state());
        }
        assert_eq!(DeltaPayload::from_state(&delta().to_state()), Ok(delta()));
        let mut odd = payload();
        odd.symbols[0].score = f64::NAN;
        assert!(Payload::from_state(&odd.to_state()).unwrap().symbols[0].score.is_nan());
    }

    #[test]
    fn a_changed_state_is_an_error_or_a_valid_payload() {
        for state in [payload().to_state(), delta().to_state()] {
            for end in 0..state.len() {
                assert!(Payload::from_state(&state[..end]).is_err());
                assert!(DeltaPayload::from_state(&state[..end]).is_err());
            }
            for at in 0..state.len() {
                for byte in [0, 1, 0x7F, 0x80, 0xFF, state[at] ^ 1] {
                    let mut changed = state.clone();
                    changed[at] = byte;
                    // No panic; a restored value can be serialized again.
                    if let Ok(payload) = Payload::from_state(&changed) {
                        Payload::from_state(&payload.to_state()).unwrap();
                    }
                    if let Ok(delta) = DeltaPayload::from_state(&changed) {
                        DeltaPayload::from_state(&delta.to_state()).unwrap();
                    }
                }
            }
        }
        let error = Payload::from_state(&[&payload().to_state()[..], b"x"].concat()).unwrap_err();
        assert!(error.to_string().contains("1 unexpected bytes at the end"), "{error}");
        let error = Payload::from_state(&delta().to_state()).unwrap_err();
        assert_eq!(error.to_string(), "invalid state: it does not start with CWG1P at byte 0");
    }

    #[test]
    fn a_count_beyond_the_size_of_the_state_is_an_error() {
        let huge = [PAYLOAD, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..]].concat();
        let error = Payload::from_state(&huge).unwrap_err().to_string();
        assert!(
            error.contains("4294967295 strings, more than the rest of the state can contain"),
            "{error}"
        );
    }
}
