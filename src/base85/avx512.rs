//! Sixteen groups at a time with AVX-512 VBMI. The algorithm is that of `avx2`, except for the byte
//! permutation over two registers: it collects all 80 characters of a block, and used as a table of
//! 128 entries, it turns digits into characters, or characters into digits, in one step.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "intrinsics take signed constants; all values are small"
)]

use super::{ALPHABET, DIGIT_RECIPROCAL, PAIR, PAIR_RECIPROCAL, paired_blocks};
#[allow(clippy::wildcard_imports, reason = "there are many intrinsics")]
use std::arch::x86_64::*;

const BLOCK_BYTES: usize = 64;
const BLOCK_CHARS: usize = 80;

/// The bytes of the first digits' vector that hold a digit: the lowest one of each 32-bit element.
const FIRST_BYTES: u64 = 0x1111_1111_1111_1111;

/// Encodes whole blocks from the front of `data`. Returns the number of bytes encoded.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn encode_blocks(data: &[u8], text: &mut [u8]) -> usize {
    let (low, high) = (load(&CHARS[0]), load(&CHARS[1]));
    let (to_head, to_tail) = (load(&TO_HEAD), load(&TO_TAIL));
    for (block, out) in paired_blocks::<BLOCK_BYTES, BLOCK_CHARS>(data, text) {
        let (first, rest) = split(swap_bytes(load(block)));
        let first = _mm512_permutex2var_epi8(low, first, high);
        let rest = _mm512_permutex2var_epi8(low, rest, high);
        let head = _mm512_permutex2var_epi8(rest, to_head, first);
        let tail = _mm512_permutex2var_epi8(rest, to_tail, first);
        // SAFETY: `out` is 80 writable bytes: 64, followed by 16.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), head);
            let last = out.as_mut_ptr().add(BLOCK_BYTES);
            _mm_storeu_si128(last.cast(), _mm512_castsi512_si128(tail));
        }
    }
    data.len() / BLOCK_BYTES * BLOCK_BYTES
}

/// Decodes whole blocks from the front of `text` up to the first invalid one. Returns the number of
/// characters decoded.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn decode_blocks(text: &[u8], data: &mut [u8]) -> usize {
    let (low, high) = (load(&DIGITS[0]), load(&DIGITS[1]));
    let (to_first, to_rest) = (load(&TO_FIRST), load(&TO_REST));
    for (i, (block, out)) in paired_blocks::<BLOCK_CHARS, BLOCK_BYTES>(text, data).enumerate() {
        // SAFETY: `block` is 80 readable bytes: 64, followed by 16.
        let (head, tail) = unsafe {
            let tail = _mm_loadu_si128(block.as_ptr().add(BLOCK_BYTES).cast());
            (_mm512_loadu_si512(block.as_ptr().cast()), _mm512_castsi128_si512(tail))
        };
        let first = _mm512_permutex2var_epi8(head, to_first, tail);
        let rest = _mm512_permutex2var_epi8(head, to_rest, tail);
        // A lookup uses only seven bits of an index, so that the characters themselves must be
        // checked for bytes above ASCII.
        let above_ascii = _mm512_or_si512(first, rest);
        let first = _mm512_permutex2var_epi8(low, first, high);
        let rest = _mm512_permutex2var_epi8(low, rest, high);
        let bad = _mm512_or_si512(above_ascii, _mm512_or_si512(first, rest));
        let first = _mm512_maskz_mov_epi8(FIRST_BYTES, first);
        let (value, overflow) = join(first, rest);
        if _mm512_movepi8_mask(bad) != 0 || overflow != 0 {
            return i * BLOCK_CHARS;
        }
        // SAFETY: `out` is 64 writable bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), swap_bytes(value)) };
    }
    text.len() / BLOCK_CHARS * BLOCK_CHARS
}

