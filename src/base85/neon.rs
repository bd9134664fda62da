//! Four groups at a time with NEON, which every 64-bit ARM processor has.
//!
//! A 32-bit element of a register holds one group; its value is split as in `avx2`.

#![expect(clippy::cast_precision_loss, reason = "the values are small")]

use super::{ALPHABET, DIGIT_RECIPROCAL, PAIR, PAIR_RECIPROCAL, paired_blocks};
#[allow(clippy::wildcard_imports, reason = "there are many intrinsics")]
use std::arch::aarch64::*;

const BLOCK_BYTES: usize = 16;
const BLOCK_CHARS: usize = 20;

/// Encodes whole blocks from the front of `data`. Returns the number of bytes encoded.
#[target_feature(enable = "neon")]
pub(super) fn encode_blocks(data: &[u8], text: &mut [u8]) -> usize {
    let (low_table, high_table) = tables(&CHARS);
    let order = load(&TO_TEXT);
    for (block, out) in paired_blocks::<BLOCK_BYTES, BLOCK_CHARS>(data, text) {
        let (first, rest) = split(vreinterpretq_u32_u8(vrev32q_u8(load(block))));
        // The 20 characters are 16 of both vectors, and the last element of `rest`.
        let head = look_up(low_table, high_table, vqtbl2q_u8(uint8x16x2_t(first, rest), order));
        let tail = look_up(low_table, high_table, rest);
        let (start, end) = out.split_at_mut(BLOCK_BYTES);
        // SAFETY: `start` is 16 writable bytes.
        unsafe { vst1q_u8(start.as_mut_ptr(), head) };
        end.copy_from_slice(&vgetq_lane_u32::<3>(vreinterpretq_u32_u8(tail)).to_le_bytes());
    }
    data.len() / BLOCK_BYTES * BLOCK_BYTES
}

/// Decodes whole blocks from the front of `text` up to the first invalid one. Returns the number of
/// characters decoded.
#[target_feature(enable = "neon")]
pub(super) fn decode_blocks(text: &[u8], data: &mut [u8]) -> usize {
    let (low_table, high_table) = tables(&DIGITS);
    let (to_first, to_rest) = (load(&TO_FIRST), load(&TO_REST));
    for (i, (block, out)) in paired_blocks::<BLOCK_CHARS, BLOCK_BYTES>(text, data).enumerate() {
        let mut last = [0; BLOCK_BYTES];
        last.copy_from_slice(&block[4..]);
        let mut head = [0; BLOCK_BYTES];
        head.copy_from_slice(&block[..BLOCK_BYTES]);
        let head = look_up(low_table, high_table, load(&head));
        let tail = look_up(low_table, high_table, load(&last));
        if vminvq_u8(vandq_u8(head, tail)) < VALID {
            return i * BLOCK_CHARS;
        }
        // Characters 0..16 are three groups and the first digit of the fourth, 4..20 end with its other digits.
        let digit = vdupq_n_u8(!VALID);
        let first = vandq_u8(vqtbl1q_u8(head, to_first), digit);
        let rest = vandq_u8(vqtbl2q_u8(uint8x16x2_t(head, tail), to_rest), digit);
        let Some(words) = join(first, rest) else { return i * BLOCK_CHARS };
        // SAFETY: `out` is 16 writable bytes.
        unsafe { vst1q_u8(out.as_mut_ptr(), vrev32q_u8(vreinterpretq_u8_u32(words))) };
    }
    text.len() / BLOCK_CHARS * BLOCK_CHARS
}

