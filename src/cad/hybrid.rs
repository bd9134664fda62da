//! Hybrid documents (JSON with its geometry as compact text) and files of any format. CAD IR "For File
//! Storage".
//!
//! Invariant: the first bytes decide the format of a file; an error is that of this format's reader.

use super::binary;
use super::error::{DocumentError, Error, ParseError};
use super::json::emit::{emit_sections, emit_version};
use super::json::json_text::parse;
use super::json::read::{keep_values, read_json, read_json_kept, read_sections};
use super::json::repair::{Repair, repair};
use super::model::ir::Document;
use super::text::read::{BOM, Dialect, read_bytes, read_lines};
use super::text::write::write_geometry;
use crate::value::Value;
use crate::walk::{Shape, Sink, Source};

/// Reads a hybrid document.
///
/// # Errors
/// [`Error`] for a value that is not a hybrid document, and for invalid text or members.
pub fn read_hybrid<'a, S: Source<'a>>(source: S) -> Result<Document<'static>, Error> {
    read_hybrid_keeping(source, false).map(|(document, _)| document)
}

/// Reads a hybrid document. With `keep`, also returns pointers to the values outside the model.
fn read_hybrid_keeping<'a, S: Source<'a>>(
    source: S,
    keep: bool,
) -> Result<(Document<'static>, Vec<String>), Error> {
    let compact = source.member("compact").map(|member| member.shape());
    let Some(Shape::Text(text)) = compact else {
        return Err(match compact {
            None if source.shape() != Shape::Object => {
                DocumentError::new("document", "expected an object")
            }
            None | Some(Shape::Null) => DocumentError::new("document", "missing field \"compact\""),
            Some(_) => DocumentError::new("document.compact", "expected a string"),
        }
        .into());
    };
    let (nodes, reader) = read_lines(text.as_bytes(), Dialect::Auto)?;
    if let Some(&((line, column), _)) = reader.extra.front() {
        let message = "XF is not allowed in a hybrid; write the value into its JSON".to_owned();
        return Err(ParseError { line, column, message, suggestion: None }.into());
    }
    let roots = source.member("roots").filter(|roots| roots.shape() != Shape::Null);
    let mut document = reader.finish(nodes, roots.is_none())?;
    let kept = read_sections(source, &document.nodes, &mut document.sections, keep)?;
    Ok((document.into_owned(), kept))
}

/// Emits a document as a hybrid: its nodes as compact text, all the rest as JSON.
///
/// # Errors
/// The outer error is a [`DocumentError`], for a document that a hybrid cannot hold. The inner error is
/// that of the sink.
pub fn emit_hybrid<S: Sink>(
    document: &Document<'_>,
    sink: &mut S,
) -> Result<Result<(), S::Error>, DocumentError> {
    let text = write_geometry(document)?;
    let mut emit = || {
        sink.begin_object()?;
        emit_version(&document.sections, sink)?;
        sink.key("compact")?;
        sink.string(&text)?;
        emit_sections(&document.sections, |node| document.nodes[node].id, sink)?;
        sink.end_object()
    };
    Ok(emit())
}

/// Reads a document from JSON text. The flag is true if unknown content was dropped.
///
/// # Errors
/// [`DocumentError`] for invalid JSON, and for values that are invalid or, unless `lossy`, outside the
/// model.
pub fn read_json_lossy(
    text: &str,
    lossy: bool,
) -> Result<(Document<'static>, bool), DocumentError> {
    let value = parse(text)?;
    let (document, dropped) = read_json(&value, lossy)?;
    Ok((document.into_owned(), dropped))
}

/// Reads any JSON object; content outside the model is kept as [`Document::extra`].
///
/// # Errors
/// [`DocumentError`] for invalid JSON, and for a value that is not an object.
pub fn read_json_text_kept(text: &str) -> Result<Document<'static>, DocumentError> {
    read_json_kept(parse(text)?)
}

