//! A row of a table: its cells and its attachments.
//!
//! Members are emitted in column order, so an attachment is read when its column is reached. Encoders
//! write attachments in that order. If a text has another order, the lines below the row are scanned
//! once, and the decoder jumps to each attachment. GCF 3.6 sections 7.4.3 to 7.4.6.

use super::columns::{PathMarks, PathValue, Source, TableColumns};
use super::decode::{
    DUPLICATE_ROW, DecodeResult, Decoder, Failure, Preceding, SharedColumns, check_scalar, emit,
    emit_scalar,
};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string;
use crate::interrupt::Steps;
use crate::memory;
use crate::walk::Columns;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::TryReserveError;
use std::sync::Arc;

/// The schemas that earlier rows of a table have declared for later ones.
pub(crate) struct TableState<N> {
    /// The inline schema `^{a,b}` of each member: the keys of its inline objects.
    inline_schemas: Option<HashMap<usize, Arc<InlineSchema<N>>>>,
    /// The shared schema of each attached field: the columns of the attached tables.
    shared_schemas: Option<HashMap<Attached, SharedColumns<N>>>,
    /// The nodes of flattened members that the current row has.
    marks: PathMarks,
}

/// A field that is attached to a row.
#[derive(PartialEq, Eq, Hash)]
enum Attached {
    /// The member with this index.
    Member(usize),
    /// An undeclared field.
    Undeclared(String),
}

/// The keys of an inline object.
struct InlineSchema<N> {
    keys: Vec<N>,
    /// The sum of their lengths.
    expansion: u64,
}

impl<N> TableState<N> {
    pub(crate) fn new() -> Self {
        Self { inline_schemas: None, shared_schemas: None, marks: PathMarks::default() }
    }

    /// The schema of a member's inline objects.
    fn inline_schema(&self, member: usize) -> Option<&Arc<InlineSchema<N>>> {
        self.inline_schemas.as_ref()?.get(&member)
    }
}

/// Adds the key of a row of a keyed table; returns `false` if it is a duplicate.
pub(crate) type AddKey<'k, 't> = dyn FnMut(Cow<'t, str>) -> Result<bool, TryReserveError> + 'k;

/// The row that is being read.
pub(super) struct Row<'t> {
    line: Line,
    /// Whether it begins with `@i `; only such a row can have attachments.
    has_id: bool,
    /// The index of its first cell in [`Decoder::cells`].
    base: usize,
    /// The offset of its first cell, until the cells are parsed into [`Decoder::cells`].
    unsplit: Option<usize>,
    /// The undeclared fields attached so far: names with `>`, which have no column.
    undeclared: NameIndex<'t>,
    /// The remaining attachments, if they are not in column order.
    attachments: Option<Attachments<'t>>,
}

impl Row<'_> {
    fn new(line: Line, has_id: bool, base: usize, unsplit: Option<usize>) -> Self {
        Self { line, has_id, base, unsplit, undeclared: NameIndex::new(), attachments: None }
    }

    /// A row whose cells begin at the offset `cells` and are parsed only when they are needed.
    pub(super) fn unsplit(line: Line, has_id: bool, cells: usize) -> Self {
        Self::new(line, has_id, 0, Some(cells))
    }
}

/// The attachments of a row, found by a scan of the lines below it.
struct Attachments<'t> {
    members: HashMap<usize, Attachment>,
    undeclared: Vec<(Cow<'t, str>, Attachment)>,
    /// The line after the last attachment.
    after: Option<Line>,
}

