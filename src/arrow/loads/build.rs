//! Makes an Arrow array of a given type from the values of a column.
//!
//! A value is stored exactly or is an error. Cells that the text does not spell out, such as the nulls of
//! absent members, count against a limit, so that the size of the array stays proportional to that of the
//! text.

use super::{Invalid, dictionary, is_null, parse};
use crate::excerpt::{excerpt, path_step};
use crate::gcf::Code;
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray,
    GenericListArray, GenericListViewArray, LargeStringArray, MapArray, NullArray, OffsetSizeTrait,
    PrimitiveArray, StringArray, StringViewArray, StructArray, make_array, new_empty_array,
    new_null_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

/// The bytes of memory for a row of a column, besides its text: its value, content and place in a buffer.
const ROW_SIZE: usize = 128;

/// The bytes of memory for a row of a column with children, which is made after these: its offset, size and bit.
const NESTED_SIZE: usize = 40;

/// The maximum number of bytes of a column of texts with offsets of four bytes.
const MAX_TEXT: usize = i32::MAX as usize;

/// The bytes that a cell counts which the text does not have.
const CELL_SIZE: u64 = 16;

type Members<'v> = &'v [(Cow<'v, str>, Value<'v>)];
pub(super) type Values<'a, 'v> = &'a [Option<&'v Value<'v>>];
pub(super) type Built<'v> = Result<ArrayRef, Invalid<'v>>;

/// Makes arrays, and counts the cells that the text does not have.
pub(super) struct Build {
    /// The bytes that such cells may still take.
    left: Cell<u64>,
}

impl Build {
    /// `limit` is the number of bytes that cells may take which the text does not have.
    pub(super) fn new(limit: u64) -> Self {
        Self { left: Cell::new(limit) }
    }

    /// The array of a field whose rows are these values; absent and null ones are null.
    pub(super) fn array<'v>(&self, field: &Field, values: Values<'_, 'v>) -> Built<'v> {
        memory::require(memory::ensure(values.len().saturating_mul(ROW_SIZE)));
        match (field.extension_type_name(), field.data_type()) {
            (Some("arrow.uuid"), DataType::FixedSizeBinary(16)) => uuids(values),
            (Some("arrow.bool8"), DataType::Int8) => bool8(values),
            // Others are read as their storage.
            (_, data_type) => self.storage(data_type, values),
        }
    }

    fn storage<'v>(&self, data_type: &DataType, values: Values<'_, 'v>) -> Built<'v> {
        match data_type {
            DataType::Null => match values.iter().flatten().find(|value| !is_null(value)) {
                Some(value) => Err(Invalid::other(value, data_type)),
                None => Ok(Arc::new(NullArray::new(values.len()))),
            },
            DataType::Boolean => {
                let rows = each(values, data_type, |value| match value {
                    Value::Bool(value) => Some(*value),
                    _ => None,
                })?;
                Ok(Arc::new(BooleanArray::from(rows)))
            }
            DataType::Utf8 => texts::<StringArray>(data_type, values),
            DataType::LargeUtf8 => texts::<LargeStringArray>(data_type, values),
            DataType::Utf8View => texts::<StringViewArray>(data_type, values),
            DataType::Struct(fields) => self.structure(fields, values, data_type),
            DataType::List(field) => self.list::<i32>(field, values, data_type),
            DataType::LargeList(field) => self.list::<i64>(field, values, data_type),
            DataType::ListView(field) => self.list_view::<i32>(field, values, data_type),
            DataType::LargeListView(field) => self.list_view::<i64>(field, values, data_type),
            DataType::FixedSizeList(field, size) => self.fixed(field, *size, values, data_type),
            DataType::Map(field, ordered) => self.map(field, *ordered, values, data_type),
            DataType::Dictionary(indices, of) => {
                dictionary::array(self, (indices, of), values, data_type)
            }
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
            | DataType::Duration(_)
            | DataType::Interval(_)
            | DataType::Union(..)
            | DataType::RunEndEncoded(..) => self.nulls(data_type, values),
            _ if data_type.is_numeric() && !is_decimal(data_type) => numbers(data_type, values),
            _ => moments(data_type, values),
        }
    }

