//! Trust policies: which signers are accepted. Compression Claims section 3.4.
//!
//! Invariant: an entry is looked up by the validator's id if there is one, and the signature's key must
//! equal the entry's key, because a signature does not prove an id.

use super::error::{Code, Failure, quoted};
use super::fields;
use super::schema::Violation;
use super::signer::Signer;
use crate::text::hex;
use crate::value::Value;
use std::collections::HashMap;

/// The kinds of files that a validator may sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    Receipts,
    MerkleRoots,
}

impl Signs {
    fn name(self) -> &'static str {
        match self {
            Self::Receipts => "RECEIPT",
            Self::MerkleRoots => "MERKLE",
        }
    }

    /// The error code for a signature with another key than the one in the policy.
    fn invalid(self) -> Code {
        match self {
            Self::Receipts => Code::AttestationInvalid,
            Self::MerkleRoots => Code::MerkleAttestationInvalid,
        }
    }
}

/// An entry of the policy: a validator.
#[derive(Debug)]
pub(super) struct Entry {
    public_key: [u8; 32],
    build_id: Option<String>,
    scope: Vec<String>,
    enabled: bool,
}

/// A trust policy.
#[derive(Debug, Default)]
pub(super) struct Policy {
    entries: Vec<Entry>,
    by_id: HashMap<String, usize>,
    by_key: HashMap<[u8; 32], usize>,
}

impl Policy {
    /// Extracts the policy from a value that matches the schema, and refuses duplicates.
    pub(super) fn new(value: &Value<'_>) -> Result<Result<Self, Violation>, Failure> {
        let mut policy = Self::default();
        for (at, entry) in fields::array(value, "allow")?.iter().enumerate() {
            let public_key = hex::decode(fields::text(entry, "public_key")?.as_bytes())
                .ok_or_else(|| Failure::internal("the schema accepted an invalid key"))?;
            let scope = fields::array(entry, "scope")?;
            policy.entries.push(Entry {
                public_key,
                build_id: fields::optional_text(entry, "build_id")?.map(str::to_owned),
                scope: scope.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                enabled: fields::boolean(entry, "enabled")?,
            });
            let id = fields::text(entry, "validator_id")?.to_owned();
            if policy.by_id.insert(id, at).is_some() {
                let pointer = format!("/allow/{at}/validator_id");
                return Ok(Err(Violation::at("two entries have this validator_id", pointer)));
            }
            if policy.by_key.insert(public_key, at).is_some() {
                let pointer = format!("/allow/{at}/public_key");
                return Ok(Err(Violation::at("two entries have this public_key", pointer)));
            }
        }
        Ok(Ok(policy))
    }

    /// The keys of all entries, in their order.
    pub(super) fn keys(&self) -> impl Iterator<Item = [u8; 32]> + '_ {
        self.entries.iter().map(|entry| entry.public_key)
    }

    /// The entry of a signer; fails if its key is not the signer's.
    pub(super) fn entry(&self, signer: &Signer, signs: Signs) -> Result<&Entry, Failure> {
        let found = match &signer.validator_id {
            Some(id) => self.by_id.get(&**id),
            None => signer.public_key.and_then(|key| self.by_key.get(&key)),
        };
        let Some(entry) = found.and_then(|at| self.entries.get(*at)) else {
            return Err(Failure::new(
                Code::ValidatorNotFound,
                match &signer.validator_id {
                    Some(id) => format!("the trust policy has no validator {}", quoted(id)),
                    None => "the trust policy has no validator with this key".into(),
                },
            ));
        };
        if signer.public_key != Some(entry.public_key) {
            let message = "the signature is by another key than the one in the trust policy for this validator";
            return Err(Failure::new(signs.invalid(), message));
        }
        Ok(entry)
    }
}

impl Entry {
    pub(super) fn check_enabled(&self) -> Result<(), Failure> {
        if self.enabled {
            return Ok(());
        }
        let message = "this validator is disabled in the trust policy";
        Err(Failure::new(Code::ValidatorDisabled, message))
    }

    pub(super) fn check_scope(&self, signs: Signs) -> Result<(), Failure> {
        if self.scope.iter().any(|scope| scope == signs.name()) {
            return Ok(());
        }
        let message =
            format!("the trust policy does not allow this validator the scope {}", signs.name());
        Err(Failure::new(Code::ScopeMismatch, message))
    }

    pub(super) fn check_build(&self, signer: &Signer) -> Result<(), Failure> {
        if self.build_id.as_deref() == signer.build_id.as_deref() {
            return Ok(());
        }
        let name = |build: Option<&str>| build.map_or("none".into(), quoted);
        let message = format!(
            "the attestation's build_id is {}, the trust policy's {}",
            name(signer.build_id.as_deref()),
            name(self.build_id.as_deref())
        );
        Err(Failure::new(Code::BuildIdMismatch, message))
    }
}
