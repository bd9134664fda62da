//! Finds the Arrow type of the values of a column, if the caller gives none.

use super::Invalid;
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use arrow_schema::{DataType, Field, Fields};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The integers up to this one, and down to its opposite, are doubles, too.
const EXACT: i64 = 1 << 53;

/// The type of the values that are neither absent nor null; null if there are none.
pub(super) fn data_type<'v>(values: &[Option<&'v Value<'v>>]) -> Result<DataType, Invalid<'v>> {
    let mut found = DataType::Null;
    for value in polled(values.iter().flatten()) {
        let next = match value {
            Value::Null => continue,
            Value::Bool(_) => DataType::Boolean,
            Value::Int(_) => DataType::Int64,
            Value::Float(_) => DataType::Float64,
            Value::String(_) => DataType::Utf8,
            Value::Array(_) => return list(values),
            Value::Object(_) => return structure(values),
            Value::BigInt(_) => return Err(Invalid::out_of_range(value, &DataType::Int64)),
        };
        found = match (found, next) {
            (DataType::Int64, DataType::Float64) | (DataType::Float64, DataType::Int64) => {
                DataType::Float64
            }
            (found, next) if found == next || found == DataType::Null => next,
            (found, _) => return Err(mixed(value, &found)),
        };
    }
    if found == DataType::Float64 {
        check_integers(values)?;
    }
    Ok(found)
}

/// Integers beside doubles must be doubles, too.
fn check_integers<'v>(values: &[Option<&'v Value<'v>>]) -> Result<(), Invalid<'v>> {
    let inexact =
        |value: &&Value<'_>| matches!(value, Value::Int(n) if !(-EXACT..=EXACT).contains(n));
    match values.iter().flatten().copied().find(|value| inexact(value)) {
        Some(value) => Err(Invalid::out_of_range(value, &DataType::Float64)),
        None => Ok(()),
    }
}

fn mixed<'v>(value: &'v Value<'v>, found: &DataType) -> Invalid<'v> {
    let message = format!(
        "{} stands in a column of {found}; pass schema=, or read the text with gcf.loads",
        value.kind()
    );
    Invalid::new(value, message)
}

fn list<'v>(values: &[Option<&'v Value<'v>>]) -> Result<DataType, Invalid<'v>> {
    let mut elements = Vec::new();
    for value in polled(values.iter().flatten()) {
        match value {
            Value::Null => {}
            Value::Array(some) => {
                memory::require(elements.try_reserve(some.len()));
                elements.extend(some.iter().map(Some));
            }
            other => return Err(mixed(other, &DataType::new_list(DataType::Null, true))),
        }
    }
    Ok(DataType::List(Arc::new(Field::new("item", data_type(&elements)?, true))))
}

fn structure<'v>(values: &[Option<&'v Value<'v>>]) -> Result<DataType, Invalid<'v>> {
    let mut columns: Vec<(&str, Vec<Option<&'v Value<'v>>>)> = Vec::new();
    let mut places = HashMap::new();
    for value in polled(values.iter().flatten()) {
        let members: &[(Cow<'_, str>, Value<'_>)] = match value {
            Value::Null => continue,
            Value::Object(members) => members,
            other => return Err(mixed(other, &DataType::Struct(Fields::empty()))),
        };
        for (key, member) in polled(members) {
            let place = match places.entry(&**key) {
                Entry::Occupied(place) => *place.get(),
                // The names of the C data interface end with one.
                Entry::Vacant(_) if key.contains('\0') => {
                    let message = "no column has a name with U+0000; read the text with gcf.loads";
                    return Err(Invalid::new(member, message));
                }
                Entry::Vacant(new) => {
                    columns.push((key, Vec::new()));
                    *new.insert(columns.len() - 1)
                }
            };
            memory::push(&mut columns[place].1, Some(member));
        }
    }
    let field = |(name, values): &(&str, Vec<_>)| Ok(Field::new(*name, data_type(values)?, true));
    Ok(DataType::Struct(columns.iter().map(field).collect::<Result<Fields, _>>()?))
}
