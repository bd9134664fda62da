//! Finding all mistakes of a text: sections 3.3 and 11.

use super::arguments::is_name;
use super::error::ParseError;
use super::ir::Op;
use super::lex::Line;
use super::ops::{Code, Directive};
use super::suggest::suggestion;
use super::text_read::{BOM, Dialect, Made, Reader, Sketch, is_segment, read_bytes};

/// All mistakes of a text, at most `limit`, in the order of lines. The first is the one that reading
/// the text raises; a node whose line is wrong counts as one all the same, so that one mistake is not
/// reported as many.
pub fn check(bytes: &[u8], dialect: Dialect, limit: usize) -> Vec<ParseError> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let mut reader = Reader::new(dialect, true);
    let mut errors = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let read = match std::str::from_utf8(line) {
            Ok(line) => reader.line(line).map(drop).map_err(|error| (error, line)),
            Err(error) => {
                let valid = std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default();
                let error = reader.not_utf8(valid);
                reader.number += 1;
                Err((error, valid))
            }
        };
        let Err((error, line)) = read else { continue };
        errors.push(error);
        if reader.recover(line) {
            reader.number -= 1;
            // The line that shows that a sketch has no end may have a mistake of its own.
            if let Err(error) = reader.line(line) {
                errors.push(error);
                reader.recover(line);
            }
        }
        if errors.len() >= limit {
            errors.truncate(limit);
            return errors;
        }
    }
    let lost = reader.made.contains(&Made::Unknown) && !errors.is_empty();
    match reader.check_end() {
        // With nodes in doubt their number is, too.
        Err(error) if !lost || error.message.starts_with("sketch") => errors.push(error),
        _ => {}
    }
    if errors.is_empty() && !reader.extra.is_empty() {
        // Whether pointers match shows only in the whole document.
        errors.extend(read_bytes(bytes, dialect).err());
    }
    errors
}

impl Reader {
    /// After an error of this line: goes on as if the line had been right, as far as that can be
    /// known. Says whether the line should be read again.
    pub(super) fn recover(&mut self, text: &str) -> bool {
        let mut tokens = std::mem::take(&mut self.tokens);
        self.second.get_or_insert(true);
        // Where that fails, the tokens before the fault are there.
        let _ = self.tokenize(text, &mut tokens);
        let again = self.assume(Line { text, tokens: &tokens });
        self.tokens = tokens;
        again
    }

    fn assume(&mut self, line: Line<'_, '_>) -> bool {
        let Some(&first) = line.tokens.first() else { return false };
        let raw = line.raw(first);
        let label = raw.strip_prefix('$').filter(|name| is_name(name));
        let opcode = if raw.starts_with('$') { line.tokens.get(2) } else { Some(&first) };
        let word = opcode.map_or("", |&token| line.raw(token));
        let code = Code::from_opcode(word);
        if self.sketch.is_some() {
            // A line that is right elsewhere: the END is what is missing.
            let elsewhere = code.is_some() || Directive::from_opcode(word).is_some();
            if elsewhere || label.is_some() {
                self.sketch = None;
                return true;
            }
            return false;
        }
        let code = code.or_else(|| Code::from_opcode(suggestion(word)?));
        let node = match code {
            Some(_) => true,
            None if is_segment(word) || Directive::from_opcode(word).is_some() => false,
            None => suggestion(word).is_none() && word.contains(char::is_alphabetic),
        };
        if node {
            if let Some(label) = label {
                self.labels.entry(label.into()).or_insert(self.made.len());
            }
            self.made.push(Made::Unknown);
        }
        if code == Some(Code::Sketch2D) {
            let place = (self.number, 1);
            self.sketch = Some(Sketch { op: Op::new(Code::Sketch2D), name: None, place });
        }
        false
    }
}
