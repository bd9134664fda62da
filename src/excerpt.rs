//! Excerpts of the input for error messages.

/// Maximum number of input characters in an error message.
pub const EXCERPT_CHARS: usize = 40;

/// Returns the first [`EXCERPT_CHARS`] characters of `text` in quotes, control characters escaped.
///
/// An escape counts as one character. A longer text is marked with `…`.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_cuts_long_text() {
        assert_eq!(excerpt("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(excerpt(&"한".repeat(40)), format!("{:?}", "한".repeat(40)));
        assert_eq!(excerpt(&"x".repeat(1000)), format!("{:?}…", "x".repeat(40)));
    }
}
