//! Receipts, their chain and their attestations. Compression Claims sections 3.5, 5.4, 5.5 and 7.3.
//!
//! Each receipt is read once: parsed, validated, hashed, and its signatures verified. Receipts are
//! read in parallel, and only facts of a fixed size are kept of each, so that memory does not grow with
//! their content; signers are kept once for all receipts. The checks then evaluate these facts in order.

use super::attestation::{Keys, verify_receipt};
use super::canonical::Hash;
use super::error::{Code, Failure, cut};
use super::fields;
use super::files::{Folder, Listed, Refusal};
use super::options::Options;
use super::schema::{self, Document, Violation};
use super::signed::Form;
use super::signer::{Scope, Signer, Signers};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// The bytes of memory for a receipt with one attestation: its facts, which are held twice while threads
/// deliver them, and its places in the sets, trees and lists of later checks.
pub(super) const MEMORY: usize = 2 << 10;

/// The declared and computed facts of a receipt.
#[derive(Debug)]
pub(super) struct Receipt {
    /// Its name in a report's `path`.
    pub(super) path: Box<str>,
    /// The hash of its `job_id`.
    pub(super) job: Hash,
    pub(super) bundle_id: Hash,
    pub(super) root_hash: Hash,
    pub(super) hash: Hash,
    pub(super) computed_hash: Hash,
    pub(super) parent: Option<Hash>,
    pub(super) index: Option<u64>,
    pub(super) attestations: Vec<Attested>,
}

/// An attestation of a receipt.
#[derive(Debug)]
pub(super) struct Attested {
    pub(super) signer: Arc<Signer>,
    /// The scope in which the signature is valid. `None` if it is invalid, or if it was not verified
    /// because the result does not depend on it.
    pub(super) scope: Option<Scope>,
}

impl Receipt {
    pub(super) fn fail(&self, code: Code, message: impl Into<String>) -> Failure {
        Failure::new(code, message).at(&*self.path)
    }
}

/// The files in `folder` that may be receipts of the run, ascending by name.
pub(super) fn discover(folder: &Folder, run_id: &str, limit: u64) -> Result<Vec<Listed>, Failure> {
    let prefix = format!("{run_id}_");
    let mut count = 0u64;
    let listed = folder.list(|name| {
        let rest = name.as_encoded_bytes().strip_prefix(prefix.as_bytes());
        let wanted = rest.is_some_and(|rest| rest.ends_with(b".json"));
        count += u64::from(wanted);
        wanted && count <= limit
    });
    let Some(mut files) = listed else {
        let message = "the folder of the receipts cannot be listed";
        return Err(Failure::new(Code::MissingReceipts, message).at("receipts"));
    };
    if count > limit {
        let message = format!("more than {limit} files may be receipts of the run");
        return Err(Failure::new(Code::InvalidReceiptSchema, message).at("receipts"));
    }
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

/// Reads receipts of one run, on any thread.
pub(super) struct Reader<'a> {
    pub(super) folder: &'a Folder,
    pub(super) run_id: &'a str,
    pub(super) options: &'a Options,
    pub(super) keys: Keys,
    pub(super) signers: Signers,
}

/// Reads a receipt; `None` if it belongs to another run.
pub(super) fn read(reader: &Reader<'_>, listed: &Listed) -> Result<Option<Receipt>, Failure> {
    let Reader { folder, run_id, options, .. } = reader;
    let path = format!("receipts/{}", cut(&listed.name.to_string_lossy()));
    let invalid = |violation: Violation| invalid(&path, violation);
    let file = folder.open_listed(listed).map_err(|refusal| {
        invalid(Violation::new(match refusal {
            Refusal::Link => "the receipt is a link",
            Refusal::Missing => "the receipt is not a regular file",
            Refusal::Unreadable => "the receipt cannot be read",
        }))
    })?;
    let limit = options.limits.max_receipt_bytes;
    let bytes = schema::read(file, limit).map_err(invalid)?;
    let document = schema::parse(&bytes, options).map_err(invalid)?;
    match document.value.get("run_id").and_then(Value::as_str) {
        None => return Err(invalid(Violation::new("the receipt has no run_id"))),
        Some(found) if found != *run_id => return Ok(None),
        Some(_) => {}
    }
    document.check(&schema::RECEIPT).map_err(invalid)?;
    facts(&document, &path, reader).map(Some)
}

fn invalid(path: &str, Violation { message, pointer }: Violation) -> Failure {
    let place = if pointer.is_empty() { path.into() } else { format!("{path}#{}", cut(&pointer)) };
    Failure::new(Code::InvalidReceiptSchema, message).at(place)
}

/// The facts of a receipt that matches its schema.
fn facts(document: &Document<'_>, path: &str, reader: &Reader<'_>) -> Result<Receipt, Failure> {
    let Reader { options, keys, signers, .. } = reader;
    let value = &document.value;
    let members =
        value.as_object().ok_or_else(|| Failure::internal("a receipt is not an object"))?;
    let attestations = attestations(value)?.map_err(|violation| invalid(path, violation))?;
    let form = Form::new(members, document.size);
    let mut receipt = Receipt {
        path: path.into(),
        job: Hash::of(fields::text(value, "job_id")?),
        bundle_id: fields::hash(value, "bundle_id")?,
        root_hash: fields::hash(value, "root_hash")?,
        hash: fields::hash(value, "receipt_hash")?,
        computed_hash: form.receipt_hash(),
        parent: fields::optional_hash(value, "parent_receipt_hash")?,
        index: fields::optional_natural(value, "receipt_index")?,
        attestations: Vec::with_capacity(attestations.len()),
    };
    // Verifying a signature is the most expensive step. Signatures that cannot change the result
    // are skipped: those of a receipt whose hash is wrong, and those after an invalid one that ends
    // the verification.
    let mut wanted = options.attestations() && receipt.hash == receipt.computed_hash;
    for attestation in attestations {
        let signer = signers.shared(Signer::new(attestation)?);
        let scope = if wanted {
            verify_receipt(&form, attestation, &signer, keys, options.accept_reference_scope)?
        } else {
            None
        };
        wanted &= scope.is_some() || options.receipt_quorum.is_some();
        receipt.attestations.push(Attested { signer, scope });
    }
    Ok(receipt)
}

