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

/// The step of a path to the member `key` of an object: `.key`, or `["a key"]`.
pub fn path_step(key: &str) -> String {
    let is_name = (1..=EXCERPT_CHARS).contains(&key.len())
        && key.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric());
    if is_name { format!(".{key}") } else { format!("[{}]", excerpt(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_step_quotes_keys_that_are_no_names() {
        assert_eq!(path_step("total_2"), ".total_2");
        assert_eq!(path_step("a b"), r#"["a b"]"#);
        assert_eq!(path_step(""), r#"[""]"#);
    }

    #[test]
    fn excerpt_cuts_long_text() {
        assert_eq!(excerpt("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(excerpt(&"한".repeat(40)), format!("{:?}", "한".repeat(40)));
        assert_eq!(excerpt(&"x".repeat(1000)), format!("{:?}…", "x".repeat(40)));
    }
}
