//! Making what [`verify`](super::verify) verifies: design section 15.
//!
//! What is made is a function of the arguments, without clock or randomness. Invariant: what is given
//! away verifies with the strictest options and the default limits, and what cannot is refused, with
//! the name of the argument that is to blame: `manifest#/steps/0`, `chain[2]`. So everything, given or
//! made, is read back from its canonical text and judged by the checks of the verification itself.
//!
//! `bundle` writes texts, `receipts` makes, signs and chains receipts, `claim` claims and says whose
//! signatures count, `output` writes files that nobody can turn aside.

mod bundle;
mod claim;
mod output;
mod receipts;

pub use bundle::{Item, build_bundle};
pub use claim::{make_claim, make_trust_policy};
pub use receipts::{
    Signing, make_receipt, merkle_attestation, merkle_root, sign_receipt, verify_merkle_signature,
    write_receipt,
};

use super::bundle::Manifest;
use super::canonical::{canon, canon_lf};
use super::error::{Code, Failure, ProduceError};
use super::options::{Limits, Options};
use super::schema::{self, Misfit, Schema};
use crate::value::Value;
use std::path::Path;

type Result<T> = std::result::Result<T, ProduceError>;

/// Writes a value as canonical JSON with a line feed at its end, in the place of a regular file or of
/// none.
///
/// # Errors
/// [`ProduceError`]: [`parse_json`] could not read it, something else is in the way, or it cannot be
/// written.
pub fn write_json(path: &Path, value: &Value<'static>) -> Result<()> {
    let text = canon_lf(value);
    let read = schema::parse(text.as_bytes(), &Options::default());
    read.map_err(|misfit| ProduceError::argument("value", misfit.message))?;
    output::replace(path, &text)
}

/// The value of strict JSON, as the verification reads it.
///
/// # Errors
/// [`ProduceError::Argument`]: it is not JSON, or what two readers could read differently.
pub fn parse_json(bytes: &[u8]) -> Result<Value<'static>> {
    let document = schema::parse_owned(bytes, &Options::default());
    let document = document.map_err(|misfit| ProduceError::argument("data", misfit.message))?;
    Ok(document.into_value())
}

/// The canonical text of a value, without a line feed.
pub fn canonical_json(value: &Value<'static>) -> String {
    canon(value)
}

// Judging ------------------------------------------------------------------------------------------

/// Judges a value by its text, as a verification would a file of at most `limit` bytes.
///
/// A value that has no such text, because a name comes twice or a number is too long, is refused.
fn judge(
    value: &Value<'static>,
    role: &str,
    schema: &Schema,
    code: Code,
    limit: u64,
) -> Result<()> {
    let text = canon_lf(value);
    let judged = if text.len() as u64 > limit {
        let size = text.len();
        Err(Misfit::new(format!("it takes {size} bytes, and a verification reads {limit}")))
    } else {
        // As large as what is explained: the value is in memory already.
        schema::parse(text.as_bytes(), &Options::default()).and_then(|_| schema.check(value, 0))
    };
    judged.map_err(|misfit| refused(code, role, misfit).into())
}

fn refused(code: Code, role: &str, Misfit { message, pointer }: Misfit) -> Failure {
    let mark = if pointer.is_empty() { "" } else { "#" };
    Failure::new(code, message).at(format!("{role}{mark}{pointer}"))
}

fn judge_manifest(manifest: &Value<'static>, role: &str) -> Result<Manifest> {
    let (code, limits) = (Code::InvalidBundleSchema, Limits::default());
    judge(manifest, role, &schema::BUNDLE, code, limits.max_json_bytes)?;
    let judged = Manifest::new(manifest, &limits)?.map_err(|misfit| refused(code, role, misfit))?;
    if judged.bundle_id != judged.computed_id {
        let message = format!("the manifest has the id {}", judged.computed_id);
        return Err(Failure::new(Code::BundleIdMismatch, message).at(role).into());
    }
    if judged.root_hash != judged.computed_root() {
        let message = format!("the artifacts have the root hash {}", judged.computed_root());
        return Err(Failure::new(Code::RootHashMismatch, message).at(role).into());
    }
    judged.check_paths()?;
    judged.check_slices()?;
    judged.check_bounds()?;
    judged.check_forbidden()?;
    Ok(judged)
}

/// Sets a member of an object.
fn set(object: &mut Value<'static>, name: &'static str, value: Value<'static>) {
    let Value::Object(members) = object else { return };
    match members.iter_mut().find(|(other, _)| other == name) {
        Some((_, member)) => *member = value,
        None => members.push((name.into(), value)),
    }
}
