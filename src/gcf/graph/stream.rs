//! Symbol by symbol: a text whose counts stand at its end. GCF 3.6 section 8.
//!
//! Invariant: what was written can be read back, whatever comes next. Memory holds ids and names, not
//! lines.

use super::super::error::{Code, Error};
use super::encode::{
    Dangling, EncodeOptions, write_edge, write_group, write_id, write_label, write_locations,
    write_node,
};
use super::header::{write_count, write_field};
use super::names::{check_edge, check_symbol, short};
use super::types::{Edge, Location, Payload, Symbol, Text};
use crate::position::excerpt;
use hashbrown::{HashMap, HashSet};

/// How a stream is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// As in `encode`.
    pub encode: EncodeOptions,
    /// Whether the counts of the trailer have labels.
    pub labeled_counts: bool,
}

/// Writes a payload as it comes. Every method appends to `out` what is to be sent, or nothing.
#[derive(Debug, Clone)]
pub struct StreamEncoder {
    options: StreamOptions,
    distance: Option<i64>,
    /// Symbols of each distance, in the order of their first group.
    groups: Vec<(i64, u64)>,
    symbols: u64,
    edges: u64,
    in_edges: bool,
    closed: bool,
    /// Ids by name; `None` for a name that two symbols share.
    names: HashMap<Text, Option<u64>>,
    identities: HashSet<(Text, Text)>,
    locations: Vec<(u64, Box<Location>)>,
}

impl StreamEncoder {
    /// Begins a text with the tool, counts and root of `payload`.
    ///
    /// # Errors
    /// `invalid_header_value`, `out_of_range`.
    pub fn new(payload: &Payload, options: StreamOptions, out: &mut String) -> Result<Self, Error> {
        super::names::check_counts(payload)?;
        let mut header = String::from("GCF profile=graph");
        write_field("tool", &payload.tool, &mut header)?;
        write_count("budget", payload.token_budget, &mut header);
        write_count("tokens", payload.tokens_used, &mut header);
        write_field("pack_root", &payload.pack_root, &mut header)?;
        header.push('\n');
        out.push_str(&header);
        Ok(Self {
            options,
            distance: None,
            groups: Vec::new(),
            symbols: 0,
            edges: 0,
            in_edges: false,
            closed: false,
            names: HashMap::new(),
            identities: HashSet::new(),
            locations: Vec::new(),
        })
    }

    /// Writes a symbol.
    ///
    /// # Errors
    /// As `encode`; `invalid_line` behind the first edge or the end.
    pub fn symbol(&mut self, symbol: &Symbol, out: &mut String) -> Result<(), Error> {
        self.refuse_closed()?;
        if self.in_edges {
            let message = "a symbol cannot follow an edge";
            return Err(Error::nowhere(Code::InvalidLine, message));
        }
        let index = self.symbols;
        check_symbol(symbol, self.options.encode.allow_unicode, || format!("$.symbols[{index}]"))?;
        let kind = Text::from(short(&symbol.kind));
        if !self.identities.insert((kind, symbol.qualified_name.clone())) {
            let message =
                format!("{} {} was written", symbol.kind, excerpt(&symbol.qualified_name));
            return Err(Error::nowhere(Code::DuplicateSymbol, message));
        }
        self.names
            .entry(symbol.qualified_name.clone())
            .and_modify(|id| *id = None)
            .or_insert(Some(index));
        if self.distance != Some(symbol.distance) {
            self.distance = Some(symbol.distance);
            write_group(symbol.distance, out);
        }
        match self.groups.iter_mut().find(|(distance, _)| *distance == symbol.distance) {
            Some((_, count)) => *count += 1,
            None => self.groups.push((symbol.distance, 1)),
        }
        write_node(index, symbol, false, out);
        if let Some(location) = &symbol.location {
            self.locations.push((index, location.clone()));
        }
        self.symbols += 1;
        Ok(())
    }

    /// Writes an edge between symbols that were written.
    ///
    /// # Errors
    /// As `encode`; `invalid_line` behind the end.
    pub fn edge(&mut self, edge: &Edge, out: &mut String) -> Result<(), Error> {
        self.refuse_closed()?;
        let index = self.edges;
        check_edge(edge, self.options.encode.allow_unicode, || format!("$.edges[{index}]"))?;
        let (Some(target), Some(source)) = (self.end(&edge.target)?, self.end(&edge.source)?)
        else {
            return Ok(());
        };
        if !self.in_edges {
            out.push_str("## edges [?]\n");
            self.in_edges = true;
        }
        write_edge(target, source, edge, out);
        self.edges += 1;
        Ok(())
    }

