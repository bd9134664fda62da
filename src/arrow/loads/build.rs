//! Makes an array of a type from values.

use super::{Misfit, parse};
use crate::excerpt::excerpt;
use crate::gcf::Code;
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, GenericListArray,
    LargeStringArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray, StringArray,
    StringViewArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// The bytes of memory for a row of a column, besides its text: its value, content and place in a buffer.
const ROW_SIZE: usize = 128;

/// The maximum number of bytes of a column of texts with offsets of four bytes.
const MAX_TEXT: usize = i32::MAX as usize;

/// The bytes that a cell counts which the text does not have.
const CELL_SIZE: u64 = 16;

type Members<'v> = &'v [(Cow<'v, str>, Value<'v>)];
type Values<'a, 'v> = &'a [Option<&'v Value<'v>>];
type Built<'v> = Result<ArrayRef, Misfit<'v>>;

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

    /// The array of a type whose rows are these values; absent and null ones are null.
    pub(super) fn array<'v>(&self, data_type: &DataType, values: Values<'_, 'v>) -> Built<'v> {
        memory::require(memory::ensure(values.len().saturating_mul(ROW_SIZE)));
        match data_type {
            DataType::Null => match values.iter().flatten().find(|value| !is_null(value)) {
                Some(value) => Err(Misfit::other(value, data_type)),
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
            DataType::FixedSizeList(field, size) => self.fixed(field, *size, values, data_type),
            DataType::Map(field, ordered) => self.map(field, *ordered, values, data_type),
            DataType::Dictionary(keys, of) if **of == DataType::Utf8 => {
                dictionary_of(keys, values, data_type)
            }
            DataType::Dictionary(..) => Err(Misfit::unsupported(data_type)),
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
            self.array(field.data_type(), cells)
        };
        let columns = fields.iter().zip(&cells).map(column).collect::<Result<Vec<_>, _>>()?;
        let nulls = NullBuffer::from(rows.iter().map(Option::is_some).collect::<Vec<_>>());
        StructArray::try_new_with_length(fields.clone(), columns, Some(nulls), rows.len())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| rejected(&error))
    }

    /// Counts cells that the text does not have.
    fn add_absent<'v>(&self, cells: usize) -> Result<(), Misfit<'v>> {
        let size = CELL_SIZE.saturating_mul(cells as u64);
        match self.left.get().checked_sub(size) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Misfit {
                code: Code::LimitExceeded,
                ..Misfit::of_column(format!(
                    "rows of other fields than their columns: {cells} cells that the text does not have, of \
                     {CELL_SIZE} bytes each, are more than max_expansion allows"
                ))
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
        if O::from_usize(elements.len()).is_none() {
            return Err(Misfit::unsupported(data_type));
        }
        check_nulls(field, elements.iter().map(|element| (*element, *element)))?;
        let elements = self.array(field.data_type(), &elements)?;
        let offsets = OffsetBuffer::<O>::from_lengths(sizes);
        GenericListArray::try_new(Arc::clone(field), offsets, elements, Some(nulls))
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| rejected(&error))
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
            return Err(Misfit::new(value, message));
        }
        // The elements of a null row are absent, others are values.
        let present = elements.iter().flatten().map(|element| (Some(*element), None));
        check_nulls(field, present)?;
        let elements = self.array(field.data_type(), &elements)?;
        FixedSizeListArray::try_new_with_length(
            Arc::clone(field),
            size,
            elements,
            Some(nulls),
            values.len(),
        )
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| rejected(&error))
    }

    fn map<'v>(
        &self,
        field: &FieldRef,
        ordered: bool,
        values: Values<'_, 'v>,
        data_type: &DataType,
    ) -> Built<'v> {
        let DataType::Struct(entry) = field.data_type() else {
            return Err(Misfit::unsupported(data_type));
        };
        let [key, value] = &entry[..] else { return Err(Misfit::unsupported(data_type)) };
        let rows = each(values, data_type, Value::as_object)?;
        let members: Vec<_> = rows.iter().flatten().copied().flatten().collect();
        let texts: Vec<Option<&str>> = members.iter().map(|(key, _)| Some(&**key)).collect();
        check_size(&texts, key.data_type())?;
        let keys: ArrayRef = match key.data_type() {
            DataType::Utf8 => Arc::new(StringArray::from(texts)),
            DataType::LargeUtf8 => Arc::new(LargeStringArray::from(texts)),
            DataType::Utf8View => Arc::new(StringViewArray::from(texts)),
            _ => return Err(Misfit::unsupported(data_type)),
        };
        let cells: Vec<_> = members.iter().map(|(_, value)| Some(value)).collect();
        check_nulls(value, cells.iter().map(|cell| (*cell, None)))?;
        let columns = vec![keys, self.array(value.data_type(), &cells)?];
        let sizes = rows.iter().map(|row| row.map_or(0, <[_]>::len));
        let offsets = OffsetBuffer::from_lengths(sizes);
        let nulls = NullBuffer::from(rows.iter().map(Option::is_some).collect::<Vec<_>>());
        StructArray::try_new(entry.clone(), columns, None)
            .and_then(|entries| {
                MapArray::try_new(Arc::clone(field), offsets, entries, Some(nulls), ordered)
            })
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| rejected(&error))
    }
}

