//! Making what is verified: `compactwire.claims`.

#![expect(clippy::needless_pass_by_value, reason = "paths are made of what Python passes")]

use super::super::args::Data;
use super::super::errors::produce_error;
use super::super::walk;
use crate::claims::{self, Item, Scope, estimate_tokens as estimate};
use crate::value::Value;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// A secret Ed25519 key, for signing.
///
/// The secret is wiped when the object goes, and shown by `seed` only: not by `repr`, not in
/// errors, and the object cannot be pickled or copied.
///
/// Parameters
/// ----------
/// seed : bytes
///     The 32 bytes that the key is made of.
///
/// Raises
/// ------
/// ValueError
///     It is not 32 bytes.
#[pyclass(frozen, module = "compactwire.claims")]
pub(super) struct SigningKey(claims::SigningKey);

#[pymethods]
impl SigningKey {
    #[new]
    #[pyo3(signature = (seed, /))]
    fn new(seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        key_of(seed).map(Self)
    }

    /// The key by which others verify: 64 hexadecimal digits.
    #[getter]
    fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// The secret: 32 bytes, to be kept where nobody else reads.
    fn seed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &*self.0.seed())
    }

    fn __repr__(&self) -> String {
        format!("<SigningKey public_key={}>", self.0.public_key())
    }
}

fn key_of(seed: &Bound<'_, PyAny>) -> PyResult<claims::SigningKey> {
    let data = Data::new(seed)?;
    let bytes = data.bytes()?;
    let mut secret = Zeroizing::new([0; 32]);
    if bytes.len() != secret.len() {
        let message = format!("a seed has 32 bytes, not {}", bytes.len());
        return Err(PyValueError::new_err(message));
    }
    secret.copy_from_slice(bytes);
    Ok(claims::SigningKey::new(&secret))
}

/// Calls `work` with a key, or with that of a seed.
fn with_key<T>(
    key: &Bound<'_, PyAny>,
    work: impl FnOnce(&claims::SigningKey) -> Result<T, claims::ProduceError>,
) -> PyResult<T> {
    let made = match key.cast::<SigningKey>() {
        Ok(key) => work(&key.get().0),
        Err(_) => work(&key_of(key)?),
    };
    made.map_err(|error| produce_error(key.py(), error))
}

/// Make a new secret key from the system's randomness.
#[pyfunction]
pub(super) fn generate_key(py: Python<'_>) -> PyResult<SigningKey> {
    claims::SigningKey::generate().map(SigningKey).map_err(|error| produce_error(py, error))
}

/// Write a bundle: the texts as artifacts, and the manifest `bundle.json`.
///
/// Parameters
/// ----------
/// out_dir : str or path-like
///     The folder, made if it is not there; files of the same names are replaced.
/// run_id, job_id, message_id : str
///     What the bundle belongs to. The names of the receipts begin with `run_id`, of 1 to 200
///     characters without "/", "\\" and NUL.
/// items : iterable of Mapping
///     Each with "kind" ("symbol" or "section"), "ref", "text" and perhaps "slice" (str or None).
///     Line ends of the text become LF, and a last one is added.
///
/// Returns
/// -------
/// dict
///     The manifest.
///
/// Raises
/// ------
/// EncodeError
///     Two items are the same, or an argument cannot be written.
/// ClaimRejected
///     No verification would accept it: a slice of everything, an absolute path.
/// OSError
///     A file cannot be written.
///
/// Source: Compression Claims sections 2 and 3.
#[pyfunction]
pub(super) fn build_bundle<'py>(
    py: Python<'py>,
    out_dir: PathBuf,
    run_id: &str,
    job_id: &str,
    message_id: &str,
    items: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let items = items.try_iter()?.map(|item| self::item(&item?)).collect::<PyResult<Vec<_>>>()?;
    let manifest = py
        .detach(|| claims::build_bundle(&out_dir, run_id, job_id, message_id, &items))
        .map_err(|error| produce_error(py, error))?;
    dict(py, &manifest)
}

