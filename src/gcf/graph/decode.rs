//! The reader: line by line, each field where it must be. GCF 3.6 sections 9, 10 and 16.
//!
//! A text is read whole or refused; a session learns from it only then.

use super::super::declare::brackets;
use super::super::error::{Code, Error, Read, fault};
use super::super::header::{Header, Profile, pairs, words};
use super::super::line::{Line, Lines, is_blank};
use super::super::text::read_quoted;
use super::names::long;
use super::score;
use super::table::SymbolTable;
use super::types::{DeltaPayload, Edge, Location, Payload, Symbol, Text};
use super::vocabulary::known;
use crate::position::excerpt;
use hashbrown::HashMap;

/// A text that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// What it holds.
    pub content: Content,
    /// What was skipped: groups of later versions.
    pub warnings: Vec<String>,
}

/// What a text of the graph profile may hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Symbols and edges.
    Payload(Payload),
    /// What changed.
    Delta(DeltaPayload),
    /// Nothing changed.
    Unchanged(Unchanged),
}

/// What the peer has is still right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unchanged {
    /// Who answers.
    pub tool: Text,
    /// The identity of what the peer has.
    pub pack_root: Text,
    /// How many symbols that has.
    pub symbols: i64,
}

/// Reads a text: a payload, a delta, or that nothing changed.
///
/// # Errors
/// With line and column and one of the codes of the specification.
pub fn decode(text: &str) -> Result<Decoded, Error> {
    Reader::read(text, None).map(|(decoded, _)| decoded).map_err(|fault| fault.locate(text))
}

/// Reads a text of a peer with which a session is held. Only a whole payload with `session=true`
/// changes what is known of the peer.
///
/// # Errors
/// As [`decode`]; `unknown_session_reference` and `session_conflict` ask for a full payload.
pub fn decode_in(text: &str, table: &mut SymbolTable) -> Result<Decoded, Error> {
    let read = Reader::read(text, Some(table)).map_err(|fault| fault.locate(text))?;
    let (decoded, declared) = read;
    if let Content::Payload(payload) = &decoded.content {
        table.commit(declared.into_iter().map(|(id, index)| {
            let symbol = &payload.symbols[index];
            let remembered = Symbol {
                qualified_name: symbol.qualified_name.clone(),
                kind: symbol.kind.clone(),
                score: symbol.score,
                provenance: symbol.provenance.clone(),
                ..Symbol::default()
            };
            (id, remembered)
        }));
    }
    Ok(decoded)
}

/// Which lines follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Group(i64),
    Edges,
    Locations,
    Unknown,
    // Of deltas.
    Removed,
    Added,
    RemovedEdges,
    AddedEdges,
}

/// Full declarations that a session may learn: id, and index of the symbol.
type Declared = Vec<(u64, usize)>;

struct Reader<'t, 's> {
    text: &'t str,
    lines: Lines<'t>,
    /// Only in a payload with `session=true`.
    table: Option<&'s SymbolTable>,
    symbols: Vec<Symbol>,
    ids: Ids,
    edges: Vec<Edge>,
    removed: Vec<Symbol>,
    removed_edges: Vec<Edge>,
    declared: Declared,
    words: Words,
    section: Section,
    /// How many items must follow in the section, and where that stands.
    due: Option<(u64, usize)>,
    seen: u64,
    warnings: Vec<String>,
}

impl<'t, 's> Reader<'t, 's> {
    fn read(text: &'t str, table: Option<&'s SymbolTable>) -> Read<(Decoded, Declared)> {
        let mut lines = Lines::new(text);
        let header = Header::read(&mut lines)?;
        if header.profile != Profile::Graph {
            return fault(Code::WrongProfile, 0, "a text of the generic profile; loads reads it");
        }
        let is = |name| header.get(name) == Some("true");
        let mut reader = Self {
            text,
            lines,
            table: table.filter(|_| is("session")),
            symbols: Vec::new(),
            ids: Ids::default(),
            edges: Vec::new(),
            removed: Vec::new(),
            removed_edges: Vec::new(),
            declared: Vec::new(),
            words: Words::default(),
            section: Section::Group(0),
            due: None,
            seen: 0,
            warnings: Vec::new(),
        };
        let content = match (is("delta"), is("unchanged")) {
            (false, false) => Content::Payload(reader.payload(&header)?),
            (true, false) => Content::Delta(reader.delta(&header)?),
            (false, true) => Content::Unchanged(reader.unchanged(&header)?),
            (true, true) => {
                let message = "a text is a delta or says that nothing changed, not both";
                return fault(Code::MalformedDelta, 0, message);
            }
        };
        if !matches!(content, Content::Payload(_)) || !is("session") {
            reader.declared.clear();
        }
        Ok((Decoded { content, warnings: reader.warnings }, reader.declared))
    }

