//! The verdict: design section 13.
//!
//! Invariant: a report is a function of the inputs and the options. It holds no time, no host and no
//! place on the disk, and its canonical JSON is the same to the byte wherever it is made.

use super::error::{Code, Failure, one_line};
use super::metrics::Computed;
use super::signer::Scope;

/// How many checks a verification has.
pub const CHECK_COUNT: usize = 44;

/// How many characters a message has at most.
const MESSAGE_CHARS: usize = 300;

/// What became of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It has passed.
    Passed,
    /// It has failed, and ended the verification.
    Failed,
    /// It does not apply, or comes after the one that failed.
    Skipped,
}

impl Status {
    pub(super) const ALL: [Self; 3] = [Self::Passed, Self::Failed, Self::Skipped];

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
    /// The code, the message, the input.
    pub failure: Failure,
    /// The check, an index of [`CHECKS`](super::CHECKS).
    pub check: usize,
}

/// The verdict over a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Why the claim is refused; `None` if it is true.
    pub problem: Option<Problem>,
    /// The id of the bundle, once it has been recomputed.
    pub bundle_id: Option<String>,
    /// The run of the bundle, once its id has been recomputed.
    pub run_id: Option<String>,
    /// The hash of the claim, once it has been recomputed.
    pub claim_hash: Option<String>,
    /// How many receipts the run has.
    pub receipt_count: Option<u64>,
    /// The Merkle root over a chain that has been verified.
    pub merkle_root: Option<String>,
    /// The scope of each signature of each receipt; `None` where one did not count.
    pub signature_scopes: Option<Vec<Vec<Option<Scope>>>>,
    /// What the artifacts give.
    pub computed: Option<Computed>,
    /// Members of the claim that nothing here can check.
    pub unverified_claim_fields: Vec<&'static str>,
    /// What became of each of [`CHECKS`](super::CHECKS).
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

    /// 0 for a claim that is true, otherwise that of the code.
    pub fn exit_code(&self) -> u8 {
        self.problem.as_ref().map_or(0, |problem| problem.failure.code.exit_code())
    }

    pub(super) fn fail(&mut self, check: usize, mut failure: Failure) {
        failure.message = message(&failure.message);
        self.checks[check] = Status::Failed;
        self.problem = Some(Problem { failure, check });
    }
}

/// A message as reports have it: one line that can be seen, of bounded length.
pub(super) fn message(text: &str) -> String {
    one_line(text).chars().take(MESSAGE_CHARS).collect()
}

/// The report of a bug that was caught.
pub(super) fn bug() -> Failure {
    Failure::new(Code::InternalError, "internal error: please report it with the inputs")
}
