//! Removes the white space between the tokens of a JSON text, and checks how its numbers are written.
//!
//! Precondition: the text is valid JSON. Strings and numbers are copied unchanged.

use crate::text::decimal::Decimal;
use crate::text::quoted;
use std::borrow::Cow;

/// A JSON text without white space between its tokens.
pub(super) struct Minified<'a> {
    /// The text; borrowed if there was no white space.
    pub text: Cow<'a, str>,
    /// Whether GCF would write every number with the same decimal value.
    pub exact: bool,
}

pub(super) fn minify(text: &str) -> Minified<'_> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut exact = true;
    // The text before `copied` is already in `out`, without its white space.
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = quoted::skip(text, at, text.len()).unwrap_or(text.len()),
            b'-' | b'0'..=b'9' => {
                let end = at + number_length(&bytes[at..]);
                exact = exact && is_exact(&text[at..end]);
                at = end;
            }
            byte if is_blank(*byte) => {
                out.push_str(&text[copied..at]);
                at += bytes[at..].iter().take_while(|byte| is_blank(**byte)).count();
                copied = at;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Minified { text: Cow::Borrowed(text), exact };
    }
    out.push_str(&text[copied..]);
    Minified { text: Cow::Owned(out), exact }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn number_length(bytes: &[u8]) -> usize {
    let is_part = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    bytes.iter().take_while(is_part).count()
}

/// With at most this many characters and no exponent, a decimal has at most 15 significant digits, and
/// the double nearest to it is written as the same decimal.
const SHORT: usize = 16;

/// Whether GCF would write the same decimal value: an integer of 64 bits, or the shortest decimal of the
/// nearest double.
fn is_exact(number: &str) -> bool {
    let exponent = number.find(['e', 'E']);
    if exponent.is_none() && !number.contains('.') {
        return number.parse::<i64>().is_ok();
    }
    if exponent.is_none() && number.len() <= SHORT {
        return true;
    }
    let (mantissa, exponent) = match exponent {
        Some(at) => (&number[..at], number[at + 1..].parse::<i64>()),
        None => (number, Ok(0)),
    };
    let (Ok(value), Ok(exponent)) = (number.parse::<f64>(), exponent) else { return false };
    let (whole, fraction) =
        mantissa.trim_start_matches('-').split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('-');
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0');
    let leading_zeros = digits.len() - significant.len();
    let decimal = Decimal::of(value);
    if significant.is_empty() || decimal.is_zero() {
        return significant.is_empty() && decimal.is_zero();
    }
    let point = i64::try_from(whole.len()).unwrap_or(i64::MAX)
        - i64::try_from(leading_zeros).unwrap_or(i64::MAX);
    significant.trim_end_matches('0') == decimal.digits()
        && point.checked_add(exponent) == Some(i64::from(decimal.point()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_outside_strings_goes_and_spellings_stay() {
        for (text, expected) in [
            ("{ \"a b\" : [ 1.10 ,\n\t-2e+2 ] }\r\n", "{\"a b\":[1.10,-2e+2]}"),
            ("[\"\\\" \", \" \\\\\" ]", "[\"\\\" \",\" \\\\\"]"),
            ("[1,\"é\u{2028}\"]", "[1,\"é\u{2028}\"]"),
        ] {
            assert_eq!(minify(text).text, expected);
        }
        assert!(matches!(minify("[1]").text, Cow::Borrowed(_)));
    }

    #[test]
    fn numbers_are_exact_if_their_decimal_value_is_that_of_the_double() {
        for (number, exact) in [
            ("0", true),
            ("-0.0", true),
            ("1.10", true),
            ("1e2", true),
            ("-12.50e-3", true),
            ("0.1", true),
            ("9223372036854775807", true),
            ("9223372036854775808", false),
            ("0.10000000000000000555", false),
            ("0.1000000000000000000", true),
            ("123456789012345678.5", false),
            ("1e400", false),
            ("1e-400", false),
            ("0e400", true),
            ("4.9e-324", false),
            ("5e-324", true),
            ("1E22", true),
            ("100000000000000000000000e-1", true),
            ("0.0000000000000000000000000000001", true),
            ("1e99999999999999999999", false),
        ] {
            assert_eq!(is_exact(number), exact, "{number}");
            assert_eq!(minify(&format!("[1, {number}]")).exact, exact, "{number}");
        }
    }
}
