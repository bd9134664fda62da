//! The integers of an array, whichever of the eight Arrow types they have.
//!
//! Invariant: null rows are not recognized here; the caller knows them.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

/// The integers of an array. The caller knows which rows are null.
pub(super) enum Integers {
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
    U8(ScalarBuffer<u8>),
    U16(ScalarBuffer<u16>),
    U32(ScalarBuffer<u32>),
    U64(ScalarBuffer<u64>),
}

impl Integers {
    /// `None` for an array of another type.
    pub(super) fn new(array: &dyn Array) -> Option<Self> {
        macro_rules! values {
            ($kind:ident, $type:ty) => {
                Self::$kind(array.as_primitive::<$type>().values().clone())
            };
        }
        Some(match array.data_type() {
            DataType::Int8 => values!(I8, Int8Type),
            DataType::Int16 => values!(I16, Int16Type),
            DataType::Int32 => values!(I32, Int32Type),
            DataType::Int64 => values!(I64, Int64Type),
            DataType::UInt8 => values!(U8, UInt8Type),
            DataType::UInt16 => values!(U16, UInt16Type),
            DataType::UInt32 => values!(U32, UInt32Type),
            DataType::UInt64 => values!(U64, UInt64Type),
            _ => return None,
        })
    }

    /// The integer of a row; `Err` with it if it exceeds 2^63 - 1.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Result<i64, u64> {
        Ok(match self {
            Self::I8(values) => values[row].into(),
            Self::I16(values) => values[row].into(),
            Self::I32(values) => values[row].into(),
            Self::I64(values) => values[row],
            Self::U8(values) => values[row].into(),
            Self::U16(values) => values[row].into(),
            Self::U32(values) => values[row].into(),
            Self::U64(values) => return i64::try_from(values[row]).map_err(|_| values[row]),
        })
    }
}
