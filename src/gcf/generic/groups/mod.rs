//! Value grouping: rows with the same value in one column follow a line that contains this value once.
//!
//! ```text
//! ## tasks [3]{@id,state,unit=kg,who} group=state
//! state=open [2]
//! 11|ana
//! 12|bo
//! state=done [1]
//! 15|~
//! ```
//!
//! Grammar of the declaration and of the line above each group:
//!
//! ```text
//! grouped = bracket "{" entry *("," entry) "}" "group=" key
//! entry   = "@" key / key / key "=" scalar        ; exactly one "@", the identity
//! group   = key "=" scalar " [" count "]"         ; count >= 1
//! ```
//!
//! GCF 3.6 does not describe this form; the packages gcf-python 2.8 and gcf 3.1 read and write it.
//! Differences from other tables: a name with `>` is never a path, rows have no attachments and no ids, no
//! two rows have the same identity, and the count cannot be deferred.
//!
//! `read` parses the form for the decoder and the row reader, `write` produces it on request.

pub(crate) mod read;
pub(crate) mod write;

use super::tree::Node;
use crate::gcf::syntax::scalar::Token;
use crate::text::decimal::integer;

/// A scalar as a key: two keys are equal if the scalars have the same canonical text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ScalarKey<T> {
    Null,
    Bool(bool),
    Int(i64),
    /// The bits of a double that is not written as an integer.
    Float(u64),
    String(T),
}

impl<T> ScalarKey<T> {
    fn float(value: f64) -> Self {
        integer(value).map_or_else(|| Self::Float(value.to_bits()), Self::Int)
    }
}

impl<'a> ScalarKey<&'a str> {
    /// The key of a value; `None` for an array or object.
    fn of_node(node: Node<'a>) -> Option<Self> {
        Some(match node {
            Node::Null => Self::Null,
            Node::Bool(value) => Self::Bool(value),
            Node::Int(value) => Self::Int(value),
            Node::Float(value) => Self::float(value),
            Node::String(text) => Self::String(text),
            Node::Array(_) | Node::Object(_) => return None,
        })
    }
}

impl ScalarKey<Box<str>> {
    /// The key of a token; `None` if it is not a scalar.
    fn of_token(token: &Token<'_>) -> Option<Self> {
        Some(match token {
            Token::Null => Self::Null,
            Token::Bool(value) => Self::Bool(*value),
            Token::Int(value) => Self::Int(*value),
            Token::Float(value) => Self::float(*value),
            Token::String(text) => Self::String((&**text).into()),
            Token::Missing | Token::Marker | Token::InlineSchema(_) | Token::List { .. } => {
                return None;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scalar() -> impl Strategy<Value = Node<'static>> {
        prop_oneof![
            Just(Node::Null),
            any::<bool>().prop_map(Node::Bool),
            (-2_i64..3).prop_map(Node::Int),
            prop_oneof![Just(1_i64 << 53), Just(10_i64.pow(18))].prop_map(Node::Int),
            (-2_i32..3).prop_map(|value| Node::Float(f64::from(value) / 2.0)),
            prop_oneof![Just(-0.0), Just(2_f64.powi(53)), Just(1e18), Just(-1e18), Just(1e300)]
                .prop_map(Node::Float),
            prop_oneof![Just(""), Just("1"), Just("-"), Just("true"), Just("0.5"), Just("a")]
                .prop_map(Node::String),
        ]
    }

    proptest! {
        #[test]
        fn keys_are_equal_if_the_texts_are(left in scalar(), right in scalar()) {
            let text = |node: Node<'_>| {
                let mut out = String::new();
                node.write(&mut out);
                out
            };
            prop_assert_eq!(
                ScalarKey::of_node(left) == ScalarKey::of_node(right),
                text(left) == text(right)
            );
        }
    }
}
