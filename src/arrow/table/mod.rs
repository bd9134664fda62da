//! A column as a JSON-like value: a struct is an object, a list an array, so that a table is an array of rows.
//!
//! The value is that of `table.to_pylist()` in Python, with the conversions of `types="common"`:
//!
//! | Arrow | value |
//! |---|---|
//! | bool, integers, texts, dictionary-encoded | boolean, integer, text, the value of its index |
//! | float16, float32, float64 | the same number as a double |
//! | struct, list of any kind, map with text keys | object, array, object |
//! | date, time, timestamp | text: `2026-11-22`, `14:50:00.5`, `2026-11-22T14:50:00.5`, no zeros at the end of the fraction |
//! | timestamp with a zone | as above with `Z` for UTC, with the offset of a fixed offset; a named zone is written in UTC |
//! | decimal | text with all digits of the scale |
//! | null | null |
//!
//! Binary, durations, intervals, unions and run-end-encoded columns are errors where they are not null.
//!
//! [`Table`] is a [`Walk`]: the writer of GCF reads the buffers and builds no rows.

mod moments;

use super::column::Column;
use super::error::Error;
use super::keys::Keys;
use crate::excerpt::excerpt;
use crate::gcf::{self, Builder, Bump, Code, EncodeOptions};
use crate::interrupt::Steps;
use crate::memory;
use crate::text::output::{Memory, Output};
use crate::walk::{Found, Look, Sink, Stop, Type, Walk};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Float16Array, LargeStringArray, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Fields};
use moments::Moments;
use std::cell::Cell as Last;
use std::ops::Range;
use std::rc::Rc;

/// The values of a column of one chunk.
struct Node {
    nulls: Option<NullBuffer>,
    kind: Kind,
}

enum Kind {
    Null,
    Bool(BooleanBuffer),
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
    F16(Float16Array),
    F32(ScalarBuffer<f32>),
    F64(ScalarBuffer<f64>),
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
const COLUMN_SIZE: usize = 512;

struct Struct {
    fields: Fields,
    columns: Vec<Node>,
    /// Whether no two columns have the same name.
    distinct: bool,
}

/// Where the elements of each row of a list begin and end.
enum Ranges {
    Small(ScalarBuffer<i32>),
    Large(ScalarBuffer<i64>),
    /// Offsets and sizes.
    SmallView(ScalarBuffer<i32>, ScalarBuffer<i32>),
    LargeView(ScalarBuffer<i64>, ScalarBuffer<i64>),
    /// All rows have so many elements.
    Fixed(usize),
}

impl Ranges {
    /// The first element of a row, and their number.
    fn get(&self, row: usize) -> (usize, usize) {
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
    fn new(array: &dyn Array) -> Result<Self, Error> {
        let nulls = match array.data_type() {
            // `Keys` knows its nulls, and some of its indices may have no value.
            DataType::Dictionary(..) => None,
            _ => array.logical_nulls().filter(|nulls| nulls.null_count() > 0),
        };
        let kind = match array.data_type() {
            DataType::Struct(fields) => Self::structure(array.as_struct(), fields)?,
            DataType::Dictionary(..) => {
                let (keys, values) = Keys::new(array);
                Kind::Dictionary(keys, Box::new(Self::new(&**values)?))
            }
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::FixedSizeList(..)
            | DataType::Map(..) => Self::container(array)?,
            _ => scalars(array),
        };
        Ok(Self { nulls, kind })
    }

    fn structure(array: &StructArray, fields: &Fields) -> Result<Kind, Error> {
        memory::ensure(fields.len().saturating_mul(COLUMN_SIZE))?;
        let columns = array.columns().iter().map(|column| Self::new(&**column));
        let mut names: Vec<_> = fields.iter().map(|field| field.name()).collect();
        names.sort_unstable();
        let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Kind::Struct(Struct { fields: fields.clone(), columns, distinct }))
    }

