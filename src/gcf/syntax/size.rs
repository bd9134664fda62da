//! Estimates the tokens of a text, and the share that a delta saves of the full text. Graphs and keyed sets
//! decide by it whether they send a delta. GCF 3.6 sections 10 and 10a.

use crate::interrupt::polled;

/// Estimates the number of tokens of a text: each run of ASCII letters, digits, `_` and `.` counts 1, and
/// so does every other character except space, tab and line ends.
pub fn count_tokens(text: &str) -> u64 {
    let mut count = 0;
    let mut in_word = false;
    for char in polled(text.split_inclusive('\n')).flat_map(str::chars) {
        let word = char.is_ascii_alphanumeric() || char == '_' || char == '.';
        let blank = matches!(char, ' ' | '\t' | '\n' | '\r');
        count += u64::from((word && !in_word) || !(word || blank));
        in_word = word;
    }
    count
}

/// The percentage of `full` that a delta saves, rounded half to even: `100 * (1 - delta / full)`.
pub(crate) fn savings(delta: impl Into<i128>, full: impl Into<i128>) -> i128 {
    let (delta, full) = (delta.into(), full.into());
    let saved = 100 * (full - delta);
    let (whole, rest) = (saved.div_euclid(full), 2 * saved.rem_euclid(full));
    whole + i128::from(rest > full || (rest == full && whole % 2 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_punctuation_are_counted() {
        for (text, count) in [("pkg.Auth", 1), ("\"a\": 0.78,", 6), ("@0<@1", 5), (" \t\r\n", 0)] {
            assert_eq!(count_tokens(text), count, "{text}");
        }
        assert_eq!(count_tokens("é a\u{301}b"), 4);
    }

    #[test]
    fn savings_are_rounded_half_to_even() {
        for (delta, full, percent) in [
            (30, 200, 85),
            (35, 300, 88),
            (79, 200, 60),
            (77, 200, 62),
            (300, 200, -50),
            (0, 7, 100),
        ] {
            assert_eq!(savings(delta, full), percent, "{delta} of {full}");
        }
    }
}
