//! Responses as messages: `encode`, `encode_bytes`, `decode` and `detect`; and `encode_base85` and
//! `decode_base85`. Compact Protocol v2 part 1 and v4.

use super::args::{self, Input, sizes};
use super::detached;
use super::dictionary::{Dictionary, Given};
use super::errors::{Error, Result};
use super::response::{Response, format_member};
use crate::args::named;
use crate::make::{ascii_str, make_bytes, make_str};
use compactwire::compact::{
    self, Choice, DecodeOptions, EncodeOptions, Format, Opened, Protocol, Wire,
};
use compactwire::{base85, limits};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};

/// Default of `max_size`.
pub(super) const DEFAULT_MAX_SIZE: usize = limits::DEFAULT_MAX_SIZE;

// The signatures repeat the number, because they show literals only.
const _: () = assert!(DEFAULT_MAX_SIZE == 67_108_864);

/// Base85 is about this many times as fast as compression, for which `DETACH_FROM` is chosen.
const BASE85_SPEEDUP: usize = 16;

/// Messages of fewer characters are decoded in negligible time, whatever their content.
const NEVER_LARGE: usize = 256;

/// Work of a dictionary, and of all formats in turn, as a multiple of the work of one zstd message.
const DICTIONARY_EFFORT: usize = 4;
const ALL_FORMATS_EFFORT: usize = 10;

/// Encode a response as a message.
///
/// Parameters
/// ----------
/// response : Response, str, Shrunk or Mapping
///     The response. A str or `Shrunk` is used as its result. A mapping has either the fields of a
///     response ("result", "model", ...) or the members of a verbose message ("response", "model",
///     "returncode", ...), and no others.
/// format : str
///     "verbose", "dsl", "binary", "base85", "zlib", "zstd" or "dictionary"; "auto" chooses by the
///     size of the result, "smallest" tries all formats and returns the shortest message.
/// protocol : {4, 2}
///     The protocol version. `decode` reads both.
/// msgpack_version : 1, 2, 3 or "map", optional
///     The MessagePack layout, for the formats that use MessagePack. Default: 3 in protocol 2,
///     "map" in protocol 4 and in "zstd" and "dictionary". If the model has no integer code, layout
///     1 is used in place of 2 and 3.
/// dictionary : Dictionary, optional
///     The dictionary that "dictionary" compresses with (default: the built-in one). "auto" in
///     protocol 4 uses it for results of 50 bytes or more if the message becomes shorter,
///     "smallest" tries it. The other formats ignore it.
///
/// Returns
/// -------
/// str
///     The message. It is ASCII in all formats but "verbose" and "dsl".
///
/// Raises
/// ------
/// EncodeError
///     The format cannot carry a field; the attribute `field` names it.
///
/// Notes
/// -----
/// `model_name`, `returncode`, `reasoning_effort` and `ultrathink` are written in "verbose" only:
/// the specifications define no place for them in the other formats. A `model` that is not a model
/// code is read back from "verbose" as `model_name`, because the member holds a name there.
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
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
) -> Result<Bound<'py, PyString>> {
    let options = (format, protocol, msgpack_version, dictionary);
    let wire = encode_with(response, options, compact::encode)?;
    Ok(make_str(response.py(), &wire)?)
}

/// Encode a response as bytes, for transports that carry bytes: a fifth less than the text.
///
/// Parameters
/// ----------
/// response, format, protocol, msgpack_version, dictionary
///     As in `encode`.
///
/// Returns
/// -------
/// bytes
///     The bytes that `encode` writes in Base85 or Base64. For "verbose" and "dsl", the text in
///     UTF-8. The bytes of "binary" and "base85" are the same. `decode` reads them.
///
/// Raises
/// ------
/// EncodeError
///     As `encode`.
///
/// Source: an extension of this package. A peer without it can read the bytes of "base85", "zlib",
/// "zstd" and "dictionary" if they are encoded as Base85 and prefixed with "A", "Z", "S" or "D".
#[pyfunction]
#[pyo3(text_signature = "(response, /, *, format='auto', protocol=4, msgpack_version=None, \
                         dictionary=None)")]
