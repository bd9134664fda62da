//! Making what [`verify`](super::verify) verifies: design section 15.
//!
//! What is made is a function of the arguments, without clock or randomness, and is judged by the
//! checks of the verification before it is given away. Secret keys stay in [`SigningKey`], which is
//! wiped when it is dropped and tells nobody.

use super::artifacts;
use super::attestation::{SCHEME, Scope, Signer};
use super::bundle::{self, BUNDLE, Manifest};
use super::canonical::{Hash, canon, canon_lf, hex};
use super::claim::{COMPONENTS, claim_hash};
use super::error::{Code, Failure, ProduceError};
use super::fields;
use super::files::Folder;
use super::make::{hash, number, object, text};
use super::merkle;
use super::metrics::Computed;
use super::options::{Limits, Options};
use super::policy::Policy;
use super::schema::{self, Misfit, Schema};
use super::signed::Form;
use crate::position::excerpt;
use crate::value::Value;
use ed25519_dalek::Signer as _;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

type Result<T> = std::result::Result<T, ProduceError>;

/// A secret Ed25519 key.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of a seed.
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// A new key, from the system's randomness.
    ///
    /// # Errors
    /// [`ProduceError::Randomness`]: the system has none.
    pub fn generate() -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| ProduceError::Randomness)?;
        Ok(Self::new(&seed))
    }

    /// The secret itself, to be kept.
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The key by which others verify, as hexadecimal digits.
    pub fn public_key(&self) -> String {
        hex(self.0.verifying_key().as_bytes())
    }

    fn sign(&self, message: &[u8]) -> String {
        hex(&self.0.sign(message).to_bytes())
    }

    fn signer(&self, validator_id: Option<&str>, build_id: Option<&str>) -> Signer {
        Signer {
            validator_id: validator_id.map(Into::into),
            build_id: build_id.map(Into::into),
            public_key: Some(self.0.verifying_key().to_bytes()),
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(public_key={})", self.public_key())
    }
}

/// A piece of text to be put in a bundle.
#[derive(Debug, Clone)]
pub struct Item {
    /// Whether it is the content of a symbol, or of a section.
    pub symbol: bool,
    /// The symbol or section.
    pub reference: String,
    /// Which part of it; `None` for no slice.
    pub slice: Option<String>,
    /// The text.
    pub text: String,
}

/// Writes a bundle to a folder; gives its manifest.
///
/// # Errors
/// [`ProduceError`]: no verification would accept it, or a file cannot be written.
pub fn build_bundle(
    folder: &Path,
    run_id: &str,
    job_id: &str,
    message_id: &str,
    items: &[Item],
) -> Result<Value<'static>> {
    let (manifest, texts) = manifest(run_id, job_id, message_id, items)?;
    let artifacts = folder.join("artifacts");
    fs::create_dir_all(&artifacts).map_err(|error| ProduceError::Io { path: artifacts, error })?;
    for (path, text) in &texts {
        write(&folder.join(path), text)?;
    }
    write_json(&folder.join(BUNDLE), &manifest)?;
    Ok(manifest)
}

/// Writes a value as canonical JSON with a line feed at its end.
///
/// # Errors
/// [`ProduceError::Io`].
pub fn write_json(path: &Path, value: &Value<'static>) -> Result<()> {
    write(path, &canon_lf(value))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| ProduceError::Io { path: path.to_owned(), error })
}

