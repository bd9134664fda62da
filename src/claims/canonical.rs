//! Canonical JSON, and hashes of it. Compression Claims sections 3.1 and 7.4.
//!
//! Invariant: equal values have the same canonical text, and hashes cover that text, not the bytes
//! of a file, so that white space and member order do not affect them.

use crate::json::{self, Escape};
use crate::text::hex;
use crate::value::Value;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// The members of an object, as a [`Value`] holds them.
pub(super) type Members<'a> = [(Cow<'a, str>, Value<'a>)];

/// The canonical text of a value, with a final line feed, as in every file.
pub(super) fn canon_lf(value: &Value<'_>) -> String {
    let mut out = canon(value);
    out.push('\n');
    out
}

/// The canonical text of a value.
pub(super) fn canon(value: &Value<'_>) -> String {
    let mut out = String::new();
    json::write(value, Escape::NonAscii, &mut out);
    out
}

/// Initial capacity in bytes: enough for a receipt or claim with a few steps.
const USUAL_SIZE: usize = 2 << 10;

/// How [`changed`] treats a member.
pub(super) enum Change<'a> {
    /// Keep it.
    Keep,
    /// Leave it out.
    Drop,
    /// Replace its value by this canonical text.
    Set(&'a str),
}

/// The canonical text of an object with some members changed.
pub(super) fn changed<'a>(members: &Members<'_>, change: impl Fn(&str) -> Change<'a>) -> String {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| name);
    let mut out = String::with_capacity(USUAL_SIZE);
    out.push('{');
    for (name, value) in sorted {
        let change = change(name);
        if matches!(change, Change::Drop) {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        json::write_string(name, Escape::NonAscii, &mut out);
        out.push(':');
        match change {
            Change::Set(text) => out.push_str(text),
            Change::Keep | Change::Drop => json::write(value, Escape::NonAscii, &mut out),
        }
    }
    out.push('}');
    out
}

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hash(pub(super) [u8; 32]);

impl Hash {
    pub(super) fn of(data: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(data).into())
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        hex::decode_lower(text.as_bytes()).map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_kept_dropped_and_set() {
        let value = Value::Object(vec![
            ("b".into(), Value::Int(2)),
            ("a".into(), Value::Int(1)),
            ("c".into(), Value::Int(3)),
        ]);
        let text = changed(value.as_object().unwrap(), |name| match name {
            "a" => Change::Drop,
            "c" => Change::Set("null"),
            _ => Change::Keep,
        });
        assert_eq!(text, r#"{"b":2,"c":null}"#);
        assert_eq!(changed(&[], |_| Change::Keep), "{}");
        assert_eq!(changed(value.as_object().unwrap(), |_| Change::Keep), canon(&value));
    }

    #[test]
    fn hexadecimal_digits_are_exact() {
        let hash = Hash::of("");
        assert_eq!(
            hash.to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(Hash::parse(&hash.to_string().to_uppercase()), None);
    }
}