#[pyo3(signature = (
    response, /, *, format = "auto", protocol = None, msgpack_version = None, dictionary = None,
))]
pub(super) fn encode_bytes<'py>(
    response: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
) -> Result<Bound<'py, PyBytes>> {
    let options = (format, protocol, msgpack_version, dictionary);
    let wire = encode_with(response, options, compact::encode_bytes)?;
    Ok(make_bytes(response.py(), &wire)?)
}

/// The options of `encode` and `encode_bytes`: format, protocol, layout and dictionary.
type Chosen<'a, 'py> = (
    &'a str,
    Option<&'a Bound<'py, PyInt>>,
    Option<&'a Bound<'py, PyAny>>,
    Option<&'a Bound<'py, Dictionary>>,
);

fn encode_with<'py, T: Send>(
    response: &Bound<'py, PyAny>,
    (format, protocol, msgpack_version, dictionary): Chosen<'_, 'py>,
    encode: impl FnOnce(&compact::Response<'_>, &EncodeOptions<'_>) -> Result<T, compact::EncodeError>
    + Send,
) -> Result<T> {
    let py = response.py();
    let layout = msgpack_version.map(args::layout).transpose()?;
    let options = EncodeOptions { layout, ..encode_options(format, protocol, dictionary)? };
    let response = Response::from_argument(response, "response")?;
    let response = response.get().borrow(py)?;
    let effort = match options.format {
        Choice::Smallest => ALL_FORMATS_EFFORT,
        Choice::Format(Format::Dictionary) => DICTIONARY_EFFORT,
        Choice::Auto if dictionary.is_some() => DICTIONARY_EFFORT,
        Choice::Format(_) | Choice::Auto => 1,
    };
    let bytes = response.result.len().saturating_mul(effort);
    Ok(detached(py, bytes, || encode(&response, &options))??)
}

/// The options of all functions that encode a message.
pub(super) fn encode_options<'d>(
    format: &str,
    protocol: Option<&Bound<'_, PyInt>>,
    dictionary: Option<&'d Bound<'_, Dictionary>>,
) -> PyResult<EncodeOptions<'d>> {
    Ok(EncodeOptions {
        format: args::choice(format)?,
        protocol: protocol.map_or(Ok(Protocol::V4), args::protocol)?,
        layout: None,
        dictionary: dictionary.map(|dictionary| dictionary.get().core()),
    })
}

/// Detects the format of a message, and decompresses it.
pub(super) fn open<'w, 'py>(
    py: Python<'py>,
    wire: Wire<'w>,
    max_size: usize,
    dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
) -> Result<Opened<'w>> {
    let given = Given::new(dictionary, dictionaries)?;
    let options = DecodeOptions { max_size, dictionaries: &given.named() };
    Ok(detached(py, compact::expected_size(wire), || compact::open(wire, &options))??)
}

