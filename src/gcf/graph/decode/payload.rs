//! Parses the body of a payload: groups of symbols, edges, locations, and the trailer of a stream.

use super::fields::is_digits;
use super::section::Section;
use super::{Reader, header_string, out_of_memory};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::gcf::graph::types::{Edge, Payload, Symbol};
use crate::gcf::syntax::header::{Header, pairs, words};
use crate::gcf::syntax::line::Line;

impl<'t> Reader<'t, '_> {
    pub(super) fn payload(&mut self, header: &Header<'t>) -> Read<Payload> {
        let (tokens_used, token_budget) =
            (self.count_of(header, "tokens")?, self.count_of(header, "budget")?);
        self.reserve(header)?;
        self.lines.advance()?;
        loop {
            self.fast_lines()?;
            let Some(line) = self.lines.peek() else { break };
            let text = self.unindented(line)?;
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
        self.compare_counts(header);
        Ok(Payload {
            tool: header_string(header, "tool"),
            tokens_used,
            token_budget,
            pack_root: header_string(header, "pack_root"),
            symbols: std::mem::take(&mut self.symbols),
            edges: std::mem::take(&mut self.edges),
        })
    }

    /// Reserves memory for the counts of the header, as far as a text of this length can contain them.
    fn reserve(&mut self, header: &Header<'t>) -> Read<()> {
        let count = |name, min_length| {
            let declared = header.get(name).and_then(|digits| digits.parse().ok()).unwrap_or(0);
            usize::min(declared, self.text.len() / min_length)
        };
        let symbols = count("symbols", "@0 f f 0.00 l\n".len());
        let edges = count("edges", "@0<@0 c\n".len());
        let size = symbols * size_of::<Symbol>() + edges * size_of::<Edge>();
        match (self.symbols.try_reserve_exact(symbols), self.edges.try_reserve_exact(edges)) {
            (Ok(()), Ok(())) => Ok(()),
            _ => out_of_memory(size, 0),
        }
    }

    /// Warns of counts in the header that differ from the text: it may have been cut between two groups. GCF
    /// does not say that they are checked.
    fn compare_counts(&mut self, header: &Header<'t>) {
        for (name, read) in [("symbols", self.symbols.len()), ("edges", self.edges.len())] {
            let declared = header.get(name).filter(|digits| is_digits(digits));
            if let Some(declared) = declared.filter(|digits| digits.parse() != Ok(read)) {
                let declared = excerpt(declared);
                let message =
                    format!("the text has {read} {name}, but the header counts {declared}");
                self.warnings.push(message);
            }
        }
    }

    /// Parses `##! summary symbols=S edges=E …`, the last line. Its `counts` are not checked.
    fn trailer(&mut self, text: &'t str, line: Line) -> Read<()> {
        let mut words = words(text).skip(1).peekable();
        if words.next_if(|(_, word)| *word == "summary").is_none() {
            let message = "a trailer must start with ##! summary";
            return fault(Code::InvalidLine, line.start, message);
        }
        for (at, (name, value)) in pairs(words, line.start)? {
            let read = match name {
                "symbols" => self.symbols.len(),
                "edges" => self.edges.len(),
                _ => continue,
            };
            if !is_digits(value) || value.parse() != Ok(read) {
                let message = format!(
                    "the text has {read} {name}, but the trailer counts {}",
                    excerpt(value)
                );
                return fault(Code::CountMismatch, at, message);
            }
        }
        self.lines.advance()?;
        match self.lines.peek() {
            None => Ok(()),
            Some(line) => {
                self.unindented(line)?;
                fault(Code::TrailingCharacters, line.start, "unexpected line after the trailer")
            }
        }
    }
}
