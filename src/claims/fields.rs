//! Typed members of a value that has passed its schema.
//!
//! A member that contradicts the schema is a bug and ends as `INTERNAL_ERROR`, never as a wrong
//! verdict.

use super::canonical::Hash;
use super::error::Failure;
use crate::value::Value;

type Result<T> = std::result::Result<T, Failure>;

#[cold]
fn broken(name: &str) -> Failure {
    Failure::internal(&format!("the schema accepted a member {name:?} of the wrong type"))
}

pub(super) fn member<'v, 'a>(value: &'v Value<'a>, name: &str) -> Result<&'v Value<'a>> {
    value.get(name).ok_or_else(|| broken(name))
}

pub(super) fn text<'v>(value: &'v Value<'_>, name: &str) -> Result<&'v str> {
    member(value, name)?.as_str().ok_or_else(|| broken(name))
}

/// A string that may be absent or null.
pub(super) fn optional_text<'v>(value: &'v Value<'_>, name: &str) -> Result<Option<&'v str>> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| broken(name)),
    }
}

pub(super) fn array<'v, 'a>(value: &'v Value<'a>, name: &str) -> Result<&'v [Value<'a>]> {
    member(value, name)?.as_array().ok_or_else(|| broken(name))
}

pub(super) fn boolean(value: &Value<'_>, name: &str) -> Result<bool> {
    match member(value, name)? {
        Value::Bool(value) => Ok(*value),
        _ => Err(broken(name)),
    }
}

pub(super) fn natural(value: &Value<'_>, name: &str) -> Result<u64> {
    optional_natural(value, name)?.ok_or_else(|| broken(name))
}

/// A non-negative integer that may be absent or null.
pub(super) fn optional_natural(value: &Value<'_>, name: &str) -> Result<Option<u64>> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(value)) => u64::try_from(*value).map(Some).map_err(|_| broken(name)),
        Some(_) => Err(broken(name)),
    }
}

pub(super) fn hash(value: &Value<'_>, name: &str) -> Result<Hash> {
    Hash::parse(text(value, name)?).ok_or_else(|| broken(name))
}

/// A hash that may be absent or null.
pub(super) fn optional_hash(value: &Value<'_>, name: &str) -> Result<Option<Hash>> {
    let Some(text) = optional_text(value, name)? else { return Ok(None) };
    Hash::parse(text).map(Some).ok_or_else(|| broken(name))
}
