//! A row of a table: its cells, and what stands below it.
//!
//! What is attached is read when its column's turn comes, because members are told in the order of
//! columns. Encoders write it in that order; where it has another one, the lines below the row are
//! looked through once, and then jumped to. GCF 3.6 sections 7.4.3 to 7.4.6.

use super::columns::{PathValue, Source};
use super::decode::{DecodeResult, Decoder, Failure, Preceding, SharedColumns, emit};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::syntax::line::Line;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string;
use crate::walk::Columns;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What the rows of one table know of those above.
pub(crate) struct TableState<N> {
    /// The keys of inline objects, by member.
    schemas: HashMap<usize, Arc<Vec<N>>>,
    /// The columns of arrays, by the name of the member.
    declared: HashMap<String, SharedColumns<N>>,
}

impl<N> TableState<N> {
    pub(crate) fn new() -> Self {
        Self { schemas: HashMap::new(), declared: HashMap::new() }
    }
}

/// The row that is being read.
struct Row<'t> {
    line: Line,
    /// It began with `@i `, so that something may be attached.
    has_id: bool,
    /// Its first cell among all that are open.
    base: usize,
    /// Names without a column that were attached.
    bare: NameIndex<'t>,
    jumps: Option<Jumps<'t>>,
}

/// Where things are attached to a row, when they are not in the order of its columns.
struct Jumps<'t> {
    members: HashMap<usize, Jump>,
    bare: Vec<(Cow<'t, str>, Jump)>,
    /// The line behind all of them.
    after: Option<Line>,
}

