//! `encode` of a column of responses.
//!
//! Compact Protocol v2 and v4, by the functions of [`crate::compact`].

use super::cells::{Cells, Kind, Shape};
use super::column::Column;
use super::error::Error;
use super::integers::Integers;
use super::message::Field;
use super::rows::{Chunk, RowOptions, Stop, map_within};
use super::shared::Shared;
use super::texts::{Text, Texts};
use crate::compact::{self, EncodeError, EncodeOptions, Response, Status};
use crate::excerpt::excerpt;
use crate::text;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use std::borrow::Cow;

/// Whether messages are written as text or as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Output {
    /// As [`compact::encode`].
    #[default]
    Text,
    /// As [`compact::encode_bytes`], a fifth less.
    Bytes,
}

/// Encodes each row. The column has texts, which are results, or structs with the fields of a response: `result`,
/// and any others of [`Field`] but the last two. A null in another field than `result` is its default. Rows that
/// share a text may become `max_expansion` bytes more than 64 times what they have in memory and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is an [`EncodeError`].
pub fn encode(
    column: &Column,
    output: Output,
    encode: &EncodeOptions<'_>,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    match output {
        Output::Text => {
            let shape = Shape::Plain(Kind::Text);
            map_within(max_expansion, column, options, shape, |rows: &Responses, row, cells| {
                let wire = compact::encode(&rows.get(row, cells)?, encode)?;
                Ok(cells.text(0, &wire)?)
            })
        }
        Output::Bytes => {
            let shape = Shape::Plain(Kind::Bytes);
            map_within(max_expansion, column, options, shape, |rows: &Responses, row, cells| {
                let wire = compact::encode_bytes(&rows.get(row, cells)?, encode)?;
                Ok(cells.binary(0, &wire)?)
            })
        }
    }
}

/// A chunk of a column of responses.
enum Responses {
    Results(Texts),
    Structs(Box<Structs>),
}

struct Structs {
    array: StructArray,
    result: Texts,
    model: Option<Texts>,
    status: Option<Texts>,
    tokens: Option<Ints>,
    model_name: Option<Texts>,
    returncode: Option<Ints>,
    reasoning_effort: Option<Texts>,
    ultrathink: Option<ArrayRef>,
}

impl Chunk for Responses {
    fn new(chunk: &ArrayRef) -> Result<Self, Error> {
        match chunk.data_type() {
            DataType::Struct(_) => Ok(Self::Structs(Box::new(Structs::new(chunk.as_struct())?))),
            _ => Texts::new(chunk).map(Self::Results).map_err(|error| match error {
                Error::Type(message) => Error::Type(format!("{message}, or structs of a response")),
                error => error,
            }),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Results(texts) => texts.rows(),
            Self::Structs(structs) => structs.array.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Results(texts) => texts.bytes(),
            Self::Structs(structs) => structs.texts().map(Texts::bytes).sum(),
        }
    }

    fn stored(&self, shared: &mut Shared) -> usize {
        match self {
            Self::Results(texts) => texts.stored(shared),
            Self::Structs(structs) => structs.texts().map(|texts| texts.stored(shared)).sum(),
        }
    }
}

impl Responses {
    fn get(&self, row: usize, cells: &mut Cells) -> Result<Response<'_>, Stop> {
        let response = match self {
            Self::Results(texts) => {
                let result = texts.get(row).ok_or(Stop::Null)?;
                Response::new(utf8(result, Field::Result)?)
            }
            Self::Structs(structs) => structs.get(row)?,
        };
        let others = [&response.model_name, &response.reasoning_effort];
        let others = others.into_iter().flatten().map(|text| text.len()).sum::<usize>();
        cells.read(response.result.len() + response.model.len() + others);
        Ok(response)
    }
}

