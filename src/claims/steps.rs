//! The checks of a verification. Each reads or compares something and stores its result for later checks.
//! Compression Claims section 5.
//!
//! There is a function for each line of [`CHECKS`](super::verify::CHECKS) that needs more than one
//! call.

use super::artifacts;
use super::attestation::Keys;
use super::bundle::{BUNDLE, Manifest};
use super::canonical::Hash;
use super::claim::Claim;
use super::error::{Code, Failure, cut};
use super::files::{self, Content, Folder, Kind, Refusal};
use super::merkle;
use super::metrics::{self, CLAIM, Computed};
use super::options::{Inputs, Options, Progress};
use super::policy::{Policy, Signs};
use super::receipt::{self, Attested, Receipt};
use super::report::{Report, bug};
use super::schema::{self, Document, Schema, Violation};
use super::signer::{Scope, Signers};
use crate::memory;
use crate::threads;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The minimum number of items per thread: for fewer, starting a thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;

type Outcome = Result<(), Failure>;

/// The state of a verification: what was read and computed so far.
pub(super) struct Run<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) options: &'a Options,
    progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    pub(super) stopped: AtomicBool,
    bundle_folder: Option<Folder>,
    bundle_file: Option<Result<Content, Refusal>>,
    pub(super) receipts_folder: Option<Folder>,
    policy_file: Option<Result<Content, Refusal>>,
    claim_file: Option<Document<'static>>,
    claim: Option<Claim>,
    manifest: Option<Manifest>,
    pub(super) receipts: Vec<Receipt>,
    policy: Option<Policy>,
    /// The length of each artifact's content, without trailing line feeds.
    contents: Vec<u64>,
    merkle_root: Option<Hash>,
    pub(super) merkle: Option<merkle::Attestation>,
    computed: Option<Computed>,
    pub(super) report: Report,
}

// 5.1 Input ----------------------------------------------------------------------------------------

pub(super) fn find_bundle(run: &mut Run<'_>) -> Outcome {
    let missing = |message| Err(Failure::new(Code::BundleNotFound, message).at(BUNDLE));
    let Some(folder) = Folder::open(run.inputs.bundle) else {
        return missing("the bundle is not a folder");
    };
    match folder.kind(BUNDLE) {
        Some(Kind::File) => {}
        Some(Kind::Link) => return missing("bundle.json is a link"),
        Some(Kind::Folder | Kind::Other) => return missing("bundle.json is not a regular file"),
        None => return missing("the bundle has no bundle.json, or its folder cannot be read"),
    }
    run.bundle_file = Some(folder.open_file(&[BUNDLE]));
    run.bundle_folder = Some(folder);
    Ok(())
}

pub(super) fn find_receipts(run: &mut Run<'_>) -> Outcome {
    if run.receipts_folder.is_some() {
        return Ok(());
    }
    let message = match run.inputs.receipts {
        None => "receipts are required, but no folder of receipts was given",
        Some(_) => "receipts are required, but their folder does not exist or is not a folder",
    };
    Err(Failure::new(Code::MissingReceipts, message).at("receipts"))
}

pub(super) fn find_policy(run: &mut Run<'_>) -> Outcome {
    let missing = |message| Err(invalid_policy(Violation::new(message)));
    let Some(path) = run.inputs.trust_policy else {
        return missing("a trust policy is required, but none was given");
    };
    match files::open(path) {
        Err(Refusal::Missing | Refusal::Link) => {
            missing("the trust policy does not exist or is not a regular file")
        }
        found @ (Ok(_) | Err(Refusal::Unreadable)) => {
            run.policy_file = Some(found);
            Ok(())
        }
    }
}

pub(super) fn parse_claim(run: &mut Run<'_>) -> Outcome {
    let limit = run.options.limits.max_json_bytes;
    let file = files::open(run.inputs.claim).map_err(|refusal| invalid_claim(refused(refusal)))?;
    let bytes = schema::read(file, limit).map_err(invalid_claim)?;
    run.claim_file = Some(schema::parse_owned(&bytes, run.options).map_err(invalid_claim)?);
    Ok(())
}

// 5.2 Schema ---------------------------------------------------------------------------------------

