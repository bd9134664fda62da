//! Decodes a text, or bytes, to a response, in two steps.
//!
//! [`open`] removes Base64, Base85 and compression. [`Opened::read`] then parses the response, which
//! borrows from the decompressed bytes, so that a binding copies the result once. [`decode`] does
//! both steps and returns an owned response.
//!
//! v2 sections 1 to 5, v4 sections 1, 4 and 8.

use super::carrier::Wire;
use super::detect::{self, Found};
use super::dictionary::Dictionary;
use super::error::DecodeError;
use super::format::{Encoding, Format, Kind, Transport};
use super::response::{Decoded, Response};
use super::{dsl, layout, mistaken, verbose};
use crate::base85;
use crate::compression::{self, Stream};
use crate::limits::DEFAULT_MAX_SIZE;
use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;

/// Padding is required; unused bits of the last character are ignored, as in Base85.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// The first bytes of the old dictionary container.
const CONTAINER_MAGIC: &[u8; 4] = b"ZDCT";

/// A dictionary and its name. The name is needed for old containers, whose frames have no id.
#[derive(Clone, Copy)]
pub struct NamedDictionary<'d> {
    /// The name, usually the content type.
    pub name: &'d str,
    /// The dictionary.
    pub dictionary: &'d Dictionary,
}

/// Options of [`decode`] and [`open`].
///
/// ```
/// use compactwire::compact::{Choice, DecodeOptions, EncodeOptions, Format, Response};
/// use compactwire::compact::{decode, encode};
///
/// let zlib = EncodeOptions { format: Choice::Format(Format::Zlib), ..EncodeOptions::default() };
/// let wire = encode(&Response::new("so it goes ".repeat(99)), &zlib).unwrap();
/// let options = DecodeOptions { max_size: 1000, ..DecodeOptions::default() };
/// assert!(decode(&wire, &options).is_err());
/// ```
#[derive(Clone, Copy)]
pub struct DecodeOptions<'d> {
    /// The largest decompressed size in bytes.
    pub max_size: usize,
    /// The dictionaries to search before the built-in one.
    pub dictionaries: &'d [NamedDictionary<'d>],
}

impl Default for DecodeOptions<'_> {
    fn default() -> Self {
        Self { max_size: DEFAULT_MAX_SIZE, dictionaries: &[] }
    }
}

/// Decodes a response in any format of either protocol version.
///
/// # Errors
/// [`DecodeError`]. A caller that accepts any text as an answer falls back to it with [`or_raw`] (v4 section 8).
pub fn decode<'a>(
    wire: impl Into<Wire<'a>>,
    options: &DecodeOptions<'_>,
) -> Result<Decoded<'static>, DecodeError> {
    let opened = open(wire, options)?;
    let Decoded { response, format, layout } = opened.read()?;
    DecodeError::ensure_memory(response.size())?;
    Ok(Decoded { response: response.into_owned(), format, layout })
}

/// The decoded message; if it cannot be decoded, a response whose result is the message itself, if it is a text.
///
/// # Errors
/// The [`DecodeError`] of bytes that are no text, and [`DecodeError::OutOfMemory`]: the message may be valid.
pub fn or_raw<'a>(
    decoded: Result<Decoded<'a>, DecodeError>,
    wire: Wire<'a>,
) -> Result<Decoded<'a>, DecodeError> {
    match (decoded, wire.as_text()) {
        (Err(error @ DecodeError::OutOfMemory { .. }), _) => Err(error),
        (Err(_), Some(text)) => {
            Ok(Decoded { response: Response::new(text), format: None, layout: None })
        }
        (decoded, _) => decoded,
    }
}

