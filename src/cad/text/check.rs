//! Finds all errors of a text, not only the first. CAD IR "Error Handling".
//!
//! Invariant: the first error is the one that `read` reports. An invalid line still defines a node, so that one
//! error does not cause others.

use super::arguments::is_name;
use super::directive_table::Directive;
use super::lex::Line;
use super::read::{BOM, Dialect, NodeKind, OpenSketch, Reader, is_segment, read_lines};
use super::suggest_opcode::suggestion;
use crate::cad::error::ParseError;
use crate::cad::json::extra_values::unresolved_pointers;
use crate::cad::model::ir::Op;
use crate::cad::model::operations::OpCode;
use crate::interrupt::polled;

/// Returns the errors of a text in the order of lines, at most `limit`. The first is the error that
/// reading the text returns. A node whose line has an error still counts, so later references stay
/// valid and each error is reported once.
pub fn check(bytes: &[u8], dialect: Dialect, limit: usize) -> Vec<ParseError> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let mut reader = Reader::new(dialect, true);
    let mut errors = Vec::new();
    let mut ends = SketchEnds { bytes, known: None };
    let mut start = 0;
    // Whether a node is defined inside a sketch, which makes the numbers of later nodes uncertain.
    let mut numbering_uncertain = false;
    for line in polled(bytes.split(|&byte| byte == b'\n')) {
        let next = start + line.len() + 1;
        let read = match std::str::from_utf8(line) {
            Ok(line) => reader.line(line).map(drop).map_err(|error| (error, line)),
            Err(error) => {
                let valid = std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default();
                let error = reader.not_utf8(valid);
                reader.line_number += 1;
                Err((error, valid))
            }
        };
        if let Err((error, line)) = read {
            errors.push(error);
            numbering_uncertain |= reader.recover(line, || ends.before_sketch(next), &mut errors);
        }
        start = next;
        if numbering_uncertain && let Some(kind) = reader.node_kinds.last_mut() {
            *kind = NodeKind::Unknown;
        }
        if errors.len() >= limit {
            errors.truncate(limit);
            return errors;
        }
    }
    let uncertain = reader.node_kinds.contains(&NodeKind::Unknown) && !errors.is_empty();
    match reader.check_end() {
        // A line with an error may or may not be a node, so the number of nodes is uncertain.
        Err(error) if !uncertain || reader.sketch.is_some() => errors.push(error),
        _ => {}
    }
    if errors.is_empty() && !reader.extra.is_empty() {
        errors = pointers(bytes, dialect, limit);
    }
    errors
}

/// Returns the errors of pointers that do not match the whole document.
fn pointers(bytes: &[u8], dialect: Dialect, limit: usize) -> Vec<ParseError> {
    let read = read_lines(bytes, dialect);
    let whole = read.and_then(|(nodes, reader)| reader.finish_unchecked(nodes, true));
    match whole {
        Ok((document, places)) => unresolved_pointers(&document, &places, limit),
        Err(error) => vec![error],
    }
}

/// Finds the ends of sketches. Searches only after an error, and each line once.
struct SketchEnds<'b> {
    bytes: &'b [u8],
    /// The offset of the next line with `END` or `SK`, and whether it is an `END`.
    known: Option<(usize, bool)>,
}

impl SketchEnds<'_> {
    /// Whether, from the line at `start` on, an `END` comes before the next `SK`.
    fn before_sketch(&mut self, start: usize) -> bool {
        if let Some((_, is_end)) = self.known.filter(|&(known, _)| start <= known) {
            return is_end;
        }
        let mut at = start;
        for line in self.bytes.get(start..).unwrap_or_default().split(|&byte| byte == b'\n') {
            let word = line.trim_ascii_start();
            let word = word.split(|c| c.is_ascii_whitespace() || *c == b'#').next();
            match word {
                Some(b"END") => return self.remember(at, true),
                Some(b"SK") => return self.remember(at, false),
                _ => at += line.len() + 1,
            }
        }
        self.remember(usize::MAX, false)
    }

    fn remember(&mut self, at: usize, is_end: bool) -> bool {
        self.known = Some((at, is_end));
        is_end
    }
}

