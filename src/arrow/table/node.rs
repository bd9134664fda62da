//! The values of a column as they lie in its buffers.
//!
//! Invariant: a row that is null is never read, because Arrow leaves open what lies there.

use super::moments::Moments;
use super::nulls::Nulls;
use crate::arrow::error::Error;
use crate::arrow::integers::Integers;
use crate::arrow::keys::Keys;
use crate::gcf::Code;
use crate::interrupt::polled;
use crate::memory;
use crate::walk::Found;
use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, Float16Array, Float32Array, Float64Array, LargeStringArray, StringArray,
    StringViewArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The values of a column of one chunk.
pub(super) struct Node {
    nulls: Nulls,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Null,
    Bool(BooleanBuffer),
    /// Not 0 is true.
    Bool8(ScalarBuffer<i8>),
    Int(Integers),
    F16(Float16Array),
    F32(Float32Array),
    F64(Float64Array),
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    /// The index of each row, and the values.
    Dictionary(Keys, Box<Node>),
    Struct(Struct),
    /// The elements of all rows, and for each row where its elements begin and end.
    List(Ranges, Box<Node>),
    Map(Ranges, Box<Node>, Box<Node>),
    /// Values that are written as texts.
    Text(Moments),
    Unsupported(DataType),
}

/// The bytes of memory for a column of a table, with its name.
pub(super) const COLUMN_SIZE: usize = 512;

pub(super) struct Struct {
    pub(super) fields: Fields,
    pub(super) columns: Vec<Node>,
    /// The name that two columns have, if there is one.
    pub(super) duplicate: Option<String>,
}

/// Where the elements of each row of a list begin and end.
pub(super) enum Ranges {
    Small(ScalarBuffer<i32>),
    Large(ScalarBuffer<i64>),
    /// Offsets and sizes.
    SmallView(ScalarBuffer<i32>, ScalarBuffer<i32>),
    LargeView(ScalarBuffer<i64>, ScalarBuffer<i64>),
    /// All rows have so many elements.
    Fixed(usize),
}

impl Ranges {
    /// The ranges of a list or map, and its children; `None` for another array.
    pub(super) fn of(array: &dyn Array) -> Option<(Self, Vec<&ArrayRef>)> {
        Some(match array.data_type() {
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                (Self::Small(array.offsets().inner().clone()), vec![array.values()])
            }
            DataType::LargeList(_) => {
                let array = array.as_list::<i64>();
                (Self::Large(array.offsets().inner().clone()), vec![array.values()])
            }
            DataType::ListView(_) => {
                let array = array.as_list_view::<i32>();
                let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
                (Self::SmallView(offsets, sizes), vec![array.values()])
            }
            DataType::LargeListView(_) => {
                let array = array.as_list_view::<i64>();
                let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
                (Self::LargeView(offsets, sizes), vec![array.values()])
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                (Self::Fixed(size), vec![array.as_fixed_size_list().values()])
            }
            DataType::Map(..) => {
                let array = array.as_map();
                let ranges = Self::Small(array.offsets().inner().clone());
                (ranges, vec![array.keys(), array.values()])
            }
            _ => return None,
        })
    }

    /// The elements of so many rows, which are all; `None` if two rows may have the same ones.
    pub(super) fn all(&self, rows: usize) -> Option<Range<usize>> {
        match self {
            Self::SmallView(..) | Self::LargeView(..) => None,
            Self::Small(_) | Self::Large(_) | Self::Fixed(_) if rows == 0 => Some(0..0),
            Self::Small(_) | Self::Large(_) | Self::Fixed(_) => {
                let (last, length) = self.get(rows - 1);
                Some(self.get(0).0..last + length)
            }
        }
    }

    /// The first element of a row, and their number.
    pub(super) fn get(&self, row: usize) -> (usize, usize) {
        // Validated arrays have no negative offsets.
        let size = |number: i64| usize::try_from(number).unwrap_or(0);
        let (start, length) = match self {
            Self::Small(offsets) => (offsets[row].into(), (offsets[row + 1] - offsets[row]).into()),
            Self::Large(offsets) => (offsets[row], offsets[row + 1] - offsets[row]),
            Self::SmallView(offsets, sizes) => (offsets[row].into(), sizes[row].into()),
            Self::LargeView(offsets, sizes) => (offsets[row], sizes[row]),
            Self::Fixed(size) => return (row * size, *size),
        };
        (size(start), size(length))
    }
}