/// An estimate of how many bytes [`open`] produces from `wire`, without decoding it. Callers use it
/// to decide whether to release a lock while decoding.
pub fn expected_size<'a>(wire: impl Into<Wire<'a>>) -> usize {
    let wire = wire.into();
    let (encoding, head) = match detect::find(wire) {
        Ok(Found::Text(Kind::Response(format), payload)) => {
            // The longest header of a zstd frame has 18 bytes.
            let head = payload.get(..payload.len().min(25));
            (format.encoding(), head.and_then(|head| base85::decode(head).ok()))
        }
        Ok(Found::Binary(transport, bytes)) => {
            (Encoding::Message(transport), Some(bytes[..bytes.len().min(18)].to_vec()))
        }
        Ok(Found::Text(..)) | Err(_) => return wire.size(),
    };
    let common = wire.size().saturating_mul(COMMON_RATIO);
    match encoding {
        Encoding::Message(Transport::Zstd | Transport::Dictionary) => {
            let size = head.and_then(|head| compression::zstd_content_size(&head).ok().flatten());
            size.map_or(common, |size| usize::try_from(size).unwrap_or(usize::MAX))
        }
        Encoding::Message(Transport::Zlib) => common,
        Encoding::Message(Transport::Base64 | Transport::Base85)
        | Encoding::Verbose
        | Encoding::Dsl => wire.size(),
    }
}

/// A compression ratio that text rarely exceeds.
const COMMON_RATIO: usize = 16;

/// How a payload was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Compression {
    /// One of the deflate streams.
    Deflate(Stream),
    /// A zstd frame.
    Zstd,
    /// A zstd frame with the dictionary of this id.
    Dictionary(u32),
}

impl Compression {
    /// `zlib`, `gzip` or `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deflate(Stream::Zlib) => "zlib",
            Self::Deflate(Stream::Gzip) => "gzip",
            Self::Zstd | Self::Dictionary(_) => "zstd",
        }
    }

    /// The id of the dictionary.
    pub fn dictionary(self) -> Option<u32> {
        match self {
            Self::Dictionary(id) => Some(id),
            Self::Deflate(_) | Self::Zstd => None,
        }
    }
}

/// A decompressed response that is not parsed yet.
#[derive(Debug)]
pub struct Opened<'a> {
    format: Format,
    body: Body<'a>,
}

#[derive(Debug)]
pub(super) enum Body<'a> {
    /// The whole JSON object.
    Verbose(&'a str),
    /// The text after `RES|`.
    Dsl(&'a str),
    Message(Message),
}

/// A decompressed `MessagePack` message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    /// The size before decompression.
    binary_len: usize,
    compression: Option<Compression>,
    /// The caller's limit on the decompressed size.
    pub(super) max_size: usize,
}

impl Message {
    /// The maximum number of values in the arguments of a call. A value can take one byte in the message but
    /// up to 450 in memory. A compressed message may therefore have one value for every two compressed bytes,
    /// and one more for every [`VALUE_SIZE`] bytes of `max_size`.
    pub(super) fn max_values(&self) -> usize {
        match self.compression {
            None => usize::MAX,
            Some(_) => self.binary_len / 2 + self.max_size / VALUE_SIZE,
        }
    }
}

/// How many bytes of `max_size` a value of a tool call's arguments counts as.
const VALUE_SIZE: usize = 128;

/// Removes Base64 or Base85, and compression.
///
/// # Errors
/// [`DecodeError`]; errors in the response itself come from [`Opened::read`].
pub fn open<'a>(
    wire: impl Into<Wire<'a>>,
    options: &DecodeOptions<'_>,
) -> Result<Opened<'a>, DecodeError> {
    let (format, body) = match detect::find(wire.into())? {
        Found::Text(Kind::Response(format), payload) => {
            let body = match format.encoding() {
                Encoding::Verbose => Body::Verbose(payload),
                Encoding::Dsl => Body::Dsl(payload),
                Encoding::Message(transport) => {
                    let binary = decode_text(payload, transport)?;
                    Body::Message(decompress(binary.into(), transport, options)?)
                }
            };
            (format, body)
        }
        Found::Text(kind, _) => return Err(mistaken::not_a_message(kind)),
        Found::Binary(transport, bytes) => {
            (transport.format(), Body::Message(decompress(bytes.into(), transport, options)?))
        }
    };
    Ok(Opened { format, body })
}

