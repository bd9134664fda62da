//! Produces receipts: creates, signs, chains and writes them. Compression Claims sections 3.3, 3.5 and 3.6.

use super::{Result, check, check_manifest, output, refused, set};
use crate::claims::attestation::{Keys, verify_receipt};
use crate::claims::canonical::{Hash, canon, canon_lf};
use crate::claims::error::{Code, Failure, ProduceError};
use crate::claims::fields;
use crate::claims::files::{Folder, ReadProblem, Refusal};
use crate::claims::key::SigningKey;
use crate::claims::make::{hash, number, object, text};
use crate::claims::merkle;
use crate::claims::options::{Limits, Options};
use crate::claims::receipt::{self, Receipt};
use crate::claims::schema;
use crate::claims::signed::Form;
use crate::claims::signer::{SCHEME, Scope, Signer};
use crate::excerpt::excerpt;
use crate::memory;
use crate::value::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

type Checked<T> = std::result::Result<T, Failure>;

/// Creates the receipt of a successful run of the manifest's steps. It follows `parent`.
///
/// # Errors
/// [`ProduceError`]: the manifest or the parent would not verify, or belongs to another run.
pub fn make_receipt(
    manifest: &Value<'static>,
    parent: Option<&Value<'static>>,
) -> Result<Value<'static>> {
    check_manifest(manifest, "manifest")?;
    let root = fields::hash(fields::member(manifest, "hashes")?, "root_hash")?;
    let (parent_hash, index) = match parent {
        None => (Value::Null, 0),
        Some(parent) => {
            let (hash, index) = follow(parent, manifest, root)?;
            (Value::String(hash.to_string().into()), index)
        }
    };
    let steps = fields::array(manifest, "steps")?.iter().map(|step| {
        let [ordinal, id, op] = members(step, ["ordinal", "step_id", "op"])?;
        let rest = [("outcome", text("SUCCESS")), ("result", Value::Null), ("error", Value::Null)];
        let [outcome, result, error] = rest;
        Ok(object([ordinal, id, op, outcome, result, error]))
    });
    let artifacts = fields::array(manifest, "artifacts")?
        .iter()
        .map(|artifact| members(artifact, ["artifact_id", "sha256", "bytes"]).map(object));
    let (steps, artifacts) = (steps.collect::<Checked<_>>()?, artifacts.collect::<Checked<_>>()?);
    let [run, job, bundle, plan] =
        members(manifest, ["run_id", "job_id", "bundle_id", "plan_hash"])?;
    let mut receipt = object([
        ("receipt_version", text("1.0.0")),
        run,
        job,
        bundle,
        plan,
        ("executor_version", text("1.0.0")),
        ("outcome", text("SUCCESS")),
        ("error", Value::Null),
        ("steps", Value::Array(steps)),
        ("artifacts", Value::Array(artifacts)),
        ("root_hash", hash(root)),
        ("parent_receipt_hash", parent_hash),
        ("receipt_index", number(index)),
        ("attestation", Value::Null),
    ]);
    let computed = form(&receipt).receipt_hash();
    set(&mut receipt, "receipt_hash", hash(computed));
    check_file(&receipt)?;
    Ok(receipt)
}