impl Node {
    /// Prepares to read an array of a column or child with this field.
    pub(super) fn new(field: &Field, array: &dyn Array) -> Result<Self, Error> {
        let kind = match array.data_type() {
            DataType::Struct(fields) => Self::structure(array.as_struct(), fields)?,
            _ => match (Ranges::of(array), Keys::new(array)) {
                (Some((ranges, children)), _) => Self::container(array, ranges, &children)?,
                (None, Some((keys, values))) => {
                    // The values of a dictionary have a type, and no field of their own.
                    let field = Field::new("", values.data_type().clone(), true);
                    Kind::Dictionary(keys, Box::new(Self::new(&field, &**values)?))
                }
                (None, None) => scalars(field, array),
            },
        };
        Ok(Self { nulls: Nulls::of(array)?, kind })
    }

    fn structure(array: &StructArray, fields: &Fields) -> Result<Kind, Error> {
        memory::ensure(fields.len().saturating_mul(COLUMN_SIZE))?;
        let columns = fields.iter().zip(array.columns());
        let columns = columns.map(|(field, column)| Self::new(field, &**column));
        let mut names: Vec<_> = fields.iter().map(|field| field.name()).collect();
        names.sort_unstable();
        let duplicate = names.windows(2).find(|pair| pair[0] == pair[1]);
        let duplicate = duplicate.map(|pair| pair[0].clone());
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Kind::Struct(Struct { fields: fields.clone(), columns, duplicate }))
    }

    fn container(array: &dyn Array, ranges: Ranges, children: &[&ArrayRef]) -> Result<Kind, Error> {
        let fields = child_fields(array.data_type());
        let mut nodes =
            fields.iter().zip(children).map(|(field, child)| Self::new(field, &***child));
        let (first, second) = (nodes.next().transpose()?, nodes.next().transpose()?);
        let (keys, values) = match (first, second) {
            (Some(keys), Some(values)) => (keys, values),
            (Some(elements), None) => return Ok(Kind::List(ranges, Box::new(elements))),
            (None, _) => return Ok(Kind::Unsupported(array.data_type().clone())),
        };
        let count = children[0].len();
        if !keys.are_keys(count) {
            return Ok(Kind::Unsupported(array.data_type().clone()));
        }
        Ok(Kind::Map(ranges, Box::new(keys), Box::new(values)))
    }

    /// The rows that are null, if the array has a bit for each.
    pub(super) fn nulls(&self) -> Option<&NullBuffer> {
        match &self.nulls {
            Nulls::Some(nulls) => Some(nulls),
            _ => None,
        }
    }

    /// Whether a row is null; not of a dictionary.
    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.is_null(row)
    }

    /// Whether a row is null, also of a dictionary.
    pub(super) fn is_nothing(&self, row: usize) -> bool {
        match &self.kind {
            Kind::Dictionary(keys, values) => {
                keys.get(row).is_none_or(|index| values.is_nothing(index))
            }
            _ => self.is_null(row),
        }
    }

    /// Whether a row, or a field of it, has a type that cannot be written.
    pub(super) fn is_unsupported(&self, row: usize) -> bool {
        match &self.kind {
            _ if self.is_null(row) => false,
            Kind::Unsupported(_) => true,
            Kind::Struct(of) => of.columns.iter().any(|column| column.is_unsupported(row)),
            _ => false,
        }
    }

    /// The text of a row of texts.
    #[inline]
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        match &self.kind {
            Kind::Utf8(array) => Some(array.value(row)),
            Kind::LargeUtf8(array) => Some(array.value(row)),
            Kind::Utf8View(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// The text of a key of a map; `None` for null, which Arrow forbids.
    pub(super) fn key(&self, row: usize) -> Option<&str> {
        match &self.kind {
            Kind::Dictionary(keys, values) => values.key(keys.get(row)?),
            _ if self.is_null(row) => None,
            _ => self.text(row),
        }
    }

    /// Whether the values are texts, or there are none.
    fn are_keys(&self, count: usize) -> bool {
        match &self.kind {
            Kind::Utf8(_) | Kind::LargeUtf8(_) | Kind::Utf8View(_) => true,
            Kind::Dictionary(_, values) => values.are_keys(count),
            _ => count == 0,
        }
    }

    /// A number or text that is not null.
    #[expect(clippy::inline_always, reason = "see `walk::Rows`")]
    #[inline(always)]
    pub(super) fn scalar<A, O>(&self, row: usize) -> Option<Found<'_, A, O>> {
        Some(match &self.kind {
            Kind::Int(values) => Found::Int(values.get(row).ok()?),
            Kind::F16(array) => Found::Float(array.value(row).into()),
            Kind::F32(array) => Found::Float(array.value(row).into()),
            Kind::F64(array) => Found::Float(array.value(row)),
            _ => Found::Text(self.text(row)?),
        })
    }
}