pub(super) fn read_claim(run: &mut Run<'_>) -> Outcome {
    let document = run.claim_file.take().ok_or_else(bug)?;
    document.check(&schema::CLAIM).map_err(invalid_claim)?;
    let claim = Claim::new(&document.value)?.map_err(invalid_claim)?;
    run.report.claim_hash = Some(claim.hash.to_string());
    run.report.unverified_claim_fields.clone_from(&claim.unverified);
    run.claim = Some(claim);
    Ok(())
}

pub(super) fn read_bundle(run: &mut Run<'_>) -> Outcome {
    let file = run.bundle_file.take().ok_or_else(bug)?;
    let bytes = run.content(file).map_err(invalid_bundle)?;
    let document = run.document(&bytes, &schema::BUNDLE).map_err(invalid_bundle)?;
    let manifest = Manifest::new(&document.value, &run.options.limits)?.map_err(invalid_bundle)?;
    run.manifest = Some(manifest);
    Ok(())
}

pub(super) fn read_receipts(run: &mut Run<'_>) -> Outcome {
    let run_id = run.manifest()?.run_id.clone();
    let folder = run.receipts_folder.take().ok_or_else(bug)?;
    let files = receipt::discover(&folder, &run_id, run.options.limits.max_receipts)?;
    memory::require(memory::ensure(receipt::MEMORY.saturating_mul(files.len())));
    let reader = receipt::Reader {
        folder: &folder,
        run_id: &run_id,
        options: run.options,
        keys: Keys::default(),
        signers: Signers::default(),
    };
    let found = run.each("receipts", &files, |file| receipt::read(&reader, file))?;
    run.receipts = found.into_iter().flatten().collect();
    Ok(())
}

pub(super) fn read_policy(run: &mut Run<'_>) -> Outcome {
    let file = run.policy_file.take().ok_or_else(bug)?;
    let bytes = run.content(file).map_err(invalid_policy)?;
    let document = run.document(&bytes, &schema::TRUST_POLICY).map_err(invalid_policy)?;
    run.policy = Some(Policy::new(&document.value)?.map_err(invalid_policy)?);
    Ok(())
}

// 5.3 Bundle ---------------------------------------------------------------------------------------

pub(super) fn check_bundle_id(run: &mut Run<'_>) -> Outcome {
    let Manifest { bundle_id, computed_id, run_id, .. } = run.manifest()?;
    if bundle_id != computed_id {
        let message = format!("the manifest has the id {computed_id}, not {bundle_id}");
        return Err(Failure::new(Code::BundleIdMismatch, message).at("bundle.json#/bundle_id"));
    }
    let ids = (bundle_id.to_string(), run_id.clone());
    (run.report.bundle_id, run.report.run_id) = (Some(ids.0), Some(ids.1));
    Ok(())
}

pub(super) fn check_root_hash(run: &mut Run<'_>) -> Outcome {
    let manifest = run.manifest()?;
    let (declared, computed) = (manifest.root_hash, manifest.computed_root());
    if declared == computed {
        return Ok(());
    }
    let message = format!("the artifacts have the root hash {computed}, not {declared}");
    Err(Failure::new(Code::RootHashMismatch, message).at("bundle.json#/hashes/root_hash"))
}

pub(super) fn read_artifacts(run: &mut Run<'_>) -> Outcome {
    run.manifest()?.check_paths()?;
    let folder = run.bundle_folder.take().ok_or_else(bug)?;
    let manifest = run.manifest.take().ok_or_else(bug)?;
    let contents =
        run.each("artifacts", &manifest.artifacts, |artifact| artifacts::verify(&folder, artifact));
    run.manifest = Some(manifest);
    run.contents = contents?;
    Ok(())
}

pub(super) fn check_subject(run: &mut Run<'_>) -> Outcome {
    let (claim, manifest) = (run.claim()?, run.manifest()?);
    let other = |message, member| {
        Err(Failure::new(Code::BundleIdMismatch, message).at(format!("{CLAIM}#/{member}")))
    };
    if claim.bundle_id != manifest.bundle_id {
        return other(format!("the bundle has the id {}", manifest.bundle_id), "bundle_id");
    }
    if claim.run_id != manifest.run_id {
        return other("the bundle belongs to another run".into(), "run_id");
    }
    Ok(())
}