/// Members of an object, by name.
fn members<const N: usize>(
    value: &Value<'static>,
    names: [&'static str; N],
) -> Checked<[(&'static str, Value<'static>); N]> {
    let mut found = names.map(|name| (name, Value::Null));
    for (name, member) in &mut found {
        *member = fields::member(value, name)?.clone();
    }
    Ok(found)
}

/// The hash of a parent, and the index of the receipt that follows it.
fn follow(parent: &Value<'static>, manifest: &Value<'static>, root: Hash) -> Result<(Hash, u64)> {
    check_receipt(parent, "parent")?;
    check_signatures(parent, "parent")?;
    let fail = |code, message: &str, member| {
        Err(Failure::new(code, message).at(format!("parent#/{member}")).into())
    };
    if fields::text(parent, "run_id")? != fields::text(manifest, "run_id")? {
        let message =
            "the parent belongs to another run; for the first receipt of a run, omit parent";
        return fail(Code::ReceiptChainBroken, message, "run_id");
    }
    let same_bundle = fields::hash(parent, "bundle_id")? == fields::hash(manifest, "bundle_id")?;
    if same_bundle && fields::hash(parent, "root_hash")? != root {
        let message = "the parent has another root_hash for this bundle than the manifest";
        return fail(Code::RootHashMismatch, message, "root_hash");
    }
    match fields::optional_natural(parent, "receipt_index")? {
        Some(index) => Ok((fields::hash(parent, "receipt_hash")?, index + 1)),
        None => Err(ProduceError::argument(
            "parent",
            "it has no receipt_index, so the next receipt cannot have one",
        )),
    }
}

/// How a receipt is signed.
#[derive(Debug, Clone, Copy)]
pub struct Signing<'a> {
    /// The name of the key in the trust policy.
    pub validator_id: Option<&'a str>,
    /// The build that signs.
    pub build_id: Option<&'a str>,
    /// The bytes that the signature covers.
    pub scope: Scope,
    /// Whether to keep the signatures of other keys.
    pub add: bool,
    /// Whether signatures may be replaced: with `add` those of this key, without it all.
    pub replace: bool,
}

/// Signs a receipt; its `receipt_hash` does not change. Signing again with the same key, names and
/// scope changes nothing.
///
/// # Errors
/// [`ProduceError`]: the receipt or its other signatures would not verify, or a signature would be
/// lost without `replace`.
pub fn sign_receipt(
    receipt: &Value<'static>,
    key: &SigningKey,
    signing: &Signing<'_>,
) -> Result<Value<'static>> {
    check_receipt(receipt, "receipt")?;
    let Signing { validator_id, build_id, scope, .. } = *signing;
    check_names(validator_id, build_id, Code::InvalidReceiptSchema)?;
    let name = key.signer(validator_id, build_id);
    let signature = key.sign(&form(receipt).message(&name, scope));
    let own = Value::Object(attestation(key, &signature, validator_id, build_id));
    let mut all = kept(receipt, &own, signing)?;
    all.push(own);
    let signed = with_attestations(receipt.clone(), all)?;
    check_receipt(&signed, "receipt")?;
    Ok(signed)
}

/// The existing attestations to keep in addition to `own`. Fails if one would be lost and `replace` is
/// not set.
fn kept(
    receipt: &Value<'static>,
    own: &Value<'static>,
    signing: &Signing<'_>,
) -> Result<Vec<Value<'static>>> {
    if signing.add {
        check_signatures(receipt, "receipt")?;
    }
    let key = fields::text(own, "public_key")?;
    let mut kept = Vec::new();
    for (_, other) in attestations(receipt) {
        let signer = fields::text(other, "public_key")?;
        let same_key = signer.eq_ignore_ascii_case(key);
        if signing.add && !same_key {
            kept.push(other.clone());
        } else if !signing.replace && canon(other) != canon(own) {
            let message = if same_key {
                "this key has signed it already, with another name, build or scope; replace that \
                 signature (replace)"
                    .into()
            } else {
                let signer = excerpt(signer);
                format!(
                    "{signer} has signed it; keep that signature (add), or replace it (replace)"
                )
            };
            return Err(ProduceError::argument("receipt", message));
        }
    }
    Ok(kept)
}

/// A receipt with these attestations: a single one, or several, sorted by [`rank`].
fn with_attestations(
    mut receipt: Value<'static>,
    mut all: Vec<Value<'static>>,
) -> Result<Value<'static>> {
    let hashed = matches!(receipt.get("attestations"), Some(Value::Null));
    if all.len() > 1 {
        if hashed {
            let message =
                "its receipt_hash covers attestations: null, so it can have only one attestation";
            return Err(ProduceError::argument("receipt", message));
        }
        all.sort_by_key(rank);
        set(&mut receipt, "attestation", Value::Null);
        set(&mut receipt, "attestations", Value::Array(all));
        return Ok(receipt);
    }
    if let (false, Value::Object(members)) = (hashed, &mut receipt) {
        members.retain(|(name, _)| name != "attestations");
    }
    set(&mut receipt, "attestation", all.pop().unwrap_or(Value::Null));
    Ok(receipt)
}