impl Structs {
    fn new(array: &StructArray) -> Result<Self, Error> {
        let names: Vec<_> = Field::ALL[..8].iter().map(|field| field.name()).collect();
        for (at, name) in array.column_names().into_iter().enumerate() {
            if !names.contains(&name) {
                let (name, names) = (excerpt(name), names.join(", "));
                let message = format!(
                    "unknown field {name}; the fields of a response are {names}; to encode one column of a table, \
                     pass that column"
                );
                return Err(Error::Type(message));
            }
            if array.column_names()[..at].contains(&name) {
                return Err(Error::Type(format!("the field {name:?} occurs twice")));
            }
        }
        let column = |field: Field| array.column_by_name(field.name());
        let in_field = |field: Field, error| match error {
            Error::Type(message) => Error::Type(format!("field {:?}: {message}", field.name())),
            error => error,
        };
        let texts = |field| {
            let texts = column(field).map(Texts::new).transpose();
            texts.map_err(|error| in_field(field, error))
        };
        let ints = |field| {
            let ints = column(field).map(Ints::new).transpose();
            ints.map_err(|error| in_field(field, error))
        };
        let result = texts(Field::Result)?
            .ok_or_else(|| Error::Type("the structs have no field \"result\"".into()))?;
        let ultrathink = column(Field::Ultrathink).cloned();
        if let Some(other) = ultrathink.as_ref().map(Array::data_type)
            && !matches!(other, DataType::Boolean | DataType::Null)
        {
            return Err(in_field(Field::Ultrathink, Error::unexpected(other, "booleans")));
        }
        Ok(Self {
            result,
            model: texts(Field::Model)?,
            status: texts(Field::Status)?,
            tokens: ints(Field::Tokens)?,
            model_name: texts(Field::ModelName)?,
            returncode: ints(Field::Returncode)?,
            reasoning_effort: texts(Field::ReasoningEffort)?,
            ultrathink,
            array: array.clone(),
        })
    }

    /// The columns of texts.
    fn texts(&self) -> impl Iterator<Item = &Texts> {
        let others = [&self.model, &self.status, &self.model_name, &self.reasoning_effort];
        [&self.result].into_iter().chain(others.into_iter().flatten())
    }

    fn get(&self, row: usize) -> Result<Response<'_>, Stop> {
        if self.array.is_null(row) {
            return Err(Stop::Null);
        }
        let missing = || invalid(Field::Result, "it is null; a response has a result");
        let result = utf8(self.result.get(row).ok_or_else(missing)?, Field::Result)?;
        let int = |column: &Option<Ints>, field| {
            column.as_ref().map_or(Ok(None), |ints| ints.get(row, field))
        };
        let returncode = int(&self.returncode, Field::Returncode)?;
        let status = match text(self.status.as_ref(), row, Field::Status)? {
            None if returncode.is_some_and(|code| code != 0) => Status::Err,
            None => Status::Ok,
            Some(code) => Status::from_code(&code).ok_or_else(|| {
                let found = excerpt(&code);
                invalid(Field::Status, &format!("expected OK, ERR, PART or STREAM, found {found}"))
            })?,
        };
        let tokens = u64::try_from(int(&self.tokens, Field::Tokens)?.unwrap_or(0))
            .map_err(|_| invalid(Field::Tokens, "the number must not be negative"))?;
        let flags = self.ultrathink.as_ref().and_then(|column| column.as_boolean_opt());
        Ok(Response {
            result,
            model: text(self.model.as_ref(), row, Field::Model)?.unwrap_or_default(),
            status,
            tokens,
            model_name: text(self.model_name.as_ref(), row, Field::ModelName)?,
            returncode: returncode.filter(|&code| code != status.returncode()),
            reasoning_effort: text(self.reasoning_effort.as_ref(), row, Field::ReasoningEffort)?,
            ultrathink: flags.filter(|flags| flags.is_valid(row)).map(|flags| flags.value(row)),
        })
    }
}

/// The text of a field that may be null.
fn text(
    column: Option<&Texts>,
    row: usize,
    field: Field,
) -> Result<Option<Cow<'_, str>>, EncodeError> {
    column.and_then(|texts| texts.get(row)).map(|text| utf8(text, field)).transpose()
}

fn utf8(text: Text<'_>, field: Field) -> Result<Cow<'_, str>, EncodeError> {
    match text {
        Text::Str(text) => Ok(text.into()),
        Text::Bytes(bytes) => text::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
            invalid(field, &format!("not UTF-8 from byte {} on", error.valid_up_to()))
        }),
    }
}

fn out_of_range(field: Field) -> EncodeError {
    invalid(field, "the number is not within -2^63 to 2^63 - 1")
}

fn invalid(field: Field, message: &str) -> EncodeError {
    let message = message.to_owned();
    EncodeError { field: field.name(), path: None, message, out_of_memory: false }
}

/// A column of integers of any size, or of nulls.
struct Ints {
    column: ArrayRef,
    values: Option<Integers>,
}

impl Ints {
    fn new(column: &ArrayRef) -> Result<Self, Error> {
        let values = Integers::new(&**column);
        match column.data_type() {
            other if values.is_none() && *other != DataType::Null => {
                Err(Error::unexpected(other, "integers"))
            }
            _ => Ok(Self { column: column.clone(), values }),
        }
    }

    /// The integer of a row, `None` if it is null.
    fn get(&self, row: usize, field: Field) -> Result<Option<i64>, EncodeError> {
        match &self.values {
            Some(values) if self.column.is_valid(row) => {
                values.get(row).map(Some).map_err(|_| out_of_range(field))
            }
            _ => Ok(None),
        }
    }
}
