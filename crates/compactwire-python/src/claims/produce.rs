//! `compactwire.claims`: makes bundles, receipts, claims and trust policies. Compression Claims sections 2
//! and 3.

use super::arguments::{collect, entries, optional_text, path, text};
use super::key::with_key;
use crate::args::{boolean, each};
use crate::calls::detach;
use crate::errors::{Result, invalid_path};
use crate::interrupt::attached;
use crate::make::PathString;
use crate::value;
use crate::value::read;
use compactwire::claims::{self, Bundle, Item, Scope, Signing};
use compactwire::excerpt::excerpt;
use compactwire::value::Value;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Write a bundle: artifacts with the texts of the items, and the manifest `bundle.json`.
///
/// The bundle is written completely or not at all: on an error, an existing folder stays empty and
/// a new one is removed. Links inside the folder are not followed.
///
/// Parameters
/// ----------
/// out_dir : str or path-like
///     The folder. It is created if missing; an existing folder must be empty.
/// run_id, job_id, message_id : str
///     The ids of the run, job and message. `run_id` is the prefix of the names of receipts: 1 to
///     200 characters without "/", backslash and NUL.
/// items : iterable of Mapping
///     Mappings with "kind" ("symbol" or "section"), "ref", "text" and optionally "slice" (str or
///     None). Line ends of the text become LF, and a final LF is added. A symbol counts tokens only
///     if its "ref" begins with "@".
///
/// Returns
/// -------
/// dict
///     The manifest.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     Two items are identical, or an argument is invalid.
/// ClaimRejected
///     Verification would reject the bundle, for example for a slice that selects everything or an
///     absolute path.
/// OSError
///     The folder is not empty (`FileExistsError`), or a file cannot be written.
///
/// Source: Compression Claims sections 2 and 3.
#[pyfunction]
pub(super) fn build_bundle<'py>(
    out_dir: &Bound<'py, PyAny>,
    run_id: &Bound<'py, PyAny>,
    job_id: &Bound<'py, PyAny>,
    message_id: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDict>> {
    let py = out_dir.py();
    let folder = path(out_dir, "out_dir")?;
    let (run, job) = (text(run_id, "run_id")?, text(job_id, "job_id")?);
    let message = text(message_id, "message_id")?;
    let items = each(items, "items", "mappings")?.zip(0..);
    let items = items.map(|(item, at)| self::item(&item?, &format!("items[{at}]")));
    let items = collect(items)?;
    let made = detach(py, || attached(|| Bundle::new(&run, &job, &message, &items)))??;
    // Made before the bundle is written: a call that raises leaves nothing behind.
    let manifest = dict(py, made.manifest())?;
    detach(py, || attached(|| made.write(&folder)))??;
    Ok(manifest)
}

fn item(item: &Bound<'_, PyAny>, place: &str) -> PyResult<Item> {
    let mut made =
        Item { symbol: false, reference: String::new(), slice: None, text: String::new() };
    let mut missing = vec!["kind", "ref", "text"];
    let invalid_item = |message: &str| invalid_path(item.py(), place, message);
    for (name, value) in entries(item, place, "a mapping with kind, ref and text")? {
        let member = || text(&value, &format!("{place}.{name}"));
        match name.as_str() {
            "kind" => {
                made.symbol = match member()?.as_str() {
                    "symbol" => true,
                    "section" => false,
                    other => {
                        let other = excerpt(other);
                        return Err(invalid_item(&format!(
                            "kind must be 'symbol' or 'section', not {other}"
                        )));
                    }
                }
            }
            "ref" => made.reference = member()?,
            "slice" if value.is_none() => {}
            "slice" => made.slice = Some(member()?),
            "text" => made.text = member()?,
            _ => {
                let names = "kind, ref, slice and text";
                return Err(invalid_item(&format!(
                    "an item can have {names}, but not {}",
                    excerpt(&name)
                )));
            }
        }
        missing.retain(|other| *other != name);
    }
    match missing.first() {
        None => Ok(made),
        Some(name) => Err(invalid_item(&format!("an item needs {name:?}"))),
    }
}

/// Create the receipt for a run of the steps of a bundle.
///
/// Parameters
/// ----------
/// manifest : dict
///     The manifest of the bundle.
/// parent : dict, optional
///     The previous receipt; None for the first one.
///
/// Returns
/// -------
/// dict
///     The unsigned receipt.
///
/// Raises
/// ------
/// ClaimRejected
///     Verification would reject the manifest or the parent, or the parent belongs to another run.
/// EncodeError, TypeError
///     An argument has no JSON form, or the index of the parent has no successor.
///
/// Source: Compression Claims section 3.5.
#[pyfunction]
#[pyo3(signature = (manifest, parent = None))]
pub(super) fn make_receipt<'py>(
    manifest: &Bound<'py, PyAny>,
    parent: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let py = manifest.py();
    let manifest = read::value(manifest, "manifest")?;
    let parent = parent.map(|parent| read::value(parent, "parent")).transpose()?;
    let made = attached(|| claims::make_receipt(&manifest, parent.as_ref()))?;
    Ok(dict(py, &made?)?)
}