    fn structure<'v>(
        &self,
        fields: &Fields,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let rows = each(values, data_type, Value::as_object)?;
        let members: usize = rows.iter().flatten().map(|row| row.len()).sum();
        let cells = fields.len().saturating_mul(rows.len());
        self.add_absent(cells.saturating_sub(members))?;
        let cells = cells_of(fields, &rows)?;
        let column = |(field, cells): (&FieldRef, &Vec<_>)| {
            // A row that is null has no members.
            let present = cells.iter().zip(values).zip(&rows).filter(|(_, row)| row.is_some());
            check_nulls(field, present.map(|((cell, row), _)| (*cell, *row)))?;
            let column = self.array(field, cells);
            column.map_err(|invalid| invalid.within(&path_step(field.name())))
        };
        let columns = fields.iter().zip(&cells).map(column).collect::<Result<Vec<_>, _>>()?;
        let nulls = present(&rows);
        StructArray::try_new_with_length(fields.clone(), columns, Some(nulls), rows.len())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Invalid::rejected(&error))
    }

    /// Counts cells that the text does not have.
    fn add_absent<'v>(&self, cells: usize) -> Result<(), Invalid<'v>> {
        self.add_size(CELL_SIZE.saturating_mul(cells as u64), || {
            format!(
                "rows of other fields than their columns: {cells} cells that the text does not have, of \
                 {CELL_SIZE} bytes each,"
            )
        })
    }

    /// Counts bytes that the text does not have; `what` they are is the subject of the error.
    fn add_size<'v>(&self, size: u64, what: impl FnOnce() -> String) -> Result<(), Invalid<'v>> {
        match self.left.get().checked_sub(size) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Invalid {
                code: Code::LimitExceeded,
                ..Invalid::of_column(format!("{} are more than max_expansion allows", what()))
            }),
        }
    }

    fn list<'v, O: OffsetSizeTrait>(
        &self,
        field: &FieldRef,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let (elements, sizes, nulls) = elements(values, data_type, 0)?;
        let elements = self.elements::<O>(field, &elements, data_type)?;
        require_nested(sizes.len());
        let offsets = OffsetBuffer::<O>::from_lengths(sizes);
        GenericListArray::try_new(Arc::clone(field), offsets, elements, Some(nulls))
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Invalid::rejected(&error))
    }

    fn list_view<'v, O: OffsetSizeTrait>(
        &self,
        field: &FieldRef,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let (elements, sizes, nulls) = elements(values, data_type, 0)?;
        let elements = self.elements::<O>(field, &elements, data_type)?;
        require_nested(sizes.len());
        let ends = OffsetBuffer::<O>::from_lengths(sizes.iter().copied());
        let offsets = ScalarBuffer::from(ends[..sizes.len()].to_vec());
        let sizes: ScalarBuffer<O> = sizes.into_iter().map(O::usize_as).collect();
        GenericListViewArray::try_new(Arc::clone(field), offsets, sizes, elements, Some(nulls))
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Invalid::rejected(&error))
    }

    /// The elements of all lists, as many as offsets of the type `O` address.
    fn elements<'v, O: OffsetSizeTrait>(
        &self,
        field: &Field,
        elements: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        if O::from_usize(elements.len()).is_none() {
            return Err(Invalid::of_column(format!(
                "the lists of a column of {data_type} have at most {} elements together, not {}; pass a \
                 schema with large_list",
                i32::MAX,
                elements.len()
            )));
        }
        check_nulls(field, elements.iter().map(|element| (*element, *element)))?;
        self.array(field, elements).map_err(|invalid| invalid.within("[*]"))
    }

    fn fixed<'v>(
        &self,
        field: &FieldRef,
        size: i32,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let length = size.as_usize();
        let absent = values.iter().filter(|value| value.is_none_or(is_null)).count();
        self.add_absent(absent.saturating_mul(length))?;
        let (elements, sizes, nulls) = elements(values, data_type, length)?;
        let wrong = values.iter().zip(&sizes).find(|(_, size)| **size != length);
        if let Some((Some(value), size)) = wrong {
            let message = format!("the array has {size} elements; {data_type} has {length}");
            return Err(Invalid::new(value, message));
        }
        // The elements of a null row are absent, others are values.
        let present = elements.iter().flatten().map(|element| (Some(*element), None));
        check_nulls(field, present)?;
        let elements = self.array(field, &elements).map_err(|invalid| invalid.within("[*]"))?;
        FixedSizeListArray::try_new_with_length(
            Arc::clone(field),
            size,
            elements,
            Some(nulls),
            values.len(),
        )
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Invalid::rejected(&error))
    }

    fn map<'v>(
        &self,
        field: &FieldRef,
        ordered: bool,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let DataType::Struct(entry) = field.data_type() else {
            return Err(Invalid::of_column(format!("{data_type} has no entries")));
        };
        let [key, value] = &entry[..] else {
            return Err(Invalid::of_column(format!("{data_type} has no keys and values")));
        };
        let rows = each(values, data_type, Value::as_object)?;
        let members: Vec<_> = rows.iter().flatten().copied().flatten().collect();
        let keys = self.keys(key, &members)?;
        let cells: Vec<_> = members.iter().map(|(_, value)| Some(value)).collect();
        check_nulls(value, cells.iter().map(|cell| (*cell, None)))?;
        let values = self.array(value, &cells).map_err(|invalid| invalid.within(".*"))?;
        require_nested(rows.len());
        let sizes = rows.iter().map(|row| row.map_or(0, <[_]>::len));
        let offsets = OffsetBuffer::from_lengths(sizes);
        let nulls = present(&rows);
        StructArray::try_new(entry.clone(), vec![keys, values], None)
            .and_then(|entries| {
                MapArray::try_new(Arc::clone(field), offsets, entries, Some(nulls), ordered)
            })
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Invalid::rejected(&error))
    }

    /// The keys of all maps, with their values.
    fn keys<'v>(&self, field: &Field, members: &[&'v (Cow<'v, str>, Value<'v>)]) -> Built<'v> {
        memory::require(memory::ensure(members.len().saturating_mul(size_of::<Value<'_>>())));
        let keys: Vec<_> =
            polled(members).map(|(key, _)| Value::String(Cow::Borrowed(key))).collect();
        let rows: Vec<_> = keys.iter().map(Some).collect();
        self.array(field, &rows).map_err(|invalid| {
            let is_at = |key: &Value<'_>| invalid.value.is_some_and(|value| ptr::eq(key, value));
            let value = keys.iter().position(is_at).map(|at| &members[at].1);
            let message = format!("the key of this value: {}", invalid.message);
            Invalid { value, code: invalid.code, ..Invalid::of_column(message) }
        })
    }

    /// An array of a type that no value of GCF has.
    fn nulls<'v>(&self, data_type: &DataType, values: Values<'_, 'v>) -> Built<'v> {
        let rows = values.len();
        if let Some(value) = values.iter().flatten().find(|value| !is_null(value)) {
            let message = format!(
                "GCF has no values of the type {data_type}, so that its column can have only nulls; found {}",
                value.kind()
            );
            return Err(Invalid::new(value, message));
        }
        match data_type {
            _ if rows == 0 => Ok(new_empty_array(data_type)),
            DataType::FixedSizeBinary(width) => {
                let width = u64::try_from(*width)
                    .map_err(|_| Invalid::of_column(format!("{data_type} has no such values")))?;
                let size = width.saturating_mul(rows as u64);
                self.add_size(size, || format!("the {size} bytes of {rows} nulls of {data_type}"))?;
                memory::require(memory::ensure(usize::try_from(size).unwrap_or(usize::MAX)));
                Ok(new_null_array(data_type, rows))
            }
            DataType::RunEndEncoded(ends, of) => self.null_run(ends, of, rows, data_type),
            DataType::Union(..) => Err(Invalid::of_column(format!(
                "GCF does not have which of its types a null of {data_type} has; leave out the column"
            ))),
            _ => Ok(new_null_array(data_type, rows)),
        }
    }

    /// A run-end-encoded array of nulls: one run.
    fn null_run<'v>(
        &self,
        ends: &Field,
        of: &Field,
        rows: usize,
        data_type: &DataType,
    ) -> Built<'v> {
        let too_many = || Invalid::of_column(format!("{data_type} has no runs of {rows} rows"));
        let end: ArrayRef = match ends.data_type() {
            DataType::Int16 => {
                let end = i16::try_from(rows).map_err(|_| too_many())?;
                Arc::new(PrimitiveArray::<Int16Type>::from_value(end, 1))
            }
            DataType::Int32 => {
                let end = i32::try_from(rows).map_err(|_| too_many())?;
                Arc::new(PrimitiveArray::<Int32Type>::from_value(end, 1))
            }
            _ => {
                let end = i64::try_from(rows).map_err(|_| too_many())?;
                Arc::new(PrimitiveArray::<Int64Type>::from_value(end, 1))
            }
        };
        let value = self.array(of, &[None])?;
        ArrayData::builder(data_type.clone())
            .len(rows)
            .child_data(vec![end.to_data(), value.to_data()])
            .build()
            .map(make_array)
            .map_err(|error| Invalid::rejected(&error))
    }
}

