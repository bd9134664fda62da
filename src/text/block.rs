//! Searches blocks of bytes: with SSE2, which every x86-64 processor has, or NEON, which every 64-bit ARM
//! processor has; otherwise with words of eight bytes.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use neon as engine;
#[cfg(target_arch = "x86_64")]
use sse2 as engine;
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_endian = "little")
)))]
use words as engine;

/// Which bytes of a block match: bit `i` stands for byte `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The bytes that were searched for.
    pub found: u32,
    /// The bytes beyond ASCII.
    pub non_ascii: u32,
}

/// Searches a block for two bytes.
#[inline]
pub fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
    engine::find2(block, first, second)
}

/// Returns a bit for each byte; set if the byte is at most `bound`, which is ASCII.
#[inline]
pub fn at_most(block: &[u8; 64], bound: u8) -> u64 {
    engine::at_most(block, bound)
}

/// Returns a bit for each byte; set if the byte is at least `bound`.
#[inline]
pub fn at_least(block: &[u8; 16], bound: u8) -> u32 {
    engine::at_least(block, bound)
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use super::Marks;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_min_epu8, _mm_movemask_epi8,
        _mm_or_si128, _mm_set1_epi8,
    };

    #[inline]
    fn load(block: &[u8; 16]) -> __m128i {
        // SAFETY: the load reads the 16 bytes of the block and needs no alignment.
        unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
    }

    #[inline]
    pub(super) fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
        let bytes = load(block);
        // SAFETY: the target has SSE2.
        unsafe {
            let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()));
            let found = _mm_movemask_epi8(_mm_or_si128(equal(first), equal(second)));
            let non_ascii = _mm_movemask_epi8(bytes).cast_unsigned();
            Marks { found: found.cast_unsigned(), non_ascii }
        }
    }

    #[inline]
    pub(super) fn at_most(block: &[u8; 64], bound: u8) -> u64 {
        let mut found = 0;
        for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = load(part);
            // SAFETY: the target has SSE2.
            let bits = unsafe {
                let least = _mm_min_epu8(bytes, _mm_set1_epi8(bound.cast_signed()));
                _mm_movemask_epi8(_mm_cmpeq_epi8(least, bytes))
            };
            found |= u64::from(bits.cast_unsigned()) << (16 * i);
        }
        found
    }

    #[inline]
    pub(super) fn at_least(block: &[u8; 16], bound: u8) -> u32 {
        let bytes = load(block);
        // SAFETY: the target has SSE2.
        let bits = unsafe {
            let most = _mm_max_epu8(bytes, _mm_set1_epi8(bound.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(most, bytes))
        };
        bits.cast_unsigned()
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon {
    use super::Marks;
    use std::arch::aarch64::{
        uint8x16_t, vandq_u8, vceqq_u8, vcgeq_u8, vcleq_u8, vdupq_n_u8, vgetq_lane_u32,
        vgetq_lane_u64, vld1q_u8, vorrq_u8, vpaddq_u8, vreinterpretq_u32_u8, vreinterpretq_u64_u8,
    };

    #[inline]
    fn load(block: &[u8; 16]) -> uint8x16_t {
        // SAFETY: the block is 16 readable bytes.
        unsafe { vld1q_u8(block.as_ptr()) }
    }

    /// Bytes of all ones become the bit of their place in a group of eight, whose sum is the bits of the
    /// group.
    #[inline]
    fn bits(bytes: uint8x16_t) -> uint8x16_t {
        let places = load(&[1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128]);
        // SAFETY: the target has NEON.
        unsafe { vandq_u8(bytes, places) }
    }

    #[inline]
    pub(super) fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
        let bytes = load(block);
        // SAFETY: the target has NEON.
        let both = unsafe {
            let equal = |byte: u8| vceqq_u8(bytes, vdupq_n_u8(byte));
            let found = bits(vorrq_u8(equal(first), equal(second)));
            let non_ascii = bits(vcgeq_u8(bytes, vdupq_n_u8(0x80)));
            let pairs = vpaddq_u8(found, non_ascii);
            let fours = vpaddq_u8(pairs, pairs);
            vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours)))
        };
        Marks { found: both & 0xFFFF, non_ascii: both >> 16 }
    }

    #[inline]
    pub(super) fn at_most(block: &[u8; 64], bound: u8) -> u64 {
        let [first, second, third, fourth] = block.as_chunks::<16>().0 else { return 0 };
        // SAFETY: the target has NEON.
        unsafe {
            let marked = |part| bits(vcleq_u8(load(part), vdupq_n_u8(bound)));
            let low = vpaddq_u8(marked(first), marked(second));
            let high = vpaddq_u8(marked(third), marked(fourth));
            let fours = vpaddq_u8(low, high);
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
        }
    }

    #[inline]
    pub(super) fn at_least(block: &[u8; 16], bound: u8) -> u32 {
        // SAFETY: the target has NEON.
        unsafe {
            let marked = bits(vcgeq_u8(load(block), vdupq_n_u8(bound)));
            let pairs = vpaddq_u8(marked, marked);
            let fours = vpaddq_u8(pairs, pairs);
            vgetq_lane_u32::<0>(vreinterpretq_u32_u8(vpaddq_u8(fours, fours))) & 0xFFFF
        }
    }
}