#[derive(Clone, Copy)]
struct Attachment {
    line: Line,
    /// The line after the attachment.
    end: Option<Line>,
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// Reads the row in `line` and its attachments. In a keyed table cell 0 is the member key; `add_key`
    /// records it, unless the sink itself finds duplicate keys.
    pub(crate) fn row(
        &mut self,
        line: Line,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
        index: u64,
        add_key: Option<&mut AddKey<'_, 't>>,
    ) -> DecodeResult<S> {
        let (has_id, mut start) = self.row_id(line, index)?;
        let mut more = true;
        if let Some(add_key) = add_key {
            let stop = self.emit_row_key(line, start, add_key)?;
            more = stop < line.end;
            start = stop + 1;
        }
        let base = self.cells.len();
        let marked = more && self.split_cells(line, start, &table.lists)?;
        let found = self.cells.len() - base;
        if found != table.width {
            let message = format!("expected {} cells, found {found}", table.width);
            return self.fail(Code::RowWidthMismatch, line, &message);
        }
        self.advance()?;
        self.enter(line.start)?;
        self.expand(table.expansion, line.start)?;
        emit!(self.sink.begin_row(table.members.len()));
        if table.plain && !marked {
            for (member, token) in table.members.iter().zip(&self.cells[base..]) {
                if *token != Token::Missing {
                    emit!(self.sink.known_key(&member.key));
                    emit_scalar(self.sink, token).map_err(Failure::Sink)?;
                }
            }
            if self.attachment_line(line).is_some_and(|below| self.starts(below, ".")) {
                let row = Row::new(line, has_id, base, None);
                self.remaining_attachments(row, table, state)?;
            }
        } else {
            let row = Row::new(line, has_id, base, None);
            self.row_members(row, table, state)?;
        }
        emit!(self.sink.end_object());
        self.leave();
        self.cells.truncate(base);
        Ok(())
    }

    /// Parses the id `@i` of the row in `line`, if it has one, which must be its index. Returns whether it has
    /// one, and the offset of its cells.
    #[inline]
    fn row_id(&self, line: Line, index: u64) -> DecodeResult<S, (bool, usize)> {
        if self.text.as_bytes()[line.start] != b'@' {
            return Ok((false, line.start));
        }
        let Some((id, after)) = split_row_id(self.lines.str(line)) else {
            return Ok((false, line.start));
        };
        if !is_index(id, index) {
            return self.fail(Code::InvalidItemId, line, "the id of a row must be its index");
        }
        Ok((true, line.start + after))
    }

    /// Emits cell 0 of a keyed table, which must be a new member key. Returns the offset after it.
    #[inline]
    fn emit_row_key(
        &mut self,
        line: Line,
        start: usize,
        add_key: &mut AddKey<'_, 't>,
    ) -> DecodeResult<S, usize> {
        let (key, stop) = self.row_key(line, start)?;
        emit!(self.sink.key(&key));
        let is_new =
            if self.sink.finds_repeated_keys() { !self.sink.has_key() } else { add_key(key)? };
        if !is_new {
            return self.fail(Code::DuplicateMemberKey, line, DUPLICATE_ROW);
        }
        Ok(stop)
    }

    /// Reads cell 0 of a keyed table: a member key, written as a value.
    fn row_key(&self, line: Line, start: usize) -> DecodeResult<S, (Cow<'t, str>, usize)> {
        let (token, stop) = match scalar::read(self.text, start, line.end, b'|') {
            Err(fault) if fault.code == Code::OutOfRange => {
                // A number out of range is valid as a key: the key is its text.
                let length = self.text[start..line.end].find('|');
                (Token::Int(0), length.map_or(line.end, |length| start + length))
            }
            read => read?,
        };
        match token {
            Token::String(text) => Ok((text, stop)),
            Token::Int(_) | Token::Float(_) | Token::Bool(_) => {
                let key = self.text[start..stop].trim_matches([' ', '\t']);
                Ok((Cow::Borrowed(key), stop))
            }
            _ => self.fail(Code::InvalidKey, line, "the key of a row must be a string"),
        }
    }

