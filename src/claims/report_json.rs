//! Reports as JSON: written, and read back only if a verification could have produced them.

use super::canonical::{Hash, canon_lf};
use super::claim::UNVERIFIED;
use super::error::{Code, Failure};
use super::metrics::Computed;
use super::report::{CHECK_COUNT, Problem, REPORT_VERSION, Report, Status, message};
use super::signer::Scope;
use super::verify::CHECKS;
use crate::json;
use crate::value::Value;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The checks of the receipt chain, which run together or not at all.
const CHAIN: [&str; 6] = ["5.1.2", "5.4.1", "5.4.2", "5.4.3", "5.4.4", "5.4.5"];

/// Whether a check is skipped with some options or inputs.
fn is_optional(check: &str) -> bool {
    matches!(check, "5.1.2" | "5.1.3" | "5.2.3" | "5.2.4")
        || ["5.4.", "5.5.", "5.6."].into_iter().any(|section| check.starts_with(section))
}

impl Report {
    /// The report as canonical JSON with a final line feed.
    pub fn to_json(&self) -> String {
        canon_lf(&value_of(self))
    }

    /// Parses a report; `None` if no verification could have produced it.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        let report: Self = serde_json::from_slice::<ReportDocument>(json).ok()?.into();
        (report.to_json().as_bytes() == json && report.is_consistent()).then_some(report)
    }

    /// Whether checks, error and results are consistent: which results are present depends on the checks
    /// that have passed.
    fn is_consistent(&self) -> bool {
        let end = self.problem.as_ref().map_or(CHECKS.len(), |problem| problem.check);
        let passed = |id| {
            CHECKS
                .iter()
                .zip(self.checks)
                .any(|(check, status)| check.id == id && status == Status::Passed)
        };
        // Check 5.4.6 sets the Merkle root or, if it does not apply, 5.4.5.
        let bound = passed("5.4.6") || CHECKS[..end].iter().any(|check| check.id == "5.4.6");
        let scopes = self.signature_scopes.iter().flatten();
        let all_count = scopes.clone().flatten().all(Option::is_some);
        let hashes = [&self.bundle_id, &self.claim_hash, &self.merkle_root];
        self.checks_fit(end)
            && hashes.into_iter().flatten().all(|hash| Hash::parse(hash).is_some())
            && self.bundle_id.is_some() == passed("5.3.1")
            && self.run_id.is_some() == passed("5.3.1")
            && self.claim_hash.is_some() == passed("5.2.1")
            && (self.unverified_claim_fields.is_empty() || passed("5.2.1"))
            && self.receipt_count.is_some() == passed("5.4.1")
            && self.merkle_root.is_some() == (passed("5.4.5") && bound)
            && self.signature_scopes.is_some() == (passed("5.5.2") || passed("5.5.7"))
            && (self.signature_scopes.is_none()
                || Some(scopes.count() as u64) == self.receipt_count)
            && (all_count || passed("5.5.7"))
            && self.free_artifacts.is_some() == passed("5.7.1")
            && self.repeated_artifacts.is_some() == passed("5.7.1")
            && self.computed.is_some() == passed("5.7.2")
    }

    /// Whether no check before `end` failed, the one at `end` failed, and none ran after it.
    fn checks_fit(&self, end: usize) -> bool {
        let (before, after) = self.checks.split_at(end);
        let before = || CHECKS.iter().zip(before);
        let failed = match (&self.problem, after.split_first()) {
            (None, None) => true,
            (Some(Problem { failure, .. }), Some((first, rest))) => {
                *first == Status::Failed
                    && rest.iter().all(|status| *status == Status::Skipped)
                    && failure.message == message(&failure.message)
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        let mut chain = before().filter(|(check, _)| CHAIN.contains(&check.id));
        let first = chain.next().map(|(_, status)| status);
        failed
            && chain.all(|(_, status)| Some(status) == first)
            && before().all(|(check, status)| match status {
                Status::Passed => true,
                Status::Skipped => is_optional(check.id),
                Status::Failed => false,
            })
    }
}

/// A report as a JSON object, members in the order of their names. Members that follow from other
/// members are written but not read.
#[derive(Serialize, Deserialize)]
struct ReportDocument {
    bundle_id: Option<String>,
    checks: Vec<CheckDocument>,
    claim_hash: Option<String>,
    computed: Option<Computed>,
    error: Option<Problem>,
    #[serde(skip_deserializing)]
    exit_code: u8,
    free_artifacts: Option<u64>,
    merkle_root: Option<String>,
    #[serde(skip_deserializing)]
    ok: bool,
    receipt_count: Option<u64>,
    repeated_artifacts: Option<u64>,
    #[serde(skip_deserializing)]
    report_version: &'static str,
    run_id: Option<String>,
    signature_scopes: Option<Vec<Vec<Option<Scope>>>>,
    unverified_claim_fields: Vec<String>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ReportDocument::from(self.clone()).serialize(serializer)
    }
}