    fn container(array: &dyn Array) -> Result<Kind, Error> {
        let list =
            |ranges, values: &ArrayRef| Ok(Kind::List(ranges, Box::new(Self::new(&**values)?)));
        match array.data_type() {
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                list(Ranges::Small(array.offsets().inner().clone()), array.values())
            }
            DataType::LargeList(_) => {
                let array = array.as_list::<i64>();
                list(Ranges::Large(array.offsets().inner().clone()), array.values())
            }
            DataType::ListView(_) => {
                let array = array.as_list_view::<i32>();
                let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
                list(Ranges::SmallView(offsets, sizes), array.values())
            }
            DataType::LargeListView(_) => {
                let array = array.as_list_view::<i64>();
                let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
                list(Ranges::LargeView(offsets, sizes), array.values())
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                list(Ranges::Fixed(size), array.as_fixed_size_list().values())
            }
            _ => {
                let array = array.as_map();
                let ranges = Ranges::Small(array.offsets().inner().clone());
                let (keys, values) = (Self::new(&**array.keys())?, Self::new(&**array.values())?);
                if !keys.are_keys(array.keys().len()) {
                    return Ok(Kind::Unsupported(array.data_type().clone()));
                }
                Ok(Kind::Map(ranges, Box::new(keys), Box::new(values)))
            }
        }
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// The text of a row of texts.
    #[inline]
    fn text(&self, row: usize) -> Option<&str> {
        match &self.kind {
            Kind::Utf8(array) => Some(array.value(row)),
            Kind::LargeUtf8(array) => Some(array.value(row)),
            Kind::Utf8View(array) => Some(array.value(row)),
            _ => None,
        }
    }

