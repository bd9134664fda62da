//! The schemas of the five kinds of files, as rules.
//!
//! The same as the JSON Schemas of the package (`python/compactwire/schemas`): the tests compare the
//! verdicts with those of a general validator.

use super::Violation;
use super::rule::{Array, Form, Object, Rule, has_length};
use crate::text::hex;
use crate::value::Value;

use Rule::{Bool, Count, Nullable, OneOf, Rate, Ratio, Sized, Text};

/// Names of members of a manifest that reveal when or where something ran.
pub(in crate::claims) const FORBIDDEN_NAMES: [&str; 12] = [
    "timestamp",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "generated_at",
    "mtime",
    "ctime",
    "cwd",
    "hostname",
    "os",
    "locale",
];

/// The forbidden names pass the schema: a later check reports them, by a code of its own.
fn reported_later(name: &str) -> bool {
    FORBIDDEN_NAMES.contains(&name)
}

fn none(_: &str) -> bool {
    false
}

fn any(_: &str) -> bool {
    true
}

const HASH: Rule = Rule::Form(&Form {
    expected: "64 hexadecimal digits in lower case",
    matches: |text| hex::decode_lower::<32>(text.as_bytes()).is_some(),
});
const PUBLIC_KEY: Rule = Rule::Form(&Form {
    expected: "64 hexadecimal digits",
    matches: |text| hex::decode::<32>(text.as_bytes()).is_some(),
});
const SIGNATURE: Rule = Rule::Form(&Form {
    expected: "128 hexadecimal digits",
    matches: |text| hex::decode::<64>(text.as_bytes()).is_some(),
});
const BUILD_ID: Rule = Rule::Form(&Form {
    expected: "git: and 7 to 40, or file: and 16 to 64 hexadecimal digits in lower case",
    matches: is_build_id,
});
const ARTIFACT_ID: Rule = Rule::Form(&Form {
    expected: "1 to 128 letters, digits, dots, underscores and hyphens, a letter or digit first",
    matches: is_artifact_id,
});
const VERSION: Rule = Rule::Form(&Form {
    expected: "a version of three numbers, such as 1.0.0, of at most 64 characters",
    matches: is_version,
});
const RUN_ID: Rule = Sized(1, 200);
const VALIDATOR_ID: Rule = Sized(1, 256);
const TEXTS: Rule = Rule::Array(&Array::of(Text));
const NULL_OR_TEXT: Rule = Nullable(&Text);

fn is_build_id(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let (digits, sizes) = match (text.strip_prefix("git:"), text.strip_prefix("file:")) {
        (Some(digits), _) => (digits, 7..=40),
        (_, Some(digits)) => (digits, 16..=64),
        (None, None) => return false,
    };
    sizes.contains(&digits.len()) && digits.bytes().all(is_hex)
}

fn is_artifact_id(text: &str) -> bool {
    let others = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    has_length(text, 1, 128)
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(others)
}

fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= 64 && text.split('.').count() == 3 && text.split('.').all(is_number)
}

pub(super) static BUNDLE: Rule = Rule::Object(&Object {
    required: &[
        ("bundle_version", Sized(1, 64)),
        ("bundle_id", HASH),
        ("run_id", RUN_ID),
        ("job_id", Text),
        ("message_id", Text),
        ("plan_hash", Text),
        ("steps", Rule::Array(&Array::of(Rule::Object(&STEP)))),
        ("inputs", Rule::Object(&INPUTS)),
        ("artifacts", Rule::Array(&Array::of(Rule::Object(&ARTIFACT)))),
        (
            "hashes",
            Rule::Object(&Object {
                required: &[("root_hash", HASH)],
                optional: &[],
                allows: reported_later,
            }),
        ),
        (
            "provenance",
            Rule::Object(&Object { required: &[], optional: &[], allows: reported_later }),
        ),
    ],
    optional: &[],
    allows: reported_later,
});

const INPUTS: Object = Object {
    required: &[],
    optional: &[("symbols", TEXTS), ("files", TEXTS), ("slices", TEXTS)],
    allows: reported_later,
};

