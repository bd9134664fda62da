//! Why a claim is refused: the codes of the specification, section 6.
//!
//! A code fixes its phase and its exit code, so that no place can combine them otherwise.

use crate::excerpt::excerpt;
use std::path::{Path, PathBuf};

/// How many code points of the input a report's `path` may show.
const PATH_CHARS: usize = 100;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $phase:literal $exit:literal,)*) => {
        /// An error code of the specification, section 6.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

            /// 1 for a claim that is not true, 2 for input that cannot be judged, 3 for a bug.
            pub fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)* }
            }
        }
    };
}

codes! {
    /// The bundle's folder or its manifest is missing.
    BundleNotFound "BUNDLE_NOT_FOUND" "Input" 2,
    /// The manifest is not what its schema says.
    InvalidBundleSchema "INVALID_BUNDLE_SCHEMA" "Schema" 2,
    /// The claim is not what its schema says.
    InvalidClaimSchema "INVALID_CLAIM_SCHEMA" "Schema" 2,
    /// A receipt is not what its schema says.
    InvalidReceiptSchema "INVALID_RECEIPT_SCHEMA" "Schema" 2,
    /// The trust policy is not what its schema says.
    InvalidTrustPolicySchema "INVALID_TRUST_POLICY_SCHEMA" "Schema" 2,
    /// The bundle is not the one that is named.
    BundleIdMismatch "BUNDLE_ID_MISMATCH" "Bundle" 1,
    /// The list of artifacts is not the one that is named.
    RootHashMismatch "ROOT_HASH_MISMATCH" "Bundle" 1,
    /// An artifact is not the one that is named.
    ArtifactHashMismatch "ARTIFACT_HASH_MISMATCH" "Bundle" 1,
    /// An artifact is a slice of everything.
    ForbiddenAllSlice "FORBIDDEN_ALL_SLICE" "Bundle" 1,
    /// No step reads an artifact.
    UnboundedArtifact "UNBOUNDED_ARTIFACT" "Bundle" 1,
    /// The manifest holds a time, a place or a path that it may not.
    ForbiddenField "FORBIDDEN_FIELD" "Bundle" 1,
    /// A receipt does not follow the one before it.
    ReceiptChainBroken "RECEIPT_CHAIN_BROKEN" "Receipt" 1,
    /// A receipt is not what its hash says.
    ReceiptHashMismatch "RECEIPT_HASH_MISMATCH" "Receipt" 1,
    /// The numbers of the receipts are not 0, 1, 2 and so on.
    ReceiptIndexGap "RECEIPT_INDEX_GAP" "Receipt" 1,
    /// Receipts are required and there are none.
    MissingReceipts "MISSING_RECEIPTS" "Receipt" 2,
    /// An attestation is required and there is none.
    AttestationMissing "ATTESTATION_MISSING" "Attestation" 1,
    /// A signature does not verify.
    AttestationInvalid "ATTESTATION_INVALID" "Attestation" 1,
    /// The trust policy does not know the signer.
    ValidatorNotFound "VALIDATOR_NOT_FOUND" "Trust" 1,
    /// The trust policy has switched the signer off.
    ValidatorDisabled "VALIDATOR_DISABLED" "Trust" 1,
    /// The trust policy does not let the signer sign this.
    ScopeMismatch "SCOPE_MISMATCH" "Trust" 1,
    /// The signer's build is not the one of the trust policy.
    BuildIdMismatch "BUILD_ID_MISMATCH" "Trust" 1,
    /// The Merkle root is not that of the receipts.
    MerkleRootMismatch "MERKLE_ROOT_MISMATCH" "Merkle" 1,
    /// The Merkle attestation does not verify, or is about other receipts.
    MerkleAttestationInvalid "MERKLE_ATTESTATION_INVALID" "Merkle" 1,
    /// The claim is about something that cannot be computed yet.
    NotImplemented "NOT_IMPLEMENTED" "Metric" 1,
    /// A metric is not what the artifacts give.
    MetricMismatch "METRIC_MISMATCH" "Metric" 1,
    /// A component or a count is not what the artifacts give.
    ComponentMismatch "COMPONENT_MISMATCH" "Metric" 1,
    /// A bug in this program; no input reaches it.
    InternalError "INTERNAL_ERROR" "System" 3,
}

/// The first reason why a claim is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The specification's code.
    pub code: Code,
    /// One line of English, a function of the inputs alone.
    pub message: String,
    /// Which input, by its role: never where it lies on the disk.
    pub path: Option<String>,
}

impl Failure {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), path: None }
    }

    pub(super) fn at(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// What was checked before is not so: a bug.
    #[cold]
    pub(super) fn internal(what: &str) -> Self {
        Self::new(Code::InternalError, format!("internal error: {what}"))
    }
}

/// Why a producer refuses to write what no verification would accept, or cannot write it.
#[derive(Debug, thiserror::Error)]
pub enum ProduceError {
    /// An argument that no verification would accept.
    #[error("{field}: {message}")]
    Argument {
        /// Which argument.
        field: &'static str,
        /// Why, and what to do.
        message: String,
    },
    /// A manifest, receipt or claim that is given does not verify.
    #[error("{}", .0.message)]
    Refused(Failure),
    /// The system has no randomness for a key.
    #[error("the system has no randomness to make a key of")]
    Randomness,
    /// Something stands where a file or folder should be written.
    #[error("{}: {message}", excerpt(&path.to_string_lossy()))]
    Occupied {
        /// Where.
        path: PathBuf,
        /// What, and what to do.
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

/// A path of the input as a report shows it, cut where it is long.
pub(super) fn cut(path: &str) -> &str {
    path.char_indices().nth(PATH_CHARS).map_or(path, |(end, _)| &path[..end])
}

/// A text of the input on one line, which no terminal takes for a command: what is not to be seen, or
/// changes the direction of what follows, is escaped.
pub fn one_line(text: &str) -> String {
    // Debug escapes quotes and backslashes too, which are harmless here.
    let escape = |char: char| match char {
        '"' | '\'' | '\\' => char.to_string(),
        _ => char.escape_debug().to_string(),
    };
    text.chars().map(escape).collect()
}

/// The place of artifact `path`, or of another text of the input.
pub(super) fn quoted(text: &str) -> String {
    excerpt(text)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn nothing_unseen_and_no_new_line_is_left() {
        let hostile = "a\x1b[2J\r\n\u{9b}\u{202e}\u{2066}\u{2028}\u{200b}\0\u{feff}";
        let shown = one_line(hostile);
        assert!(shown.is_ascii() && !shown.contains(|char: char| char.is_control()), "{shown}");
        assert_eq!(one_line("Wörter, \"quoted\" \\ 한국어 😀"), "Wörter, \"quoted\" \\ 한국어 😀");
        assert_eq!(one_line(&shown), shown);
    }
}
