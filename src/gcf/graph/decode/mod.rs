//! Decodes texts of the graph profile. GCF 3.6 sections 9, 10 and 16.
//!
//! A text is decoded completely or is an error; a session changes only on success. `payload` and `delta`
//! parse the two kinds of body, `section` the lines that start a section in both. `lines` parses the other
//! lines and reports their errors. `fast` is a fast path for lines as `encode` writes them; it leaves all
//! other lines to `lines`. `fields` splits a line into fields, `ids` maps ids to symbols.

mod delta;
mod fast;
mod fields;
mod ids;
mod lines;
mod payload;
mod section;

use super::session_table::SymbolTable;
use super::shared_str::{SharedBuffer, SharedStr};
use super::types::{DeltaPayload, Edge, Payload, Symbol};
use super::vocabulary;
use super::vocabulary::expanded;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Read, fault};
use crate::gcf::syntax::header::{Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use fast::WordCache;
use fields::{is_digits, trimmed};
use ids::Ids;
use section::Section;

/// A decoded text.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The content of the text.
    pub content: Content,
    /// Messages about skipped groups, which later versions of the format may define.
    pub warnings: Vec<String>,
}

/// The content of a text of the graph profile.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A payload.
    Payload(Payload),
    /// A delta.
    Delta(DeltaPayload),
    /// A message that the payload of the peer is unchanged.
    Unchanged(Unchanged),
}

/// A message that the payload of the peer is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unchanged {
    /// The tool that produced the payload.
    pub tool: SharedStr,
    /// The hash of the payload that the peer has.
    pub pack_root: SharedStr,
    /// The number of symbols of that payload.
    pub symbols: i64,
}

/// Decodes a text: a payload, a delta, or a message that nothing changed.
///
/// # Errors
/// The first error in the text, with line, column and a code of the specification.
pub fn decode(text: &str) -> Result<Decoded, Error> {
    Reader::read(text, None).map(|(decoded, _)| decoded).map_err(|fault| fault.locate(text))
}

/// Decodes a text within a session. Only a payload with `session=true` changes the table.
///
/// # Errors
/// As [`decode`]; after `unknown_session_reference` and `session_conflict` the peer must send a full
/// payload.
pub fn decode_in(text: &str, table: &mut SymbolTable) -> Result<Decoded, Error> {
    decode_in_with(text, table, Ok)
}

/// Decodes a text within a session, and returns what `make` makes of it.
///
/// # Errors
/// As [`decode_in`], and the error of `make`. The table is then unchanged.
pub fn decode_in_with<T, E: From<Error>>(
    text: &str,
    table: &mut SymbolTable,
    make: impl FnOnce(Decoded) -> Result<T, E>,
) -> Result<T, E> {
    let read = Reader::read(text, Some(table)).map_err(|fault| fault.locate(text))?;
    let (decoded, declared) = read;
    let known = known_symbols(&decoded.content, &declared)?;
    let result = make(decoded)?;
    table.commit(known.into_iter());
    Ok(result)
}

/// The symbols that a payload adds to the session, with their ids.
fn known_symbols(
    content: &Content,
    declared: &[(u64, usize)],
) -> Result<Vec<(u64, Symbol)>, Error> {
    let Content::Payload(payload) = content else { return Ok(Vec::new()) };
    let mut known = Vec::new();
    known.try_reserve_exact(declared.len())?;
    known.extend(declared.iter().map(|&(id, index)| {
        let symbol = &payload.symbols[index];
        // The table must not keep the text in memory.
        let known = Symbol::new(
            symbol.qualified_name.detached(),
            symbol.kind.detached(),
            symbol.score,
            symbol.provenance.detached(),
        );
        (id, known)
    }));
    Ok(known)
}

/// The declarations that a payload adds to the session: id, and index of the symbol.
type Declared = Vec<(u64, usize)>;

#[cold]
fn out_of_memory<T>(size: usize, at: usize) -> Read<T> {
    fault(Code::OutOfMemory, at, format!("cannot allocate {size} bytes"))
}

