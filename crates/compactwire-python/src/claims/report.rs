//! `compactwire.ClaimReport`, `Check` and `Problem`: the result of `verify_claim`. Compression Claims
//! sections 5 and 6.

use crate::args;
use crate::calls::Run;
use crate::errors::Result;
use crate::errors::{claim_rejected, invalid_format};
use crate::make::{
    Number, Str, ensure_memory, join, make_bytes, make_list, make_str, make_tuple, name,
};
use crate::record::{self, Frozen, Names, Record, hash_of, reduced, returned_by_value};
use compactwire::claims::{CHECKS, REPORT_VERSION, Report, Status};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyList, PyString, PyTuple, PyType};
use pythonize::pythonize;

/// The result of verifying a compression claim.
///
/// Its truth value is `ok`. The report depends only on the inputs and options: it contains no time,
/// host or absolute path, and `to_json` returns the same bytes on every machine.
///
/// Source: Compression Claims sections 5, 6 and 8.
#[pyclass(frozen, extends = Frozen, module = "compactwire")]
pub(in super::super) struct ClaimReport {
    core: Report,
}

returned_by_value!(Frozen: ClaimReport);
returned_by_value!(Record: Check, Problem);

impl ClaimReport {
    pub(super) fn new(core: Report) -> Self {
        Self { core }
    }

    /// Checks the memory for the report as Python objects: pythonize panics if there is not enough.
    fn ensure_memory(&self) -> PyResult<()> {
        let scopes = self.core.signature_scopes.iter().flatten();
        let count = scopes.map(|all| all.len() + 1).sum::<usize>();
        ensure_memory(count.saturating_mul(VALUE_SIZE).saturating_add(REST_SIZE))
    }
}

/// The bytes of memory for a value in a list, and for a report without its lists.
const VALUE_SIZE: usize = 64;
const REST_SIZE: usize = 256 << 10;

#[pymethods]
impl ClaimReport {
    /// The version of the structure of `to_dict` and `to_json`.
    #[getter]
    #[expect(clippy::unused_self, reason = "a property of every report")]
    fn report_version(&self) -> Str<&str> {
        Str(REPORT_VERSION)
    }

    /// Whether every applicable check passed.
    #[getter]
    fn ok(&self) -> bool {
        self.core.ok()
    }

    /// 0: verified. 1: the claim is not true. 2: invalid input. 3: a bug in this program.
    #[getter]
    fn exit_code(&self) -> Number<u64> {
        Number(self.core.exit_code().into())
    }

    /// The reason why the claim is rejected; None if it is not.
    #[getter]
    fn error(&self) -> Option<Problem> {
        self.core.problem.as_ref().map(|problem| Problem {
            code: problem.failure.code.name().into(),
            message: problem.failure.message.clone(),
            phase: problem.failure.code.phase().into(),
            path: problem.failure.path.clone(),
            check: CHECKS[problem.check].id.into(),
        })
    }

    /// All checks, in order.
    #[getter]
    fn checks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let checks = CHECKS.iter().zip(self.core.checks);
        let checks = checks.map(|(check, status)| Check::new(check.id, status, check.text));
        make_tuple(py, checks.map(|check| check.into_pyobject(py)))
    }

    /// The id of the bundle; None if it was not recomputed.
    #[getter]
    fn bundle_id(&self) -> Option<Str<&str>> {
        self.core.bundle_id.as_deref().map(Str)
    }

    /// The run of the bundle; None if the id of the bundle was not recomputed.
    #[getter]
    fn run_id(&self) -> Option<Str<&str>> {
        self.core.run_id.as_deref().map(Str)
    }

    /// The hash of the claim; None if it was not recomputed.
    #[getter]
    fn claim_hash(&self) -> Option<Str<&str>> {
        self.core.claim_hash.as_deref().map(Str)
    }

    /// The number of receipts of the run; None if they were not checked.
    #[getter]
    fn receipt_count(&self) -> Option<Number<u64>> {
        self.core.receipt_count.map(Number)
    }

    /// The Merkle root over the receipts; None if their chain was not verified.
    #[getter]
    fn merkle_root(&self) -> Option<Str<&str>> {
        self.core.merkle_root.as_deref().map(Str)
    }

    /// The scope of each signature of each receipt; None if signatures were not checked.
    ///
    /// "spec" or "reference", or None for a signature that was not counted.
    #[getter]
    fn signature_scopes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.ensure_memory()?;
        Ok(pythonize(py, &self.core.signature_scopes)?)
    }

    /// The metrics: tokens, bytes, `compression_ratio`; None if they were not verified.
    #[getter]
    fn computed<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.ensure_memory()?;
        Ok(pythonize(py, &self.core.computed)?)
    }

    /// The number of artifacts that count no tokens after compression, but some before.
    ///
    /// Such an artifact is a symbol whose ref does not begin with "@", or has one or two bytes.
    /// `require_symbol_refs` refuses it. None if the metrics were not computed.
    #[getter]
    fn free_artifacts(&self) -> Option<Number<u64>> {
        self.core.free_artifacts.map(Number)
    }

    /// The number of artifacts with the text of an earlier one; None if they were not compared.
    ///
    /// The metrics count a text twice if it is listed twice, even if it is sent once. Empty texts
    /// are not counted here.
    #[getter]
    fn repeated_artifacts(&self) -> Option<Number<u64>> {
        self.core.repeated_artifacts.map(Number)
    }

    /// Names of the members of the claim that cannot be verified, such as `notes`.
    #[getter]
    fn unverified_claim_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        make_list(py, self.core.unverified_claim_fields.iter().map(|name| make_str(py, name)))
    }

    /// Return the report as dict, list, str, int, float, bool and None.
    fn to_dict<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        self.ensure_memory()?;
        Ok(pythonize(py, &self.core)?)
    }

    /// Return the report as canonical JSON with a final line feed.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        make_bytes(py, self.core.to_json().as_bytes())
    }

    /// Raise an exception if the claim was rejected.
    ///
    /// Raises
    /// ------
    /// ClaimRejected
    ///     `ok` is False; the exception has `code`, `phase`, `check`, `path` and `exit_code`.
    fn raise_for_error(&self, py: Python<'_>) -> PyResult<()> {
        match &self.core.problem {
            None => Ok(()),
            Some(problem) => {
                Err(claim_rejected(py, &problem.failure, Some(CHECKS[problem.check].id)))
            }
        }
    }

    fn __bool__(&self) -> bool {
        self.core.ok()
    }

    fn __repr__(&self) -> Str<String> {
        Str(match &self.core.problem {
            None => "<ClaimReport ok>".into(),
            Some(problem) => {
                let (code, check) = (problem.failure.code.name(), CHECKS[problem.check].id);
                format!("<ClaimReport {code} at {check}: {}>", problem.failure.message)
            }
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| Ok(self.core == other.get().core))
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.core.to_json())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let restore = py.get_type::<Self>().run_getattr(name!(py, "_restore")?)?;
        reduced(restore, [slf.get().to_json(py)?.into_any()])
    }

    #[classmethod]
    fn _restore(class: &Bound<'_, PyType>, json: &[u8]) -> PyResult<Self> {
        Report::from_json(json).map(Self::new).ok_or_else(|| {
            invalid_format(class.py(), "invalid report: no verification produces it")
        })
    }
}

