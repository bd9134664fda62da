//! Encodes a payload symbol by symbol; the counts are in a trailer. GCF 3.6 section 8.
//!
//! Invariant: the text so far can always be completed to a valid text. The encoder keeps ids and names in
//! memory, not lines.
//!
//! In a session, a symbol that the peer has is written as a reference to its id. New ids are assigned when
//! they are written, so that no id refers to two symbols even if the stream breaks off. The symbols count
//! as delivered when the stream is closed.

use super::check::{Check, check_counts};
use super::encode::{
    Dangling, EncodeOptions, write_edge, write_group, write_id, write_label, write_locations,
    write_node,
};
use super::session_table::{Epoch, SentSymbols};
use super::shared_str::SharedStr;
use super::types::{Edge, Location, Payload, Symbol};
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::header::{write_count, write_field};
use crate::memory;
use hashbrown::{HashMap, HashSet};
use std::time::Duration;

/// Options of a stream.
///
/// ```
/// use compactwire::gcf::graph::{Payload, StreamEncoder, StreamOptions, Symbol};
///
/// let options = StreamOptions { labeled_counts: true, ..StreamOptions::default() };
/// let mut out = String::new();
/// let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
/// stream.symbol(&Symbol::new("a.f", "function", 0.5, "lsp"), None, &mut out).unwrap();
/// stream.close(None, &mut out).unwrap();
/// assert!(out.ends_with("counts=targets:1,edges:0\n"));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamOptions {
    /// The options of [`encode`](super::encode).
    pub encode: EncodeOptions,
    /// Whether the `counts` of the trailer have labels.
    pub labeled_counts: bool,
}

/// Encodes a payload incrementally. Each method appends complete lines to `out`, or nothing if it
/// fails.
#[derive(Debug, Clone)]
pub struct StreamEncoder {
    options: StreamOptions,
    distance: Option<i64>,
    /// The number of symbols of each distance, in the order of their first group.
    groups: Vec<(i64, u64)>,
    /// The position in `groups` of each distance.
    group_of: HashMap<i64, usize>,
    symbols: u64,
    edges: u64,
    in_edges: bool,
    closed: bool,
    /// Ids by name; `None` for a name that more than one symbol has.
    names: HashMap<SharedStr, Option<u64>>,
    identities: HashSet<(SharedStr, SharedStr)>,
    locations: Vec<(u64, Box<Location>)>,
    session: Option<Epoch>,
}

impl StreamEncoder {
    /// Starts a text with the tool, counts and root of `payload`.
    ///
    /// # Errors
    /// `invalid_header_value`, `out_of_range`.
    pub fn new(payload: &Payload, options: StreamOptions, out: &mut String) -> Result<Self, Error> {
        Self::begin(payload, options, None, out)
    }

    /// Starts a text within a session, which all other methods need too.
    ///
    /// `now` is the time since an arbitrary fixed moment. A session that is too old starts over, and the
    /// text is written in full, without `session=true`.
    ///
    /// # Errors
    /// As [`StreamEncoder::new`]; the session is unchanged then.
    pub fn new_in(
        payload: &Payload,
        options: StreamOptions,
        sent: &mut SentSymbols,
        now: Duration,
        out: &mut String,
    ) -> Result<Self, Error> {
        // An error must leave the session unchanged, so the header is checked before the session starts over.
        let mut checked = String::new();
        Self::begin(payload, options, None, &mut checked)?;
        Self::begin(payload, options, sent.begin_stream(now), out)
    }

    fn begin(
        payload: &Payload,
        options: StreamOptions,
        session: Option<Epoch>,
        out: &mut String,
    ) -> Result<Self, Error> {
        check_counts(payload)?;
        let mut header = String::from("GCF profile=graph");
        write_field("tool", &payload.tool, &mut header)?;
        write_count("budget", payload.token_budget, &mut header);
        write_count("tokens", payload.tokens_used, &mut header);
        write_field("pack_root", &payload.pack_root, &mut header)?;
        if session.is_some() {
            header.push_str(" session=true");
        }
        header.push('\n');
        out.push_str(&header);
        Ok(Self {
            options,
            distance: None,
            groups: Vec::new(),
            group_of: HashMap::new(),
            symbols: 0,
            edges: 0,
            in_edges: false,
            closed: false,
            names: HashMap::new(),
            identities: HashSet::new(),
            locations: Vec::new(),
            session,
        })
    }