/// UUIDs, which stand as texts.
fn uuids<'v>(values: Values<'_, 'v>) -> Built<'v> {
    let rows = polled(values).map(|value| match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().ok_or_else(|| Invalid::other(value, "arrow.uuid"))?;
            let uuid = parse::uuid(text);
            uuid.map(Some).ok_or_else(|| Invalid::out_of_range(value, "arrow.uuid"))
        }
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows.into_iter(), 16)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Invalid::rejected(&error))
}

/// Booleans that are stored in bytes.
fn bool8<'v>(values: Values<'_, 'v>) -> Built<'v> {
    primitive::<Int8Type>(&DataType::Int8, values, |value| match value {
        Value::Bool(value) => Ok((*value).into()),
        _ => Err(Invalid::other(value, "arrow.bool8")),
    })
}

fn is_decimal(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(data_type, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..))
}

/// The content of each value; `get` returns `None` for a value of another type.
fn each<'v, T>(
    values: Values<'_, 'v>,
    data_type: &DataType,
    get: impl Fn(&'v Value<'v>) -> Option<T>,
) -> Result<Vec<Option<T>>, Invalid<'v>> {
    polled(values)
        .map(|value| match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => get(value).map(Some).ok_or_else(|| Invalid::other(value, data_type)),
        })
        .collect()
}

