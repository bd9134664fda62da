//! `compactwire.claims.SigningKey`: the secret stays in the core, and its copies are wiped.

use super::super::errors::Result;
use super::arguments::{path, wrong};
use compactwire::claims;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString, PyType};
use zeroize::Zeroizing;

/// A secret Ed25519 key, for signing.
///
/// The secret is wiped when the object is destroyed. Only `seed` and `save` reveal it: `repr` and
/// errors do not, and the object cannot be pickled or copied.
///
/// Parameters
/// ----------
/// seed : bytes
///     The 32 bytes of the secret. The caller is responsible for wiping its own copy.
///
/// Raises
/// ------
/// TypeError, ValueError
///     The seed is not bytes, or not 32 bytes long.
#[pyclass(frozen, module = "compactwire.claims")]
pub(super) struct SigningKey(claims::SigningKey);

#[pymethods]
impl SigningKey {
    #[new]
    #[pyo3(signature = (seed, /))]
    fn new(seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        key_of(seed, "seed", "bytes").map(Self)
    }

    /// Read a key from a file that `save` or `compactwire claim key` wrote.
    ///
    /// At most 256 bytes are read. The secret never becomes a Python object.
    ///
    /// Parameters
    /// ----------
    /// path : str or path-like
    ///     A regular file of 64 hexadecimal digits, optionally surrounded by white space.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The file contains something else; the message shows nothing of it.
    /// OSError
    ///     The file cannot be read.
    #[classmethod]
    #[pyo3(signature = (path, /))]
    fn load(_class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>) -> Result<Self> {
        let (py, file) = (path.py(), self::path(path, "path")?);
        let loaded = py.detach(|| claims::SigningKey::load(&file));
        Ok(loaded.map(Self)?)
    }

    /// Write the key to a new file, which only its owner may read on Unix.
    ///
    /// Parameters
    /// ----------
    /// path : str or path-like
    ///     The file. An existing file is never replaced: it may be the only copy of another key.
    ///
    /// Raises
    /// ------
    /// OSError
    ///     The file exists, or it cannot be written.
    #[pyo3(signature = (path, /))]
    fn save(&self, path: &Bound<'_, PyAny>) -> Result<()> {
        let (py, file) = (path.py(), self::path(path, "path")?);
        Ok(py.detach(|| self.0.save(&file))?)
    }

    /// The public key for verification: 64 hexadecimal digits.
    #[getter]
    fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// Return the 32 bytes of the secret, which Python does not wipe when it frees them.
    fn seed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &*self.0.seed())
    }

    fn __repr__(&self) -> String {
        format!("<SigningKey public_key={}>", self.0.public_key())
    }
}

/// The key of a seed; all copies of the seed made here are wiped.
fn key_of(seed: &Bound<'_, PyAny>, field: &str, expected: &str) -> PyResult<claims::SigningKey> {
    let copy;
    let bytes = if let Ok(bytes) = seed.cast::<PyBytes>() {
        bytes.as_bytes()
    } else if let Ok(bytes) = seed.cast::<PyByteArray>() {
        copy = Zeroizing::new(bytes.to_vec());
        &copy
    } else if seed.is_instance_of::<PyString>() {
        return Err(wrong(seed, field, expected));
    } else if let Ok(buffer) = PyBuffer::<u8>::get(seed) {
        copy = Zeroizing::new(buffer.to_vec(seed.py())?);
        &copy
    } else {
        return Err(wrong(seed, field, expected));
    };
    let mut secret = Zeroizing::new([0; 32]);
    if bytes.len() != secret.len() {
        let message = format!("{field}: a seed has 32 bytes, not {}", bytes.len());
        return Err(PyValueError::new_err(message));
    }
    secret.copy_from_slice(bytes);
    Ok(claims::SigningKey::new(&secret))
}

/// Calls `work` with a key or with the key of a seed.
pub(super) fn with_key<T>(
    key: &Bound<'_, PyAny>,
    work: impl FnOnce(&claims::SigningKey) -> Result<T, claims::ProduceError>,
) -> Result<T> {
    let made = match key.cast::<SigningKey>() {
        Ok(key) => work(&key.get().0),
        Err(_) => work(&key_of(key, "key", "a SigningKey or the 32 bytes of its seed")?),
    };
    Ok(made?)
}

/// Generate a secret key with the randomness of the operating system.
#[pyfunction]
pub(super) fn generate_key() -> Result<SigningKey> {
    Ok(claims::SigningKey::generate().map(SigningKey)?)
}
