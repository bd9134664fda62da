//! The Merkle root of a chain of receipts, and its attestation. Compression Claims sections 3.6 and 5.6.

use super::attestation::Key;
use super::bundle::Manifest;
use super::canonical::Hash;
use super::error::{Code, Failure};
use super::fields;
use super::receipt::Receipt;
use super::signer::Signer;
use crate::text::hex;
use crate::value::Value;
use sha2::{Digest, Sha256};

/// The name of the attestation in a report's `path`.
pub(super) const ATTESTATION: &str = "merkle_attestation.json";

/// The Merkle root of hashes; on each level, an unpaired last hash is paired with itself. `None` if
/// there are none.
pub(super) fn root(mut level: Vec<Hash>) -> Option<Hash> {
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| node(pair[0], pair[pair.len() - 1])).collect();
    }
    level.first().copied()
}

fn node(left: Hash, right: Hash) -> Hash {
    Hash(Sha256::new().chain_update(left.0).chain_update(right.0).finalize().into())
}

/// The signed bytes.
pub(super) fn message(root: Hash, signer: &Signer) -> Vec<u8> {
    let text = |text: &Option<Box<str>>| text.as_deref().unwrap_or_default().as_bytes().to_vec();
    [
        b"CAT_CHAT_MERKLE_V1:".to_vec(),
        root.0.to_vec(),
        b"|VID:".to_vec(),
        text(&signer.validator_id),
        b"|BID:".to_vec(),
        text(&signer.build_id),
        b"|PK:".to_vec(),
        signer.public_key.unwrap_or_default().to_vec(),
    ]
    .concat()
}

/// The facts of an attestation.
#[derive(Debug)]
pub(super) struct Attestation {
    pub(super) signer: Signer,
    pub(super) root: Hash,
    signature: [u8; 64],
    pub(super) receipt_count: Option<u64>,
    pub(super) head: Option<Hash>,
    run_id: Option<String>,
    job_id: Option<String>,
    bundle_id: Option<String>,
}

impl Attestation {
    /// Extracts the facts from a value that matches the schema.
    pub(super) fn new(value: &Value<'_>) -> Result<Self, Failure> {
        let optional =
            |name| Ok::<_, Failure>(fields::optional_text(value, name)?.map(str::to_owned));
        Ok(Self {
            signer: Signer::new(value)?,
            root: fields::hash(value, "merkle_root")?,
            signature: hex::decode(fields::text(value, "signature")?.as_bytes())
                .ok_or_else(|| Failure::internal("the schema accepted an invalid signature"))?,
            receipt_count: fields::optional_natural(value, "receipt_count")?,
            head: fields::optional_hash(value, "receipt_chain_head_hash")?,
            run_id: optional("run_id")?,
            job_id: optional("job_id")?,
            bundle_id: optional("bundle_id")?,
        })
    }

    /// Check 5.6.2: the signature.
    pub(super) fn check_signature(&self) -> Result<(), Failure> {
        let key = self.signer.public_key.and_then(Key::new);
        let message = message(self.root, &self.signer);
        if key.is_some_and(|key| key.verifies(&message, &self.signature)) {
            return Ok(());
        }
        Err(invalid("the signature does not verify", "/signature"))
    }

    /// Check 5.6.4: the number of receipts.
    pub(super) fn check_count(&self, receipts: &[Receipt]) -> Result<(), Failure> {
        let count = receipts.len() as u64;
        if self.receipt_count.is_none_or(|expected| expected == count) {
            return Ok(());
        }
        Err(invalid(format!("the chain has {count} receipts"), "/receipt_count"))
    }

    /// Check 5.6.5: the last receipt.
    pub(super) fn check_head(&self, receipts: &[Receipt]) -> Result<(), Failure> {
        let last = receipts.last().map(|receipt| receipt.hash);
        if self.head.is_none() || self.head == last {
            return Ok(());
        }
        Err(invalid("the last receipt of the chain has another hash", "/receipt_chain_head_hash"))
    }

    /// Whether the attestation names a run, a job or a bundle.
    pub(super) fn names_subject(&self) -> bool {
        self.run_id.is_some() || self.job_id.is_some() || self.bundle_id.is_some()
    }

    /// Check 5.6.6: the run, the job, the bundle.
    pub(super) fn check_subject(
        &self,
        manifest: &Manifest,
        receipts: &[Receipt],
    ) -> Result<(), Failure> {
        if self.run_id.as_ref().is_some_and(|run_id| *run_id != manifest.run_id) {
            return Err(invalid("the attestation is about another run", "/run_id"));
        }
        let any = |same: &dyn Fn(&Receipt) -> bool| receipts.iter().any(same);
        let job = self.job_id.as_ref().map(Hash::of);
        if job.is_some_and(|job| !any(&|receipt| receipt.job == job)) {
            return Err(invalid("no receipt belongs to this job", "/job_id"));
        }
        let bundle = self.bundle_id.as_ref();
        if bundle.is_some_and(|bundle| !any(&|receipt| receipt.bundle_id.to_string() == *bundle)) {
            return Err(invalid("no receipt is about this bundle", "/bundle_id"));
        }
        Ok(())
    }
}

fn invalid(message: impl Into<String>, pointer: &str) -> Failure {
    Failure::new(Code::MerkleAttestationInvalid, message).at(format!("{ATTESTATION}#{pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_of_one_receipt_is_its_hash_and_of_none_is_none() {
        let hash = Hash::of("a");
        assert_eq!(root(vec![hash]), Some(hash));
        assert_eq!(root(vec![]), None);
    }

    #[test]
    fn unpaired_node_is_paired_with_itself_on_every_level() {
        let leaves: Vec<Hash> = (0..5).map(|leaf| Hash::of([leaf])).collect();
        let lonely = node(leaves[4], leaves[4]);
        let pairs = node(node(leaves[0], leaves[1]), node(leaves[2], leaves[3]));
        let expected = node(pairs, node(lonely, lonely));
        assert_eq!(root(leaves), Some(expected));
    }
}