/// A manifest, and the path and text of each artifact.
fn manifest(
    run_id: &str,
    job_id: &str,
    message_id: &str,
    items: &[Item],
) -> Result<(Value<'static>, Vec<(String, String)>)> {
    if run_id.contains(['/', '\\', '\0']) {
        let message = "it begins the names of files, so it may not have '/', '\\' or NUL";
        return Err(ProduceError::argument("run_id", message));
    }
    let mut pieces: Vec<Piece<'_>> = items.iter().map(Piece::new).collect();
    pieces.sort_by(|one, other| one.id.cmp(&other.id));
    if let Some(twice) = pieces.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let message =
            format!("two have the ref {} and the same slice", excerpt(&twice[0].item.reference));
        return Err(ProduceError::argument("items", message));
    }
    let steps: Vec<_> = items.iter().zip(1..).map(|(item, ordinal)| step(item, ordinal)).collect();
    let plan = object([("run_id", text(run_id)), ("steps", Value::Array(steps.clone()))]);
    let root = bundle::root_hash(pieces.iter().map(|piece| (piece.id.as_str(), piece.hash)));
    let mut manifest = object([
        ("bundle_version", text("5.0.0")),
        ("bundle_id", text("")),
        ("run_id", text(run_id)),
        ("job_id", text(job_id)),
        ("message_id", text(message_id)),
        ("plan_hash", hash(Hash::of(canon(&plan)))),
        ("steps", Value::Array(steps)),
        ("inputs", inputs(items)),
        ("artifacts", Value::Array(pieces.iter().map(Piece::to_value).collect())),
        ("hashes", object([("root_hash", hash(root))])),
        ("provenance", object([])),
    ]);
    let id = bundle::bundle_id(&manifest)?;
    set(&mut manifest, "bundle_id", hash(id));
    judge_manifest(&manifest)?;
    Ok((manifest, pieces.into_iter().map(|piece| (piece.path(), piece.text)).collect()))
}

/// An item as an artifact.
struct Piece<'a> {
    item: &'a Item,
    id: String,
    text: String,
    hash: Hash,
}

impl<'a> Piece<'a> {
    fn new(item: &'a Item) -> Self {
        let slice = item.slice.as_deref().filter(|slice| !slice.is_empty()).unwrap_or("none");
        let mut text = item.text.replace("\r\n", "\n").replace('\r', "\n");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let mut id = Hash::of(format!("{}_{slice}", item.reference)).to_string();
        id.truncate(16);
        Self { item, id, hash: Hash::of(&text), text }
    }

    fn path(&self) -> String {
        format!("artifacts/{}.txt", self.id)
    }

    fn to_value(&self) -> Value<'static> {
        object([
            ("artifact_id", text(&self.id)),
            ("kind", text(if self.item.symbol { "SYMBOL_SLICE" } else { "SECTION_SLICE" })),
            ("ref", text(&self.item.reference)),
            ("slice", slice(self.item)),
            ("path", text(&self.path())),
            ("sha256", hash(self.hash)),
            ("bytes", number(self.text.len() as u64)),
        ])
    }
}

fn slice(item: &Item) -> Value<'static> {
    item.slice.as_deref().map_or(Value::Null, text)
}

fn step(item: &Item, ordinal: u64) -> Value<'static> {
    let (op, name) =
        if item.symbol { ("READ_SYMBOL", "symbol_id") } else { ("READ_SECTION", "section_id") };
    object([
        ("step_id", Value::Text(format!("step_{ordinal:04}").into())),
        ("ordinal", number(ordinal)),
        ("op", text(op)),
        ("refs", object([(name, text(&item.reference))])),
        ("constraints", object([("slice", slice(item))])),
        ("expected_outputs", object([])),
    ])
}

fn inputs(items: &[Item]) -> Value<'static> {
    let sorted = |texts: BTreeSet<&str>| Value::Array(texts.into_iter().map(text).collect());
    let references = || items.iter().map(|item| item.reference.as_str());
    let is_symbol = |reference: &&str| reference.starts_with('@');
    let slices = items.iter().filter_map(|item| item.slice.as_deref());
    object([
        ("symbols", sorted(references().filter(is_symbol).collect())),
        ("files", sorted(references().filter(|reference| !is_symbol(reference)).collect())),
        ("slices", sorted(slices.filter(|slice| !slice.is_empty()).collect())),
    ])
}