    /// The id of a symbol; `None` for an edge that is to be left out.
    fn end(&self, name: &str) -> Result<Option<u64>, Error> {
        match self.names.get(name) {
            Some(Some(id)) => Ok(Some(*id)),
            Some(None) => {
                let message = format!("more than one symbol is called {}", excerpt(name));
                Err(Error::nowhere(Code::DuplicateSymbol, message))
            }
            None if self.options.encode.dangling == Dangling::Drop => Ok(None),
            None => {
                let message = format!("{} was not written", excerpt(name));
                Err(Error::nowhere(Code::DanglingEdge, message))
            }
        }
    }

    /// Writes the locations and the trailer; again, nothing.
    ///
    /// # Errors
    /// `invalid_loc_line`.
    pub fn close(&mut self, out: &mut String) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        let mut text = String::new();
        if self.options.encode.locations {
            let located = self.locations.iter().map(|(id, location)| (*id, &**location));
            write_locations(located.collect(), &mut text)?;
        }
        text.push_str("##! summary symbols=");
        write_id(self.symbols, &mut text);
        text.push_str(" edges=");
        write_id(self.edges, &mut text);
        text.push_str(" counts=");
        for (distance, count) in &self.groups {
            if self.options.labeled_counts {
                write_label(*distance, &mut text);
                text.push(':');
            }
            write_id(*count, &mut text);
            text.push(',');
        }
        if self.options.labeled_counts {
            text.push_str("edges:");
        }
        write_id(self.edges, &mut text);
        text.push('\n');
        out.push_str(&text);
        self.closed = true;
        Ok(())
    }

    fn refuse_closed(&self) -> Result<(), Error> {
        if self.closed {
            let message = "the stream is closed";
            return Err(Error::nowhere(Code::InvalidLine, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Content, decode};
    use super::*;

    fn symbol(name: &str, distance: i64) -> Symbol {
        Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score: 0.5,
            provenance: "lsp".into(),
            distance,
            ..Symbol::default()
        }
    }

    #[test]
    fn what_is_streamed_is_read() {
        let options = StreamOptions { labeled_counts: true, ..StreamOptions::default() };
        let mut out = String::new();
        let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
        let located = Symbol {
            location: Some(Box::new(Location { file: "f".into(), line: 1, column: 2, end: None })),
            ..symbol("b", 1)
        };
        let symbols = [symbol("a", 0), located, symbol("c", 0)];
        for symbol in &symbols {
            stream.symbol(symbol, &mut out).unwrap();
        }
        let again = stream.symbol(&symbols[0], &mut out).unwrap_err();
        assert_eq!(again.code, Code::DuplicateSymbol);
        let edge = Edge::new("a", "b", "calls");
        stream.edge(&edge, &mut out).unwrap();
        let unknown = stream.edge(&Edge::new("a", "z", "calls"), &mut out).unwrap_err();
        assert_eq!(unknown.code, Code::DanglingEdge);
        assert_eq!(stream.symbol(&symbol("d", 0), &mut out).unwrap_err().code, Code::InvalidLine);
        stream.close(&mut out).unwrap();
        stream.close(&mut out).unwrap();
        assert_eq!(stream.edge(&edge, &mut out).unwrap_err().code, Code::InvalidLine);
        let end = "## loc [1]\n@1 f 1 2\n##! summary symbols=3 edges=1 counts=targets:2,related:1,edges:1\n";
        assert!(out.ends_with(end), "{out}");
        let payload = Payload { symbols: symbols.into(), edges: vec![edge], ..Payload::default() };
        assert_eq!(decode(&out).unwrap().content, Content::Payload(payload));
    }

    #[test]
    fn nothing_streamed_counts_no_edges() {
        let mut out = String::new();
        let options = StreamOptions::default();
        let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
        stream.close(&mut out).unwrap();
        assert_eq!(out, "GCF profile=graph\n##! summary symbols=0 edges=0 counts=0\n");
    }
}
