//! The verification: 44 checks in a fixed order. Compression Claims sections 5 and 8.
//!
//! [`CHECKS`] is the complete verification: the checks run from top to bottom, and the first
//! failure ends it. Invariant: a report is `ok` only if every check that applies has passed. A
//! check uses results of earlier ones; a missing result is a bug, and fails the verification.

use super::error::Failure;
use super::merkle;
use super::metrics;
use super::options::{Inputs, Options, Progress};
use super::receipt;
use super::report::{CHECK_COUNT, Report, Status, bug};
use super::steps::{self, Run};
use crate::interrupt::{self, Stopped};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

type Outcome = Result<(), Failure>;

/// One line of the specification's checklist (section 5).
pub struct Check {
    /// Section and line of the specification's checklist. We add some lines, numbered after its own.
    pub id: &'static str,
    /// The condition that must hold.
    pub text: &'static str,
    applies: fn(&Run<'_>) -> bool,
    run: fn(&mut Run<'_>) -> Outcome,
}

const fn check(
    id: &'static str,
    text: &'static str,
    applies: fn(&Run<'_>) -> bool,
    run: fn(&mut Run<'_>) -> Outcome,
) -> Check {
    Check { id, text, applies, run }
}

/// All checks, in order.
#[rustfmt::skip]
pub static CHECKS: [Check; CHECK_COUNT] = [
    check("5.1.1", "the bundle exists and has a bundle.json", always, steps::find_bundle),
    check("5.1.2", "the folder of the receipts exists", chain, steps::find_receipts),
    check("5.1.3", "the trust policy exists", policy_needed, steps::find_policy),
    check("5.1.4", "the claim exists and is JSON", always, steps::parse_claim),

    check("5.2.1", "the claim matches its schema and its hash", always, steps::read_claim),
    check("5.2.2", "the bundle matches its schema", always, steps::read_bundle),
    check("5.2.3", "the receipts match their schema", |run| run.receipts_folder.is_some(), steps::read_receipts),
    check("5.2.4", "the trust policy matches its schema", policy_given, steps::read_policy),

    check("5.3.1", "the bundle's id is that of its manifest", always, steps::check_bundle_id),
    check("5.3.2", "the root hash is that of the listed artifacts", always, steps::check_root_hash),
    check("5.3.3", "every artifact has the SHA-256 in the manifest", always, steps::read_artifacts),
    check("5.3.4", "no artifact's slice selects everything", always, |run| run.manifest()?.check_slices()),
    check("5.3.5", "a step reads every artifact", always, |run| run.manifest()?.check_bounds()),
    check("5.3.6", "no times, hosts or absolute paths", always, |run| run.manifest()?.check_forbidden()),
    check("5.3.7", "the claim is about this bundle", always, steps::check_subject),

    check("5.4.1", "the run has receipts", chain, steps::check_receipts),
    check("5.4.2", "the receipts have one order", chain, |run| receipt::order(&mut run.receipts)),
    check("5.4.3", "every receipt names the one before it", chain, |run| receipt::check_links(&run.receipts)),
    check("5.4.4", "every receipt matches its receipt_hash", chain, |run| receipt::check_hashes(&run.receipts)),
    check("5.4.5", "the receipts are numbered from 0", chain, steps::check_indices),
    check("5.4.6", "the receipts are about this bundle", bound, steps::check_binding),

    check("5.5.1", "every receipt is attested", attestations, steps::check_attested),
    check("5.5.2", "every signature verifies", each, steps::check_signatures),
    check("5.5.3", "the trust policy knows every signer and key", each_strict, steps::check_signers),
    check("5.5.4", "every signer is enabled", each_strict, steps::check_enabled),
    check("5.5.5", "every signer may sign receipts", each_strict, steps::check_scopes),
    check("5.5.6", "every signer's build is the trusted one", each_identity, steps::check_builds),
    check("5.5.7", "every receipt has enough valid attestations", quorum, steps::check_quorum),

    check("5.6.0", "the Merkle attestation exists and matches its schema", merkle, steps::read_merkle),
    check("5.6.1", "the Merkle root is that of the receipts", merkle, steps::check_merkle_root),
    check("5.6.2", "the Merkle signature verifies", merkle, |run| run.merkle()?.check_signature()),
    check("5.6.3", "the Merkle signer is trusted with Merkle roots", merkle_strict, steps::check_merkle_signer),
    check("5.6.4", "the Merkle attestation counts the receipts", merkle_counts, |run| run.merkle()?.check_count(&run.receipts)),
    check("5.6.5", "the Merkle attestation ends with the last receipt", merkle_ends, |run| run.merkle()?.check_head(&run.receipts)),
    check("5.6.6", "the Merkle attestation is about this run", merkle_names, steps::check_merkle_subject),

    check("5.7.1", "uncompressed tokens computed from the artifacts", always, steps::compute),
    check("5.7.2", "compressed tokens computed from the artifacts", always, steps::publish_metrics),
    check("5.7.3", "included components have artifacts", always, |run| metrics::check_components(run.claim()?, run.computed()?)),
    check("5.7.4", "F3, which cannot be computed, is not included", always, steps::check_f3),

    check("5.8.1", "the compression ratio is the computed one", always, |run| metrics::check_ratio(run.claim()?, run.computed()?)),
    check("5.8.2", "the uncompressed tokens are those computed", always, steps::check_uncompressed),
    check("5.8.3", "the compressed tokens are those computed", always, steps::check_compressed),
    check("5.8.4", "the counts are those of the artifacts", always, |run| metrics::check_counts(run.claim()?, run.computed()?)),
    check("5.8.5", "no metric is unexpected", always, |run| metrics::check_unexpected(run.claim()?)),
];

/// Verifies a claim. `progress` is called for receipts and artifacts.
///
/// # Errors
/// [`Stopped`]: `progress` returned [`ControlFlow::Break`], or there was not enough memory, or too many files
/// were open. No verdict depends on what the machine has left of these.
pub fn verify(
    inputs: &Inputs<'_>,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, Stopped> {
    let mut run = interrupt::run(|| false, || Run::new(inputs, options, progress))?;
    for (index, check) in CHECKS.iter().enumerate() {
        let mut check = || (check.applies)(&run).then(|| (check.run)(&mut run));
        let outcome = catch_unwind(AssertUnwindSafe(|| interrupt::run(|| false, &mut check)));
        if run.stopped.load(Ordering::Relaxed) {
            return Err(Stopped::Asked);
        }
        match outcome {
            Ok(Err(stopped)) => return Err(stopped),
            Ok(Ok(None)) => {}
            Ok(Ok(Some(Ok(())))) => run.report.checks[index] = Status::Passed,
            Ok(Ok(Some(Err(failure)))) => {
                run.report.fail(index, failure);
                break;
            }
            Err(_panic) => {
                run.report.fail(index, bug());
                break;
            }
        }
    }
    Ok(run.report)
}

// Conditions ---------------------------------------------------------------------------------------

fn always(_run: &Run<'_>) -> bool {
    true
}

fn chain(run: &Run<'_>) -> bool {
    run.options.chain()
}

fn bound(run: &Run<'_>) -> bool {
    chain(run) && run.options.bind_receipts
}

fn policy_given(run: &Run<'_>) -> bool {
    run.inputs.trust_policy.is_some()
}

fn policy_needed(run: &Run<'_>) -> bool {
    run.options.trusts() || policy_given(run)
}

fn attestations(run: &Run<'_>) -> bool {
    run.options.attestations()
}

/// With a quorum, check 5.5.7 counts the valid attestations, in place of checks 5.5.2 to 5.5.6.
fn quorum(run: &Run<'_>) -> bool {
    run.options.receipt_quorum.is_some()
}

fn each(run: &Run<'_>) -> bool {
    attestations(run) && !quorum(run)
}

fn each_strict(run: &Run<'_>) -> bool {
    run.options.trusts() && !quorum(run)
}

fn each_identity(run: &Run<'_>) -> bool {
    run.options.strict_identity && !quorum(run)
}

fn merkle(run: &Run<'_>) -> bool {
    run.options.require_merkle_attestation
}

fn merkle_strict(run: &Run<'_>) -> bool {
    merkle(run) && run.options.trusts()
}

fn merkle_has(run: &Run<'_>, has: impl Fn(&merkle::Attestation) -> bool) -> bool {
    merkle(run) && run.merkle.as_ref().is_some_and(has)
}

fn merkle_counts(run: &Run<'_>) -> bool {
    merkle_has(run, |attestation| attestation.receipt_count.is_some())
}

fn merkle_ends(run: &Run<'_>) -> bool {
    merkle_has(run, |attestation| attestation.head.is_some())
}

fn merkle_names(run: &Run<'_>) -> bool {
    merkle_has(run, merkle::Attestation::names_subject)
}
