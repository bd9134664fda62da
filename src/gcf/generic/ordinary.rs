//! The fast path for the rows of a table: one pass from the text to the sink.
//!
//! Each cell is emitted as soon as its delimiter is found. A row is *ordinary* if this path can read it. A
//! row is not ordinary if it has blanks or control characters around a cell, a carriage return, an inline
//! schema (`^{`), a flattened object of which some cells are missing, an error, or if it would exceed a
//! limit. The sink then discards the events of the row, and the general reader, [`super::row`], reads the row
//! from its beginning. Only the general reader reports errors.
//!
//! Without it, `gcf.loads` takes 1.2 (nested orders) to 1.9 (keyed) times as long, 1.5 times for 500 flat
//! rows. To measure it again, let [`Rows::expects_ordinary`] return false and run `python -m benches.gcf`.

use super::columns::{PathNode, Plan, Source, Step, TableColumns};
use super::decode::{DUPLICATE_ROW, DecodeResult, Decoder, Failure, SharedColumns, emit};
use super::row::{Row, TableState};
use crate::gcf::error::Code;
use crate::gcf::syntax::declaration::Count;
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::number::{self, Number, Scanned};
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::{self, Token};
use crate::gcf::syntax::string;
use crate::text::block;
use crate::walk::{Columns, Scalar, Text};
use std::borrow::Cow;

/// The rows of a table that is being read.
pub(super) struct Rows<'r, 't, N> {
    pub table: &'r SharedColumns<N>,
    pub state: TableState<N>,
    pub count: Count,
    /// The number of rows so far.
    pub found: u64,
    /// The indentation.
    pub depth: usize,
    /// The keys of the rows so far, if the table is keyed. Not used if the sink finds duplicate keys itself.
    pub names: Option<NameIndex<'t>>,
    /// Whether the key of the next row was already added to `names`.
    pub has_name: bool,
    /// How many rows were ordinary, and how many were not.
    pub hits: u64,
    pub misses: u64,
}

impl<N> Rows<'_, '_, N> {
    /// Whether enough rows were ordinary to try the fast path on the next one.
    pub(super) fn expects_ordinary(&self) -> bool {
        self.table.plan.is_some() && self.misses <= 8 + self.hits
    }
}

/// An ordinary row.
struct Cells {
    /// Whether the row begins with its id.
    has_id: bool,
    /// The offset of the first cell.
    start: usize,
    /// The offset after the line feed.
    next: usize,
    /// The number of members in [`Decoder::marked`] before the row.
    marked: usize,
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// Reads ordinary rows, from the next line on. Returns true if it stopped at a row that is not ordinary:
    /// that row is then the next line. Returns false at the end of the table.
    pub(super) fn ordinary_rows(
        &mut self,
        rows: &mut Rows<'_, 't, S::Prepared>,
    ) -> DecodeResult<S, bool> {
        let (Some(line), Some(plan)) = (self.lines.peek(), &rows.table.plan) else {
            return Ok(true);
        };
        if self.depth + plan.depth > self.limits.max_depth {
            return Ok(true);
        }
        let mut start = line.start;
        // Whether the sink finds the key of a row repeated when it has the row.
        let checks = rows.names.is_some() && self.sink.finds_repeated_keys();
        // The offset of the current row's line if it lies after the line that `self.lines` peeks at.
        let mut ahead = None;
        loop {
            self.row_limit = self.lines.step(start)?;
            let mark = self.sink.mark();
            let Some(cells) = self.ordinary_row(start, plan, rows)? else {
                self.sink.reset(mark);
                ahead.map_or(Ok(()), |next| self.resume(next))?;
                return Ok(true);
            };
            rows.found += 1;
            rows.hits += 1;
            #[cfg(test)]
            {
                self.ordinary += 1;
            }
            let marked = self.marked.len() > cells.marked;
            let below = self.ordinary_line(cells.next, rows.depth).filter(|_| !marked);
            let read = match below {
                Some(_) => self.sink.end_object().map_err(Failure::Sink),
                None => self.ordinary_end(start, &cells, rows),
            };
            if checks {
                let line = Line::new(start, rows.depth, cells.next);
                self.unless_repeated(read, mark, line, Code::DuplicateMemberKey, DUPLICATE_ROW)?;
            } else {
                read?;
            }
            if let Some(below) = below {
                start = below;
                ahead = Some(cells.next);
            } else {
                ahead = None;
                let below = self
                    .lines
                    .peek()
                    .and_then(|line| self.ordinary_line(line.start - line.indent, rows.depth));
                let Some(below) = below else { return Ok(false) };
                start = below;
            }
            if rows.count.value.is_some_and(|count| rows.found >= count) {
                ahead.map_or(Ok(()), |next| self.resume(next))?;
                return Ok(false);
            }
        }
    }

