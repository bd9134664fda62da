//! A payload or a delta as bytes that only this version of us reads: what pickle keeps.
//!
//! ```text
//! CWG1 P count-of-texts length… text… tool tokens_used … symbols edges
//! ```
//!
//! Invariant: whatever a payload holds comes back, also what no codec carries (a score that is not a
//! number). Each text is kept once; numbers are LEB128, signed ones zigzag, scores eight bytes. Bytes
//! that are not of this form are an error that says where, and never cost more memory than a small
//! multiple of their own.

use super::shared_str::SharedStr;
use super::types::{DeltaPayload, Edge, Location, Payload, Symbol};
use crate::text::leb128;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::fmt::Display;

const PAYLOAD: &[u8; 5] = b"CWG1P";
const DELTA: &[u8; 5] = b"CWG1D";

/// Why bytes are no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a damaged state: {what} at byte {at}")]
pub struct StateError {
    what: String,
    at: usize,
}

impl Payload {
    /// All that it holds.
    pub fn to_state(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let Self { tool, tokens_used, token_budget, pack_root, symbols, edges } = self;
        writer.text(tool);
        writer.signed(*tokens_used);
        writer.signed(*token_budget);
        writer.text(pack_root);
        writer.list(symbols, Writer::symbol);
        writer.list(edges, Writer::edge);
        writer.finish(PAYLOAD)
    }

    /// What [`Payload::to_state`] kept.
    ///
    /// # Errors
    /// Where the bytes are not of that form.
    pub fn from_state(state: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(state, PAYLOAD)?;
        let payload = Self {
            tool: reader.text()?,
            tokens_used: reader.signed()?,
            token_budget: reader.signed()?,
            pack_root: reader.text()?,
            symbols: reader.list(SYMBOL, Reader::symbol)?,
            edges: reader.list(EDGE, Reader::edge)?,
        };
        reader.finish()?;
        Ok(payload)
    }
}

impl DeltaPayload {
    /// All that it holds.
    pub fn to_state(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        for text in [&self.tool, &self.base_root, &self.new_root] {
            writer.text(text);
        }
        writer.list(&self.removed, Writer::symbol);
        writer.list(&self.added, Writer::symbol);
        writer.list(&self.removed_edges, Writer::edge);
        writer.list(&self.added_edges, Writer::edge);
        writer.signed(self.delta_tokens);
        writer.signed(self.full_tokens);
        writer.finish(DELTA)
    }

    /// What [`DeltaPayload::to_state`] kept.
    ///
    /// # Errors
    /// Where the bytes are not of that form.
    pub fn from_state(state: &[u8]) -> Result<Self, StateError> {
        let mut reader = Reader::new(state, DELTA)?;
        let delta = Self {
            tool: reader.text()?,
            base_root: reader.text()?,
            new_root: reader.text()?,
            removed: reader.list(SYMBOL, Reader::symbol)?,
            added: reader.list(SYMBOL, Reader::symbol)?,
            removed_edges: reader.list(EDGE, Reader::edge)?,
            added_edges: reader.list(EDGE, Reader::edge)?,
            delta_tokens: reader.signed()?,
            full_tokens: reader.signed()?,
        };
        reader.finish()?;
        Ok(delta)
    }
}

/// How many bytes the smallest take.
const SYMBOL: usize = 14;
const EDGE: usize = 4;

/// What a symbol has beside its first fields.
const COMPONENTS: u8 = 1;
const LOCATION: u8 = 2;
const END: u8 = 4;

#[derive(Default)]
struct Writer<'p> {
    body: Vec<u8>,
    texts: Vec<&'p str>,
    places: HashMap<&'p str, usize>,
}

impl<'p> Writer<'p> {
    fn text(&mut self, text: &'p SharedStr) {
        let next = self.texts.len();
        let place = match self.places.entry(text) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                self.texts.push(text);
                *place.insert(next)
            }
        };
        leb128::write(place as u64, &mut self.body);
    }

    fn signed(&mut self, value: i64) {
        leb128::write(((value << 1) ^ (value >> 63)).cast_unsigned(), &mut self.body);
    }

    fn double(&mut self, value: f64) {
        self.body.extend_from_slice(&value.to_le_bytes());
    }

    fn list<T>(&mut self, items: &'p [T], write: impl Fn(&mut Self, &'p T)) {
        leb128::write(items.len() as u64, &mut self.body);
        for item in items {
            write(self, item);
        }
    }

    fn symbol(&mut self, symbol: &'p Symbol) {
        self.text(&symbol.qualified_name);
        self.text(&symbol.kind);
        self.double(symbol.score);
        self.text(&symbol.provenance);
        self.signed(symbol.distance);
        self.text(&symbol.signature);
        // By their bits, so that a zero keeps its sign.
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
            self.text(&location.file);
            let (end_line, end_column) = end.unzip();
            let numbers = [Some(location.line), Some(location.column), end_line, end_column];
            for number in numbers.into_iter().flatten() {
                leb128::write(number, &mut self.body);
            }
        }
    }

    fn edge(&mut self, edge: &'p Edge) {
        for text in [&edge.source, &edge.target, &edge.edge_type, &edge.status] {
            self.text(text);
        }
    }

    fn finish(self, form: &[u8]) -> Vec<u8> {
        let size: usize = self.texts.iter().map(|text| text.len() + 2).sum();
        let mut out = Vec::with_capacity(form.len() + 10 + size + self.body.len());
        out.extend_from_slice(form);
        leb128::write(self.texts.len() as u64, &mut out);
        for text in &self.texts {
            leb128::write(text.len() as u64, &mut out);
        }
        for text in &self.texts {
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&self.body);
        out
    }
}

struct Reader<'s> {
    state: &'s [u8],
    at: usize,
    texts: Vec<SharedStr>,
}

