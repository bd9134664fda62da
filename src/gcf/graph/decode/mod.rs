//! The reader: line by line, each field where it must be. GCF 3.6 sections 9, 10 and 16.
//!
//! A text is read whole or refused; a session learns from it only then. `payload` and `delta` read
//! the two kinds of body, of which `section` divides both; `line` reads a line by the rules, and says
//! what is wrong with it; `quick` reads what our own writer writes, and leaves all other lines to
//! `line`; `words` takes lines apart.

mod delta;
mod fast;
mod fields;
mod ids;
mod lines;
mod payload;
mod section;

use super::session_table::SymbolTable;
use super::shared_str::SharedStr;
use super::types::{DeltaPayload, Edge, Payload, Symbol};
use super::vocabulary;
use super::vocabulary::expanded;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Read, fault};
use crate::gcf::syntax::header::{Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use fast::Words;
use fields::{is_digits, trimmed};
use ids::Ids;
use section::Section;

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
    pub tool: SharedStr,
    /// The identity of what the peer has.
    pub pack_root: SharedStr,
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
            // Copies: a part would keep the whole text of the peer.
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

/// Full declarations that a session may learn: id, and index of the symbol.
type Declared = Vec<(u64, usize)>;

struct Reader<'t, 's> {
    text: &'t str,
    /// Kinds by their abbreviations, and all other words.
    kinds: Words,
    words: Words,
    lines: Lines<'t>,
    /// Only in a payload with `session=true`.
    table: Option<&'s SymbolTable>,
    symbols: Vec<Symbol>,
    ids: Ids,
    edges: Vec<Edge>,
    removed: Vec<Symbol>,
    removed_edges: Vec<Edge>,
    declared: Declared,
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
            kinds: Words::default(),
            words: Words::default(),
            lines,
            table: table.filter(|_| is("session")),
            symbols: Vec::new(),
            ids: Ids::default(),
            edges: Vec::new(),
            removed: Vec::new(),
            removed_edges: Vec::new(),
            declared: Vec::new(),
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

    /// The text of a line, without blanks at its end. None is indented in this profile.
    fn outermost(&self, line: Line) -> Read<&'t str> {
        if line.indent > 0 {
            let message = "no line of a graph is indented";
            return fault(Code::InvalidIndent, line.start, message);
        }
        Ok(trimmed(self.lines.str(line)))
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

    /// The kind that a line names.
    fn kind(word: &str) -> SharedStr {
        Self::word(vocabulary::kind, expanded(word))
    }

    /// A word that may be of the vocabulary.
    fn word(known: impl FnOnce(&str) -> Option<&'static str>, word: &str) -> SharedStr {
        known(word).map_or_else(|| word.into(), SharedStr::from_static)
    }

    /// Where a part of the text stands.
    fn at(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

fn text_of(header: &Header<'_>, name: &str) -> SharedStr {
    header.get(name).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::types::Location;

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