/// Reserves memory for one more item; fails instead of aborting if there is not enough memory.
fn reserve<T>(items: &mut Vec<T>, at: usize) -> Read<()> {
    match items.try_reserve(1) {
        Ok(()) => Ok(()),
        Err(_) => out_of_memory(2 * items.len() * size_of::<T>(), at),
    }
}

struct Reader<'t, 's> {
    text: &'t str,
    // The strings of the payload are slices of this copy of the text. Those of a delta are copies, as
    // they become part of another payload.
    buffer: SharedBuffer<'t>,
    // Kinds have a cache of their own because the text abbreviates them.
    kind_cache: WordCache,
    word_cache: WordCache,
    lines: Lines<'t>,
    /// The symbols that the session knows; only in a text with `session=true`.
    table: Option<&'s SymbolTable>,
    symbols: Vec<Symbol>,
    ids: Ids,
    edges: Vec<Edge>,
    removed: Vec<Symbol>,
    removed_edges: Vec<Edge>,
    declared: Declared,
    section: Section,
    /// The count that the section declares, and the byte offset of the declaration.
    expected_count: Option<(u64, usize)>,
    /// The number of items of the section so far.
    item_count: u64,
    warnings: Vec<String>,
}

impl<'t, 's> Reader<'t, 's> {
    fn read(text: &'t str, table: Option<&'s SymbolTable>) -> Read<(Decoded, Declared)> {
        let mut lines = Lines::new(text);
        let header = Header::read(&mut lines)?;
        if header.profile != Profile::Graph {
            return fault(
                Code::WrongProfile,
                0,
                "this is a text of the generic profile; decode it with loads",
            );
        }
        let is = |name| header.get(name) == Some("true");
        let buffer = if is("delta") {
            Some(SharedBuffer::unshared(text))
        } else {
            SharedBuffer::try_new(text)
        };
        let Some(buffer) = buffer else { return out_of_memory(text.len(), 0) };
        let mut reader = Self {
            text,
            buffer,
            kind_cache: WordCache::default(),
            word_cache: WordCache::default(),
            lines,
            table: table.filter(|_| is("session")),
            symbols: Vec::new(),
            ids: Ids::default(),
            edges: Vec::new(),
            removed: Vec::new(),
            removed_edges: Vec::new(),
            declared: Vec::new(),
            section: Section::Group(0),
            expected_count: None,
            item_count: 0,
            warnings: Vec::new(),
        };
        let content = match (is("delta"), is("unchanged")) {
            (false, false) => Content::Payload(reader.payload(&header)?),
            (true, false) => Content::Delta(reader.delta(&header)?),
            (false, true) => Content::Unchanged(reader.unchanged(&header)?),
            (true, true) => {
                let message = "a text cannot have both delta=true and unchanged=true";
                return fault(Code::MalformedDelta, 0, message);
            }
        };
        if !matches!(content, Content::Payload(_)) || !is("session") {
            reader.declared.clear();
        }
        Ok((Decoded { content, warnings: reader.warnings }, reader.declared))
    }

    fn unchanged(&mut self, header: &Header<'t>) -> Read<Unchanged> {
        let symbols = self.count_of(header, "symbols")?;
        self.lines.advance()?;
        if let Some(line) = self.lines.peek() {
            self.unindented(line)?;
            let message = "nothing may follow the header of a text with unchanged=true";
            return fault(Code::TrailingCharacters, line.start, message);
        }
        Ok(Unchanged {
            tool: header_string(header, "tool"),
            pack_root: header_string(header, "pack_root"),
            symbols,
        })
    }

