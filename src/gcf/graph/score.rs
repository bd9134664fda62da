//! Formats and parses scores: two decimals, the exact value of the double rounded half to even.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};

/// Appends a finite score as `%.2f` formats it.
pub(super) fn write(score: f64, out: &mut String) {
    let Some(hundredths) = hundredths(score.abs()) else {
        // Scores from 2^46 on are rare; `format!` rounds them in the same way.
        let text = format!("{score:.2}");
        return out.push_str(&text);
    };
    if score.is_sign_negative() {
        out.push('-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(hundredths);
    match digits.split_at_checked(digits.len().saturating_sub(2)) {
        Some((units, decimals)) if !units.is_empty() => {
            out.push_str(units);
            out.push('.');
            out.push_str(decimals);
        }
        _ => {
            out.push_str(if digits.len() < 2 { "0.0" } else { "0." });
            out.push_str(digits);
        }
    }
}

/// Maps a finite score to a sort key: a higher score has a smaller key, and both zeros have the same.
#[inline]
pub(super) fn descending(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 0 { !bits & (u64::MAX >> 1) } else { bits }
}

/// The nearest number of hundredths, ties to even, in integer arithmetic; `None` from 2^46 on.
fn hundredths(size: f64) -> Option<u64> {
    const BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let bits = size.to_bits();
    let biased = bits >> BITS;
    if biased >= 1023 + 46 {
        return None;
    }
    // Values below 2^-10 round to 0.
    if biased < 1023 - 10 {
        return Some(0);
    }
    let mantissa = (bits & ((1 << BITS) - 1)) | (1 << BITS);
    let shift = 1023 + u64::from(BITS) - biased;
    let product = mantissa * 100;
    let (quotient, rest) = (product >> shift, product & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    Some(quotient + u64::from(rest > half || (rest == half && quotient % 2 == 1)))
}

/// The score that a decoder reads from the text.
pub(super) fn quantised(score: f64) -> f64 {
    match hundredths(score.abs()) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53: 2^46 times 100")]
        Some(hundredths) => (hundredths as f64 / 100.0).copysign(score),
        None => format!("{score:.2}").parse().unwrap_or(score),
    }
}

/// Parses `-?[0-9]+\.[0-9]{2}`, found at byte `at` of the text.
pub(super) fn read(word: &str, at: usize) -> Read<f64> {
    let unsigned = word.strip_prefix('-').unwrap_or(word).as_bytes();
    let point = unsigned.len().saturating_sub(3);
    let shaped = point > 0
        && unsigned[point] == b'.'
        && unsigned[..point].iter().chain(&unsigned[point + 1..]).all(u8::is_ascii_digit);
    if !shaped {
        let message =
            format!("expected a score with two decimals such as 0.50, found {}", excerpt(word));
        return fault(Code::InvalidScore, at, message);
    }
    if unsigned.len() <= 15 {
        let digits = unsigned[..point].iter().chain(&unsigned[point + 1..]);
        let hundredths =
            digits.fold(0_u32.into(), |sum: u64, digit| sum * 10 + u64::from(digit - b'0'));
        #[expect(clippy::cast_precision_loss, reason = "at most 14 digits")]
        let score = hundredths as f64 / 100.0;
        return Ok(if unsigned.len() < word.len() { -score } else { score });
    }
    match word.parse::<f64>() {
        Ok(score) if score.is_finite() => Ok(score),
        _ => fault(Code::OutOfRange, at, "the score is too large for a double"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::decimal::layouts::written;
    use proptest::prelude::*;

    fn text(score: f64) -> String {
        written(write, score)
    }

    #[test]
    fn ties_round_to_the_even_digit() {
        for (score, expected) in [
            (0.125, "0.12"),
            (0.375, "0.38"),
            (0.625, "0.62"),
            (-0.004, "-0.00"),
            (0.005, "0.01"),
            (0.78, "0.78"),
            (1.0, "1.00"),
            (-0.0, "-0.00"),
            (5e-324, "0.00"),
            (0.994_999, "0.99"),
            (0.995_001, "1.00"),
            (1e15, "1000000000000000.00"),
            (70_368_744_177_663.625, "70368744177663.62"),
            (140_737_488_355_327.38, "140737488355327.38"),
            (1e22, "10000000000000000000000.00"),
        ] {
            assert_eq!(text(score), expected);
        }
    }

    #[test]
    fn a_score_has_exactly_two_decimals() {
        for word in ["1", "0.9", "1e2", ".50", "-.50", "0.500", "0,50", "+0.50", "", "-", "0.5٥"] {
            assert_eq!(read(word, 0).unwrap_err().code, Code::InvalidScore, "{word}");
        }
        assert_eq!(read(&format!("{}.00", "9".repeat(400)), 0).unwrap_err().code, Code::OutOfRange);
        assert_eq!(read("-12.50", 0), Ok(-12.5));
    }

    #[test]
    fn a_higher_score_has_a_smaller_key() {
        let down = [f64::MAX, 1.0, 0.5, 5e-324, 0.0, -5e-324, -0.5, -1.0, f64::MIN];
        assert!(down.is_sorted_by(|a, b| descending(*a) < descending(*b)));
        assert_eq!(descending(0.0), descending(-0.0));
    }

    proptest! {
        #[test]
        fn scores_are_formatted_as_by_the_standard_library(bits: u64, small in -2.0..2.0_f64) {
            for score in [f64::from_bits(bits), small].into_iter().filter(|s| s.is_finite()) {
                prop_assert_eq!(text(score), format!("{:.2}", score));
                let read = read(&text(score), 0).unwrap();
                prop_assert_eq!(read.to_bits(), quantised(score).to_bits());
                prop_assert_eq!(text(read), text(score));
            }
        }
    }
}