/// The parts of a line with an error, as far as they are recognised.
struct WrongLine<'l> {
    label: Option<&'l str>,
    /// The opcode, or the word in its place.
    word: &'l str,
    code: Option<OpCode>,
    is_directive: bool,
}

impl<'l> WrongLine<'l> {
    fn of(line: Line<'l, '_>) -> Self {
        let mut raws = line.tokens.iter().map(|&token| line.raw(token));
        let first = raws.next().unwrap_or_default();
        let (mut label, mut word) = (None, first);
        if let Some(rest) = first.strip_prefix('$') {
            // The `=` may be missing, or not be separated by spaces.
            let (name, glued) = rest.split_once('=').unwrap_or((rest, ""));
            label = Some(name).filter(|name| is_name(name));
            let mut words = std::iter::once(glued).chain(raws);
            let found = words.find_map(|raw| {
                let raw = raw.strip_prefix('=').unwrap_or(raw);
                Some(raw).filter(|raw| !raw.is_empty())
            });
            word = found.unwrap_or_default();
        }
        let is_directive = Directive::from_opcode(word).is_some();
        Self { label, word, code: OpCode::from_opcode(word), is_directive }
    }

    /// The opcode that was probably meant.
    fn meant(&self) -> Option<OpCode> {
        self.code.or_else(|| OpCode::from_opcode(suggestion(self.word)?))
    }

    fn is_node(&self) -> bool {
        if self.meant().is_some() {
            return true;
        }
        let has_letters = self.word.contains(char::is_alphabetic);
        let unknown = suggestion(self.word).is_none() && has_letters;
        !is_segment(self.word) && !self.is_directive && (self.label.is_some() || unknown)
    }
}

impl Reader {
    /// Updates the reader after an error as if the line were valid, as far as its meaning is known.
    /// Returns whether the line is a node inside a sketch, which may or may not count as a node.
    fn recover(
        &mut self,
        text: &str,
        end_follows: impl FnOnce() -> bool,
        errors: &mut Vec<ParseError>,
    ) -> bool {
        let mut tokens = std::mem::take(&mut self.tokens);
        // If the first line is invalid, the dialect is not known yet. Dialect 0.2 has all opcodes.
        self.v0_2.get_or_insert(true);
        // On an error, `tokens` holds the tokens before it.
        let _ = self.tokenize(text, &mut tokens);
        let found = WrongLine::of(Line { text, tokens: &tokens });
        self.tokens = tokens;
        if self.sketch.is_none() {
            self.assume_node(&found);
            return false;
        }
        if found.code.is_none() && !found.is_directive && found.label.is_none() {
            return false;
        }
        // The line is valid outside a sketch: either it is misplaced, or `END` is missing.
        if found.code != Some(OpCode::Sketch2D) && end_follows() {
            self.assume_node(&found);
            return found.is_node();
        }
        self.sketch = None;
        self.line_number -= 1;
        if let Err(error) = self.line(text) {
            // The line has a second error.
            errors.push(error);
            self.assume_node(&found);
        }
        false
    }

    /// Counts the line as a node if it was probably intended as one.
    fn assume_node(&mut self, found: &WrongLine<'_>) {
        if !found.is_node() {
            return;
        }
        if let Some(label) = found.label {
            self.labels.entry(label.into()).or_insert(self.node_kinds.len());
        }
        self.node_kinds.push(NodeKind::Unknown);
        if found.meant() == Some(OpCode::Sketch2D) {
            let place = (self.line_number, 1);
            self.sketch = Some(OpenSketch { op: Op::new(OpCode::Sketch2D), name: None, place });
        }
    }
}
