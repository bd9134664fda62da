//! From a text to a response, in two steps.
//!
//! [`open`] undoes what the transport did (Base64, Base85, compression) and needs no more than the
//! text; [`Opened::read`] borrows the response from what is left. A caller that builds its own
//! objects from the borrowed response copies the result once; [`decode`] does both steps and owns
//! what it returns.
//!
//! v2 sections 1 to 5, v4 sections 1, 4 and 8.

use super::dictionary::Dictionary;
use super::error::DecodeError;
use super::format::{Format, Kind};
use super::response::{Decoded, Response};
use super::{detect, dsl, layout, verbose};
use crate::base85;
use crate::compression::{self, Stream};
use crate::limits::DEFAULT_MAX_SIZE;
use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// Padding is required; spare bits of the last character are ignored, as in Base85.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// First bytes of the old dictionary container.
const CONTAINER_MAGIC: &[u8; 4] = b"ZDCT";

/// A dictionary as the caller knows it: the name is for old containers, whose frames carry no id.
#[derive(Clone, Copy)]
pub struct Named<'d> {
    /// The name, usually its content type.
    pub name: &'d str,
    /// The dictionary.
    pub dictionary: &'d Dictionary,
}

/// How to decode.
#[derive(Clone, Copy)]
pub struct DecodeOptions<'d> {
    /// The largest decompressed size in bytes.
    pub max_size: usize,
    /// The dictionaries to look in, before the built-in one.
    pub dictionaries: &'d [Named<'d>],
}

impl Default for DecodeOptions<'_> {
    fn default() -> Self {
        Self { max_size: DEFAULT_MAX_SIZE, dictionaries: &[] }
    }
}

/// Reads a response in any format of either protocol.
///
/// # Errors
/// [`DecodeError`]. Where anything is to be taken for an answer, [`raw`] is the way out (v4
/// section 8).
pub fn decode(wire: &str, options: &DecodeOptions<'_>) -> Result<Decoded<'static>, DecodeError> {
    let opened = open(wire, options)?;
    let Decoded { response, format, layout } = opened.read()?;
    Ok(Decoded { response: response.into_owned(), format, layout })
}

/// The text itself as the result.
pub fn raw(wire: &str) -> Decoded<'_> {
    Decoded { response: Response::new(wire), format: None, layout: None }
}

/// How many bytes [`open`] may make of `wire`, at a glance: for who must decide where to do it.
pub fn expected_size(wire: &str) -> usize {
    let Ok((Kind::Response(format), payload)) = detect::split(wire) else { return wire.len() };
    let head = || {
        // The longest header of a zstd frame has 18 bytes.
        let head = payload.get(..payload.len().min(25))?;
        compression::zstd_content_size(&base85::decode(head).ok()?).ok().flatten()
    };
    match format {
        Format::Zstd | Format::Dictionary => match head() {
            Some(size) => usize::try_from(size).unwrap_or(usize::MAX),
            None => wire.len().saturating_mul(COMMON_RATIO),
        },
        Format::Zlib => wire.len().saturating_mul(COMMON_RATIO),
        _ => wire.len(),
    }
}

/// What text rarely compresses better than.
const COMMON_RATIO: usize = 16;

/// How a payload was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// One of the deflate streams.
    Deflate(Stream),
    /// A zstd frame.
    Zstd,
    /// A zstd frame with the dictionary of this id.
    Dictionary(u32),
}

/// A response without its transport coding, still to be read.
#[derive(Debug)]
pub struct Opened<'a> {
    format: Format,
    body: Body<'a>,
    /// Bytes behind Base64 or Base85, before decompression.
    binary_len: Option<usize>,
    compression: Option<Compression>,
}

#[derive(Debug)]
pub(super) enum Body<'a> {
    Text(&'a str),
    Message(Vec<u8>),
}

