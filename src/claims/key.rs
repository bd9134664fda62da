//! Secret Ed25519 keys and their files.
//!
//! Invariant: no message and no `Debug` output contains a secret, and every copy made here is
//! wiped. A key file holds the seed as 64 hexadecimal digits and a line feed; on Unix only its
//! owner can read it.

use super::error::ProduceError;
use super::signer::Signer;
use crate::text::hex;
use ed25519_dalek::Signer as _;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use zeroize::Zeroizing;

type Result<T> = std::result::Result<T, ProduceError>;

/// The maximum size of a key file in bytes: its digits and some white space.
const MAX_FILE: usize = 256;

/// A secret Ed25519 key.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Creates the key of a seed.
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Generates a key from the system's randomness.
    ///
    /// # Errors
    /// [`ProduceError::Randomness`]: the system has none.
    pub fn generate() -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| ProduceError::Randomness)?;
        Ok(Self::new(&seed))
    }

    /// Reads a key file. It must be a regular file; at most 256 bytes are read.
    ///
    /// # Errors
    /// [`ProduceError::Io`]: it cannot be read; [`ProduceError::Argument`]: it is not a key file.
    /// The message shows none of its content, which may be most of a secret.
    pub fn load(path: &Path) -> Result<Self> {
        let mut bytes = Zeroizing::new([0; MAX_FILE + 1]);
        let failed = |error| ProduceError::io(path, error);
        // Opening a FIFO would block without a way to interrupt it.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(ProduceError::argument("path", "a key is in a regular file, not in this"));
        }
        let file = File::open(path);
        let size = file.and_then(|mut file| read_up_to(&mut file, bytes.as_mut()));
        let size = size.map_err(failed)?;
        let no_key = |found: String| {
            ProduceError::argument("path", format!("a key is 64 hexadecimal digits, not {found}"))
        };
        if size > MAX_FILE {
            return Err(no_key(format!("more than {MAX_FILE} bytes")));
        }
        let Some(seed) = hex::decode(bytes[..size].trim_ascii()).map(Zeroizing::new) else {
            return Err(no_key(format!("what these {size} bytes are")));
        };
        Ok(Self::new(&seed))
    }

    /// Writes a key file. Never overwrites a file; on Unix only the owner can read it.
    ///
    /// # Errors
    /// [`ProduceError::Io`]: the file exists already, or cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let seed = self.seed();
        let mut text = Zeroizing::new([b'\n'; 65]);
        for (pair, byte) in text.chunks_exact_mut(2).zip(*seed) {
            for (digit, nibble) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            }
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let failed = |error| ProduceError::io(path, error);
        let mut file = options.open(path).map_err(failed)?;
        file.write_all(text.as_ref()).map_err(|error| {
            // An incomplete key file is useless and would block the next attempt.
            let _gone = fs::remove_file(path);
            failed(error)
        })
    }

    /// The secret seed.
    pub fn seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public key, as hexadecimal digits.
    pub fn public_key(&self) -> String {
        hex::encode(self.0.verifying_key().as_bytes())
    }

    pub(super) fn sign(&self, message: &[u8]) -> String {
        hex::encode(&self.0.sign(message).to_bytes())
    }

    pub(super) fn signer(&self, validator_id: Option<&str>, build_id: Option<&str>) -> Signer {
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

/// Reads until the buffer is full or the file ends. Returns the number of bytes read.
fn read_up_to(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut size = 0;
    while size < buffer.len() {
        match file.read(&mut buffer[size..]) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_file_is_never_replaced() {
        let name = format!("compactwire-key-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let key = SigningKey::new(&[0xa9; 32]);
        key.save(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a9".repeat(32) + "\n");
        assert_eq!(*SigningKey::load(&path).unwrap().seed(), [0xa9; 32]);
        assert!(matches!(key.save(&path), Err(ProduceError::Io { .. })));
        for bad in ["", "a9", &"a9".repeat(33), &"g9".repeat(32), &"9".repeat(1 << 20)] {
            fs::write(&path, bad).unwrap();
            let error = SigningKey::load(&path).unwrap_err().to_string();
            assert!(error.starts_with("path: a key is 64 hexadecimal digits, not "), "{error}");
            assert!(bad.len() < 9 || !error.contains(&bad[..8]), "{error}");
        }
        fs::write(&path, format!("  {}\r\n\n", "A9".repeat(32))).unwrap();
        assert!(SigningKey::load(&path).is_ok());
        fs::remove_file(&path).unwrap();
    }
}
