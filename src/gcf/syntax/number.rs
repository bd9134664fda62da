//! Numbers: the grammar of number tokens, and the canonical text of each number.
//!
//! Invariant: a token of digits only is a 64-bit integer. Any other number is a double and has a point or
//! an exponent in its text, unless it is an integer below 2^53. GCF 3.6 section 2.3.

use super::append::push_short;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::text::decimal::{Decimal, Exponent};

/// 2^53. From this value on not every integer is a double, so doubles are written with an exponent.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;
const SMALLEST_PLAIN: f64 = 1e-6;

/// A parsed number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

/// Parses a token whose offset is `at`; `None` if it is a string and not a number.
pub(crate) fn parse(token: &str, at: usize) -> Read<Option<Number>> {
    match shape(token.as_bytes()) {
        Shape::Text => Ok(None),
        Shape::Int => match token.parse() {
            Ok(value) => Ok(Some(Number::Int(value))),
            Err(_) => fault(
                Code::OutOfRange,
                at,
                format!("the integer {} is not within -2^63 to 2^63 - 1", excerpt(token)),
            ),
        },
        Shape::Float => match token.parse::<f64>() {
            // Adding zero turns -0.0 into 0.0.
            Ok(value) if value.is_finite() => Ok(Some(Number::Float(value + 0.0))),
            _ => fault(
                Code::OutOfRange,
                at,
                format!("the number {} is too large for a double", excerpt(token)),
            ),
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Int,
    Float,
}

/// Whether a token is a number: `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`.
pub(crate) fn is_number(token: &[u8]) -> bool {
    shape(token) != Shape::Text
}

fn shape(token: &[u8]) -> Shape {
    let unsigned = token.strip_prefix(b"-").unwrap_or(token);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned[0] == b'0') {
        return Shape::Text;
    }
    let mut rest = &unsigned[whole..];
    if rest.is_empty() {
        return Shape::Int;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return Shape::Text;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            _ => exponent,
        };
        let count = digits(exponent);
        if count == 0 {
            return Shape::Text;
        }
        rest = &exponent[count..];
    }
    if rest.is_empty() { Shape::Float } else { Shape::Text }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Appends an integer.
pub(crate) fn write_int(value: i64, out: &mut String) {
    push_short(itoa::Buffer::new().format(value), out);
}

/// Appends a finite double.
pub(crate) fn write_float(value: f64, out: &mut String) {
    let size = value.abs();
    if size < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
        let whole = value as i64;
        #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "exact below 2^53")]
        if whole as f64 == value {
            return write_int(whole, out);
        }
    }
    if !(SMALLEST_PLAIN..EXACT).contains(&size) {
        return Decimal::of(value).write_scientific(Exponent::Signed, out);
    }
    let mut buffer = zmij::Buffer::new();
    let shortest = buffer.format_finite(value);
    if shortest.contains('e') {
        Decimal::of(value).write_positional(out);
    } else {
        // The common case: not integral, so the text has a fraction without zeros at its end.
        push_short(shortest, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = String::new();
        write_float(value, &mut out);
        out
    }

    #[test]
    fn doubles_are_written_in_canonical_form() {
        for (value, expected) in [
            (-0.0, "0"),
            (129.50, "129.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-6, "0.000001"),
            (1.234e-6, "0.000001234"),
            (1.25e-5, "0.0000125"),
            (0.000_123, "0.000123"),
            (-1.5e-7, "-1.5e-7"),
            (9.999_999e-7, "9.999999e-7"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (9_007_199_254_740_992.0, "9.007199254740992e+15"),
            (-5e18, "-5e+18"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (123_456_789_012_345.69, "123456789012345.69"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn tokens_outside_the_grammar_are_strings() {
        for token in ["01", "1.", ".5", "+1", "NaN", "1.٥", "", "-", "1e", "1e+", "0x1f", "1.2.3"]
        {
            assert_eq!(parse(token, 0), Ok(None), "{token}");
        }
        assert_eq!(parse("-0", 0), Ok(Some(Number::Int(0))));
        assert_eq!(parse("6.022E+23", 0), Ok(Some(Number::Float(6.022e23))));
        for token in ["9223372036854775808", "-9223372036854775809", "1e400", "-1e309"] {
            assert_eq!(parse(token, 3).unwrap_err().code, Code::OutOfRange, "{token}");
        }
        assert_eq!(parse("-9223372036854775808", 0), Ok(Some(Number::Int(i64::MIN))));
    }

    proptest! {
        #[test]
        fn doubles_round_trip(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let read = match parse(&text(value), 0) {
                Ok(Some(Number::Float(read))) => read,
                #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                Ok(Some(Number::Int(read))) => read as f64,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(read.total_cmp(&(value + 0.0)), std::cmp::Ordering::Equal);
        }
    }
}