/// Undoes Base64, Base85 and compression.
///
/// # Errors
/// [`DecodeError`], except for what is wrong in the response itself.
pub fn open<'a>(wire: &'a str, options: &DecodeOptions<'_>) -> Result<Opened<'a>, DecodeError> {
    let (kind, payload) = detect::split(wire)?;
    let Kind::Response(format) = kind else { return Err(not_a_response(kind)) };
    if let Format::Verbose | Format::Dsl = format {
        let body = Body::Text(payload);
        return Ok(Opened { format, body, binary_len: None, compression: None });
    }
    let binary = match format {
        Format::Binary => base64(payload)?,
        _ => base85::decode(payload)?,
    };
    let binary_len = Some(binary.len());
    let (message, compression) = match format {
        Format::Zlib => {
            let stream = Compression::Deflate(Stream::of(&binary));
            (compression::inflate(&binary, options.max_size)?, Some(stream))
        }
        Format::Zstd => {
            let message = compression::unzstd(&binary, None, options.max_size)?;
            (message, Some(Compression::Zstd))
        }
        Format::Dictionary => {
            let (message, compression) = open_dictionary(&binary, options)?;
            (message, Some(compression))
        }
        _ => (binary, None),
    };
    Ok(Opened { format, body: Body::Message(message), binary_len, compression })
}

impl Opened<'_> {
    /// The format that the text is in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes behind Base64 or Base85, before decompression; `None` for the text formats.
    pub fn binary_len(&self) -> Option<usize> {
        self.binary_len
    }

    /// Bytes of `MessagePack`; `None` for the text formats.
    pub fn message_len(&self) -> Option<usize> {
        match &self.body {
            Body::Text(_) => None,
            Body::Message(message) => Some(message.len()),
        }
    }

    pub(super) fn body(&self) -> &Body<'_> {
        &self.body
    }

    /// How the payload was compressed, if it was.
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Reads the response, borrowed from the text or from the decompressed bytes.
    ///
    /// # Errors
    /// [`DecodeError`] for what is wrong in the response itself.
    pub fn read(&self) -> Result<Decoded<'_>, DecodeError> {
        let (response, layout) = match &self.body {
            Body::Text(text) if self.format == Format::Dsl => (dsl::read(text)?, None),
            Body::Text(text) => (verbose::read(text)?, None),
            Body::Message(message) => {
                let (response, layout) = layout::read(message)?;
                (response, Some(layout))
            }
        };
        Ok(Decoded { response, format: Some(self.format), layout })
    }
}

fn not_a_response(kind: Kind) -> DecodeError {
    let reader = match kind {
        Kind::Delta => "apply_delta reads it",
        Kind::Tool | Kind::System | Kind::Request => "a session reads it",
        Kind::Gcf | Kind::Response(_) => "a GCF decoder reads it",
    };
    DecodeError::InvalidFormat(format!("a {} frame is not a response: {reader}", kind.name()))
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
    let early = || DecodeError::DecompressionFailed("dictionary container ends early".into());
    let (size, rest) = container.split_first_chunk::<4>().ok_or_else(early)?;
    let (&name_len, rest) = rest.split_first().ok_or_else(early)?;
    let (name, frame) = rest.split_at_checked(name_len.into()).ok_or_else(early)?;
    let size = u32::from_be_bytes(*size) as usize;
    if size > options.max_size {
        return Err(DecodeError::OutputTooLarge { limit: options.max_size });
    }
    let name = std::str::from_utf8(name)
        .map_err(|_| DecodeError::DecompressionFailed("dictionary name is not UTF-8".into()))?;
    let (message, id) = with_dictionary(frame, Some(name), options)?;
    if message.len() != size {
        return Err(DecodeError::DecompressionFailed(format!(
            "dictionary container claims {size} bytes and holds {}",
            message.len()
        )));
    }
    Ok((message, Compression::Dictionary(id)))
}

/// Decompresses a frame with the dictionary that it names: the message and the dictionary's id.
fn with_dictionary(
    frame: &[u8],
    name: Option<&str>,
    options: &DecodeOptions<'_>,
) -> Result<(Vec<u8>, u32), DecodeError> {
    let id = compression::zstd_dictionary_id(frame)?;
    let mut given = options.dictionaries.iter();
    let found = if id == 0 {
        // Nothing tells a wrong dictionary from the right one here: only a name the caller gave.
        given.find(|named| Some(named.name) == name).map(|named| named.dictionary)
    } else {
        let built_in: &Dictionary = Dictionary::built_in();
        let known = given.map(|named| named.dictionary).chain([built_in]);
        known.into_iter().find(|dictionary| dictionary.id() == id)
    };
    let dictionary = found
        .ok_or_else(|| DecodeError::DictionaryNotFound { id, name: name.map(str::to_owned) })?;
    let decompressor = Some(dictionary.decompressor());
    let message = compression::unzstd(frame, decompressor, options.max_size)?;
    Ok((message, dictionary.id()))
}