    /// The offset of the content of the line at `next`, if the line is a row that is indented by `depth`.
    /// `None` if it is blank, a comment, an attachment, or after the end of the table.
    #[inline]
    fn ordinary_line(&self, next: usize, depth: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if depth > 0 && block::leading(&bytes[next..], b' ') != depth {
            return None;
        }
        let start = next + depth;
        let first = bytes.get(start)?;
        (!matches!(first, b'#' | b'.' | b'\n' | b'\r' | b'\t' | b' ')).then_some(start)
    }

    /// Reads the row whose content begins at `start`; `None` if it is not ordinary. The caller reads the
    /// attachments and emits the end of the row's object.
    #[inline]
    fn ordinary_row(
        &mut self,
        start: usize,
        plan: &Plan,
        rows: &mut Rows<'_, 't, S::Prepared>,
    ) -> DecodeResult<S, Option<Cells>> {
        let table = rows.table;
        let before = self.expansion;
        if before + table.expansion + table.path_expansion > self.max_expansion {
            return Ok(None);
        }
        let mut cells = Cells { has_id: false, start, next: 0, marked: self.marked.len() };
        if self.text.as_bytes()[start] == b'@'
            && let Some((id, after)) = split_row_id(&self.text[start..])
        {
            if !is_index(id, rows.found) {
                return Ok(None);
            }
            cells.has_id = true;
            cells.start += after;
        }
        if let Some(names) = &mut rows.names {
            let Some((key, stop)) = self.ordinary_key(cells.start) else { return Ok(None) };
            cells.start = stop + 1;
            emit!(self.sink.key(&key));
            if !self.sink.finds_repeated_keys() {
                rows.has_name = names.add(key)?;
                if !rows.has_name {
                    return Ok(None);
                }
            }
        }
        emit!(self.sink.begin_row(table.members.len()));
        self.expand(table.expansion, start)?;
        match self.ordinary_cells(cells.start, plan, table)? {
            Some(next) if cells.has_id || self.marked.len() == cells.marked => {
                cells.next = next;
                rows.has_name = false;
                Ok(Some(cells))
            }
            _ => {
                self.expansion = before;
                self.marked.truncate(cells.marked);
                Ok(None)
            }
        }
    }

    /// Reads the key of a row in a keyed table. Returns it and the offset of the `|` after it.
    fn ordinary_key(&self, start: usize) -> Option<(Cow<'t, str>, usize)> {
        let text = &self.text[..self.row_limit];
        // An id may end beyond the memory that was checked.
        let first = *text.as_bytes().get(start)?;
        let (key, stop) = if first == b'"' {
            string::read_quoted(self.text, start, self.row_limit).ok()?
        } else {
            let (text, stop) = find_text(text, start)?;
            if has_blank_ends(text.text) || text.text == "-" || text.text.starts_with(['~', '^']) {
                return None;
            }
            (Cow::Borrowed(text.text), stop)
        };
        (self.text.as_bytes().get(stop) == Some(&b'|')).then_some((key, stop))
    }

