//! `compactwire.verify_claim`: verifies a claim from its files. Compression Claims section 5.

use super::arguments;
use super::report::ClaimReport;
use crate::args::{as_mapping, lossy, named};
use crate::args::{check_callable, class_name};
use crate::calls::{Run, detach};
use crate::errors::invalid_option;
use crate::interrupt::raised;
use crate::make::{Number, Str, args, py_error};
use compactwire::claims::{self, Inputs, Limits, Options, Progress};
use compactwire::excerpt::excerpt;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The interval at which signals are checked and `progress` is called.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Verify a compression claim by recomputing it from its artifacts, receipts and signatures.
///
/// Verification is deterministic, offline, bounded and fail-closed: the report is `ok` only if
/// every applicable check passed. Invalid input files do not raise.
///
/// Parameters
/// ----------
/// bundle : str or path-like
///     The folder with `bundle.json` and `artifacts/`.
/// receipts : str or path-like, optional
///     The folder with the receipts, `<run_id>_*.json`.
/// claim : str or path-like
///     The claim, a JSON file.
/// trust_policy : str or path-like, optional
///     The keys whose signatures are accepted, a JSON file.
/// merkle_attestation : str or path-like, optional
///     The signature over all receipts, a JSON file.
/// require_verify_chain : bool
///     Whether the chain of receipts must verify. Every requirement below implies this one.
/// require_attestation : bool
///     Whether every receipt must have a valid signature.
/// strict_trust : bool
///     Whether every signature must be by an enabled validator of the trust policy, within its
///     scope.
/// strict_identity : bool
///     Whether the build of the signer must also be that of the trust policy.
/// require_merkle_attestation : bool
///     Whether the Merkle attestation must verify.
/// receipt_quorum : int, optional
///     The number of signatures of each receipt that must be valid, 1 or more; by default all.
/// accept_reference_scope : bool
///     Whether signatures over bytes that include `receipt_hash` are accepted; some signers write
///     them.
/// bind_receipts : bool
///     Whether the chain of receipts must refer to this bundle.
/// require_canonical : bool
///     Whether every JSON file must be byte for byte in canonical form.
/// require_symbol_refs : bool
///     Whether every symbol must cost tokens: its ref begins with "@" and has at least three bytes,
///     and no other symbol has the same ref and slice.
/// strict : bool
///     Whether to require all of the above. It needs a trust policy and a Merkle attestation.
/// limits : Mapping of str to int
///     Limits on the inputs, with their defaults: `max_json_bytes` (16 MiB), `max_receipt_bytes` (1
///     MiB), `max_depth` (128), `max_int_digits` (4300), `max_steps` and `max_artifacts` (100,000),
///     `max_artifact_bytes` (64 MiB), `max_total_bytes` (1 GiB), `max_receipts` (200,000).
/// progress : callable, optional
///     Called at intervals with "receipts" or "artifacts", the number processed and the total. An
///     exception that it raises ends the verification.
///
/// Returns
/// -------
/// ClaimReport
///     The report; its truth value is whether the claim is verified.
///
/// Raises
/// ------
/// TypeError, ValueError
///     An option has the wrong type, is unknown or is out of range.
/// MemoryError
///     There is not enough memory, so there is no verdict.
/// OSError
///     Too many files are open, so there is no verdict.
///
/// Source: Compression Claims sections 3 to 8.
#[pyfunction]
#[pyo3(signature = (
    bundle, receipts, claim, *, trust_policy = None, merkle_attestation = None,
    require_verify_chain = true, require_attestation = false, strict_trust = false,
    strict_identity = false, require_merkle_attestation = false, receipt_quorum = None,
    accept_reference_scope = true, bind_receipts = true, require_canonical = false,
    require_symbol_refs = false, strict = false, limits = None, progress = None,
))]
#[pyo3(
    text_signature = "(bundle, receipts, claim, *, trust_policy=None, merkle_attestation=None, \
    require_verify_chain=True, require_attestation=False, strict_trust=False, \
    strict_identity=False, require_merkle_attestation=False, receipt_quorum=None, \
    accept_reference_scope=True, bind_receipts=True, require_canonical=False, \
    require_symbol_refs=False, strict=False, limits={}, progress=None)"
)]
#[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "the options")]
pub(super) fn verify_claim(
    py: Python<'_>,
    bundle: &Bound<'_, PyAny>,
    receipts: Option<&Bound<'_, PyAny>>,
    claim: &Bound<'_, PyAny>,
    trust_policy: Option<&Bound<'_, PyAny>>,
    merkle_attestation: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = named::require_verify_chain)] require_verify_chain: bool,
    #[pyo3(from_py_with = named::require_attestation)] require_attestation: bool,
    #[pyo3(from_py_with = named::strict_trust)] strict_trust: bool,
    #[pyo3(from_py_with = named::strict_identity)] strict_identity: bool,
    #[pyo3(from_py_with = named::require_merkle_attestation)] require_merkle_attestation: bool,
    receipt_quorum: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = named::accept_reference_scope)] accept_reference_scope: bool,
    #[pyo3(from_py_with = named::bind_receipts)] bind_receipts: bool,
    #[pyo3(from_py_with = named::require_canonical)] require_canonical: bool,
    #[pyo3(from_py_with = named::require_symbol_refs)] require_symbol_refs: bool,
    #[pyo3(from_py_with = named::strict)] strict: bool,
    limits: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ClaimReport> {
    let optional = |value: Option<&Bound<'_, PyAny>>, name| {
        value.map(|value| arguments::path(value, name)).transpose()
    };
    let bundle = arguments::path(bundle, "bundle")?;
    let receipts = optional(receipts, "receipts")?;
    let claim = arguments::path(claim, "claim")?;
    let trust_policy = optional(trust_policy, "trust_policy")?;
    let merkle_attestation = optional(merkle_attestation, "merkle_attestation")?;
    if strict && !(require_verify_chain && bind_receipts) {
        let message = "strict=True checks the chain of receipts and its bundle: require_verify_chain and \
                       bind_receipts must not be False";
        return Err(invalid_option("strict", message));
    }
    let all = if strict { Options::strict() } else { Options::default() };
    let options = Options {
        require_verify_chain,
        require_attestation: all.require_attestation || require_attestation,
        strict_trust: all.strict_trust || strict_trust,
        strict_identity: all.strict_identity || strict_identity,
        require_merkle_attestation: all.require_merkle_attestation || require_merkle_attestation,
        receipt_quorum: receipt_quorum
            .map(|value| whole(value, "receipt_quorum", 1))
            .transpose()?,
        accept_reference_scope,
        bind_receipts,
        require_canonical: all.require_canonical || require_canonical,
        require_symbol_refs: all.require_symbol_refs || require_symbol_refs,
        limits: limits.map(overrides).transpose()?.unwrap_or_default(),
    };
    if let Some(progress) = &progress {
        check_callable(progress.bind(py), "progress")?;
    }
    let inputs = Inputs {
        bundle: &bundle,
        receipts: receipts.as_deref(),
        claim: &claim,
        trust_policy: trust_policy.as_deref(),
        merkle_attestation: merkle_attestation.as_deref(),
    };
    let mut heartbeat = Heartbeat { progress, last: Instant::now(), error: None };
    let report = detach(py, || claims::verify(&inputs, &options, &mut |now| heartbeat.beat(now)));
    match heartbeat.error {
        Some(error) => Err(error),
        None => report.map(ClaimReport::new).map_err(raised),
    }
}

