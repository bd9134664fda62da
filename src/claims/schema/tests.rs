//! The rules against the JSON Schemas of the package, which a general validator checks.
//!
//! The documents are valid ones of each kind, changed in one or two places.

use super::*;
use crate::json::{Limits, parse};
use jsonschema::Validator;
use proptest::prelude::*;
use std::borrow::Cow;

struct Kind {
    name: &'static str,
    schema: &'static Schema,
    json_schema: &'static str,
    document: &'static str,
}

macro_rules! kind {
    ($schema:ident, $name:literal) => {
        Kind {
            name: $name,
            schema: &$schema,
            json_schema: include_str!(concat!(
                "../../../python/compactwire/schemas/",
                $name,
                ".schema.json"
            )),
            document: include_str!(concat!("samples/", $name, ".json")),
        }
    };
}

const KINDS: [Kind; 5] = [
    kind!(BUNDLE, "bundle"),
    kind!(CLAIM, "claim"),
    kind!(RECEIPT, "receipt"),
    kind!(TRUST_POLICY, "trust_policy"),
    kind!(MERKLE_ATTESTATION, "merkle_attestation"),
];

impl Kind {
    fn validator(&self) -> Validator {
        jsonschema::validator_for(&serde_json::from_str(self.json_schema).unwrap()).unwrap()
    }

    fn value(&self) -> Value<'static> {
        parse(self.document, Limits::default()).unwrap()
    }

    /// Compares the verdicts on a value. Returns whether it is valid.
    fn compare(&self, validator: &Validator, value: &Value<'_>) -> bool {
        let mut text = String::new();
        json::write(value, json::Escape::Needed, &mut text);
        let found = self.schema.check(value);
        let is_valid = validator.is_valid(&serde_json::from_str(&text).unwrap());
        assert_eq!(found.is_ok(), is_valid, "{}: {found:?}: {text}", self.name);
        is_valid
    }
}

/// The schema and its violation of a text.
fn violation(schema: &Schema, text: &str) -> (String, String) {
    let value = parse(text, Limits::default()).unwrap();
    let Violation { message, pointer } = schema.check(&value).unwrap_err();
    (pointer, message)
}

/// Values for any place. None is a double without a fraction, which JSON Schema calls an integer.
fn replacements() -> Vec<Value<'static>> {
    let texts = [
        "",
        "x",
        "\n",
        "1.0.0",
        "1.0",
        "1..0",
        "1.0.0.0",
        "1.0.0\n",
        "10.02.3",
        "v1.0.0",
        "a.b-c_1",
        ".a",
        "a:b",
        "a\n",
        "é",
        "ed25519",
        "RECEIPT",
        "MERKLE",
        "SUCCESS",
        "FAILURE",
        "SKIPPED",
        "cas",
        "f3",
        "symbol_lang",
        "vector_db_only",
        "READ_SYMBOL",
        "SECTION_SLICE",
        "tests_pass",
        "git:abcdef",
        "git:abcdef0",
        "git:ABCDEF0",
        "git:abcdef0\n",
        "file:0123456789abcde",
        "file:0123456789abcdef",
        "hash:0123456789abcdef",
    ];
    let long = [40, 41, 63, 64, 65, 128, 129, 200, 201, 256, 257, 1024, 1025].into_iter();
    let long = long.flat_map(|count| ["a", "A", "g", "é"].map(|letter| letter.repeat(count)));
    let prefixed = [("git:", 40), ("git:", 41), ("file:", 64), ("file:", 65)];
    let prefixed = prefixed.map(|(prefix, count)| format!("{prefix}{}", "0".repeat(count)));
    let versions = [59, 60, 61].map(|digits| format!("{}.0.0", "1".repeat(digits)));
    let texts = texts.map(String::from).into_iter().chain(long).chain(prefixed).chain(versions);
    let big = ["9007199254740991", "9007199254740992", "-9007199254740992", "36893488147419103232"];
    let others = ["null", "true", "false", "0", "1", "-1", "2", "0.5", "-0.5", "1.5", "[]", "{}"];
    let others = others.into_iter().chain(big).chain(["[null]", r#"["a"]"#, r#"{"a":1}"#]);
    texts
        .map(|text| Value::String(Cow::Owned(text)))
        .chain(others.map(|text| parse(text, Limits::default()).unwrap()))
        .collect()
}

/// All values that differ from a value in one place.
fn changed(value: &Value<'static>) -> Vec<Value<'static>> {
    let mut found = replacements();
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let with = |other| {
                    let mut elements = elements.clone();
                    elements[index] = other;
                    Value::Array(elements)
                };
                found.extend(changed(element).into_iter().map(with));
            }
            found.push(Value::Array([elements.as_slice(), elements].concat()));
        }
        Value::Object(members) => {
            for (index, (name, member)) in members.iter().enumerate() {
                let with = |other| {
                    let mut members = members.clone();
                    members[index].1 = other;
                    Value::Object(members)
                };
                found.extend(changed(member).into_iter().map(with));
                let mut without = members.clone();
                without.remove(index);
                found.push(Value::Object(without));
                let mut renamed = members.clone();
                renamed[index].0 = name.to_uppercase().into();
                found.push(Value::Object(renamed));
            }
            for name in FORBIDDEN_NAMES.iter().chain(&["other", "Timestamp", "", "timestamps"]) {
                let more = vec![(Cow::Borrowed(*name), Value::Null)];
                found.push(Value::Object([members.as_slice(), &more].concat()));
            }
        }
        _ => {}
    }
    found
}

