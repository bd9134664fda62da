//! Constructors of JSON values.

use super::canonical::Hash;
use crate::value::Value;

pub(super) fn object<const N: usize>(
    members: [(&'static str, Value<'static>); N],
) -> Value<'static> {
    Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

pub(super) fn text(text: &str) -> Value<'static> {
    Value::String(text.to_owned().into())
}

pub(super) fn number(number: u64) -> Value<'static> {
    // Numbers in practice fit into an `i64`; a larger one keeps its digits.
    i64::try_from(number).map_or_else(|_| Value::BigInt(number.to_string().into()), Value::Int)
}

pub(super) fn hash(hash: Hash) -> Value<'static> {
    Value::String(hash.to_string().into())
}
