//! The bytes of a receipt that are hashed and signed. Compression Claims section 3.3.
//!
//! These byte strings differ from each other only in the members `attestation` and `receipt_hash`. The
//! canonical text is therefore written once, and the byte strings are assembled from its parts: a
//! receipt may have 64 signatures, each over the whole receipt.

use super::canonical::{Hash, Members, canon};
use super::signer::{SCHEME, Scope, Signer};
use crate::json::{self, Escape};
use crate::text::hex;
use crate::value::Value;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// The canonical text of a receipt with `attestation` set to null and without the list `attestations`.
pub(super) struct Form {
    text: String,
    /// The range of that null.
    attestation: Range<usize>,
    /// The range of the member `receipt_hash`, with the comma before it.
    hash: Range<usize>,
}

impl Form {
    /// Writes a receipt that matches its schema and was parsed from `size` bytes.
    pub(super) fn new(receipt: &Members<'_>, size: usize) -> Self {
        let mut sorted: Vec<_> = receipt.iter().collect();
        sorted.sort_unstable_by_key(|(name, _)| name);
        let mut text = String::with_capacity(size);
        let (mut attestation, mut hash) = (0..0, 0..0);
        for (name, value) in sorted {
            if name == "attestations" && matches!(value, Value::Array(_)) {
                continue;
            }
            let start = text.len();
            text.push(if start == 0 { '{' } else { ',' });
            json::write_string(name, Escape::NonAscii, &mut text);
            text.push(':');
            if name == "attestation" {
                attestation = text.len()..text.len() + "null".len();
                text.push_str("null");
            } else {
                json::write(value, Escape::NonAscii, &mut text);
            }
            if name == "receipt_hash" {
                hash = start..text.len();
            }
        }
        text.push_str("}\n");
        Self { text, attestation, hash }
    }

    /// The hash of the receipt, which covers neither itself nor the attestations.
    pub(super) fn receipt_hash(&self) -> Hash {
        let Range { start, end } = self.hash.clone();
        let hash = Sha256::new().chain_update(&self.text[..start]).chain_update(&self.text[end..]);
        Hash(hash.finalize().into())
    }

    /// The bytes that `signer` signs in a scope.
    pub(super) fn message(&self, signer: &Signer, scope: Scope) -> Vec<u8> {
        let hash = match scope {
            Scope::Spec => self.hash.clone(),
            Scope::Reference => self.hash.end..self.hash.end,
        };
        let parts = [
            &self.text[..self.attestation.start],
            &unsigned(signer),
            &self.text[self.attestation.end..hash.start],
            &self.text[hash.end..],
        ];
        parts.concat().into_bytes()
    }
}

/// The attestation with an empty signature, as it is signed.
fn unsigned(signer: &Signer) -> String {
    let public_key = signer.public_key.map_or_else(String::new, |key| hex::encode(&key));
    let members = [
        ("build_id", signer.build_id.as_deref()),
        ("public_key", Some(&*public_key)),
        ("scheme", Some(SCHEME)),
        ("signature", Some("")),
        ("validator_id", signer.validator_id.as_deref()),
    ];
    let given = members.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let text = |value: &str| Value::String(value.to_owned().into());
    canon(&Value::Object(given.map(|(name, value)| (name.into(), text(value))).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::canonical::{Change, changed};
    use proptest::prelude::*;

    fn receipt(members: &[&str]) -> Value<'static> {
        json::parse(&format!("{{{}}}", members.join(",")), json::Limits::default()).unwrap()
    }

    fn signer() -> Signer {
        let (validator_id, build_id) = (Some("é".into()), None);
        Signer { validator_id, build_id, public_key: Some([0xab; 32]) }
    }

    proptest! {
        #[test]
        fn assembled_bytes_equal_the_rewritten_receipt(
            members in Just(vec![
                r#""run_id":"r\u007f""#,
                r#""attestation":{"signature":"x"}"#,
                r#""artifacts":[{"b":1,"a":2.50}]"#,
                r#""receipt_hash":"00""#,
                r#""steps":[]"#,
            ]).prop_shuffle(),
            several in proptest::option::of(prop_oneof![
                Just(r#""attestations":null"#),
                Just(r#""attestations":[{"signature":"y"}]"#),
            ]),
        ) {
            let members: Vec<_> = members.into_iter().chain(several).collect();
            let receipt = receipt(&members);
            let receipt = receipt.as_object().unwrap();
            let form = Form::new(receipt, 0);
            let dropped = several.is_some_and(|several| !several.ends_with("null"));
            let rewritten = |attestation: &'static str, with_hash: bool| {
                changed(receipt, |name| match name {
                    "attestation" => Change::Set(attestation),
                    "receipt_hash" if !with_hash => Change::Drop,
                    "attestations" if dropped => Change::Drop,
                    _ => Change::Keep,
                }) + "\n"
            };
            prop_assert_eq!(form.receipt_hash(), Hash::of(rewritten("null", false)));
            let stub = concat!(
                r#"{"public_key":"abababababababababababababababababababababababababababababababab","#,
                r#""scheme":"ed25519","signature":"","validator_id":"\u00e9"}"#,
            );
            for (scope, with_hash) in [(Scope::Spec, false), (Scope::Reference, true)] {
                let message = String::from_utf8(form.message(&signer(), scope)).unwrap();
                prop_assert_eq!(message, rewritten(stub, with_hash));
            }
        }
    }
}
