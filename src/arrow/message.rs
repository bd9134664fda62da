//! `decode`, `detect` and `inspect` of a column of messages.
//!
//! Compact Protocol v2 and v4, by the functions of [`crate::compact`].

use super::cells::{Cells, Kind, Shape};
use super::column::Column;
use super::error::Error;
use super::rows::{RowOptions, Stop, map, map_within};
use super::texts::{self, Text, Texts};
use crate::compact::{
    self, Choice, Compression, DecodeError, DecodeOptions, Decoded, EncodeOptions, Format, Layout,
    Opened, Protocol, Wire,
};

/// A column of the result of [`decode`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The text of the response.
    Result,
    /// The code of the model, or any other text.
    Model,
    /// `OK`, `ERR`, `PART` or `STREAM`.
    Status,
    /// The number of tokens.
    Tokens,
    /// The model's name in a verbose message, null if it is the code.
    ModelName,
    /// The return code of a verbose message, null if the status implies it.
    Returncode,
    /// The requested reasoning effort, or null.
    ReasoningEffort,
    /// Whether extended thinking was enabled, or null.
    Ultrathink,
    /// The format of the message.
    Format,
    /// The `MessagePack` layout: `1`, `2`, `3` or `map`; null for a text format.
    Version,
}

impl Field {
    /// All fields, in the order of the arguments of a response.
    pub const ALL: [Self; 10] = [
        Self::Result,
        Self::Model,
        Self::Status,
        Self::Tokens,
        Self::ModelName,
        Self::Returncode,
        Self::ReasoningEffort,
        Self::Ultrathink,
        Self::Format,
        Self::Version,
    ];

    /// The name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Model => "model",
            Self::Status => "status",
            Self::Tokens => "tokens",
            Self::ModelName => "model_name",
            Self::Returncode => "returncode",
            Self::ReasoningEffort => "reasoning_effort",
            Self::Ultrathink => "ultrathink",
            Self::Format => "format",
            Self::Version => "version",
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Tokens | Self::Returncode => Kind::Int,
            Self::Ultrathink => Kind::Bool,
            _ => Kind::Text,
        }
    }

    fn append(self, at: usize, decoded: &Decoded<'_>, cells: &mut Cells) -> Result<(), Error> {
        let Decoded { response, format, layout } = decoded;
        match self {
            Self::Result => cells.text(at, &response.result)?,
            Self::Model => cells.text(at, &response.model)?,
            Self::Status => cells.text(at, response.status.code(Protocol::V2))?,
            Self::Tokens => cells.int(at, i64::try_from(response.tokens).ok()),
            Self::ModelName => cells.text_or_null(at, response.model_name.as_deref())?,
            Self::Returncode => cells.int(at, response.returncode),
            Self::ReasoningEffort => {
                cells.text_or_null(at, response.reasoning_effort.as_deref())?;
            }
            Self::Ultrathink => cells.bool(at, response.ultrathink),
            Self::Format => cells.text(at, format.map_or("raw", Format::name))?,
            Self::Version => cells.text_or_null(at, layout.map(version))?,
        }
        Ok(())
    }
}

fn version(layout: Layout) -> &'static str {
    match layout {
        Layout::V1 => "1",
        Layout::V2 => "2",
        Layout::V3 => "3",
        Layout::Map => "map",
    }
}

/// The message in a row; null stops.
fn wire<'a>(row: Option<Text<'a>>, cells: &mut Cells) -> Result<Wire<'a>, Stop> {
    Ok(match texts::read(row, cells)? {
        Text::Str(text) => Wire::Text(text),
        Text::Bytes(bytes) => Wire::Bytes(bytes),
    })
}

/// Removes the layers of a message. Its size counts, whatever becomes of it.
fn open<'a>(
    wire: Wire<'a>,
    decode: &DecodeOptions<'_>,
    cells: &mut Cells,
) -> Result<Opened<'a>, DecodeError> {
    let opened = compact::open(wire, decode)?;
    cells.made(opened.message_len().unwrap_or(0));
    Ok(opened)
}

/// Decodes each row. The result is a struct with one column for each of `fields`. With `fallback`, a message
/// that cannot be decoded is the result itself, with the format `raw`, if it is a text. The texts of all rows
/// together may have `max_expansion` bytes more than 64 times the messages and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`DecodeError`].
pub fn decode(
    column: &Column,
    fields: &[Field],
    fallback: bool,
    decode: &DecodeOptions<'_>,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Struct(fields.iter().map(|field| (field.name(), field.kind())).collect());
    map_within(max_expansion, column, options, shape, |texts: &Texts, row, cells| {
        let wire = wire(texts.get(row), cells)?;
        let opened = open(wire, decode, cells);
        let decoded = match &opened {
            Ok(opened) => opened.read(),
            Err(error) => Err(error.clone()),
        };
        let decoded = if fallback { compact::or_raw(decoded, wire) } else { decoded }?;
        for (at, field) in fields.iter().enumerate() {
            field.append(at, &decoded, cells)?;
        }
        Ok(())
    })
}

/// Detects the format of each row by its first characters.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`DecodeError`].
pub fn detect(column: &Column, options: RowOptions) -> Result<Column, Error> {
    map(column, options, Shape::Plain(Kind::Text), |texts: &Texts, row, cells| {
        let kind = compact::detect(wire(texts.get(row), cells)?)?;
        Ok(cells.text(0, kind.name())?)
    })
}

/// The columns of the result of [`inspect`].
const LAYERS: [(&str, Kind); 9] = [
    ("format", Kind::Text),
    ("version", Kind::Text),
    ("compression", Kind::Text),
    ("dictionary_id", Kind::Int),
    ("wire_bytes", Kind::Int),
    ("binary_bytes", Kind::Int),
    ("msgpack_bytes", Kind::Int),
    ("result_bytes", Kind::Int),
    ("verbose_bytes", Kind::Int),
];

/// Decodes each row and returns the size of its layers in bytes, null where it has no such layer.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`DecodeError`].
pub fn inspect(
    column: &Column,
    decode: &DecodeOptions<'_>,
    options: RowOptions,
) -> Result<Column, Error> {
    let verbose = EncodeOptions { format: Choice::Format(Format::Verbose), ..Default::default() };
    map(column, options, Shape::Struct(LAYERS.to_vec()), |texts: &Texts, row, cells| {
        let wire = wire(texts.get(row), cells)?;
        let opened = open(wire, decode, cells)?;
        let decoded = opened.read()?;
        let verbose = compact::encode(&decoded.response, &verbose)?;
        cells.made(verbose.len());
        let compression = opened.compression();
        let dictionary = compression.and_then(Compression::dictionary);
        cells.text(0, opened.format().name())?;
        cells.text_or_null(1, decoded.layout.map(version))?;
        cells.text_or_null(2, compression.map(Compression::name))?;
        cells.int(3, dictionary.map(i64::from));
        let sizes = [
            Some(wire.size()),
            compression.and(opened.binary_len()),
            opened.message_len(),
            Some(decoded.response.result.len()),
            Some(verbose.len()),
        ];
        for (at, size) in sizes.into_iter().enumerate() {
            cells.int(4 + at, size.and_then(|size| i64::try_from(size).ok()));
        }
        Ok(())
    })
}