/// The fields of the elements of a list, or of the keys and values of a map.
fn child_fields(data_type: &DataType) -> Vec<FieldRef> {
    match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.to_vec(),
            _ => Vec::new(),
        },
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => vec![Arc::clone(field)],
        _ => Vec::new(),
    }
}

/// The values of an array of scalars.
fn scalars(field: &Field, array: &dyn Array) -> Kind {
    if let (Some("arrow.bool8"), DataType::Int8) = (field.extension_type_name(), array.data_type())
    {
        return Kind::Bool8(array.as_primitive::<Int8Type>().values().clone());
    }
    if let Some(integers) = Integers::new(array) {
        return Kind::Int(integers);
    }
    match array.data_type() {
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Bool(array.as_boolean().values().clone()),
        DataType::Float16 => Kind::F16(array.as_primitive().clone()),
        DataType::Float32 => Kind::F32(array.as_primitive().clone()),
        DataType::Float64 => Kind::F64(array.as_primitive().clone()),
        DataType::Utf8 => Kind::Utf8(array.as_string().clone()),
        DataType::LargeUtf8 => Kind::LargeUtf8(array.as_string().clone()),
        DataType::Utf8View => Kind::Utf8View(array.as_string_view().clone()),
        other => {
            Moments::new(field, array).map_or_else(|| Kind::Unsupported(other.clone()), Kind::Text)
        }
    }
}

/// More keys than these are not sorted, because a call cannot be stopped while it sorts.
const FEW_KEYS: usize = 1 << 16;

/// Why the keys of a map cannot be those of an object.
pub(super) fn invalid_keys(keys: &Node, rows: Range<usize>) -> Option<(Code, &'static str)> {
    if polled(rows.clone()).any(|row| keys.key(row).is_none()) {
        return Some((Code::UnsupportedType, "a key of the map is null"));
    }
    let duplicate = if rows.len() > FEW_KEYS {
        let mut seen = HashSet::new();
        memory::require(seen.try_reserve(rows.len()));
        polled(rows).any(|row| !seen.insert(keys.key(row)))
    } else {
        let mut texts = Vec::new();
        memory::require(texts.try_reserve_exact(rows.len()));
        texts.extend(rows.map(|row| keys.key(row)));
        texts.sort_unstable();
        texts.windows(2).any(|pair| pair[0] == pair[1])
    };
    duplicate.then_some((Code::DuplicateKey, "two keys of the map are equal"))
}