/// The sort key of attestations.
fn rank(attestation: &Value<'_>) -> (String, String, String) {
    let text = |name| attestation.get(name).and_then(Value::as_str).unwrap_or_default();
    let key = text("public_key").to_ascii_lowercase();
    (text("validator_id").to_owned(), key, text("build_id").to_owned())
}

pub(super) fn attestation(
    key: &SigningKey,
    signature: &str,
    validator_id: Option<&str>,
    build_id: Option<&str>,
) -> Vec<(Cow<'static, str>, Value<'static>)> {
    let members = [
        ("scheme", Some(SCHEME)),
        ("public_key", Some(&*key.public_key())),
        ("signature", Some(signature)),
        ("validator_id", validator_id),
        ("build_id", build_id),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| (name.into(), text(value))).collect()
}

/// Writes a receipt to a folder under its standard name. Returns the path. With `replace`, an
/// existing file may lose signatures.
///
/// # Errors
/// [`ProduceError`]: it would not verify, has no index, or cannot be written; or an existing file
/// has a signature that it lacks, or cannot be read.
pub fn write_receipt(folder: &Path, receipt: &Value<'static>, replace: bool) -> Result<PathBuf> {
    check_file(receipt)?;
    check_signatures(receipt, "receipt")?;
    let run_id = fields::text(receipt, "run_id")?;
    let Some(index) = fields::optional_natural(receipt, "receipt_index")? else {
        let message = "it has no receipt_index, which is part of the name of its file";
        return Err(ProduceError::argument("receipt", message));
    };
    if run_id.contains(['/', '\\', '\0']) {
        return Err(ProduceError::argument(
            "receipt",
            "its run_id contains '/', '\\' or NUL, so it cannot be part of a file name",
        ));
    }
    let name = format!("{run_id}_{index:08}.json");
    let path = folder.join(&name);
    output::within(folder, || {
        if !replace && let Some(reason) = signature_at_risk(folder, &name, receipt) {
            return Err(ProduceError::occupied(&path, reason));
        }
        output::replace(&path, &canon_lf(receipt))
    })?;
    Ok(path)
}