    /// Parses the cells of a row; returns whether one of them holds an attachment marker. `lists` says which
    /// of them hold lists.
    pub(super) fn split_cells(
        &mut self,
        line: Line,
        start: usize,
        lists: &[bool],
    ) -> DecodeResult<S, bool> {
        let mut marked = false;
        let mut at = start;
        let mut lists = lists.iter();
        loop {
            let (token, stop) = match lists.next() {
                Some(true) => self.list_cell(at, line.end)?,
                _ => scalar::read(self.text, at, line.end, b'|')?,
            };
            marked |= matches!(token, Token::Marker | Token::InlineSchema(_));
            self.cells.try_reserve(1)?;
            self.cells.push(token);
            if stop == line.end {
                return Ok(marked);
            }
            at = stop + 1;
        }
    }

    /// Parses the cell of a list column and checks its elements. Returns `-`, `~` or the place of the
    /// elements, and the offset after the cell.
    fn list_cell(&self, start: usize, end: usize) -> DecodeResult<S, (Token<'t>, usize)> {
        let is_end = |stop: usize| stop == end || self.text.as_bytes()[stop] == b'|';
        let mut steps = Steps::default();
        let mut at = start;
        loop {
            steps.step();
            let (token, stop) = scalar::read_element(self.text, at, end)?;
            if at == start && is_end(stop) && matches!(token, Token::Null | Token::Missing) {
                return Ok((token, stop));
            }
            check_scalar(&token, at)?;
            if is_end(stop) {
                return Ok((Token::List { start, end: stop }, stop));
            }
            at = stop + 1;
        }
    }

    /// Emits the members of a row that is not plain, and reads its attachments.
    fn row_members(
        &mut self,
        mut row: Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
    ) -> DecodeResult<S> {
        if !table.paths.is_empty() {
            state.marks.mark(table, &self.cells[row.base..]);
        }
        for (index, member) in table.members.iter().enumerate() {
            match &member.source {
                Source::Constant(constant) => {
                    emit!(self.sink.known_key(&member.key));
                    emit!(self.sink.known_scalar(constant));
                }
                Source::Path(root) if !state.marks.has(*root) => {}
                Source::Path(root) if state.marks.is_null(table, *root) => {
                    emit!(self.sink.known_key(&member.key));
                    emit!(self.sink.null());
                }
                Source::Path(root) => self.path_member(table, *root, &row, &state.marks)?,
                Source::List(cell) => match self.cells[row.base + cell] {
                    Token::Missing => {}
                    Token::List { start, end } => {
                        emit!(self.sink.known_key(&member.key));
                        self.enter(start)?;
                        self.list_elements(start, end, b',', true)?;
                        self.leave();
                    }
                    _ => {
                        emit!(self.sink.known_key(&member.key));
                        emit!(self.sink.null());
                    }
                },
                Source::Cell(cell) => match &self.cells[row.base + cell] {
                    Token::Missing => {}
                    Token::Marker | Token::InlineSchema(_) => {
                        emit!(self.sink.known_key(&member.key));
                        self.member_attachment(&mut row, table, state, index)?;
                    }
                    token => {
                        emit!(self.sink.known_key(&member.key));
                        emit_scalar(self.sink, token).map_err(Failure::Sink)?;
                    }
                },
            }
        }
        self.remaining_attachments(row, table, state)
    }

    /// Emits a node of a flattened member. The row has this node.
    fn path_member(
        &mut self,
        table: &SharedColumns<S::Prepared>,
        at: usize,
        row: &Row<'t>,
        marks: &PathMarks,
    ) -> DecodeResult<S> {
        let node = &table.paths[at];
        emit!(self.sink.known_key(&node.key));
        match &node.value {
            PathValue::Leaf(cell) => {
                let token = self.cells[row.base + cell].clone();
                self.emit_token(&token, row.line.start)
            }
            PathValue::Object(children) => {
                self.enter(row.line.start)?;
                self.expand(node.expansion, row.line.start)?;
                emit!(self.sink.begin_object());
                for &child in children.iter().filter(|&&child| marks.has(child)) {
                    self.path_member(table, child, row, marks)?;
                }
                emit!(self.sink.end_object());
                self.leave();
                Ok(())
            }
        }
    }

