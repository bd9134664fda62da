//! Searches sixteen bytes at a time: with SSE2, which every x86-64 processor has, otherwise with two words.

/// Which bytes of a block match: bit `i` stands for byte `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The bytes that were searched for.
    pub found: u32,
    /// The bytes beyond ASCII.
    pub non_ascii: u32,
}

/// Searches a block for two bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: the load reads the 16 bytes of the block and needs no alignment.
    let bytes = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
    // SAFETY: SSE2 is part of the target x86_64.
    unsafe {
        let equal = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()));
        let found = _mm_movemask_epi8(_mm_or_si128(equal(first), equal(second)));
        Marks { found: found.cast_unsigned(), non_ascii: _mm_movemask_epi8(bytes).cast_unsigned() }
    }
}

/// Searches a block for two bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn find2(block: &[u8; 16], first: u8, second: u8) -> Marks {
    find2_in_words(block, first, second)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn find2_in_words(block: &[u8; 16], first: u8, second: u8) -> Marks {
    let mut marks = Marks { found: 0, non_ascii: 0 };
    for (i, word) in block.as_chunks::<8>().0.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        marks.found |= gather(equal(word, first) | equal(word, second)) << (8 * i);
        marks.non_ascii |= gather(word & HIGH) << (8 * i);
    }
    marks
}

/// Marks exactly the bytes of a word that are equal to `byte`, in their highest bits.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn equal(word: u64, byte: u8) -> u64 {
    let rest = word ^ u64::from_ne_bytes([byte; 8]);
    !(((rest & !HIGH) + !HIGH) | rest) & HIGH
}

/// The highest bits of the bytes of a word as one number.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn gather(marks: u64) -> u32 {
    u32::from((marks >> 7).wrapping_mul(0x0102_0408_1020_4080).to_le_bytes()[7])
}

#[cfg(any(test, not(target_arch = "x86_64")))]
use super::scan::HIGH;

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
                prop_assert_eq!(find2_in_words(&block, b'|', b'\n'), expected);
            }
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