// 5.4 Receipts -------------------------------------------------------------------------------------

pub(super) fn check_receipts(run: &mut Run<'_>) -> Outcome {
    if run.receipts.is_empty() {
        let message = "receipts are required, but the run has none";
        return Err(Failure::new(Code::MissingReceipts, message).at("receipts"));
    }
    run.report.receipt_count = Some(run.receipts.len() as u64);
    Ok(())
}

pub(super) fn check_indices(run: &mut Run<'_>) -> Outcome {
    receipt::check_indices(&run.receipts)?;
    if !run.options.bind_receipts {
        run.publish_root();
    }
    Ok(())
}

pub(super) fn check_binding(run: &mut Run<'_>) -> Outcome {
    let Manifest { bundle_id, root_hash, .. } = run.manifest()?;
    receipt::check_binding(&run.receipts, *bundle_id, *root_hash)?;
    run.publish_root();
    Ok(())
}

// 5.5 Attestations ---------------------------------------------------------------------------------

pub(super) fn check_attested(run: &mut Run<'_>) -> Outcome {
    let bare = run.receipts.iter().find(|receipt| receipt.attestations.is_empty());
    bare.map_or(Ok(()), |receipt| {
        Err(receipt.fail(Code::AttestationMissing, "the receipt has no attestation"))
    })
}

pub(super) fn check_signatures(run: &mut Run<'_>) -> Outcome {
    run.each_attestation(|_, attested| {
        let message = "the signature does not verify";
        attested.scope.map(drop).ok_or_else(|| Failure::new(Code::AttestationInvalid, message))
    })?;
    run.report.signature_scopes = Some(run.scopes(|_| true));
    Ok(())
}

pub(super) fn check_signers(run: &mut Run<'_>) -> Outcome {
    run.each_attestation(|policy, attested| {
        policy.entry(&attested.signer, Signs::Receipts).map(drop)
    })
}

pub(super) fn check_enabled(run: &mut Run<'_>) -> Outcome {
    run.each_attestation(|policy, attested| {
        policy.entry(&attested.signer, Signs::Receipts)?.check_enabled()
    })
}

pub(super) fn check_scopes(run: &mut Run<'_>) -> Outcome {
    run.each_attestation(|policy, attested| {
        policy.entry(&attested.signer, Signs::Receipts)?.check_scope(Signs::Receipts)
    })
}

pub(super) fn check_builds(run: &mut Run<'_>) -> Outcome {
    run.each_attestation(|policy, attested| {
        policy.entry(&attested.signer, Signs::Receipts)?.check_build(&attested.signer)
    })
}

pub(super) fn check_quorum(run: &mut Run<'_>) -> Outcome {
    let quorum = run.options.receipt_quorum.ok_or_else(bug)?;
    if run.options.trusts() && run.policy.is_none() {
        return Err(bug());
    }
    for receipt in &run.receipts {
        let good = receipt.attestations.iter().filter(|attested| run.is_good(attested)).count();
        if (good as u64) < quorum {
            let message = format!("valid attestations: {good}, required: {quorum}");
            return Err(receipt.fail(Code::AttestationMissing, message));
        }
    }
    run.report.signature_scopes = Some(run.scopes(|attested| run.is_good(attested)));
    Ok(())
}

// 5.6 Merkle ---------------------------------------------------------------------------------------

pub(super) fn read_merkle(run: &mut Run<'_>) -> Outcome {
    let missing =
        |message| Err(Failure::new(Code::AttestationMissing, message).at(merkle::ATTESTATION));
    let Some(path) = run.inputs.merkle_attestation else {
        return missing("a Merkle attestation is required, but none was given");
    };
    let file = match files::open(path) {
        Err(Refusal::Missing | Refusal::Link) => {
            return missing("the Merkle attestation does not exist or is not a regular file");
        }
        found @ (Ok(_) | Err(Refusal::Unreadable)) => found,
    };
    let invalid =
        |violation| located(Code::MerkleAttestationInvalid, merkle::ATTESTATION, violation);
    let bytes = run.content(file).map_err(invalid)?;
    let document = run.document(&bytes, &schema::MERKLE_ATTESTATION).map_err(invalid)?;
    run.merkle = Some(merkle::Attestation::new(&document.value)?);
    Ok(())
}

