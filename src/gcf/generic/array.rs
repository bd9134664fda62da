//! Arrays and keyed tables: the head, `[2]{a,b}`, and the body below it.
//!
//! The head alone determines the form of the body, with one exception ([`Decoder::counted_body`]). GCF
//! 3.6 sections 6 to 8.

use super::columns::{Prepare, TableColumns};
use super::decode::{DecodeResult, Decoder, Failure, Preceding, SharedColumns, emit};
use super::groups::read::{CLAUSE, GroupedColumns};
use super::ordinary::Rows;
use super::row::TableState;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::declaration::{Count, Field, read_count, read_fields};
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::skip_blanks;
use crate::walk::Columns;
use std::sync::Arc;

/// A parsed head.
pub(crate) enum ArrayHead<N> {
    /// `[2]: a,b`: a list whose elements begin at `start`.
    List { count: Count, start: usize },
    /// `[2]{a,b}`: a table.
    Table { count: Count, table: SharedColumns<N> },
    /// `[2:]{key,a}`: a keyed table.
    Keyed { count: Count, table: SharedColumns<N> },
    /// `[2]{@a,b} group=b`: a grouped table.
    Grouped { count: Count, columns: GroupedColumns<N> },
    /// `[2]{[3]}`: a matrix, two arrays of three scalars each.
    Matrix { count: Count, width: u64 },
    /// `[2]`: an expanded array, or a table whose columns an earlier row has declared.
    CountOnly { count: Count },
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// Reads an array or keyed table from its bracket at `at` on; its body is indented by `depth`.
    /// `declared` are the columns that an earlier row has declared for the same name. Returns the columns
    /// of a table that is not keyed, so that later rows can share them.
    pub(crate) fn array(
        &mut self,
        at: usize,
        end: usize,
        depth: usize,
        declared: Option<&SharedColumns<S::Prepared>>,
    ) -> DecodeResult<S, Option<SharedColumns<S::Prepared>>> {
        match self.head(at, end)? {
            ArrayHead::List { count, start } => self.list(count, start, end)?,
            ArrayHead::Keyed { count, table } => self.rows(count, &table, depth, true)?,
            ArrayHead::Grouped { count, columns } => self.grouped_rows(count, &columns, depth)?,
            ArrayHead::Matrix { count, width } => self.matrix(count, width, depth)?,
            ArrayHead::CountOnly { count } => self.counted_body(count, depth, declared)?,
            ArrayHead::Table { count, table } => {
                self.rows(count, &table, depth, false)?;
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// Parses the head whose bracket is at `at`.
    pub(crate) fn head(
        &mut self,
        at: usize,
        end: usize,
    ) -> DecodeResult<S, ArrayHead<S::Prepared>> {
        let (count, after) = read_count(self.text, at, end)?;
        let bytes = &self.text.as_bytes()[..end];
        match bytes.get(after) {
            Some(b'{') => {
                let inside = skip_blanks(bytes, after + 1);
                if self.extensions && bytes.get(inside) == Some(&b'[') {
                    return self.matrix_head(count, inside, end);
                }
                self.head_with_fields(count, after, end)
            }
            _ if count.keyed => {
                let message = "expected the fields of a keyed table in braces";
                Err(Fault::new(Code::InvalidLine, after, message).into())
            }
            Some(b':') => Ok(ArrayHead::List { count, start: after + 1 }),
            _ if skip_blanks(bytes, after) == end => Ok(ArrayHead::CountOnly { count }),
            _ => {
                let message = "expected :, {fields} or the end of the line after the count";
                Err(Fault::new(Code::InvalidLine, after, message).into())
            }
        }
    }

    fn head_with_fields(
        &mut self,
        count: Count,
        at: usize,
        end: usize,
    ) -> DecodeResult<S, ArrayHead<S::Prepared>> {
        let (fields, after) = read_fields(self.text, at, end, self.extensions)?;
        let rest = skip_blanks(&self.text.as_bytes()[..end], after);
        if rest < end {
            if self.text[rest..end].starts_with(CLAUSE) {
                if let Some(list) = fields.iter().find(|field| field.list) {
                    let message = "a grouped table cannot have list columns";
                    return Err(Fault::new(Code::InvalidFieldDeclaration, list.at, message).into());
                }
                let columns = self.grouped_head(count, fields, rest, end)?;
                return Ok(ArrayHead::Grouped { count, columns });
            }
            let message = "unexpected characters after the field declaration";
            return Err(Fault::new(Code::TrailingCharacters, rest, message).into());
        }
        let mut identities = fields.iter().filter(|field| field.identity);
        if let Some(identity) = identities.next().filter(|_| !self.keyed_set) {
            let message = "@ marks the identity only in a keyed set, whose header has pack_root \
                           and key, and in a grouped table; quote a name that begins with @";
            return Err(Fault::new(Code::InvalidFieldDeclaration, identity.at, message).into());
        }
        if identities.next().is_some() {
            let message = "only one field can be the identity, @";
            return Err(Fault::new(Code::InvalidFieldDeclaration, at, message).into());
        }
        if !count.keyed {
            let constant = fields.iter().all(|field| field.constant.is_some());
            if constant {
                let message = "at least one column must not be constant";
                return Err(Fault::new(Code::NoBareColumn, at, message).into());
            }
            return Ok(ArrayHead::Table { count, table: self.columns(&fields)? });
        }
        self.keyed_head(count, fields, at)
    }

    fn keyed_head(
        &mut self,
        count: Count,
        mut fields: Vec<Field<'t>>,
        at: usize,
    ) -> DecodeResult<S, ArrayHead<S::Prepared>> {
        if fields.iter().any(|field| field.constant.is_some()) {
            let message = "a keyed table cannot have constant columns";
            return Err(Fault::new(Code::InvalidFieldDeclaration, at, message).into());
        }
        if fields.first().is_some_and(|label| label.list) {
            let message = "the key column of a keyed table cannot be a list column";
            return Err(Fault::new(Code::InvalidFieldDeclaration, at, message).into());
        }
        if fields.len() < 2 {
            let message = "a keyed table needs at least two fields";
            return Err(Fault::new(Code::TooFewFields, at, message).into());
        }
        if count.value == Some(0) {
            let message = "a keyed table cannot have a zero count; an empty object is a section";
            return Err(Fault::new(Code::ZeroCount, count.at, message).into());
        }
        let label = fields.remove(0);
        if fields.iter().any(|field| field.name == label.name) {
            let message =
                format!("the label {} of the key column is also a field", excerpt(&label.name));
            return Err(Fault::new(Code::DuplicateFieldName, label.at, message).into());
        }
        Ok(ArrayHead::Keyed { count, table: self.columns(&fields)? })
    }

    /// Parses the rest of the head of a matrix, from the bracket of its number of columns at `at` on.
    fn matrix_head(
        &self,
        count: Count,
        at: usize,
        end: usize,
    ) -> DecodeResult<S, ArrayHead<S::Prepared>> {
        let invalid = |code, at, message: &str| Err(Fault::new(code, at, message).into());
        let bytes = &self.text.as_bytes()[..end];
        let (columns, after) = read_count(self.text, at, end)?;
        let Some(width @ 1..) = columns.value.filter(|_| !columns.keyed) else {
            let message = "the number of columns of a matrix must be a number from 1 on";
            return invalid(Code::InvalidCount, at, message);
        };
        let close = skip_blanks(bytes, after);
        if bytes.get(close) != Some(&b'}') {
            let message = "expected } after the number of columns of a matrix";
            return invalid(Code::InvalidFieldDeclaration, close, message);
        }
        if count.keyed {
            let message = "a keyed table cannot be a matrix, {[columns]}";
            return invalid(Code::InvalidFieldDeclaration, at, message);
        }
        let rest = skip_blanks(bytes, close + 1);
        if rest == end {
            return Ok(ArrayHead::Matrix { count, width });
        }
        if self.text[rest..end].starts_with(CLAUSE) {
            return invalid(Code::InvalidGroupHeader, rest, "a matrix cannot be grouped");
        }
        let message = "unexpected characters after the number of columns of a matrix";
        invalid(Code::TrailingCharacters, rest, message)
    }

    fn columns(&mut self, fields: &[Field<'t>]) -> DecodeResult<S, SharedColumns<S::Prepared>> {
        let sink = &mut *self.sink;
        let max_depth = self.limits.max_depth.saturating_sub(self.depth);
        let mut prepare = |what: Prepare<'_>| {
            let prepared = match what {
                Prepare::Key(name) => sink.name(name),
                Prepare::Constant(scalar) => sink.constant(scalar),
            };
            prepared.map_err(Failure::Sink)
        };
        TableColumns::new(fields, max_depth, &mut prepare).map(Arc::new)
    }

    /// Reads a body whose head is only a count: an expanded array, or the rows of a shared schema.
    ///
    /// The specification says that the head alone determines the form, but its encoder writes the
    /// same head for both where a shared schema is declared. In that case the body is an expanded
    /// array if its first line is an element.
    fn counted_body(
        &mut self,
        count: Count,
        depth: usize,
        declared: Option<&SharedColumns<S::Prepared>>,
    ) -> DecodeResult<S> {
        match declared {
            Some(table) if count.value != Some(0) && !self.is_element(depth) => {
                self.rows(count, table, depth, false)
            }
            _ => self.elements(count, depth),
        }
    }

    fn matrix(&mut self, count: Count, width: u64, depth: usize) -> DecodeResult<S> {
        self.counted_array(count, |decoder| {
            let mut found = 0;
            while let Some(line) = decoder.next_row(count, found, depth)? {
                decoder.matrix_row(line, width)?;
                found += 1;
            }
            Ok(found)
        })
    }

    /// Reads a row of a matrix, an array of `width` scalars.
    pub(crate) fn matrix_row(&mut self, line: Line, width: u64) -> DecodeResult<S> {
        self.advance()?;
        self.enter(line.start)?;
        let found = self.list_elements(line.start, line.end, b'|', false)?;
        self.leave();
        if found == width {
            return Ok(());
        }
        let message = format!("expected {width} cells, found {found}");
        self.fail(Code::RowWidthMismatch, line, &message)
    }

    fn is_element(&self, depth: usize) -> bool {
        let Some(line) = self.lines.peek().filter(|line| line.indent == depth) else {
            return false;
        };
        let text = self.lines.str(line);
        split_row_id(text).is_some_and(|(_, after)| {
            let value = &text[after..];
            value.starts_with('=') || value.starts_with('[') || value.starts_with("{}")
        })
    }

    fn elements(&mut self, count: Count, depth: usize) -> DecodeResult<S> {
        self.counted_array(count, |decoder| {
            let mut found = 0;
            while let Some((line, value)) = decoder.next_element(count, found, depth)? {
                decoder.element(line, value, depth + 2)?;
                found += 1;
            }
            Ok(found)
        })
    }

    /// Reads the body of a container with `read`, and checks the number of elements that it returns.
    pub(crate) fn counted_container(
        &mut self,
        count: Count,
        read: impl FnOnce(&mut Self) -> DecodeResult<S, u64>,
    ) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        let found = read(self)?;
        self.leave();
        self.check_count(count, deferred, found)?;
        self.preceding = Preceding::CountedBody;
        Ok(())
    }

    /// Reads an array as [`Self::counted_container`] does; `read` emits the elements.
    pub(crate) fn counted_array(
        &mut self,
        count: Count,
        read: impl FnOnce(&mut Self) -> DecodeResult<S, u64>,
    ) -> DecodeResult<S> {
        self.counted_container(count, |decoder| {
            emit!(decoder.sink.begin_array());
            let found = read(decoder)?;
            emit!(decoder.sink.end_array());
            Ok(found)
        })
    }

    /// The next line, if it is an element of an expanded array, and the offset of its value.
    pub(crate) fn next_element(
        &self,
        count: Count,
        found: u64,
        depth: usize,
    ) -> DecodeResult<S, Option<(Line, usize)>> {
        let Some(line) = self.next_row(count, found, depth)? else { return Ok(None) };
        let Some((id, value)) = split_row_id(self.lines.str(line)) else { return Ok(None) };
        if !is_index(id, found) {
            return self.fail(Code::InvalidItemId, line, "the id of an element must be its index");
        }
        Ok(Some((line, line.start + value)))
    }

    /// Reads the element in `line` whose value begins at `at`; its body is indented by `depth`.
    pub(crate) fn element(&mut self, line: Line, at: usize, depth: usize) -> DecodeResult<S> {
        self.advance()?;
        let bytes = &self.text.as_bytes()[..line.end];
        match bytes.get(at) {
            Some(b'=') => self.scalar(at + 1, line.end),
            Some(b'[') => self.array(at, line.end, depth, None).map(drop),
            _ if self.is_empty_braces(at, line.end) => self.object(depth),
            _ => self.fail(Code::InvalidLine, line, "expected =scalar, {} or [count] after the id"),
        }
    }

    pub(crate) fn is_empty_braces(&self, at: usize, end: usize) -> bool {
        self.text[at..end].starts_with("{}")
            && skip_blanks(&self.text.as_bytes()[..end], at + 2) == end
    }

    // Tables

    /// The next line, if it is a row or an element.
    pub(crate) fn next_row(
        &self,
        count: Count,
        found: u64,
        depth: usize,
    ) -> DecodeResult<S, Option<Line>> {
        if count.value.is_some_and(|count| found >= count) {
            return Ok(None);
        }
        match self.lines.peek().filter(|&line| !self.ends(line, depth)) {
            Some(line) if line.indent > depth => self.unexpected_indent(line),
            line => Ok(line),
        }
    }

    /// Reads a row, ordinary or not, without the fast path.
    fn general_row(&mut self, line: Line, rows: &mut Rows<'_, 't, S::Prepared>) -> DecodeResult<S> {
        let has_name = std::mem::take(&mut rows.has_name);
        let mut add_key;
        let add_key = match &mut rows.names {
            None => None,
            Some(names) => {
                add_key = |key| if has_name { Ok(true) } else { names.add(key) };
                Some(&mut add_key as &mut dyn FnMut(_) -> _)
            }
        };
        self.row(line, rows.table, &mut rows.state, rows.found, add_key)?;
        rows.found += 1;
        Ok(())
    }

    fn rows(
        &mut self,
        count: Count,
        table: &SharedColumns<S::Prepared>,
        depth: usize,
        keyed: bool,
    ) -> DecodeResult<S> {
        self.counted_container(count, |decoder| {
            decoder.forecast(count, table.width, table.expansion + table.path_expansion)?;
            emit!(if keyed { decoder.sink.begin_object() } else { decoder.sink.begin_array() });
            let mut rows = Rows {
                table,
                state: TableState::new(),
                count,
                found: 0,
                depth,
                names: keyed.then(NameIndex::new),
                has_name: false,
                hits: 0,
                misses: 0,
            };
            let mut missed = false;
            while let Some(line) = decoder.next_row(count, rows.found, depth)? {
                if decoder.fast && !missed && rows.expects_ordinary() {
                    missed = decoder.ordinary_rows(&mut rows)?;
                    rows.misses += u64::from(missed);
                    #[cfg(test)]
                    {
                        decoder.missed += u64::from(missed);
                    }
                    continue;
                }
                missed = false;
                decoder.general_row(line, &mut rows)?;
            }
            let found = rows.found;
            emit!(if keyed { decoder.sink.end_object() } else { decoder.sink.end_array() });
            Ok(found)
        })
    }
}