/// One check of a report.
///
/// Source: Compression Claims section 5.
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.claims")]
#[derive(PartialEq, Hash)]
pub(super) struct Check {
    id: String,
    status: String,
    text: String,
}

impl Check {
    fn new(id: &str, status: Status, text: &str) -> Self {
        Self { id: id.into(), status: status.name().into(), text: text.into() }
    }
}

#[pymethods]
impl Check {
    #[classattr]
    const _fields: Names = Names(&["id", "status", "text"]);

    #[new]
    fn make(
        #[pyo3(from_py_with = args::written::id)] id: String,
        #[pyo3(from_py_with = args::written::status)] status: String,
        #[pyo3(from_py_with = args::written::text)] text: String,
    ) -> Self {
        Self { id, status, text }
    }

    /// The section and line of the specification's checklist, such as "5.3.1".
    #[getter]
    fn id(&self) -> Str<&str> {
        Str(&self.id)
    }

    /// The result: "passed", "failed" or "skipped".
    #[getter]
    fn status(&self) -> Str<&str> {
        Str(&self.status)
    }

    /// The condition that the check requires, in words.
    #[getter]
    fn text(&self) -> Str<&str> {
        Str(&self.text)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let parts = ["<Check ", &self.id, " ", &self.status, ": ", &self.text, ">"];
        join(py, "", parts.into_iter().map(|part| make_str(py, part)).collect::<PyResult<_>>()?)
    }
}

/// The reason why a claim was rejected.
///
/// Source: Compression Claims section 6.
#[pyclass(frozen, extends = Record, eq, hash, module = "compactwire.claims")]
#[derive(PartialEq, Hash)]
pub(super) struct Problem {
    code: String,
    message: String,
    phase: String,
    path: Option<String>,
    check: String,
}

#[pymethods]
impl Problem {
    #[classattr]
    const _fields: Names = Names(&["code", "message", "phase", "path", "check"]);

    #[new]
    fn make(
        #[pyo3(from_py_with = args::written::code)] code: String,
        #[pyo3(from_py_with = args::written::message)] message: String,
        #[pyo3(from_py_with = args::written::phase)] phase: String,
        #[pyo3(from_py_with = args::written::path)] path: Option<String>,
        #[pyo3(from_py_with = args::written::check)] check: String,
    ) -> Self {
        Self { code, message, phase, path, check }
    }

    /// The specification's error code, such as "METRIC_MISMATCH".
    #[getter]
    fn code(&self) -> Str<&str> {
        Str(&self.code)
    }

    /// The error message, one line.
    #[getter]
    fn message(&self) -> Str<&str> {
        Str(&self.message)
    }

    /// The specification's phase, such as "Metric".
    #[getter]
    fn phase(&self) -> Str<&str> {
        Str(&self.phase)
    }

    /// The input by its role: "claim.json", "receipts/...", an artifact; or None.
    #[getter]
    fn path(&self) -> Option<Str<&str>> {
        self.path.as_deref().map(Str)
    }

    /// The id of the check that failed.
    #[getter]
    fn check(&self) -> Str<&str> {
        Str(&self.check)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let parts = ["<Problem ", &self.code, " at ", &self.check, ": ", &self.message, ">"];
        join(py, "", parts.into_iter().map(|part| make_str(py, part)).collect::<PyResult<_>>()?)
    }
}