pub(super) fn check_merkle_root(run: &mut Run<'_>) -> Outcome {
    let (declared, computed) = (run.merkle()?.root, run.chain_root()?);
    if declared == computed {
        return Ok(());
    }
    let message = format!("the receipts have the Merkle root {computed}, not {declared}");
    let path = format!("{}#/merkle_root", merkle::ATTESTATION);
    Err(Failure::new(Code::MerkleRootMismatch, message).at(path))
}

pub(super) fn check_merkle_signer(run: &mut Run<'_>) -> Outcome {
    let signer = &run.merkle()?.signer;
    let check = || {
        let entry = run.policy()?.entry(signer, Signs::MerkleRoots)?;
        entry.check_enabled()?;
        entry.check_scope(Signs::MerkleRoots)?;
        if run.options.strict_identity { entry.check_build(signer) } else { Ok(()) }
    };
    check().map_err(|failure| failure.at(merkle::ATTESTATION))
}

pub(super) fn check_merkle_subject(run: &mut Run<'_>) -> Outcome {
    run.merkle()?.check_subject(run.manifest()?, &run.receipts)
}

// 5.7 and 5.8 Metrics ------------------------------------------------------------------------------

pub(super) fn compute(run: &mut Run<'_>) -> Outcome {
    let manifest = run.manifest()?;
    if run.contents.len() != manifest.artifacts.len() {
        return Err(bug());
    }
    let (artifacts, contents) = (&manifest.artifacts, &run.contents);
    let computed = Computed::new(artifacts, contents);
    let counts = (metrics::free(artifacts, contents), metrics::repeated(artifacts, contents));
    run.computed = Some(computed);
    (run.report.free_artifacts, run.report.repeated_artifacts) = (Some(counts.0), Some(counts.1));
    Ok(())
}

pub(super) fn publish_metrics(run: &mut Run<'_>) -> Outcome {
    if run.options.require_symbol_refs {
        metrics::check_symbol_refs(&run.manifest()?.artifacts, &run.contents)?;
    }
    run.report.computed = Some(run.computed()?.clone());
    Ok(())
}

pub(super) fn check_f3(run: &mut Run<'_>) -> Outcome {
    if run.claim()?.includes_f3 {
        let message = "f3 cannot be computed";
        let path = format!("{CLAIM}#/components");
        return Err(Failure::new(Code::NotImplemented, message).at(path));
    }
    Ok(())
}

pub(super) fn check_uncompressed(run: &mut Run<'_>) -> Outcome {
    let (claimed, computed) =
        (run.claim()?.uncompressed_tokens, run.computed()?.uncompressed_tokens());
    metrics::check_equal("uncompressed_tokens", claimed, computed)
}

pub(super) fn check_compressed(run: &mut Run<'_>) -> Outcome {
    let (claimed, computed) = (run.claim()?.compressed_tokens, run.computed()?.compressed_tokens());
    metrics::check_equal("compressed_tokens", claimed, computed)
}

// Shared by the checks --------------------------------------------------------------------------------

fn located(code: Code, file: &str, Violation { message, pointer }: Violation) -> Failure {
    let path = if pointer.is_empty() { file.into() } else { format!("{file}#{}", cut(&pointer)) };
    Failure::new(code, message).at(path)
}

fn invalid_claim(violation: Violation) -> Failure {
    located(Code::InvalidClaimSchema, CLAIM, violation)
}

fn invalid_bundle(violation: Violation) -> Failure {
    located(Code::InvalidBundleSchema, BUNDLE, violation)
}

fn invalid_policy(violation: Violation) -> Failure {
    located(Code::InvalidTrustPolicySchema, "trust_policy.json", violation)
}

fn refused(refusal: Refusal) -> Violation {
    Violation::new(match refusal {
        Refusal::Link => "the file is a link",
        Refusal::Missing => "the file does not exist or is not a regular file",
        Refusal::Unreadable => "the file cannot be read",
    })
}