    fn payload(&mut self, header: &Header<'t>) -> Read<Payload> {
        let (tokens_used, token_budget) =
            (self.count_of(header, "tokens")?, self.count_of(header, "budget")?);
        self.reserve(header);
        self.lines.advance()?;
        while let Some(line) = self.lines.peek() {
            let text = self.outermost(line)?;
            if text.starts_with("##! ") {
                self.trailer(text, line)?;
                break;
            }
            match (text.strip_prefix("## "), self.section) {
                (Some(name), _) => self.group(name, line)?,
                (None, Section::Edges) => self.edge(text, line)?,
                (None, Section::Locations) => self.location(text, line)?,
                (None, Section::Group(distance)) => self.node(text, line, distance)?,
                (None, _) => {}
            }
            self.lines.advance()?;
        }
        self.close()?;
        Ok(Payload {
            tool: text_of(header, "tool"),
            tokens_used,
            token_budget,
            pack_root: text_of(header, "pack_root"),
            symbols: std::mem::take(&mut self.symbols),
            edges: std::mem::take(&mut self.edges),
        })
    }

    /// Takes memory for what the header counts, as far as the text can hold it.
    fn reserve(&mut self, header: &Header<'t>) {
        let counted = |name, least| {
            let count = header.get(name).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            usize::min(count, self.text.len() / least)
        };
        let symbols = counted("symbols", "@0 f f 0.00 l\n".len());
        let edges = counted("edges", "@0<@0 c\n".len());
        self.symbols.reserve_exact(symbols);
        self.edges.reserve_exact(edges);
    }

    fn unchanged(&mut self, header: &Header<'t>) -> Read<Unchanged> {
        let symbols = self.count_of(header, "symbols")?;
        self.lines.advance()?;
        if let Some(line) = self.lines.peek() {
            let message = "nothing may follow the header of a text with unchanged=true";
            return fault(Code::TrailingCharacters, line.start, message);
        }
        Ok(Unchanged {
            tool: text_of(header, "tool"),
            pack_root: text_of(header, "pack_root"),
            symbols,
        })
    }

    fn delta(&mut self, header: &Header<'t>) -> Read<DeltaPayload> {
        for name in ["base_root", "new_root"] {
            if header.get(name).is_none_or(str::is_empty) {
                return fault(Code::MalformedDelta, 0, format!("a delta needs a {name}"));
            }
        }
        let delta_tokens = self.count_of(header, "tokens")?;
        let mut sections = Vec::new();
        self.section = Section::Unknown;
        self.lines.advance()?;
        while let Some(line) = self.lines.peek() {
            let text = self.outermost(line)?;
            match (text.strip_prefix("## "), self.section) {
                (Some(name), _) => {
                    self.delta_section(name, line)?;
                    if sections.contains(&self.section) {
                        let message = format!("a delta has one section {} only", excerpt(name));
                        return fault(Code::MalformedDelta, line.start, message);
                    }
                    sections.push(self.section);
                }
                (None, Section::Removed) => self.removed(text, line)?,
                (None, Section::Added) => self.added(text, line)?,
                (None, Section::RemovedEdges) => {
                    let edge = self.named_edge(text, line)?;
                    self.removed_edges.push(edge);
                }
                (None, Section::AddedEdges) => {
                    let edge = self.named_edge(text, line)?;
                    self.edges.push(edge);
                }
                (None, Section::Locations) => self.location(text, line)?,
                (None, _) => {
                    let message = "a line before the first section of the delta";
                    return fault(Code::MalformedDelta, line.start, message);
                }
            }
            self.lines.advance()?;
        }
        self.close()?;
        Ok(DeltaPayload {
            tool: text_of(header, "tool"),
            base_root: text_of(header, "base_root"),
            new_root: text_of(header, "new_root"),
            removed: std::mem::take(&mut self.removed),
            added: std::mem::take(&mut self.symbols),
            removed_edges: std::mem::take(&mut self.removed_edges),
            added_edges: std::mem::take(&mut self.edges),
            delta_tokens,
            full_tokens: 0,
        })
    }

