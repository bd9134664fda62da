//! The indices of a dictionary-encoded array, of any integer type.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

/// For each row, the index of its value.
pub(super) struct Keys {
    nulls: Option<NullBuffer>,
    indices: Indices,
    /// The number of values; an index without a value is that of a null row.
    values: usize,
}

enum Indices {
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
}

impl Keys {
    /// The indices of a dictionary-encoded array, and its values.
    pub(super) fn new(array: &dyn Array) -> (Self, &ArrayRef) {
        let array = array.as_any_dictionary();
        let (keys, values) = (array.keys(), array.values());
        macro_rules! indices {
            ($kind:ident, $type:ty) => {
                Indices::$kind(keys.as_primitive::<$type>().values().clone())
            };
        }
        let indices = match keys.data_type() {
            DataType::Int8 => indices!(I8, Int8Type),
            DataType::Int16 => indices!(I16, Int16Type),
            DataType::Int32 => indices!(I32, Int32Type),
            DataType::Int64 => indices!(I64, Int64Type),
            DataType::UInt8 => indices!(U8, UInt8Type),
            DataType::UInt16 => indices!(U16, UInt16Type),
            DataType::UInt32 => indices!(U32, UInt32Type),
            _ => indices!(U64, UInt64Type),
        };
        (Self { nulls: keys.nulls().cloned(), indices, values: values.len() }, values)
    }

    /// The index of the value of a row; `None` if the row is null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<usize> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let index = match &self.indices {
            Indices::I8(indices) => indices[row].as_usize(),
            Indices::I16(indices) => indices[row].as_usize(),
            Indices::I32(indices) => indices[row].as_usize(),
            Indices::I64(indices) => indices[row].as_usize(),
            Indices::U8(indices) => indices[row].as_usize(),
            Indices::U16(indices) => indices[row].as_usize(),
            Indices::U32(indices) => indices[row].as_usize(),
            Indices::U64(indices) => indices[row].as_usize(),
        };
        Some(index).filter(|&index| index < self.values)
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        match &self.indices {
            Indices::I8(indices) => indices.len(),
            Indices::I16(indices) => indices.len(),
            Indices::I32(indices) => indices.len(),
            Indices::I64(indices) => indices.len(),
            Indices::U8(indices) => indices.len(),
            Indices::U16(indices) => indices.len(),
            Indices::U32(indices) => indices.len(),
            Indices::U64(indices) => indices.len(),
        }
    }
}
