//! Reads grouped tables: the clause after the declaration, group lines and rows.
//!
//! Every line is parsed once, as a group line or as a row: the count of the group alone decides which.
//! Parsing a line does not change the [`GroupState`]; the caller adds the result to it. The row reader needs
//! this, because it parses a line again if its buffer ended within it.

use super::ScalarKey;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Fault};
use crate::gcf::generic::columns::{FIELD_SIZE, VALUE_SIZE, scalar_size};
use crate::gcf::generic::decode::{DecodeResult, Decoder, Failure, emit, emit_scalar};
use crate::gcf::syntax::declaration::{Count, Field, read_constant, read_count};
use crate::gcf::syntax::line::{Line, is_blank};
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::scalar::{Token, skip_blanks};
use crate::gcf::syntax::string;
use crate::memory;
use crate::walk::{Columns, Scalar};
use hashbrown::HashSet;
use std::collections::TryReserveError;

/// The first word of the clause.
pub(crate) const CLAUSE: &str = "group=";

/// The columns of a grouped table. `N` is a key or scalar prepared by the sink.
pub(crate) struct GroupedColumns<N> {
    /// The members of a row in their order.
    members: Vec<(N, Source<N>)>,
    /// The number of cells of a row.
    width: usize,
    /// The cell of the identity.
    identity: usize,
    /// The name of the group column.
    name: String,
    /// The expansion of each row, without the value of its group.
    expansion: u64,
}

/// Where the value of a member comes from.
enum Source<N> {
    Cell(usize),
    Constant(N),
    /// The group line.
    Group,
}

/// The open group, and the groups and identities so far, which must be distinct.
pub(crate) struct GroupState<N> {
    /// The prepared value and its size.
    value: Option<(N, u64)>,
    /// The number of rows that the open group still needs. If it is 0, a group line follows.
    left: u64,
    groups: HashSet<ScalarKey<Box<str>>>,
    identities: HashSet<ScalarKey<Box<str>>>,
}

/// A parsed group line.
pub(crate) struct Group<N> {
    value: (N, u64),
    key: ScalarKey<Box<str>>,
    count: u64,
}

/// The identity of a parsed row.
pub(crate) struct Identity(ScalarKey<Box<str>>);

impl<N> GroupState<N> {
    pub(crate) fn new() -> Self {
        Self { value: None, left: 0, groups: HashSet::new(), identities: HashSet::new() }
    }

    /// Whether the next line is a group line, not a row.
    pub(crate) fn needs_group(&self) -> bool {
        self.left == 0
    }

    pub(crate) fn open(&mut self, group: Group<N>) -> Result<(), TryReserveError> {
        self.value = Some(group.value);
        self.left = group.count;
        self.groups.try_reserve(1).map_err(|_| memory::exhausted())?;
        self.groups.insert(group.key);
        Ok(())
    }

    pub(crate) fn add_row(&mut self, identity: Identity) -> Result<(), TryReserveError> {
        self.left -= 1;
        self.identities.try_reserve(1).map_err(|_| memory::exhausted())?;
        self.identities.insert(identity.0);
        Ok(())
    }
}