/// Why an existing file must not be overwritten: it has, or may have, a signature that `receipt` lacks.
fn signature_at_risk(folder: &Path, name: &str, receipt: &Value<'static>) -> Option<&'static str> {
    const UNREADABLE: &str = "this file cannot be read, and may have a signature; make it readable, or overwrite \
                              it (replace)";
    const TOO_LARGE: &str = "this file is too large to be read, and may have a signature; move it away, or overwrite \
                             it (replace)";
    const LACKS: &str = "this file has a signature that the receipt lacks; add it to the receipt, or overwrite the \
                         file (replace)";
    let options = Options::default();
    let file = match Folder::open(folder)?.open_file(&[name]) {
        Err(Refusal::Unreadable) => return Some(UNREADABLE),
        file => file.ok()?,
    };
    let bytes = match file.read(options.limits.max_receipt_bytes) {
        Ok(bytes) => bytes,
        Err(ReadProblem::Unreadable) => return Some(UNREADABLE),
        Err(ReadProblem::TooLarge) => return Some(TOO_LARGE),
    };
    // A file that is not a valid receipt has no usable signature.
    let before = schema::parse_owned(&bytes, &options).ok()?;
    let after: Vec<_> = attestations(receipt).into_iter().map(|(_, one)| canon(one)).collect();
    let is_lost = attestations(&before.value).iter().any(|(_, one)| !after.contains(&canon(one)));
    is_lost.then_some(LACKS)
}

/// Whether the signature of a Merkle attestation is valid for the key that the attestation names.
///
/// # Errors
/// [`ProduceError`]: it is not a Merkle attestation.
pub fn verify_merkle_signature(attestation: &Value<'static>) -> Result<bool> {
    let (code, limit) = (Code::MerkleAttestationInvalid, Limits::default().max_json_bytes);
    check(attestation, "attestation", &schema::MERKLE_ATTESTATION, code, limit)?;
    Ok(merkle::Attestation::new(attestation)?.check_signature().is_ok())
}

/// Signs the Merkle root of a chain of receipts.
///
/// # Errors
/// [`ProduceError`]: there is no receipt, one would not verify, or they do not form a chain of one
/// run.
pub fn merkle_attestation(
    chain: &[Value<'static>],
    key: &SigningKey,
    validator_id: Option<&str>,
    build_id: Option<&str>,
) -> Result<Value<'static>> {
    check_names(validator_id, build_id, Code::MerkleAttestationInvalid)?;
    let hashes = check_chain(chain)?;
    let (Some(last), Some(root)) = (chain.last(), merkle::root(hashes)) else {
        return Err(ProduceError::argument("chain", "it has no receipt"));
    };
    let signature = key.sign(&merkle::message(root, &key.signer(validator_id, build_id)));
    let mut made = attestation(key, &signature, validator_id, build_id);
    made.extend([
        ("merkle_root".into(), hash(root)),
        ("receipt_count".into(), number(chain.len() as u64)),
    ]);
    let names = ["receipt_hash", "run_id", "job_id", "bundle_id"];
    made.extend(members(last, names)?.map(|(name, value)| match name {
        "receipt_hash" => ("receipt_chain_head_hash".into(), value),
        _ => (name.into(), value),
    }));
    let made = Value::Object(made);
    let (code, limit) = (Code::MerkleAttestationInvalid, Limits::default().max_json_bytes);
    check(&made, "attestation", &schema::MERKLE_ATTESTATION, code, limit)?;
    Ok(made)
}

/// The Merkle root of hashes in hexadecimal digits; `None` if one is not a hash, or there are none.
pub fn merkle_root(hashes: &[String]) -> Option<String> {
    let hashes = hashes.iter().map(|hash| Hash::parse(hash)).collect::<Option<Vec<_>>>()?;
    merkle::root(hashes).map(|root| root.to_string())
}

/// Checks the form of a signer's names. The schema checks it, too, with a less clear message.
fn check_names(validator_id: Option<&str>, build_id: Option<&str>, code: Code) -> Checked<()> {
    if validator_id.is_some_and(|id| id.is_empty() || id.chars().count() > 256) {
        return Err(Failure::new(code, "it must have 1 to 256 characters").at("validator_id"));
    }
    let digits = |text: &str, range: std::ops::RangeInclusive<usize>| {
        range.contains(&text.len()) && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    };
    let good = |id: &str| match id.split_once(':') {
        Some(("git", commit)) => digits(commit, 7..=40),
        Some(("file", hash)) => digits(hash, 16..=64),
        _ => false,
    };
    if build_id.is_none_or(good) {
        return Ok(());
    }
    let message = "expected git: and 7 to 40, or file: and 16 to 64, lower-case hexadecimal digits";
    Err(Failure::new(code, message).at("build_id"))
}

// Checks ------------------------------------------------------------------------------------------

/// Checks that a receipt could be part of a chain that verifies, in a file that this module writes.
fn check_file(receipt: &Value<'static>) -> Result<()> {
    check_sized(receipt, "receipt", Limits::default().max_receipt_bytes)
}

/// Checks that a receipt could be part of a chain that verifies. The size is not limited, because
/// the receipt's file may be smaller than its canonical form, which writes é in six bytes.
fn check_receipt(receipt: &Value<'static>, role: &str) -> Result<()> {
    check_sized(receipt, role, u64::MAX)
}

fn check_sized(receipt: &Value<'static>, role: &str, limit: u64) -> Result<()> {
    let code = Code::InvalidReceiptSchema;
    check(receipt, role, &schema::RECEIPT, code, limit)?;
    receipt::attestations(receipt)?.map_err(|violation| refused(code, role, violation))?;
    let computed = form(receipt).receipt_hash();
    if computed != fields::hash(receipt, "receipt_hash")? {
        let message = format!("the hash of the receipt is {computed}, not its receipt_hash");
        let path = format!("{role}#/receipt_hash");
        return Err(Failure::new(Code::ReceiptHashMismatch, message).at(path).into());
    }
    let orphan = fields::optional_hash(receipt, "parent_receipt_hash")?.is_none();
    match fields::optional_natural(receipt, "receipt_index")? {
        Some(index) if (index == 0) != orphan => {
            let message = "the receipt with receipt_index 0 must have no parent, \
                           every other one must have one";
            let path = format!("{role}#/parent_receipt_hash");
            Err(Failure::new(Code::ReceiptChainBroken, message).at(path).into())
        }
        _ => Ok(()),
    }
}

/// The parts of a receipt that are hashed and signed.
fn form(receipt: &Value<'static>) -> Form {
    Form::new(receipt.as_object().unwrap_or(&[]), 0)
}

/// The attestations of a receipt with their places.
fn attestations<'r>(receipt: &'r Value<'static>) -> Vec<(String, &'r Value<'static>)> {
    match (receipt.get("attestations"), receipt.get("attestation")) {
        (Some(Value::Array(several)), _) => {
            let numbered = several.iter().enumerate();
            numbered.map(|(at, one)| (format!("/attestations/{at}"), one)).collect()
        }
        (_, Some(one @ Value::Object(_))) => vec![("/attestation".into(), one)],
        _ => Vec::new(),
    }
}

