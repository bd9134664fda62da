//! Reads a GCF text as a column: the elements of its array, so that a table becomes a struct column.
//!
//! `infer` finds the type of values, `build` makes an array of a type, `dictionary` one that is
//! dictionary-encoded, `parse` reads the texts of dates, times, decimals and UUIDs. A field that a row does not have becomes null, as Arrow cannot tell the two apart.
//!
//! Invariant: a value is stored exactly, or is an error with its path.

mod build;
mod dictionary;
mod infer;
mod parse;

use super::column::Column;
use super::error::UNSUPPORTED;
use crate::excerpt::path_step;
use crate::gcf::{self, Code, DecodeOptions, Place};
use crate::interrupt::polled;
use crate::memory;
use crate::value::Value;
use arrow_schema::{ArrowError, Field};
use build::Build;
use std::fmt::Display;
use std::sync::Arc;

/// Reads the array of a text, or the only member of its object if that is an array. Without a field, the column
/// has bool, int64, float64 (for integers and doubles), utf8, struct, list or null. With one, it has its type
/// and metadata.
///
/// # Errors
/// As [`gcf::decode`]; `unsupported_type` for a value that does not fit its column, `out_of_range` for a
/// number that the column's type does not have; `limit_exceeded` if rows of unlike fields would need more cells
/// than `max_expansion` allows. The place is the path of the value, or that of its column in all rows, such as
/// `$[*].price`.
pub fn gcf_loads(
    text: &str,
    field: Option<&Field>,
    options: DecodeOptions,
) -> Result<Column, gcf::Error> {
    let root = gcf::decode_borrowed(text, options)?;
    let rows = elements(&root)
        .ok_or_else(|| Invalid::new(&root, "a column needs an array, or an object of one array"))
        .and_then(|rows| match UNSUPPORTED {
            Some(reason) => Err(Invalid::new(&root, reason)),
            None => Ok(rows),
        })
        .and_then(|rows| {
            memory::require(memory::ensure(size_of_val(rows)));
            let rows: Vec<_> = polled(rows).map(Some).collect();
            let field = match field {
                Some(field) => field.clone().with_name("").with_nullable(true),
                None => Field::new("", infer::data_type(&rows)?, true),
            };
            let free = gcf::FREE_EXPANSION.saturating_mul(text.len() as u64);
            let limit = free.saturating_add(options.limits.max_expansion as u64);
            let array =
                Build::new(limit).array(&field, &rows).map_err(|invalid| invalid.within("[*]"))?;
            Ok(Column::new(Arc::new(field), vec![array]))
        });
    rows.map_err(|invalid| invalid.locate(&root))
}

fn elements<'v>(root: &'v Value<'_>) -> Option<&'v [Value<'v>]> {
    match root.as_object() {
        Some([(_, only)]) => only.as_array(),
        Some(_) => None,
        None => root.as_array(),
    }
}

fn is_null(value: &Value<'_>) -> bool {
    matches!(value, Value::Null)
}

/// A value that does not fit its column, or a column that cannot be read.
struct Invalid<'v> {
    value: Option<&'v Value<'v>>,
    /// The steps of the path after that of the value, or after that of the rows if there is none.
    steps: String,
    code: Code,
    message: String,
}

impl<'v> Invalid<'v> {
    fn new(value: &'v Value<'v>, message: impl Into<String>) -> Self {
        Self { value: Some(value), ..Self::of_column(message.into()) }
    }

    /// The type of the column does not have the number or text.
    fn out_of_range(value: &'v Value<'v>, data_type: impl Display) -> Self {
        let message = format!("the type {data_type} does not have this value");
        Self { code: Code::OutOfRange, ..Self::new(value, message) }
    }

    /// The value has another type than the column.
    fn other(value: &'v Value<'v>, data_type: impl Display) -> Self {
        Self::new(value, format!("expected a value for {data_type}, found {}", value.kind()))
    }

    /// No single value is at fault. The path is then that of the column.
    fn of_column(message: String) -> Self {
        Self { value: None, steps: String::new(), code: Code::UnsupportedType, message }
    }

    /// The error of the crate `arrow-array` for columns that contradict the type.
    fn rejected(error: &ArrowError) -> Self {
        Self::of_column(error.to_string())
    }

    /// The same error, with the path that begins with `step`.
    fn within(mut self, step: &str) -> Self {
        if self.value.is_none() {
            self.steps.insert_str(0, step);
        }
        self
    }

    fn locate(self, root: &Value<'_>) -> gcf::Error {
        let Self { value, steps, code, message } = self;
        let mut path = "$".to_owned();
        match (value, root.as_object()) {
            (Some(value), _) => {
                find(root, std::ptr::from_ref(value).cast(), &mut path);
            }
            // The rows are the only member of the root.
            (None, Some([(key, _)])) => path.push_str(&path_step(key)),
            (None, _) => {}
        }
        path.push_str(&steps);
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
