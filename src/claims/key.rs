//! Secret Ed25519 keys and their files.
//!
//! Invariant: no message and no `Debug` output contains a secret, and every copy made here is
//! wiped.
//!
//! A key file is one line: [`TAG`], the seed and the public key, the last two as 64 hexadecimal
//! digits each. The tag marks the file as secret, so that a public key is never read as a seed:
//! otherwise anyone who knows the public key could sign. The public key detects damage to the seed.
//! On Unix only the owner of the file can read it.

use super::error::ProduceError;
use super::produce::output;
use super::signer::Signer;
use crate::text::hex;
use ed25519_dalek::Signer as _;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

type Result<T> = std::result::Result<T, ProduceError>;

/// The first word of a key file.
const TAG: &str = "compactwire-secret-key-v1";

/// The maximum size of a key file in bytes: its line and some white space.
const MAX_FILE: usize = 256;

/// A secret Ed25519 key.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// Creates the key of a seed, which must be secret: 32 random bytes, never a public key.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Creates the key of a seed in 64 hexadecimal digits, with white space around them or not.
    ///
    /// # Errors
    /// [`ProduceError::Argument`]: the text is not such a seed. The message shows nothing of it.
    pub fn from_hex(seed: &str) -> Result<Self> {
        parse_hex(seed.as_bytes()).ok_or_else(|| not_hex("seed", seed.len()))
    }

    /// Generates a key from the system's randomness.
    ///
    /// # Errors
    /// [`ProduceError::Randomness`]: the system has none.
    pub fn generate() -> Result<Self> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut()).map_err(|_| ProduceError::Randomness)?;
        Ok(Self::from_seed(&seed))
    }

    /// Reads a key file, as [`save`](Self::save) writes it. It must be a regular file; at most 256
    /// bytes are read.
    ///
    /// # Errors
    /// [`ProduceError::Io`]: it cannot be read; [`ProduceError::Argument`]: it is not a key file.
    /// The message shows none of its content, which may be most of a secret.
    pub fn load(path: &Path) -> Result<Self> {
        read_file(path, |text| {
            if parse_hex(text).is_some() {
                let message = format!(
                    "it has 64 hexadecimal digits, which may be a public key; a secret key begins \
                     with {TAG}. If they are a secret key of an earlier version, convert it: \
                     compactwire claim key --from-hex OLD -o NEW"
                );
                return Err(ProduceError::argument("path", message));
            }
            parse_line(text)
        })
    }

    /// Reads a file that has a seed as 64 hexadecimal digits and nothing else. Such a file is not marked
    /// as secret, so the caller must know that it is.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn load_hex(path: &Path) -> Result<Self> {
        read_file(path, |text| parse_hex(text).ok_or_else(|| not_hex("path", text.len())))
    }

    /// Writes a key file. Never overwrites a file; on Unix only the owner can read it.
    ///
    /// # Errors
    /// [`ProduceError::Io`]: the file exists already, or cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        output::create_private(path, &self.line())
    }

    /// The content of the key's file.
    fn line(&self) -> Zeroizing<String> {
        // Allocated at full size: a string that grows would leave copies of the secret in memory.
        let mut line = Zeroizing::new(String::with_capacity(MAX_FILE));
        line.push_str(TAG);
        line.push(' ');
        hex::write(&*self.seed(), &mut line);
        line.push(' ');
        line.push_str(&self.public_key());
        line.push('\n');
        line
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

/// Reads a key from the content of a file, without the white space around it.
fn read_file(path: &Path, parse: impl FnOnce(&[u8]) -> Result<SigningKey>) -> Result<SigningKey> {
    let mut bytes = Zeroizing::new([0; MAX_FILE + 1]);
    let failed = |error| ProduceError::io(path, error);
    let found =
        path.metadata().map_err(|error| if is_key(path) { not_a_path() } else { failed(error) })?;
    // Opening a FIFO would block without a way to interrupt it.
    if !found.is_file() {
        return Err(ProduceError::argument(
            "path",
            "expected a key file, found something that is not a regular file",
        ));
    }
    let file = File::open(path);
    let size = file.and_then(|mut file| read_up_to(&mut file, bytes.as_mut())).map_err(failed)?;
    if size > MAX_FILE {
        let message = format!("this file has more than the {MAX_FILE} bytes of a key file");
        return Err(ProduceError::argument("path", message));
    }
    parse(bytes[..size].trim_ascii())
}

/// Whether a path is a key, given in place of the name of its file.
fn is_key(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes().trim_ascii();
    text.starts_with(TAG.as_bytes()) || parse_hex(text).is_some()
}

fn not_a_path() -> ProduceError {
    ProduceError::argument("path", "this is a key itself; name the file that has it")
}

/// The key of a seed in hexadecimal digits.
fn parse_hex(text: &[u8]) -> Option<SigningKey> {
    let seed = Zeroizing::new(hex::decode(text.trim_ascii())?);
    Some(SigningKey::from_seed(&seed))
}

/// The key of the line in a key file.
fn parse_line(text: &[u8]) -> Result<SigningKey> {
    let wrong = |message: String| Err(ProduceError::argument("path", message));
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words = [words.next(), words.next(), words.next(), words.next()];
    let [Some(tag), Some(seed), Some(public), None] = words else {
        return wrong(not_a_key(text.len()));
    };
    if tag != TAG.as_bytes() {
        return wrong(not_a_key(text.len()));
    }
    match parse_hex(seed) {
        Some(key) if public.eq_ignore_ascii_case(key.public_key().as_bytes()) => Ok(key),
        Some(_) => {
            wrong("the key file is damaged: its public key is not that of its secret".into())
        }
        None => wrong(not_a_key(text.len())),
    }
}

fn not_a_key(size: usize) -> String {
    format!("expected a secret key, one line {TAG} SEED PUBLIC_KEY, found {size} other bytes")
}

fn not_hex(field: &'static str, size: usize) -> ProduceError {
    let message = format!("expected a seed of 64 hexadecimal digits, found {size} other bytes");
    ProduceError::argument(field, message)
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
    use crate::claims::scratch::Scratch;
    use std::fs;

    #[test]
    fn key_file_says_what_it_is_and_is_never_replaced() {
        let scratch = Scratch::new("key-save");
        let path = &scratch.0.join("key");
        let key = SigningKey::from_seed(&[0xa9; 32]);
        key.save(path).unwrap();
        let line = format!("{TAG} {} {}\n", "a9".repeat(32), key.public_key());
        assert_eq!(fs::read_to_string(path).unwrap(), line);
        assert!(line.len() <= MAX_FILE);
        assert_eq!(*SigningKey::load(path).unwrap().seed(), [0xa9; 32]);
        assert!(matches!(key.save(path), Err(ProduceError::Io { .. })));
        fs::write(
            path,
            format!("\t{}\r\n\n", line.to_uppercase().replacen(&TAG.to_uppercase(), TAG, 1)),
        )
        .unwrap();
        assert_eq!(*SigningKey::load(path).unwrap().seed(), [0xa9; 32]);
    }

    #[test]
    fn only_a_key_file_is_loaded() {
        let scratch = Scratch::new("key-load");
        let path = &scratch.0.join("key");
        let key = SigningKey::from_seed(&[0xa9; 32]);
        let (seed, public) = ("a9".repeat(32), key.public_key());
        let long = "9".repeat(1 << 20);
        let cases = [
            (public.clone(), "may be a public key"),
            (format!(" {}\n", seed.to_uppercase()), "may be a public key"),
            (String::new(), "expected a secret key, one line"),
            (format!("{TAG} {seed}"), "expected a secret key, one line"),
            (format!("{TAG} {public}"), "expected a secret key, one line"),
            (format!("{TAG}{seed} {public}"), "expected a secret key, one line"),
            (format!("{TAG} {seed}0 {public}"), "expected a secret key, one line"),
            (format!("{TAG} {} {public}", "g9".repeat(32)), "expected a secret key, one line"),
            (format!("{TAG} {seed} {public} {seed}"), "expected a secret key, one line"),
            (
                format!("{}2 {seed} {public}", &TAG[..TAG.len() - 1]),
                "expected a secret key, one line",
            ),
            (format!("{} {seed} {public}", TAG.to_uppercase()), "expected a secret key, one line"),
            (format!("{TAG} {public} {public}"), "its public key is not that of its secret"),
            (format!("{TAG} {public} {seed}"), "its public key is not that of its secret"),
            (
                format!("{TAG} {}8 {public}", &seed[..63]),
                "its public key is not that of its secret",
            ),
            (long, "more than the 256 bytes of a key file"),
        ];
        for (content, message) in cases {
            fs::write(path, &content).unwrap();
            let error = SigningKey::load(path).unwrap_err().to_string();
            assert!(error.contains(message), "{content:.90}: {error}");
            assert!(!error.contains(&seed[..8]) && !error.contains(&public[..8]), "{error}");
        }
    }

    #[test]
    fn key_in_place_of_its_path_is_not_shown() {
        let seed = "a9".repeat(32);
        let line = SigningKey::from_seed(&[0xa9; 32]).line();
        for key in [&*line, line.trim(), &seed, &format!("{seed}\n")] {
            for error in [SigningKey::load(key.as_ref()), SigningKey::load_hex(key.as_ref())] {
                let error = error.unwrap_err().to_string();
                assert!(error.contains("a key itself") && !error.contains(&seed[..8]), "{error}");
            }
        }
        let missing = SigningKey::load("compactwire.key".as_ref());
        assert!(matches!(missing, Err(ProduceError::Io { .. })));
    }

    #[test]
    fn bare_digits_are_read_only_on_request() {
        let scratch = Scratch::new("key-hex");
        let path = &scratch.0.join("key");
        for text in ["a9".repeat(32), format!(" {}\r\n", "A9".repeat(32))] {
            fs::write(path, &text).unwrap();
            assert_eq!(*SigningKey::load_hex(path).unwrap().seed(), [0xa9; 32]);
            assert_eq!(*SigningKey::from_hex(&text).unwrap().seed(), [0xa9; 32]);
        }
        let key = SigningKey::from_seed(&[0xa9; 32]);
        for bad in ["", "a9", &"a9".repeat(33), &"g9".repeat(32), &key.line(), &"é9".repeat(32)] {
            fs::write(path, bad).unwrap();
            for error in [SigningKey::load_hex(path), SigningKey::from_hex(bad)] {
                let error = error.unwrap_err().to_string();
                assert!(error.contains("expected a seed of 64 hexadecimal digits"), "{error}");
                assert!(!error.contains("a9a9"), "{error}");
            }
        }
    }
}