    // Attachments

    /// The next line, if its indentation is that of an attachment of the row in `line`.
    fn attachment_line(&self, line: Line) -> Option<Line> {
        let depth = line.indent;
        self.lines.peek().filter(|next| next.indent == depth || next.indent == depth + 2)
    }

    /// Reads the attachment of a member whose cell holds a marker.
    fn member_attachment(
        &mut self,
        row: &mut Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
        member: usize,
    ) -> DecodeResult<S> {
        if !row.has_id {
            let message = "a row with attachments must begin with its id, @i";
            return self.fail(Code::MissingAttachment, row.line, message);
        }
        let declares_schema = self.declare_inline_schema(row, table, state, member)?;
        self.attached_value(row, table, state, member, declares_schema)
    }

    /// Parses the cells of a row unless they are parsed already.
    fn split_row(&mut self, row: &mut Row<'t>) -> DecodeResult<S> {
        if let Some(start) = row.unsplit.take() {
            row.base = self.cells.len();
            self.split_cells(row.line, start, &[])?;
        }
        Ok(())
    }

    /// Reads the attachment of a member of a row that has an id.
    pub(super) fn attached_value(
        &mut self,
        row: &mut Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
        member: usize,
        declares_schema: bool,
    ) -> DecodeResult<S> {
        if row.attachments.is_none() {
            match self.attachment_line(row.line) {
                Some(line) if self.starts(line, ".") => {
                    let after = self.attached_to(line, table, member)?;
                    if let Some(after) = after.filter(|_| !declares_schema) {
                        let of = Attached::Member(member);
                        return self.named_attachment(row.line, line, after, state, of);
                    }
                }
                Some(line) => {
                    if let Some(schema) = state.inline_schema(member) {
                        return self.inline_object(line, &Arc::clone(schema));
                    }
                }
                None => {}
            }
            row.attachments = Some(self.scan_attachments(row, table, state, member)?);
        }
        let attachment =
            row.attachments.as_mut().and_then(|attachments| attachments.members.remove(&member));
        let Some(Attachment { line, end }) = attachment else {
            let name = excerpt(table.name(member));
            let message = format!("missing attachment {name} of the row");
            return self.fail(Code::MissingAttachment, row.line, &message);
        };
        self.lines.jump(Some(line));
        if self.starts(line, ".") {
            let (_, after) = self.attachment_name(line)?;
            self.named_attachment(row.line, line, after, state, Attached::Member(member))?;
        } else if let Some(schema) = state.inline_schema(member) {
            self.inline_object(line, &Arc::clone(schema))?;
        }
        self.check_attachment_end(end)
    }

    /// Records the inline schema if the member's cell declares one; returns whether it does.
    fn declare_inline_schema(
        &mut self,
        row: &Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
        member: usize,
    ) -> DecodeResult<S, bool> {
        let Some(cell) = table.cell(member) else { return Ok(false) };
        let Token::InlineSchema(names) = &self.cells[row.base + cell] else { return Ok(false) };
        let mut seen = NameIndex::new();
        let mut schema = InlineSchema { keys: Vec::with_capacity(names.len()), expansion: 0 };
        for name in names {
            schema.keys.push(emit!(self.sink.name(name)));
            schema.expansion += name.len() as u64;
            if !seen.add(Cow::Borrowed(name))? {
                let message = "duplicate field in an inline schema";
                return self.fail(Code::DuplicateFieldName, row.line, message);
            }
        }
        let schemas = state.inline_schemas.get_or_insert_default();
        schemas.try_reserve(1).map_err(|_| memory::exhausted())?;
        schemas.insert(member, Arc::new(schema));
        Ok(true)
    }

