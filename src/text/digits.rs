//! The decimal digits of a number of at most eight digits, all at once.

/// Every number below this has at most eight digits.
pub(crate) const LIMIT: u32 = 100_000_000;

/// Returns the ASCII digits of a number below [`LIMIT`], the first one in the lowest byte, and how many they are.
#[inline]
pub(crate) fn ascii(number: u32) -> (u64, usize) {
    // The number is cut in halves: four digits each, then two, then one, in parts of the same word. Multiplying
    // and shifting divides by 100 and 10; it is exact for the numbers that the parts have.
    let fours = u64::from(number / 10_000) | (u64::from(number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let pairs = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((pairs * 103) >> 10) & 0x000F_000F_000F_000F;
    let digits = tens | ((pairs - 10 * tens) << 8);
    let zeros = (digits.trailing_zeros() / 8).min(7);
    ((digits | 0x3030_3030_3030_3030) >> (8 * zeros), 8 - zeros as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let ends = (0..8).flat_map(|power| [10_u32.pow(power) - 1, 10_u32.pow(power)]);
        for number in (0..20_000).chain((0..LIMIT).step_by(7_919)).chain(ends).chain([LIMIT - 1]) {
            let (word, length) = ascii(number);
            assert_eq!(&word.to_le_bytes()[..length], number.to_string().as_bytes());
        }
    }
}
