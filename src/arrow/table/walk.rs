//! A table as a [`Walk`]: the fast path, on which the writer of GCF reads the buffers.

use super::Table;
use super::node::{Kind, Node, Struct, invalid_keys};
use crate::interrupt::polled;
use crate::walk::{Found, Look, Stop, Type, Walk};
use std::cell::Cell as Last;
use std::rc::Rc;

impl Node {
    /// A value that is neither null nor one of [`Node::scalar`].
    fn look(&self, row: usize) -> Look<'_, Rows<'_>> {
        Ok(match &self.kind {
            Kind::Bool(values) => Found::Bool(values.value(row)),
            Kind::Bool8(values) => Found::Bool(values[row] != 0),
            // A dictionary of lists or structs is so rare that it takes the slow path.
            Kind::Dictionary(keys, values) => match keys.get(row) {
                Some(row) if !values.is_null(row) => values.scalar(row).ok_or(Stop::Unusual)?,
                _ => Found::Null,
            },
            Kind::Struct(_) | Kind::Map(..) => Found::Object(Members { of: self, row, next: 0 }),
            Kind::List(ranges, values) => {
                let (start, length) = ranges.get(row);
                Found::Array(List::Of(values, start, length))
            }
            Kind::Text(_) => Found::Foreign,
            _ => return Err(Stop::Unusual),
        })
    }

    /// A member of the object in a row.
    #[inline]
    fn member(&self, row: usize, index: usize) -> Option<(&str, Cell<'_>)> {
        match &self.kind {
            Kind::Struct(Struct { fields, columns, .. }) => {
                Some((fields.get(index)?.name(), Cell::At(columns.get(index)?, row)))
            }
            Kind::Map(ranges, keys, values) => {
                let (start, length) = ranges.get(row);
                let row = (index < length).then_some(start + index)?;
                Some((keys.key(row)?, Cell::At(values, row)))
            }
            _ => None,
        }
    }

    /// The number of members of the object in a row.
    fn members(&self, row: usize) -> usize {
        match &self.kind {
            Kind::Struct(of) => of.columns.len(),
            Kind::Map(ranges, ..) => ranges.get(row).1,
            _ => 0,
        }
    }
}

/// The rows of a table as a [`Walk`].
pub(super) struct Rows<'t> {
    table: &'t Table,
    /// The chunk in which the last row was found.
    last: Last<usize>,
}

impl<'t> Rows<'t> {
    pub(super) fn new(table: &'t Table) -> Self {
        Self { table, last: Last::new(0) }
    }

    fn row(&self, row: usize) -> Cell<'t> {
        let Table { chunks, starts } = self.table;
        let mut chunk = self.last.get();
        if !(starts[chunk]..starts[chunk + 1]).contains(&row) {
            chunk = starts.partition_point(|&start| start <= row) - 1;
            self.last.set(chunk);
        }
        Cell::At(&chunks[chunk], row - starts[chunk])
    }
}

/// A value of a table.
#[derive(Clone)]
pub(super) enum Cell<'t> {
    /// All rows.
    Rows,
    At(&'t Node, usize),
    /// A text that stands for another value.
    Text(Rc<str>),
}

/// An array of a table.
pub(super) enum List<'t> {
    Rows,
    /// Elements of a node: the first one, and their number.
    Of(&'t Node, usize, usize),
}

/// A position in the object in a row of a node.
pub(super) struct Members<'t> {
    of: &'t Node,
    row: usize,
    next: usize,
}

impl<'t> Walk for Rows<'t> {
    type Value = Cell<'t>;
    type Key = &'t str;
    type Array = List<'t>;
    type Object = Members<'t>;
    type Error = std::convert::Infallible;

    #[expect(
        clippy::inline_always,
        reason = "a call would copy the result, which takes as long as the rest"
    )]
    #[inline(always)]
    fn look<'v>(&'v mut self, value: &'v Cell<'t>) -> Look<'v, Self> {
        let (node, row) = match value {
            Cell::At(node, row) => (*node, *row),
            Cell::Rows => return Ok(Found::Array(List::Rows)),
            Cell::Text(text) => return Ok(Found::Text(text)),
        };
        if node.is_null(row) {
            return Ok(Found::Null);
        }
        match node.scalar(row) {
            Some(scalar) => Ok(scalar),
            None => node.look(row),
        }
    }

    #[inline]
    fn type_of(&self, value: &Cell<'t>) -> Type {
        match value {
            Cell::Rows => Type::Array,
            Cell::Text(_) => Type::Scalar,
            Cell::At(node, row) if node.is_null(*row) => Type::Null,
            Cell::At(node, row) => match &node.kind {
                Kind::Struct(_) | Kind::Map(..) => Type::Object,
                Kind::List(..) => Type::Array,
                Kind::Dictionary(keys, values) => match keys.get(*row) {
                    Some(row) if !values.is_null(row) => Type::Scalar,
                    _ => Type::Null,
                },
                // Every other kind counts as a scalar: the first row of a table decides by the type.
                _ => Type::Scalar,
            },
        }
    }

    fn convert(&mut self, value: &Cell<'t>) -> Result<Cell<'t>, Stop<Self::Error>> {
        match value {
            Cell::At(Node { kind: Kind::Text(moments), .. }, row) => {
                moments.text(*row).map(|text| Cell::Text(text.into())).ok_or(Stop::Unusual)
            }
            _ => Err(Stop::Unusual),
        }
    }

    fn length(&self, array: &List<'t>) -> usize {
        match array {
            List::Rows => self.table.rows(),
            List::Of(_, _, length) => *length,
        }
    }

    #[inline]
    fn element(&self, array: &List<'t>, index: usize) -> Cell<'t> {
        match array {
            List::Rows => self.row(index),
            List::Of(node, start, _) => Cell::At(node, start + index),
        }
    }

    fn size(&self, object: &Members<'t>) -> usize {
        object.of.members(object.row) - object.next
    }

    #[inline]
    fn next(&self, object: &mut Members<'t>) -> Option<(&'t str, Cell<'t>)> {
        let member = object.of.member(object.row, object.next)?;
        object.next += 1;
        Some(member)
    }

    fn first_member(&self, object: &Members<'t>) -> Option<Cell<'t>> {
        object.of.member(object.row, object.next).map(|(_, value)| value)
    }

    fn all_members(&self, object: &Members<'t>, mut test: impl FnMut(Type) -> bool) -> bool {
        let Members { of, row, next } = *object;
        let members = (next..).map_while(|index| of.member(row, index));
        polled(members).all(|(_, value)| test(self.type_of(&value)))
    }

    #[inline]
    fn is_same(&self, left: &&'t str, right: &&'t str) -> bool {
        std::ptr::eq(*left, *right)
    }

    #[inline]
    fn key<'k>(&self, key: &'k &'t str) -> Result<&'k str, Stop<Self::Error>> {
        Ok(key)
    }

    fn has_distinct_keys(&self, object: &Members<'t>) -> bool {
        match &object.of.kind {
            Kind::Struct(of) => of.duplicate.is_none(),
            Kind::Map(ranges, keys, _) => {
                let (start, length) = ranges.get(object.row);
                invalid_keys(keys, start..start + length).is_none()
            }
            _ => true,
        }
    }
}
