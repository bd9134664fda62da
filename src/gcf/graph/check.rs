//! Checks that the fields of symbols and edges can be written on a line. GCF 3.6 sections 4 and 16.1.

use super::types::{Edge, Payload, Symbol};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::text::scan::{self, NotGraphic};

/// An error about the value at `path`.
#[cold]
pub(super) fn invalid_value(code: Code, path: String, message: impl Into<String>) -> Error {
    Error { code, message: message.into(), place: Place::Value(path) }
}

/// Whether a string can be a field of a line: not empty, without white space and control characters,
/// and ASCII unless `allow_unicode`.
pub(super) fn is_word(word: &str, allow_unicode: bool) -> bool {
    !word.is_empty()
        && (!scan::contains::<NotGraphic>(word.as_bytes())
            || (allow_unicode && !word.chars().any(|c| c.is_whitespace() || c.is_control())))
}

/// Checks the symbol or edge at a path. Its words must be ASCII unless `allow_unicode`.
pub(super) struct Check<P> {
    pub(super) allow_unicode: bool,
    pub(super) path: P,
}

impl<P: Fn() -> String> Check<P> {
    /// Returns an error for a symbol that cannot be written on a line.
    #[inline]
    pub(super) fn symbol(&self, symbol: &Symbol) -> Result<(), Error> {
        self.identity(symbol)?;
        self.word(&symbol.provenance, ".provenance")?;
        if !symbol.score.is_finite() {
            let message = format!(
                "the score of {} is {}, not a finite number",
                excerpt(&symbol.qualified_name),
                symbol.score
            );
            return self.fail(Code::NotFinite, ".score", message);
        }
        if symbol.distance < 0 {
            let message = format!("the distance {} is negative", symbol.distance);
            return self.fail(Code::OutOfRange, ".distance", message);
        }
        Ok(())
    }

    /// Returns an error for a symbol whose kind or name cannot be written on a line.
    #[inline]
    pub(super) fn identity(&self, symbol: &Symbol) -> Result<(), Error> {
        self.word(&symbol.qualified_name, ".qualified_name")?;
        self.word(&symbol.kind, ".kind")
    }

    /// Returns an error for an edge whose type or status cannot be written on a line.
    #[inline]
    pub(super) fn edge(&self, edge: &Edge) -> Result<(), Error> {
        self.word(&edge.edge_type, ".edge_type")?;
        if edge.status.is_empty() {
            return Ok(());
        }
        self.word(&edge.status, ".status")
    }

    /// Returns an error for a string that cannot be a field of a line.
    #[inline]
    fn word(&self, word: &str, field: &str) -> Result<(), Error> {
        if is_word(word, self.allow_unicode) { Ok(()) } else { self.invalid_word(word, field) }
    }

    #[cold]
    fn invalid_word(&self, word: &str, field: &str) -> Result<(), Error> {
        let message = if word.is_empty() {
            "the field must not be empty in a line of a graph".to_owned()
        } else if !self.allow_unicode && is_word(word, true) {
            format!("{} is not ASCII; set allow_unicode to write it", excerpt(word))
        } else {
            format!("{} contains white space or control characters", excerpt(word))
        };
        self.fail(Code::InvalidGraphName, field, message)
    }

    #[cold]
    fn fail(&self, code: Code, field: &str, message: String) -> Result<(), Error> {
        Err(invalid_value(code, (self.path)() + field, message))
    }
}

/// Returns an error for a negative token count of a payload.
pub(super) fn check_counts(payload: &Payload) -> Result<(), Error> {
    check_count("tokens_used", payload.tokens_used)?;
    check_count("token_budget", payload.token_budget)
}

/// Returns an error for a negative token count.
pub(super) fn check_count(name: &str, count: i64) -> Result<(), Error> {
    if count >= 0 {
        return Ok(());
    }
    let message = format!("the count {count} is negative");
    Err(invalid_value(Code::OutOfRange, format!("$.{name}"), message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_no_white_space_or_control_characters() {
        for word in ["a", "a.b<c>", "#", "@0"] {
            assert!(is_word(word, false), "{word}");
        }
        for word in ["é", "\u{BD7}x"] {
            assert!(!is_word(word, false) && is_word(word, true), "{word}");
        }
        let long = "github.com/acme/service.Symbol";
        for byte in 0..128_u8 {
            for at in 0..long.len() {
                let word = format!("{}{}{}", &long[..at], char::from(byte), &long[at + 1..]);
                assert_eq!(is_word(&word, false), byte.is_ascii_graphic(), "{word:?}");
            }
        }
        for word in ["", "a b", "a\t", "\u{2028}", "\u{7F}", "\u{85}", "\u{A0}"] {
            assert!(!is_word(word, true), "{word:?}");
        }
    }
}