fn is_null(value: &Value<'_>) -> bool {
    matches!(value, Value::Null)
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
) -> Result<Vec<Option<T>>, Misfit<'v>> {
    polled(values)
        .map(|value| match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => get(value).map(Some).ok_or_else(|| Misfit::other(value, data_type)),
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
fn check_size<'v>(texts: &[Option<&str>], data_type: &DataType) -> Result<(), Misfit<'v>> {
    let size: usize = texts.iter().flatten().map(|text| text.len()).sum();
    memory::require(memory::ensure(size));
    let is_small = matches!(data_type, DataType::Utf8 | DataType::Dictionary(..));
    if is_small && size > MAX_TEXT {
        return Err(Misfit::of_column(format!(
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
            T::Native::try_from(*number).map_err(|_| Misfit::out_of_range(value, data_type))
        }
        _ => Err(Misfit::other(value, data_type)),
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
            _ => return Err(Misfit::other(value, data_type)),
        };
        number.and_then(&exact).ok_or_else(|| Misfit::out_of_range(value, data_type))
    };
    primitive::<T>(data_type, values, native)
}

fn primitive<'v, T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: Values<'_, 'v>,
    native: impl Fn(&'v Value<'v>) -> Result<T::Native, Misfit<'v>>,
) -> Built<'v> {
    let rows = polled(values).map(|value| match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => native(value).map(Some),
    });
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let array: PrimitiveArray<T> = rows.into_iter().collect();
    Ok(Arc::new(array.with_data_type(data_type.clone())))
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
        _ => Err(Misfit::unsupported(data_type)),
    }
}

fn parsed<'v, T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: Values<'_, 'v>,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Built<'v> {
    primitive::<T>(data_type, values, |value| {
        let text = value.as_str().ok_or_else(|| Misfit::other(value, data_type))?;
        parse(text).ok_or_else(|| Misfit::out_of_range(value, data_type))
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
        return Err(Misfit::unsupported(data_type));
    };
    parsed::<T>(data_type, values, |text| parse::decimal(text, *precision, *scale)?.parse().ok())
}

/// The values of the rows of a struct, by field.
fn cells_of<'v>(
    fields: &Fields,
    rows: &[Option<Members<'v>>],
) -> Result<Vec<Vec<Option<&'v Value<'v>>>>, Misfit<'v>> {
    let places: HashMap<&str, usize> =
        fields.iter().enumerate().map(|(place, field)| (&**field.name(), place)).collect();
    let mut cells = Vec::new();
    for _ in fields {
        let mut column = Vec::new();
        memory::require(column.try_reserve_exact(rows.len()));
        column.resize(rows.len(), None);
        cells.push(column);
    }
    for (at, members) in polled(rows).enumerate() {
        for (guess, (key, value)) in members.iter().copied().flatten().enumerate() {
            // Rows mostly have the fields in the order of the schema.
            let guess = fields.get(guess).filter(|field| field.name() == key).map(|_| guess);
            let Some(place) = guess.or_else(|| places.get(&**key).copied()) else {
                let key = excerpt(key);
                return Err(Misfit::new(value, format!("the schema has no field {key}")));
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
) -> Result<(), Misfit<'v>> {
    let missing = |(cell, _): &(Option<&Value<'_>>, _)| cell.is_none_or(is_null);
    let missing = (!field.is_nullable()).then(|| cells.into_iter().find(missing)).flatten();
    match missing {
        None => Ok(()),
        Some((cell, outer)) => {
            let name = excerpt(field.name());
            let message = format!("the schema allows no null in the field {name}");
            Err(Misfit { value: cell.or(outer), ..Misfit::of_column(message) })
        }
    }
}

/// The error of the crate `arrow-array` for columns that contradict the type.
fn rejected<'v>(error: &ArrowError) -> Misfit<'v> {
    Misfit::of_column(error.to_string())
}

/// The elements of all rows in turn, and the number of elements of each row.
type Elements<'v> = (Vec<Option<&'v Value<'v>>>, Vec<usize>, NullBuffer);

fn elements<'v>(
    values: Values<'_, 'v>,
    data_type: &DataType,
    missing: usize,
) -> Result<Elements<'v>, Misfit<'v>> {
    let rows = each(values, data_type, Value::as_array)?;
    let mut elements = Vec::new();
    let mut sizes = Vec::new();
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
    let nulls = NullBuffer::from(rows.iter().map(Option::is_some).collect::<Vec<_>>());
    Ok((elements, sizes, nulls))
}

fn dictionary_of<'v>(keys: &DataType, values: Values<'_, 'v>, data_type: &DataType) -> Built<'v> {
    match keys {
        DataType::Int8 => dictionary::<Int8Type>(values, data_type),
        DataType::Int16 => dictionary::<Int16Type>(values, data_type),
        DataType::Int32 => dictionary::<Int32Type>(values, data_type),
        DataType::Int64 => dictionary::<Int64Type>(values, data_type),
        DataType::UInt8 => dictionary::<UInt8Type>(values, data_type),
        DataType::UInt16 => dictionary::<UInt16Type>(values, data_type),
        DataType::UInt32 => dictionary::<UInt32Type>(values, data_type),
        _ => dictionary::<UInt64Type>(values, data_type),
    }
}

fn dictionary<'v, K: ArrowDictionaryKeyType>(
    values: Values<'_, 'v>,
    data_type: &DataType,
) -> Built<'v> {
    let mut builder = StringDictionaryBuilder::<K>::new();
    let rows = each(values, data_type, Value::as_str)?;
    check_size(&rows, data_type)?;
    for (row, value) in polled(rows).zip(values) {
        match (row, value) {
            (Some(text), Some(value)) => {
                builder.append(text).map_err(|_| Misfit::out_of_range(value, data_type))?;
            }
            _ => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}