/// Sign a receipt without changing its `receipt_hash`.
///
/// A receipt has one signature in `attestation`, or several by different keys in `attestations`:
/// see `add`.
///
/// Parameters
/// ----------
/// receipt : dict
///     The receipt.
/// key : SigningKey
///     The key.
/// validator_id : str, optional
///     The name of the key in the trust policy.
/// build_id : str, optional
///     The build of the signer: "git:" and 7 to 40, or "file:" and 16 to 64 hexadecimal digits.
/// scope : {"spec", "reference"}
///     The signed bytes: without `receipt_hash` (the specification) or with it.
/// add : bool
///     Whether to keep the signatures of other keys, which must be valid, for `receipt_quorum`.
/// replace : bool
///     Whether to replace existing signatures: with `add` those of this key, without it all.
///
/// Returns
/// -------
/// dict
///     The receipt with its attestation, or with all attestations in order.
///
/// Raises
/// ------
/// ClaimRejected
///     Verification would reject the receipt, a name, or a signature that is kept.
/// EncodeError, TypeError, ValueError
///     The receipt has a signature that `add` and `replace` allow neither to keep nor to replace;
///     or an argument is invalid.
///
/// Source: Compression Claims section 3.3.
#[pyfunction]
#[pyo3(signature = (
    receipt, key, validator_id = None, build_id = None, scope = None, *, add = None, replace = None
))]
#[pyo3(text_signature = "(receipt, key, validator_id=None, build_id=None, scope='spec', *, \
    add=False, replace=False)")]
pub(super) fn sign_receipt<'py>(
    receipt: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    validator_id: Option<&Bound<'py, PyAny>>,
    build_id: Option<&Bound<'py, PyAny>>,
    scope: Option<&Bound<'py, PyAny>>,
    add: Option<&Bound<'_, PyAny>>,
    replace: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let validator_id = optional_text(validator_id, "validator_id")?;
    let build_id = optional_text(build_id, "build_id")?;
    let signing = Signing {
        validator_id: validator_id.as_deref(),
        build_id: build_id.as_deref(),
        scope: scope.map_or(Ok(Scope::Spec), self::scope)?,
        add: add.map_or(Ok(false), |add| boolean(add, "add"))?,
        replace: replace.map_or(Ok(false), |replace| boolean(replace, "replace"))?,
    };
    let value = read::value(receipt, "receipt")?;
    let signed = with_key(key, |key| claims::sign_receipt(&value, key, &signing))?;
    dict(receipt.py(), &signed)
}

fn scope(scope: &Bound<'_, PyAny>) -> PyResult<Scope> {
    match text(scope, "scope")?.as_str() {
        "spec" => Ok(Scope::Spec),
        "reference" => Ok(Scope::Reference),
        other => {
            let message = format!("it must be 'spec' or 'reference', not {}", excerpt(other));
            Err(invalid_path(scope.py(), "scope", &message))
        }
    }
}

/// Write a receipt to the file `<run_id>_<receipt_index>.json`.
///
/// Parameters
/// ----------
/// folder : str or path-like
///     The folder of the receipts, created if missing. An existing file is replaced atomically;
///     links are not followed.
/// receipt : dict
///     The receipt.
/// replace : bool
///     Whether signatures of an existing file may be lost.
///
/// Returns
/// -------
/// str
///     The path of the file.
///
/// Raises
/// ------
/// ClaimRejected, EncodeError, TypeError
///     Verification would reject the receipt or one of its signatures, or the receipt has no index.
/// OSError
///     The file cannot be written; the path exists and is not a regular file, or it has a signature
///     that the receipt lacks, or cannot be read (`FileExistsError`).
///
/// Source: Compression Claims section 2.3.
#[pyfunction]
#[pyo3(signature = (folder, receipt, *, replace = None))]
#[pyo3(text_signature = "(folder, receipt, *, replace=False)")]
pub(super) fn write_receipt(
    folder: &Bound<'_, PyAny>,
    receipt: &Bound<'_, PyAny>,
    replace: Option<&Bound<'_, PyAny>>,
) -> Result<PathString> {
    let (py, folder) = (receipt.py(), path(folder, "folder")?);
    let value = read::value(receipt, "receipt")?;
    let replace = replace.map_or(Ok(false), |replace| boolean(replace, "replace"))?;
    let write = || claims::write_receipt(&folder, &value, replace);
    let written = detach(py, || attached(write))?;
    Ok(written.map(PathString)?)
}

