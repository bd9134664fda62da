//! Excerpts of the input for error messages: short, in one line, and without characters that a terminal would
//! interpret.

use std::borrow::Cow;

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

/// Returns `text` with its control and invisible characters escaped: a terminal could interpret them.
pub fn one_line(text: &str) -> String {
    // `escape_debug` also escapes these, which are harmless here.
    const KEPT: [char; 3] = ['"', '\'', '\\'];
    let mut line = String::with_capacity(text.len());
    for piece in text.split_inclusive(KEPT) {
        let plain = piece.trim_end_matches(KEPT);
        line.extend(plain.escape_debug());
        line.push_str(&piece[plain.len()..]);
    }
    line
}

/// The step to the member `key` in the path of an error: `.key` for a short name, otherwise `["a key"]`.
pub fn path_step(key: &str) -> String {
    let is_name = (1..=EXCERPT_CHARS).contains(&key.len())
        && key.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric());
    if is_name { format!(".{key}") } else { format!("[{}]", excerpt(key)) }
}

/// Maximum length in bytes of each end of a long path in an error message.
const PATH_END: usize = 60;

/// Returns the path of a value for an error message: of a long one, the first and last steps around `…`.
pub fn path_excerpt(path: &str) -> Cow<'_, str> {
    let steps = || path.match_indices(['.', '[']).map(|(at, _)| at);
    let tail = path.len().saturating_sub(PATH_END);
    let cut = steps().take_while(|&at| at <= PATH_END).last();
    match (cut, steps().find(|&at| at >= tail)) {
        (Some(cut), Some(rest)) if cut < rest && path.len() > 2 * PATH_END => {
            Cow::Owned(format!("{}…{}", &path[..cut], &path[rest..]))
        }
        _ => Cow::Borrowed(path),
    }
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
    fn path_excerpt_keeps_the_first_and_last_steps() {
        for short in ["$", "$.a[0]", &format!("$.{}", "a".repeat(118))] {
            assert_eq!(path_excerpt(short), short);
        }
        let long = format!("$.rows{}.deepest", "[0].child".repeat(100));
        let shown = path_excerpt(&long);
        assert!(shown.starts_with("$.rows[0].child") && shown.ends_with("[0].child.deepest"));
        assert!(
            shown.contains("child…") && shown.len() <= 2 * PATH_END + '…'.len_utf8(),
            "{shown}"
        );
        let unbroken = format!("$[{:?}]", "한".repeat(100));
        assert_eq!(path_excerpt(&unbroken), unbroken);
    }

    #[test]
    fn one_line_escapes_control_and_invisible_characters() {
        let hostile = "a\x1b[2J\r\n\u{9b}\u{85}\u{202e}\u{2066}\u{2028}\u{200b}\0\u{feff}";
        let shown = one_line(hostile);
        assert!(shown.is_ascii() && !shown.contains(|char: char| char.is_control()), "{shown}");
        let kept = "Wörter, \"quoted\" '\\' 한국어 e\u{301} 😀";
        assert_eq!(one_line(kept), kept);
        assert_eq!(one_line(&shown), shown);
    }

    #[test]
    fn excerpt_cuts_long_text() {
        assert_eq!(excerpt("a\"b\n"), r#""a\"b\n""#);
        assert_eq!(excerpt(&"한".repeat(40)), format!("{:?}", "한".repeat(40)));
        assert_eq!(excerpt(&"x".repeat(1000)), format!("{:?}…", "x".repeat(40)));
    }
}