    /// Emits the members of a row. Returns the offset after the line feed; `None` if the row is not ordinary.
    ///
    /// Not inlined, so that its variables stay in registers.
    #[inline(never)]
    fn ordinary_cells(
        &mut self,
        mut at: usize,
        plan: &Plan,
        table: &TableColumns<S::Prepared>,
    ) -> DecodeResult<S, Option<usize>> {
        let text = &self.text[..self.row_limit];
        let mut left = table.width;
        let mut steps = plan.steps.as_slice();
        while let Some((&step, rest)) = steps.split_first() {
            steps = rest;
            let (key, member) = match step {
                Step::Cell { member } => (&table.members[member].key, Some(member)),
                Step::Leaf { node } => (&table.paths[node].key, None),
                Step::Open { node, after } => {
                    if let Some((leaves, stop)) = self.open_path(at, &table.paths[node])? {
                        left -= leaves;
                        steps = &plan.steps[after..];
                        if !is_cell_end(text, stop, left) {
                            return Ok(None);
                        }
                        at = stop + 1;
                    }
                    continue;
                }
                Step::Constant { member } => {
                    let member = &table.members[member];
                    if let Source::Constant(constant) = &member.source {
                        emit!(self.sink.known_key(&member.key));
                        emit!(self.sink.known_scalar(constant));
                    }
                    continue;
                }
                Step::Close => {
                    emit!(self.sink.end_object());
                    continue;
                }
            };
            left -= 1;
            match self.ordinary_cell(text, at, key, member)? {
                Some(stop) if is_cell_end(text, stop, left) => at = stop + 1,
                _ => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Begins the object of a path node. If the node is the root of a member that is null or missing in this
    /// row, emits no object and returns the number of the member's cells and the offset of the delimiter
    /// after them.
    fn open_path(
        &mut self,
        at: usize,
        node: &PathNode<S::Prepared>,
    ) -> DecodeResult<S, Option<(usize, usize)>> {
        if let Some(leaves) = node.root_leaves() {
            let bytes = &self.text.as_bytes()[at..];
            if let [byte @ (b'-' | b'~'), b'|' | b'\n', ..] = bytes
                && let Some(cells) = bytes.get(..2 * leaves)
                && cells
                    .as_chunks::<2>()
                    .0
                    .iter()
                    .all(|[cell, end]| cell == byte && matches!(end, b'|' | b'\n'))
                && !cells[..cells.len() - 1].contains(&b'\n')
            {
                if *byte == b'-' {
                    emit!(self.sink.known_member(&node.key, Scalar::Null));
                }
                return Ok(Some((leaves, at + 2 * leaves - 1)));
            }
        }
        emit!(self.sink.known_key(&node.key));
        emit!(self.sink.begin_object());
        self.expand(node.expansion, at)?;
        Ok(None)
    }

    /// Emits the member whose cell begins at `at`. Returns the offset after the cell, where the caller
    /// expects the delimiter; `None` if the row is not ordinary. The cell ends within `text`. `member` is
    /// `None` for a cell of a path, which cannot be missing or have an attachment.
    #[inline]
    fn ordinary_cell(
        &mut self,
        text: &'t str,
        at: usize,
        key: &S::Prepared,
        member: Option<usize>,
    ) -> DecodeResult<S, Option<usize>> {
        let bytes = text.as_bytes();
        let Some(&first) = bytes.get(at) else { return Ok(None) };
        let start = STARTS[usize::from(first)];
        if matches!(start, Start::Minus | Start::Letter)
            && let Some((scalar, length)) = keyword(&bytes[at..])
        {
            emit!(self.sink.known_member(key, scalar));
            return Ok(Some(at + length));
        }
        let mut is_special = matches!(start, Start::Minus | Start::Letter | Start::Marker);
        match start {
            Start::Text | Start::Letter | Start::Marker => {}
            Start::Blank => return Ok(None),
            Start::Quote => return self.quoted_cell(at, key),
            Start::Minus | Start::Digit => match number::scan(bytes, at) {
                Scanned::Number(Number::Int(value), stop) => {
                    emit!(self.sink.known_int(key, value));
                    return Ok(Some(stop));
                }
                Scanned::Number(Number::Float(value), stop) => {
                    emit!(self.sink.known_float(key, value));
                    return Ok(Some(stop));
                }
                Scanned::Text => {}
                Scanned::Unknown => is_special = true,
            },
        }
        let Some((text, stop)) = find_text(text, at) else { return Ok(None) };
        if text.text.as_bytes().last().is_some_and(|&last| last <= b' ') {
            return Ok(None);
        }
        if is_special {
            return Ok(self.special_cell(at, key, text, member)?.then_some(stop));
        }
        emit!(self.sink.known_text(key, text));
        Ok(Some(stop))
    }

    fn quoted_cell(&mut self, at: usize, key: &S::Prepared) -> DecodeResult<S, Option<usize>> {
        // An error of the string, such as a line feed within it, is reported by the general reader.
        let Ok((text, stop)) = string::read_quoted(self.text, at, self.row_limit) else {
            return Ok(None);
        };
        emit!(self.sink.known_text(key, Text::new(&text)));
        Ok(Some(stop))
    }

    /// Emits the member of an unquoted cell that may be a keyword, a marker or an uncommon number. Returns
    /// whether the row is ordinary.
    fn special_cell(
        &mut self,
        at: usize,
        key: &S::Prepared,
        text: Text<'_>,
        member: Option<usize>,
    ) -> DecodeResult<S, bool> {
        match (scalar::bare(text.text, at), member) {
            (Ok(Token::Missing), Some(_)) => {}
            (Ok(Token::Marker), Some(member)) => match emit!(self.sink.reserve(key)) {
                Some(place) => self.marked.push((member, place)),
                None => return Ok(false),
            },
            (Ok(Token::String(_)), _) if !text.text.starts_with("^{") => {
                emit!(self.sink.known_text(key, text));
            }
            (Ok(Token::Int(value)), _) => emit!(self.sink.known_member(key, Scalar::Int(value))),
            (Ok(Token::Float(value)), _) => {
                emit!(self.sink.known_member(key, Scalar::Float(value)));
            }
            (Ok(Token::Bool(value)), _) => emit!(self.sink.known_member(key, Scalar::Bool(value))),
            (Ok(Token::Null), _) => emit!(self.sink.known_member(key, Scalar::Null)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the attachments of the row whose content begins at `start`, and emits the end of its object.
    fn ordinary_end(
        &mut self,
        start: usize,
        cells: &Cells,
        rows: &mut Rows<'_, 't, S::Prepared>,
    ) -> DecodeResult<S> {
        self.resume(cells.next)?;
        let line = Line::new(start, rows.depth, cells.next);
        let mut row = Row::unsplit(line, cells.has_id, cells.start);
        let split = self.cells.len();
        self.depth += 1;
        for index in cells.marked..self.marked.len() {
            let (member, place) = self.marked[index];
            emit!(self.sink.reserved_key(&rows.table.members[member].key, place));
            self.attached_value(&mut row, rows.table, &mut rows.state, member, false)?;
        }
        self.marked.truncate(cells.marked);
        self.remaining_attachments(row, rows.table, &mut rows.state)?;
        self.depth -= 1;
        self.cells.truncate(split);
        emit!(self.sink.end_object());
        Ok(())
    }
}

/// What the first byte of a cell tells.
#[derive(Clone, Copy)]
enum Start {
    /// A text, or an empty cell.
    Text,
    /// `t` or `f`: perhaps a boolean.
    Letter,
    /// `-`: null, a number or a text.
    Minus,
    Digit,
    Quote,
    /// `~` or `^`.
    Marker,
    /// A blank or a control character, which is not ordinary.
    Blank,
}

static STARTS: [Start; 256] = {
    let mut starts = [Start::Text; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        starts[byte as usize] = match byte {
            b'\n' => Start::Text,
            ..=b' ' => Start::Blank,
            b't' | b'f' => Start::Letter,
            b'-' => Start::Minus,
            b'0'..=b'9' => Start::Digit,
            b'"' => Start::Quote,
            b'~' | b'^' => Start::Marker,
            _ => Start::Text,
        };
        byte += 1;
    }
    starts
};

/// The null or boolean at the beginning of a text, before a delimiter, and its length.
#[inline]
fn keyword(text: &[u8]) -> Option<(Scalar<'static>, usize)> {
    match text {
        [b'-', b'|' | b'\n', ..] => Some((Scalar::Null, 1)),
        [b't', b'r', b'u', b'e', b'|' | b'\n', ..] => Some((Scalar::Bool(true), 4)),
        [b'f', b'a', b'l', b's', b'e', b'|' | b'\n', ..] => Some((Scalar::Bool(false), 5)),
        _ => None,
    }
}

/// Whether a token begins or ends with a blank or a control character.
#[inline]
fn has_blank_ends(token: &str) -> bool {
    let token = token.as_bytes();
    token.first().is_some_and(|&first| first <= b' ')
        || token.last().is_some_and(|&last| last <= b' ')
}

/// Whether a cell ends at `at`: with `|` if `left` more cells follow, otherwise with a line feed.
#[inline]
fn is_cell_end(text: &str, at: usize, left: usize) -> bool {
    text.as_bytes().get(at) == Some(if left > 0 { &b'|' } else { &b'\n' })
}

/// The text from `start`, which follows an ASCII character or begins the text, to the next `|` or line feed, and
/// the offset of that delimiter.
#[inline(always)]
fn find_text(text: &str, start: usize) -> Option<(Text<'_>, usize)> {
    debug_assert!(text.is_char_boundary(start));
    let Some(block) = text.as_bytes().get(start..).and_then(|rest| rest.first_chunk::<16>()) else {
        return find_long_text(text, start);
    };
    let marks = block::find2(block, b'|', b'\n');
    if marks.found == 0 {
        return find_long_text(text, start);
    }
    let length = marks.found.trailing_zeros() as usize;
    let stop = start + length;
    let found = Text {
        // SAFETY: a character begins at `start`, and an ASCII character is at `stop`.
        text: unsafe { text.get_unchecked(start..stop) },
        is_ascii: marks.non_ascii & ((1 << length) - 1) == 0,
        word: u128::from_le_bytes(*block) & FIRST_BYTES[length],
    };
    Some((found, stop))
}

/// For each number of bytes, the mask of as many bytes. Shifts of 128 bits would take longer.
static FIRST_BYTES: [u128; 16] = {
    let mut masks = [0; 16];
    let mut count = 1;
    while count < masks.len() {
        masks[count] = masks[count - 1] << 8 | 0xFF;
        count += 1;
    }
    masks
};

/// [`find_text`] for a cell of 16 bytes or more, or one that begins in the last 15 bytes of `text`.
#[inline(never)]
fn find_long_text(text: &str, start: usize) -> Option<(Text<'_>, usize)> {
    let (blocks, last) = text.as_bytes().get(start..)?.as_chunks::<16>();
    let mut padded = [0; 16];
    padded[..last.len()].copy_from_slice(last);
    let mut stop = start;
    let mut non_ascii = 0;
    for block in blocks.iter().chain([&padded]) {
        let marks = block::find2(block, b'|', b'\n');
        if marks.found != 0 {
            let length = marks.found.trailing_zeros();
            non_ascii |= marks.non_ascii & ((1 << length) - 1);
            stop += length as usize;
            return Some((Text::with(&text[start..stop], non_ascii == 0), stop));
        }
        non_ascii |= marks.non_ascii;
        stop += 16;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::error::Error;
    use crate::gcf::limits::Limits;
    use crate::json::{Escape, Writer, write_float};
    use crate::value::{self, Value};
    use proptest::prelude::*;

    /// Reads a text with or without the fast path. Returns the value or error, and the number of ordinary
    /// rows.
    fn read<S: Columns>(
        text: &str,
        limits: Limits,
        mut sink: S,
        fast: bool,
    ) -> (Result<S, Error>, u64) {
        let mut decoder = Decoder::new(text, limits, &mut sink);
        decoder.fast = fast;
        let read = decoder.root();
        let ordinary = decoder.ordinary;
        let error = match read {
            Ok(()) => None,
            Err(Failure::Fault(fault)) => Some(fault.locate(text)),
            Err(Failure::Sink(_)) => unreachable!("the sinks of these tests do not stop"),
        };
        (error.map_or(Ok(sink), Err), ordinary)
    }

    /// Reads a text by both paths into both kinds of sinks, and compares. Returns the value and how many
    /// rows were ordinary.
    fn compare_within(text: &str, limits: Limits) -> (Result<Value<'static>, Error>, u64) {
        let values = [true, false].map(|fast| {
            let (read, ordinary) = read(text, limits, value::Builder::default(), fast);
            (read.map(|builder| builder.finish().unwrap()), ordinary)
        });
        let json = [true, false].map(|fast| {
            let writer = Writer::new(Escape::Needed, write_float);
            read(text, limits, writer, fast).0.map(Writer::finish)
        });
        let [(value, ordinary), (general, none)] = values;
        assert_eq!(value, general, "{text}");
        assert_eq!(none, 0);
        assert_eq!(json[0], json[1], "{text}");
        assert_eq!(value.clone().err(), json[0].clone().err(), "{text}");
        (value, ordinary)
    }

    fn compare(text: &str) -> (Result<Value<'static>, Error>, u64) {
        compare_within(text, Limits::default())
    }

    /// How many rows of a valid text are ordinary.
    fn ordinary(text: &str) -> u64 {
        let (value, ordinary) = compare(text);
        value.unwrap();
        ordinary
    }

    #[test]
    fn common_rows_are_ordinary() {
        for (rows, text) in [
            (2, "## [2]{a,b}\n1|x\n-2.5|true\n"),
            (3, "## [3]{a}\n-\n\"x\\n|\"\n2024-02-29\n"),
            (2, "## [2]{a,b,c}\n~|1|~\nKöln|1e300|\n"),
            (2, "## [2:]{key,a,b}\nx|1|2\n\"-\"|1|2\n"),
            (3, "## [3]{\"a>b\",\"a>c>d\",e}\n1|2|3\n-|-|3\n~|~|3\n"),
            (2, "## [2]{a,b=x,\"c>d\"}\n1|2\n3|4\n"),
            (4, "## [2]{id,a,b}\n@0 1|^|x\n  .a [2]{n}\n    1\n    2\n@1 1|^|y\n  .a [1]: 1\n"),
            (2, "## s\n  a=1\n  ## t [2]{a}\n  1\n  2\n  b=2\n"),
            (2, "## [2]{a}\n@0 1\n  .\"x>y\" =1\n@1 2\n"),
            (2, "## [?]{a}\n1\n2\n##! summary counts=2\n"),
        ] {
            assert_eq!(ordinary(&format!("GCF profile=generic\n{text}")), rows, "{text}");
        }
    }

    #[test]
    fn rows_with_uncommon_syntax_are_not_ordinary() {
        for (rows, text) in [
            (1, "## [2]{a,b}\n1| x\n2|x\n"),
            (1, "## [2]{a,b}\n1|x\t\n2|x\n"),
            (0, "## [2]{a,b}\r\n1|x\r\n2|x\r\n"),
            (1, "## [2]{a}\n1\n2"),
            (1, "## [2]{\"a>b\",\"a>c\"}\n~|1\n1|2\n"),
            (0, "## [1]{\"a>b\",c,\"a>d\"}\n1|2|3\n"),
            (1, "## [2]{a,b}\n@0 1|^{x,y,z}\n1|2|3\n@1 1|^\n1|2|3\n"),
        ] {
            assert_eq!(ordinary(&format!("GCF profile=generic\n{text}")), rows, "{text}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn the_fast_path_is_given_up_for_a_table_without_ordinary_rows() {
        let rows = "1| 2\n".repeat(1000);
        let text = format!("GCF profile=generic\n## [1000]{{a,b}}\n{rows}");
        let mut sink = value::Builder::default();
        let mut decoder = Decoder::new(&text, Limits::default(), &mut sink);
        assert!(decoder.root().is_ok());
        assert!(decoder.missed < 20, "{}", decoder.missed);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn limits_are_those_of_the_general_reader() {
        let text = "GCF profile=generic\n## [3]{a,\"b>c>d\",e=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}\n1|2\n1|-\n1|2\n";
        for max_expansion in 0..1200 {
            let _ = compare_within(text, Limits { max_expansion, ..Limits::default() });
        }
        for max_depth in 1..6 {
            let _ = compare_within(text, Limits { max_depth, ..Limits::default() });
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn a_row_may_reach_beyond_the_memory_that_was_checked() {
        // Memory is checked for the first time after 4,096 bytes.
        for length in 4000..4110 {
            let key = "k".repeat(length);
            for rows in ["@1 \"x\"|2", "@1 x|2", "x|2", "x|é"] {
                let text = format!("GCF profile=generic\n## [2:]{{key,a}}\n{key}|1\n{rows}\n");
                assert!(compare(&text).0.is_ok(), "{rows}");
            }
        }
    }

    const TABLES: [&str; 5] = [
        "## [4]{id,name,x}\n1|ann|0.5\n2|bob|-\n3|\"a|b\"|true\n4|Köln|12\n",
        "## [4:]{key,a,b}\nk1|1|2\nk2|3|4\nk3|5|6\nk4|7|8\n",
        "## [4]{id,\"p>q\",\"p>r>s\",t}\n1|2|3|x\n2|-|-|x\n3|~|~|x\n4|5|6|x\n",
        "## [4]{id,a,b}\n@0 1|^|x\n  .a [1]{n,m}\n    1|2\n@1 2|^|x\n  .a [1]\n    3|4\n@2 3|-|^\n  .b [2]: 1,2\n@3 4|^|^\n  .a [0]:\n  .b {}\n    c=1\n",
        "## u\n  ## t [4]{a,b=1}\n  w\n  x\n  y\n  z\n",
    ];

    /// Texts to insert into a row, most of which make it invalid or not ordinary.
    const PIECES: [&str; 27] = [
        "~",
        "^",
        "^{a,b}",
        "-",
        " ",
        "\t",
        "\r",
        "|",
        "\"",
        "\\",
        "\"x\\u00e9\"",
        "@0 ",
        "@7 ",
        ".a ",
        "\n",
        "\n\n",
        "# c",
        "## ",
        "##!",
        "0",
        "1.",
        "e5",
        "99999999999999999999",
        "é",
        "  ",
        ">",
        "",
    ];

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn an_edited_row_is_read_as_by_the_general_reader() {
        let mut errors = 0;
        for table in TABLES {
            assert!(ordinary(&format!("GCF profile=generic\n{table}")) >= 4);
            for at in (0..table.len()).filter(|&at| table.is_char_boundary(at)) {
                for piece in PIECES {
                    for removed in 0..3 {
                        let Some(rest) = table.get(at + removed..) else { continue };
                        let text = format!("GCF profile=generic\n{}{piece}{rest}", &table[..at]);
                        errors += u64::from(compare(&text).0.is_err());
                    }
                }
            }
        }
        assert!(errors > 1000, "{errors}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn texts_of_rows_are_read_as_by_the_general_reader(
            table in proptest::sample::select(&TABLES[..]),
            edits in proptest::collection::vec((any::<prop::sample::Index>(), proptest::sample::select(&PIECES[..])), 1..6),
        ) {
            let mut text = format!("GCF profile=generic\n{table}");
            for (at, piece) in edits {
                let places: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
                text.insert_str(places[at.index(places.len())], piece);
            }
            let _ = compare(&text);
        }

        #[test]
        #[cfg_attr(miri, ignore = "takes minutes")]
        fn cells_are_read_as_by_the_general_reader(
            cells in proptest::collection::vec("[-+~^]?[0-9a-zA-Z.@# \\\\{}>=é|\t\"-]{0,20}", 1..20),
        ) {
            let text = format!("GCF profile=generic\n## [?]{{a}}\n{}\n", cells.join("\n"));
            let _ = compare(&text);
        }
    }
}