/// The digits of four numbers: the first as 32-bit elements, the other four as the bytes of each element.
#[inline]
#[target_feature(enable = "neon")]
fn split(value: uint32x4_t) -> (uint8x16_t, uint8x16_t) {
    let reciprocal = vdupq_n_u32(PAIR_RECIPROCAL);
    let low_half = vmull_u32(vget_low_u32(value), vget_low_u32(reciprocal));
    let high_half = vmull_high_u32(value, reciprocal);
    let high = vcombine_u32(
        vmovn_u64(vshrq_n_u64::<44>(low_half)),
        vmovn_u64(vshrq_n_u64::<44>(high_half)),
    );
    let low = vmlsq_n_u32(value, high, PAIR);
    // `high` is below 2^20, exact in a float; half a unit more keeps the quotient from falling short.
    let quotient = vmulq_n_f32(vaddq_f32(vcvtq_f32_u32(high), vdupq_n_f32(0.5)), 1.0 / PAIR as f32);
    let first = vcvtq_u32_f32(quotient);
    let middle = vmlsq_n_u32(high, first, PAIR);
    let pairs = vreinterpretq_u16_u32(vorrq_u32(middle, vshlq_n_u32::<16>(low)));
    let reciprocal = vdupq_n_u16(DIGIT_RECIPROCAL);
    let products = (
        vreinterpretq_u16_u32(vmull_u16(vget_low_u16(pairs), vget_low_u16(reciprocal))),
        vreinterpretq_u16_u32(vmull_high_u16(pairs, reciprocal)),
    );
    let tens = vshrq_n_u16::<4>(vuzp2q_u16(products.0, products.1));
    let ones = vmlsq_n_u16(pairs, tens, 85);
    let rest = vorrq_u16(tens, vshlq_n_u16::<8>(ones));
    (vreinterpretq_u8_u32(first), vreinterpretq_u8_u16(rest))
}

/// The inverse of [`split`], unless one of the four numbers is above 2^32 - 1.
#[inline]
#[target_feature(enable = "neon")]
fn join(first: uint8x16_t, rest: uint8x16_t) -> Option<uint32x4_t> {
    let (first, rest) = (vreinterpretq_u32_u8(first), vreinterpretq_u16_u8(rest));
    let tens = vandq_u16(rest, vdupq_n_u16(0xff));
    let pairs = vreinterpretq_u32_u16(vmlaq_n_u16(vshrq_n_u16::<8>(rest), tens, 85));
    let middle = vandq_u32(pairs, vdupq_n_u32(0xffff));
    let low = vmlaq_n_u32(vshrq_n_u32::<16>(pairs), middle, PAIR);
    let value = vmlaq_n_u32(low, first, PAIR * PAIR);
    // A first digit of 82 fits as long as the sum does not wrap around; 83 and 84 never fit.
    let bad = vorrq_u32(vcltq_u32(value, low), vcgtq_u32(first, vdupq_n_u32(82)));
    (vmaxvq_u32(bad) == 0).then_some(value)
}

/// The bytes of a table of 128 bytes; 0 for an index above 127.
#[inline]
#[target_feature(enable = "neon")]
fn look_up(low: uint8x16x4_t, high: uint8x16x4_t, indices: uint8x16_t) -> uint8x16_t {
    let found = vqtbl4q_u8(low, indices);
    vqtbx4q_u8(found, high, vsubq_u8(indices, vdupq_n_u8(64)))
}

/// The halves of a table.
#[inline]
#[target_feature(enable = "neon")]
fn tables(table: &[u8; 128]) -> (uint8x16x4_t, uint8x16x4_t) {
    // SAFETY: both halves are 64 readable bytes.
    unsafe { (vld1q_u8_x4(table.as_ptr()), vld1q_u8_x4(table.as_ptr().add(64))) }
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: sixteen readable bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// Set in the digits of valid characters.
const VALID: u8 = 0x80;

/// A table index that returns zero.
const NONE: u8 = 0xff;
/// Indices from 16 on are those of a second vector.
const TO_TEXT: [u8; 16] = [0, 16, 17, 18, 19, 4, 20, 21, 22, 23, 8, 24, 25, 26, 27, 12];
const TO_FIRST: [u8; 16] =
    [0, NONE, NONE, NONE, 5, NONE, NONE, NONE, 10, NONE, NONE, NONE, 15, NONE, NONE, NONE];
const TO_REST: [u8; 16] = [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 28, 29, 30, 31];

/// The characters of the digits.
static CHARS: [u8; 128] = {
    let mut chars = [0; 128];
    let mut digit = 0;
    while digit < 85 {
        chars[digit] = ALPHABET[digit];
        digit += 1;
    }
    chars
};

/// The digit of each character with [`VALID`]; 0 for none.
static DIGITS: [u8; 128] = {
    let mut digits = [0; 128];
    let mut digit = 0;
    while digit < 85 {
        digits[ALPHABET[digit as usize] as usize] = digit | VALID;
        digit += 1;
    }
    digits
};
