//! `compactwire.claims.SigningKey`: the secret stays in the core, and its copies are wiped.

use super::arguments::{path, wrong};
use crate::args::{utf8_if_whole, view_of_bytes};
use crate::calls::detach;
use crate::errors::{Result, invalid_path};
use crate::interrupt::attached;
use crate::make::{Str, make_bytes, py_error};
use compactwire::claims;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString, PyType};
use std::path::Path;
use zeroize::Zeroizing;

/// A secret Ed25519 key, for signing.
///
/// Create a key with `generate_key`, `load`, `load_hex`, `from_seed` or `from_hex`. The class
/// itself cannot be called, because 32 bytes or 64 digits do not show whether they are secret.
/// Never create a signing key from a public key: everyone who knows it could sign with it.
///
/// The secret is wiped when the object is destroyed. Only `seed` and `save` reveal it: `repr` and
/// errors do not, and the object cannot be pickled or copied.
#[pyclass(frozen, module = "compactwire.claims")]
pub(super) struct SigningKey(claims::SigningKey);

#[pymethods]
impl SigningKey {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn new(_args: &Bound<'_, PyAny>, _options: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let names = "generate_key(), SigningKey.load(path), from_seed(bytes) or from_hex(digits)";
        Err(py_error::<PyTypeError>(format!("a signing key is made by {names}")))
    }

    /// Create the key of a secret seed.
    ///
    /// Parameters
    /// ----------
    /// seed : bytes
    ///     32 secret random bytes, never a public key. The caller is responsible for wiping its own
    ///     copy.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The seed is not 32 bytes long.
    /// TypeError
    ///     The seed is not bytes.
    #[classmethod]
    #[pyo3(signature = (seed, /))]
    fn from_seed(_class: &Bound<'_, PyType>, seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        key_of(seed).map(Self)
    }

    /// Create the key of a secret seed in hexadecimal digits.
    ///
    /// Parameters
    /// ----------
    /// seed : str
    ///     64 hexadecimal digits, never a public key, optionally surrounded by white space. Python
    ///     does not wipe the `str`.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The text is not such a seed; the message shows nothing of it.
    /// TypeError
    ///     It is not a str.
    #[classmethod]
    #[pyo3(signature = (seed, /))]
    fn from_hex(_class: &Bound<'_, PyType>, seed: &Bound<'_, PyAny>) -> Result<Self> {
        let text = seed.cast::<PyString>().map_err(|_| wrong(seed, "seed", "a str"))?;
        // A text with a lone surrogate is rejected like any other invalid text, without showing it.
        Ok(claims::SigningKey::from_hex(utf8_if_whole(text)?.unwrap_or_default()).map(Self)?)
    }

    /// Read a key from a file that `save` or `compactwire claim key` wrote.
    ///
    /// At most 256 bytes are read. The secret never becomes a Python object.
    ///
    /// Parameters
    /// ----------
    /// path : str or path-like
    ///     A regular file of one line: "compactwire-secret-key-v1", the seed and the public key.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The file contains something else, for example a public key or 64 bare digits; the
    ///     message shows nothing of it.
    /// OSError
    ///     The file cannot be read.
    #[classmethod]
    #[pyo3(signature = (path, /))]
    fn load(_class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>) -> Result<Self> {
        load(path, claims::SigningKey::load)
    }

    /// Read a key from a file of 64 bare hexadecimal digits, as earlier versions wrote it.
    ///
    /// Such a file does not say that it is secret. Compare `public_key` with the one that you
    /// published, and convert the file with `save`.
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
    fn load_hex(_class: &Bound<'_, PyType>, path: &Bound<'_, PyAny>) -> Result<Self> {
        load(path, claims::SigningKey::load_hex)
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
        Ok(detach(py, || self.0.save(&file))?)
    }

    /// The public key for verification: 64 hexadecimal digits.
    #[getter]
    fn public_key(&self) -> Str<String> {
        Str(self.0.public_key())
    }

    /// Return the 32 bytes of the secret, which Python does not wipe when it frees them.
    fn seed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        make_bytes(py, &*self.0.seed())
    }

    fn __repr__(&self) -> Str<String> {
        Str(format!("<SigningKey public_key={}>", self.0.public_key()))
    }
}

/// The key in the file that `path` names.
fn load(
    path: &Bound<'_, PyAny>,
    read: fn(&Path) -> Result<claims::SigningKey, claims::ProduceError>,
) -> Result<SigningKey> {
    let file = self::path(path, "path")?;
    Ok(detach(path.py(), || read(&file)).map(SigningKey)?)
}

/// The key of a seed; all copies of the seed made here are wiped.
fn key_of(seed: &Bound<'_, PyAny>) -> PyResult<claims::SigningKey> {
    let copy;
    let bytes = if let Ok(bytes) = seed.cast::<PyBytes>() {
        bytes.as_bytes()
    } else if let Ok(bytes) = seed.cast::<PyByteArray>() {
        copy = Zeroizing::new(bytes.to_vec());
        &copy
    } else if seed.is_instance_of::<PyString>() {
        return Err(wrong(seed, "seed", "bytes"));
    } else if seed.is_instance_of::<PyMemoryView>() {
        copy = Zeroizing::new(view_of_bytes(seed, "seed")?.to_vec(seed.py())?);
        &copy
    } else if let Ok(buffer) = PyBuffer::<u8>::get(seed) {
        copy = Zeroizing::new(buffer.to_vec(seed.py())?);
        &copy
    } else {
        return Err(wrong(seed, "seed", "bytes"));
    };
    let mut secret = Zeroizing::new([0; 32]);
    if bytes.len() != secret.len() {
        let message = format!("a seed has 32 bytes, not {}", bytes.len());
        return Err(invalid_path(seed.py(), "seed", &message));
    }
    secret.copy_from_slice(bytes);
    Ok(claims::SigningKey::from_seed(&secret))
}

/// Calls `work` with a key. Bytes are refused: they may be a public key.
pub(super) fn with_key<T>(
    key: &Bound<'_, PyAny>,
    work: impl FnOnce(&claims::SigningKey) -> Result<T, claims::ProduceError>,
) -> Result<T> {
    let Ok(key) = key.cast::<SigningKey>() else {
        let expected = "a SigningKey (SigningKey.from_seed makes one of 32 secret bytes)";
        return Err(wrong(key, "key", expected).into());
    };
    Ok(attached(|| work(&key.get().0))??)
}

/// Generate a secret key with the randomness of the operating system.
///
/// Returns
/// -------
/// SigningKey
///     A new Ed25519 key.
///
/// Raises
/// ------
/// OSError
///     The operating system has no randomness.
///
/// Source: Compression Claims section 3.3.
#[pyfunction]
pub(super) fn generate_key() -> Result<SigningKey> {
    Ok(claims::SigningKey::generate().map(SigningKey)?)
}
