//! Eight groups at a time with AVX2.
//!
//! A 32-bit element of a register holds one group; its value is split by exact multiplications:
//!
//! ```text
//! value = high * 7225 + (d3 d4)       high = d0 * 7225 + (d1 d2)
//! ```
//!
//! Constants to change together: `PAIR` with `PAIR_RECIPROCAL`, `DIGIT_RECIPROCAL` with its shift,
//! the alphabet with the three ranges in `to_ascii` and the six rows of `DIGITS`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "intrinsics take signed constants; all values are small"
)]

use super::{ALPHABET, DIGIT_RECIPROCAL, PAIR, PAIR_RECIPROCAL, paired_blocks};
#[allow(clippy::wildcard_imports, reason = "there are many intrinsics")]
use std::arch::x86_64::*;

const BLOCK_BYTES: usize = 32;
const BLOCK_CHARS: usize = 40;

/// Encodes whole blocks from the front of `data`. Returns the number of bytes encoded.
#[target_feature(enable = "avx2")]
pub(super) fn encode_blocks(data: &[u8], text: &mut [u8]) -> usize {
    for (block, out) in paired_blocks::<BLOCK_BYTES, BLOCK_CHARS>(data, text) {
        // SAFETY: a block is 32 readable bytes; unaligned access is allowed.
        let words = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let (first, rest) = split(_mm256_shuffle_epi8(words, per_lane(BYTE_SWAP)));
        // A 128-bit lane has four groups, which are 20 characters: 16 are interleaved from both vectors; the
        // last four already are the last element of the lane in `rest`.
        let head = to_ascii(_mm256_or_si256(
            _mm256_shuffle_epi8(first, per_lane(FIRST_TO_TEXT)),
            _mm256_shuffle_epi8(rest, per_lane(REST_TO_TEXT)),
        ));
        let tail = to_ascii(rest);
        let (low, high) = out.split_at_mut(BLOCK_CHARS / 2);
        // SAFETY: both halves of `out` are 20 writable bytes.
        unsafe {
            _mm_storeu_si128(low.as_mut_ptr().cast(), _mm256_castsi256_si128(head));
            _mm_storeu_si128(high.as_mut_ptr().cast(), _mm256_extracti128_si256::<1>(head));
        }
        low[16..].copy_from_slice(&_mm256_extract_epi32::<3>(tail).to_le_bytes());
        high[16..].copy_from_slice(&_mm256_extract_epi32::<7>(tail).to_le_bytes());
    }
    data.len() / BLOCK_BYTES * BLOCK_BYTES
}

/// Decodes whole blocks from the front of `text` up to the first invalid one. Returns the number of
/// characters decoded.
#[target_feature(enable = "avx2")]
pub(super) fn decode_blocks(text: &[u8], data: &mut [u8]) -> usize {
    for (i, (block, out)) in paired_blocks::<BLOCK_CHARS, BLOCK_BYTES>(text, data).enumerate() {
        let (low, high) = block.split_at(BLOCK_CHARS / 2);
        // SAFETY: both halves of `block` are 20 readable bytes: 16 from 0, and 16 from 4.
        let (head, tail) = unsafe {
            (
                _mm256_loadu2_m128i(high.as_ptr().cast(), low.as_ptr().cast()),
                _mm256_loadu2_m128i(high[4..].as_ptr().cast(), low[4..].as_ptr().cast()),
            )
        };
        let (head, tail) = (to_digits(head), to_digits(tail));
        if _mm256_movemask_epi8(_mm256_and_si256(head, tail)) != -1 {
            return i * BLOCK_CHARS;
        }
        // Bytes 0..16 of a half hold three groups and the first digit of the fourth, bytes 4..20 its other
        // digits.
        let first = _mm256_shuffle_epi8(head, per_lane(TEXT_TO_FIRST));
        let rest = _mm256_blend_epi32::<0b1000_1000>(
            _mm256_shuffle_epi8(head, per_lane(TEXT_TO_REST)),
            tail,
        );
        let digit = _mm256_set1_epi8(0x7f);
        let (first, rest) = (_mm256_and_si256(first, digit), _mm256_and_si256(rest, digit));
        let Some(words) = join(first, rest) else { return i * BLOCK_CHARS };
        let words = _mm256_shuffle_epi8(words, per_lane(BYTE_SWAP));
        // SAFETY: `out` is 32 writable bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), words) };
    }
    text.len() / BLOCK_CHARS * BLOCK_CHARS
}

/// The digits of eight numbers: the first as 32-bit elements, the other four as the bytes of each element.
#[inline]
#[target_feature(enable = "avx2")]
fn split(value: __m256i) -> (__m256i, __m256i) {
    let reciprocal = _mm256_set1_epi64x(i64::from(PAIR_RECIPROCAL));
    let pair = _mm256_set1_epi32(PAIR as i32);
    let even = _mm256_srli_epi64::<44>(_mm256_mul_epu32(value, reciprocal));
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(value), reciprocal);
    let odd = _mm256_slli_epi64::<32>(_mm256_srli_epi64::<44>(odd));
    let high = _mm256_or_si256(even, odd);
    let low = _mm256_sub_epi32(value, _mm256_mullo_epi32(high, pair));
    // `high` is below 2^20, exact in a float; half a unit more keeps the quotient from falling short.
    let quotient = _mm256_mul_ps(
        _mm256_add_ps(_mm256_cvtepi32_ps(high), _mm256_set1_ps(0.5)),
        _mm256_set1_ps(1.0 / PAIR as f32),
    );
    let first = _mm256_cvttps_epi32(quotient);
    let middle = _mm256_sub_epi32(high, _mm256_mullo_epi32(first, pair));
    let pairs = _mm256_or_si256(middle, _mm256_slli_epi32::<16>(low));
    let tens = _mm256_srli_epi16::<4>(_mm256_mulhi_epu16(
        pairs,
        _mm256_set1_epi16(DIGIT_RECIPROCAL.cast_signed()),
    ));
    let ones = _mm256_sub_epi16(pairs, _mm256_mullo_epi16(tens, _mm256_set1_epi16(85)));
    (first, _mm256_or_si256(tens, _mm256_slli_epi16::<8>(ones)))
}