#[cfg(any(
    test,
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))
))]
mod words {
    use super::Marks;
    use crate::text::scan::HIGH;

    pub(super) fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
        let mut marks = Marks { found: 0, non_ascii: 0 };
        for (i, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            marks.found |= gather(equal(word, first) | equal(word, second)) << (8 * i);
            marks.non_ascii |= gather(word & HIGH) << (8 * i);
        }
        marks
    }

    pub(super) fn at_most(block: &[u8; 64], bound: u8) -> u64 {
        let mut found = 0;
        for (i, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            // The highest bit of each byte: whether the lower seven are above the bound.
            let above = (word & !HIGH) + (u64::from_ne_bytes([0x7F - bound; 8]));
            found |= u64::from(gather(!(above | word) & HIGH)) << (8 * i);
        }
        found
    }

    pub(super) fn at_least(block: &[u8; 16], bound: u8) -> u32 {
        block.iter().rev().fold(0, |bits, &byte| bits << 1 | u32::from(byte >= bound))
    }

    /// Marks exactly the bytes of a word that are equal to `byte`, in their highest bits.
    fn equal(word: u64, byte: u8) -> u64 {
        let rest = word ^ u64::from_ne_bytes([byte; 8]);
        !(((rest & !HIGH) + !HIGH) | rest) & HIGH
    }

    /// The highest bits of the bytes of a word as one number.
    fn gather(marks: u64) -> u32 {
        u32::from((marks >> 7).wrapping_mul(0x0102_0408_1020_4080).to_le_bytes()[7])
    }
}

/// How many times `byte` occurs at the beginning of `bytes`.
#[inline]
pub fn leading(bytes: &[u8], byte: u8) -> usize {
    let mut length = 0;
    for blocks in bytes.as_chunks::<64>().0 {
        let all = blocks.as_chunks::<16>().0.iter();
        if all.fold(0xFFFF, |all, block| all & find2(block, byte, byte).found) != 0xFFFF {
            break;
        }
        length += 64;
    }
    while let Some(block) = bytes[length..].first_chunk::<16>() {
        let same = find2(block, byte, byte).found.trailing_ones() as usize;
        length += same;
        if same < 16 {
            return length;
        }
    }
    length + bytes[length..].iter().take_while(|&&next| next == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_are_those_of_a_plain_loop(
            block: [u8; 16],
            near in proptest::array::uniform16(prop_oneof![Just(b'|'), Just(b'\n'), b'{'..=b'}', 0xFC_u8..]),
        ) {
            for block in [block, near] {
                let mut expected = Marks { found: 0, non_ascii: 0 };
                for (i, &byte) in block.iter().enumerate() {
                    expected.found |= u32::from(byte == b'|' || byte == b'\n') << i;
                    expected.non_ascii |= u32::from(!byte.is_ascii()) << i;
                }
                prop_assert_eq!(find2(&block, b'|', b'\n'), expected);
                prop_assert_eq!(words::find2(&block, b'|', b'\n'), expected);
            }
        }

        #[test]
        fn bytes_up_to_a_bound_are_those_of_a_plain_loop(
            block in proptest::array::uniform(prop_oneof![0_u8..0x30, any::<u8>()]),
            bound in 0_u8..0x80,
        ) {
            let bits = block.iter().enumerate().map(|(i, &byte)| u64::from(byte <= bound) << i);
            let expected = bits.fold(0, |found, bit| found | bit);
            prop_assert_eq!(at_most(&block, bound), expected);
            prop_assert_eq!(words::at_most(&block, bound), expected);
        }

        #[test]
        fn bytes_from_a_bound_on_are_those_of_a_plain_loop(block: [u8; 16], bound: u8) {
            let bits = block.iter().enumerate().map(|(i, &byte)| u32::from(byte >= bound) << i);
            let expected = bits.fold(0, |found, bit| found | bit);
            prop_assert_eq!(at_least(&block, bound), expected);
            prop_assert_eq!(words::at_least(&block, bound), expected);
        }

        #[test]
        fn leading_bytes_are_counted(count in 0_usize..200, rest in proptest::collection::vec(b' '..b'#', 0..40)) {
            let mut bytes = vec![b' '; count];
            bytes.extend(&rest);
            let more = rest.iter().take_while(|&&byte| byte == b' ').count();
            prop_assert_eq!(leading(&bytes, b' '), count + more);
        }
    }
}
