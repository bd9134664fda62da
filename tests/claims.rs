//! Compression claims as a Rust user sees them: the cases of the vectors, and a claim of one's own.

#![cfg(feature = "claims")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{path, string};
use compactwire::claims::{
    Inputs, Item, Options, Report, Scope, Signing, SigningKey, Status, build_bundle,
    canonical_json, make_claim, make_receipt, parse_json, sign_receipt, verify, write_json,
    write_receipt,
};
use serde_json::Value;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A new folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("compactwire-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(inputs: &Inputs<'_>, options: &Options) -> Report {
    verify(inputs, options, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Whether a case has only text files, no links and no options.
fn is_plain(case: &Value) -> bool {
    case.get("links").is_none()
        && case["files"].as_object().unwrap().values().all(Value::is_string)
        && case["options"].as_object().unwrap().is_empty()
}

#[test]
fn cases_of_the_vectors_have_their_verdict() {
    let text = fs::read_to_string(path("claims/cases.jsonl")).unwrap();
    let cases =
        text.split_terminator('\n').map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut count = 0;
    for (number, case) in cases.filter(is_plain).enumerate() {
        let folder = Folder::new(&format!("case-{number}"));
        for (name, content) in case["files"].as_object().unwrap() {
            let file = folder.0.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content.as_str().unwrap()).unwrap();
        }
        let input = |name: &str| case["inputs"][name].as_str().map(|path| folder.0.join(path));
        let [bundle, receipts, claim, policy, merkle] =
            ["bundle", "receipts", "claim", "trust_policy", "merkle_attestation"].map(input);
        let inputs = Inputs {
            bundle: bundle.as_deref().unwrap(),
            receipts: receipts.as_deref(),
            claim: claim.as_deref().unwrap(),
            trust_policy: policy.as_deref(),
            merkle_attestation: merkle.as_deref(),
        };
        let (report, expected) = (run(&inputs, &Options::default()), &case["expected"]);
        let code = report.problem.as_ref().map(|problem| problem.failure.code.name());
        assert_eq!(code, expected["code"].as_str(), "{}", case["name"]);
        let letters: String = report.checks.iter().map(|status| &status.name()[..1]).collect();
        assert_eq!(letters, string(expected, "checks"), "{}", case["name"]);
        assert_eq!(report.merkle_root.as_deref(), expected["merkle_root"].as_str());
        count += 1;
    }
    assert!(count > 100, "{count} cases");
}

fn claim(folder: &Path) {
    let item =
        Item { symbol: false, reference: "intro".into(), slice: None, text: "Hello, world".into() };
    let bundle = folder.join("bundle");
    let manifest = build_bundle(&bundle, "run", "job", "message", &[item]).unwrap();
    let signing = Signing {
        validator_id: Some("me"),
        build_id: None,
        scope: Scope::Spec,
        add: false,
        replace: false,
    };
    let receipt = make_receipt(&manifest, None).unwrap();
    let signed = sign_receipt(&receipt, &SigningKey::from_seed(&[7; 32]), &signing).unwrap();
    write_receipt(&folder.join("receipts"), &signed, false).unwrap();
    let components = [("vector_db_only".to_owned(), true)];
    let claim = make_claim(&manifest, &bundle, &components, None).unwrap();
    write_json(&folder.join("claim.json"), &claim).unwrap();
}

#[test]
fn signatures_are_lost_on_request_only() {
    let folder = Folder::new("replace");
    claim(&folder.0);
    let receipts = folder.0.join("receipts");
    let file = receipts.join("run_00000000.json");
    let signed = parse_json(&fs::read(&file).unwrap()).unwrap();
    let (mine, yours) = (SigningKey::from_seed(&[7; 32]), SigningKey::from_seed(&[8; 32]));
    let signing = |add, replace| Signing {
        validator_id: Some("me"),
        build_id: None,
        scope: Scope::Spec,
        add,
        replace,
    };
    let again = sign_receipt(&signed, &mine, &signing(false, false)).unwrap();
    assert_eq!(canonical_json(&again), canonical_json(&signed));
    let error = sign_receipt(&signed, &yours, &signing(false, false)).unwrap_err();
    assert!(error.to_string().contains("has signed it; keep that signature"), "{error}");
    let both = sign_receipt(&signed, &yours, &signing(true, false)).unwrap();
    let other = sign_receipt(&signed, &yours, &signing(false, true)).unwrap();
    assert!(both.get("attestations").is_some() && other.get("attestations").is_none());
    let before = fs::read(&file).unwrap();
    assert!(write_receipt(&receipts, &other, false).is_err());
    assert_eq!(fs::read(&file).unwrap(), before);
    write_receipt(&receipts, &both, false).unwrap();
    write_receipt(&receipts, &other, true).unwrap();
}

#[test]
fn a_symbol_without_at_is_not_written() {
    let folder = Folder::new("free");
    let item =
        Item { symbol: true, reference: "plain".into(), slice: None, text: "text ".repeat(9) };
    let error = build_bundle(&folder.0.join("bundle"), "run", "job", "m", &[item]).unwrap_err();
    assert!(error.to_string().contains("does not begin with @"), "{error}");
}

#[test]
fn strict_options_need_a_policy() {
    let folder = Folder::new("strict");
    claim(&folder.0);
    let [bundle, receipts, claim] =
        ["bundle", "receipts", "claim.json"].map(|name| folder.0.join(name));
    let inputs = Inputs {
        bundle: &bundle,
        receipts: Some(&receipts),
        claim: &claim,
        trust_policy: None,
        merkle_attestation: None,
    };
    assert!(run(&inputs, &Options::default()).ok());
    let problem = run(&inputs, &Options::strict()).problem.unwrap();
    assert_eq!(problem.failure.code.name(), "INVALID_TRUST_POLICY_SCHEMA");
}

#[test]
fn a_claim_of_ones_own_verifies_until_an_artifact_changes() {
    let folder = Folder::new("own");
    claim(&folder.0);
    let [bundle, receipts, claim] =
        ["bundle", "receipts", "claim.json"].map(|name| folder.0.join(name));
    let inputs = Inputs {
        bundle: &bundle,
        receipts: Some(&receipts),
        claim: &claim,
        trust_policy: None,
        merkle_attestation: None,
    };
    let options = Options { require_attestation: true, ..Options::default() };
    let report = run(&inputs, &options);
    assert!(report.ok(), "{:?}", report.problem);
    assert!(report.checks.iter().all(|status| *status != Status::Failed));

    let artifact = fs::read_dir(bundle.join("artifacts")).unwrap().next().unwrap().unwrap().path();
    fs::write(artifact, "Hello, World\n").unwrap();
    let problem = run(&inputs, &options).problem.unwrap();
    assert_eq!(problem.failure.code.name(), "ARTIFACT_HASH_MISMATCH");
}
