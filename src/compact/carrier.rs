//! The carrier of a message: a text, or bytes.
//!
//! A channel that carries bytes does not need Base64 and Base85, which add a quarter or more. The bytes of a
//! message are the content that its text encodes in Base64 or Base85 (a binary form). For a text format, they
//! are the text in UTF-8.
//!
//! Invariant: a text with a known prefix does not begin like a binary form, so that a decoder can tell them
//! apart. The binary forms are our extension: for a peer without it, encode the bytes in Base64 or Base85.

use super::format::Transport;
use crate::base85;
use crate::compression::{self, Stream};
use crate::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// A message to read: a text, or bytes, which may also be a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire<'a> {
    /// A text. It is never read as one of the binary forms.
    Text(&'a str),
    /// One of the binary forms, or a text in UTF-8.
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    /// The length in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// The message as text. `None` for bytes that are not UTF-8.
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => text::from_utf8(bytes).ok(),
        }
    }
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for Wire<'a> {
    fn from(text: &'a T) -> Self {
        Self::Text(text.as_ref())
    }
}

/// The sizes in bytes from which [`Choice::Auto`](super::Choice::Auto) takes the next form.
pub(crate) struct Sizes {
    /// `MessagePack` in place of a text.
    pub message: usize,
    /// Compression with zlib, in protocol 2.
    pub zlib: usize,
    /// Compression with zstd, in protocol 4.
    pub zstd: usize,
}

/// A message to write.
pub(crate) trait Carrier: Sized {
    /// The sizes by which a form is chosen.
    const AUTO: Sizes;
    /// A message in one of the text formats.
    fn text(text: String) -> Self;
    /// A message in one of the other formats.
    fn binary(content: Vec<u8>, transport: Transport) -> Self;
    /// The length in bytes.
    fn size(&self) -> usize;
}

impl Carrier for String {
    // v2 section 6, v4 section 2.
    const AUTO: Sizes = Sizes { message: 50, zlib: 501, zstd: 256 };

    fn text(text: String) -> Self {
        text
    }

    fn binary(content: Vec<u8>, transport: Transport) -> Self {
        let prefix = match transport {
            Transport::Base64 => {
                let mut wire = Self::from("M");
                BASE64.encode_string(content, &mut wire);
                return wire;
            }
            Transport::Base85 => "A",
            Transport::Zlib => "Z",
            Transport::Zstd => "S",
            Transport::Dictionary => "D",
        };
        base85::encode_prefixed(prefix, &content)
    }

    fn size(&self) -> usize {
        self.len()
    }
}

impl Carrier for Vec<u8> {
    // Without Base85, most texts of this size are shorter compressed than in the DSL.
    const AUTO: Sizes = Sizes { message: 150, zlib: 150, zstd: 150 };

    fn text(text: String) -> Self {
        text.into_bytes()
    }

    fn binary(content: Vec<u8>, _: Transport) -> Self {
        content
    }

    fn size(&self) -> usize {
        self.len()
    }
}

/// The transport of bytes in a binary form; `None` for other bytes, which must be a text. The two transports
/// without compression have the same bytes, for which this is [`Transport::Base64`].
pub(super) fn binary_transport(bytes: &[u8]) -> Option<Transport> {
    let transport = match bytes {
        // An array or map of MessagePack.
        [0x80..=0x9f | 0xdc..=0xdf, ..] => Transport::Base64,
        // RFC 1950, section 2.2: the four levels, without a preset dictionary.
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Transport::Zlib,
        _ if Stream::of(bytes) == Stream::Gzip => Transport::Zlib,
        _ if compression::is_zstd(bytes) => match compression::zstd_dictionary_id(bytes) {
            Ok(1..) => Transport::Dictionary,
            Ok(0) | Err(_) => Transport::Zstd,
        },
        _ => return None,
    };
    Some(transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_decide_the_transport() {
        for (bytes, transport) in [
            (&[0x80][..], Some(Transport::Base64)),
            (&[0x9f], Some(Transport::Base64)),
            (&[0xdc, 0, 0], Some(Transport::Base64)),
            (&[0xdf, 0, 0, 0, 0], Some(Transport::Base64)),
            (&[0x78, 0x9c], Some(Transport::Zlib)),
            (b"x\x01", Some(Transport::Zlib)),
            (b"x^", Some(Transport::Zlib)),
            // With a preset dictionary, which the protocol does not have.
            (b"x is", None),
            (b"x}", None),
            (&[0x78], None),
            (&[0x1f, 0x8b, 8], Some(Transport::Zlib)),
            (&[0x28, 0xb5, 0x2f, 0xfd], Some(Transport::Zstd)),
            // The header of a frame with the dictionary 7.
            (&[0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 0, 1, 0, 0], Some(Transport::Dictionary)),
            (b"RES|OK|C4|0|x", None),
            (b"", None),
            (&[0xe2, 0x82, 0xac], None),
        ] {
            assert_eq!(binary_transport(bytes), transport, "{bytes:02x?}");
        }
    }
}