fn item(item: &Bound<'_, PyAny>) -> PyResult<Item> {
    let mapping = item
        .cast::<PyMapping>()
        .map_err(|_| PyTypeError::new_err("an item must be a mapping with kind, ref and text"))?;
    let mut made =
        Item { symbol: false, reference: String::new(), slice: None, text: String::new() };
    let mut missing = vec!["kind", "ref", "text"];
    for entry in mapping.items()?.iter() {
        let (name, value) = entry.extract::<(String, Bound<'_, PyAny>)>()?;
        match name.as_str() {
            "kind" => made.symbol = is_symbol(&value)?,
            "ref" => made.reference = text(&value, "ref")?,
            "slice" if value.is_none() => {}
            "slice" => made.slice = Some(text(&value, "slice")?),
            "text" => made.text = text(&value, "text")?,
            _ => return Err(PyValueError::new_err(format!("an item has no {name:?}"))),
        }
        missing.retain(|other| *other != name);
    }
    match missing.first() {
        None => Ok(made),
        Some(name) => Err(PyValueError::new_err(format!("an item needs {name:?}"))),
    }
}

fn is_symbol(kind: &Bound<'_, PyAny>) -> PyResult<bool> {
    match text(kind, "kind")?.as_str() {
        "symbol" => Ok(true),
        "section" => Ok(false),
        other => {
            let message = format!("kind must be 'symbol' or 'section', not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

fn text(value: &Bound<'_, PyAny>, field: &str) -> PyResult<String> {
    let text = super::super::args::text(value, field)?;
    super::super::args::utf8(text, field).map(str::to_owned)
}

/// Make the receipt of a run of a bundle's steps.
///
/// Parameters
/// ----------
/// manifest : dict
///     The manifest of the bundle.
/// parent : dict, optional
///     The receipt before it; the first has none.
///
/// Returns
/// -------
/// dict
///     The receipt, not signed.
///
/// Raises
/// ------
/// ClaimRejected
///     The manifest or the parent would not verify.
///
/// Source: Compression Claims section 3.5.
#[pyfunction]
#[pyo3(signature = (manifest, parent = None))]
pub(super) fn make_receipt<'py>(
    manifest: &Bound<'py, PyAny>,
    parent: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = manifest.py();
    let manifest = walk::value(manifest, "manifest")?;
    let parent = parent.map(|parent| walk::value(parent, "parent")).transpose()?;
    let made = claims::make_receipt(&manifest, parent.as_ref());
    dict(py, &made.map_err(|error| produce_error(py, error))?)
}

/// Sign a receipt; its `receipt_hash` stays as it is.
///
/// Parameters
/// ----------
/// receipt : dict
///     The receipt.
/// key : SigningKey or bytes
///     The key, or the 32 bytes of its seed.
/// validator_id : str, optional
///     By which name the trust policy knows the key.
/// build_id : str, optional
///     What signed: "git:" and 7 to 40, or "file:" and 16 to 64 hexadecimal digits.
/// scope : {"spec", "reference"}
///     The bytes that are signed: without `receipt_hash` (the specification) or with it.
///
/// Returns
/// -------
/// dict
///     The receipt with its attestation.
///
/// Raises
/// ------
/// ClaimRejected
///     The receipt, or a name, would not verify.
///
/// Source: Compression Claims section 3.3.
#[pyfunction]
#[pyo3(signature = (receipt, key, validator_id = None, build_id = None, scope = "spec"))]
pub(super) fn sign_receipt<'py>(
    receipt: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    validator_id: Option<&str>,
    build_id: Option<&str>,
    scope: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let scope = match scope {
        "spec" => Scope::Spec,
        "reference" => Scope::Reference,
        _ => {
            let message = format!("scope must be 'spec' or 'reference', not {scope:?}");
            return Err(PyValueError::new_err(message));
        }
    };
    let value = walk::value(receipt, "receipt")?;
    let signed =
        with_key(key, |key| claims::sign_receipt(&value, key, validator_id, build_id, scope))?;
    dict(receipt.py(), &signed)
}

/// Write a receipt under the name by which it is found, `<run_id>_<receipt_index>.json`.
///
/// Parameters
/// ----------
/// folder : str or path-like
///     The folder of the receipts, made if it is not there.
/// receipt : dict
///     The receipt.
///
/// Returns
/// -------
/// str
///     The path of the file.
///
/// Raises
/// ------
/// ClaimRejected, EncodeError
///     It would not verify, or has no number.
/// OSError
///     It cannot be written.
///
/// Source: Compression Claims section 2.3.
#[pyfunction]
pub(super) fn write_receipt(folder: PathBuf, receipt: &Bound<'_, PyAny>) -> PyResult<PathString> {
    let value = walk::value(receipt, "receipt")?;
    claims::write_receipt(&folder, &value)
        .map(PathString)
        .map_err(|error| produce_error(receipt.py(), error))
}

/// A path as `str`.
pub(super) struct PathString(PathBuf);

impl<'py> IntoPyObject<'py> for PathString {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0.into_os_string().into_pyobject(py)?)
    }
}

/// Sign the Merkle root over a chain of receipts.
///
/// Parameters
/// ----------
/// chain : iterable of dict
///     The receipts, in their order.
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
/// ClaimRejected, EncodeError
///     A receipt would not verify, or there is none.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (chain, key, validator_id = None, build_id = None))]
pub(super) fn merkle_attestation<'py>(
    chain: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    validator_id: Option<&str>,
    build_id: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let receipts = chain.try_iter()?.map(|receipt| walk::value(&receipt?, "chain"));
    let receipts = receipts.collect::<PyResult<Vec<_>>>()?;
    let made =
        with_key(key, |key| claims::merkle_attestation(&receipts, key, validator_id, build_id))?;
    dict(chain.py(), &made)
}