/// Decode a message in any format of either protocol.
///
/// Parameters
/// ----------
/// wire : str, bytes, bytearray or memoryview
///     The message; bytes are those of `encode_bytes`, or the message in UTF-8. White space and a
///     byte order mark before a text are skipped, and so is white space after it, except in the
///     DSL, whose result is kept to the last character.
/// max_size : int
///     The largest decompressed size in bytes, 64 MiB by default; checked before memory is
///     allocated. The resulting `str` takes up to four more bytes per character.
/// dictionary, dictionaries : Dictionary, iterable of Dictionary
///     Dictionaries to try before the built-in one.
/// fallback : bool
///     Whether a message that cannot be decoded is returned as the result itself, with format
///     "raw". Bytes that are not UTF-8 still raise the error.
///
/// Returns
/// -------
/// Response
///     The response. `format` and `version` are those of the message.
///
/// Raises
/// ------
/// DecodeError
///     The message is invalid. Each error is a subclass, with the position as an attribute:
///     `EmptyResponse`, `InvalidPrefix`, `InvalidFormat`, `MissingField`, `InvalidBase64`,
///     `InvalidBase85Char`, `InvalidBase85Length`, `InvalidBase85Value`, `DecompressionFailed`,
///     `OutputTooLarge`, `InvalidMsgpack`, `DictionaryNotFound`.
///
/// Notes
/// -----
/// Unknown keys and members are ignored: at most 1024, nested at most 128 levels deep.
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
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::fallback)] fallback: bool,
) -> Result<Response> {
    let py = wire.py();
    let data = Input::new(wire, "wire")?;
    let wire = data.wire(py)?;
    let given = Given::new(dictionary, dictionaries)?;
    let options = DecodeOptions { max_size, dictionaries: &given.named() };
    let bytes = if wire.size() < NEVER_LARGE { 0 } else { compact::expected_size(wire) };
    let opened = detached(py, bytes, || compact::open(wire, &options))?;
    let decoded = match &opened {
        Ok(opened) => detached(py, bytes, || opened.read())?,
        Err(error) => Err(error.clone()),
    };
    let decoded = if fallback { compact::or_raw(decoded, wire) } else { decoded };
    Ok(Response::from_core(py, &decoded?)?)
}

/// Detect the format of a message by its first characters, without decoding it.
///
/// Parameters
/// ----------
/// wire : str, bytes, bytearray or memoryview
///     The message, as in `decode`.
///
/// Returns
/// -------
/// Format
///     The format of a response, or DELTA, TOOL, SYSTEM, REQUEST, GCF for messages that other
///     functions read.
///
/// Raises
/// ------
/// EmptyResponse, InvalidPrefix, InvalidFormat
///     The message is empty, begins with no known prefix, or is neither UTF-8 nor an output of
///     `encode_bytes`.
///
/// Notes
/// -----
/// The bytes of "binary" and "base85" are the same; the result is "binary".
///
/// Source: Compact Protocol v2 "Format Detection", v4 section 1.
#[pyfunction]
#[pyo3(signature = (wire, /))]
pub(super) fn detect(wire: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
    let py = wire.py();
    let data = Input::new(wire, "wire")?;
    let kind = compact::detect(data.wire(py)?)?;
    Ok(format_member(py, kind.name())?)
}

/// Encode bytes as Base85 in the protocol's alphabet: five characters for four bytes.
///
/// Parameters
/// ----------
/// data : bytes, bytearray or memoryview
///     Any bytes. The last one to three bytes are encoded as two to four characters.
///
/// Returns
/// -------
/// str
///     ASCII characters, a quarter more than there are bytes.
///
/// Raises
/// ------
/// TypeError
///     `data` is a `str`: encode it first.
///
/// Source: Compact Protocol v2 section 4.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn encode_base85<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = data.py();
    let data = Input::new(data, "data")?;
    let bytes = data.bytes("data")?;
    let weight = bytes.len() / BASE85_SPEEDUP;
    ascii_str(py, base85::encoded_len(bytes.len()), |text| {
        detached(py, weight, || base85::encode_into(bytes, text))
    })
}

/// Decode Base85 in the protocol's alphabet.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     Base85 digits only; white space is not skipped.
///
/// Returns
/// -------
/// bytes
///     The decoded bytes: four for every five characters.
///
/// Raises
/// ------
/// InvalidBase85Char, InvalidBase85Length, InvalidBase85Value
///     A character outside the alphabet, one character left over, or five characters that encode a
///     number above 2^32 - 1.
/// InvalidFormat
///     The bytes are not UTF-8, or a str has a lone surrogate.
///
/// Source: Compact Protocol v2 section 4.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode_base85<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyBytes>> {
    let py = text.py();
    let data = Input::new(text, "text")?;
    let text = data.text(py)?;
    let weight = text.len() / BASE85_SPEEDUP;
    Ok(PyBytes::new_with(py, base85::decoded_len(text.len()), |data| {
        Ok(detached(py, weight, || base85::decode_into(text, data))?.map_err(Error::from)?)
    })?)
}