    /// Reserves memory for what is kept of one more symbol.
    fn reserve(&mut self) -> Result<(), Error> {
        self.groups.try_reserve(1)?;
        self.locations.try_reserve(1)?;
        let reserved = (self.names.try_reserve(1))
            .and_then(|()| self.identities.try_reserve(1))
            .and_then(|()| self.group_of.try_reserve(1));
        Ok(reserved.map_err(|_| memory::exhausted())?)
    }

    /// Writes a symbol; `sent` is the session that the text was started in, if any.
    ///
    /// # Errors
    /// As [`encode`](super::encode); `invalid_line` after the first edge, after the end, and if the
    /// session has started over since the text was started.
    pub fn symbol(
        &mut self,
        symbol: &Symbol,
        sent: Option<&mut SentSymbols>,
        out: &mut String,
    ) -> Result<(), Error> {
        self.check_open(sent.as_deref())?;
        if self.in_edges {
            let message = "a symbol cannot be written after an edge";
            return Err(Error::without_place(Code::InvalidLine, message));
        }
        let index = self.symbols;
        self.check(|| format!("$.symbols[{index}]")).symbol(symbol)?;
        let identity = (SharedStr::from(abbreviated(&symbol.kind)), symbol.qualified_name.clone());
        if self.identities.contains(&identity) {
            let message =
                format!("duplicate symbol: {} {}", symbol.kind, excerpt(&symbol.qualified_name));
            return Err(Error::without_place(Code::DuplicateSymbol, message));
        }
        self.reserve()?;
        let (id, known) = match (self.session, sent) {
            (None, _) => (index, false),
            (Some(epoch), sent) => {
                let sent = sent.ok_or_else(started_over)?;
                sent.reserve()?;
                sent.assign(symbol, epoch).ok_or_else(started_over)?
            }
        };
        self.identities.insert(identity);
        self.names
            .entry(symbol.qualified_name.clone())
            .and_modify(|id| *id = None)
            .or_insert(Some(id));
        if self.distance != Some(symbol.distance) {
            self.distance = Some(symbol.distance);
            write_group(symbol.distance, out);
        }
        let group = *self.group_of.entry(symbol.distance).or_insert(self.groups.len());
        match self.groups.get_mut(group) {
            Some((_, count)) => *count += 1,
            None => self.groups.push((symbol.distance, 1)),
        }
        write_node(id, symbol, known, out);
        if let Some(location) = &symbol.location {
            self.locations.push((id, location.clone()));
        }
        self.symbols += 1;
        Ok(())
    }

    /// Writes an edge between symbols that were written before; `sent` as for [`StreamEncoder::symbol`].
    ///
    /// # Errors
    /// As [`encode`](super::encode); `invalid_line` after the end, and if the session has started over.
    pub fn edge(
        &mut self,
        edge: &Edge,
        sent: Option<&SentSymbols>,
        out: &mut String,
    ) -> Result<(), Error> {
        self.check_open(sent)?;
        let index = self.edges;
        self.check(|| format!("$.edges[{index}]")).edge(edge)?;
        let is_missing = |end: &SharedStr| !self.names.contains_key(end);
        let drop = self.options.encode.dangling == Dangling::Drop;
        if drop && (is_missing(&edge.source) || is_missing(&edge.target)) {
            return Ok(());
        }
        let (target, source) = (self.end(&edge.target)?, self.end(&edge.source)?);
        if !self.in_edges {
            out.push_str("## edges [?]\n");
            self.in_edges = true;
        }
        write_edge(target, source, edge, out);
        self.edges += 1;
        Ok(())
    }

    /// The id of the only symbol with a name.
    fn end(&self, name: &str) -> Result<u64, Error> {
        match self.names.get(name) {
            Some(Some(id)) => Ok(*id),
            Some(None) => {
                let message = format!(
                    "more than one symbol is named {}, so the edge is ambiguous",
                    excerpt(name)
                );
                Err(Error::without_place(Code::DuplicateSymbol, message))
            }
            None => {
                let message = format!("no symbol that was written is named {}", excerpt(name));
                Err(Error::without_place(Code::DanglingEdge, message))
            }
        }
    }