impl<'t, S: Columns> Decoder<'t, '_, S> {
    /// Parses the clause `group=name` at `at`, which follows the declaration of these fields.
    pub(in crate::gcf::generic) fn grouped_head(
        &mut self,
        count: Count,
        fields: Vec<Field<'t>>,
        at: usize,
        end: usize,
    ) -> DecodeResult<S, GroupedColumns<S::Prepared>> {
        let invalid = |at, message: &str| -> Failure<S::Error> {
            Fault::new(Code::InvalidGroupHeader, at, message).into()
        };
        if count.keyed {
            return Err(invalid(at, "a keyed table cannot be grouped"));
        }
        if count.value.is_none() {
            let message = "the count of a grouped table cannot be deferred";
            return Err(Fault::new(Code::InvalidCount, count.at, message).into());
        }
        let bytes = &self.text.as_bytes()[..end];
        let start = skip_blanks(bytes, at + CLAUSE.len());
        let name = match string::read_key(self.text, start, end)? {
            Some((name, after)) if skip_blanks(bytes, after) == end => name,
            _ => return Err(invalid(start, "expected the name of one column after group=")),
        };
        let mut marked = fields.iter().filter(|field| field.identity);
        match (marked.next(), marked.next()) {
            (Some(identity), None) if identity.constant.is_none() => {}
            _ => {
                let message = "exactly one column must be the identity, @, and not constant";
                return Err(invalid(at, message));
            }
        }
        match fields.iter().find(|field| field.name == name) {
            Some(group) if !group.identity && group.constant.is_none() => {}
            _ => {
                let message = "group= must name a declared column that is neither the identity \
                               nor constant";
                return Err(invalid(start, message));
            }
        }
        self.grouped_columns(fields, &name)
    }

    fn grouped_columns(
        &mut self,
        fields: Vec<Field<'t>>,
        group: &str,
    ) -> DecodeResult<S, GroupedColumns<S::Prepared>> {
        memory::ensure(FIELD_SIZE * fields.len())?;
        let mut members = Vec::with_capacity(fields.len());
        let (mut width, mut identity, mut expansion) = (0, 0, 0);
        let mut names = NameIndex::new();
        for field in fields {
            let key = emit!(self.sink.name(&field.name));
            expansion += field.name.len() as u64;
            let source = match field.constant.as_ref().and_then(Token::scalar) {
                Some(scalar) => {
                    expansion += VALUE_SIZE + scalar_size(scalar);
                    Source::Constant(emit!(self.sink.constant(scalar)))
                }
                None if field.name == group => Source::Group,
                None => {
                    if field.identity {
                        identity = width;
                    }
                    width += 1;
                    Source::Cell(width - 1)
                }
            };
            members.push((key, source));
            if !names.add(field.name.clone())? {
                let message = format!("duplicate field {}", excerpt(&field.name));
                return Err(Fault::new(Code::DuplicateFieldName, field.at, message).into());
            }
        }
        Ok(GroupedColumns { members, width, identity, name: group.to_owned(), expansion })
    }

    /// Reads the groups of a table whose lines are indented by `depth`.
    pub(in crate::gcf::generic) fn grouped_rows(
        &mut self,
        count: Count,
        columns: &GroupedColumns<S::Prepared>,
        depth: usize,
    ) -> DecodeResult<S> {
        self.counted_array(count, |decoder| {
            decoder.forecast(count, columns.width, columns.expansion + VALUE_SIZE)?;
            let mut found = 0;
            let mut state = GroupState::new();
            while let Some(line) = decoder.next_row(count, found, depth)? {
                if state.needs_group() {
                    let group = decoder.group_line(line, columns, &state, count, found)?;
                    state.open(group)?;
                } else {
                    let identity = decoder.grouped_row(line, columns, &state)?;
                    state.add_row(identity)?;
                    found += 1;
                }
            }
            Ok(found)
        })
    }

    /// Parses the line above a group. The table declares `count` rows; `found` are already read.
    pub(crate) fn group_line(
        &mut self,
        line: Line,
        columns: &GroupedColumns<S::Prepared>,
        state: &GroupState<S::Prepared>,
        count: Count,
        found: u64,
    ) -> DecodeResult<S, Group<S::Prepared>> {
        let Some((value, declared)) = self.split_group_line(line, &columns.name)? else {
            let name = excerpt(&columns.name);
            let message = format!("expected a group of {name}, name=value [count]");
            return self.fail(Code::InvalidGroupHeader, line, &message);
        };
        let Some(rows @ 1..) = declared.value.filter(|_| !declared.keyed) else {
            let message = "the count of a group must be 1 or more";
            return self.fail(Code::InvalidCount, line, message);
        };
        let Some(key) = ScalarKey::of_token(&value).filter(|key| !state.groups.contains(key))
        else {
            return self.fail(Code::DuplicateGroup, line, "two groups have the same value");
        };
        let left = count.value.unwrap_or(0).saturating_sub(found);
        if rows > left {
            let message = format!("the table has {left} rows left, the group declares {rows}");
            return self.fail(Code::CountMismatch, line, &message);
        }
        self.advance()?;
        let scalar = value.scalar().unwrap_or(Scalar::Null);
        let size = VALUE_SIZE + scalar_size(scalar);
        self.forecast(declared, columns.width, columns.expansion + size)?;
        let value = (emit!(self.sink.constant(scalar)), size);
        Ok(Group { value, key, count: rows })
    }

    /// Parses `name=value [count]`; `None` if the line has another form or another name. The count begins
    /// at the last ` [`, because the value may contain that text, too.
    fn split_group_line(
        &self,
        line: Line,
        name: &str,
    ) -> DecodeResult<S, Option<(Token<'t>, Count)>> {
        let bytes = self.text.as_bytes();
        let mut end = line.end;
        while end > line.start && is_blank(bytes[end - 1]) {
            end -= 1;
        }
        let value = match string::read_key(self.text, line.start, end) {
            Ok(Some((found, after))) if found == name && bytes[..end].get(after) == Some(&b'=') => {
                after + 1
            }
            _ => return Ok(None),
        };
        let rest = &self.text[value..end];
        let Some(length) = rest.rfind(" [").filter(|_| rest.ends_with(']')) else {
            return Ok(None);
        };
        let (count, after) = read_count(self.text, value + length + 1, end)?;
        if after < end {
            return Ok(None);
        }
        Ok(Some((read_constant(self.text, value, value + length)?, count)))
    }

    /// Reads a row of the open group.
    pub(crate) fn grouped_row(
        &mut self,
        line: Line,
        columns: &GroupedColumns<S::Prepared>,
        state: &GroupState<S::Prepared>,
    ) -> DecodeResult<S, Identity> {
        let base = self.cells.len();
        let marked = match self.split_cells(line, line.start, &[]) {
            Err(Failure::Fault(fault)) if fault.code == Code::InvalidAttachmentMarker => true,
            split => split?,
        };
        if marked {
            let message = "a row of a grouped table cannot have attachments";
            return self.fail(Code::InvalidGroupHeader, line, message);
        }
        let found = self.cells.len() - base;
        if found != columns.width {
            let message = format!("expected {} cells, found {found}", columns.width);
            return self.fail(Code::RowWidthMismatch, line, &message);
        }
        let Some(identity) = ScalarKey::of_token(&self.cells[base + columns.identity]) else {
            return self.fail(Code::InvalidGroupHeader, line, "a row must have its identity");
        };
        if state.identities.contains(&identity) {
            return self.fail(Code::DuplicateKey, line, "two rows have the same identity");
        }
        self.advance()?;
        self.enter(line.start)?;
        let group = state.value.as_ref();
        self.expand(columns.expansion + group.map_or(0, |(_, size)| *size), line.start)?;
        emit!(self.sink.begin_object());
        for (key, source) in &columns.members {
            let prepared = match source {
                Source::Cell(cell) => match &self.cells[base + cell] {
                    Token::Missing => continue,
                    token => {
                        emit!(self.sink.known_key(key));
                        emit_scalar(self.sink, token).map_err(Failure::Sink)?;
                        continue;
                    }
                },
                Source::Constant(prepared) => Some(prepared),
                Source::Group => group.map(|(prepared, _)| prepared),
            };
            emit!(self.sink.known_key(key));
            match prepared {
                Some(prepared) => emit!(self.sink.known_scalar(prepared)),
                None => emit!(self.sink.null()),
            }
        }
        emit!(self.sink.end_object());
        self.leave();
        self.cells.truncate(base);
        Ok(Identity(identity))
    }
}