impl<'a> Run<'a> {
    pub(super) fn new(
        inputs: &'a Inputs<'a>,
        options: &'a Options,
        progress: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Self {
        Self {
            inputs,
            options,
            progress,
            stopped: AtomicBool::new(false),
            bundle_folder: None,
            bundle_file: None,
            receipts_folder: inputs.receipts.and_then(Folder::open),
            policy_file: None,
            claim_file: None,
            claim: None,
            manifest: None,
            receipts: Vec::new(),
            policy: None,
            contents: Vec::new(),
            merkle_root: None,
            merkle: None,
            computed: None,
            report: Report::default(),
        }
    }

    pub(super) fn claim(&self) -> Result<&Claim, Failure> {
        self.claim.as_ref().ok_or_else(bug)
    }

    pub(super) fn manifest(&self) -> Result<&Manifest, Failure> {
        self.manifest.as_ref().ok_or_else(bug)
    }

    fn policy(&self) -> Result<&Policy, Failure> {
        self.policy.as_ref().ok_or_else(bug)
    }

    pub(super) fn merkle(&self) -> Result<&merkle::Attestation, Failure> {
        self.merkle.as_ref().ok_or_else(bug)
    }

    pub(super) fn computed(&self) -> Result<&Computed, Failure> {
        self.computed.as_ref().ok_or_else(bug)
    }

    fn chain_root(&self) -> Result<Hash, Failure> {
        self.merkle_root.ok_or_else(bug)
    }

    /// Sets the Merkle root in the report once the whole chain is verified.
    fn publish_root(&mut self) {
        let hashes = self.receipts.iter().map(|receipt| receipt.hash).collect();
        self.merkle_root = merkle::root(hashes);
        self.report.merkle_root = self.merkle_root.map(|root| root.to_string());
    }

    /// The bytes of a JSON file.
    fn content(&self, file: Result<Content, Refusal>) -> Result<Vec<u8>, Violation> {
        schema::read(file.map_err(refused)?, self.options.limits.max_json_bytes)
    }

    /// Parses a file and validates it against its schema.
    fn document<'b>(&self, bytes: &'b [u8], schema: &Schema) -> Result<Document<'b>, Violation> {
        let document = schema::parse(bytes, self.options)?;
        document.check(schema)?;
        Ok(document)
    }

    /// Applies a function to many items in parallel, reporting progress; the caller can stop it.
    fn each<T: Sync, R: Send>(
        &mut self,
        what: &'static str,
        items: &[T],
        work: impl Fn(&T) -> Result<R, Failure> + Sync,
    ) -> Result<Vec<R>, Failure> {
        let (stopped, progress, total) = (&self.stopped, &mut *self.progress, items.len());
        let mut tick = |done| {
            if progress(Progress { what, done, total }).is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
        };
        let threads = threads::default_threads(items.len() / WORTH_A_THREAD);
        threads::try_map(items, threads, &mut tick, |item| {
            // `verify` discards the error of a stopped run.
            if stopped.load(Ordering::Relaxed) { Err(bug()) } else { work(item) }
        })
    }

    /// Applies a check to each attestation of each receipt, in the order of the chain.
    fn each_attestation(&self, check: impl Fn(&Policy, &Attested) -> Outcome) -> Outcome {
        let empty = Policy::default();
        let policy = if self.options.trusts() { self.policy()? } else { &empty };
        for receipt in &self.receipts {
            for attested in &receipt.attestations {
                check(policy, attested).map_err(|failure| failure.at(&*receipt.path))?;
            }
        }
        Ok(())
    }

    /// Whether an attestation counts for a quorum.
    fn is_good(&self, attested: &Attested) -> bool {
        let trusted = || {
            let entry = self.policy()?.entry(&attested.signer, Signs::Receipts)?;
            entry.check_enabled()?;
            entry.check_scope(Signs::Receipts)?;
            if self.options.strict_identity { entry.check_build(&attested.signer) } else { Ok(()) }
        };
        attested.scope.is_some() && (!self.options.trusts() || trusted().is_ok())
    }

    fn scopes(&self, counts: impl Fn(&Attested) -> bool) -> Vec<Vec<Option<Scope>>> {
        let scope = |attested: &Attested| attested.scope.filter(|_| counts(attested));
        let receipt = |receipt: &Receipt| receipt.attestations.iter().map(scope).collect();
        self.receipts.iter().map(receipt).collect()
    }
}