    /// Writes the locations and the trailer; does nothing if the stream is closed already. `sent` as for
    /// [`StreamEncoder::symbol`].
    ///
    /// # Errors
    /// `invalid_loc_line`; `invalid_line` if the session has started over.
    pub fn close(&mut self, sent: Option<&SentSymbols>, out: &mut String) -> Result<(), Error> {
        if self.closed {
            return Ok(());
        }
        self.check_open(sent)?;
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

    /// Counts the symbols of a closed stream as delivered; does nothing if the stream is not closed. The
    /// caller has written the text. `sent` is the session that the text was started in.
    pub fn deliver(&self, sent: &mut SentSymbols, now: Duration) {
        if let Some(epoch) = self.session.filter(|_| self.closed) {
            sent.end_stream(self.identities.iter().map(|(kind, name)| (kind, name)), epoch, now);
        }
    }

    /// The check of the symbol or edge at `path`.
    fn check<P>(&self, path: P) -> Check<P> {
        Check { allow_unicode: self.options.encode.allow_unicode, path }
    }

    /// Returns an error if the stream is closed, or its session has started over.
    fn check_open(&self, sent: Option<&SentSymbols>) -> Result<(), Error> {
        if self.closed {
            let message = "the stream is closed";
            return Err(Error::without_place(Code::InvalidLine, message));
        }
        match self.session {
            Some(epoch) if !sent.is_some_and(|sent| sent.is_in(epoch)) => Err(started_over()),
            _ => Ok(()),
        }
    }
}

fn started_over() -> Error {
    let message = "the session has started over; start a new stream";
    Error::without_place(Code::InvalidLine, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, SymbolTable, TableLimits, decode, decode_in};

    fn symbol(name: &str, distance: i64) -> Symbol {
        Symbol { distance, ..Symbol::new(name, "function", 0.5, "lsp") }
    }

    #[test]
    fn a_streamed_text_decodes_to_the_payload() {
        let options = StreamOptions { labeled_counts: true, ..StreamOptions::default() };
        let mut out = String::new();
        let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
        let located = Symbol {
            location: Some(Box::new(Location { file: "f".into(), line: 1, column: 2, end: None })),
            ..symbol("b", 1)
        };
        let symbols = [symbol("a", 0), located, symbol("c", 0)];
        for symbol in &symbols {
            stream.symbol(symbol, None, &mut out).unwrap();
        }
        let again = stream.symbol(&symbols[0], None, &mut out).unwrap_err();
        assert_eq!(again.code, Code::DuplicateSymbol);
        let edge = Edge::new("a", "b", "calls");
        stream.edge(&edge, None, &mut out).unwrap();
        let unknown = stream.edge(&Edge::new("a", "z", "calls"), None, &mut out).unwrap_err();
        assert_eq!(unknown.code, Code::DanglingEdge);
        assert_eq!(
            stream.symbol(&symbol("d", 0), None, &mut out).unwrap_err().code,
            Code::InvalidLine
        );
        stream.close(None, &mut out).unwrap();
        stream.close(None, &mut out).unwrap();
        assert_eq!(stream.edge(&edge, None, &mut out).unwrap_err().code, Code::InvalidLine);
        let end = "## loc [1]\n@1 f 1 2\n##! summary symbols=3 edges=1 counts=targets:2,related:1,edges:1\n";
        assert!(out.ends_with(end), "{out}");
        let payload = Payload { symbols: symbols.into(), edges: vec![edge], ..Payload::default() };
        assert_eq!(decode(&out).unwrap().content, Content::Payload(payload));
    }

    #[test]
    fn an_edge_with_a_missing_end_is_dropped_even_if_the_other_end_is_ambiguous() {
        let encode = EncodeOptions { dangling: Dangling::Drop, ..EncodeOptions::default() };
        let options = StreamOptions { encode, ..StreamOptions::default() };
        let mut out = String::new();
        let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
        let twin = Symbol { kind: "type".into(), ..symbol("a", 0) };
        for symbol in [symbol("a", 0), twin] {
            stream.symbol(&symbol, None, &mut out).unwrap();
        }
        for edge in [Edge::new("a", "z", "calls"), Edge::new("z", "a", "calls")] {
            stream.edge(&edge, None, &mut out).unwrap();
        }
        assert!(!out.contains("edges"), "{out}");
        let ambiguous = stream.edge(&Edge::new("a", "a", "calls"), None, &mut out).unwrap_err();
        assert_eq!(ambiguous.code, Code::DuplicateSymbol);
    }

    #[test]
    fn an_empty_stream_counts_no_edges() {
        let mut out = String::new();
        let options = StreamOptions::default();
        let mut stream = StreamEncoder::new(&Payload::default(), options, &mut out).unwrap();
        stream.close(None, &mut out).unwrap();
        assert_eq!(out, "GCF profile=graph\n##! summary symbols=0 edges=0 counts=0\n");
    }

    #[test]
    fn a_stream_in_a_session_refers_to_known_symbols() {
        let second = Duration::from_secs(1);
        let (mut sent, mut received) = (SentSymbols::default(), SymbolTable::default());
        let mut streamed = |sent: &mut SentSymbols, names: &[&str], close: bool| {
            let (mut out, options) = (String::new(), StreamOptions::default());
            let payload = Payload::default();
            let mut stream =
                StreamEncoder::new_in(&payload, options, sent, second, &mut out).unwrap();
            for name in names {
                stream.symbol(&symbol(name, 0), Some(sent), &mut out).unwrap();
            }
            stream.edge(&Edge::new(names[0], names[0], "calls"), Some(sent), &mut out).unwrap();
            if close {
                stream.close(Some(sent), &mut out).unwrap();
                stream.deliver(sent, second);
            }
            if let Content::Payload(read) = decode_in(&out, &mut received).unwrap().content {
                assert!(read.symbols.iter().map(|s| &*s.qualified_name).eq(names.iter().copied()));
                assert_eq!(read.edges, [Edge::new(names[0], names[0], "calls")]);
            }
            out
        };
        streamed(&mut sent, &["a"], true);
        let text = streamed(&mut sent, &["b", "a"], false);
        assert!(text.contains("session=true\n## targets\n@1 fn b 0.50 lsp\n@0  # prev"), "{text}");
        // The stream was not closed: b keeps its id, and is declared again.
        let text = streamed(&mut sent, &["c", "b"], true);
        assert!(text.contains("@2 fn c 0.50 lsp\n@1 fn b 0.50 lsp\n## edges [?]\n@2<@2"), "{text}");
        let text = streamed(&mut sent, &["b", "c", "a"], true);
        assert_eq!(text.matches("previously").count(), 3, "{text}");
        let late = Duration::from_secs(3 * 60 * 60);
        let (mut out, options) = (String::new(), StreamOptions::default());
        StreamEncoder::new_in(&Payload::default(), options, &mut sent, late, &mut out).unwrap();
        assert_eq!(out, "GCF profile=graph\n");
        assert!(sent.is_empty());
    }

    #[test]
    fn a_stream_cannot_continue_in_another_session() {
        let (mut sent, mut out) = (SentSymbols::default(), String::new());
        let options = StreamOptions::default();
        let mut stream = StreamEncoder::new_in(
            &Payload::default(),
            options,
            &mut sent,
            Duration::ZERO,
            &mut out,
        )
        .unwrap();
        stream.symbol(&symbol("a", 0), Some(&mut sent), &mut out).unwrap();
        for sent in [None, Some(&mut SentSymbols::default())] {
            let before = out.clone();
            let edge = stream.edge(&Edge::new("a", "a", "calls"), sent.as_deref(), &mut out);
            let close = stream.close(sent.as_deref(), &mut out);
            for refused in [edge, close, stream.symbol(&symbol("b", 0), sent, &mut out)] {
                assert_eq!(refused.unwrap_err().code, Code::InvalidLine);
                assert_eq!(out, before);
            }
        }
        stream.symbol(&symbol("b", 0), Some(&mut sent), &mut out).unwrap();
    }

    #[test]
    fn a_stream_beyond_the_limit_is_written_in_full_and_the_session_starts_over() {
        let limits = TableLimits { max_ids: 2, ..TableLimits::default() };
        let (mut sent, mut received) = (SentSymbols::new(limits), SymbolTable::new(limits));
        for (names, left) in [(&["a", "b", "c"][..], 0), (&["c", "a"], 2)] {
            let mut out = String::new();
            let now = Duration::ZERO;
            let options = StreamOptions::default();
            let mut stream =
                StreamEncoder::new_in(&Payload::default(), options, &mut sent, now, &mut out)
                    .unwrap();
            for name in names {
                stream.symbol(&symbol(name, 0), Some(&mut sent), &mut out).unwrap();
            }
            stream.close(Some(&sent), &mut out).unwrap();
            stream.deliver(&mut sent, now);
            assert!(!out.contains("previously"), "{out}");
            decode_in(&out, &mut received).unwrap();
            assert_eq!(sent.len(), left);
        }
    }
}