#[derive(Clone, Copy)]
struct Jump {
    line: Line,
    /// The line behind what is attached.
    until: Option<Line>,
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// Reads the row in `line`, and what stands below. In a keyed table cell 0 is a key, which `keys`
    /// is given and says to be new.
    pub(crate) fn row(
        &mut self,
        line: Line,
        table: &SharedColumns<S::Name>,
        state: &mut TableState<S::Name>,
        index: u64,
        keys: Option<&mut dyn FnMut(Cow<'t, str>) -> bool>,
    ) -> DecodeResult<S> {
        let mut start = line.start;
        let mut has_id = false;
        if self.text.as_bytes()[start] == b'@'
            && let Some((id, behind)) = split_row_id(self.lines.str(line))
        {
            if !is_index(id, index) {
                return self.fail(Code::InvalidItemId, line, "the id of a row is its index");
            }
            has_id = true;
            start += behind;
        }
        let mut more = true;
        if let Some(keys) = keys {
            let (key, stop) = self.row_key(line, start)?;
            more = stop < line.end;
            start = stop + 1;
            emit!(self.sink.key(&key));
            if !keys(key) {
                let message = "duplicate member key: the table has a row of this key";
                return self.fail(Code::DuplicateMemberKey, line, message);
            }
        }
        let base = self.cells.len();
        let marked = more && self.split(line, start)?;
        let found = self.cells.len() - base;
        if found != table.width {
            let message = format!("{} cells are declared, the row has {found}", table.width);
            return self.fail(Code::RowWidthMismatch, line, &message);
        }
        self.advance()?;
        self.enter(line.start)?;
        emit!(self.sink.begin_object());
        if table.plain && !marked {
            for (member, token) in table.members.iter().zip(&self.cells[base..]) {
                if *token != Token::Missing {
                    emit!(self.sink.known_key(&member.key));
                    emit_scalar(self.sink, token).map_err(Failure::Sink)?;
                }
            }
            if self.below(line).is_some_and(|below| self.starts(below, ".")) {
                let row = Row { line, has_id, base, bare: NameIndex::new(), jumps: None };
                self.leftovers(row, table, state)?;
            }
        } else {
            let row = Row { line, has_id, base, bare: NameIndex::new(), jumps: None };
            self.members_of(row, table, state)?;
        }
        emit!(self.sink.end_object());
        self.leave();
        self.cells.truncate(base);
        Ok(())
    }

    /// Cell 0 of a keyed table, a key as a value.
    fn row_key(&self, line: Line, start: usize) -> DecodeResult<S, (Cow<'t, str>, usize)> {
        let (token, stop) = match scalar::read(self.text, start, line.end, b'|') {
            Err(fault) if fault.code == Code::OutOfRange => {
                // A number, which is taken as its characters.
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
            Token::Null | Token::Missing | Token::Marker | Token::InlineSchema(_) => {
                self.fail(Code::InvalidKey, line, "the key of a row is a text")
            }
        }
    }

    /// Splits a row into cells; whether one holds a marker.
    fn split(&mut self, line: Line, start: usize) -> DecodeResult<S, bool> {
        let mut marked = false;
        let mut at = start;
        loop {
            let (token, stop) = scalar::read(self.text, at, line.end, b'|')?;
            marked |= matches!(token, Token::Marker | Token::InlineSchema(_));
            self.cells.push(token);
            if stop == line.end {
                return Ok(marked);
            }
            at = stop + 1;
        }
    }

    fn members_of(
        &mut self,
        mut row: Row<'t>,
        table: &SharedColumns<S::Name>,
        state: &mut TableState<S::Name>,
    ) -> DecodeResult<S> {
        for (index, member) in table.members.iter().enumerate() {
            match &member.source {
                Source::Constant(token) => {
                    emit!(self.sink.known_key(&member.key));
                    self.emit_token(token, row.line.start)?;
                }
                Source::Path(root) => self.path(table, *root, &row, true)?,
                Source::Cell(cell) => match &self.cells[row.base + cell] {
                    Token::Missing => {}
                    Token::Marker | Token::InlineSchema(_) => {
                        emit!(self.sink.known_key(&member.key));
                        self.attached(&mut row, table, state, index)?;
                    }
                    token => {
                        emit!(self.sink.known_key(&member.key));
                        emit_scalar(self.sink, token).map_err(Failure::Sink)?;
                    }
                },
            }
        }
        self.leftovers(row, table, state)
    }

    /// A member made of the cells of a path's columns.
    fn path(
        &mut self,
        table: &SharedColumns<S::Name>,
        at: usize,
        row: &Row<'t>,
        top: bool,
    ) -> DecodeResult<S> {
        let node = &table.paths[at];
        let all =
            |kind: &Token<'_>| node.cells.iter().all(|&cell| self.cells[row.base + cell] == *kind);
        if all(&Token::Missing) {
            return Ok(());
        }
        let null = top && all(&Token::Null);
        emit!(self.sink.known_key(&node.key));
        if null {
            emit!(self.sink.null());
            return Ok(());
        }
        match &node.value {
            PathValue::Leaf(cell) => {
                let token = self.cells[row.base + cell].clone();
                self.emit_token(&token, row.line.start)
            }
            PathValue::Object(children) => {
                self.enter(row.line.start)?;
                emit!(self.sink.begin_object());
                for &child in children {
                    self.path(table, child, row, false)?;
                }
                emit!(self.sink.end_object());
                self.leave();
                Ok(())
            }
        }
    }

    // What stands below

    /// The next line, if it may belong to the row in `line`.
    fn below(&self, line: Line) -> Option<Line> {
        let depth = line.indent;
        self.lines.peek().filter(|next| next.indent == depth || next.indent == depth + 2)
    }

    /// Reads what is attached to the marker of a member.
    fn attached(
        &mut self,
        row: &mut Row<'t>,
        table: &SharedColumns<S::Name>,
        state: &mut TableState<S::Name>,
        member: usize,
    ) -> DecodeResult<S> {
        if !row.has_id {
            let message = "something is attached to this row, which must begin with its id, @i";
            return self.fail(Code::MissingAttachment, row.line, message);
        }
        let own = self.learn(row, table, state, member)?;
        if row.jumps.is_none() {
            let name = &table.members[member].name;
            match self.below(row.line) {
                Some(line) if self.starts(line, ".") => {
                    let (found, behind) = self.name_of(line)?;
                    if !own && found == *name {
                        return self.named(row.line, line, (&found, behind), state, false);
                    }
                }
                Some(line) => {
                    if let Some(schema) = state.schemas.get(&member) {
                        return self.inline(line, &Arc::clone(schema));
                    }
                }
                None => {}
            }
            row.jumps = Some(self.look_through(row, table, state, member)?);
        }
        let jump = row.jumps.as_mut().and_then(|jumps| jumps.members.remove(&member));
        let Some(Jump { line, until }) = jump else {
            let message = format!("{} is not below the row", excerpt(&table.members[member].name));
            return self.fail(Code::MissingAttachment, row.line, &message);
        };
        self.lines.jump(Some(line));
        if self.starts(line, ".") {
            let (name, behind) = self.name_of(line)?;
            self.named(row.line, line, (&name, behind), state, false)?;
        } else if let Some(schema) = state.schemas.get(&member) {
            self.inline(line, &Arc::clone(schema))?;
        }
        self.check_end(until)
    }

    /// Remembers the schema that a cell declares; whether it does.
    fn learn(
        &mut self,
        row: &Row<'t>,
        table: &SharedColumns<S::Name>,
        state: &mut TableState<S::Name>,
        member: usize,
    ) -> DecodeResult<S, bool> {
        let Some(cell) = table.cell(member) else { return Ok(false) };
        let Token::InlineSchema(names) = &self.cells[row.base + cell] else { return Ok(false) };
        let mut seen = NameIndex::new();
        let mut keys = Vec::with_capacity(names.len());
        for name in names {
            keys.push(emit!(self.sink.name(name)));
            if !seen.add(Cow::Borrowed(name)) {
                return self.fail(Code::DuplicateFieldName, row.line, "a schema with a name twice");
            }
        }
        state.schemas.insert(member, Arc::new(keys));
        Ok(true)
    }

    /// Finds everything that is attached to a row from the marker of `member` on.
    fn look_through(
        &mut self,
        row: &mut Row<'t>,
        table: &SharedColumns<S::Name>,
        state: &TableState<S::Name>,
        member: usize,
    ) -> DecodeResult<S, Jumps<'t>> {
        let mut jumps = Jumps { members: HashMap::new(), bare: Vec::new(), after: None };
        let mut next_inline = member;
        while let Some(line) = self.below(row.line) {
            let target = if self.starts(line, ".") {
                let (name, _) = self.name_of(line)?;
                match self.target(row, table, &name, line)? {
                    None => Err(name),
                    Some(found) if found < member || jumps.members.contains_key(&found) => {
                        return self.fail(Code::DuplicateAttachment, line, "attached twice");
                    }
                    Some(found) => Ok(found),
                }
            } else {
                let is_open =
                    |index: usize| match table.cell(index).map(|c| &self.cells[row.base + c]) {
                        Some(Token::InlineSchema(_)) => !jumps.members.contains_key(&index),
                        Some(Token::Marker) => {
                            state.schemas.contains_key(&index)
                                && !jumps.members.contains_key(&index)
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
            let jump = Jump { line, until: self.lines.peek() };
            match target {
                Ok(found) => drop(jumps.members.insert(found, jump)),
                Err(name) => jumps.bare.push((name, jump)),
            }
        }
        jumps.after = self.lines.peek();
        Ok(jumps)
    }

    /// The member that a name below a row means; `None` for a name that no column has.
    fn target(
        &self,
        row: &Row<'t>,
        table: &SharedColumns<S::Name>,
        name: &str,
        line: Line,
    ) -> DecodeResult<S, Option<usize>> {
        let member = table.find(name);
        let cell = member.and_then(|member| table.cell(member));
        match cell.map(|cell| &self.cells[row.base + cell]) {
            Some(Token::Marker) => Ok(member),
            None if row.has_id && name.contains('>') => Ok(None),
            _ => self.fail(Code::OrphanAttachment, line, "no cell of the row asks for this"),
        }
    }

    /// Fields without a column, and what should not be there.
    fn leftovers(
        &mut self,
        mut row: Row<'t>,
        table: &SharedColumns<S::Name>,
        state: &mut TableState<S::Name>,
    ) -> DecodeResult<S> {
        if let Some(jumps) = row.jumps.take() {
            for (name, Jump { line, until }) in jumps.bare {
                self.lines.jump(Some(line));
                self.bare_field(&mut row, state, name, line)?;
                self.check_end(until)?;
            }
            self.lines.jump(jumps.after);
            self.preceding = Preceding::Attachments;
        }
        while let Some(line) = self.below(row.line).filter(|&line| self.starts(line, ".")) {
            let (name, _) = self.name_of(line)?;
            if self.target(&row, table, &name, line)?.is_some() {
                return self.fail(Code::DuplicateAttachment, line, "attached twice");
            }
            self.bare_field(&mut row, state, name, line)?;
        }
        Ok(())
    }

    fn bare_field(
        &mut self,
        row: &mut Row<'t>,
        state: &mut TableState<S::Name>,
        name: Cow<'t, str>,
        line: Line,
    ) -> DecodeResult<S> {
        let (_, behind) = self.name_of(line)?;
        emit!(self.sink.key(&name));
        self.named(row.line, line, (&name, behind), state, true)?;
        if row.bare.add(name) {
            Ok(())
        } else {
            self.fail(Code::DuplicateAttachment, line, "attached twice")
        }
    }

    /// The name of a line that begins with `.`, and where it ends.
    fn name_of(&self, line: Line) -> DecodeResult<S, (Cow<'t, str>, usize)> {
        match string::read_key(self.text, line.start + 1, line.end)? {
            Some((name, behind)) => Ok((name, behind)),
            None => self.fail(Code::InvalidLine, line, "an attachment is .name and what it is"),
        }
    }

    /// `.name {}` and its like, at `line` below the row at `row`.
    fn named(
        &mut self,
        row: Line,
        line: Line,
        (name, behind): (&str, usize),
        state: &mut TableState<S::Name>,
        bare: bool,
    ) -> DecodeResult<S> {
        let bytes = &self.text.as_bytes()[..line.end];
        let at = skip_blanks(bytes, behind);
        let depth = row.indent + 4;
        self.advance()?;
        match bytes.get(at) {
            Some(b'[') if at > behind => {
                let declared = state.declared.get(name).cloned();
                if let Some(table) = self.array(at, line.end, depth, declared)? {
                    state.declared.entry(name.to_owned()).or_insert(table);
                }
            }
            Some(b'=') if at > behind && bare => self.scalar(at + 1, line.end)?,
            Some(_) if at > behind && self.is_empty_braces(at, line.end) => self.object(depth)?,
            _ => return self.fail(Code::InvalidLine, line, "behind the name stand {} or a count"),
        }
        self.preceding = Preceding::Attachments;
        Ok(())
    }

    /// A line of cells, the object of a marker with these keys.
    fn inline(&mut self, line: Line, keys: &[S::Name]) -> DecodeResult<S> {
        self.advance()?;
        self.enter(line.start)?;
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
            let message = format!("{} values are declared, the line has {found}", keys.len());
            return self.fail(Code::InlineWidthMismatch, line, &message);
        }
        emit!(self.sink.end_object());
        self.leave();
        self.preceding = Preceding::Attachments;
        Ok(())
    }

    fn check_end(&self, until: Option<Line>) -> DecodeResult<S> {
        match self.lines.peek() {
            Some(line) if Some(line) != until => {
                Err(Fault::new(Code::CountMismatch, line.start, "a line behind what was attached")
                    .into())
            }
            _ => Ok(()),
        }
    }
}

/// Tells a token that is known to be a scalar.
fn emit_scalar<S: Columns>(sink: &mut S, token: &Token<'_>) -> Result<(), S::Error> {
    match token {
        Token::String(text) => sink.string(text),
        Token::Int(value) => sink.int(*value),
        Token::Float(value) => sink.float(*value),
        Token::Bool(value) => sink.bool(*value),
        Token::Null | Token::Missing | Token::Marker | Token::InlineSchema(_) => sink.null(),
    }
}