#[test]
fn the_verdicts_on_all_changes_of_one_place_are_those_of_a_validator() {
    for kind in KINDS {
        let validator = kind.validator();
        assert!(kind.compare(&validator, &kind.value()), "{}", kind.name);
        let verdicts: Vec<_> =
            changed(&kind.value()).iter().map(|value| kind.compare(&validator, value)).collect();
        let valid = verdicts.iter().filter(|&&valid| valid).count();
        assert!(valid > 100 && verdicts.len() - valid > 500, "{}: {valid}", kind.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_verdicts_on_changes_of_two_places_are_those_of_a_validator(
        kind in 0..KINDS.len(),
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let kind = &KINDS[kind];
        let once = changed(&kind.value());
        let twice = changed(first.get(&once));
        kind.compare(&kind.validator(), second.get(&twice));
    }
}

#[test]
fn lengths_of_arrays_are_limited() {
    let repeated = |kind: &Kind, name: &str, count| {
        let Value::Object(mut members) = kind.value() else { unreachable!() };
        let found = members.iter_mut().find(|member| member.0 == name).unwrap();
        let Value::Array(elements) = &mut found.1 else { unreachable!() };
        *elements = vec![elements[0].clone(); count];
        Value::Object(members)
    };
    for (kind, name, most) in [(&KINDS[2], "attestations", 64), (&KINDS[3], "allow", 10_000)] {
        let validator = kind.validator();
        assert!(kind.compare(&validator, &repeated(kind, name, most)));
        assert!(!kind.compare(&validator, &repeated(kind, name, most + 1)));
    }
}

#[test]
fn an_integer_must_be_written_as_one() {
    let long = "9".repeat(4300);
    for (text, valid) in [
        ("0", true),
        ("-0", true),
        ("9007199254740991", true),
        ("9007199254740992", false),
        ("18446744073709551616", false),
        (&long, false),
        ("-1", false),
        ("1.0", false),
        ("1e1", false),
        ("true", false),
    ] {
        assert_eq!(Rule::Count.check(&parse(text, Limits::default()).unwrap()).is_ok(), valid);
    }
}

#[test]
fn a_ratio_may_be_written_in_any_way() {
    for (text, ratio, rate) in [
        ("1", true, true),
        ("1.0", true, true),
        ("5e-324", true, true),
        ("0", false, true),
        ("-0.0", false, true),
        ("1.0000000000000002", false, false),
        ("-5e-324", false, false),
        ("99999999999999999999", false, false),
        ("null", false, false),
    ] {
        let value = parse(text, Limits::default()).unwrap();
        assert_eq!(Rule::Ratio.check(&value).is_ok(), ratio, "{text}");
        assert_eq!(Rule::Rate.check(&value).is_ok(), rate, "{text}");
    }
}

#[test]
fn a_violation_names_the_place_and_what_is_expected() {
    let policy = |allow: &str| format!(r#"{{"policy_version":"1.0.0","allow":[{allow}]}}"#);
    let validator = |more: &str| {
        let key = "0".repeat(64);
        policy(&format!(
            r#"{{"validator_id":"a","public_key":"{key}","schemes":["rsa"],"scope":["MERKLE"],"enabled":true{more}}}"#
        ))
    };
    for (text, pointer, message) in [
        ("7", "", "expected an object, found a number"),
        ("{}", "", r#"the member "policy_version" is missing"#),
        (r#"{"policy_version":"2"}"#, "/policy_version", r#"expected 1.0.0, found "2""#),
        (&policy("7"), "/allow/0", "expected an object, found a number"),
        (
            &policy(r#"{"validator_id":""}"#),
            "/allow/0/validator_id",
            r#"expected a string of 1 to 256 characters, found """#,
        ),
        (&validator(""), "/allow/0/schemes", "ed25519 is not in the array"),
        (
            &policy(r#"{"scope":["MERKLE","x"]}"#),
            "/allow/0/scope/1",
            r#"expected RECEIPT or MERKLE, found "x""#,
        ),
        (&policy(r#"{"scope":[]}"#), "/allow/0/scope", "the array is empty"),
        (&policy(r#"{"a/b~":1}"#), "/allow/0", r#"unknown member "a/b~""#),
    ] {
        assert_eq!(violation(&TRUST_POLICY, text), (pointer.into(), message.into()));
    }
    let claim = KINDS[1].document.replace("\"cas_tokens\"", "\"f3_tokens\"");
    let message = r#"the member "cas_tokens" is missing: cas is included"#;
    assert_eq!(violation(&CLAIM, &claim), ("/reported_metrics".into(), message.into()));
}
