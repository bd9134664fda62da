//! Compression claims: is it true that these symbols compressed that context so far?
//!
//! [`verify`] recomputes a claim from hashed artifacts, a chain of signed receipts and a trust policy,
//! and accepts nothing that it has not checked. It is deterministic, offline and bounded, and it fails
//! closed: a [`Report`] is `ok` only if each of [`CHECKS`] that applies has passed.
//!
//! | file | says | checked by |
//! |---|---|---|
//! | `bundle.json` | which artifacts were sent, and by which steps | its own hash, the claim, the receipts |
//! | `artifacts/...` | the text | its SHA-256 in the manifest |
//! | `<run_id>_*.json` | what a step of the run was about | the chain of their hashes, signatures |
//! | trust policy | whose signatures count | the caller, who chose it |
//! | Merkle attestation | all receipts of the run | its root, its signature |
//! | claim | how much smaller it became | all of the above |
//!
//! # Rooms
//! `verify` is the list of checks, in order, and `steps` what each does. `options` and `report` are what goes in and comes out,
//! `error` the codes. `files` reads, `schema` parses and judges the form, `canonical` writes what is
//! hashed. `bundle` and `artifacts`, `claim`, `receipt`, `attestation`, `policy`, `merkle` and
//! `metrics` each know one subject; `parallel` does the same work on many of them. `produce` makes
//! what is verified, `key` keeps what it is signed with.
//!
//! # Where we differ
//! The specification contradicts itself in places. A hash is over the canonical form, with the final
//! line feed for receipts, claims and signatures, without it for `bundle_id`. A signature is over the
//! receipt without `receipt_hash`; one over the receipt with it counts unless that is switched off.
//! A trusted `validator_id` counts only with the key that the policy has for it. Receipts must be about
//! the bundle. Links, carriage returns, duplicate members and unexpected metrics are refused.

mod artifacts;
mod attestation;
mod bundle;
mod canonical;
mod claim;
mod error;
mod fields;
mod files;
mod key;
mod make;
mod merkle;
mod metrics;
mod options;
mod parallel;
mod policy;
mod produce;
mod receipt;
mod report;
mod report_json;
mod schema;
mod signed;
mod signer;
mod steps;
mod verify;

pub use error::{Code, Failure, ProduceError, one_line};
pub use key::SigningKey;
pub use metrics::{Computed, estimate as estimate_tokens};
pub use options::{Inputs, Limits, Options, Progress};
pub use produce::{
    Item, Signing, build_bundle, canonical_json, make_claim, make_receipt, make_trust_policy,
    merkle_attestation, merkle_root, parse_json, sign_receipt, verify_merkle_signature, write_json,
    write_receipt,
};
pub use report::{CHECK_COUNT, Problem, Report, Status};
pub use signer::Scope;
pub use verify::{CHECKS, Check, verify};