/// Makes the receipt of a run of the manifest's steps, which follows `parent`.
///
/// # Errors
/// [`ProduceError`]: the manifest or the parent would not verify.
pub fn make_receipt(
    manifest: &Value<'static>,
    parent: Option<&Value<'static>>,
) -> Result<Value<'static>> {
    judge_manifest(manifest)?;
    let (parent_hash, index) = match parent {
        None => (Value::Null, 0),
        Some(parent) => {
            judge_receipt(parent)?;
            let index = fields::optional_natural(parent, "receipt_index")?;
            let message = "it has no receipt_index, so its successor cannot have one";
            let index = index.ok_or_else(|| ProduceError::argument("parent", message))?;
            (hash(fields::hash(parent, "receipt_hash")?), index + 1)
        }
    };
    let same = |name| Ok::<_, Failure>(fields::member(manifest, name)?.clone());
    let step = |step: &Value<'static>| {
        let member = |name| Ok::<_, Failure>(fields::member(step, name)?.clone());
        Ok::<_, Failure>(object([
            ("ordinal", member("ordinal")?),
            ("step_id", member("step_id")?),
            ("op", member("op")?),
            ("outcome", text("SUCCESS")),
            ("result", Value::Null),
            ("error", Value::Null),
        ]))
    };
    let artifact = |artifact: &Value<'static>| {
        let member = |name| Ok::<_, Failure>(fields::member(artifact, name)?.clone());
        let names = ["artifact_id", "sha256", "bytes"];
        Ok::<_, Failure>(object([
            (names[0], member(names[0])?),
            (names[1], member(names[1])?),
            (names[2], member(names[2])?),
        ]))
    };
    let steps = fields::array(manifest, "steps")?.iter().map(step);
    let artifacts = fields::array(manifest, "artifacts")?.iter().map(artifact);
    let mut receipt = object([
        ("receipt_version", text("1.0.0")),
        ("run_id", same("run_id")?),
        ("job_id", same("job_id")?),
        ("bundle_id", same("bundle_id")?),
        ("plan_hash", same("plan_hash")?),
        ("executor_version", text("1.0.0")),
        ("outcome", text("SUCCESS")),
        ("error", Value::Null),
        ("steps", Value::Array(steps.collect::<std::result::Result<_, _>>()?)),
        ("artifacts", Value::Array(artifacts.collect::<std::result::Result<_, _>>()?)),
        ("root_hash", hash(fields::hash(fields::member(manifest, "hashes")?, "root_hash")?)),
        ("parent_receipt_hash", parent_hash),
        ("receipt_index", number(index)),
        ("attestation", Value::Null),
    ]);
    let computed = Form::new(receipt.as_object().unwrap_or(&[]), 0).receipt_hash();
    set(&mut receipt, "receipt_hash", hash(computed));
    judge_receipt(&receipt)?;
    Ok(receipt)
}

/// Signs a receipt; its `receipt_hash` stays.
///
/// # Errors
/// [`ProduceError`]: the receipt would not verify, or has several attestations.
pub fn sign_receipt(
    receipt: &Value<'static>,
    key: &SigningKey,
    validator_id: Option<&str>,
    build_id: Option<&str>,
    scope: Scope,
) -> Result<Value<'static>> {
    judge_receipt(receipt)?;
    if matches!(receipt.get("attestations"), Some(Value::Array(_))) {
        let message = "it has several attestations; remove them first";
        return Err(ProduceError::argument("receipt", message));
    }
    let mut signed = receipt.clone();
    let name = key.signer(validator_id, build_id);
    let form = Form::new(signed.as_object().unwrap_or(&[]), 0);
    let signature = key.sign(&form.message(&name, scope));
    let attestation = attestation(key, &signature, validator_id, build_id);
    set(&mut signed, "attestation", Value::Object(attestation));
    judge_receipt(&signed)?;
    Ok(signed)
}

