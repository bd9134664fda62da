//! Verifies signatures. Compression Claims sections 3.3 and 5.5.
//!
//! Invariant: strict verification (`verify_strict` of ed25519-dalek). Keys and points of small
//! order, keys that are not encoded canonically, and scalars beyond the group's order are refused,
//! so that all strict implementations agree on every signature.

use super::error::Failure;
use super::fields;
use super::signed::Form;
use super::signer::{SCHEME, Scope, Signer};
use crate::text::hex;
use crate::value::Value;
use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The scope in which the attestation's signature of a receipt is valid; `None` if it is invalid.
pub(super) fn verify_receipt(
    form: &Form,
    attestation: &Value<'_>,
    signer: &Signer,
    keys: &Keys,
    accept_reference: bool,
) -> Result<Option<Scope>, Failure> {
    if fields::text(attestation, "scheme")? != SCHEME {
        return Ok(None);
    }
    let signature = hex::decode(fields::text(attestation, "signature")?.as_bytes());
    let (Some(public_key), Some(signature)) = (signer.public_key, signature) else {
        return Ok(None);
    };
    let Some(key) = keys.get(public_key) else { return Ok(None) };
    let scopes: &[Scope] =
        if accept_reference { &[Scope::Spec, Scope::Reference] } else { &[Scope::Spec] };
    let good = |scope: &&Scope| key.verifies(&form.message(signer, **scope), &signature);
    Ok(scopes.iter().find(good).copied())
}

/// A cache of decoded keys, shared by threads: receipts name the same keys many times.
#[derive(Default)]
pub(super) struct Keys(Mutex<HashMap<[u8; 32], Option<Key>>>);

/// The capacity of the cache; further keys are decoded each time.
const MAX_KEYS: usize = 1024;

impl Keys {
    fn get(&self, bytes: [u8; 32]) -> Option<Key> {
        // A poisoned lock is safe here: each insertion is complete or absent.
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known().get(&bytes) {
            return *key;
        }
        let key = Key::new(bytes);
        let mut known = known();
        if known.len() < MAX_KEYS {
            known.insert(bytes, key);
        }
        key
    }
}

/// A public key that strict verification accepts.
#[derive(Clone, Copy)]
pub(super) struct Key(VerifyingKey);

impl Key {
    /// `None` if the bytes are not a point, not encoded canonically, or of small order.
    pub(super) fn new(bytes: [u8; 32]) -> Option<Self> {
        // The library accepts a y that is not below the field's order; other implementations refuse
        // it.
        if !is_canonical(bytes) {
            return None;
        }
        VerifyingKey::from_bytes(&bytes).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// Whether the signature is valid: the same result as `verify_strict`, in less time.
    ///
    /// `verify` computes R and compares it with the signature's bytes, so that a valid R is encoded
    /// canonically. Comparing these bytes with [`SMALL_ORDER`] therefore finds every R of small
    /// order without decoding it.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let small = SMALL_ORDER.iter().any(|point| signature.starts_with(point));
        !small && self.0.verify(message, &Signature::from_bytes(signature)).is_ok()
    }
}

/// The canonical encodings of the eight points of small order.
const SMALL_ORDER: [[u8; 32]; 8] = {
    const FOURTH: [u8; 32] = [0; 32];
    const FIRST: [u8; 32] = with(0, 1, FOURTH);
    const SECOND: [u8; 32] = with(31, 0x7f, with(0, 0xec, [0xff; 32]));
    const EIGHTH: [u8; 32] = [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ];
    const OTHER_EIGHTH: [u8; 32] = [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ];
    [
        FIRST,
        SECOND,
        FOURTH,
        with(31, 0x80, FOURTH),
        EIGHTH,
        with(31, 0x85, EIGHTH),
        OTHER_EIGHTH,
        with(31, 0xfa, OTHER_EIGHTH),
    ]
};

const fn with(at: usize, byte: u8, mut point: [u8; 32]) -> [u8; 32] {
    point[at] = byte;
    point
}