/// Checks signals and calls `progress` at intervals.
struct Heartbeat {
    progress: Option<Py<PyAny>>,
    last: Instant,
    error: Option<PyErr>,
}

impl Heartbeat {
    fn beat(&mut self, now: Progress) -> ControlFlow<()> {
        if self.last.elapsed() < HEARTBEAT {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        let asked = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = &self.progress else { return Ok(()) };
            let arguments = args!(py, Str(now.what), Number(now.done), Number(now.total))?;
            progress.bind(py).run(arguments).map(drop)
        });
        match asked {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// `limits=`: a mapping of known names to numbers.
fn overrides(given: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let (mut limits, mut seen) = (Limits::default(), HashSet::new());
    let Some(given) = as_mapping(given)? else {
        return Err(py_error::<PyTypeError>("limits must be a mapping of names to numbers"));
    };
    for item in given.items()?.iter() {
        let (name, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let name = name
            .cast::<PyString>()
            .map_err(|_| py_error::<PyTypeError>("a limit's name must be a str"))?;
        let name = lossy(name)?;
        let Some(limit) = limits.by_name(&name) else {
            let names = Limits::NAMES.join(", ");
            let message = format!("unknown limit {}; the limits are {names}", excerpt(&name));
            return Err(invalid_option("limits", &message));
        };
        *limit = whole(&value, &name, 0)?;
        if !seen.insert(name.to_string()) {
            return Err(invalid_option("limits", &format!("duplicate limit {}", excerpt(&name))));
        }
    }
    Ok(limits)
}

/// An integer of at least `least` but not a `bool`; numbers beyond 64 bits are clamped.
fn whole(value: &Bound<'_, PyAny>, name: &str, least: u64) -> PyResult<u64> {
    let too_small = || invalid_option(name, &format!("{name} must be {least} or more"));
    if value.is_instance_of::<PyBool>() || !value.is_instance_of::<PyInt>() {
        let found = class_name(&value.get_type());
        return Err(py_error::<PyTypeError>(format!("{name} must be an int, not {found}")));
    }
    match value.extract::<i64>() {
        Ok(number) => {
            u64::try_from(number).ok().filter(|number| *number >= least).ok_or_else(too_small)
        }
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => Err(error),
        Err(_) if value.lt(Number(0_i64))? => Err(too_small()),
        Err(_) => Ok(i64::MAX as u64),
    }
}
