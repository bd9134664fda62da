//! Which rows of an array are null.
//!
//! Arrays of nulls and run-end-encoded arrays have far more rows than bytes. `Array::logical_nulls` would make a bit
//! for each of them: the rows are looked up instead.

use super::node::Node;
use crate::arrow::error::Error;
use arrow_array::cast::{AsArray, as_run_array};
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, UnionArray};
use arrow_buffer::{NullBuffer, RunEndBuffer};
use arrow_schema::DataType;

/// The rows of an array that are null.
pub(super) enum Nulls {
    None,
    Some(NullBuffer),
    All,
    /// Rows whose value is in another array, which knows whether it is null.
    Elsewhere(Box<Elsewhere>),
}

/// Arrays that have no nulls of their own.
pub(super) enum Elsewhere {
    Runs(RunEnds, Node),
    /// With the values of each type.
    Union(UnionArray, Vec<(i8, Node)>),
}

/// Where the runs of an array end.
pub(super) enum RunEnds {
    I16(RunEndBuffer<i16>),
    I32(RunEndBuffer<i32>),
    I64(RunEndBuffer<i64>),
}

impl RunEnds {
    /// The runs of a run-end-encoded array, and the value of each; `None` for another array.
    pub(super) fn of(array: &dyn Array) -> Option<(Self, &ArrayRef)> {
        macro_rules! runs {
            ($kind:ident, $type:ty) => {{
                let array = as_run_array::<$type>(array);
                (Self::$kind(array.run_ends().clone()), array.values())
            }};
        }
        let DataType::RunEndEncoded(ends, _) = array.data_type() else { return None };
        match ends.data_type() {
            DataType::Int16 => Some(runs!(I16, Int16Type)),
            DataType::Int32 => Some(runs!(I32, Int32Type)),
            DataType::Int64 => Some(runs!(I64, Int64Type)),
            _ => None,
        }
    }

    /// The run of a row.
    fn get(&self, row: usize) -> usize {
        match self {
            Self::I16(ends) => ends.get_physical_index(row),
            Self::I32(ends) => ends.get_physical_index(row),
            Self::I64(ends) => ends.get_physical_index(row),
        }
    }
}

impl Nulls {
    /// Those of an array; without those of a dictionary, which [`Keys`](crate::arrow::keys::Keys) knows.
    pub(super) fn of(array: &dyn Array) -> Result<Self, Error> {
        let elsewhere = match array.data_type() {
            DataType::Null => return Ok(Self::All),
            DataType::Dictionary(..) => return Ok(Self::None),
            DataType::RunEndEncoded(_, field) => match RunEnds::of(array) {
                Some((ends, values)) => Elsewhere::Runs(ends, Node::new(field, &**values)?),
                None => return Ok(Self::None),
            },
            DataType::Union(fields, _) => {
                let array = array.as_union();
                let values = fields.iter().map(|(id, field)| {
                    Node::new(field, &**array.child(id)).map(|values| (id, values))
                });
                Elsewhere::Union(array.clone(), values.collect::<Result<_, _>>()?)
            }
            _ => {
                let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
                return Ok(nulls.cloned().map_or(Self::None, Self::Some));
            }
        };
        Ok(Self::Elsewhere(Box::new(elsewhere)))
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::None => false,
            Self::Some(nulls) => nulls.is_null(row),
            Self::All => true,
            Self::Elsewhere(values) => values.is_null(row),
        }
    }
}

impl Elsewhere {
    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Runs(ends, values) => values.is_nothing(ends.get(row)),
            Self::Union(array, values) => {
                let id = array.type_id(row);
                let mut values = values.iter().filter(|(of, _)| *of == id);
                values.any(|(_, values)| values.is_nothing(array.value_offset(row)))
            }
        }
    }
}
