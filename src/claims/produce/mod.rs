//! Producing the files that [`verify`](super::verify) checks.
//!
//! The output depends only on the arguments, not on clock or randomness. Invariant: the output
//! verifies with the strictest options and the default limits; otherwise the producer fails and
//! names the invalid argument: `manifest#/steps/0`, `chain[2]`. To ensure this, every argument and
//! every result is read back from its canonical text and checked by the verification's own checks.
//! One exception: a symbol whose ref has one or two bytes, such as `@b`, is written although
//! `require_symbol_refs` refuses it, because the specification rounds it to 0 tokens.
//!
//! `bundle` writes bundles, `receipts` creates, signs and chains receipts, `claim` creates claims
//! and trust policies, `output` writes files safely.

mod bundle;
mod claim;
pub(super) mod output;
mod receipts;

pub use bundle::{Bundle, Item, build_bundle};
pub use claim::{make_claim, make_trust_policy};
pub use receipts::{
    Signing, make_receipt, merkle_attestation, merkle_root, sign_receipt, verify_merkle_signature,
    write_receipt,
};

use super::bundle::Manifest;
use super::canonical::{canon, canon_lf};
use super::error::{Code, Failure, ProduceError};
use super::options::{Limits, Options};
use super::schema::{self, Schema, Violation};
use crate::json;
use crate::memory;
use crate::value::Value;
use std::path::Path;

type Result<T> = std::result::Result<T, ProduceError>;

/// Writes a value as canonical JSON with a final line feed. Replaces a regular file if there is
/// one.
///
/// # Errors
/// [`ProduceError`]: [`parse_json`] could not read it, something other than a regular file exists
/// there, or it cannot be written.
pub fn write_json(path: &Path, value: &Value<'static>) -> Result<()> {
    let text = canon_lf(value);
    memory::require(memory::ensure(json::memory_of(text.as_bytes())));
    let read = schema::parse(text.as_bytes(), &Options::default());
    read.map_err(|violation| ProduceError::argument("value", violation.message))?;
    output::replace(path, &text)
}

/// Parses strict JSON, as the verification does.
///
/// # Errors
/// [`ProduceError::Argument`]: it is not JSON, or two readers could interpret it differently.
pub fn parse_json(bytes: &[u8]) -> Result<Value<'static>> {
    let document = schema::parse_owned(bytes, &Options::default());
    let document =
        document.map_err(|violation| ProduceError::argument("data", violation.message))?;
    Ok(document.into_value())
}

/// The canonical text of a value, without a line feed.
pub fn canonical_json(value: &Value<'static>) -> String {
    canon(value)
}

// Checks ------------------------------------------------------------------------------------------

/// Checks a value by its canonical text, as a verification would check a file of at most `limit`
/// bytes.
///
/// Refuses a value without a valid canonical text, such as one with a duplicate name or with a number
/// that is too long.
fn check(
    value: &Value<'static>,
    role: &str,
    schema: &Schema,
    code: Code,
    limit: u64,
) -> Result<()> {
    let text = canon_lf(value);
    memory::require(memory::ensure(json::memory_of(text.as_bytes())));
    let checked = if text.len() as u64 > limit {
        let size = text.len();
        let lists = if code == Code::InvalidReceiptSchema {
            "; a receipt lists each step and artifact of its bundle"
        } else {
            ""
        };
        Err(Violation::new(format!(
            "it has {size} bytes, but a verification reads at most {limit}{lists}"
        )))
    } else {
        schema::parse(text.as_bytes(), &Options::default()).and_then(|_| schema.check(value))
    };
    checked.map_err(|violation| refused(code, role, violation).into())
}

fn refused(code: Code, role: &str, Violation { message, pointer }: Violation) -> Failure {
    let mark = if pointer.is_empty() { "" } else { "#" };
    Failure::new(code, message).at(format!("{role}{mark}{pointer}"))
}

fn check_manifest(manifest: &Value<'static>, role: &str) -> Result<Manifest> {
    let (code, limits) = (Code::InvalidBundleSchema, Limits::default());
    check(manifest, role, &schema::BUNDLE, code, limits.max_json_bytes)?;
    let checked =
        Manifest::new(manifest, &limits)?.map_err(|violation| refused(code, role, violation))?;
    if checked.bundle_id != checked.computed_id {
        let message =
            format!("the id of the manifest is {}, not its bundle_id", checked.computed_id);
        return Err(Failure::new(Code::BundleIdMismatch, message).at(role).into());
    }
    if checked.root_hash != checked.computed_root() {
        let message =
            format!("the root hash of the artifacts is {}, not root_hash", checked.computed_root());
        return Err(Failure::new(Code::RootHashMismatch, message).at(role).into());
    }
    checked.check_paths()?;
    checked.check_slices()?;
    checked.check_bounds()?;
    checked.check_forbidden()?;
    checked.check_symbols()?;
    Ok(checked)
}

/// Sets a member of an object.
fn set(object: &mut Value<'static>, name: &'static str, value: Value<'static>) {
    let Value::Object(members) = object else { return };
    match members.iter_mut().find(|(other, _)| other == name) {
        Some((_, member)) => *member = value,
        None => members.push((name.into(), value)),
    }
}
