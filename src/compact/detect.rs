//! What a text is, by its first characters: v2 "Format Detection", v4 section 1.

use super::error::DecodeError;
use super::format::{Format, Kind};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What stands at the start of a message, in the order in which it is looked for. `MPK:` and `A85:`
/// (v1.2) come before `M` and `A`, for which they cannot be taken: no Base64 has a `:`, and no
/// `MessagePack` array or map begins with the Base85 digit `8`.
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

/// Says what `wire` is without decoding it.
///
/// # Errors
/// [`DecodeError::EmptyResponse`] and [`DecodeError::InvalidPrefix`].
pub fn detect(wire: &str) -> Result<Kind, DecodeError> {
    split(wire).map(|(kind, _)| kind)
}

/// `text` from its first character that is neither white space nor a byte order mark.
pub(super) fn skip_blank(text: &str) -> &str {
    let text = text.trim_ascii_start();
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii_start()
}

/// What `wire` is, and its payload: what follows the prefix (for a verbose message, all of it).
pub(super) fn split(wire: &str) -> Result<(Kind, &str), DecodeError> {
    let text = skip_blank(wire);
    for (prefix, kind) in PREFIXES {
        if let Some(payload) = text.strip_prefix(prefix) {
            return Ok(match kind {
                Kind::Response(Format::Verbose) => (kind, text),
                // The result of the DSL is kept to its last character.
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
    fn the_first_characters_decide() {
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
