//! Compression claims: verifies how much a context was compressed.
//!
//! [`verify`] recomputes a claim from hashed artifacts, a chain of signed receipts and a trust
//! policy, and accepts only what it has checked. It is deterministic, offline and bounded, and it
//! fails closed: a [`Report`] is `ok` only if each of [`CHECKS`] that applies has passed.
//!
//! | file | content | checked against |
//! |---|---|---|
//! | `bundle.json` | the artifacts that were sent, and the steps that read them | its own hash, the claim, the receipts |
//! | `artifacts/...` | the text | its SHA-256 in the manifest |
//! | `<run_id>_*.json` | receipts: one per step of the run | the chain of their hashes, signatures |
//! | trust policy | the accepted signers | nothing: the caller chooses it |
//! | Merkle attestation | all receipts of the run | its root, its signature |
//! | claim | the claimed savings | all of the above |
//!
//! # Modules
//! `verify` lists the checks in order, and `steps` implements them. `options` are the inputs,
//! `report` and `report_json` the result, `error` the codes. `files` opens and reads files,
//! `schema` parses and validates them, `fields` reads their members, `canonical` writes the text that
//! is hashed. `bundle`, `artifacts`, `claim`, `receipt`, `attestation` (with `signer` and `signed`),
//! `policy`, `merkle` and `metrics` each handle the subject of their name. `produce` creates the files that
//! `verify` checks, `make` constructs JSON values, `key` holds signing keys, and `engine` says which code verifies
//! signatures.
//!
//! # Speed
//! On x86-64, a program that is compiled with `--cfg curve25519_dalek_backend="avx512"` (in `rustflags`, as in
//! `.cargo/config.toml` of the repository) verifies a signature in two thirds of the time, if the processor has
//! AVX-512 IFMA. The Python package is compiled so. Other processors use AVX2 or none of both, found at run time.
//!
//! # Where we differ
//! The specification contradicts itself in places. A hash covers the canonical form: with the final
//! line feed for receipts, claims and signatures, without it for `bundle_id`. A signature covers
//! the receipt without `receipt_hash`; a signature that covers `receipt_hash`, too, is accepted unless
//! an option forbids that. A trusted `validator_id` is accepted only with the key that the policy
//! lists for it. Receipts must be about the bundle. Links, carriage returns, duplicate members and
//! unexpected metrics are refused.

mod artifacts;
mod attestation;
mod bundle;
mod canonical;
mod claim;
mod engine;
mod error;
mod fields;
mod files;
mod key;
mod make;
mod merkle;
mod metrics;
mod options;
mod policy;
mod produce;
mod receipt;
mod report;
mod report_json;
mod schema;
#[cfg(test)]
mod scratch;
mod signed;
mod signer;
mod steps;
mod verify;

pub use crate::excerpt::one_line;
pub use engine::{engine, engines};
pub use error::{Code, Failure, ProduceError};
pub use key::SigningKey;
pub use metrics::{Computed, estimate as estimate_tokens};
pub use options::{Inputs, Limits, Options, Progress};
pub use produce::{
    Bundle, Item, Signing, build_bundle, canonical_json, make_claim, make_receipt,
    make_trust_policy, merkle_attestation, merkle_root, parse_json, sign_receipt,
    verify_merkle_signature, write_json, write_receipt,
};
pub use report::{CHECK_COUNT, Problem, REPORT_VERSION, Report, Status};
pub use signer::Scope;
pub use verify::{CHECKS, Check, verify};