/// Compute the Merkle root over receipt hashes.
///
/// Parameters
/// ----------
/// hashes : iterable of str
///     Each 64 lower-case hexadecimal digits, in the order of the chain.
///
/// Returns
/// -------
/// str
///     The root: 64 lower-case hexadecimal digits.
///
/// Raises
/// ------
/// ValueError
///     One is no hash, or there is none.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (hashes, /))]
pub(super) fn merkle_root(hashes: &Bound<'_, PyAny>) -> PyResult<String> {
    let hashes = hashes.try_iter()?.map(|hash| hash?.extract::<String>());
    let hashes = hashes.collect::<PyResult<Vec<_>>>()?;
    claims::merkle_root(&hashes).ok_or_else(|| {
        PyValueError::new_err("expected at least one hash of 64 lower-case hexadecimal digits")
    })
}

/// Claim what the artifacts of a bundle give.
///
/// Parameters
/// ----------
/// manifest : dict
///     The manifest.
/// bundle_dir : str or path-like
///     The folder of the bundle, whose artifacts are read and checked.
/// components : Mapping of str to bool, optional
///     Which of "vector_db_only", "symbol_lang", "f3" and "cas" the claim is about; all but "f3"
///     unless given.
/// notes : str, optional
///     Anything; nobody verifies it.
///
/// Returns
/// -------
/// dict
///     The claim.
///
/// Raises
/// ------
/// ClaimRejected
///     An artifact is not the manifest's, or no claim about them can be true.
///
/// Source: Compression Claims section 2.
#[pyfunction]
#[pyo3(signature = (manifest, bundle_dir, components = None, notes = None))]
pub(super) fn make_claim<'py>(
    manifest: &Bound<'py, PyAny>,
    bundle_dir: PathBuf,
    components: Option<&Bound<'py, PyAny>>,
    notes: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = manifest.py();
    let manifest = walk::value(manifest, "manifest")?;
    let components = match components {
        None => DEFAULT_COMPONENTS.map(|(name, included)| (name.to_owned(), included)).to_vec(),
        Some(given) => given
            .cast::<PyMapping>()
            .map_err(|_| PyTypeError::new_err("components must be a mapping of names to bool"))?
            .items()?
            .iter()
            .map(|item| item.extract::<(String, bool)>())
            .collect::<PyResult<_>>()?,
    };
    let made = py.detach(|| claims::make_claim(&manifest, &bundle_dir, &components, notes));
    dict(py, &made.map_err(|error| produce_error(py, error))?)
}

