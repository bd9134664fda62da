//! Errors: the codes of the specification (section 6) for refused claims, and those of producers.
//!
//! Each code has a fixed phase and exit code.

use crate::excerpt::excerpt;
use std::path::{Path, PathBuf};

/// The maximum length of a report's `path`, in code points.
const PATH_CHARS: usize = 100;

macro_rules! claim_codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $phase:literal $exit:literal,)*) => {
        /// An error code of the specification, section 6.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// All codes, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code as the specification writes it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The phase of the verification that it belongs to.
            pub fn phase(self) -> &'static str {
                match self { $(Self::$variant => $phase,)* }
            }

            /// 1 for a false claim, 2 for input that cannot be verified, 3 for a bug.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }
        }
    };
}

claim_codes! {
    /// The bundle's folder or its manifest is missing.
    BundleNotFound "BUNDLE_NOT_FOUND" "Input" 2,
    /// The manifest does not match its schema.
    InvalidBundleSchema "INVALID_BUNDLE_SCHEMA" "Schema" 2,
    /// The claim does not match its schema.
    InvalidClaimSchema "INVALID_CLAIM_SCHEMA" "Schema" 2,
    /// A receipt does not match its schema.
    InvalidReceiptSchema "INVALID_RECEIPT_SCHEMA" "Schema" 2,
    /// The trust policy does not match its schema.
    InvalidTrustPolicySchema "INVALID_TRUST_POLICY_SCHEMA" "Schema" 2,
    /// The bundle's id differs from the computed or claimed one.
    BundleIdMismatch "BUNDLE_ID_MISMATCH" "Bundle" 1,
    /// The root hash differs from that of the listed artifacts.
    RootHashMismatch "ROOT_HASH_MISMATCH" "Bundle" 1,
    /// An artifact's content does not match its hash.
    ArtifactHashMismatch "ARTIFACT_HASH_MISMATCH" "Bundle" 1,
    /// The slice of an artifact selects everything.
    ForbiddenAllSlice "FORBIDDEN_ALL_SLICE" "Bundle" 1,
    /// No step reads an artifact.
    UnboundedArtifact "UNBOUNDED_ARTIFACT" "Bundle" 1,
    /// The manifest contains a time, host or absolute path.
    ForbiddenField "FORBIDDEN_FIELD" "Bundle" 1,
    /// A receipt does not name the hash of the one before it.
    ReceiptChainBroken "RECEIPT_CHAIN_BROKEN" "Receipt" 1,
    /// A receipt does not match its hash.
    ReceiptHashMismatch "RECEIPT_HASH_MISMATCH" "Receipt" 1,
    /// The indices of the receipts are not 0, 1, 2 and so on.
    ReceiptIndexGap "RECEIPT_INDEX_GAP" "Receipt" 1,
    /// Receipts are required and there are none.
    MissingReceipts "MISSING_RECEIPTS" "Receipt" 2,
    /// An attestation is required and there is none.
    AttestationMissing "ATTESTATION_MISSING" "Attestation" 1,
    /// A signature does not verify.
    AttestationInvalid "ATTESTATION_INVALID" "Attestation" 1,
    /// The trust policy does not know the signer.
    ValidatorNotFound "VALIDATOR_NOT_FOUND" "Trust" 1,
    /// The signer is disabled in the trust policy.
    ValidatorDisabled "VALIDATOR_DISABLED" "Trust" 1,
    /// The trust policy does not allow the signer to sign this kind of file.
    ScopeMismatch "SCOPE_MISMATCH" "Trust" 1,
    /// The signer's build differs from the one in the trust policy.
    BuildIdMismatch "BUILD_ID_MISMATCH" "Trust" 1,
    /// The Merkle root is not that of the receipts.
    MerkleRootMismatch "MERKLE_ROOT_MISMATCH" "Merkle" 1,
    /// The Merkle attestation does not verify, or is about other receipts.
    MerkleAttestationInvalid "MERKLE_ATTESTATION_INVALID" "Merkle" 1,
    /// The claim includes a component that cannot be computed.
    NotImplemented "NOT_IMPLEMENTED" "Metric" 1,
    /// A claimed metric differs from the computed one.
    MetricMismatch "METRIC_MISMATCH" "Metric" 1,
    /// A claimed component or count differs from the computed one.
    ComponentMismatch "COMPONENT_MISMATCH" "Metric" 1,
    /// A bug in this program; no input should cause it.
    InternalError "INTERNAL_ERROR" "System" 3,
}

/// Why a claim is refused: the first check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The specification's code.
    pub code: Code,
    /// One line of English that depends on the inputs only.
    pub message: String,
    /// The file, named by its role, and a JSON Pointer into it; never its path on disk.
    pub path: Option<String>,
}

impl Failure {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None }
    }

    pub(super) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// An internal inconsistency: a bug in this program.
    #[cold]
    pub(super) fn internal(what: &str) -> Self {
        Self::new(Code::InternalError, format!("internal error: {what}"))
    }
}

/// Why a producer fails: the result would not verify, or cannot be written.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum ProduceError {
    /// An argument whose result would not verify.
    #[error("{field}: {message}")]
    Argument {
        /// The argument.
        field: &'static str,
        /// Why, and what to do.
        message: String,
    },
    /// A given manifest, receipt or claim does not verify.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The system cannot provide random bytes for a key.
    #[error("the system provides no randomness for a new key")]
    Randomness,
    /// Something else exists where a file or folder should be written.
    #[error("{}: {message}", excerpt(&path.to_string_lossy()))]
    Occupied {
        /// The path.
        path: PathBuf,
        /// The kind of file that exists there, and what to do.
        message: String,
    },
    /// A file cannot be written or read.
    #[error("{}: {error}", excerpt(&path.to_string_lossy()))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

impl From<Failure> for ProduceError {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

impl ProduceError {
    pub(super) fn argument(field: &'static str, message: impl Into<String>) -> Self {
        Self::Argument { field, message: message.into() }
    }

    pub(super) fn occupied(path: &Path, message: impl Into<String>) -> Self {
        Self::Occupied { path: path.to_owned(), message: message.into() }
    }

    pub(super) fn io(path: &Path, error: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }
}

/// A path for a report, cut to its maximum length.
pub(super) fn cut(path: &str) -> &str {
    path.char_indices().nth(PATH_CHARS).map_or(path, |(end, _)| &path[..end])
}

/// A string of the input, quoted and cut for a message.
pub(super) fn quoted(text: &str) -> String {
    excerpt(text)
}