    /// The text of a line, without blanks at its end. None is indented in this profile.
    fn outermost(&self, line: Line) -> Read<&'t str> {
        if line.indent > 0 {
            let message = "no line of a graph is indented";
            return fault(Code::InvalidIndent, line.start, message);
        }
        Ok(trimmed(self.lines.str(line)))
    }

    /// `## name [N]` of a payload.
    fn group(&mut self, name: &'t str, line: Line) -> Read<()> {
        let name = self.begin(name, line)?;
        self.section = match name {
            "targets" => Section::Group(0),
            "related" => Section::Group(1),
            "extended" => Section::Group(2),
            "edges" => Section::Edges,
            "loc" => Section::Locations,
            _ => match name.strip_prefix("distance_").filter(|digits| is_digits(digits)) {
                Some(digits) => Section::Group(self.distance(digits)?),
                None => self.unknown_group(name),
            },
        };
        Ok(())
    }

    fn unknown_group(&mut self, name: &str) -> Section {
        // What its items are, and so their number, only its version knows.
        self.due = None;
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("the group {} is unknown and was skipped", excerpt(name)));
        }
        Section::Unknown
    }

    fn distance(&self, digits: &str) -> Read<i64> {
        let Ok(distance) = digits.parse() else {
            let message = format!("the distance {} is too large", excerpt(digits));
            return fault(Code::OutOfRange, self.at(digits), message);
        };
        Ok(distance)
    }

    fn delta_section(&mut self, name: &'t str, line: Line) -> Read<()> {
        let name = self.begin(name, line)?;
        self.section = match name {
            "removed" => Section::Removed,
            "added" => Section::Added,
            "edges_removed" => Section::RemovedEdges,
            "edges_added" => Section::AddedEdges,
            "loc" => Section::Locations,
            _ => {
                let message = format!("a delta has no section {}", excerpt(name));
                return fault(Code::MalformedDelta, line.start, message);
            }
        };
        Ok(())
    }

    /// Ends the section before, and begins one: its name, with the count read.
    fn begin(&mut self, header: &'t str, line: Line) -> Read<&'t str> {
        self.close()?;
        let header = header.trim_start_matches([' ', '\t']);
        let (name, rest) = header.split_once(' ').unwrap_or((header, ""));
        let rest = rest.trim_start_matches([' ', '\t']);
        if !rest.starts_with('[') {
            // With something behind it, it is none of the names that are known.
            return Ok(if rest.is_empty() { name } else { header });
        }
        let end = line.start + self.lines.str(line).trim_end_matches([' ', '\t']).len();
        let (count, behind) = brackets(self.text, self.at(rest), end)?;
        if count.keyed || behind < end {
            let message = format!("{} is no count; as [3] or [?]", excerpt(rest));
            return fault(Code::InvalidCount, count.at, message);
        }
        self.due = count.value.map(|value| (value, count.at));
        Ok(name)
    }

    /// The section ends.
    fn close(&mut self) -> Read<()> {
        let (due, seen) = (self.due.take(), std::mem::take(&mut self.seen));
        match due {
            Some((due, at)) if due != seen => {
                let message = format!("{due} were counted, and {seen} are there");
                fault(Code::CountMismatch, at, message)
            }
            _ => Ok(()),
        }
    }

    /// `@id kind name score provenance`, or `@id  # previously transmitted`.
    fn node(&mut self, text: &'t str, line: Line, distance: i64) -> Read<()> {
        self.seen += 1;
        let (count, [first, kind, name, score, provenance]) = fields(text);
        let Some(digits) = first.strip_prefix('@') else {
            let message =
                format!("expected @id kind name score provenance, found {}", excerpt(text));
            return fault(Code::InvalidNodeLine, line.start, message);
        };
        if [kind, name, score] == ["#", "previously", "transmitted"] && count == 4 {
            let id = self.new_id(digits)?;
            return self.reference(id, line, distance);
        }
        if count != 5 {
            let message = format!("a line of a symbol has 5 fields, this one {count}");
            return fault(Code::InvalidNodeLine, line.start, message);
        }
        let id = self.new_id(digits)?;
        let symbol = Symbol {
            qualified_name: name.into(),
            kind: self.word(long(kind)),
            score: score::read(score, self.at(score))?,
            provenance: self.word(provenance),
            distance,
            ..Symbol::default()
        };
        if let Some(table) = self.table {
            table.check(id, &symbol, line.start)?;
            self.declared.push((id, self.symbols.len()));
        }
        self.push(id, symbol);
        Ok(())
    }

    fn reference(&mut self, id: u64, line: Line, distance: i64) -> Read<()> {
        let Some(table) = self.table else {
            let message = format!("@{id} was sent before, and there is no session that holds it");
            return fault(Code::UnknownSessionReference, line.start, message);
        };
        let symbol = Symbol { distance, ..table.resolve(id, line.start)? };
        self.push(id, symbol);
        Ok(())
    }

    fn push(&mut self, id: u64, symbol: Symbol) {
        self.ids.push(id);
        self.symbols.push(symbol);
    }

    /// `@target<@source type`, and perhaps a status.
    fn edge(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.seen += 1;
        let (count, [ends, edge_type, status]) = fields(text);
        let arrow = ends.bytes().position(|byte| byte == b'<');
        let Some((target, source)) = arrow.map(|at| (&ends[..at], &ends[at + 1..])) else {
            let message = format!("expected @target<@source type, found {}", excerpt(text));
            return fault(Code::InvalidEdgeSyntax, line.start, message);
        };
        if !(2..=3).contains(&count) {
            let message = format!("a line of an edge has 2 or 3 fields, this one {count}");
            return fault(Code::InvalidEdgeSyntax, line.start, message);
        }
        let edge = Edge {
            target: self.end(target)?,
            source: self.end(source)?,
            edge_type: self.word(edge_type),
            status: self.word(status),
        };
        self.edges.push(edge);
        Ok(())
    }

    /// The name of an end of an edge.
    fn end(&self, word: &'t str) -> Read<Text> {
        let Some(digits) = word.strip_prefix('@') else {
            let message = format!("expected an id as @0, found {}", excerpt(word));
            return fault(Code::InvalidEdgeSyntax, self.at(word), message);
        };
        let index = self.id(digits)?.and_then(|id| self.ids.index(id));
        let Some(index) = index else {
            let message = format!("no line before declares @{}", excerpt(digits));
            return fault(Code::UnknownEdgeReference, self.at(word), message);
        };
        Ok(self.symbols[index].qualified_name.clone())
    }

    /// `@id file line column`, and perhaps line and column of the end.
    fn location(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.seen += 1;
        let wrong = |at, message: String| fault(Code::InvalidLocLine, at, message);
        let (id, rest) = text.split_once(' ').unwrap_or((text, ""));
        let Some(digits) = id.strip_prefix('@') else {
            let found = excerpt(text);
            return wrong(line.start, format!("expected @id file line column, found {found}"));
        };
        let index = self.id(digits)?.and_then(|id| self.ids.index(id));
        let Some(index) = index else {
            let message = format!("no line before declares {}", excerpt(id));
            return fault(Code::UnknownLocReference, line.start, message);
        };
        let rest = rest.trim_start_matches(' ');
        let at = self.at(rest);
        let (file, rest) = if rest.starts_with('"') {
            let (file, end) = read_quoted(self.text, at, at + rest.len())?;
            (Text::from(&*file), &self.text[end..at + rest.len()])
        } else {
            let length = rest.find(' ').unwrap_or(rest.len());
            let (file, rest) = rest.split_at(length);
            if file.is_empty() || !file.bytes().all(|byte| byte.is_ascii_graphic()) {
                return wrong(at, format!("the file {} must stand in quotes", excerpt(file)));
            }
            (self.word(file), rest)
        };
        let (count, numbers) = fields::<4>(rest);
        if !matches!(count, 2 | 4) || !rest.starts_with(' ') {
            return wrong(at, "behind the file stand 2 or 4 numbers".into());
        }
        let mut values = [0; 4];
        for (value, word) in values.iter_mut().zip(&numbers[..count]) {
            *value = match word.parse() {
                Ok(number) if number > 0 && is_digits(word) => number,
                _ => return wrong(at, format!("{} is no number from 1 on", excerpt(word))),
            };
        }
        let [start_line, column, end_line, end_column] = values;
        let end = (count == 4).then_some((end_line, end_column));
        let location = Location { file, line: start_line, column, end };
        let place = &mut self.symbols[index].location;
        if place.is_some() {
            return wrong(line.start, format!("{} has a location already", excerpt(id)));
        }
        *place = Some(Box::new(location));
        Ok(())
    }

    /// `kind name`: a symbol that goes.
    fn removed(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.seen += 1;
        let (2, [kind, name]) = fields(text) else {
            let message = format!("expected kind name, found {}", excerpt(text));
            return fault(Code::MalformedDelta, line.start, message);
        };
        let kind = self.word(long(kind));
        self.removed.push(Symbol { qualified_name: name.into(), kind, ..Symbol::default() });
        Ok(())
    }

    /// `@id kind name score provenance distance`: a symbol that comes.
    fn added(&mut self, text: &'t str, line: Line) -> Read<()> {
        let (6, [id, kind, name, score, provenance, distance]) = fields(text) else {
            let found = excerpt(text);
            let message =
                format!("expected @id kind name score provenance distance, found {found}");
            return fault(Code::MalformedDelta, line.start, message);
        };
        self.seen += 1;
        let Some(digits) = id.strip_prefix('@') else {
            return fault(Code::MalformedDelta, line.start, "a symbol begins with @id");
        };
        let Some(distance) = Some(distance).filter(|d| is_digits(d)).and_then(|d| d.parse().ok())
        else {
            let message = format!("{} is no distance", excerpt(distance));
            return fault(Code::MalformedDelta, line.start, message);
        };
        let id = self.new_id(digits)?;
        let symbol = Symbol {
            qualified_name: name.into(),
            kind: self.word(long(kind)),
            score: score::read(score, self.at(score))?,
            provenance: self.word(provenance),
            distance,
            ..Symbol::default()
        };
        self.push(id, symbol);
        Ok(())
    }

    /// `source -> target type`
    fn named_edge(&mut self, text: &'t str, line: Line) -> Read<Edge> {
        self.seen += 1;
        let (4, [source, "->", target, edge_type]) = fields(text) else {
            let message = format!("expected source -> target type, found {}", excerpt(text));
            return fault(Code::MalformedDelta, line.start, message);
        };
        Ok(Edge {
            source: self.word(source),
            target: self.word(target),
            edge_type: self.word(edge_type),
            status: Text::default(),
        })
    }

    /// `##! summary symbols=S edges=E …`, the last line. Its `counts` are not checked.
    fn trailer(&mut self, text: &'t str, line: Line) -> Read<()> {
        let mut words = words(text).skip(1).peekable();
        if words.next_if(|(_, word)| *word == "summary").is_none() {
            let message = "a trailer begins with ##! summary";
            return fault(Code::InvalidLine, line.start, message);
        }
        for (at, (name, value)) in pairs(words, line.start)? {
            let read = match name {
                "symbols" => self.symbols.len(),
                "edges" => self.edges.len(),
                _ => continue,
            };
            if !is_digits(value) || value.parse() != Ok(read) {
                let message = format!("{read} {name} were read, not {}", excerpt(value));
                return fault(Code::CountMismatch, at, message);
            }
        }
        self.lines.advance()?;
        match self.lines.peek() {
            None => Ok(()),
            Some(line) => {
                fault(Code::TrailingCharacters, line.start, "nothing may follow the trailer")
            }
        }
    }

    /// A number of the header; 0 where it has none.
    fn count_of(&self, header: &Header<'t>, name: &str) -> Read<i64> {
        match header.get(name) {
            None | Some("") => Ok(0),
            Some(digits) => match digits.parse() {
                Ok(count) if is_digits(digits) => Ok(count),
                _ => {
                    let message = format!("{name} is a number from 0 on, not {}", excerpt(digits));
                    fault(Code::MalformedHeaderField, self.at(digits), message)
                }
            },
        }
    }

    /// An id that no symbol has yet.
    fn new_id(&self, digits: &'t str) -> Read<u64> {
        let Some(id) = self.id(digits)? else {
            let message = format!("the id {} is too large", excerpt(digits));
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        };
        if self.ids.index(id).is_some() {
            let message = format!("@{id} is declared above");
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        }
        Ok(id)
    }

    /// The number behind `@`; `None` for one beyond 64 bits.
    fn id(&self, digits: &'t str) -> Read<Option<u64>> {
        if !is_digits(digits) {
            let message = format!("an id is @ and digits, not @{}", excerpt(digits));
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        }
        if digits.len() < 19 {
            return Ok(Some(digits.bytes().fold(0, |id, digit| 10 * id + u64::from(digit - b'0'))));
        }
        Ok(digits.parse().ok())
    }

    /// A word that many lines have.
    fn word(&mut self, word: &str) -> Text {
        self.words.get(word)
    }

    /// Where a part of the text stands.
    fn at(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

/// How many unknown groups are told of.
const MAX_WARNINGS: usize = 16;

/// Words that were read of late, so that equal ones share their memory.
#[derive(Debug, Default)]
struct Words([Text; 32]);

impl Words {
    fn get(&mut self, word: &str) -> Text {
        let (&[first, ..], &[.., last]) = (word.as_bytes(), word.as_bytes()) else {
            return Text::default();
        };
        let place = word.len() + usize::from(first) + 5 * usize::from(last);
        let place = &mut self.0[place % 32];
        if **place != *word {
            *place = known(word).unwrap_or_else(|| word.into());
        }
        place.clone()
    }
}

/// Ids of the symbols that were read.
#[derive(Debug, Default)]
struct Ids {
    ids: Vec<u64>,
    /// Of ids that are not the index, which those outside sessions are.
    others: HashMap<u64, usize>,
}

impl Ids {
    fn push(&mut self, id: u64) {
        if id != self.ids.len() as u64 {
            self.others.insert(id, self.ids.len());
        }
        self.ids.push(id);
    }

    fn index(&self, id: u64) -> Option<usize> {
        let straight = usize::try_from(id).ok().filter(|&index| self.ids.get(index) == Some(&id));
        straight.or_else(|| self.others.get(&id).copied())
    }
}

fn text_of(header: &Header<'_>, name: &str) -> Text {
    header.get(name).unwrap_or_default().into()
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without blanks at its end.
fn trimmed(line: &str) -> &str {
    let blanks = line.bytes().rev().take_while(|&byte| is_blank(byte)).count();
    &line[..line.len() - blanks]
}

/// How many bytes stand before the first space; eight at a time, because names are long.
fn word_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let other = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b' '; 8]);
        let spaces = other.wrapping_sub(LOW) & !other & (LOW << 7);
        if spaces != 0 {
            return 8 * i + (spaces.trailing_zeros() / 8) as usize;
        }
    }
    let length = rest.iter().take_while(|&&byte| byte != b' ').count();
    bytes.len() - rest.len() + length
}