/// The attestations of a receipt; checks their order and keys.
pub(super) fn attestations<'v, 'a>(
    receipt: &'v Value<'a>,
) -> Result<Result<Vec<&'v Value<'a>>, Violation>, Failure> {
    let single = fields::member(receipt, "attestation")?;
    let several = match receipt.get("attestations") {
        None | Some(Value::Null) => {
            let none = matches!(single, Value::Null);
            return Ok(Ok(if none { Vec::new() } else { vec![single] }));
        }
        Some(several) => several.as_array().unwrap_or(&[]),
    };
    if !matches!(single, Value::Null) {
        let message = "attestation must be null, because there is a list of attestations";
        return Ok(Err(Violation::at(message, "/attestation")));
    }
    let mut keys = Vec::with_capacity(several.len());
    for attestation in several {
        let optional =
            |name| Ok::<_, Failure>(fields::optional_text(attestation, name)?.unwrap_or_default());
        let public_key = fields::text(attestation, "public_key")?.to_ascii_lowercase();
        keys.push((optional("validator_id")?, public_key, optional("build_id")?));
    }
    if !keys.windows(2).all(|pair| pair[0] < pair[1]) {
        let message = "attestations must be ordered by validator_id, public_key and build_id";
        return Ok(Err(Violation::at(message, "/attestations")));
    }
    let mut seen = HashSet::new();
    if !keys.iter().all(|(_, public_key, _)| seen.insert(public_key)) {
        let message = "two attestations have the same public_key";
        return Ok(Err(Violation::at(message, "/attestations")));
    }
    Ok(Ok(several.iter().collect()))
}

/// Check 5.4.2: sorts the receipts, if their order is unique.
pub(super) fn order(receipts: &mut [Receipt]) -> Result<(), Failure> {
    let mut hashes = HashSet::new();
    if let Some(twice) = receipts.iter().find(|receipt| !hashes.insert(receipt.hash)) {
        let message = "two receipts have this receipt_hash";
        return Err(twice.fail(Code::ReceiptChainBroken, message));
    }
    let numbered = receipts.iter().filter(|receipt| receipt.index.is_some()).count();
    if numbered == 0 {
        receipts.sort_unstable_by_key(|receipt| receipt.hash);
        return Ok(());
    }
    if let Some(bare) = receipts.iter().find(|receipt| receipt.index.is_none()) {
        let message = "this receipt has no receipt_index, but others have one";
        return Err(bare.fail(Code::ReceiptIndexGap, message));
    }
    let mut indices = HashSet::new();
    if let Some(twice) = receipts.iter().find(|receipt| !indices.insert(receipt.index)) {
        return Err(twice.fail(Code::ReceiptIndexGap, "two receipts have this receipt_index"));
    }
    receipts.sort_unstable_by_key(|receipt| receipt.index);
    Ok(())
}

/// Check 5.4.3: each receipt names the one before it.
pub(super) fn check_links(receipts: &[Receipt]) -> Result<(), Failure> {
    let mut before = None;
    for receipt in receipts {
        if receipt.parent != before {
            let message = match before {
                None => "the first receipt must have no parent".into(),
                Some(hash) => format!("the parent_receipt_hash must be {hash}"),
            };
            return Err(receipt.fail(Code::ReceiptChainBroken, message));
        }
        before = Some(receipt.hash);
    }
    Ok(())
}

/// Check 5.4.4: each receipt matches its hash.
pub(super) fn check_hashes(receipts: &[Receipt]) -> Result<(), Failure> {
    let wrong = receipts.iter().find(|receipt| receipt.hash != receipt.computed_hash);
    wrong.map_or(Ok(()), |receipt| {
        let message = format!(
            "the hash of the receipt is {}, not its receipt_hash {}",
            receipt.computed_hash, receipt.hash
        );
        Err(receipt.fail(Code::ReceiptHashMismatch, message))
    })
}

/// Check 5.4.5: indices count from 0.
pub(super) fn check_indices(receipts: &[Receipt]) -> Result<(), Failure> {
    for (receipt, expected) in receipts.iter().zip(0..) {
        if receipt.index.is_some_and(|index| index != expected) {
            let message = format!("the receipt_index must be {expected}");
            return Err(receipt.fail(Code::ReceiptIndexGap, message));
        }
    }
    Ok(())
}

/// Check 5.4.6: the chain is about this bundle.
pub(super) fn check_binding(
    receipts: &[Receipt],
    bundle_id: Hash,
    root_hash: Hash,
) -> Result<(), Failure> {
    let mut of_bundle = receipts.iter().filter(|receipt| receipt.bundle_id == bundle_id).peekable();
    if of_bundle.peek().is_none() {
        let message = "no receipt of the run is about this bundle";
        return Err(Failure::new(Code::BundleIdMismatch, message).at("receipts"));
    }
    of_bundle.find(|receipt| receipt.root_hash != root_hash).map_or(Ok(()), |receipt| {
        let message = format!("the receipt is about this bundle, whose root_hash is {root_hash}");
        Err(receipt.fail(Code::RootHashMismatch, message))
    })
}