/// Removes Base64 or Base85.
fn decode_text(payload: &str, transport: Transport) -> Result<Vec<u8>, DecodeError> {
    DecodeError::ensure_memory(payload.len())?;
    match transport {
        Transport::Base64 => base64(payload),
        Transport::Base85 | Transport::Zlib | Transport::Zstd | Transport::Dictionary => {
            Ok(base85::decode(payload)?)
        }
    }
}

/// Decompresses a message.
fn decompress(
    binary: Cow<'_, [u8]>,
    transport: Transport,
    options: &DecodeOptions<'_>,
) -> Result<Message, DecodeError> {
    let binary_len = binary.len();
    let (bytes, compression) = match transport {
        Transport::Base64 | Transport::Base85 => {
            DecodeError::ensure_memory(binary_len)?;
            (binary.into_owned(), None)
        }
        Transport::Zlib => {
            let stream = Compression::Deflate(Stream::of(&binary));
            (compression::inflate(&binary, options.max_size)?, Some(stream))
        }
        Transport::Zstd => {
            if let Some(error) = mistaken::not_a_binary_message(&binary) {
                return Err(error);
            }
            let bytes = compression::unzstd(&binary, None, options.max_size)?;
            (bytes, Some(Compression::Zstd))
        }
        Transport::Dictionary => {
            let (bytes, compression) = open_dictionary(&binary, options)?;
            (bytes, Some(compression))
        }
    };
    Ok(Message { bytes, binary_len, compression, max_size: options.max_size })
}

impl Opened<'_> {
    /// The format of the text.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The size in bytes after Base64 or Base85 and before decompression; `None` for the text
    /// formats.
    pub fn binary_len(&self) -> Option<usize> {
        self.message().map(|message| message.binary_len)
    }

    /// The size of the `MessagePack` message in bytes; `None` for the text formats.
    pub fn message_len(&self) -> Option<usize> {
        self.message().map(|message| message.bytes.len())
    }

    pub(super) fn body(&self) -> &Body<'_> {
        &self.body
    }

    fn message(&self) -> Option<&Message> {
        match &self.body {
            Body::Verbose(_) | Body::Dsl(_) => None,
            Body::Message(message) => Some(message),
        }
    }

    /// The compression of the payload; `None` if it is not compressed.
    pub fn compression(&self) -> Option<Compression> {
        self.message().and_then(|message| message.compression)
    }

    /// Parses the response, which borrows from the text or from the decompressed bytes.
    ///
    /// # Errors
    /// [`DecodeError`] if the response is invalid.
    pub fn read(&self) -> Result<Decoded<'_>, DecodeError> {
        self.parse().map_err(|error| mistaken::not_a_response(self, error))
    }

    pub(super) fn parse(&self) -> Result<Decoded<'_>, DecodeError> {
        let (response, layout) = match &self.body {
            Body::Verbose(text) => {
                // A string with escapes is copied to a buffer that grows.
                if text.contains('\\') {
                    DecodeError::ensure_memory(text.len().saturating_mul(3))?;
                }
                (verbose::read(text)?, None)
            }
            Body::Dsl(payload) => (dsl::read(payload)?, None),
            Body::Message(message) => {
                let (response, layout) = layout::read(&message.bytes)?;
                (response, Some(layout))
            }
        };
        Ok(Decoded { response, format: Some(self.format), layout })
    }
}

pub(super) fn base64(text: &str) -> Result<Vec<u8>, DecodeError> {
    BASE64.decode(text).map_err(|error| DecodeError::InvalidBase64 {
        position: match error {
            base64::DecodeError::InvalidByte(position, _) => position,
            base64::DecodeError::InvalidLastSymbol { offset, .. } => offset,
            base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => {
                text.trim_end_matches('=').len()
            }
        },
    })
}