const LOW: u64 = u64::from_le_bytes([1; 8]);

/// The first `N` fields of a line, and how many it has: they are apart by runs of spaces.
fn fields<const N: usize>(text: &str) -> (usize, [&str; N]) {
    let mut found = [""; N];
    let mut count = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b' ' {
            at += 1;
            continue;
        }
        let length = word_length(&bytes[at..]);
        if let Some(field) = found.get_mut(count) {
            *field = &text[at..at + length];
        }
        count += 1;
        at += length;
    }
    (count, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(body: &str) -> Result<Payload, Code> {
        match decode(&format!("GCF profile=graph {body}")).map(|decoded| decoded.content) {
            Ok(Content::Payload(payload)) => Ok(payload),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn a_text_is_read_as_it_is_meant() {
        let text = "tool=t budget=5 pack_root=x\r\n# comment\n@0 fn  a 0.50   lsp \n\n## distance_9 [1]\n\
                    @7 widget ௗb 0.25 x\n## edges [?]\n@7<@0 calls added\n## loc [1]\n\
                    @7 \"a b\" 1 2 3 4\n##! summary symbols=2 edges=1 counts=nonsense";
        let read = payload(text).unwrap();
        assert_eq!((&*read.tool, read.token_budget, &*read.pack_root), ("t", 5, "x"));
        let [a, b] = &read.symbols[..] else { panic!("{read:?}") };
        assert_eq!((&*a.kind, a.distance, &*b.kind, b.distance), ("function", 0, "widget", 9));
        let location = Location { file: "a b".into(), line: 1, column: 2, end: Some((3, 4)) };
        assert_eq!(b.location.as_deref(), Some(&location));
        let edge = Edge { status: "added".into(), ..Edge::new("a", "ௗb", "calls") };
        assert_eq!(read.edges, [edge]);
    }

    #[test]
    fn every_line_is_what_it_must_be() {
        for (body, code) in [
            ("\n0 fn a 0.50 x", Code::InvalidNodeLine),
            ("\n@0 fn a 0.50", Code::InvalidNodeLine),
            ("\n@0 fn a 0.50 x 1", Code::InvalidNodeLine),
            ("\n@ fn a 0.50 x", Code::InvalidSymbolId),
            ("\n@-1 fn a 0.50 x", Code::InvalidSymbolId),
            ("\n@0 fn a 0.50 x\n@0 fn b 0.50 x", Code::InvalidSymbolId),
            ("\n@0 fn a 0.5 x", Code::InvalidScore),
            ("\n  @0 fn a 0.50 x", Code::InvalidIndent),
            ("\n## edges\n@0 calls", Code::InvalidEdgeSyntax),
            ("\n@0 fn a 0.50 x\n## edges\n@0<@1 calls", Code::UnknownEdgeReference),
            ("\n@0 fn a 0.50 x\n## edges\n@0<@0", Code::InvalidEdgeSyntax),
            ("\n## edges [01]", Code::InvalidCount),
            ("\n## edges [1]", Code::CountMismatch),
            ("\n## targets [0]\n@0 fn a 0.50 x", Code::CountMismatch),
            ("\n@0 fn a 0.50 x\n## loc\n@1 f 1 1", Code::UnknownLocReference),
            ("\n@0 fn a 0.50 x\n## loc\n@0 f 1", Code::InvalidLocLine),
            ("\n@0 fn a 0.50 x\n## loc\n@0 f 0 1", Code::InvalidLocLine),
            ("\n@0 fn a 0.50 x\n## loc\n@0 f 1 1\n@0 f 1 1", Code::InvalidLocLine),
            ("\n@0  # previously transmitted", Code::UnknownSessionReference),
            ("tokens=-1\n", Code::MalformedHeaderField),
            ("budget=x\nno line", Code::MalformedHeaderField),
            ("\n##! summary symbols=+0", Code::CountMismatch),
            ("\n##! summary symbols=1", Code::CountMismatch),
            ("\n##! summary\n@0 fn a 0.50 x", Code::TrailingCharacters),
            ("unchanged=true\n@0 fn a 0.50 x", Code::TrailingCharacters),
            ("delta=true\n", Code::MalformedDelta),
            ("delta=true base_root=a new_root=b\n## targets", Code::MalformedDelta),
            ("delta=true base_root=a new_root=b\n## added\n## added", Code::MalformedDelta),
            ("delta=true base_root=a new_root=b\n## added\n@0 fn a 0.50 x", Code::MalformedDelta),
            ("delta=true base_root=a new_root=b\nfn a", Code::MalformedDelta),
        ] {
            assert_eq!(payload(body), Err(code), "{body}");
        }
        assert_eq!(decode("GCF profile=generic\n").unwrap_err().code, Code::WrongProfile);
    }

    #[test]
    fn an_unknown_group_is_skipped_and_told_of() {
        let text =
            "GCF profile=graph\n## later [9]\nanything = at all\n## targets\n@0 fn a 0.50 x\n";
        let decoded = decode(text).unwrap();
        assert_eq!(decoded.warnings, ["the group \"later\" is unknown and was skipped"]);
        let Content::Payload(payload) = decoded.content else { panic!() };
        assert_eq!(payload.symbols.len(), 1);
    }

    #[test]
    fn that_nothing_changed_is_read() {
        let text = "GCF profile=graph tool=t unchanged=true pack_root=sha256:x symbols=3\n";
        let unchanged = Unchanged { tool: "t".into(), pack_root: "sha256:x".into(), symbols: 3 };
        assert_eq!(decode(text).unwrap().content, Content::Unchanged(unchanged));
    }
}