const DEFAULT_COMPONENTS: [(&str, bool); 4] =
    [("vector_db_only", true), ("symbol_lang", true), ("f3", false), ("cas", true)];

/// Make a trust policy: whose signatures count.
///
/// Parameters
/// ----------
/// entries : iterable of dict
///     Each with "validator_id", "public_key" (64 hexadecimal digits), "schemes" (a list with
///     "ed25519"), "scope" (of "RECEIPT" and "MERKLE"), "enabled" and perhaps "build_id".
///
/// Returns
/// -------
/// dict
///     The policy.
///
/// Raises
/// ------
/// ClaimRejected
///     An entry is not like that, or an id or a key comes twice.
///
/// Source: Compression Claims section 3.4.
#[pyfunction]
pub(super) fn make_trust_policy<'py>(entries: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let py = entries.py();
    let entries = entries.try_iter()?.map(|entry| walk::value(&entry?, "entries"));
    let made = claims::make_trust_policy(entries.collect::<PyResult<Vec<_>>>()?);
    dict(py, &made.map_err(|error| produce_error(py, error))?)
}

/// Write a value as a file of canonical JSON, with the line feed at its end.
///
/// Parameters
/// ----------
/// path : str or path-like
///     The file; one that is there is replaced.
/// value : dict
///     A claim, a trust policy, a Merkle attestation.
///
/// Raises
/// ------
/// OSError
///     It cannot be written.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (path, value, /))]
pub(super) fn write_json(path: PathBuf, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let made = claims::write_json(&path, &walk::value(value, "value")?);
    made.map_err(|error| produce_error(value.py(), error))
}

/// Write a value as canonical JSON, without a line feed.
///
/// Parameters
/// ----------
/// value : object
///     What `json.dumps` takes, with `str` keys.
///
/// Returns
/// -------
/// bytes
///     Those of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     It has no JSON.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(super) fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let text = claims::canonical_json(&walk::value(value, "value")?);
    Ok(PyBytes::new(value.py(), text.as_bytes()))
}

/// Read JSON as strictly as the verification does.
///
/// Parameters
/// ----------
/// data : bytes or str
///     One JSON document without duplicate members, lone surrogates, NaN, numbers beyond a double,
///     a byte order mark; nested at most 128 deep, integers of at most 4300 digits.
///
/// Returns
/// -------
/// object
///     Its value.
///
/// Raises
/// ------
/// EncodeError
///     It is not like that; the message says where.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn parse_json<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    let data = Data::new(data)?;
    let bytes = match data.bytes() {
        Ok(bytes) => bytes,
        Err(_) => data.text(py)?.as_bytes(),
    };
    let value = claims::parse_json(bytes).map_err(|error| produce_error(py, error))?;
    walk::object(py, &value)
}

/// Say how many tokens a text of so many UTF-8 bytes is taken for: a quarter, half to even.
///
/// Source: Compression Claims section 7.1.
#[pyfunction]
#[pyo3(signature = (size, /))]
pub(super) fn estimate_tokens(size: u64) -> u64 {
    estimate(size)
}

fn dict<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyDict>> {
    Ok(walk::object(py, value)?.cast_into()?)
}