/// Checks that every signature of a receipt is valid for the key that its attestation names.
fn check_signatures(receipt: &Value<'static>, role: &str) -> Result<()> {
    let (form, keys) = (form(receipt), Keys::default());
    for (pointer, attestation) in attestations(receipt) {
        let signer = Signer::new(attestation)?;
        if verify_receipt(&form, attestation, &signer, &keys, true)?.is_none() {
            let message = "the signature does not verify; remove it, or replace it (replace)";
            let path = format!("{role}#{pointer}");
            return Err(Failure::new(Code::AttestationInvalid, message).at(path).into());
        }
    }
    Ok(())
}

/// The hashes of receipts in order, if they form one chain of one run.
fn check_chain(chain: &[Value<'static>]) -> Result<Vec<Hash>> {
    memory::require(memory::ensure(receipt::MEMORY.saturating_mul(chain.len())));
    let (mut receipts, mut roots) = (Vec::with_capacity(chain.len()), HashMap::new());
    for (at, value) in chain.iter().enumerate() {
        let role = format!("chain[{at}]");
        check_receipt(value, &role)?;
        check_signatures(value, &role)?;
        let facts = facts(value, &role)?;
        if fields::text(value, "run_id")? != fields::text(&chain[0], "run_id")? {
            let message = "the receipt belongs to another run than chain[0]";
            return Err(facts.fail(Code::ReceiptChainBroken, message).into());
        }
        if *roots.entry(facts.bundle_id).or_insert(facts.root_hash) != facts.root_hash {
            let message = "an earlier receipt has another root_hash for this bundle";
            return Err(facts.fail(Code::RootHashMismatch, message).into());
        }
        receipts.push(facts);
    }
    let given: Vec<Hash> = receipts.iter().map(|receipt| receipt.hash).collect();
    receipt::order(&mut receipts)?;
    if let Some((moved, _)) = receipts.iter().zip(&given).find(|(one, hash)| one.hash != **hash) {
        let message = "the receipts are not in the order of their receipt_index or receipt_hash";
        return Err(moved.fail(Code::ReceiptChainBroken, message).into());
    }
    receipt::check_links(&receipts)?;
    receipt::check_indices(&receipts)?;
    Ok(given)
}

/// The facts that the checks of a chain need.
fn facts(value: &Value<'static>, role: &str) -> Checked<Receipt> {
    let hash = fields::hash(value, "receipt_hash")?;
    Ok(Receipt {
        path: role.into(),
        job: Hash::of(fields::text(value, "job_id")?),
        bundle_id: fields::hash(value, "bundle_id")?,
        root_hash: fields::hash(value, "root_hash")?,
        hash,
        computed_hash: hash,
        parent: fields::optional_hash(value, "parent_receipt_hash")?,
        index: fields::optional_natural(value, "receipt_index")?,
        attestations: Vec::new(),
    })
}