/// The inverse of [`split`], unless one of the eight numbers is above 2^32 - 1.
#[inline]
#[target_feature(enable = "avx2")]
fn join(first: __m256i, rest: __m256i) -> Option<__m256i> {
    let pairs = _mm256_maddubs_epi16(rest, _mm256_set1_epi16(0x0155)); // 85, 1
    let low = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | PAIR as i32));
    let value =
        _mm256_add_epi32(_mm256_mullo_epi32(first, _mm256_set1_epi32((PAIR * PAIR) as i32)), low);
    // A first digit of 82 fits as long as the sum does not wrap around; 83 and 84 never fit.
    let wrapped = _mm256_xor_si256(_mm256_max_epu32(value, low), value);
    let too_high = _mm256_cmpgt_epi32(first, _mm256_set1_epi32(82));
    let bad = _mm256_or_si256(wrapped, too_high);
    (_mm256_testz_si256(bad, bad) == 1).then_some(value)
}

/// Digits 0..85 to characters.
#[inline]
#[target_feature(enable = "avx2")]
fn to_ascii(digits: __m256i) -> __m256i {
    let below = |limit| _mm256_cmpgt_epi8(_mm256_set1_epi8(limit), digits);
    let add = |x, y| _mm256_add_epi8(x, _mm256_set1_epi8(y));
    // 0..62 are three runs of ASCII: digits, upper case, lower case.
    let run = add(digits, (b'a' - 36) as i8);
    let run = _mm256_sub_epi8(run, _mm256_and_si256(below(36), _mm256_set1_epi8(6)));
    let run = _mm256_sub_epi8(run, _mm256_and_si256(below(10), _mm256_set1_epi8(7)));
    let run = _mm256_and_si256(run, below(62));
    // 62..85 are punctuation in no regular order, looked up in two tables of 16. An index outside a
    // table saturates to bit 7, for which a shuffle returns zero.
    let table = |start: i8, row| {
        let index = _mm256_adds_epu8(add(digits, start.wrapping_neg()), _mm256_set1_epi8(0x70));
        _mm256_shuffle_epi8(per_lane(row), index)
    };
    let punctuation = _mm256_or_si256(table(62, PUNCTUATION[0]), table(78, PUNCTUATION[1]));
    _mm256_or_si256(run, punctuation)
}

/// Characters to digits with bit 7 set; without bit 7 where the character is not in the alphabet.
#[inline]
#[target_feature(enable = "avx2")]
fn to_digits(text: __m256i) -> __m256i {
    let mut digits = _mm256_setzero_si256();
    for (i, row) in DIGITS.iter().enumerate() {
        let high_nibble = _mm256_set1_epi8(((i + 2) << 4) as i8);
        let index = _mm256_adds_epu8(_mm256_xor_si256(text, high_nibble), _mm256_set1_epi8(0x70));
        digits = _mm256_or_si256(digits, _mm256_shuffle_epi8(per_lane(*row), index));
    }
    digits
}

/// The same sixteen bytes in both 128-bit lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn per_lane(bytes: [u8; 16]) -> __m256i {
    // SAFETY: sixteen readable bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

/// A shuffle index that returns zero.
const NONE: u8 = 0x80;
const BYTE_SWAP: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
const FIRST_TO_TEXT: [u8; 16] =
    [0, NONE, NONE, NONE, NONE, 4, NONE, NONE, NONE, NONE, 8, NONE, NONE, NONE, NONE, 12];
const REST_TO_TEXT: [u8; 16] = [NONE, 0, 1, 2, 3, NONE, 4, 5, 6, 7, NONE, 8, 9, 10, 11, NONE];
const TEXT_TO_FIRST: [u8; 16] =
    [0, NONE, NONE, NONE, 5, NONE, NONE, NONE, 10, NONE, NONE, NONE, 15, NONE, NONE, NONE];
const TEXT_TO_REST: [u8; 16] = [1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, NONE, NONE, NONE, NONE];

/// The characters of digits 62 to 77 and 78 to 84.
const PUNCTUATION: [[u8; 16]; 2] = {
    let mut rows = [[0; 16]; 2];
    let mut digit = 62;
    while digit < 85 {
        rows[(digit - 62) / 16][(digit - 62) % 16] = ALPHABET[digit];
        digit += 1;
    }
    rows
};

/// `DIGITS[h - 2][l]`: the digit of character `0xhl` with bit 7 set, 0 for none.
const DIGITS: [[u8; 16]; 6] = {
    let mut rows = [[0; 16]; 6];
    let mut digit = 0;
    while digit < 85 {
        let c = ALPHABET[digit] as usize;
        rows[(c >> 4) - 2][c & 15] = digit as u8 | 0x80;
        digit += 1;
    }
    rows
};