    /// The line without trailing blanks. No line of this profile may be indented.
    fn unindented(&self, line: Line) -> Read<&'t str> {
        if line.indent > 0 {
            let message = "a line of a graph must not be indented";
            return fault(Code::InvalidIndent, line.start, message);
        }
        Ok(trimmed(self.lines.str(line)))
    }

    /// The value of a numeric header field; 0 if the field is missing or empty.
    fn count_of(&self, header: &Header<'t>, name: &str) -> Read<i64> {
        match header.get(name) {
            None | Some("") => Ok(0),
            Some(digits) => match digits.parse() {
                Ok(count) if is_digits(digits) => Ok(count),
                _ => {
                    let message =
                        format!("{name} must be an integer of 0 or more, not {}", excerpt(digits));
                    fault(Code::MalformedHeaderField, self.at(digits), message)
                }
            },
        }
    }

    /// The kind that a line names, usually by its abbreviation.
    fn kind(&self, word: &str) -> SharedStr {
        self.word(vocabulary::kind, expanded(word))
    }

    /// A static string if the word is in the vocabulary, otherwise a slice of the buffer.
    fn word(&self, known: impl FnOnce(&str) -> Option<&'static str>, word: &str) -> SharedStr {
        known(word).map_or_else(|| self.shared(word), SharedStr::from_static)
    }

    /// The shared string of a slice of the text.
    fn shared(&self, part: &str) -> SharedStr {
        let at = self.at(part);
        self.buffer.slice(at..at + part.len())
    }

    /// The byte offset of a slice of the text.
    fn at(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

/// The value of a header field; empty if the field is missing.
fn header_string(header: &Header<'_>, name: &str) -> SharedStr {
    header.get(name).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::error::Place;
    use crate::gcf::graph::types::Location;

    fn payload(body: &str) -> Result<Payload, Code> {
        match decode(&format!("GCF profile=graph {body}")).map(|decoded| decoded.content) {
            Ok(Content::Payload(payload)) => Ok(payload),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn a_text_with_comments_blanks_and_crlf_is_decoded() {
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
    fn an_invalid_line_is_an_error() {
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
            ("unchanged=true\n  @0 fn a 0.50 x", Code::InvalidIndent),
            ("\n##! summary\n  @0 fn a 0.50 x", Code::InvalidIndent),
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
    fn an_incomplete_location_is_an_error_in_its_line() {
        for line in ["@0", "@0 ", "@0 f", "@0 f 1", "@0 f 1 1 1", "@0 \"f\""] {
            let text = format!("GCF profile=graph\n@0 fn a 0.50 x\n## loc\n{line}\n");
            let error = decode(&text).unwrap_err();
            assert_eq!(error.code, Code::InvalidLocLine, "{line}");
            assert!(matches!(error.place, Place::Text { line: 4, .. }), "{error}");
        }
    }

    #[test]
    fn an_unknown_group_is_skipped_with_a_warning() {
        let text =
            "GCF profile=graph\n## later [9]\nanything = at all\n## targets\n@0 fn a 0.50 x\n";
        let decoded = decode(text).unwrap();
        assert_eq!(decoded.warnings, ["the unknown group \"later\" was skipped"]);
        let Content::Payload(payload) = decoded.content else { panic!() };
        assert_eq!(payload.symbols.len(), 1);
    }

    #[test]
    fn counts_of_the_header_that_differ_are_warnings() {
        let group = "## targets\n@0 fn a 0.50 x\n";
        let edges = "## edges [1]\n@0<@0 calls\n";
        for (counts, body, warnings) in [
            ("symbols=1 edges=1", format!("{group}{edges}"), &[][..]),
            ("symbols=? edges=", group.into(), &[]),
            ("edges=1", group.into(), &["the text has 0 edges, but the header counts \"1\""]),
            ("symbols=2", group.into(), &["the text has 1 symbols, but the header counts \"2\""]),
        ] {
            let decoded = decode(&format!("GCF profile=graph {counts}\n{body}")).unwrap();
            assert_eq!(decoded.warnings, warnings, "{counts}");
        }
    }

    #[test]
    fn an_unchanged_message_is_decoded() {
        let text = "GCF profile=graph tool=t unchanged=true pack_root=sha256:x symbols=3\n";
        let unchanged = Unchanged { tool: "t".into(), pack_root: "sha256:x".into(), symbols: 3 };
        assert_eq!(decode(text).unwrap().content, Content::Unchanged(unchanged));
    }
}