    /// The text of a key of a map.
    fn key(&self, row: usize) -> Option<&str> {
        match &self.kind {
            Kind::Dictionary(keys, values) => values.text(keys.get(row)?),
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
}

/// The values of an array of scalars.
fn scalars(array: &dyn Array) -> Kind {
    macro_rules! values {
        ($type:ty) => {
            array.as_primitive::<$type>().values().clone()
        };
    }
    match array.data_type() {
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Bool(array.as_boolean().values().clone()),
        DataType::Int8 => Kind::I8(values!(Int8Type)),
        DataType::Int16 => Kind::I16(values!(Int16Type)),
        DataType::Int32 => Kind::I32(values!(Int32Type)),
        DataType::Int64 => Kind::I64(values!(Int64Type)),
        DataType::UInt8 => Kind::U8(values!(UInt8Type)),
        DataType::UInt16 => Kind::U16(values!(UInt16Type)),
        DataType::UInt32 => Kind::U32(values!(UInt32Type)),
        DataType::UInt64 => Kind::U64(values!(UInt64Type)),
        DataType::Float16 => Kind::F16(array.as_primitive().clone()),
        DataType::Float32 => Kind::F32(values!(Float32Type)),
        DataType::Float64 => Kind::F64(values!(Float64Type)),
        DataType::Utf8 => Kind::Utf8(array.as_string().clone()),
        DataType::LargeUtf8 => Kind::LargeUtf8(array.as_string().clone()),
        DataType::Utf8View => Kind::Utf8View(array.as_string_view().clone()),
        other => Moments::new(array).map_or_else(|| Kind::Unsupported(other.clone()), Kind::Text),
    }
}

/// A column as a value: an array of its rows.
pub struct Table {
    chunks: Vec<Node>,
    /// The first row of each chunk, and the number of all rows.
    starts: Vec<usize>,
}

impl Table {
    /// Prepares to read a column. No buffer is copied, except for the indices of dictionary-encoded columns.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(column: &Column) -> Result<Self, Error> {
        memory::ensure(column.chunks().len().saturating_mul(COLUMN_SIZE))?;
        let chunks = column.chunks().iter().map(|chunk| Node::new(&**chunk));
        let mut starts = vec![0];
        for chunk in column.chunks() {
            starts.push(starts[starts.len() - 1] + chunk.len());
        }
        Ok(Self { chunks: chunks.collect::<Result<_, _>>()?, starts })
    }

    fn rows(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    /// Encodes the column as GCF. The result is that of [`gcf::encode`] for the same value.
    ///
    /// # Errors
    /// As [`gcf::encode`]; `unsupported_type` for a value of a type without a counterpart, `out_of_range`
    /// for an integer or time that cannot be written.
    pub fn write<M: Memory>(
        &self,
        options: &EncodeOptions,
        memory: M,
    ) -> Result<Written<M>, gcf::Error> {
        let mut rows = Rows { table: self, last: Last::new(0) };
        match gcf::write_walk(&mut rows, &Cell::Rows, options, memory) {
            Ok(out) => Ok(Written::OnePass(out)),
            Err(Stop::Failed(never)) => match never {},
            Err(Stop::Unusual) => {
                let bump = Bump::new();
                let mut builder = Builder::new(&bump, options.limits);
                self.emit(&mut builder)?;
                gcf::write(&builder.finish(), options).map(Written::Tree)
            }
        }
    }

    /// Emits the rows as an array.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn emit<S: Target>(&self, sink: &mut S) -> Result<(), S::Error> {
        let mut steps = Steps::default();
        sink.begin_array()?;
        for (chunk, start) in self.chunks.iter().zip(self.starts.windows(2)) {
            for row in 0..start[1] - start[0] {
                chunk.emit(row, sink, &mut steps)?;
            }
        }
        sink.end_array()
    }
}

/// The text of a table.
pub enum Written<M> {
    /// Written in one pass.
    OnePass(Output<M>),
    /// Written from a tree.
    Tree(String),
}

/// A sink that reports what it cannot receive, with the place of the next value. It checks that doubles are
/// finite.
pub trait Target: Sink {
    /// The error for a value that cannot be written.
    fn invalid(&self, code: Code, message: String) -> Self::Error;
}

impl Target for Builder<'_> {
    fn invalid(&self, code: Code, message: String) -> gcf::Error {
        self.error(code, message)
    }
}

impl Node {
    fn emit<S: Target>(&self, row: usize, sink: &mut S, steps: &mut Steps) -> Result<(), S::Error> {
        steps.step();
        if self.is_null(row) {
            return sink.null();
        }
        match &self.kind {
            Kind::Null => sink.null(),
            Kind::Bool(values) => sink.bool(values.value(row)),
            Kind::U64(values) => match i64::try_from(values[row]) {
                Ok(value) => sink.int(value),
                Err(_) => sink.big_int(&values[row].to_string()),
            },
            Kind::Dictionary(keys, values) => match keys.get(row) {
                Some(row) => values.emit(row, sink, steps),
                None => sink.null(),
            },
            Kind::Struct(Struct { fields, columns, distinct }) => {
                if !distinct {
                    return Err(duplicate(sink));
                }
                sink.begin_object()?;
                for (field, column) in fields.iter().zip(columns) {
                    sink.key(field.name())?;
                    column.emit(row, sink, steps)?;
                }
                sink.end_object()
            }
            Kind::List(ranges, values) => {
                let (start, length) = ranges.get(row);
                sink.begin_array()?;
                (start..start + length).try_for_each(|row| values.emit(row, sink, steps))?;
                sink.end_array()
            }
            Kind::Map(ranges, keys, values) => {
                let (start, length) = ranges.get(row);
                if !are_distinct(keys, start..start + length) {
                    return Err(duplicate(sink));
                }
                sink.begin_object()?;
                for row in start..start + length {
                    sink.key(keys.key(row).unwrap_or_default())?;
                    values.emit(row, sink, steps)?;
                }
                sink.end_object()
            }
            Kind::Text(moments) => {
                if let Some(text) = moments.text(row) {
                    sink.string(&text)
                } else {
                    let message = moments.invalid().to_owned();
                    Err(sink.invalid(Code::OutOfRange, message))
                }
            }
            Kind::Unsupported(data_type) => {
                let message = unsupported(data_type);
                Err(sink.invalid(Code::UnsupportedType, message))
            }
            _ => match self.scalar::<(), ()>(row) {
                Some(Found::Int(value)) => sink.int(value),
                Some(Found::Float(value)) => sink.float(value),
                Some(Found::Text(text)) => sink.string(text),
                _ => sink.null(),
            },
        }
    }