fn texts<'v, A>(data_type: &DataType, values: Values<'_, 'v>) -> Built<'v>
where
    A: From<Vec<Option<&'v str>>> + arrow_array::Array + 'static,
{
    let texts = each(values, data_type, Value::as_str)?;
    check_size(&texts, data_type)?;
    Ok(Arc::new(A::from(texts)))
}

/// Checks that the texts of a column fit into its buffer, and into memory.
fn check_size<'v>(texts: &[Option<&str>], data_type: &DataType) -> Result<(), Invalid<'v>> {
    let size: usize = texts.iter().flatten().map(|text| text.len()).sum();
    memory::require(memory::ensure(size));
    if *data_type == DataType::Utf8 && size > MAX_TEXT {
        return Err(Invalid::of_column(format!(
            "the texts of a column of {data_type} have at most {MAX_TEXT} bytes, not {size}; pass a \
             schema with large_utf8"
        )));
    }
    Ok(())
}

fn numbers<'v>(data_type: &DataType, values: Values<'_, 'v>) -> Built<'v> {
    match data_type {
        DataType::Int8 => integers::<Int8Type>(data_type, values),
        DataType::Int16 => integers::<Int16Type>(data_type, values),
        DataType::Int32 => integers::<Int32Type>(data_type, values),
        DataType::Int64 => integers::<Int64Type>(data_type, values),
        DataType::UInt8 => integers::<UInt8Type>(data_type, values),
        DataType::UInt16 => integers::<UInt16Type>(data_type, values),
        DataType::UInt32 => integers::<UInt32Type>(data_type, values),
        DataType::UInt64 => integers::<UInt64Type>(data_type, values),
        DataType::Float16 => doubles::<Float16Type>(data_type, values, |value| {
            let half = half::f16::from_f64(value);
            (half.to_f64().to_bits() == value.to_bits()).then_some(half)
        }),
        #[expect(clippy::cast_possible_truncation, reason = "the result is compared")]
        DataType::Float32 => doubles::<Float32Type>(data_type, values, |value| {
            let single = value as f32;
            (f64::from(single).to_bits() == value.to_bits()).then_some(single)
        }),
        _ => doubles::<Float64Type>(data_type, values, Some),
    }
}

