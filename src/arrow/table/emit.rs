//! Emits a table to a sink: the checked path, which reports what cannot be written, with its place.

use super::node::{Kind, Node, Struct, invalid_keys};
use crate::arrow::error::type_excerpt;
use crate::excerpt::excerpt;
use crate::gcf::{self, Builder, Code};
use crate::interrupt::Steps;
use crate::walk::{Found, Sink};
use arrow_schema::DataType;

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
    pub(super) fn emit<S: Target>(
        &self,
        row: usize,
        sink: &mut S,
        steps: &mut Steps,
    ) -> Result<(), S::Error> {
        steps.step();
        if self.is_null(row) {
            return sink.null();
        }
        match &self.kind {
            Kind::Null => sink.null(),
            Kind::Bool(values) => sink.bool(values.value(row)),
            Kind::Bool8(values) => sink.bool(values[row] != 0),
            Kind::Int(values) => match values.get(row) {
                Ok(value) => sink.int(value),
                Err(large) => sink.big_int(&large.to_string()),
            },
            Kind::Dictionary(keys, values) => match keys.get(row) {
                Some(row) => values.emit(row, sink, steps),
                None => sink.null(),
            },
            Kind::Struct(Struct { fields, columns, duplicate }) => {
                if let Some(name) = duplicate {
                    let name = excerpt(name);
                    let message = format!("two columns have the name {name}; rename one");
                    return Err(sink.invalid(Code::DuplicateKey, message));
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
                if let Some((code, message)) = invalid_keys(keys, start..start + length) {
                    return Err(sink.invalid(code, message.to_owned()));
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
                Some(Found::Float(value)) => sink.float(value),
                Some(Found::Text(text)) => sink.string(text),
                _ => sink.null(),
            },
        }
    }
}

fn unsupported(data_type: &DataType) -> String {
    if matches!(data_type, DataType::Map(..)) {
        return "the keys of a map must be texts; cast the column or leave it out".to_owned();
    }
    let data_type = type_excerpt(data_type);
    format!(
        "a value of the Arrow type {data_type} cannot be written; cast the column or leave it out"
    )
}
