//! Reads a GCF text as a column: the elements of its array, so that a table becomes a struct column.
//!
//! `infer` finds the type of values, `build` makes an array of a type, `parse` reads the texts of dates, times
//! and decimals. A field that a row does not have becomes null, as Arrow cannot tell the two apart.
//!
//! Invariant: a value is stored exactly, or is an error with its path.

mod build;
mod infer;
mod parse;

use super::column::Column;
use super::error::UNSUPPORTED;
use crate::excerpt::path_step;
use crate::gcf::{self, Code, DecodeOptions, Place};
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use arrow_schema::{DataType, Field};
use build::Build;
use std::sync::Arc;

/// Reads the array of a text, or the only member of its object if that is an array. Without a type, the column
/// has bool, int64, float64 (for integers and doubles), utf8, struct, list or null.
///
/// # Errors
/// As [`gcf::decode`]; `unsupported_type` for a value that does not fit its column, `out_of_range` for a
/// number that the column's type does not have; `limit_exceeded` if rows of unlike fields would need more cells
/// than `max_expansion` allows. The place is the path of the value.
pub fn gcf_loads(
    text: &str,
    data_type: Option<&DataType>,
    options: DecodeOptions,
) -> Result<Column, gcf::Error> {
    let root = gcf::decode(text, options)?;
    let rows = elements(&root)
        .ok_or_else(|| Misfit::new(&root, "a column needs an array, or an object of one array"))
        .and_then(|rows| match UNSUPPORTED {
            Some(reason) => Err(Misfit::new(&root, reason)),
            None => Ok(rows),
        })
        .and_then(|rows| {
            memory::require(memory::ensure(size_of_val(rows)));
            let rows: Vec<_> = polled(rows).map(Some).collect();
            let data_type = match data_type {
                Some(data_type) => data_type.clone(),
                None => infer::data_type(&rows)?,
            };
            let free = gcf::FREE_EXPANSION.saturating_mul(text.len() as u64);
            let limit = free.saturating_add(options.limits.max_expansion as u64);
            let array = Build::new(limit).array(&data_type, &rows)?;
            let field = Arc::new(Field::new("", data_type, true));
            Ok(Column::new(field, vec![array]))
        });
    rows.map_err(|misfit| misfit.locate(&root))
}

fn elements<'v>(root: &'v Value<'_>) -> Option<&'v [Value<'v>]> {
    match root.as_object() {
        Some([(_, only)]) => only.as_array(),
        Some(_) => None,
        None => root.as_array(),
    }
}

/// A value that does not fit its column.
struct Misfit<'v> {
    value: Option<&'v Value<'v>>,
    code: Code,
    message: String,
}

impl<'v> Misfit<'v> {
    fn new(value: &'v Value<'v>, message: impl Into<String>) -> Self {
        Self { value: Some(value), code: Code::UnsupportedType, message: message.into() }
    }

    /// The type of the column does not have the number.
    fn out_of_range(value: &'v Value<'v>, data_type: &DataType) -> Self {
        let message = format!("the type {data_type} does not have this value");
        Self { code: Code::OutOfRange, ..Self::new(value, message) }
    }

    /// The value has another type than the column.
    fn other(value: &'v Value<'v>, data_type: &DataType) -> Self {
        Self::new(value, format!("expected a value for {data_type}, found {}", value.kind()))
    }

    /// No value is at fault, but the type of the column.
    fn unsupported(data_type: &DataType) -> Self {
        Self::of_column(format!("a column of the type {data_type} cannot be read from GCF"))
    }

    /// No single value is at fault. The path is then that of the whole value.
    fn of_column(message: String) -> Self {
        Self { value: None, code: Code::UnsupportedType, message }
    }

    fn locate(self, root: &Value<'_>) -> gcf::Error {
        let Self { value, code, message } = self;
        let mut path = "$".to_owned();
        if let Some(value) = value {
            find(root, std::ptr::from_ref(value).cast(), &mut path);
        }
        gcf::Error { code, message, place: Place::Value(path) }
    }
}

/// Appends the path from `value` to the part of it at an address; returns whether there is one.
fn find(value: &Value<'_>, address: *const (), path: &mut String) -> bool {
    if std::ptr::from_ref(value).cast() == address {
        return true;
    }
    let length = path.len();
    let mut part = |step: String, value| {
        path.push_str(&step);
        let found = find(value, address, path);
        if !found {
            path.truncate(length);
        }
        found
    };
    match value {
        Value::Array(elements) => {
            let mut elements = elements.iter().enumerate();
            elements.any(|(index, element)| part(format!("[{index}]"), element))
        }
        Value::Object(members) => members.iter().any(|(key, member)| part(path_step(key), member)),
        _ => false,
    }
}
