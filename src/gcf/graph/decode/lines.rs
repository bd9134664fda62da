//! Parses the lines of symbols, edges and locations, and reports their errors.

use super::fields::{fields, is_digits};
use super::{Reader, out_of_memory, reserve};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::gcf::graph::score;
use crate::gcf::graph::shared_str::SharedStr;
use crate::gcf::graph::types::{Edge, Location, Symbol};
use crate::gcf::graph::vocabulary;
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::string::read_quoted;

impl<'t> Reader<'t, '_> {
    /// Parses `@id kind name score provenance`, or `@id  # previously transmitted`.
    pub(super) fn node(&mut self, text: &'t str, line: Line, distance: i64) -> Read<()> {
        self.item_count += 1;
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
            let message = format!("expected a symbol line with 5 fields, found {count}");
            return fault(Code::InvalidNodeLine, line.start, message);
        }
        let id = self.new_id(digits)?;
        let symbol = self.symbol([kind, name, score, provenance], distance)?;
        if let Some(table) = self.table {
            table.check_declaration(id, &symbol, line.start)?;
            reserve(&mut self.declared, line.start)?;
            self.declared.push((id, self.symbols.len()));
        }
        self.push(id, symbol, line.start)
    }

    /// Creates a symbol from its fields kind, name, score and provenance.
    pub(super) fn symbol(&mut self, fields: [&'t str; 4], distance: i64) -> Read<Symbol> {
        let [kind, name, score, provenance] = fields;
        Ok(Symbol {
            qualified_name: self.shared(name),
            kind: self.kind(kind),
            score: score::read(score, self.at(score))?,
            provenance: self.word(vocabulary::provenance, provenance),
            distance,
            ..Symbol::default()
        })
    }

    /// Adds the symbol that the session knows by an id.
    fn reference(&mut self, id: u64, line: Line, distance: i64) -> Read<()> {
        let Some(table) = self.table else {
            let message = format!("@{id} refers to a session, but the text is decoded without one");
            return fault(Code::UnknownSessionReference, line.start, message);
        };
        let symbol = Symbol { distance, ..table.resolve(id, line.start)? };
        self.push(id, symbol, line.start)
    }

    /// Adds the symbol of the line at byte `at`.
    #[inline]
    pub(super) fn push(&mut self, id: u64, symbol: Symbol, at: usize) -> Read<()> {
        reserve(&mut self.symbols, at)?;
        if !self.ids.try_reserve() {
            return out_of_memory(2 * self.symbols.len() * size_of::<(u64, usize)>(), at);
        }
        self.ids.add(id, self.symbols.len());
        self.symbols.push(symbol);
        Ok(())
    }

    /// Parses `@target<@source type`, optionally followed by a status.
    pub(super) fn edge(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.item_count += 1;
        let (count, [ends, edge_type, status]) = fields(text);
        let arrow = ends.bytes().position(|byte| byte == b'<');
        let Some((target, source)) = arrow.map(|at| (&ends[..at], &ends[at + 1..])) else {
            let message = format!("expected @target<@source type, found {}", excerpt(text));
            return fault(Code::InvalidEdgeSyntax, line.start, message);
        };
        if !(2..=3).contains(&count) {
            let message = format!("expected an edge line with 2 or 3 fields, found {count}");
            return fault(Code::InvalidEdgeSyntax, line.start, message);
        }
        let edge = Edge {
            target: self.end(target)?,
            source: self.end(source)?,
            edge_type: self.word(vocabulary::edge_type, edge_type),
            status: self.word(vocabulary::status, status),
        };
        reserve(&mut self.edges, line.start)?;
        self.edges.push(edge);
        Ok(())
    }

    /// The name of the symbol that `@id` refers to.
    fn end(&self, word: &'t str) -> Read<SharedStr> {
        let Some(digits) = word.strip_prefix('@') else {
            let message = format!("expected an id such as @0, found {}", excerpt(word));
            return fault(Code::InvalidEdgeSyntax, self.at(word), message);
        };
        let index = self.id(digits)?.and_then(|id| self.ids.index(id));
        let Some(index) = index else {
            let message = format!("no symbol before this line has the id @{}", excerpt(digits));
            return fault(Code::UnknownEdgeReference, self.at(word), message);
        };
        Ok(self.buffer.clone_str(&self.symbols[index].qualified_name))
    }

    /// Parses `@id file line column`, optionally followed by line and column of the end.
    pub(super) fn location(&mut self, text: &'t str, line: Line) -> Read<()> {
        self.item_count += 1;
        let wrong = |message: String| fault(Code::InvalidLocLine, line.start, message);
        // An empty rest is a slice of the text too, so that errors can locate it.
        let (id, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
        let Some(digits) = id.strip_prefix('@') else {
            return wrong(format!("expected @id file line column, found {}", excerpt(text)));
        };
        let index = self.id(digits)?.and_then(|id| self.ids.index(id));
        let Some(index) = index else {
            let message = format!("no symbol before this line has the id {}", excerpt(id));
            return fault(Code::UnknownLocReference, line.start, message);
        };
        let location = self.file_and_lines(rest.trim_start_matches(' '))?;
        let place = &mut self.symbols[index].location;
        if place.is_some() {
            return wrong(format!("duplicate location of {}", excerpt(id)));
        }
        *place = Some(Box::new(location));
        Ok(())
    }

    /// Parses `file line column`, optionally followed by line and column of the end.
    fn file_and_lines(&self, text: &'t str) -> Read<Location> {
        let at = self.at(text);
        let wrong = |message: String| fault(Code::InvalidLocLine, at, message);
        let (file, rest) = if text.starts_with('"') {
            let (file, end) = read_quoted(self.text, at, at + text.len())?;
            (SharedStr::from(&*file), &self.text[end..at + text.len()])
        } else {
            let (file, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
            if file.is_empty() || !file.bytes().all(|byte| byte.is_ascii_graphic()) {
                return wrong(format!("the file {} must be quoted", excerpt(file)));
            }
            (self.shared(file), rest)
        };
        let (count, numbers) = fields::<4>(rest);
        if !matches!(count, 2 | 4) || !rest.starts_with(' ') {
            return wrong("expected 2 or 4 numbers after the file".into());
        }
        let mut values = [0; 4];
        for (value, word) in values.iter_mut().zip(&numbers[..count]) {
            *value = match word.parse() {
                Ok(number) if number > 0 && is_digits(word) => number,
                _ => {
                    let word = excerpt(word);
                    return wrong(format!("{word} is not an integer from 1 to 2^64 - 1"));
                }
            };
        }
        let [line, column, end_line, end_column] = values;
        let end = (count == 4).then_some((end_line, end_column));
        Ok(Location { file, line, column, end })
    }

    /// Parses the digits of an id that no symbol has yet.
    pub(super) fn new_id(&self, digits: &'t str) -> Read<u64> {
        let Some(id) = self.id(digits)? else {
            let message = format!("the id {} exceeds 2^64 - 1", excerpt(digits));
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        };
        if self.ids.index(id).is_some() {
            let message = format!("duplicate symbol id @{id}");
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        }
        Ok(id)
    }

    /// Parses the digits of an id; `None` if the number exceeds 64 bits.
    pub(super) fn id(&self, digits: &'t str) -> Read<Option<u64>> {
        if !is_digits(digits) {
            let message = format!("expected an id of digits, found @{}", excerpt(digits));
            return fault(Code::InvalidSymbolId, self.at(digits), message);
        }
        if digits.len() < 19 {
            return Ok(Some(digits.bytes().fold(0, |id, digit| 10 * id + u64::from(digit - b'0'))));
        }
        Ok(digits.parse().ok())
    }
}
