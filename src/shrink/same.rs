//! Compares two values as a language model would understand them.

use crate::value::Value;
use std::collections::HashMap;

/// Whether two values are equal: `1` equals `1.0` but not `true`, and the order of members does not
/// count.
pub(super) fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            same_number(*int, *float)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && same_members(left, right)
        }
        _ => left == right,
    }
}

type Member<'a> = (std::borrow::Cow<'a, str>, Value<'a>);

/// Compares two objects with the same number of members.
fn same_members(left: &[Member<'_>], right: &[Member<'_>]) -> bool {
    let ordered = left.iter().zip(right).all(|((left, _), (right, _))| left == right);
    if ordered {
        return left.iter().zip(right).all(|((_, left), (_, right))| same(left, right));
    }
    let right: HashMap<&str, &Value<'_>> =
        right.iter().map(|(key, value)| (&**key, value)).collect();
    left.iter().all(|(key, value)| right.get(&**key).is_some_and(|other| same(value, other)))
}

#[expect(clippy::cast_possible_truncation, reason = "within 2^63 a whole double is an i128")]
fn same_number(int: i64, float: f64) -> bool {
    float.fract() == 0.0 && float.abs() <= 9.3e18 && float as i128 == i128::from(int)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn parsed(text: &str) -> Value<'_> {
        json::parse_borrowed(text, json::Limits::default()).unwrap()
    }

    #[test]
    fn values_are_equal_whatever_their_order_and_spelling() {
        for (left, right, expected) in [
            ("[1]", "[1.0]", true),
            ("[1]", "[true]", false),
            ("[0]", "[-0.0]", true),
            ("[0]", "[false]", false),
            ("[1.5]", "[1]", false),
            ("9223372036854775807", "9.223372036854775807e18", false),
            ("9007199254740992", "9007199254740992.0", true),
            (r#"{"a":1,"b":[{}]}"#, r#"{"b":[{}],"a":1}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
            (r#"{"a":null}"#, "{}", false),
            (r#"["1"]"#, "[1]", false),
            ("[1,2]", "[2,1]", false),
            ("[[]]", "[{}]", false),
        ] {
            assert_eq!(same(&parsed(left), &parsed(right)), expected, "{left} {right}");
            assert_eq!(same(&parsed(right), &parsed(left)), expected, "{right} {left}");
        }
    }
}
