//! Any bytes as one of the files of a true claim: a verdict, never a panic and never a bug's code; and
//! a claim stays true only if the file still means the same.

#![no_main]

use compactwire::claims::{
    Code, Inputs, Item, Options, Scope, SigningKey, build_bundle, make_claim, make_receipt,
    make_trust_policy, merkle_attestation, parse_json, sign_receipt, verify, write_json,
    write_receipt,
};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

const FILES: [&str; 6] = [
    "claim.json",
    "bundle/bundle.json",
    "receipts/run_00000000.json",
    "policy.json",
    "merkle.json",
    "bundle/artifacts/a4b98b489489d2f4.txt",
];

/// A true claim, in a folder of this process.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("compactwire-fuzz-{}", std::process::id()));
    let item = Item {
        symbol: false,
        reference: "intro".into(),
        slice: None,
        text: "Hello, world, and all who read this.".into(),
    };
    let bundle = folder.join("bundle");
    let manifest = build_bundle(&bundle, "run", "job", "message", &[item]).unwrap();
    let key = SigningKey::new(&[7; 32]);
    let receipt = make_receipt(&manifest, None).unwrap();
    let receipt = sign_receipt(&receipt, &key, Some("me"), None, Scope::Spec).unwrap();
    write_receipt(&folder.join("receipts"), &receipt).unwrap();
    let components = [("vector_db_only".to_owned(), true), ("symbol_lang".to_owned(), true)];
    let claim = make_claim(&manifest, &bundle, &components, None).unwrap();
    write_json(&folder.join("claim.json"), &claim).unwrap();
    let entry = format!(
        r#"{{"validator_id":"me","public_key":"{}","schemes":["ed25519"],"scope":["RECEIPT","MERKLE"],"enabled":true}}"#,
        key.public_key()
    );
    let policy = make_trust_policy(vec![parse_json(entry.as_bytes()).unwrap()]).unwrap();
    write_json(&folder.join("policy.json"), &policy).unwrap();
    let merkle = merkle_attestation(&[receipt], &key, Some("me"), None).unwrap();
    write_json(&folder.join("merkle.json"), &merkle).unwrap();
    folder
});

fuzz_target!(|data: &[u8]| {
    let Some((which, content)) = data.split_first() else { return };
    let path = FOLDER.join(FILES[usize::from(*which) % FILES.len()]);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, content).unwrap();
    let join = |name: &str| FOLDER.join(name);
    let (bundle, receipts, claim) = (join("bundle"), join("receipts"), join("claim.json"));
    let (policy, merkle) = (join("policy.json"), join("merkle.json"));
    let inputs = Inputs {
        bundle: &bundle,
        receipts: Some(&receipts),
        claim: &claim,
        trust_policy: Some(&policy),
        merkle_attestation: Some(&merkle),
    };
    let options = Options {
        require_attestation: true,
        strict_identity: true,
        require_merkle_attestation: true,
        ..Options::default()
    };
    let report = verify(&inputs, &options, &mut |_| ControlFlow::Continue(()));
    fs::write(&path, whole).unwrap();
    let report = report.expect("nobody stops it");
    let code = report.problem.as_ref().map(|problem| problem.failure.code);
    assert_ne!(code, Some(Code::InternalError));
    if report.ok() && path.extension().is_some_and(|extension| extension == "txt") {
        assert_eq!(content, fs::read(&path).unwrap());
    }
});
