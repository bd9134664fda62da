//! JSON Pointer, RFC 6901: `/nodes/3/name`, steps from the root to a value within it.

use crate::value::Value;
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

/// The value at a pointer, `None` if a step does not exist.
pub fn get<'v, 'a>(value: &'v Value<'a>, pointer: &str) -> Option<&'v Value<'a>> {
    steps(pointer).try_fold(value, |value, step| match value {
        Value::Array(elements) => elements.get(index(&step)?),
        _ => value.get(&step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

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
    fn get_follows_members_and_indices() {
        let value = parse(r#"{"a/b":[1,{"~":2}],"":3}"#, Limits::default()).unwrap();
        for (pointer, found) in [
            ("/a~1b/0", Some(1)),
            ("/a~1b/1/~0", Some(2)),
            ("/", Some(3)),
            ("/a~1b/2", None),
            ("/a~1b/00", None),
            ("/a~1b/+0", None),
            ("/a~1b/-", None),
            ("//0", None),
        ] {
            assert_eq!(get(&value, pointer), found.map(Value::Int).as_ref(), "{pointer}");
        }
        assert_eq!(get(&value, ""), Some(&value));
    }
}