fn integers<'v, T>(data_type: &DataType, values: Values<'_, 'v>) -> Built<'v>
where
    T: ArrowPrimitiveType<Native: TryFrom<i64>>,
{
    let native = |value: &'v Value<'v>| match value {
        Value::Int(number) => {
            T::Native::try_from(*number).map_err(|_| Invalid::out_of_range(value, data_type))
        }
        _ => Err(Invalid::other(value, data_type)),
    };
    primitive::<T>(data_type, values, native)
}

/// Integers are stored as doubles if they are the same number.
fn doubles<'v, T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: Values<'_, 'v>,
    exact: impl Fn(f64) -> Option<T::Native>,
) -> Built<'v> {
    let native = |value: &'v Value<'v>| {
        let number = match value {
            Value::Float(number) => Some(*number),
            #[expect(clippy::cast_precision_loss, reason = "the result is compared")]
            #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
            Value::Int(number) => {
                let double = *number as f64;
                (double < 9.2e18 && double as i64 == *number).then_some(double)
            }
            _ => return Err(Invalid::other(value, data_type)),
        };
        number.and_then(&exact).ok_or_else(|| Invalid::out_of_range(value, data_type))
    };
    primitive::<T>(data_type, values, native)
}

fn primitive<'v, T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: Values<'_, 'v>,
    native: impl Fn(&'v Value<'v>) -> Result<T::Native, Invalid<'v>>,
) -> Built<'v> {
    let rows = polled(values).map(|value| match value {
        // A null has any content.
        None | Some(Value::Null) => Ok(T::Native::default()),
        Some(value) => native(value),
    });
    let natives = rows.collect::<Result<Vec<_>, _>>()?;
    PrimitiveArray::<T>::try_new(natives.into(), validity(values))
        .map(|array| Arc::new(array.with_data_type(data_type.clone())) as ArrayRef)
        .map_err(|error| Invalid::rejected(&error))
}

/// Which rows have a value, unless all have one.
fn validity(values: Values<'_, '_>) -> Option<NullBuffer> {
    let valid: NullBuffer = polled(values).map(|value| !value.is_none_or(is_null)).collect();
    Some(valid).filter(|valid| valid.null_count() > 0)
}

/// Values that stand as texts.
fn moments<'v>(data_type: &DataType, values: Values<'_, 'v>) -> Built<'v> {
    macro_rules! texts {
        ($type:ty, $parse:expr) => {
            parsed::<$type>(data_type, values, $parse)
        };
    }
    match data_type {
        DataType::Date32 => texts!(Date32Type, |text| parse::days(text)?.try_into().ok()),
        DataType::Date64 => texts!(Date64Type, parse::date_milliseconds),
        DataType::Time32(TimeUnit::Second) => {
            texts!(Time32SecondType, |text| parse::time(text, TimeUnit::Second)?.try_into().ok())
        }
        DataType::Time32(unit) => {
            texts!(Time32MillisecondType, |text| parse::time(text, *unit)?.try_into().ok())
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            texts!(Time64MicrosecondType, |text| parse::time(text, TimeUnit::Microsecond))
        }
        DataType::Time64(unit) => texts!(Time64NanosecondType, |text| parse::time(text, *unit)),
        DataType::Timestamp(unit, zone) => {
            let parse = |text: &str| parse::timestamp(text, zone.is_some(), *unit);
            match unit {
                TimeUnit::Second => texts!(TimestampSecondType, parse),
                TimeUnit::Millisecond => texts!(TimestampMillisecondType, parse),
                TimeUnit::Microsecond => texts!(TimestampMicrosecondType, parse),
                TimeUnit::Nanosecond => texts!(TimestampNanosecondType, parse),
            }
        }
        DataType::Decimal32(..) => decimals::<Decimal32Type>(data_type, values),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(data_type, values),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(data_type, values),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(data_type, values),
        _ => Err(Invalid::of_column(format!(
            "{data_type} is a type that this version does not know"
        ))),
    }
}

fn parsed<'v, T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: Values<'_, 'v>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Built<'v> {
    primitive::<T>(data_type, values, |value| {
        let text = value.as_str().ok_or_else(|| Invalid::other(value, data_type))?;
        parse(text).ok_or_else(|| Invalid::out_of_range(value, data_type))
    })
}