const STEP: Object = Object {
    required: &[
        ("step_id", Text),
        ("ordinal", Count),
        ("op", OneOf(&["READ_SYMBOL", "READ_SECTION"])),
    ],
    optional: &[
        ("refs", Rule::Object(&REFS)),
        ("constraints", Rule::Object(&CONSTRAINTS)),
        ("expected_outputs", ANY_OBJECT),
    ],
    allows: reported_later,
};

const REFS: Object =
    Object { required: &[], optional: &[("symbol_id", Text), ("section_id", Text)], allows: any };

const CONSTRAINTS: Object =
    Object { required: &[], optional: &[("slice", NULL_OR_TEXT)], allows: any };

const ANY_OBJECT: Rule = Rule::Object(&Object { required: &[], optional: &[], allows: any });

const ARTIFACT: Object = Object {
    required: &[
        ("artifact_id", ARTIFACT_ID),
        ("kind", OneOf(&["SYMBOL_SLICE", "SECTION_SLICE"])),
        ("ref", Text),
        ("slice", NULL_OR_TEXT),
        ("path", Sized(1, 1024)),
        ("sha256", HASH),
        ("bytes", Count),
    ],
    optional: &[],
    allows: reported_later,
};

pub(super) static CLAIM: Rule = Rule::Object(&Object {
    required: &[
        ("claim_version", OneOf(&["1.0.0"])),
        ("run_id", RUN_ID),
        ("bundle_id", HASH),
        (
            "components",
            Rule::Array(&Array {
                size: (1, usize::MAX),
                each: Rule::Object(&COMPONENT),
                with: None,
            }),
        ),
        ("reported_metrics", Rule::Object(&METRICS)),
        ("claim_hash", HASH),
    ],
    optional: &[("task_performance", Rule::Object(&TASK_PERFORMANCE)), ("notes", Text)],
    allows: none,
});

const COMPONENT: Object = Object {
    required: &[
        ("name", OneOf(&["vector_db_only", "symbol_lang", "f3", "cas"])),
        ("included", Bool),
    ],
    optional: &[],
    allows: none,
};

const METRICS: Object = Object {
    required: &[
        ("compression_ratio", Ratio),
        ("uncompressed_tokens", Count),
        ("compressed_tokens", Count),
        ("artifact_count", Count),
        ("total_bytes", Count),
    ],
    optional: &[
        ("vector_db_tokens", Count),
        ("symbol_lang_tokens", Count),
        ("cas_tokens", Count),
        ("f3_tokens", Count),
    ],
    allows: none,
};

const TASK_PERFORMANCE: Object = Object {
    required: &[],
    optional: &[
        ("benchmark_version", VERSION),
        ("tasks_run", Count),
        ("baseline_results", Rule::Object(&RESULTS)),
        ("compressed_results", Rule::Object(&RESULTS)),
        ("parity_achieved", Bool),
        ("task_details", Rule::Array(&Array::of(Rule::Object(&TASK)))),
    ],
    allows: none,
};

const RESULTS: Object = Object {
    required: &[("tasks_passed", Count), ("tasks_failed", Count), ("success_rate", Rate)],
    optional: &[],
    allows: none,
};

const TASK: Object = Object {
    required: &[
        ("task_id", Text),
        ("task_type", OneOf(&["code_compiles", "tests_pass", "bugs_found", "semantic_match"])),
        ("baseline_passed", Bool),
        ("compressed_passed", Bool),
    ],
    optional: &[("tokens_used_baseline", Count), ("tokens_used_compressed", Count)],
    allows: none,
};

/// A component that a claim includes needs its number of tokens.
pub(super) fn component_tokens(claim: &Value<'_>) -> Result<(), Violation> {
    const NEEDS: [(&str, &str); 3] = [
        ("vector_db_only", "vector_db_tokens"),
        ("symbol_lang", "symbol_lang_tokens"),
        ("cas", "cas_tokens"),
    ];
    let components = claim.get("components").and_then(Value::as_array).unwrap_or_default();
    let metrics = claim.get("reported_metrics");
    for (name, member) in NEEDS {
        let is_included = |component: &Value<'_>| {
            component.get("name").and_then(Value::as_str) == Some(name)
                && component.get("included") == Some(&Value::Bool(true))
        };
        if components.iter().any(is_included) && metrics.and_then(|all| all.get(member)).is_none() {
            let message = format!("the member {member:?} is missing: {name} is included");
            return Err(Violation::at(message, "/reported_metrics"));
        }
    }
    Ok(())
}

