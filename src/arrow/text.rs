//! Functions from text to text, or to a number: GCF, CAD and tokens.

use super::cells::{Cells, Kind, Shape};
use super::column::Column;
use super::error::Error;
use super::rows::{RowOptions, Stop, map, map_within};
use super::texts::{Binaries, Text, Texts, read};
use crate::cad::{self, Dialect};
use crate::{gcf, json, shrink, text};

/// Encodes each row, a JSON text, as GCF. Rows that share a text may become
/// `max_expansion` bytes more than 64 times what they have in memory and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`gcf::Error`].
pub fn gcf_from_json(
    column: &Column,
    encode: &gcf::EncodeOptions,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Plain(Kind::Text);
    map_within(max_expansion, column, options, shape, |texts: &Texts, row, cells| {
        let text = gcf::from_json(gcf_text(texts.get(row), cells)?, encode)?;
        Ok(cells.text(0, &text)?)
    })
}

/// Decodes each row, a GCF text, to JSON. The limit of expansion holds for each row, and again for how much more
/// than 64 times their texts and 1 KiB all rows become.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`gcf::Error`].
pub fn gcf_to_json(
    column: &Column,
    decode: gcf::DecodeOptions,
    escape: json::Escape,
    options: RowOptions,
) -> Result<Column, Error> {
    let (max, shape) = (decode.limits.max_expansion, Shape::Plain(Kind::Text));
    map_within(max, column, options, shape, |texts: &Texts, row, cells| {
        let text = gcf::to_json(gcf_text(texts.get(row), cells)?, decode, escape)?;
        Ok(cells.text(0, &text)?)
    })
}

/// Estimates the tokens of each row, without a tokenizer.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`gcf::Error`] for bytes that are not UTF-8.
pub fn count_tokens(column: &Column, options: RowOptions) -> Result<Column, Error> {
    map(column, options, Shape::Plain(Kind::Int), |texts: &Texts, row, cells| {
        let tokens = shrink::estimate_tokens(gcf_text(texts.get(row), cells)?);
        cells.int(0, i64::try_from(tokens).ok());
        Ok(())
    })
}

/// The text of a row; null stops.
fn gcf_text<'a>(row: Option<Text<'a>>, cells: &mut Cells) -> Result<&'a str, Stop> {
    match read(row, cells)? {
        Text::Str(text) => Ok(text),
        Text::Bytes(bytes) => Ok(gcf::utf8(bytes)?),
    }
}

/// Decodes each row, a compact CAD text, to JSON. Rows that share a text may become
/// `max_expansion` bytes more than 64 times what they have in memory and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`cad::ParseError`].
pub fn cad_from_compact(
    column: &Column,
    dialect: Dialect,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Plain(Kind::Text);
    map_within(max_expansion, column, options, shape, |texts: &Texts, row, cells| {
        let bytes = read(texts.get(row), cells)?.as_bytes();
        let document = cad::read_bytes(bytes, dialect).map_err(cad::Error::from)?;
        let text = cad::write_json(&document);
        Ok(cells.text(0, &text)?)
    })
}

/// Encodes each row, a CAD document as JSON, as compact text. Rows that share a text may become
/// `max_expansion` bytes more than 64 times what they have in memory and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`cad::Error`].
pub fn cad_to_compact(
    column: &Column,
    write: CadWrite,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Plain(Kind::Text);
    map_within(max_expansion, column, options, shape, |texts: &Texts, row, cells| {
        let text = write.text(json_text(texts.get(row), cells)?).map_err(cad::Error::from)?;
        Ok(cells.text(0, &text)?)
    })
}

/// Decodes each row, a CAD document in the binary form, to JSON. `max_expansion` limits each row, and again how much
/// more than 64 times their bytes and 1 KiB all rows become.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`cad::BinaryError`].
pub fn cad_from_binary(
    column: &Column,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Plain(Kind::Text);
    map_within(max_expansion, column, options, shape, |rows: &Binaries, row, cells| {
        let bytes = rows.get(row).ok_or(Stop::Null)?;
        cells.read(bytes.len());
        let document = cad::read_binary_within(bytes, max_expansion).map_err(cad::Error::from)?;
        Ok(cells.text(0, &cad::write_json(&document))?)
    })
}

/// Encodes each row, a CAD document as JSON, in the binary form. Rows that share a text may become
/// `max_expansion` bytes more than 64 times what they have in memory and 1 KiB for each.
///
/// # Errors
/// [`Error`]; the failure of a row is a [`cad::Error`].
pub fn cad_to_binary(
    column: &Column,
    max_expansion: usize,
    options: RowOptions,
) -> Result<Column, Error> {
    let shape = Shape::Plain(Kind::Bytes);
    map_within(max_expansion, column, options, shape, |texts: &Texts, row, cells| {
        let document = document(json_text(texts.get(row), cells)?, false);
        let document = document.map_err(cad::Error::from)?;
        Ok(cells.binary(0, &cad::write_binary(&document).map_err(cad::Error::from)?)?)
    })
}

/// The JSON text of a row; null stops.
fn json_text<'a>(row: Option<Text<'a>>, cells: &mut Cells) -> Result<&'a str, Stop> {
    match read(row, cells)? {
        Text::Str(text) => Ok(text),
        Text::Bytes(bytes) => Ok(text::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            let message = format!("invalid JSON: not UTF-8 from byte {at} on");
            cad::Error::from(cad::DocumentError::new("document", message))
        })?),
    }
}

/// How [`cad_to_compact`] writes a document.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CadWrite {
    /// Dialect 0.1. With `lossy`, content that the model does not define is dropped, too.
    V0_1(cad::Options),
    /// Dialect 0.2.
    V0_2(CadUnknown),
    /// Text for the public program vcad, as [`cad::write_for_vcad`].
    Vcad {
        /// Whether nodes keep their names.
        names: bool,
        /// The losses that are no errors.
        allowed: cad::Losses,
    },
}

/// What happens to content that the CAD model does not define.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum CadUnknown {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out.
    Drop,
    /// It is kept, as `XF` lines.
    Keep,
}

impl CadWrite {
    fn text(self, json: &str) -> Result<String, cad::DocumentError> {
        match self {
            Self::V0_1(options) => cad::write_v0_1(&document(json, options.lossy)?, options),
            Self::V0_2(CadUnknown::Keep) => cad::write_v0_2(&cad::read_json_text_kept(json)?),
            Self::V0_2(unknown) => cad::write_v0_2(&document(json, unknown == CadUnknown::Drop)?),
            Self::Vcad { names, allowed } => {
                let document = document(json, allowed.contains(cad::Loss::Unknown))?;
                cad::write_for_vcad(document, names, allowed)
            }
        }
    }
}

/// The document of a JSON text. `lossy` drops content that the model does not define.
fn document(json: &str, lossy: bool) -> Result<cad::Document<'static>, cad::DocumentError> {
    cad::read_json_lossy(json, lossy).map(|(document, _)| document)
}