fn attestation(
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

/// Writes a receipt to a folder, under the name by which it is found; gives its path.
///
/// # Errors
/// [`ProduceError`]: it is no receipt, has no number, or cannot be written.
pub fn write_receipt(folder: &Path, receipt: &Value<'static>) -> Result<PathBuf> {
    judge_receipt(receipt)?;
    let run_id = fields::text(receipt, "run_id")?;
    let Some(index) = fields::optional_natural(receipt, "receipt_index")? else {
        return Err(ProduceError::argument("receipt", "it has no receipt_index to be named by"));
    };
    if run_id.contains(['/', '\\', '\0']) {
        return Err(ProduceError::argument(
            "receipt",
            "its run_id cannot be in the name of a file",
        ));
    }
    fs::create_dir_all(folder)
        .map_err(|error| ProduceError::Io { path: folder.to_owned(), error })?;
    let path = folder.join(format!("{run_id}_{index:08}.json"));
    write_json(&path, receipt)?;
    Ok(path)
}

/// Signs the Merkle root of a chain of receipts.
///
/// # Errors
/// [`ProduceError`]: there is no receipt, or one would not verify.
pub fn merkle_attestation(
    chain: &[Value<'static>],
    key: &SigningKey,
    validator_id: Option<&str>,
    build_id: Option<&str>,
) -> Result<Value<'static>> {
    chain.iter().try_for_each(judge_receipt)?;
    let hashes = chain.iter().map(|receipt| fields::hash(receipt, "receipt_hash"));
    let hashes = hashes.collect::<std::result::Result<Vec<_>, _>>()?;
    let (Some(last), Some(root)) = (chain.last(), merkle::root(hashes)) else {
        return Err(ProduceError::argument("chain", "it has no receipt"));
    };
    let signature = key.sign(&merkle::message(root, &key.signer(validator_id, build_id)));
    let mut members = attestation(key, &signature, validator_id, build_id);
    members.extend([
        ("merkle_root".into(), hash(root)),
        ("receipt_count".into(), number(chain.len() as u64)),
        ("receipt_chain_head_hash".into(), fields::member(last, "receipt_hash")?.clone()),
        ("run_id".into(), fields::member(last, "run_id")?.clone()),
        ("job_id".into(), fields::member(last, "job_id")?.clone()),
        ("bundle_id".into(), fields::member(last, "bundle_id")?.clone()),
    ]);
    let made = Value::Object(members);
    judge(&made, &schema::MERKLE_ATTESTATION, Code::MerkleAttestationInvalid)?;
    Ok(made)
}

/// The Merkle root over hashes, as hexadecimal digits; `None` for what is no hash, or none at all.
pub fn merkle_root(hashes: &[String]) -> Option<String> {
    let hashes = hashes.iter().map(|hash| Hash::parse(hash)).collect::<Option<Vec<_>>>()?;
    merkle::root(hashes).map(|root| root.to_string())
}

/// Claims what the artifacts in `folder` give. `components` are names and whether they are included.
///
/// # Errors
/// [`ProduceError`]: an artifact is not the one of the manifest, or no claim about it can be true.
pub fn make_claim(
    manifest: &Value<'static>,
    folder: &Path,
    components: &[(String, bool)],
    notes: Option<&str>,
) -> Result<Value<'static>> {
    let judged = judge_manifest(manifest)?;
    let opened = Folder::open(folder)
        .ok_or_else(|| Failure::new(Code::BundleNotFound, "the bundle is no folder"))?;
    let contents = judged.artifacts.iter().map(|artifact| artifacts::verify(&opened, artifact));
    let contents = contents.collect::<std::result::Result<Vec<_>, _>>()?;
    let computed = Computed::new(&judged.artifacts, &contents);
    if !computed.claimable() {
        let message = format!(
            "{} of {} tokens is no compression that a claim can be about",
            computed.compressed_tokens(),
            computed.uncompressed_tokens()
        );
        return Err(Failure::new(Code::MetricMismatch, message).into());
    }
    let included = |name: &str| components.iter().any(|(other, on)| *on && other == name);
    if included("f3") {
        let message = "f3 is theoretical: a claim about it cannot verify";
        return Err(Failure::new(Code::NotImplemented, message).into());
    }
    let listed = components.iter().map(|(name, included)| {
        object([("name", text(name)), ("included", Value::Bool(*included))])
    });
    let Value::Object(mut metrics) = computed.to_value() else {
        return Err(Failure::internal("metrics are no object").into());
    };
    metrics.retain(|(name, _)| {
        COMPONENTS.iter().all(|(component, member)| name != member || included(component))
    });
    let mut claim = object([
        ("claim_version", text("1.0.0")),
        ("run_id", text(&judged.run_id)),
        ("bundle_id", hash(judged.bundle_id)),
        ("components", Value::Array(listed.collect())),
        ("reported_metrics", Value::Object(metrics)),
    ]);
    if let Some(notes) = notes {
        set(&mut claim, "notes", text(notes));
    }
    let computed = claim_hash(&claim)?;
    set(&mut claim, "claim_hash", hash(computed));
    judge(&claim, &schema::CLAIM, Code::InvalidClaimSchema)?;
    super::claim::Claim::new(&claim)?
        .map_err(|misfit| refused(Code::InvalidClaimSchema, misfit))?;
    Ok(claim)
}

