//! Moves the bytes of a block to the places that a table names: one instruction (PSHUFB, TBL) where the
//! processor has it, otherwise a loop.

/// A loop over blocks.
pub(super) trait Blocks {
    type Output;

    /// Runs the loop with a function that puts a byte of its first argument in each place: the byte whose
    /// number is in that place of the second argument, or zero for the number 0x80.
    fn run(self, shuffle: impl Fn([u8; 16], &[u8; 16]) -> [u8; 16]) -> Self::Output;
}

/// Runs a loop with the fastest shuffle that the processor has.
#[inline]
pub(super) fn run<B: Blocks>(blocks: B) -> B::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("ssse3") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both.
        return unsafe { ssse3::run(blocks) };
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    return blocks.run(neon::shuffle);
    #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
    blocks.run(shuffle)
}

/// The shuffle as a loop.
#[cfg(any(test, not(all(target_arch = "aarch64", target_endian = "little"))))]
fn shuffle(bytes: [u8; 16], places: &[u8; 16]) -> [u8; 16] {
    places.map(|place| bytes.get(usize::from(place)).copied().unwrap_or(0))
}

/// SSSE3 and POPCNT, which x86-64 processors since 2008 have.
#[cfg(target_arch = "x86_64")]
mod ssse3 {
    use super::Blocks;
    use std::arch::x86_64::{_mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128};

    #[target_feature(enable = "ssse3,popcnt")]
    pub(super) fn run<B: Blocks>(blocks: B) -> B::Output {
        blocks.run(|bytes, places| shuffle(bytes, places))
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    pub(super) fn shuffle(mut bytes: [u8; 16], places: &[u8; 16]) -> [u8; 16] {
        // SAFETY: both arrays have 16 bytes; the loads and the store need no alignment.
        unsafe {
            let places = _mm_loadu_si128(places.as_ptr().cast());
            let moved = _mm_shuffle_epi8(_mm_loadu_si128(bytes.as_ptr().cast()), places);
            _mm_storeu_si128(bytes.as_mut_ptr().cast(), moved);
        }
        bytes
    }
}

/// NEON, which every 64-bit ARM processor has.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon {
    use std::arch::aarch64::{vld1q_u8, vqtbl1q_u8, vst1q_u8};

    #[inline]
    pub(super) fn shuffle(mut bytes: [u8; 16], places: &[u8; 16]) -> [u8; 16] {
        // SAFETY: the target has NEON; both arrays have 16 bytes.
        unsafe {
            let moved = vqtbl1q_u8(vld1q_u8(bytes.as_ptr()), vld1q_u8(places.as_ptr()));
            vst1q_u8(bytes.as_mut_ptr(), moved);
        }
        bytes
    }
}

/// The second argument of a shuffle that joins groups of bytes: of each `size` bytes, it keeps the first
/// `lengths[i]`. The places after them are zero.
pub(super) const fn joined<const N: usize>(size: u8, lengths: [usize; N]) -> [u8; 16] {
    let mut places = [0x80; 16];
    let (mut group, mut first, mut to) = (0, 0, 0);
    while group < N {
        let mut byte = 0_u8;
        while (byte as usize) < lengths[group] {
            places[to] = first + byte;
            (to, byte) = (to + 1, byte + 1);
        }
        (group, first) = (group + 1, first + size);
    }
    places
}

/// The bytes of eight codes, the lower of each first.
#[inline(always)]
pub(super) fn to_bytes(codes: [u16; 8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (bytes, code) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(codes) {
        *bytes = code.to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Blocks, run, shuffle};
    use proptest::prelude::*;

    struct Once([u8; 16], [u8; 16]);

    impl Blocks for Once {
        type Output = [u8; 16];

        fn run(self, shuffle: impl Fn([u8; 16], &[u8; 16]) -> [u8; 16]) -> [u8; 16] {
            shuffle(self.0, &self.1)
        }
    }

    proptest! {
        #[test]
        fn the_instruction_moves_bytes_as_a_loop_does(
            bytes: [u8; 16],
            places in proptest::array::uniform16(prop_oneof![0_u8..16, Just(0x80)]),
        ) {
            prop_assert_eq!(run(Once(bytes, places)), shuffle(bytes, &places));
        }
    }
}
