//! `encode`, `decode`, `detect`, `encode_base85`, `decode_base85`.

use super::args::{self, Input, Size};
use super::dictionary::{Dictionary, Given};
use super::errors::{Error, Result};
use super::response::{Response, format_member};
use super::{ascii_str, detached};
use compactwire::compact::{self, Choice, DecodeOptions, EncodeOptions, Format, Protocol};
use compactwire::{base85, limits};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

/// Default of `max_size`.
pub(super) const DEFAULT_MAX_SIZE: Size = Size(limits::DEFAULT_MAX_SIZE);

/// Base85 is about this much faster than the compressor that `DETACH_FROM` is meant for.
const BASE85_SPEEDUP: usize = 16;

/// Fewer characters than this take no time worth mentioning, whatever is in them.
const NEVER_LARGE: usize = 256;

/// How much more work than one zstd message a dictionary is, and all formats in turn.
const DICTIONARY_EFFORT: usize = 4;
const ALL_FORMATS_EFFORT: usize = 10;

/// Write a response as one text.
///
/// Parameters
/// ----------
/// response : Response or Mapping
///     The response, or a mapping with the fields of one ("result", "model", ...) or with the
///     members of a verbose message ("response", "model", "returncode", ...) and no others.
/// format : str
///     "verbose", "dsl", "binary", "base85", "zlib", "zstd" or "dictionary"; "auto" goes by the
///     size of the result, "smallest" takes the shortest text of all.
/// protocol : {4, 2}
///     The dialect. `decode` reads both.
/// msgpack_version : 1, 2, 3 or "map", optional
///     The MessagePack layout, for the formats that have one. Default: 3 in protocol 2, "map" in
///     protocol 4 and in "zstd" and "dictionary". A model without an integer turns 2 and 3 into 1.
/// dictionary : Dictionary, optional
///     What "dictionary" compresses with (default: the built-in one); "auto" in protocol 4 takes it
///     where the text becomes shorter, "smallest" tries it. The other formats have no use for it.
///
/// Returns
/// -------
/// str
///     The message. All but "verbose" and "dsl" are ASCII.
///
/// Raises
/// ------
/// EncodeError
///     The format cannot carry a field; the attribute `field` names it.
///
/// Notes
/// -----
/// `model_name`, `returncode`, `reasoning_effort` and `ultrathink` travel in "verbose" only: the
/// specifications give the other formats no place for them. A free text as `model` comes back from
/// "verbose" as `model_name`, because there the member holds a name.
///
/// Source: Compact Protocol v2 sections 1 to 6, v4 sections 1 to 4.
#[pyfunction]
#[pyo3(text_signature = "(response, /, *, format='auto', protocol=4, msgpack_version=None, \
                         dictionary=None)")]
#[pyo3(signature = (
    response, /, *, format = "auto", protocol = None, msgpack_version = None, dictionary = None,
))]
pub(super) fn encode<'py>(
    response: &Bound<'py, PyAny>,
    format: &str,
    protocol: Option<&Bound<'py, PyInt>>,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    dictionary: Option<&Bound<'py, Dictionary>>,
) -> Result<Bound<'py, PyString>> {
    let py = response.py();
    let options = EncodeOptions {
        format: args::choice(format)?,
        protocol: protocol.map_or(Ok(Protocol::V4), args::protocol)?,
        layout: msgpack_version.map(args::layout).transpose()?,
        dictionary: dictionary.map(|dictionary| dictionary.get().core()),
    };
    let response = Response::from_argument(response)?;
    let response = response.get().borrow(py)?;
    let effort = match options.format {
        Choice::Smallest => ALL_FORMATS_EFFORT,
        Choice::Format(Format::Dictionary) => DICTIONARY_EFFORT,
        Choice::Auto if dictionary.is_some() => DICTIONARY_EFFORT,
        Choice::Format(_) | Choice::Auto => 1,
    };
    let bytes = response.result.len().saturating_mul(effort);
    let wire = detached(py, bytes, || compact::encode(&response, &options))?;
    Ok(PyString::new(py, &wire))
}

