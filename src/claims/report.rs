//! The report of a verification.
//!
//! Invariant: a report depends only on the inputs and the options. It contains no time, host or
//! location on disk, so that its canonical JSON has the same bytes on every machine.

use super::error::{Code, Failure};
use super::metrics::Computed;
use super::signer::Scope;
use crate::excerpt::one_line;
use serde::{Deserialize, Serialize};

/// The number of checks.
pub const CHECK_COUNT: usize = 44;

/// The version of the structure of the JSON form.
pub const REPORT_VERSION: &str = "1.0.0";

/// The maximum length of a message, in characters.
const MESSAGE_CHARS: usize = 300;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Status {
    /// The check passed.
    Passed,
    /// The check failed and ended the verification.
    Failed,
    /// The check does not apply, or follows the one that failed.
    Skipped,
}

impl Status {
    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Why a claim was refused, and by which check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Code, message and input.
    pub failure: Failure,
    /// The check, as an index into [`CHECKS`](super::CHECKS).
    pub check: usize,
}

/// The result of verifying a claim. Serde writes the members of its JSON form.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Why the claim is refused; `None` if it is accepted.
    pub problem: Option<Problem>,
    /// The id of the bundle, once it has been recomputed.
    pub bundle_id: Option<String>,
    /// The run of the bundle, once its id has been recomputed.
    pub run_id: Option<String>,
    /// The hash of the claim, once it has been recomputed.
    pub claim_hash: Option<String>,
    /// The number of receipts of the run.
    pub receipt_count: Option<u64>,
    /// The Merkle root of the verified chain.
    pub merkle_root: Option<String>,
    /// The scope of each signature of each receipt; `None` where a signature did not count.
    pub signature_scopes: Option<Vec<Vec<Option<Scope>>>>,
    /// The metrics computed from the artifacts.
    pub computed: Option<Computed>,
    /// The number of artifacts that count no compressed tokens although their text counts uncompressed
    /// ones.
    pub free_artifacts: Option<u64>,
    /// The number of artifacts whose text counts tokens and equals the text of an earlier artifact.
    pub repeated_artifacts: Option<u64>,
    /// Members of the claim that cannot be verified.
    pub unverified_claim_fields: Vec<&'static str>,
    /// The outcome of each of [`CHECKS`](super::CHECKS).
    pub checks: [Status; CHECK_COUNT],
}

impl Default for Report {
    fn default() -> Self {
        Self {
            problem: None,
            bundle_id: None,
            run_id: None,
            claim_hash: None,
            receipt_count: None,
            merkle_root: None,
            signature_scopes: None,
            computed: None,
            free_artifacts: None,
            repeated_artifacts: None,
            unverified_claim_fields: Vec::new(),
            checks: [Status::Skipped; CHECK_COUNT],
        }
    }
}

impl Report {
    /// Whether every check that applies has passed.
    pub fn ok(&self) -> bool {
        self.problem.is_none()
    }

    /// 0 if the claim is accepted, otherwise the exit code of the error code.
    pub fn exit_code(&self) -> u8 {
        self.problem.as_ref().map_or(0, |problem| problem.failure.code.exit_code())
    }

    pub(super) fn fail(&mut self, check: usize, mut failure: Failure) {
        failure.message = message(&failure.message);
        self.checks[check] = Status::Failed;
        self.problem = Some(Problem { failure, check });
    }
}

/// A message for a report: one line, printable, of bounded length.
pub(super) fn message(text: &str) -> String {
    one_line(text).chars().take(MESSAGE_CHARS).collect()
}

/// The failure for a bug: a caught panic, or a missing result of an earlier check.
pub(super) fn bug() -> Failure {
    Failure::new(Code::InternalError, "internal error: please report it with the inputs")
}
