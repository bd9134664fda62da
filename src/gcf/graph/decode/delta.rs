//! Parses the body of a delta. GCF 3.6 section 10.

use super::fields::{fields, is_digits};
use super::section::Section;
use super::{Reader, header_string, reserve};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::gcf::graph::shared_str::SharedStr;
use crate::gcf::graph::types::{DeltaPayload, Edge, Symbol};
use crate::gcf::graph::vocabulary;
use crate::gcf::syntax::header::Header;
use crate::gcf::syntax::line::Line;

impl<'t> Reader<'t, '_> {
    /// Parses the sections after the header. A section stands at most once, in any order.
    pub(super) fn delta(&mut self, header: &Header<'t>) -> Read<DeltaPayload> {
        require_roots(header)?;
        let delta_tokens = self.count_of(header, "tokens")?;
        let mut sections = Vec::new();
        self.section = Section::Unknown;
        self.lines.advance()?;
        while let Some(line) = self.lines.peek() {
            let text = self.unindented(line)?;
            if let Some(name) = text.strip_prefix("## ") {
                self.delta_section(name, line)?;
                if sections.contains(&self.section) {
                    let message = format!("duplicate section {} in a delta", excerpt(name));
                    return fault(Code::MalformedDelta, line.start, message);
                }
                sections.push(self.section);
            } else {
                self.delta_line(text, line)?;
            }
            self.lines.advance()?;
        }
        self.close()?;
        Ok(DeltaPayload {
            tool: header_string(header, "tool"),
            base_root: header_string(header, "base_root"),
            new_root: header_string(header, "new_root"),
            removed: std::mem::take(&mut self.removed),
            added: std::mem::take(&mut self.symbols),
            removed_edges: std::mem::take(&mut self.removed_edges),
            added_edges: std::mem::take(&mut self.edges),
            delta_tokens,
            full_tokens: 0,
        })
    }

    /// Parses a line of the current section.
    #[inline]
    fn delta_line(&mut self, text: &'t str, line: Line) -> Read<()> {
        match self.section {
            Section::Removed => self.removed(text, line),
            Section::Added => self.added(text, line),
            Section::RemovedEdges => {
                let edge = self.named_edge(text, line)?;
                reserve(&mut self.removed_edges, line.start)?;
                self.removed_edges.push(edge);
                Ok(())
            }
            Section::AddedEdges => {
                let edge = self.named_edge(text, line)?;
                reserve(&mut self.edges, line.start)?;
                self.edges.push(edge);
                Ok(())
            }
            Section::Locations => self.location(text, line),
            _ => {
                let message =
                    "expected a section such as ## added before the first line of a delta";
                fault(Code::MalformedDelta, line.start, message)
            }
        }
    }

    /// Parses `kind name`, a removed symbol.
    fn removed(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.item_count += 1;
        let (2, [kind, name]) = fields(text) else {
            let message = format!("expected kind name, found {}", excerpt(text));
            return fault(Code::MalformedDelta, line.start, message);
        };
        let kind = self.kind(kind);
        reserve(&mut self.removed, line.start)?;
        self.removed.push(Symbol { qualified_name: self.shared(name), kind, ..Symbol::default() });
        Ok(())
    }

    /// Parses `@id kind name score provenance distance`, an added symbol.
    fn added(&mut self, text: &'t str, line: Line) -> Read<()> {
        let (6, [id, kind, name, score, provenance, distance]) = fields(text) else {
            let found = excerpt(text);
            let message =
                format!("expected @id kind name score provenance distance, found {found}");
            return fault(Code::MalformedDelta, line.start, message);
        };
        self.item_count += 1;
        let Some(digits) = id.strip_prefix('@') else {
            return fault(
                Code::MalformedDelta,
                line.start,
                "an added symbol must start with @ and its id",
            );
        };
        let Some(distance) = Some(distance).filter(|d| is_digits(d)).and_then(|d| d.parse().ok())
        else {
            let message =
                format!("the distance {} is not an integer from 0 to 2^63 - 1", excerpt(distance));
            return fault(Code::MalformedDelta, line.start, message);
        };
        let id = self.new_id(digits)?;
        let symbol = self.symbol([kind, name, score, provenance], distance)?;
        self.push(id, symbol, line.start)
    }

    /// Parses `source -> target type`, an edge of a delta.
    fn named_edge(&mut self, text: &'t str, line: Line) -> Read<Edge> {
        self.item_count += 1;
        let (4, [source, "->", target, edge_type]) = fields(text) else {
            let message = format!("expected source -> target type, found {}", excerpt(text));
            return fault(Code::MalformedDelta, line.start, message);
        };
        Ok(Edge {
            source: self.shared(source),
            target: self.shared(target),
            edge_type: self.word(vocabulary::edge_type, edge_type),
            status: SharedStr::default(),
        })
    }
}

/// Checks that the header has both roots: the payload to change, and the one that must result.
fn require_roots(header: &Header<'_>) -> Read<()> {
    for name in ["base_root", "new_root"] {
        if header.get(name).is_none_or(str::is_empty) {
            let message = format!("the header of a delta has no {name}");
            return fault(Code::MalformedDelta, 0, message);
        }
    }
    Ok(())
}