/// Read a response in any format of either protocol.
///
/// Parameters
/// ----------
/// wire : str, bytes, bytearray or memoryview
///     The message; bytes are UTF-8. White space and a byte order mark before it are skipped;
///     so is white space behind it, but the result of the DSL is kept to the last character.
/// max_size : int
///     The largest decompressed size in bytes, 64 MiB by default; checked before memory is taken.
///     The `str` that Python makes of it takes up to four bytes for each character on top.
/// dictionary, dictionaries : Dictionary, iterable of Dictionary
///     Where to look for the dictionary of a message, before the built-in one.
/// fallback : bool
///     Take a text that cannot be decoded as the result itself, with format "raw". Bytes that are
///     not UTF-8 are no text: `InvalidFormat` all the same.
///
/// Returns
/// -------
/// Response
///     Its `format` and `version` tell how it travelled.
///
/// Raises
/// ------
/// DecodeError
///     One of its subclasses says what is wrong and where: `EmptyResponse`, `InvalidPrefix`,
///     `InvalidFormat`, `MissingField`, `InvalidBase64`, `InvalidBase85Char`,
///     `InvalidBase85Length`, `InvalidBase85Value`, `DecompressionFailed`, `OutputTooLarge`,
///     `InvalidMsgpack`, `DictionaryNotFound`.
///
/// Notes
/// -----
/// Keys and members that a response does not have are passed over: at most 1024, nested at most 128
/// levels deep.
///
/// Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
#[pyfunction]
#[pyo3(signature = (
    wire, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
    fallback = false,
))]
#[pyo3(text_signature = "(wire, /, *, max_size=67108864, dictionary=None, dictionaries=(), \
                         fallback=False)")]
pub(super) fn decode<'py>(
    wire: &Bound<'py, PyAny>,
    max_size: Size,
    dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    fallback: bool,
) -> Result<Response> {
    let py = wire.py();
    let data = Input::new(wire)?;
    let wire = data.text(py)?;
    let given = Given::new(dictionary, dictionaries)?;
    let options = DecodeOptions { max_size: max_size.0, dictionaries: &given.named() };
    let bytes = if wire.len() < NEVER_LARGE { 0 } else { compact::expected_size(wire) };
    let decoded = detached(py, bytes, || compact::open(wire, &options)).and_then(|opened| {
        let decoded = detached(py, bytes, || opened.read())?;
        Ok(Response::from_core(py, &decoded))
    });
    match decoded {
        Err(_) if fallback => Ok(Response::from_core(py, &compact::raw(wire))),
        decoded => Ok(decoded?),
    }
}

/// Say what a text is by its first characters, without decoding it.
///
/// Parameters
/// ----------
/// wire : str, bytes, bytearray or memoryview
///     The text; bytes are UTF-8.
///
/// Returns
/// -------
/// Format
///     A response's format, or DELTA, TOOL, SYSTEM, REQUEST, GCF for what other functions read.
///
/// Raises
/// ------
/// EmptyResponse, InvalidPrefix, InvalidFormat
///     It is nothing, or begins like none of them, or is not UTF-8.
///
/// Source: Compact Protocol v2 "Format Detection", v4 section 1.
#[pyfunction]
#[pyo3(signature = (wire, /))]
pub(super) fn detect(wire: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
    let py = wire.py();
    let data = Input::new(wire)?;
    let kind = compact::detect(data.text(py)?)?;
    Ok(format_member(py, kind.name())?)
}

/// Encode bytes as Base85 in the protocol's alphabet: five characters for four bytes.
///
/// Parameters
/// ----------
/// data : bytes, bytearray or memoryview
///     Any bytes. The last one to three become two to four characters.
///
/// Returns
/// -------
/// str
///     ASCII, a quarter longer than the data.
///
/// Raises
/// ------
/// TypeError
///     Text instead of bytes: which encoding it should have is the caller's to say.
///
/// Source: Compact Protocol v2 section 4.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn encode_base85<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = data.py();
    let data = Input::new(data)?;
    let bytes = data.bytes()?;
    let weight = bytes.len() / BASE85_SPEEDUP;
    ascii_str(py, base85::encoded_len(bytes.len()), |text| {
        detached(py, weight, || base85::encode_into(bytes, text));
    })
}

/// Decode Base85 in the protocol's alphabet.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     Digits only; white space is not skipped.
///
/// Returns
/// -------
/// bytes
///     Four bytes for five characters.
///
/// Raises
/// ------
/// InvalidBase85Char, InvalidBase85Length, InvalidBase85Value
///     A foreign character, one character too many, five that mean a number above 2^32 - 1.
///
/// Source: Compact Protocol v2 section 4.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode_base85<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let py = text.py();
    let data = Input::new(text)?;
    let text = data.text(py)?;
    let weight = text.len() / BASE85_SPEEDUP;
    Ok(PyBytes::new_with(py, base85::decoded_len(text.len()), |data| {
        Ok(detached(py, weight, || base85::decode_into(text, data)).map_err(Error::from)?)
    })?)
}
