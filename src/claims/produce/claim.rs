//! Produces claims and trust policies. Compression Claims sections 2 and 3.4.

use super::{Result, check, check_manifest, refused, set};
use crate::claims::artifacts;
use crate::claims::attestation::Key;
use crate::claims::bundle::BUNDLE;
use crate::claims::canonical::canon;
use crate::claims::claim::{COMPONENTS, Claim, claim_hash};
use crate::claims::error::{Code, Failure};
use crate::claims::files::Folder;
use crate::claims::make::{hash, object, text};
use crate::claims::metrics::Computed;
use crate::claims::options::{Limits, Options};
use crate::claims::policy::Policy;
use crate::claims::report_json::value_of;
use crate::claims::schema::{self, Violation};
use crate::interrupt::poll;
use crate::value::Value;
use std::path::Path;

/// Creates the claim for the artifacts in `folder`. `components` are names and whether each is
/// included.
///
/// # Errors
/// [`ProduceError`](super::ProduceError): the folder holds a different bundle from the manifest's,
/// or no claim about it can verify.
pub fn make_claim(
    manifest: &Value<'static>,
    folder: &Path,
    components: &[(String, bool)],
    notes: Option<&str>,
) -> Result<Value<'static>> {
    let checked = check_manifest(manifest, "manifest")?;
    let opened = Folder::open(folder)
        .ok_or_else(|| Failure::new(Code::BundleNotFound, "the bundle is not a folder"))?;
    check_present(manifest, &opened)?;
    let contents = checked.artifacts.iter().map(|artifact| {
        poll();
        artifacts::verify(&opened, artifact)
    });
    let contents = contents.collect::<std::result::Result<Vec<_>, _>>()?;
    let computed = Computed::new(&checked.artifacts, &contents);
    if !computed.claimable() {
        return Err(not_claimable(&computed).into());
    }
    let included = |name: &str| components.iter().any(|(other, on)| *on && other == name);
    if included("f3") {
        let message = "f3 cannot be computed, so no claim that includes it verifies";
        return Err(Failure::new(Code::NotImplemented, message).at("components").into());
    }
    let listed = components.iter().map(|(name, included)| {
        object([("name", text(name)), ("included", Value::Bool(*included))])
    });
    let Value::Object(mut metrics) = value_of(&computed) else {
        return Err(Failure::internal("metrics are not an object").into());
    };
    metrics.retain(|(name, _)| {
        COMPONENTS.iter().all(|(component, member)| name != member || included(component))
    });
    let mut claim = object([
        ("claim_version", text("1.0.0")),
        ("run_id", text(&checked.run_id)),
        ("bundle_id", hash(checked.bundle_id)),
        ("components", Value::Array(listed.collect())),
        ("reported_metrics", Value::Object(metrics)),
    ]);
    if let Some(notes) = notes {
        set(&mut claim, "notes", text(notes));
    }
    let computed = claim_hash(&claim)?;
    set(&mut claim, "claim_hash", hash(computed));
    let code = Code::InvalidClaimSchema;
    check(&claim, "claim", &schema::CLAIM, code, Limits::default().max_json_bytes)?;
    Claim::new(&claim)?.map_err(|violation| refused(code, "claim", violation))?;
    Ok(claim)
}

/// Checks that the folder contains this manifest; a claim about another one would be false.
fn check_present(manifest: &Value<'static>, folder: &Folder) -> Result<()> {
    let (options, missing) =
        (Options::default(), "the folder has no bundle.json, or cannot be read");
    let file = folder.open_file(&[BUNDLE]);
    let file = file.map_err(|_| Failure::new(Code::BundleNotFound, missing).at(BUNDLE))?;
    let invalid = |violation| refused(Code::InvalidBundleSchema, BUNDLE, violation);
    let bytes = schema::read(file, options.limits.max_json_bytes).map_err(invalid)?;
    let found = schema::parse(&bytes, &options).map_err(invalid)?;
    if canon(&found.value) == canon(manifest) {
        return Ok(());
    }
    let message = "the folder contains a bundle with another manifest";
    Err(Failure::new(Code::BundleIdMismatch, message).at(BUNDLE).into())
}

/// The error for metrics with which no claim verifies, and its likely cause.
fn not_claimable(computed: &Computed) -> Failure {
    let (compressed, whole) = (computed.compressed_tokens(), computed.uncompressed_tokens());
    let hint = if whole == 0 {
        "there is no text"
    } else if compressed == 0 {
        "the refs of the symbols are too short to count as tokens"
    } else {
        "the names of the symbols are longer than their texts"
    };
    let message = format!(
        "{compressed} compressed of {whole} uncompressed tokens: a claim needs a ratio above 0 \
                  and at most 1, but {hint}"
    );
    Failure::new(Code::MetricMismatch, message)
}

/// Creates a trust policy from entries.
///
/// # Errors
/// [`ProduceError`](super::ProduceError): an entry does not match the schema, is a duplicate, or has
/// a key that no signature verifies with.
pub fn make_trust_policy(entries: Vec<Value<'static>>) -> Result<Value<'static>> {
    let policy = object([("policy_version", text("1.0.0")), ("allow", Value::Array(entries))]);
    let code = Code::InvalidTrustPolicySchema;
    check(&policy, "policy", &schema::TRUST_POLICY, code, Limits::default().max_json_bytes)?;
    let checked = Policy::new(&policy)?.map_err(|violation| refused(code, "policy", violation))?;
    // A verifier accepts such an entry, because it harms nothing, but refuses all its signatures.
    let is_useless = |key| {
        poll();
        Key::new(key).is_none()
    };
    if let Some(at) = checked.keys().position(is_useless) {
        let message = "no signature verifies with this public key: it is not a point of the curve, of \
                       small order, or not in its canonical form";
        let violation = Violation::at(message, format!("/allow/{at}/public_key"));
        return Err(refused(code, "policy", violation).into());
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::key::SigningKey;
    use crate::value::Value;

    fn entry(id: &str, public_key: &str) -> Value<'static> {
        object([
            ("validator_id", text(id)),
            ("public_key", text(public_key)),
            ("schemes", Value::Array(vec![text("ed25519")])),
            ("scope", Value::Array(vec![text("RECEIPT")])),
            ("enabled", Value::Bool(true)),
        ])
    }

    #[test]
    fn policy_with_a_key_that_verifies_nothing_is_refused() {
        let good = SigningKey::from_seed(&[7; 32]).public_key();
        assert!(make_trust_policy(vec![entry("me", &good)]).is_ok());
        let bad = [
            "00".repeat(32),                    // of order 4
            format!("01{}", "00".repeat(31)),   // the neutral element
            format!("ee{}7f", "ff".repeat(30)), // y = 1, not reduced
            format!("f0{}7f", "ff".repeat(30)), // y = 3, not reduced
            format!("02{}", "00".repeat(31)),   // no point has y = 2
        ];
        for key in bad {
            let entries = vec![entry("me", &good), entry("other", &key)];
            // The text of the error does not have the place.
            let error = format!("{:?}", make_trust_policy(entries).unwrap_err());
            assert!(error.contains("no signature verifies with this public key"), "{key}: {error}");
            assert!(error.contains("policy#/allow/1/public_key"), "{key}: {error}");
        }
    }
}
