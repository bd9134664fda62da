//! Reports as JSON: written, and read back only if a verification could have produced them. Design
//! section 13.

use super::canonical::{Hash, canon_lf};
use super::claim::UNVERIFIED;
use super::error::{Code, Failure};
use super::fields;
use super::make::{number, object, text};
use super::metrics::Computed;
use super::report::{CHECK_COUNT, Problem, Report, Status, bug, message};
use super::signer::Scope;
use super::verify::CHECKS;
use crate::json;
use crate::value::Value;

const VERSION: &str = "1.0.0";

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
        canon_lf(&self.to_value())
    }

    /// Parses a report; `None` if no verification could have produced it.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        let value = json::parse(std::str::from_utf8(json).ok()?, json::Limits::default()).ok()?;
        let report = Self::from_value(&value).ok()?;
        (report.to_json().as_bytes() == json && report.is_consistent()).then_some(report)
    }

    /// Whether checks, error and results are consistent: section 13 defines when each result is
    /// present.
    fn is_consistent(&self) -> bool {
        let end = self.problem.as_ref().map_or(CHECKS.len(), |problem| problem.check);
        let passed = |id| {
            CHECKS
                .iter()
                .zip(self.checks)
                .any(|(check, status)| check.id == id && status == Status::Passed)
        };
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

    fn from_value(value: &Value<'_>) -> Result<Self, Failure> {
        let optional =
            |name| Ok::<_, Failure>(fields::optional_text(value, name)?.map(str::to_owned));
        let mut report = Self {
            problem: present(value, "error").map(Problem::from_value).transpose()?,
            bundle_id: optional("bundle_id")?,
            run_id: optional("run_id")?,
            claim_hash: optional("claim_hash")?,
            receipt_count: fields::optional_natural(value, "receipt_count")?,
            merkle_root: optional("merkle_root")?,
            signature_scopes: present(value, "signature_scopes").map(read_scopes),
            computed: present(value, "computed").map(Computed::from_value).transpose()?,
            unverified_claim_fields: Vec::new(),
            checks: [Status::Skipped; CHECK_COUNT],
        };
        let unverified = fields::array(value, "unverified_claim_fields")?;
        let known = |name: &&str| unverified.iter().any(|other| other.as_str() == Some(name));
        report.unverified_claim_fields = UNVERIFIED.into_iter().filter(known).collect();
        for (check, status) in report.checks.iter_mut().zip(fields::array(value, "checks")?) {
            let name = fields::text(status, "status")?;
            let found = Status::ALL.into_iter().find(|status| status.name() == name);
            *check = found.ok_or_else(bug)?;
        }
        Ok(report)
    }

    /// The report as a JSON value, members sorted by name.
    pub fn to_value(&self) -> Value<'static> {
        let checks = CHECKS.iter().zip(self.checks).map(|(check, status)| {
            object([("id", text(check.id)), ("status", text(status.name()))])
        });
        let unverified = self.unverified_claim_fields.iter().map(|name| text(name));
        object([
            ("bundle_id", optional(self.bundle_id.as_deref(), text)),
            ("checks", Value::Array(checks.collect())),
            ("claim_hash", optional(self.claim_hash.as_deref(), text)),
            ("computed", optional(self.computed.as_ref(), Computed::to_value)),
            ("error", optional(self.problem.as_ref(), Problem::to_value)),
            ("exit_code", Value::Int(self.exit_code().into())),
            ("merkle_root", optional(self.merkle_root.as_deref(), text)),
            ("ok", Value::Bool(self.ok())),
            ("receipt_count", optional(self.receipt_count, number)),
            ("report_version", text(VERSION)),
            ("run_id", optional(self.run_id.as_deref(), text)),
            ("signature_scopes", optional(self.signature_scopes.as_deref(), scopes)),
            ("unverified_claim_fields", Value::Array(unverified.collect())),
        ])
    }
}

impl Problem {
    fn from_value(value: &Value<'_>) -> Result<Self, Failure> {
        let (code, check) = (fields::text(value, "code")?, fields::text(value, "check")?);
        let failure = Failure {
            code: *Code::ALL.iter().find(|known| known.name() == code).ok_or_else(bug)?,
            message: fields::text(value, "message")?.to_owned(),
            path: fields::optional_text(value, "path")?.map(str::to_owned),
        };
        let check = CHECKS.iter().position(|known| known.id == check).ok_or_else(bug)?;
        Ok(Self { failure, check })
    }

    fn to_value(&self) -> Value<'static> {
        let Failure { code, message, path } = &self.failure;
        object([
            ("check", text(CHECKS[self.check].id)),
            ("code", text(code.name())),
            ("message", text(message)),
            ("path", optional(path.as_deref(), text)),
            ("phase", text(code.phase())),
        ])
    }
}

impl Computed {
    fn from_value(value: &Value<'_>) -> Result<Self, Failure> {
        Ok(Self {
            artifact_count: fields::natural(value, "artifact_count")?,
            total_bytes: fields::natural(value, "total_bytes")?,
            vector_db_tokens: fields::natural(value, "vector_db_tokens")?,
            symbol_lang_tokens: fields::natural(value, "symbol_lang_tokens")?,
            cas_tokens: fields::natural(value, "cas_tokens")?,
        })
    }

    /// The metrics as a JSON value, members sorted by name.
    pub fn to_value(&self) -> Value<'static> {
        object([
            ("artifact_count", number(self.artifact_count)),
            ("cas_tokens", number(self.cas_tokens)),
            ("compressed_tokens", number(self.compressed_tokens())),
            ("compression_ratio", Value::Float(self.compression_ratio())),
            ("symbol_lang_tokens", number(self.symbol_lang_tokens)),
            ("total_bytes", number(self.total_bytes)),
            ("uncompressed_tokens", number(self.uncompressed_tokens())),
            ("vector_db_tokens", number(self.vector_db_tokens)),
        ])
    }
}

fn present<'v, 'a>(value: &'v Value<'a>, name: &str) -> Option<&'v Value<'a>> {
    value.get(name).filter(|member| !matches!(member, Value::Null))
}

fn read_scopes(value: &Value<'_>) -> Vec<Vec<Option<Scope>>> {
    let scope = |value: &Value<'_>| {
        [Scope::Spec, Scope::Reference]
            .into_iter()
            .find(|scope| value.as_str() == Some(scope.name()))
    };
    let receipt = |value: &Value<'_>| value.as_array().unwrap_or(&[]).iter().map(scope).collect();
    value.as_array().unwrap_or(&[]).iter().map(receipt).collect()
}

fn scopes(receipts: &[Vec<Option<Scope>>]) -> Value<'static> {
    let receipt = |scopes: &Vec<Option<Scope>>| {
        let scope = |scope: &Option<Scope>| optional(*scope, |scope| text(scope.name()));
        Value::Array(scopes.iter().map(scope).collect())
    };
    Value::Array(receipts.iter().map(receipt).collect())
}

fn optional<T>(value: Option<T>, write: impl FnOnce(T) -> Value<'static>) -> Value<'static> {
    value.map_or(Value::Null, write)
}