/// A trust policy of these entries.
///
/// # Errors
/// [`ProduceError`]: an entry is not what the schema says, or comes twice.
pub fn make_trust_policy(entries: Vec<Value<'static>>) -> Result<Value<'static>> {
    let policy = object([("policy_version", text("1.0.0")), ("allow", Value::Array(entries))]);
    judge(&policy, &schema::TRUST_POLICY, Code::InvalidTrustPolicySchema)?;
    Policy::new(&policy)?.map_err(|misfit| refused(Code::InvalidTrustPolicySchema, misfit))?;
    Ok(policy)
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

fn judge(value: &Value<'static>, schema: &Schema, code: Code) -> Result<()> {
    // As large as what is explained: the value is in memory already.
    schema.check(value, 0).map_err(|misfit| refused(code, misfit).into())
}

fn refused(code: Code, Misfit { message, pointer }: Misfit) -> Failure {
    let failure = Failure::new(code, message);
    if pointer.is_empty() { failure } else { failure.at(format!("#{pointer}")) }
}

fn judge_manifest(manifest: &Value<'static>) -> Result<Manifest> {
    judge(manifest, &schema::BUNDLE, Code::InvalidBundleSchema)?;
    let judged = Manifest::new(manifest, &Limits::default())?
        .map_err(|misfit| refused(Code::InvalidBundleSchema, misfit))?;
    if judged.bundle_id != judged.computed_id {
        let message = format!("the manifest has the id {}", judged.computed_id);
        return Err(Failure::new(Code::BundleIdMismatch, message).into());
    }
    if judged.root_hash != judged.computed_root() {
        let message = format!("the artifacts have the root hash {}", judged.computed_root());
        return Err(Failure::new(Code::RootHashMismatch, message).into());
    }
    judged.check_paths()?;
    judged.check_slices()?;
    judged.check_bounds()?;
    judged.check_forbidden()?;
    Ok(judged)
}

fn judge_receipt(receipt: &Value<'static>) -> Result<()> {
    judge(receipt, &schema::RECEIPT, Code::InvalidReceiptSchema)?;
    let computed = Form::new(receipt.as_object().unwrap_or(&[]), 0).receipt_hash();
    if computed == fields::hash(receipt, "receipt_hash")? {
        return Ok(());
    }
    let message = format!("the receipt has the hash {computed}");
    Err(Failure::new(Code::ReceiptHashMismatch, message).into())
}

/// Sets a member of an object.
fn set(object: &mut Value<'static>, name: &'static str, value: Value<'static>) {
    let Value::Object(members) = object else { return };
    match members.iter_mut().find(|(other, _)| other == name) {
        Some((_, member)) => *member = value,
        None => members.push((name.into(), value)),
    }
}