/// Decompresses the payload of `D`: a zstd frame, bare or in the old container.
///
/// ```text
/// "ZDCT" | original size, 4 bytes big-endian | length of the name, 1 byte | name | zstd frame
/// ```
fn open_dictionary(
    binary: &[u8],
    options: &DecodeOptions<'_>,
) -> Result<(Vec<u8>, Compression), DecodeError> {
    let Some(container) = binary.strip_prefix(CONTAINER_MAGIC) else {
        let (message, id) = with_dictionary(binary, None, options)?;
        return Ok((message, Compression::Dictionary(id)));
    };
    let truncated =
        || DecodeError::DecompressionFailed("the dictionary container is truncated".into());
    let (size, rest) = container.split_first_chunk::<4>().ok_or_else(truncated)?;
    let (&name_len, rest) = rest.split_first().ok_or_else(truncated)?;
    let (name, frame) = rest.split_at_checked(name_len.into()).ok_or_else(truncated)?;
    let size = u32::from_be_bytes(*size) as usize;
    if size > options.max_size {
        return Err(DecodeError::OutputTooLarge { limit: options.max_size });
    }
    let name = std::str::from_utf8(name)
        .map_err(|_| DecodeError::DecompressionFailed("the dictionary name is not UTF-8".into()))?;
    let (message, id) = with_dictionary(frame, Some(name), options)?;
    if message.len() != size {
        return Err(DecodeError::DecompressionFailed(format!(
            "expected {size} bytes in the dictionary container, found {}",
            message.len()
        )));
    }
    Ok((message, Compression::Dictionary(id)))
}

/// Decompresses a frame with the dictionary of its id, or of `name` if it has no id. Returns the
/// message and the id of the dictionary.
fn with_dictionary(
    frame: &[u8],
    name: Option<&str>,
    options: &DecodeOptions<'_>,
) -> Result<(Vec<u8>, u32), DecodeError> {
    let id = compression::zstd_dictionary_id(frame)?;
    let built_in: &Dictionary = Dictionary::built_in();
    let mut found = options
        .dictionaries
        .iter()
        // zstd cannot detect a wrong dictionary for a frame without an id, so only a dictionary that
        // the caller named is used.
        .filter(
            |named| if id == 0 { Some(named.name) == name } else { named.dictionary.id() == id },
        )
        .map(|named| named.dictionary)
        .chain(Some(built_in).filter(|built_in| built_in.id() == id));
    let dictionary = found
        .next()
        .ok_or_else(|| DecodeError::DictionaryNotFound { id, name: name.map(str::to_owned) })?;
    if found.any(|other| other.content() != dictionary.content()) {
        let shared = if id == 0 {
            format!("name {:?}", name.unwrap_or_default())
        } else {
            format!("id {id}")
        };
        return Err(DecodeError::InvalidFormat(format!(
            "two of the dictionaries have the {shared}, but other content: pass only the one that the \
             message was written with"
        )));
    }
    let decompressor = Some(dictionary.decompressor());
    let message = compression::unzstd(frame, decompressor, options.max_size)?;
    Ok((message, dictionary.id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_raw_only_if_it_is_invalid() {
        let wire = Wire::Text("hello");
        let raw = or_raw(Err(DecodeError::EmptyResponse), wire).unwrap();
        assert_eq!((&*raw.response.result, raw.format), ("hello", None));
        let no_memory = DecodeError::OutOfMemory { bytes: 1 };
        assert_eq!(or_raw(Err(no_memory.clone()), wire), Err(no_memory));
        let error = DecodeError::EmptyResponse;
        assert_eq!(or_raw(Err(error.clone()), Wire::Bytes(b"\xff")), Err(error));
    }
}