impl<'s> Reader<'s> {
    fn new(state: &'s [u8], form: &[u8]) -> Result<Self, StateError> {
        let mut reader = Self { state, at: 0, texts: Vec::new() };
        if !state.starts_with(form) {
            let form = String::from_utf8_lossy(form);
            return reader.wrong(format_args!("it does not begin with {form}"));
        }
        reader.at = form.len();
        let count = reader.count("texts", 1)?;
        let mut lengths = Vec::with_capacity(count);
        for _ in 0..count {
            lengths.push(reader.unsigned()?);
        }
        let left = (state.len() - reader.at) as u64;
        let size = lengths.iter().try_fold(0_u64, |size, length| size.checked_add(*length));
        let Some(size) = size.filter(|&size| size <= left).and_then(|s| usize::try_from(s).ok())
        else {
            return reader.wrong("texts that are longer than what follows");
        };
        let Ok(whole) = std::str::from_utf8(&state[reader.at..reader.at + size]) else {
            return reader.wrong("texts that are not UTF-8");
        };
        let mut from = 0;
        for length in lengths {
            // At most `size`, as the sum of all is.
            let to = from + usize::try_from(length).unwrap_or(size);
            let Some(text) = whole.get(from..to) else {
                return reader.wrong("texts that are divided within a character");
            };
            reader.texts.push(SharedStr::interned(text));
            from = to;
        }
        reader.at += size;
        Ok(reader)
    }

    #[cold]
    fn wrong<T>(&self, what: impl Display) -> Result<T, StateError> {
        Err(StateError { what: what.to_string(), at: self.at })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        match self.state[self.at..].first_chunk() {
            Some(bytes) => {
                self.at += N;
                Ok(*bytes)
            }
            None => self.wrong("it ends too early"),
        }
    }

    fn unsigned(&mut self) -> Result<u64, StateError> {
        match leb128::read(self.state, self.at) {
            Ok((value, after)) => {
                self.at = after;
                Ok(value)
            }
            Err(leb128::Error::Truncated) => self.wrong("it ends too early"),
            Err(leb128::Error::TooLarge) => self.wrong("a number beyond 64 bits"),
            Err(leb128::Error::NotShortest) => self.wrong("a number not in its shortest form"),
        }
    }

    fn signed(&mut self) -> Result<i64, StateError> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn double(&mut self) -> Result<f64, StateError> {
        self.take().map(f64::from_le_bytes)
    }

    /// A number from 1 on.
    fn number(&mut self) -> Result<u64, StateError> {
        match self.unsigned()? {
            0 => self.wrong("a line or column 0"),
            number => Ok(number),
        }
    }

    fn text(&mut self) -> Result<SharedStr, StateError> {
        let index = self.unsigned()?;
        match usize::try_from(index).ok().and_then(|index| self.texts.get(index)) {
            Some(text) => Ok(text.clone()),
            None => self.wrong(format_args!("text {index} of {}", self.texts.len())),
        }
    }

    /// How many items follow, each of at least so many bytes.
    fn count(&mut self, what: &str, least: usize) -> Result<usize, StateError> {
        let count = self.unsigned()?;
        match usize::try_from(count) {
            Ok(items) if items <= (self.state.len() - self.at) / least => Ok(items),
            _ => self.wrong(format_args!("{count} {what}, more than what follows can be")),
        }
    }

    fn list<T>(
        &mut self,
        least: usize,
        read: impl Fn(&mut Self) -> Result<T, StateError>,
    ) -> Result<Vec<T>, StateError> {
        let count = self.count("items", least)?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    fn symbol(&mut self) -> Result<Symbol, StateError> {
        let mut symbol = Symbol {
            qualified_name: self.text()?,
            kind: self.text()?,
            score: self.double()?,
            provenance: self.text()?,
            distance: self.signed()?,
            signature: self.text()?,
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
                let (file, line, column) = (self.text()?, self.number()?, self.number()?);
                let end = match flags & END {
                    0 => None,
                    _ => Some((self.number()?, self.number()?)),
                };
                symbol.location = Some(Box::new(Location { file, line, column, end }));
            }
            _ => return self.wrong(format_args!("the flags {flags}")),
        }
        Ok(symbol)
    }

    fn edge(&mut self) -> Result<Edge, StateError> {
        Ok(Edge {
            source: self.text()?,
            target: self.text()?,
            edge_type: self.text()?,
            status: self.text()?,
        })
    }

    fn finish(self) -> Result<(), StateError> {
        match self.state.len() - self.at {
            0 => Ok(()),
            left => self.wrong(format_args!("{left} bytes too many")),
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
    fn everything_comes_back() {
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
    fn a_changed_state_is_an_error_or_another_payload() {
        for state in [payload().to_state(), delta().to_state()] {
            for end in 0..state.len() {
                assert!(Payload::from_state(&state[..end]).is_err());
                assert!(DeltaPayload::from_state(&state[..end]).is_err());
            }
            for at in 0..state.len() {
                for byte in [0, 1, 0x7F, 0x80, 0xFF, state[at] ^ 1] {
                    let mut changed = state.clone();
                    changed[at] = byte;
                    // Whatever it is: no panic, and what is read can be kept.
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
        assert!(error.to_string().contains("1 bytes too many"), "{error}");
        let error = Payload::from_state(&delta().to_state()).unwrap_err();
        assert_eq!(error.to_string(), "a damaged state: it does not begin with CWG1P at byte 0");
    }

    #[test]
    fn counts_do_not_take_memory_that_the_state_has_not() {
        let huge = [PAYLOAD, &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..]].concat();
        let error = Payload::from_state(&huge).unwrap_err().to_string();
        assert!(error.contains("4294967295 texts, more than what follows can be"), "{error}");
    }
}
