//! The reader: names and signatures are slices of one shared buffer.
//!
//! Invariant: memory is allocated only for as many items as the remaining bytes can hold.

use super::{DecodeOptions, MAGIC, VERSION, shortest};
use crate::excerpt::excerpt;
use crate::gcf::graph::vocabulary::{EDGE_TYPES, KINDS, PROVENANCES, STATUSES};
use crate::gcf::graph::{Components, Edge, Payload, SharedBuffer, SharedStr, Symbol};
use crate::interrupt::polled;
use crate::memory;
use crate::text::leb128;
use crate::wire::error::{Code, Error};
use hashbrown::HashMap;
use std::ops::Range;

/// The fewest bytes of a symbol: an empty name and signature (a length each), the bytes of kind, provenance and
/// distance, and five numbers of four bytes.
const SMALLEST_SYMBOL: u64 = 2 + 3 + 5 * 4;
/// The fewest bytes of an edge: two positions, and the bytes of type and status.
const SMALLEST_EDGE: u64 = 4;

/// Reads a payload.
///
/// # Errors
/// The bytes are not GCB; the error has an offset. Memory is at most a small multiple of the input.
pub fn decode(bytes: &[u8], options: DecodeOptions) -> Result<Payload, Error> {
    if bytes.len() <= MAGIC.len() {
        let message = format!("{} bytes are not GCB, which begins with GCB1", bytes.len());
        return Err(Error::at(Code::Truncated, bytes.len(), message));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(Error::at(Code::BadMagic, 0, "the bytes do not begin with GCB1"));
    }
    if bytes[MAGIC.len()] != VERSION {
        let message = format!("unknown version {}, expected 1", bytes[MAGIC.len()]);
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
    // The check above bounds the count by the input.
    let capacity = usize::try_from(symbol_count).unwrap_or(0);
    let (mut symbols, mut ranges) = (Vec::new(), Vec::new());
    reserve(&mut symbols, capacity, reader.at)?;
    reserve(&mut ranges, capacity, reader.at)?;
    reader.strings.try_reserve(left).map_err(|_| out_of_memory(left, reader.at))?;
    for _ in polled(0..symbol_count) {
        let (symbol, string_ranges) = reader.symbol()?;
        symbols.push(symbol);
        ranges.push(string_ranges);
    }
    let strings = std::mem::take(&mut reader.strings);
    let buffer =
        SharedBuffer::try_new(&strings).ok_or_else(|| out_of_memory(strings.len(), reader.at))?;
    for (symbol, [name, signature]) in polled(&mut symbols).zip(ranges) {
        symbol.qualified_name = buffer.slice(name);
        symbol.signature = buffer.slice(signature);
    }
    let edges = reader.edges(edge_count, &symbols, &buffer)?;
    if reader.at < bytes.len() {
        let message = format!("{} bytes after the last edge", bytes.len() - reader.at);
        return Err(Error::at(Code::TrailingData, reader.at, message));
    }
    Ok(Payload { tool, tokens_used, token_budget, pack_root: SharedStr::default(), symbols, edges })
}

/// Whether each symbol shares its name with another; empty if none does.
fn shared_names(symbols: &[Symbol]) -> Vec<bool> {
    let mut first = HashMap::new();
    memory::require(first.try_reserve(symbols.len()).map_err(|_| memory::exhausted()));
    let mut shared = Vec::new();
    for (i, symbol) in polled(symbols).enumerate() {
        if let Err(error) = first.try_insert(&*symbol.qualified_name, i) {
            memory::require(shared.try_reserve_exact(symbols.len() - shared.len()));
            shared.resize(symbols.len(), false);
            shared[*error.entry.get()] = true;
            shared[i] = true;
        }
    }
    shared
}

/// Reserves memory for `count` items; fails instead of aborting if there is none.
fn reserve<T>(items: &mut Vec<T>, count: usize, at: usize) -> Result<(), Error> {
    let size = count.saturating_mul(size_of::<T>());
    items.try_reserve_exact(count).map_err(|_| out_of_memory(size, at))
}

#[cold]
fn out_of_memory(size: usize, at: usize) -> Error {
    Error::at(Code::OutOfMemory, at, format!("cannot allocate {size} bytes"))
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    options: DecodeOptions,
    /// Names and signatures, concatenated.
    strings: String,
}

impl<'b> Reader<'b> {
    fn new(bytes: &'b [u8], options: DecodeOptions) -> Self {
        Self { bytes, at: 0, options, strings: String::new() }
    }

    /// Reads a symbol. Returns it and the ranges of its name and signature in `strings`.
    fn symbol(&mut self) -> Result<(Symbol, [Range<usize>; 2]), Error> {
        let name = self.collect_string()?;
        let mut symbol = Symbol {
            kind: self.word(KINDS, Code::UnknownKind)?,
            score: self.number()?,
            provenance: self.word(PROVENANCES, Code::UnknownProvenance)?,
            distance: self.byte()?.into(),
            ..Symbol::default()
        };
        let signature = self.collect_string()?;
        symbol.components = self.components()?;
        Ok((symbol, [name, signature]))
    }

    /// Reads a string and appends it to `strings`; returns its range there.
    fn collect_string(&mut self) -> Result<Range<usize>, Error> {
        let start = self.strings.len();
        let string = self.text()?;
        self.strings.push_str(string);
        Ok(start..self.strings.len())
    }

    fn components(&mut self) -> Result<Components, Error> {
        // The common case: all four are 0.
        const NONE: &[u8] = &[0; 16];
        if self.bytes[self.at..].starts_with(NONE) {
            self.at += NONE.len();
            return Ok(Components::default());
        }
        Ok([self.number()?, self.number()?, self.number()?, self.number()?].into())
    }

    fn edges(
        &mut self,
        count: u64,
        symbols: &[Symbol],
        buffer: &SharedBuffer<'_>,
    ) -> Result<Vec<Edge>, Error> {
        let asked = count > 0 && !self.options.duplicates;
        let shared = if asked { shared_names(symbols) } else { Vec::new() };
        let mut edges = Vec::new();
        // The caller has compared the count with the bytes that are left.
        reserve(&mut edges, usize::try_from(count).unwrap_or(usize::MAX), self.at)?;
        for _ in polled(0..count) {
            let at = self.at;
            let ends = [self.end(symbols.len())?, self.end(symbols.len())?];
            let name = |end: usize| buffer.clone_str(&symbols[end].qualified_name);
            edges.push(Edge {
                source: name(ends[0]),
                target: name(ends[1]),
                edge_type: self.word(EDGE_TYPES, Code::UnknownEdgeType)?,
                status: self.word(STATUSES, Code::UnknownStatus)?,
            });
            if let Some(end) = ends.into_iter().find(|&end| shared.get(end) == Some(&true)) {
                let name = excerpt(&symbols[end].qualified_name);
                let message = format!("more than one symbol is called {name}");
                return Err(Error::at(Code::DuplicateSymbol, at, message));
            }
        }
        Ok(edges)
    }

    /// Reads the position of a symbol, of which there are `count`.
    fn end(&mut self, count: usize) -> Result<usize, Error> {
        let at = self.at;
        let index = self.varint()?;
        let position = usize::try_from(index).ok().filter(|&position| position < count);
        position.ok_or_else(|| {
            let message = format!("the edge refers to symbol {index}, but there are {count}");
            Error::at(Code::EdgeIndex, at, message)
        })
    }

    fn word(&mut self, table: &[&'static str], code: Code) -> Result<SharedStr, Error> {
        let at = self.at;
        let id = self.byte()?;
        match table.get(usize::from(id)) {
            Some(word) => Ok(SharedStr::from_static(word)),
            None if self.options.unknown_ids => Ok(format!("unknown_{id}").into()),
            None => {
                Err(Error::at(code, at, format!("unknown id {id}, for which GCB defines no word")))
            }
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
            Error::at(Code::InvalidUtf8, at, "a string is not UTF-8")
        })
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let message = match leb128::read(self.bytes, self.at) {
            Ok((value, after)) => {
                self.at = after;
                return Ok(value);
            }
            Err(leb128::Error::Truncated) => {
                self.at = self.bytes.len();
                return Err(self.truncated(1, 0));
            }
            Err(leb128::Error::TooLarge) => "the number is above 2^64 - 1",
            Err(leb128::Error::NotShortest) => "the number is not in its shortest form",
        };
        Err(Error::at(Code::BadVarint, self.at, message))
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
        let message = format!("expected {length} bytes, found {left}");
        Error::at(Code::Truncated, self.at, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
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
}
