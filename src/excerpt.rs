//! What an error message shows of the input: a short excerpt, never the whole.

/// How many characters of the input an error message may show.
pub const EXCERPT_CHARS: usize = 40;

/// The first [`EXCERPT_CHARS`] characters of `text`, quoted, control characters escaped.
///
/// An escape counts as the one character that it stands for; what is cut off is marked with `…`.
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
    fn excerpt_shows_short_text_whole_and_cuts_long_text() {
        assert_eq!(excerpt("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(excerpt(&"한".repeat(40)), format!("{:?}", "한".repeat(40)));
        assert_eq!(excerpt(&"x".repeat(1000)), format!("{:?}…", "x".repeat(40)));
    }
}