    /// A number or text that is not null.
    #[expect(clippy::inline_always, reason = "see `Walk::look` below")]
    #[inline(always)]
    fn scalar<A, O>(&self, row: usize) -> Option<Found<'_, A, O>> {
        Some(match &self.kind {
            Kind::I8(values) => Found::Int(values[row].into()),
            Kind::I16(values) => Found::Int(values[row].into()),
            Kind::I32(values) => Found::Int(values[row].into()),
            Kind::I64(values) => Found::Int(values[row]),
            Kind::U8(values) => Found::Int(values[row].into()),
            Kind::U16(values) => Found::Int(values[row].into()),
            Kind::U32(values) => Found::Int(values[row].into()),
            Kind::F16(array) => Found::Float(array.value(row).into()),
            Kind::F32(values) => Found::Float(values[row].into()),
            Kind::F64(values) => Found::Float(values[row]),
            _ => Found::Text(self.text(row)?),
        })
    }
}

/// Whether the keys of a map are distinct.
fn are_distinct(keys: &Node, rows: Range<usize>) -> bool {
    let mut texts = Vec::new();
    memory::require(texts.try_reserve_exact(rows.len()));
    texts.extend(rows.map(|row| keys.key(row)));
    texts.sort_unstable();
    texts.windows(2).all(|pair| pair[0] != pair[1])
}

fn unsupported(data_type: &DataType) -> String {
    if matches!(data_type, DataType::Map(..)) {
        return "the keys of a map must be texts; cast the column or leave it out".to_owned();
    }
    let data_type = excerpt(&data_type.to_string());
    format!(
        "a value of the Arrow type {data_type} cannot be written; cast the column or leave it out"
    )
}

fn duplicate<S: Target>(sink: &S) -> S::Error {
    sink.invalid(Code::DuplicateKey, "two columns, or keys of a map, have the same name".to_owned())
}

impl Node {
    /// A value that is neither null nor one of [`Node::scalar`].
    fn look(&self, row: usize) -> Look<'_, Rows<'_>> {
        Ok(match &self.kind {
            Kind::Bool(values) => Found::Bool(values.value(row)),
            Kind::U64(values) => match i64::try_from(values[row]) {
                Ok(value) => Found::Int(value),
                Err(_) => return Err(Stop::Unusual),
            },
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
struct Rows<'t> {
    table: &'t Table,
    /// The chunk in which the last row was found.
    last: Last<usize>,
}

impl<'t> Rows<'t> {
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
enum Cell<'t> {
    /// All rows.
    Rows,
    At(&'t Node, usize),
    /// A text that stands for another value.
    Text(Rc<str>),
}

/// An array of a table.
enum List<'t> {
    Rows,
    /// Elements of a node: the first one, and their number.
    Of(&'t Node, usize, usize),
}

/// A position in the object in a row of a node.
struct Members<'t> {
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
    fn look<'v>(&mut self, value: &'v Cell<'t>) -> Look<'v, Self> {
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
                // As a scalar: the first row of a table decides by it.
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
        let mut members = (next..).map_while(|index| of.member(row, index));
        members.all(|(_, value)| test(self.type_of(&value)))
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
            Kind::Struct(of) => of.distinct,
            Kind::Map(ranges, keys, _) => {
                let (start, length) = ranges.get(object.row);
                are_distinct(keys, start..start + length)
            }
            _ => true,
        }
    }
}