    /// Scans the attachments of a row, those of `member` and of later members.
    fn scan_attachments(
        &mut self,
        row: &mut Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &TableState<S::Prepared>,
        member: usize,
    ) -> DecodeResult<S, Attachments<'t>> {
        self.split_row(row)?;
        let mut attachments =
            Attachments { members: HashMap::new(), undeclared: Vec::new(), after: None };
        let mut next_inline = member;
        while let Some(line) = self.attachment_line(row.line) {
            let target = if self.starts(line, ".") {
                let (name, _) = self.attachment_name(line)?;
                match self.attachment_member(row, table, &name, line)? {
                    None => Err(name),
                    Some(found) if found < member || attachments.members.contains_key(&found) => {
                        return self.fail(Code::DuplicateAttachment, line, "duplicate attachment");
                    }
                    Some(found) => Ok(found),
                }
            } else {
                let is_open =
                    |index: usize| match table.cell(index).map(|c| &self.cells[row.base + c]) {
                        Some(Token::InlineSchema(_)) => !attachments.members.contains_key(&index),
                        Some(Token::Marker) => {
                            state.inline_schema(index).is_some()
                                && !attachments.members.contains_key(&index)
                        }
                        _ => false,
                    };
                while next_inline < table.members.len() && !is_open(next_inline) {
                    next_inline += 1;
                }
                if next_inline == table.members.len() {
                    break;
                }
                Ok(next_inline)
            };
            self.advance()?;
            while self.lines.peek().is_some_and(|next| next.indent > row.line.indent + 2) {
                self.advance()?;
            }
            let attachment = Attachment { line, end: self.lines.peek() };
            attachments.members.try_reserve(1).map_err(|_| memory::exhausted())?;
            attachments.undeclared.try_reserve(1)?;
            match target {
                Ok(found) => drop(attachments.members.insert(found, attachment)),
                Err(name) => attachments.undeclared.push((name, attachment)),
            }
        }
        attachments.after = self.lines.peek();
        Ok(attachments)
    }

    /// The member that an attachment belongs to; `None` for an undeclared field.
    fn attachment_member(
        &self,
        row: &Row<'t>,
        table: &SharedColumns<S::Prepared>,
        name: &str,
        line: Line,
    ) -> DecodeResult<S, Option<usize>> {
        let member = table.find(name);
        let cell = member.and_then(|member| table.cell(member));
        match cell.map(|cell| &self.cells[row.base + cell]) {
            Some(Token::Marker) => Ok(member),
            None if row.has_id && name.contains('>') => Ok(None),
            _ => self.fail(
                Code::OrphanAttachment,
                line,
                "no cell of the row refers to this attachment",
            ),
        }
    }

    /// Reads the undeclared fields of a row; any other remaining attachment is an error.
    pub(super) fn remaining_attachments(
        &mut self,
        mut row: Row<'t>,
        table: &SharedColumns<S::Prepared>,
        state: &mut TableState<S::Prepared>,
    ) -> DecodeResult<S> {
        if let Some(attachments) = row.attachments.take() {
            for (name, Attachment { line, end }) in attachments.undeclared {
                self.lines.jump(Some(line));
                self.undeclared_field(&mut row, state, name, line)?;
                self.check_attachment_end(end)?;
            }
            self.lines.jump(attachments.after);
            self.preceding = Preceding::Attachments;
        }
        while let Some(line) = self.attachment_line(row.line).filter(|&line| self.starts(line, "."))
        {
            self.split_row(&mut row)?;
            let (name, _) = self.attachment_name(line)?;
            if self.attachment_member(&row, table, &name, line)?.is_some() {
                return self.fail(Code::DuplicateAttachment, line, "duplicate attachment");
            }
            self.undeclared_field(&mut row, state, name, line)?;
        }
        Ok(())
    }

    fn undeclared_field(
        &mut self,
        row: &mut Row<'t>,
        state: &mut TableState<S::Prepared>,
        name: Cow<'t, str>,
        line: Line,
    ) -> DecodeResult<S> {
        let (_, after) = self.attachment_name(line)?;
        emit!(self.sink.key(&name));
        let of = Attached::Undeclared(name.clone().into_owned());
        self.named_attachment(row.line, line, after, state, of)?;
        if row.undeclared.add(name)? {
            Ok(())
        } else {
            self.fail(Code::DuplicateAttachment, line, "duplicate attachment")
        }
    }

    /// The offset after the name in the line of an attachment, if it is that of the member.
    #[inline]
    fn attached_to(
        &self,
        line: Line,
        table: &TableColumns<S::Prepared>,
        member: usize,
    ) -> DecodeResult<S, Option<usize>> {
        let expected = table.name(member);
        let after = line.start + 1 + expected.len();
        if table.members[member].has_bare_key
            && self.lines.str(line)[1..].starts_with(expected)
            && self.text.as_bytes().get(after) == Some(&b' ')
        {
            return Ok(Some(after));
        }
        let (name, after) = self.attachment_name(line)?;
        Ok((name == expected).then_some(after))
    }

    /// Parses the name of an attachment, `.name`; returns it and the offset after it.
    fn attachment_name(&self, line: Line) -> DecodeResult<S, (Cow<'t, str>, usize)> {
        match string::read_key(self.text, line.start + 1, line.end)? {
            Some((name, after)) => Ok((name, after)),
            None => {
                self.fail(Code::InvalidLine, line, "expected an attachment, .name and its value")
            }
        }
    }

    /// Reads an attachment `.name {}`, `.name [2]` or, if it is undeclared, `.name =scalar`, from the offset
    /// after its name on.
    fn named_attachment(
        &mut self,
        row: Line,
        line: Line,
        after: usize,
        state: &mut TableState<S::Prepared>,
        of: Attached,
    ) -> DecodeResult<S> {
        let bytes = &self.text.as_bytes()[..line.end];
        let at = skip_blanks(bytes, after);
        let depth = row.indent + 4;
        self.advance()?;
        match bytes.get(at) {
            Some(b'[') if at > after => {
                let declared = state.shared_schemas.as_ref().and_then(|schemas| schemas.get(&of));
                if let Some(table) = self.array(at, line.end, depth, declared)? {
                    state.shared_schemas.get_or_insert_default().entry(of).or_insert(table);
                }
            }
            Some(b'=') if at > after && matches!(of, Attached::Undeclared(_)) => {
                self.scalar(at + 1, line.end)?;
            }
            Some(_) if at > after && self.is_empty_braces(at, line.end) => self.object(depth)?,
            _ => {
                return self.fail(Code::InvalidLine, line, "expected {} or [count] after the name");
            }
        }
        self.preceding = Preceding::Attachments;
        Ok(())
    }

    /// Reads a line of values, the inline object of a schema with these keys.
    fn inline_object(
        &mut self,
        line: Line,
        InlineSchema { keys, expansion }: &InlineSchema<S::Prepared>,
    ) -> DecodeResult<S> {
        self.advance()?;
        self.enter(line.start)?;
        self.expand(*expansion, line.start)?;
        emit!(self.sink.begin_object());
        let mut at = line.start;
        let mut found = 0;
        loop {
            let (token, stop) = scalar::read(self.text, at, line.end, b'|')?;
            if let Some(key) = keys.get(found) {
                emit!(self.sink.known_key(key));
                self.emit_token(&token, at)?;
            }
            found += 1;
            if stop == line.end {
                break;
            }
            at = stop + 1;
        }
        if found != keys.len() {
            let message = format!("expected {} values, found {found}", keys.len());
            return self.fail(Code::InlineWidthMismatch, line, &message);
        }
        emit!(self.sink.end_object());
        self.leave();
        self.preceding = Preceding::Attachments;
        Ok(())
    }

    fn check_attachment_end(&self, end: Option<Line>) -> DecodeResult<S> {
        match self.lines.peek() {
            Some(line) if Some(line) != end => Err(Fault::new(
                Code::CountMismatch,
                line.start,
                "unexpected line after the attachment",
            )
            .into()),
            _ => Ok(()),
        }
    }
}
