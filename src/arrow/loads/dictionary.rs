//! Makes dictionary-encoded arrays: each value once, and for each row the index of its value.

use super::build::{Build, Built, Values};
use super::{Invalid, is_null};
use crate::gcf::Code;
use crate::interrupt::polled;
use crate::json::{self, Escape};
use crate::memory;
use crate::value::Value;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Field};
use std::collections::HashMap;
use std::sync::Arc;

/// The bytes of memory for the index of a row, which is made after the values, and for its bit.
const INDEX_SIZE: usize = 16;

/// Finds equal values.
#[derive(PartialEq, Eq, Hash)]
enum Key<'v> {
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'v str),
    /// The JSON of an array, an object or a large integer.
    Json(String),
}

impl<'v> Key<'v> {
    fn new(value: &'v Value<'v>) -> Self {
        match value {
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::String(text) => Self::Text(text),
            Value::Null | Value::BigInt(_) | Value::Array(_) | Value::Object(_) => {
                memory::require(memory::ensure(value.text_size()));
                let mut json = String::new();
                json::write(value, Escape::Needed, &mut json);
                Self::Json(json)
            }
        }
    }
}

/// The values of all rows, each once, in the order in which they occur.
struct Distinct<'v> {
    values: Vec<Option<&'v Value<'v>>>,
    /// The index of the value of each row; `None` for null.
    rows: Vec<Option<usize>>,
}

impl<'v> Distinct<'v> {
    fn new(rows: Values<'_, 'v>) -> Self {
        let (mut values, mut places) = (Vec::new(), HashMap::new());
        let place = |row: Option<&'v Value<'v>>| {
            let value = row.filter(|value| !is_null(value))?;
            Some(*places.entry(Key::new(value)).or_insert_with(|| {
                memory::push(&mut values, Some(value));
                values.len() - 1
            }))
        };
        let rows = polled(rows.iter().copied()).map(place).collect();
        Self { values, rows }
    }
}

/// The dictionary of these rows, with values of the type `of` and indices of the type `indices`.
pub(super) fn array<'v>(
    build: &Build,
    (indices, of): (&DataType, &DataType),
    rows: Values<'_, 'v>,
    data_type: &DataType,
) -> Built<'v> {
    let distinct = Distinct::new(rows);
    // The values of a dictionary have a type, and no field of their own.
    let values = build.array(&Field::new("", of.clone(), true), &distinct.values)?;
    let encode = match indices {
        DataType::Int8 => encoded::<Int8Type>,
        DataType::Int16 => encoded::<Int16Type>,
        DataType::Int32 => encoded::<Int32Type>,
        DataType::Int64 => encoded::<Int64Type>,
        DataType::UInt8 => encoded::<UInt8Type>,
        DataType::UInt16 => encoded::<UInt16Type>,
        DataType::UInt32 => encoded::<UInt32Type>,
        DataType::UInt64 => encoded::<UInt64Type>,
        _ => {
            return Err(Invalid::of_column(format!(
                "{data_type} has indices that are no integers"
            )));
        }
    };
    encode(&distinct, values, indices)
}

fn encoded<'v, K: ArrowDictionaryKeyType>(
    distinct: &Distinct<'v>,
    values: ArrayRef,
    indices: &DataType,
) -> Built<'v> {
    let first_without_index = (0..values.len()).find(|&at| K::Native::from_usize(at).is_none());
    if let Some(at) = first_without_index {
        let message = format!(
            "this is a value too many for a dictionary with indices of {indices}: it has {at}"
        );
        let invalid = Invalid::of_column(message);
        return Err(Invalid { value: distinct.values[at], code: Code::OutOfRange, ..invalid });
    }
    memory::require(memory::ensure(distinct.rows.len().saturating_mul(INDEX_SIZE)));
    let indices: PrimitiveArray<K> =
        polled(&distinct.rows).map(|row| row.and_then(K::Native::from_usize)).collect();
    DictionaryArray::try_new(indices, values)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|error| Invalid::rejected(&error))
}