fn decimals<'v, T>(data_type: &DataType, values: Values<'_, 'v>) -> Built<'v>
where
    T: DecimalType<Native: std::str::FromStr>,
{
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)
    | DataType::Decimal256(precision, scale)) = data_type
    else {
        return Err(Invalid::of_column(format!("{data_type} is no decimal type")));
    };
    parsed::<T>(data_type, values, |text| parse::decimal(text, *precision, *scale)?.parse().ok())
}

/// The values of the rows of a struct, by field.
fn cells_of<'v>(
    fields: &Fields,
    rows: &[Option<Members<'v>>],
) -> Result<Vec<Vec<Option<&'v Value<'v>>>>, Invalid<'v>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, field) in fields.iter().enumerate() {
        if places.insert(field.name(), place).is_some() {
            let name = excerpt(field.name());
            let message = format!("the schema has two fields of the name {name}; rename one");
            return Err(Invalid { code: Code::DuplicateKey, ..Invalid::of_column(message) });
        }
    }
    let mut cells = Vec::new();
    for _ in fields {
        let mut column = Vec::new();
        memory::require(column.try_reserve_exact(rows.len()));
        column.resize(rows.len(), None);
        cells.push(column);
    }
    for (at, members) in polled(rows).enumerate() {
        for (guess, (key, value)) in polled(members.iter().copied().flatten()).enumerate() {
            // Rows mostly have the fields in the order of the schema.
            let guess = fields.get(guess).filter(|field| field.name() == key).map(|_| guess);
            let Some(place) = guess.or_else(|| places.get(&**key).copied()) else {
                let key = excerpt(key);
                return Err(Invalid::new(value, format!("the schema has no field {key}")));
            };
            cells[place][at] = Some(value);
        }
    }
    Ok(cells)
}

/// Checks that a field without nulls has a value in each of its cells; beside each is the value in which it is.
fn check_nulls<'v>(
    field: &Field,
    cells: impl IntoIterator<Item = (Option<&'v Value<'v>>, Option<&'v Value<'v>>)>,
) -> Result<(), Invalid<'v>> {
    let missing = |(cell, _): &(Option<&Value<'_>>, _)| cell.is_none_or(is_null);
    let missing = (!field.is_nullable()).then(|| cells.into_iter().find(missing)).flatten();
    match missing {
        None => Ok(()),
        Some((cell, outer)) => {
            let name = excerpt(field.name());
            let message = format!("the schema allows no null in the field {name}");
            // A cell that is absent is in a row that is not.
            let steps = if cell.is_some() { String::new() } else { path_step(field.name()) };
            Err(Invalid { value: cell.or(outer), steps, ..Invalid::of_column(message) })
        }
    }
}

/// The elements of all rows in turn, and the number of elements of each row.
type Elements<'v> = (Vec<Option<&'v Value<'v>>>, Vec<usize>, NullBuffer);

fn elements<'v>(
    values: Values<'_, 'v>,
    data_type: &DataType,
    missing: usize,
) -> Result<Elements<'v>, Invalid<'v>> {
    let rows = each(values, data_type, Value::as_array)?;
    let (mut elements, mut sizes) = (Vec::new(), Vec::new());
    memory::require(sizes.try_reserve_exact(rows.len()));
    for row in polled(&rows) {
        if let Some(row) = row {
            memory::require(elements.try_reserve(row.len()));
            elements.extend(row.iter().map(Some));
        } else {
            memory::require(elements.try_reserve(missing));
            elements.extend(std::iter::repeat_n(None, missing));
        }
        sizes.push(row.map_or(missing, <[_]>::len));
    }
    Ok((elements, sizes, present(&rows)))
}

/// [`memory::require`]s memory for the buffers of a column with children of so many rows.
fn require_nested(rows: usize) {
    memory::require(memory::ensure(rows.saturating_mul(NESTED_SIZE)));
}

/// Which rows are not null.
fn present<T>(rows: &[Option<T>]) -> NullBuffer {
    require_nested(rows.len());
    BooleanBuffer::collect_bool(rows.len(), |row| rows[row].is_some()).into()
}
