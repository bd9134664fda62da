//! Any bytes in place of one file of a true claim give a verdict, never a panic or an internal
//! error, and the claim stays true only if the file means the same. If the first bit of the input is
//! set, the file's own hash is recomputed, so that later checks are reached.

#![no_main]

use compactwire::claims::{
    Code, Inputs, Item, Options, Scope, Signing, SigningKey, build_bundle, canonical_json,
    make_claim, make_receipt, make_trust_policy, merkle_attestation, parse_json, sign_receipt,
    verify, write_json, write_receipt,
};
use compactwire::value::Value;
use libfuzzer_sys::fuzz_target;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

#[path = "support/bounded.rs"]
mod bounded;

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
    let key = SigningKey::from_seed(&[7; 32]);
    let receipt = make_receipt(&manifest, None).unwrap();
    let (validator_id, build_id) = (Some("me"), None);
    let signing = Signing { validator_id, build_id, scope: Scope::Spec, add: false, replace: false };
    let receipt = sign_receipt(&receipt, &key, &signing).unwrap();
    write_receipt(&folder.join("receipts"), &receipt, false).unwrap();
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

/// The member that holds a file's own hash, the members not hashed, and the end of the hashed text.
fn own_hash(file: &str) -> (&'static str, &'static [&'static str], &'static str) {
    match file {
        "claim.json" => ("claim_hash", &["claim_hash"], "\n"),
        "bundle/bundle.json" => ("bundle_id", &[], ""),
        _ => ("receipt_hash", &["receipt_hash", "attestations"], "\n"),
    }
}

type Members = Vec<(Cow<'static, str>, Value<'static>)>;

fn set(members: &mut Members, name: &'static str, value: Value<'static>) {
    members.retain(|(other, _)| other != name);
    members.push((name.into(), value));
}

/// The file with its own hash recomputed, or `None` if it is not a JSON object.
fn with_own_hash(file: &str, content: &[u8]) -> Option<Vec<u8>> {
    let Ok(Value::Object(mut members)) = parse_json(content) else { return None };
    let (name, without, end) = own_hash(file);
    let mut hashed = members.clone();
    hashed.retain(|(other, _)| !without.contains(&&**other));
    if name == "receipt_hash" {
        set(&mut hashed, "attestation", Value::Null);
    } else if name == "bundle_id" {
        set(&mut hashed, name, Value::String("".into()));
        for (name, value) in &mut hashed {
            if let ("hashes", Value::Object(hashes)) = (&**name, value) {
                set(hashes, "root_hash", Value::String("".into()));
            }
        }
    }
    let text = canonical_json(&Value::Object(hashed)) + end;
    let hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    set(&mut members, name, Value::String(hash.into()));
    Some(canonical_json(&Value::Object(members)).into_bytes())
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Some((which, content)) = data.split_first() else { return };
    let file = FILES[usize::from(*which & 0x7f) % FILES.len()];
    let content = if *which & 0x80 == 0 { None } else { with_own_hash(file, content) }
        .unwrap_or_else(|| content.to_vec());
    let path = FOLDER.join(file);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &content).unwrap();
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
    fs::write(&path, &whole).unwrap();
    let report = report.expect("the verification is not stopped");
    let code = report.problem.as_ref().map(|problem| problem.failure.code);
    assert_ne!(code, Some(Code::InternalError));
    if report.ok() {
        assert_same(file, &content, &whole);
    }
}));

/// Asserts that a file of a true claim changed only in layout or in the case of hexadecimal digits.
fn assert_same(file: &str, content: &[u8], whole: &[u8]) {
    let meaning = |bytes| canonical_json(&parse_json(bytes).unwrap()).to_ascii_lowercase();
    match file {
        // These are not signed, or not completely, so that other contents can be true as well.
        "claim.json" | "policy.json" | "merkle.json" => {}
        "bundle/bundle.json" | "receipts/run_00000000.json" => {
            assert_eq!(meaning(content), meaning(whole));
        }
        _ => assert_eq!(content, whole),
    }
}