impl From<Report> for ReportDocument {
    fn from(report: Report) -> Self {
        let checks = CHECKS.iter().zip(report.checks);
        Self {
            exit_code: report.exit_code(),
            ok: report.ok(),
            report_version: REPORT_VERSION,
            bundle_id: report.bundle_id,
            checks: checks.map(|(check, status)| CheckDocument { id: check.id, status }).collect(),
            claim_hash: report.claim_hash,
            computed: report.computed,
            error: report.problem,
            free_artifacts: report.free_artifacts,
            merkle_root: report.merkle_root,
            receipt_count: report.receipt_count,
            repeated_artifacts: report.repeated_artifacts,
            run_id: report.run_id,
            signature_scopes: report.signature_scopes,
            unverified_claim_fields: report
                .unverified_claim_fields
                .into_iter()
                .map(str::to_owned)
                .collect(),
        }
    }
}

impl From<ReportDocument> for Report {
    fn from(document: ReportDocument) -> Self {
        let unverified = document.unverified_claim_fields;
        let mut checks = [Status::Skipped; CHECK_COUNT];
        for (status, check) in checks.iter_mut().zip(document.checks) {
            *status = check.status;
        }
        Self {
            problem: document.error,
            bundle_id: document.bundle_id,
            run_id: document.run_id,
            claim_hash: document.claim_hash,
            receipt_count: document.receipt_count,
            merkle_root: document.merkle_root,
            signature_scopes: document.signature_scopes,
            computed: document.computed,
            free_artifacts: document.free_artifacts,
            repeated_artifacts: document.repeated_artifacts,
            unverified_claim_fields: UNVERIFIED
                .into_iter()
                .filter(|name| unverified.iter().any(|other| other == name))
                .collect(),
            checks,
        }
    }
}

/// The outcome of a check; checks are read by their order.
#[derive(Serialize, Deserialize)]
struct CheckDocument {
    #[serde(skip_deserializing)]
    id: &'static str,
    status: Status,
}

/// The error of a report.
#[derive(Serialize, Deserialize)]
struct ProblemDocument {
    check: String,
    code: String,
    message: String,
    path: Option<String>,
    #[serde(skip_deserializing)]
    phase: &'static str,
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Failure { code, message, path } = self.failure.clone();
        let (check, phase) = (CHECKS[self.check].id.into(), code.phase());
        let code = code.name().into();
        ProblemDocument { check, code, message, path, phase }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Problem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ProblemDocument { check, code, message, path, phase: _ } =
            ProblemDocument::deserialize(deserializer)?;
        let check = CHECKS.iter().position(|known| known.id == check);
        let code = Code::ALL.iter().find(|known| known.name() == code);
        Ok(Self {
            check: check.ok_or_else(|| D::Error::custom("unknown check"))?,
            failure: Failure {
                code: *code.ok_or_else(|| D::Error::custom("unknown code"))?,
                message,
                path,
            },
        })
    }
}

/// The metrics of a report.
#[derive(Serialize)]
struct ComputedDocument {
    artifact_count: u64,
    cas_tokens: u64,
    compressed_tokens: u64,
    compression_ratio: f64,
    symbol_lang_tokens: u64,
    total_bytes: u64,
    uncompressed_tokens: u64,
    vector_db_tokens: u64,
}

impl Serialize for Computed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ComputedDocument {
            artifact_count: self.artifact_count,
            cas_tokens: self.cas_tokens,
            compressed_tokens: self.compressed_tokens(),
            compression_ratio: self.compression_ratio(),
            symbol_lang_tokens: self.symbol_lang_tokens,
            total_bytes: self.total_bytes,
            uncompressed_tokens: self.uncompressed_tokens(),
            vector_db_tokens: self.vector_db_tokens,
        }
        .serialize(serializer)
    }
}

/// The JSON value of a document.
#[expect(clippy::expect_used, reason = "a document has names as keys and finite numbers")]
pub(super) fn value_of(document: &impl Serialize) -> Value<'static> {
    let text = serde_json::to_string(document).expect("every document has a JSON form");
    json::parse(&text, json::Limits::default()).expect("serde_json writes valid JSON")
}
