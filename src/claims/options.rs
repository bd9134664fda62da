//! Inputs, options and limits of a verification. Compression Claims section 3.7 defines the options that
//! require a check; the limits bound what a verification reads.

use crate::json;
use std::path::Path;

/// The inputs of a verification: paths, which may be links.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The folder that holds `bundle.json`.
    pub bundle: &'a Path,
    /// The folder of the receipts.
    pub receipts: Option<&'a Path>,
    /// The claim.
    pub claim: &'a Path,
    /// The trust policy.
    pub trust_policy: Option<&'a Path>,
    /// The attestation over all receipts.
    pub merkle_attestation: Option<&'a Path>,
}

/// The progress of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is counted: "receipts" or "artifacts".
    pub what: &'static str,
    /// The number done.
    pub done: usize,
    /// The total number.
    pub total: usize,
}

/// How strictly a claim is verified.
///
/// ```
/// use compactwire::claims::{Limits, Options};
///
/// let options = Options {
///     receipt_quorum: Some(2),
///     limits: Limits { max_depth: 32, ..Limits::default() },
///     ..Options::strict()
/// };
/// assert!(options.require_attestation);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the switches of the specification")]
pub struct Options {
    /// The chain of receipts must verify.
    pub require_verify_chain: bool,
    /// Every receipt must carry a valid attestation.
    pub require_attestation: bool,
    /// Every attestation must come from an enabled validator of the trust policy, within its scope.
    pub strict_trust: bool,
    /// The build of every attestation must be that of the trust policy; implies `strict_trust`.
    pub strict_identity: bool,
    /// The Merkle attestation must verify.
    pub require_merkle_attestation: bool,
    /// How many attestations of each receipt must be valid; `None` requires all.
    pub receipt_quorum: Option<u64>,
    /// Also accept signatures that cover the receipt with its `receipt_hash`.
    pub accept_reference_scope: bool,
    /// The chain must be about this bundle.
    pub bind_receipts: bool,
    /// Every JSON file must be in canonical form, byte for byte.
    pub require_canonical: bool,
    /// Every symbol must cost tokens: its ref begins with `@` and is long enough to count, and no
    /// other symbol has the same ref and slice.
    pub require_symbol_refs: bool,
    /// Limits on the inputs.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            require_verify_chain: true,
            require_attestation: false,
            strict_trust: false,
            strict_identity: false,
            require_merkle_attestation: false,
            receipt_quorum: None,
            accept_reference_scope: true,
            bind_receipts: true,
            require_canonical: false,
            require_symbol_refs: false,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// All requirements. They need a trust policy and a Merkle attestation.
    ///
    /// `accept_reference_scope` stays on: signatures of both scopes cover the whole receipt.
    pub fn strict() -> Self {
        Self {
            require_attestation: true,
            strict_trust: true,
            strict_identity: true,
            require_merkle_attestation: true,
            require_canonical: true,
            require_symbol_refs: true,
            ..Self::default()
        }
    }

    /// Whether the trust policy must accept each signer.
    pub(super) fn trusts(&self) -> bool {
        self.strict_trust || self.strict_identity
    }

    /// Whether attestations are verified.
    pub(super) fn attestations(&self) -> bool {
        self.require_attestation || self.trusts() || self.receipt_quorum.is_some()
    }

    /// Whether the chain is verified. Attestations over an unverified chain would prove nothing.
    pub(super) fn chain(&self) -> bool {
        self.require_verify_chain || self.attestations() || self.require_merkle_attestation
    }
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $default:expr;)*) => {
        /// Limits on the inputs.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// The names of all limits.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// The limit with this name.
            pub fn by_name(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

limits! {
    /// Size of each JSON file other than receipts, in bytes.
    max_json_bytes = 16 << 20;
    /// Size of each receipt, in bytes.
    max_receipt_bytes = 1 << 20;
    /// Nesting depth of containers in JSON.
    max_depth = 128;
    /// Number of digits of an integer.
    max_int_digits = 4300;
    /// Number of steps of a bundle.
    max_steps = 100_000;
    /// Number of artifacts of a bundle.
    max_artifacts = 100_000;
    /// Size of each artifact, in bytes.
    max_artifact_bytes = 64 << 20;
    /// Size of all artifacts, in bytes.
    max_total_bytes = 1 << 30;
    /// Number of files in the receipt folder whose names match the run.
    max_receipts = 200_000;
}

impl Limits {
    pub(super) fn json(&self) -> json::Limits {
        let bounded = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        json::Limits {
            max_depth: bounded(self.max_depth),
            max_digits: bounded(self.max_int_digits),
        }
    }
}