/// Reads a hybrid from JSON text.
///
/// # Errors
/// [`Error`] for invalid JSON, and as [`read_hybrid`].
pub fn read_hybrid_text(text: &str) -> Result<Document<'static>, Error> {
    read_hybrid(&parse(text)?)
}

/// Reads a document or a hybrid from JSON text.
///
/// # Errors
/// [`Error`] for invalid JSON, and for a document that is invalid or outside the model.
pub fn read_json_text(text: &str) -> Result<Document<'static>, Error> {
    read_json_value(parse(text)?, false)
}

fn read_json_value(value: Value<'static>, keep: bool) -> Result<Document<'static>, Error> {
    if value.get("compact").is_some_and(|compact| *compact != Value::Null) {
        let (mut document, kept) = read_hybrid_keeping(&value, keep)?;
        document.extra = keep_values(value, &kept);
        return Ok(document);
    }
    if keep {
        return Ok(read_json_kept(value)?);
    }
    let (document, _) = read_json(&value, false)?;
    Ok(document.into_owned())
}

/// How [`load_with`] reads a file.
///
/// ```
/// use compactwire::cad::{self, LoadOptions};
///
/// let bytes = cad::write_binary(&cad::load(b"C 50 30 5").unwrap()).unwrap();
/// let options = LoadOptions { max_expansion: 1 << 20, ..LoadOptions::default() };
/// let (repairs, document) = cad::load_with(&bytes, options);
/// assert!(repairs.is_empty());
/// assert_eq!(document.unwrap().nodes.len(), 1);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions {
    /// Repair common errors in JSON.
    pub repair: bool,
    /// Keep content of JSON outside the model as [`Document::extra`].
    pub keep: bool,
    /// The limit of [`read_binary_within`](super::read_binary_within).
    pub max_expansion: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { repair: false, keep: false, max_expansion: binary::MAX_EXPANSION }
    }
}

/// Reads a document of any format (binary, JSON, hybrid or compact text), detected by its content.
///
/// # Errors
/// The format's error: [`ParseError`], [`DocumentError`] or [`BinaryError`](super::BinaryError) in an [`Error`].
pub fn load(data: &[u8]) -> Result<Document<'_>, Error> {
    load_with(data, LoadOptions::default()).1
}

/// Like [`load`], with options. Returns the repairs even if reading fails afterwards, because the
/// error is about the repaired document.
pub fn load_with(data: &[u8], options: LoadOptions) -> (Vec<Repair>, Result<Document<'_>, Error>) {
    let mut repairs = Vec::new();
    let document = load_into(data, options, &mut repairs);
    (repairs, document)
}

fn load_into<'a>(
    data: &'a [u8],
    options: LoadOptions,
    repairs: &mut Vec<Repair>,
) -> Result<Document<'a>, Error> {
    if data.starts_with(&binary::MAGIC) {
        return Ok(binary::read_binary_within(data, options.max_expansion)?);
    }
    let Some(text) = json_text(data)? else { return Ok(read_bytes(data, Dialect::Auto)?) };
    let mut value = parse(text)?;
    if options.repair {
        *repairs = repair(&mut value);
    }
    read_json_value(value, options.keep)
}

/// Returns the JSON text of a file, or `None` if the file is binary or compact text.
fn json_text(data: &[u8]) -> Result<Option<&str>, DocumentError> {
    let rest = data.strip_prefix(BOM).unwrap_or(data);
    if data.starts_with(&binary::MAGIC) || !is_json(rest) {
        return Ok(None);
    }
    let text = crate::text::from_utf8(rest).map_err(|error| {
        let message = format!("invalid JSON: not UTF-8 at byte {}", error.valid_up_to());
        DocumentError::new("document", message)
    })?;
    Ok(Some(text))
}

/// Whether the first character after white space is `{`, or `[`, which begins no compact text either.
fn is_json(data: &[u8]) -> bool {
    let end = memchr::memchr2(b'{', b'[', data).unwrap_or(data.len());
    let blank = std::str::from_utf8(&data[..end]).is_ok_and(|start| start.trim().is_empty());
    blank && end < data.len()
}