/// The digits of sixteen numbers: the first as 32-bit elements, the other four as the bytes of each element.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn split(value: __m512i) -> (__m512i, __m512i) {
    let reciprocal = _mm512_set1_epi64(i64::from(PAIR_RECIPROCAL));
    let pair = _mm512_set1_epi32(PAIR as i32);
    let even = _mm512_srli_epi64::<44>(_mm512_mul_epu32(value, reciprocal));
    let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(value), reciprocal);
    let high = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_srli_epi64::<12>(odd));
    let low = _mm512_sub_epi32(value, _mm512_mullo_epi32(high, pair));
    // `high` is below 2^20, exact in a float; half a unit more keeps the quotient from falling short.
    let quotient = _mm512_mul_ps(
        _mm512_add_ps(_mm512_cvtepi32_ps(high), _mm512_set1_ps(0.5)),
        _mm512_set1_ps(1.0 / PAIR as f32),
    );
    let first = _mm512_cvttps_epi32(quotient);
    let middle = _mm512_sub_epi32(high, _mm512_mullo_epi32(first, pair));
    let pairs = _mm512_or_si512(middle, _mm512_slli_epi32::<16>(low));
    let tens = _mm512_srli_epi16::<4>(_mm512_mulhi_epu16(
        pairs,
        _mm512_set1_epi16(DIGIT_RECIPROCAL.cast_signed()),
    ));
    let ones = _mm512_sub_epi16(pairs, _mm512_mullo_epi16(tens, _mm512_set1_epi16(85)));
    (first, _mm512_or_si512(tens, _mm512_slli_epi16::<8>(ones)))
}

/// The inverse of [`split`], and a bit for each of the sixteen numbers that is above 2^32 - 1.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn join(first: __m512i, rest: __m512i) -> (__m512i, __mmask16) {
    let pairs = _mm512_maddubs_epi16(rest, _mm512_set1_epi16(0x0155)); // 85, 1
    let low = _mm512_madd_epi16(pairs, _mm512_set1_epi32(1 << 16 | PAIR as i32));
    let high = _mm512_mullo_epi32(first, _mm512_set1_epi32((PAIR * PAIR) as i32));
    let value = _mm512_add_epi32(high, low);
    // A first digit of 82 fits as long as the sum does not wrap around; 83 and 84 never fit.
    let wrapped = _mm512_cmplt_epu32_mask(value, low);
    let too_high = _mm512_cmpgt_epi32_mask(first, _mm512_set1_epi32(82));
    (value, wrapped | too_high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn swap_bytes(words: __m512i) -> __m512i {
    _mm512_shuffle_epi8(words, load(&BYTE_SWAP))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 readable bytes; unaligned access is allowed.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

// Indices 0..64 mean the first source of a permutation, 64..128 the second.

/// Where the characters of a block come from: byte `4k` of `first` and bytes `4k..4k + 4` of `rest`.
const TO_TEXT: [u8; BLOCK_CHARS] = {
    let mut indices = [0; BLOCK_CHARS];
    let mut i = 0;
    while i < BLOCK_CHARS {
        let (group, place) = (i as u8 / 5, i as u8 % 5);
        indices[i] = if place == 0 { 64 + 4 * group } else { 4 * group + place - 1 };
        i += 1;
    }
    indices
};
const TO_HEAD: [u8; 64] = part(&TO_TEXT, 0);
const TO_TAIL: [u8; 64] = part(&TO_TEXT, BLOCK_BYTES);

/// The 64 bytes from `start`; zeros after the end.
const fn part(bytes: &[u8], start: usize) -> [u8; 64] {
    let mut part = [0; 64];
    let mut i = 0;
    while i < 64 && start + i < bytes.len() {
        part[i] = bytes[start + i];
        i += 1;
    }
    part
}

/// The characters that go to the elements of `first` (four times each, so that one check covers all bytes)
/// and of `rest`.
const TO_FIRST: [u8; 64] = from_text(false);
const TO_REST: [u8; 64] = from_text(true);

const fn from_text(rest: bool) -> [u8; 64] {
    let mut indices = [0; 64];
    let mut i = 0;
    while i < 64 {
        indices[i] = (i / 4 * 5 + if rest { i % 4 + 1 } else { 0 }) as u8;
        i += 1;
    }
    indices
}

const BYTE_SWAP: [u8; 64] = {
    let mut indices = [0; 64];
    let mut i = 0;
    while i < 64 {
        indices[i] = (i ^ 3) as u8 & 15;
        i += 1;
    }
    indices
};

/// The character of each digit.
const CHARS: [[u8; 64]; 2] = [part(ALPHABET, 0), part(ALPHABET, 64)];

/// The digit of each ASCII character; bit 7 for none.
const DIGITS: [[u8; 64]; 2] = {
    let mut table = [[0x80; 64]; 2];
    let mut digit = 0;
    while digit < 85 {
        let c = ALPHABET[digit] as usize;
        table[c / 64][c % 64] = digit as u8;
        digit += 1;
    }
    table
};