/// Whether y (little-endian, without the sign bit of x) is below 2^255 - 19.
fn is_canonical(mut bytes: [u8; 32]) -> bool {
    bytes[31] &= 0x7f;
    let high = bytes[31] == 0x7f && bytes[1..31].iter().all(|byte| *byte == 0xff);
    !(high && bytes[0] >= 0xed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::constants::EIGHT_TORSION;
    use curve25519_dalek::{EdwardsPoint, Scalar};
    use ed25519_dalek::{Signer as _, SigningKey};
    use sha2::{Digest as _, Sha512};

    /// The order of the group, little-endian.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];

    /// Every encoding that decodes to one of the eight points of small order.
    const DECODE_TO_SMALL_ORDER: [&str; 14] = [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];

    fn signed() -> ([u8; 32], [u8; 64]) {
        let key = SigningKey::from_bytes(&[7; 32]);
        (key.verifying_key().to_bytes(), key.sign(b"message").to_bytes())
    }

    #[test]
    fn valid_signature_verifies_only_its_message_and_key() {
        let (key, signature) = signed();
        let good = Key::new(key).unwrap();
        assert!(good.verifies(b"message", &signature));
        assert!(!good.verifies(b"massage", &signature));
        let other = SigningKey::from_bytes(&[8; 32]).verifying_key().to_bytes();
        assert!(!Key::new(other).unwrap().verifies(b"message", &signature));
    }

    #[test]
    fn signature_with_a_flipped_bit_is_refused() {
        let (key, signature) = signed();
        let key = Key::new(key).unwrap();
        for bit in 0..512 {
            let mut changed = signature;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.verifies(b"message", &changed), "bit {bit}");
        }
    }

    #[test]
    fn scalar_beyond_the_group_order_is_refused() {
        let (key, mut signature) = signed();
        let mut carry = 0u16;
        for (byte, add) in signature[32..].iter_mut().zip(ORDER) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            *byte = u8::try_from(sum & 255).unwrap();
            carry = sum >> 8;
        }
        assert!(!Key::new(key).unwrap().verifies(b"message", &signature));
    }

    #[test]
    fn keys_of_small_order_are_refused_in_every_encoding() {
        for text in DECODE_TO_SMALL_ORDER {
            assert!(Key::new(hex::decode(text.as_bytes()).unwrap()).is_none(), "{text}");
        }
    }

    /// Returns a key, `a` times the base point plus a point of small order, and a signature whose R is
    /// `r` times the base point plus another point of small order. The verification equation holds where
    /// the two points of small order cancel out.
    fn crafted(
        a: Scalar,
        r: Scalar,
        torsion: (usize, usize),
        message: &[u8],
    ) -> ([u8; 32], [u8; 64]) {
        let key = EdwardsPoint::mul_base(&a) + EIGHT_TORSION[torsion.0];
        let point = EdwardsPoint::mul_base(&r) + EIGHT_TORSION[torsion.1];
        let (key, point) = (key.compress().0, point.compress().0);
        let hash = Sha512::new().chain_update(point).chain_update(key).chain_update(message);
        let scalar = r + Scalar::from_bytes_mod_order_wide(&hash.finalize().into()) * a;
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&point);
        signature[32..].copy_from_slice(scalar.as_bytes());
        (key, signature)
    }

    #[test]
    fn result_equals_strict_verification_for_all_torsion() {
        let (mut good, mut only_lax) = (0, 0);
        for round in 0..64_u64 {
            let message = round.to_le_bytes();
            for torsion in (0..64).map(|both| (both / 8, both % 8)) {
                for r in [Scalar::ZERO, Scalar::from(round + 1)] {
                    let (key, signature) = crafted(Scalar::from(99 + round), r, torsion, &message);
                    let library = VerifyingKey::from_bytes(&key).unwrap();
                    let strict =
                        library.verify_strict(&message, &Signature::from_bytes(&signature));
                    let lax = library.verify(&message, &Signature::from_bytes(&signature));
                    let ours = Key::new(key).is_some_and(|key| key.verifies(&message, &signature));
                    assert_eq!(ours, strict.is_ok(), "{round} {torsion:?}");
                    good += u32::from(ours);
                    only_lax += u32::from(lax.is_ok() && !ours);
                }
            }
        }
        assert!(good > 0 && only_lax > 0, "both outcomes are reached");
    }

    #[test]
    fn small_order_table_is_complete() {
        let mut known = SMALL_ORDER;
        let mut all = EIGHT_TORSION.map(|point| point.compress().0);
        known.sort_unstable();
        all.sort_unstable();
        assert_eq!(known, all);
    }

    #[test]
    fn non_canonical_keys_are_refused() {
        let mut refused = 0;
        for low in 0xed..=0xff_u8 {
            for sign in [0x7f, 0xff] {
                let mut bytes = [0xff; 32];
                (bytes[0], bytes[31]) = (low, sign);
                assert!(Key::new(bytes).is_none(), "{low:x}");
                refused += usize::from(VerifyingKey::from_bytes(&bytes).is_ok());
            }
        }
        assert!(refused > 0, "the library refuses them itself by now");
        let mut largest = [0xff; 32];
        (largest[0], largest[31]) = (0xec, 0x7f);
        assert!(is_canonical(largest));
    }
}
