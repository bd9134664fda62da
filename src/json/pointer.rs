//! JSON Pointer, RFC 6901: `/nodes/3/name`, steps from the root to a value within it.

use std::borrow::Cow;

/// Whether the text is a pointer: empty, or steps that begin with `/`, with `~` only in `~0` and `~1`.
pub fn is_valid(text: &str) -> bool {
    let escapes = |rest: &str| rest.starts_with(['0', '1']);
    (text.is_empty() || text.starts_with('/')) && text.split('~').skip(1).all(escapes)
}

/// Escapes a member's key as a step, without the `/`.
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        return Cow::Owned(key.replace('~', "~0").replace('/', "~1"));
    }
    Cow::Borrowed(key)
}

/// The steps of a pointer, unescaped.
pub fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|step| {
        if step.contains('~') {
            return Cow::Owned(step.replace("~1", "/").replace("~0", "~"));
        }
        Cow::Borrowed(step)
    })
}

/// Parses a step as an index of an array: digits without leading zeros.
pub fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with('0');
    let digits = plain && step.bytes().all(|c| c.is_ascii_digit());
    digits.then(|| step.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_key_is_one_step_that_unescapes_to_it() {
        for key in ["a", "", "~", "/", "~1", "a/b~c", "~01"] {
            let pointer = format!("/{}", escape(key));
            assert!(is_valid(&pointer));
            assert_eq!(steps(&pointer).collect::<Vec<_>>(), [key]);
        }
    }

    #[test]
    fn text_with_another_escape_or_start_is_not_a_pointer() {
        for text in ["a", "/~", "/~2", "~0", " /a"] {
            assert!(!is_valid(text), "{text}");
        }
    }

    #[test]
    fn an_index_has_no_sign_and_no_leading_zeros() {
        for (step, found) in
            [("0", Some(0)), ("10", Some(10)), ("00", None), ("+0", None), ("-", None), ("", None)]
        {
            assert_eq!(index(step), found, "{step}");
        }
    }
}
