//! Recognizes the kind of a text by its prefix: v2 "Format Detection", v4 section 1.

use super::carrier::{Wire, binary_transport};
use super::error::DecodeError;
use super::format::{Format, Kind, Transport};
use super::mistaken;
use crate::text;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// All prefixes, in the order of the search. `MPK:` and `A85:` (v1.2) come before `M` and `A`. They
/// are not ambiguous: Base64 has no `:`, and no `MessagePack` array or map begins with the Base85
/// digit `8`.
const PREFIXES: [(&str, Kind); 14] = [
    ("RES|", Kind::Response(Format::Dsl)),
    ("MPK:", Kind::Response(Format::Binary)),
    ("A85:", Kind::Response(Format::Base85)),
    ("D|", Kind::Delta),
    ("TOOL|", Kind::Tool),
    ("SYS|", Kind::System),
    ("REQ|", Kind::Request),
    ("GCF ", Kind::Gcf),
    ("{", Kind::Response(Format::Verbose)),
    ("M", Kind::Response(Format::Binary)),
    ("A", Kind::Response(Format::Base85)),
    ("Z", Kind::Response(Format::Zlib)),
    ("S", Kind::Response(Format::Zstd)),
    ("D", Kind::Response(Format::Dictionary)),
];

/// The kind of a message, without decoding it. The two formats of bare `MessagePack` have the same bytes,
/// which are taken for [`Format::Binary`].
///
/// # Errors
/// [`DecodeError::EmptyResponse`] and [`DecodeError::InvalidPrefix`]; [`DecodeError::InvalidFormat`] for
/// bytes that are neither a binary form nor UTF-8.
pub fn detect<'a>(wire: impl Into<Wire<'a>>) -> Result<Kind, DecodeError> {
    match find(wire.into())? {
        Found::Text(kind, _) => Ok(kind),
        Found::Binary(transport, _) => Ok(Kind::Response(transport.format())),
    }
}

/// A message whose kind is known.
pub(super) enum Found<'a> {
    /// A text, without its prefix.
    Text(Kind, &'a str),
    /// One of the binary forms.
    Binary(Transport, &'a [u8]),
}

/// Detects the kind of a message.
pub(super) fn find(wire: Wire<'_>) -> Result<Found<'_>, DecodeError> {
    let text = match wire {
        Wire::Text(text) => text,
        Wire::Bytes(bytes) => match binary_transport(bytes) {
            Some(transport) => return Ok(Found::Binary(transport, bytes)),
            None => match mistaken::not_a_binary_message(bytes) {
                Some(error) => return Err(error),
                None => text::from_utf8(bytes).map_err(|error| {
                    let at = error.valid_up_to();
                    let message = format!("the message is not UTF-8 from byte {at} on");
                    DecodeError::InvalidFormat(message)
                })?,
            },
        },
    };
    let (kind, payload) = split(text)?;
    Ok(Found::Text(kind, payload))
}

/// Strips white space and a byte order mark from the beginning of a text.
pub(super) fn skip_blank(text: &str) -> &str {
    let text = text.trim_ascii_start();
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii_start()
}

/// The kind of a text, and its payload: the text after the prefix; for a verbose message, all of it.
fn split(wire: &str) -> Result<(Kind, &str), DecodeError> {
    let text = skip_blank(wire);
    for (prefix, kind) in PREFIXES {
        if let Some(payload) = text.strip_prefix(prefix) {
            return Ok(match kind {
                Kind::Response(Format::Verbose) => (kind, text),
                // The result of the DSL keeps trailing white space.
                Kind::Response(Format::Dsl) => (kind, payload),
                _ => (kind, payload.trim_ascii_end()),
            });
        }
    }
    Err(text.chars().next().map_or(DecodeError::EmptyResponse, DecodeError::InvalidPrefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_decides_the_kind() {
        for (wire, name) in [
            ("RES|OK|G3|0|x", "dsl"),
            ("MPK:lA==", "binary"),
            ("A85:lmh", "base85"),
            ("D|F|x", "delta"),
            ("D!", "dictionary"),
            ("TOOL|def|{}", "tool"),
            ("TOOL", ""),
            ("SYS|full|x", "system"),
            ("SYS", "zstd"),
            ("REQ|1|||{}", "request"),
            ("GCF profile=generic", "gcf"),
            (" \t\r\n\u{feff}\n{", "verbose"),
            ("MP", "binary"),
            ("A8", "base85"),
            ("Z", "zlib"),
            ("S", "zstd"),
            ("\u{feff}\u{feff}S", ""),
        ] {
            assert_eq!(detect(wire).map_or("", Kind::name), name, "{wire:?}");
        }
        assert_eq!(detect(" \n\u{feff} "), Err(DecodeError::EmptyResponse));
        assert_eq!(detect(" résumé"), Err(DecodeError::InvalidPrefix('r')));
        assert_eq!(detect("\u{a0}{}"), Err(DecodeError::InvalidPrefix('\u{a0}')));
    }
}