/// Sign the Merkle root over a chain of receipts.
///
/// Parameters
/// ----------
/// chain : iterable of dict
///     All receipts of one run, in order.
/// key, validator_id, build_id
///     As in `sign_receipt`.
///
/// Returns
/// -------
/// dict
///     The Merkle attestation.
///
/// Raises
/// ------
/// ClaimRejected
///     Verification would reject a receipt, or a receipt is a duplicate or does not follow the
///     previous one; `path` says which, such as "chain[2]#/parent_receipt_hash".
/// EncodeError, TypeError, ValueError
///     The chain is empty, or an argument is invalid.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (chain, key, validator_id = None, build_id = None))]
pub(super) fn merkle_attestation<'py>(
    chain: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    validator_id: Option<&Bound<'py, PyAny>>,
    build_id: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let validator = optional_text(validator_id, "validator_id")?;
    let build = optional_text(build_id, "build_id")?;
    let receipts = each(chain, "chain", "receipts")?.zip(0..);
    let receipts = receipts.map(|(receipt, at)| read::value(&receipt?, &format!("chain[{at}]")));
    let receipts = collect(receipts)?;
    let made = with_key(key, |key| {
        claims::merkle_attestation(&receipts, key, validator.as_deref(), build.as_deref())
    });
    dict(chain.py(), &made?)
}

/// Check whether a Merkle attestation is signed by the key that it names.
///
/// Whether that key is trusted, and whether the root matches the receipts, is checked by
/// `verify_claim`.
///
/// Parameters
/// ----------
/// attestation : dict
///     The Merkle attestation.
///
/// Returns
/// -------
/// bool
///     Whether the signature is valid.
///
/// Raises
/// ------
/// ClaimRejected, EncodeError, TypeError
///     The argument is not a Merkle attestation.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (attestation, /))]
pub(super) fn verify_merkle_signature(attestation: &Bound<'_, PyAny>) -> Result<bool> {
    let value = read::value(attestation, "attestation")?;
    let verified = attached(|| claims::verify_merkle_signature(&value))?;
    Ok(verified?)
}

/// Create a claim with the metrics of the artifacts of a bundle.
///
/// Parameters
/// ----------
/// manifest : dict
///     The manifest.
/// bundle_dir : str or path-like
///     The folder of the bundle. Its manifest and artifacts are read and checked.
/// components : Mapping of str to bool, optional
///     Which of "vector_db_only", "symbol_lang", "f3" and "cas" the claim covers; by default all
///     except "f3".
/// notes : str, optional
///     Any text; it is not verified.
///
/// Returns
/// -------
/// dict
///     The claim.
///
/// Raises
/// ------
/// ClaimRejected
///     The folder contains another bundle than the manifest describes, or no claim about it can be
///     true.
/// EncodeError, TypeError
///     An argument is invalid.
///
/// Source: Compression Claims section 2.
#[pyfunction]
#[pyo3(signature = (manifest, bundle_dir, components = None, notes = None))]
pub(super) fn make_claim<'py>(
    manifest: &Bound<'py, PyAny>,
    bundle_dir: &Bound<'py, PyAny>,
    components: Option<&Bound<'py, PyAny>>,
    notes: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDict>> {
    let (py, folder) = (manifest.py(), path(bundle_dir, "bundle_dir")?);
    let notes = optional_text(notes, "notes")?;
    let manifest = read::value(manifest, "manifest")?;
    let components = match components {
        None => DEFAULT_COMPONENTS.map(|(name, included)| (name.to_owned(), included)).to_vec(),
        Some(given) => {
            let given = entries(given, "components", "a mapping of names to bool")?;
            given.into_iter().map(component).collect::<PyResult<_>>()?
        }
    };
    let work = || claims::make_claim(&manifest, &folder, &components, notes.as_deref());
    let made = detach(py, || attached(work))?;
    Ok(dict(py, &made?)?)
}

fn component((name, included): (String, Bound<'_, PyAny>)) -> PyResult<(String, bool)> {
    let included = boolean(&included, &format!("components[{}]", excerpt(&name)))?;
    Ok((name, included))
}

const DEFAULT_COMPONENTS: [(&str, bool); 4] =
    [("vector_db_only", true), ("symbol_lang", true), ("f3", false), ("cas", true)];

/// Create a trust policy: the list of keys whose signatures are accepted.
///
/// Parameters
/// ----------
/// entries : iterable of dict
///     Entries with "validator_id", "public_key" (64 hexadecimal digits), "schemes" (a list with
///     "ed25519"), "scope" (a list of "RECEIPT" and "MERKLE"), "enabled" and optionally "build_id".
///
/// Returns
/// -------
/// dict
///     The policy.
///
/// Raises
/// ------
/// ClaimRejected
///     An entry is invalid, an id or key is a duplicate, or no signature verifies with a key.
/// EncodeError, TypeError
///     An entry has no JSON form.
///
/// Source: Compression Claims section 3.4.
#[pyfunction]
pub(super) fn make_trust_policy<'py>(entries: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    let py = entries.py();
    let entries = each(entries, "entries", "dict")?.zip(0..);
    let entries = entries.map(|(entry, at)| read::value(&entry?, &format!("entries[{at}]")));
    let entries = collect(entries)?;
    let made = attached(|| claims::make_trust_policy(entries))?;
    Ok(dict(py, &made?)?)
}

fn dict<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyDict>> {
    Ok(value::object(py, value)?.cast_into()?)
}
