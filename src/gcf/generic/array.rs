//! What follows a name: the head of an array or keyed table, and its body.
//!
//! The head alone says what the body is; it is never looked at to find out (with one exception,
//! named in [`Decoder::body`]). GCF 3.6 sections 6 to 8.

use super::columns::TableColumns;
use super::decode::{DecodeResult, Decoder, Failure, Preceding, SharedColumns, emit};
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

/// What the head of a block announces.
pub(crate) enum ArrayHead<N> {
    /// `[2]: a,b`: elements from `start` on.
    List { count: Count, start: usize },
    /// `[2]{a,b}`: rows.
    Table { count: Count, table: SharedColumns<N> },
    /// `[2:]{key,a}`: rows that begin with a key.
    Keyed { count: Count, table: SharedColumns<N> },
    /// `[2]`: items, or rows of columns that were declared before.
    CountOnly { count: Count },
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// What follows a name, from its bracket at `at` on; the body stands at `depth`. `declared` are
    /// columns that a row above has declared under the name. Gives the columns of a plain table that
    /// is declared here.
    pub(crate) fn array(
        &mut self,
        at: usize,
        end: usize,
        depth: usize,
        declared: Option<SharedColumns<S::Name>>,
    ) -> DecodeResult<S, Option<SharedColumns<S::Name>>> {
        match self.head(at, end)? {
            ArrayHead::List { count, start } => self.list(count, start, end)?,
            ArrayHead::Keyed { count, table } => self.keyed_rows(count, &table, depth)?,
            ArrayHead::CountOnly { count } => self.counted_body(count, depth, declared)?,
            ArrayHead::Table { count, table } => {
                self.rows(count, &table, depth)?;
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// Reads the head of a block, from its bracket at `at` on.
    pub(crate) fn head(&mut self, at: usize, end: usize) -> DecodeResult<S, ArrayHead<S::Name>> {
        let (count, behind) = read_count(self.text, at, end)?;
        let bytes = &self.text.as_bytes()[..end];
        match bytes.get(behind) {
            Some(b'{') => self.head_with_fields(count, behind, end),
            _ if count.keyed => {
                let message = "a keyed table declares its fields in braces";
                Err(Fault::new(Code::InvalidLine, behind, message).into())
            }
            Some(b':') => Ok(ArrayHead::List { count, start: behind + 1 }),
            _ if skip_blanks(bytes, behind) == end => Ok(ArrayHead::CountOnly { count }),
            _ => {
                let message = "behind a count stand a colon, fields in braces, or nothing";
                Err(Fault::new(Code::InvalidLine, behind, message).into())
            }
        }
    }

    fn head_with_fields(
        &mut self,
        count: Count,
        at: usize,
        end: usize,
    ) -> DecodeResult<S, ArrayHead<S::Name>> {
        let (mut fields, behind) = read_fields(self.text, at, end)?;
        let rest = skip_blanks(&self.text.as_bytes()[..end], behind);
        if rest < end {
            let grouped = self.text[rest..end].starts_with("group=");
            let (code, message) = if grouped {
                (Code::UnsupportedExtension, "group= is a draft that is not read")
            } else {
                (Code::TrailingCharacters, "text behind the declaration")
            };
            return Err(Fault::new(code, rest, message).into());
        }
        if fields.iter().filter(|field| field.identity).count() > 1 {
            let message = "only one field is the identity";
            return Err(Fault::new(Code::InvalidFieldDeclaration, at, message).into());
        }
        if !count.keyed {
            let constant = fields.iter().all(|field| field.constant.is_some());
            if constant {
                let message = "all columns are constant; rows need one of their own";
                return Err(Fault::new(Code::NoBareColumn, at, message).into());
            }
            return Ok(ArrayHead::Table { count, table: self.columns(fields)? });
        }
        if fields.iter().any(|field| field.constant.is_some()) {
            let message = "a keyed table has no constant columns";
            return Err(Fault::new(Code::InvalidFieldDeclaration, at, message).into());
        }
        if fields.len() < 2 {
            let message = "a keyed table declares at least two fields";
            return Err(Fault::new(Code::TooFewFields, at, message).into());
        }
        if count.value == Some(0) {
            let message = "a keyed table with a zero count; an empty object has no table";
            return Err(Fault::new(Code::ZeroCount, count.at, message).into());
        }
        let label = fields.remove(0);
        if fields.iter().any(|field| field.name == label.name) {
            let message = format!("the label {} is also a field", excerpt(&label.name));
            return Err(Fault::new(Code::DuplicateFieldName, label.at, message).into());
        }
        Ok(ArrayHead::Keyed { count, table: self.columns(fields)? })
    }

    fn columns(&mut self, fields: Vec<Field<'t>>) -> DecodeResult<S, SharedColumns<S::Name>> {
        let sink = &mut *self.sink;
        let room = self.limits.max_depth.saturating_sub(self.depth);
        TableColumns::new(fields, room, &mut |name| sink.name(name).map_err(Failure::Sink))
            .map(Arc::new)
    }

    /// A body whose header is nothing but a count: items, or rows of declared columns.
    ///
    /// The specification forbids to look at the body, and leaves its encoder no other way to write
    /// an expanded array where columns are declared: there, a first line that is an item decides.
    fn counted_body(
        &mut self,
        count: Count,
        depth: usize,
        declared: Option<SharedColumns<S::Name>>,
    ) -> DecodeResult<S> {
        match declared {
            Some(table) if count.value != Some(0) && !self.is_item(depth) => {
                self.rows(count, &table, depth)
            }
            _ => self.items(count, depth),
        }
    }

    fn is_item(&self, depth: usize) -> bool {
        let Some(line) = self.lines.peek().filter(|line| line.indent == depth) else {
            return false;
        };
        let text = self.lines.str(line);
        split_row_id(text).is_some_and(|(_, behind)| {
            let form = &text[behind..];
            form.starts_with('=') || form.starts_with('[') || form.starts_with("{}")
        })
    }

    fn items(&mut self, count: Count, depth: usize) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        emit!(self.sink.begin_array());
        let mut found = 0;
        while let Some((line, form)) = self.next_item(count, found, depth)? {
            self.item(line, form, depth + 2)?;
            found += 1;
        }
        emit!(self.sink.end_array());
        self.leave();
        self.check_count(count, deferred, found)?;
        self.preceding = Preceding::CountedBody;
        Ok(())
    }

    /// The next line, if it is an item, and where its form begins.
    pub(crate) fn next_item(
        &self,
        count: Count,
        found: u64,
        depth: usize,
    ) -> DecodeResult<S, Option<(Line, usize)>> {
        let Some(line) = self.next_row(count, found, depth)? else { return Ok(None) };
        let Some((id, form)) = split_row_id(self.lines.str(line)) else { return Ok(None) };
        if !is_index(id, found) {
            return self.fail(Code::InvalidItemId, line, "the id of an item is its index");
        }
        Ok(Some((line, line.start + form)))
    }

    /// Reads the item in `line`, whose form begins at `at`; its body stands at `depth`.
    pub(crate) fn item(&mut self, line: Line, at: usize, depth: usize) -> DecodeResult<S> {
        self.advance()?;
        let bytes = &self.text.as_bytes()[..line.end];
        match bytes.get(at) {
            Some(b'=') => self.scalar(at + 1, line.end),
            Some(b'[') => self.array(at, line.end, depth, None).map(drop),
            _ if self.is_empty_braces(at, line.end) => self.object(depth),
            _ => self.fail(Code::InvalidLine, line, "an item is =scalar, {} or a bracket"),
        }
    }

    pub(crate) fn is_empty_braces(&self, at: usize, end: usize) -> bool {
        self.text[at..end].starts_with("{}")
            && skip_blanks(&self.text.as_bytes()[..end], at + 2) == end
    }

    // Tables

    /// The next line, if it is a row.
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

    fn rows(
        &mut self,
        count: Count,
        table: &SharedColumns<S::Name>,
        depth: usize,
    ) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        emit!(self.sink.begin_array());
        let mut found = 0;
        let mut state = TableState::new();
        while let Some(line) = self.next_row(count, found, depth)? {
            self.row(line, table, &mut state, found, None)?;
            found += 1;
        }
        emit!(self.sink.end_array());
        self.leave();
        self.check_count(count, deferred, found)?;
        self.preceding = Preceding::CountedBody;
        Ok(())
    }

    fn keyed_rows(
        &mut self,
        count: Count,
        table: &SharedColumns<S::Name>,
        depth: usize,
    ) -> DecodeResult<S> {
        self.enter(count.at)?;
        let deferred = self.defer(count);
        emit!(self.sink.begin_object());
        let mut found = 0;
        let mut state = TableState::new();
        let mut names = NameIndex::new();
        while let Some(line) = self.next_row(count, found, depth)? {
            self.row(line, table, &mut state, found, Some(&mut |key| names.add(key)))?;
            found += 1;
        }
        emit!(self.sink.end_object());
        self.leave();
        self.check_count(count, deferred, found)?;
        self.preceding = Preceding::CountedBody;
        Ok(())
    }
}
