//! The signer that an attestation names, and the bytes its signature covers.

use super::error::Failure;
use super::fields;
use crate::text::hex;
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The only signature scheme.
pub(super) const SCHEME: &str = "ed25519";

/// The bytes of a receipt that a signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Without `receipt_hash`, as the specification says.
    Spec,
    /// With `receipt_hash`, as the reference validator does.
    Reference,
}

impl Scope {
    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Reference => "reference",
        }
    }
}

/// The signer that an attestation names.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Signer {
    pub(super) validator_id: Option<Box<str>>,
    pub(super) build_id: Option<Box<str>>,
    /// `None` if the member is not 64 hexadecimal digits.
    pub(super) public_key: Option<[u8; 32]>,
}

impl Signer {
    pub(super) fn new(attestation: &Value<'_>) -> Result<Self, Failure> {
        Ok(Self {
            validator_id: fields::optional_text(attestation, "validator_id")?.map(Into::into),
            build_id: fields::optional_text(attestation, "build_id")?.map(Into::into),
            public_key: hex::decode(fields::text(attestation, "public_key")?.as_bytes()),
        })
    }
}

/// The different signers of many attestations, shared by threads: each is kept once.
#[derive(Default)]
pub(super) struct Signers(Mutex<HashSet<Arc<Signer>>>);

impl Signers {
    /// The signer, or the same one that was given before.
    pub(super) fn shared(&self, signer: Signer) -> Arc<Signer> {
        // A poisoned lock is safe here: each insertion is complete or absent.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.get(&signer) {
            return Arc::clone(same);
        }
        let signer = Arc::new(signer);
        known.insert(Arc::clone(&signer));
        signer
    }
}