pub(super) static RECEIPT: Rule = Rule::Object(&Object {
    required: &[
        ("receipt_version", Text),
        ("run_id", RUN_ID),
        ("job_id", Text),
        ("bundle_id", HASH),
        ("plan_hash", Text),
        ("executor_version", Text),
        ("outcome", OneOf(&["SUCCESS", "FAILURE"])),
        (
            "error",
            Nullable(&Rule::Object(&Object {
                required: &[("code", Text), ("message", Text)],
                optional: &[("step_id", NULL_OR_TEXT)],
                allows: none,
            })),
        ),
        ("steps", Rule::Array(&Array::of(Rule::Object(&RECEIPT_STEP)))),
        (
            "artifacts",
            Rule::Array(&Array::of(Rule::Object(&Object {
                required: &[("artifact_id", Text), ("sha256", HASH), ("bytes", Count)],
                optional: &[],
                allows: none,
            }))),
        ),
        ("root_hash", HASH),
        ("parent_receipt_hash", Nullable(&HASH)),
        ("receipt_hash", HASH),
        ("attestation", Nullable(&Rule::Object(&ATTESTATION))),
        ("receipt_index", Nullable(&Count)),
    ],
    optional: &[(
        "attestations",
        Nullable(&Rule::Array(&Array {
            size: (1, 64),
            each: Rule::Object(&ATTESTATION),
            with: None,
        })),
    )],
    allows: none,
});

const RECEIPT_STEP: Object = Object {
    required: &[
        ("ordinal", Count),
        ("step_id", Text),
        ("op", Text),
        ("outcome", OneOf(&["SUCCESS", "FAILURE", "SKIPPED"])),
    ],
    optional: &[
        ("result", Nullable(&ANY_OBJECT)),
        (
            "error",
            Nullable(&Rule::Object(&Object {
                required: &[],
                optional: &[("code", Text), ("message", Text)],
                allows: none,
            })),
        ),
    ],
    allows: none,
};

/// The signature of a receipt. A malformed one is an invalid signature, not a violation.
const ATTESTATION: Object = Object {
    required: &[("scheme", Text), ("public_key", Text), ("signature", Text)],
    optional: &[("validator_id", VALIDATOR_ID), ("build_id", BUILD_ID)],
    allows: none,
};

pub(super) static TRUST_POLICY: Rule = Rule::Object(&Object {
    required: &[
        ("policy_version", OneOf(&["1.0.0"])),
        (
            "allow",
            Rule::Array(&Array { size: (0, 10_000), each: Rule::Object(&VALIDATOR), with: None }),
        ),
    ],
    optional: &[],
    allows: none,
});

const VALIDATOR: Object = Object {
    required: &[
        ("validator_id", VALIDATOR_ID),
        ("public_key", PUBLIC_KEY),
        (
            "schemes",
            Rule::Array(&Array { size: (1, usize::MAX), each: Text, with: Some("ed25519") }),
        ),
        (
            "scope",
            Rule::Array(&Array {
                size: (1, usize::MAX),
                each: OneOf(&["RECEIPT", "MERKLE"]),
                with: None,
            }),
        ),
        ("enabled", Bool),
    ],
    optional: &[("build_id", BUILD_ID)],
    allows: none,
};

pub(super) static MERKLE_ATTESTATION: Rule = Rule::Object(&Object {
    required: &[
        ("scheme", OneOf(&["ed25519"])),
        ("merkle_root", HASH),
        ("public_key", PUBLIC_KEY),
        ("signature", SIGNATURE),
    ],
    optional: &[
        ("validator_id", VALIDATOR_ID),
        ("build_id", BUILD_ID),
        ("run_id", Text),
        ("job_id", Text),
        ("bundle_id", Text),
        ("receipt_count", Count),
        ("receipt_chain_head_hash", HASH),
    ],
    allows: none,
});
