//! Writes the rows of a table and their attachments by the table's plan.

use super::plan::{ColumnKind, Field, Plan};
use super::{Kind, Outcome, Place, Rows, Writer, put};
use crate::gcf::generic::tree::is_sparse;
use crate::gcf::syntax::string::{put_key, put_value};
use crate::memory;
use crate::text::output::{Mark, Memory};
use crate::walk::{Found, Stop, Walk};

impl<W: Walk, M: Memory> Writer<'_, W, M> {
    /// Writes the rows of a table.
    pub(super) fn rows(
        &mut self,
        plan: &mut Plan<W::Key>,
        mut rows: Rows<W>,
        count: usize,
        first: W::Value,
        place: Place,
    ) -> Outcome<W> {
        let mut first = Some(first);
        for index in 0..count {
            let (key, value) = match &mut rows {
                Rows::Elements(array) => (
                    None,
                    match first.take() {
                        Some(first) => first,
                        None => self.walk.element(array, index),
                    },
                ),
                Rows::Members(object) => match self.walk.next(object) {
                    Some((key, value)) => (Some(key), value),
                    None => return Err(Stop::Unusual),
                },
            };
            self.indent(place);
            let start = self.out.mark();
            if let Some(key) = &key {
                put_value(self.walk.key(key)?, &mut self.out);
                self.out.byte(b'|');
            }
            if self.out.failed() {
                return Ok(());
            }
            match self.walk.look(&value)? {
                Found::Object(object) => self.row(plan, object, index, start, place)?,
                Found::Foreign => {
                    let value = self.convert(&value)?;
                    match self.walk.look(&value)? {
                        Found::Object(object) => self.row(plan, object, index, start, place)?,
                        _ => return Err(Stop::Unusual),
                    }
                }
                _ => return Err(Stop::Unusual),
            }
        }
        self.finish_table(plan, count as u64)
    }

    /// Adds the expansion of the rows, and checks that the complete table is not sparse.
    fn finish_table(&mut self, plan: &Plan<W::Key>, count: u64) -> Outcome<W> {
        let cells = count * plan.columns.len() as u64;
        self.expansion += count * plan.row_expansion;
        let mut sparse = is_sparse(cells, cells - plan.absent);
        for column in &plan.columns {
            if let ColumnKind::Flattened { leaves, objects, .. } = column.kind {
                sparse |= is_sparse(count * leaves, objects * leaves);
            }
        }
        if sparse { Err(Stop::Unusual) } else { Ok(()) }
    }

    /// Writes a row and its attachments.
    #[inline]
    fn row(
        &mut self,
        plan: &mut Plan<W::Key>,
        mut object: W::Object,
        index: usize,
        start: Mark,
        place: Place,
    ) -> Outcome<W> {
        let attached = self.attached.len();
        let mut at = 0;
        while let Some((key, value)) = self.walk.next(&mut object) {
            let found = self.find(plan, at, &key)?;
            while at < found {
                self.absent(plan, at, index)?;
                at += 1;
            }
            self.cell(plan, at, &value, index)?;
            at += 1;
        }
        self.steps.add(plan.columns.len() / CELLS_OF_STEP);
        if at < plan.columns.len() {
            for at in at..plan.columns.len() {
                self.absent(plan, at, index)?;
            }
            let cells = (index as u64 + 1) * plan.columns.len() as u64;
            if may_be_sparse(cells, cells - plan.absent) {
                return Err(Stop::Unusual);
            }
        }
        if self.attached.len() > attached {
            let end = self.out.mark();
            self.out.row_id(index);
            // Only now it is known that the row needs an id, which stands before its cells.
            self.out.move_end(end, start);
            self.attachments(plan, index, attached, place)?;
        }
        Ok(())
    }

    /// Writes the cell of a member.
    #[inline]
    fn cell(
        &mut self,
        plan: &mut Plan<W::Key>,
        at: usize,
        value: &W::Value,
        index: usize,
    ) -> Outcome<W> {
        let column = &mut plan.columns[at];
        let found = self.walk.look(value)?;
        let end = column.end;
        match (found, &mut column.kind) {
            (Found::Foreign, _) => {
                let value = self.convert(value)?;
                return self.cell(plan, at, &value, index);
            }
            (Found::Object(object), ColumnKind::Flattened { fields, objects, expansion, .. }) => {
                *objects += 1;
                self.expansion += *expansion;
                let fields = fields.clone();
                let is_null = self.leaves(&plan.fields[fields], object)?;
                // A reader would interpret these cells as null, not as an object.
                if is_null {
                    return Err(Stop::Unusual);
                }
                self.out.replace_last(end);
                return Ok(());
            }
            (Found::Null, ColumnKind::Flattened { leaves, objects, .. }) => {
                let (leaves, objects) = (*leaves, *objects);
                self.without_object(b'-', leaves, objects, index)?;
                self.out.replace_last(end);
                return Ok(());
            }
            (Found::Object(_), ColumnKind::Inline { fields, .. }) => {
                self.out.byte(b'^');
                if index == 0 {
                    let mut between = b'{';
                    for field in &plan.fields[fields.clone()] {
                        self.out.byte(between);
                        between = b',';
                        put_key(self.walk.key(&field.key)?, &mut self.out);
                    }
                    self.out.byte(b'}');
                }
                self.attach(at, value);
            }
            (Found::Object(_), ColumnKind::Plain { certain: true })
            | (Found::Array(_), ColumnKind::Plain { .. } | ColumnKind::Shared(_)) => {
                self.out.byte(b'^');
                self.attach(at, value);
            }
            (Found::Null, ColumnKind::Shared(_)) if index > 0 => self.out.byte(b'-'),
            (scalar, ColumnKind::Plain { .. } | ColumnKind::Scalars) => put(scalar, &mut self.out)?,
            _ => return Err(Stop::Unusual),
        }
        self.out.byte(end);
        Ok(())
    }

    /// Remembers a value that is written below its row.
    fn attach(&mut self, at: usize, value: &W::Value) {
        memory::push(&mut self.attached, (at, value.clone()));
        self.is_pending = true;
    }

    /// Writes the cells of a member that a row does not have.
    #[inline(never)]
    fn absent(&mut self, plan: &mut Plan<W::Key>, at: usize, index: usize) -> Outcome<W> {
        // The first row of a table has every column. In a later table with shared columns, the first row
        // may lack some; the tree handles that case.
        if index == 0 {
            return Err(Stop::Unusual);
        }
        plan.absent += 1;
        let column = &plan.columns[at];
        match &column.kind {
            ColumnKind::Flattened { leaves, objects, .. } => {
                let end = column.end;
                self.without_object(b'~', *leaves, *objects, index)?;
                self.out.replace_last(end);
            }
            _ => self.out.bytes([b'~', column.end]),
        }
        Ok(())
    }

    /// Writes the cells of a flattened column in a row without an object, with a `|` after each.
    fn without_object(&mut self, cell: u8, leaves: u64, objects: u64, index: usize) -> Outcome<W> {
        if may_be_sparse((index as u64 + 1) * leaves, objects * leaves) {
            return Err(Stop::Unusual);
        }
        for _ in 0..leaves {
            self.out.bytes([cell, b'|']);
        }
        Ok(())
    }

    /// Writes the leaves of an object, with a `|` after each. Returns whether all are null.
    fn leaves(&mut self, mut fields: &[Field<W::Key>], mut object: W::Object) -> Outcome<W, bool> {
        let mut is_null = true;
        while let Some((field, rest)) = fields.split_first() {
            let Some((key, value)) = self.walk.next(&mut object) else { return Err(Stop::Unusual) };
            if !self.walk.is_same(&field.key, &key)
                && self.walk.key(&field.key)? != self.walk.key(&key)?
            {
                return Err(Stop::Unusual);
            }
            let (inner, rest) = rest.split_at(field.inner);
            fields = rest;
            is_null &= self.leaf(inner, &value)?;
        }
        match self.walk.next(&mut object) {
            None => Ok(is_null),
            Some(_) => Err(Stop::Unusual),
        }
    }

    #[inline]
    fn leaf(&mut self, inner: &[Field<W::Key>], value: &W::Value) -> Outcome<W, bool> {
        match self.walk.look(value)? {
            Found::Foreign => {
                let value = self.convert(value)?;
                self.leaf(inner, &value)
            }
            Found::Object(object) if !inner.is_empty() => self.leaves(inner, object),
            scalar if inner.is_empty() => {
                let is_null = matches!(scalar, Found::Null);
                put(scalar, &mut self.out)?;
                self.out.byte(b'|');
                Ok(is_null)
            }
            _ => Err(Stop::Unusual),
        }
    }

    /// Writes the attachments of a row, in column order.
    fn attachments(
        &mut self,
        plan: &mut Plan<W::Key>,
        index: usize,
        first: usize,
        place: Place,
    ) -> Outcome<W> {
        self.is_pending = false;
        // An attachment is within the row, which is within the table.
        let place = Place { level: place.level + 2, ..place };
        for next in first..self.attached.len() {
            let (at, value) = self.attached[next].clone();
            self.indent(place);
            let column = &mut plan.columns[at];
            if let ColumnKind::Inline { fields, expansion } = &column.kind {
                let Found::Object(object) = self.walk.look(&value)? else {
                    return Err(Stop::Unusual);
                };
                self.open(place)?;
                self.expansion += *expansion;
                self.leaves(&plan.fields[fields.clone()], object)?;
                self.out.replace_last(b'\n');
                continue;
            }
            self.out.byte(b'.');
            self.out.short(&plan.names[column.name.clone()]);
            self.out.byte(b' ');
            let body = Place { indent: place.indent + 4, ..place };
            if let ColumnKind::Shared(shared) = &mut column.kind {
                self.shared(shared, &value, index, body)?;
            } else {
                self.nested(&value, body)?;
            }
        }
        self.attached.truncate(first);
        Ok(())
    }

    /// Writes a table of scalars that is attached to a row. The table of the first row declares the columns
    /// for those of the later rows.
    fn shared(
        &mut self,
        plan: &mut Option<Box<Plan<W::Key>>>,
        value: &W::Value,
        index: usize,
        place: Place,
    ) -> Outcome<W> {
        let Found::Array(array) = self.walk.look(value)? else { return Err(Stop::Unusual) };
        self.open(place)?;
        let (Kind::Rows, Some(first)) = self.array_kind(&array)? else {
            return Err(Stop::Unusual);
        };
        let count = self.walk.length(&array);
        self.count(count);
        self.out.byte(b']');
        let plan = match plan {
            Some(plan) => plan,
            None if index == 0 => {
                let made = self.plan(&first, place.level + 1, false)?;
                self.declaration(&made, false)?;
                plan.insert(Box::new(made))
            }
            None => return Err(Stop::Unusual),
        };
        self.out.byte(b'\n');
        plan.absent = 0;
        self.rows(plan, Rows::Elements(array), count, first, place)
    }
}

/// How many cells of a row count as a step.
const CELLS_OF_STEP: usize = 4;

/// Whether a table is so sparse after some of its rows that it is unlikely to become dense. The writer then
/// stops early, so that it discards only a short text.
fn may_be_sparse(cells: u64, present: u64) -> bool {
    is_sparse(cells / 4, present)
}
