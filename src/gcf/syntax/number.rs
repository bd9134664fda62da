//! Numbers: the grammar of number tokens, and the canonical text of each number.
//!
//! Invariant: a token of digits only is a 64-bit integer. Any other number is a double and has a point or
//! an exponent in its text, unless it is an integer below 2^53. GCF 3.6 section 2.3.

use super::append::push_short;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::text::decimal::{self, Decimal, EXACT, Exponent, integer};
use crate::text::output::{Memory, Output};
use crate::text::scan::HIGH;

/// Below this value, the canonical text of a double has an exponent.
const SMALLEST_PLAIN: f64 = 1e-6;
/// From this value on, and below [`EXACT`], the shortest text of a double has no exponent.
const ALWAYS_POSITIONAL: f64 = 1e-4;

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

/// The result of [`scan`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scanned {
    /// A number, and the offset of the delimiter after it.
    Number(Number, usize),
    /// Not a number. If the token ends with a blank or carriage return, it may be a number without it.
    Text,
    /// A number of an uncommon form, or text: [`parse`] decides.
    Unknown,
}

/// Reads the number at `start` while looking for the delimiter that ends it: `|`, a line feed or the end of
/// the text. The token begins with a digit or `-`.
#[inline(always)]
pub(crate) fn scan(text: &[u8], start: usize) -> Scanned {
    let negative = text[start] == b'-';
    let first = start + usize::from(negative);
    if let Some((number, length)) = text.get(first..).and_then(scan_short) {
        let number = match number {
            Number::Int(value) if negative => Number::Int(-value),
            // Subtracting from zero turns -0.0 into 0.0.
            Number::Float(value) if negative => Number::Float(0.0 - value),
            number => number,
        };
        return Scanned::Number(number, first + length);
    }
    scan_long(text, first, negative)
}

/// Reads an unsigned number of at most seven bytes before a delimiter; returns it and its length. `None` if
/// it is not such a number.
#[inline(always)]
fn scan_short(text: &[u8]) -> Option<(Number, usize)> {
    let word = u64::from_le_bytes(*text.first_chunk()?);
    let whole = digits_before(word);
    if whole == 0 || whole == 8 || (whole > 1 && text[0] == b'0') {
        return None;
    }
    match text[whole] {
        b'|' | b'\n' => Some((Number::Int(join_digits(word, whole).cast_signed()), whole)),
        b'.' => {
            let before = (1 << (8 * whole)) - 1;
            let word = (word & before) | ((word >> 8) & !before);
            let count = digits_before(word);
            let ends = matches!(text[(count + 1).min(7)], b'|' | b'\n');
            #[expect(clippy::cast_precision_loss, reason = "at most six digits")]
            let value = || join_digits(word, count) as f64 / POWERS[count - whole];
            (whole < count && ends).then(|| (Number::Float(value()), count + 1))
        }
        _ => None,
    }
}

/// [`scan`] for a number of any length, from its first digit on.
fn scan_long(text: &[u8], first: usize, negative: bool) -> Scanned {
    let (value, point) = scan_digits(text, first, 0);
    let whole = point - first;
    if whole == 0 || (whole > 1 && text[first] == b'0') {
        return Scanned::Text;
    }
    match text.get(point) {
        Some(b'|' | b'\n') | None if whole <= INT_DIGITS => {
            let value = value.cast_signed();
            Scanned::Number(Number::Int(if negative { -value } else { value }), point)
        }
        Some(b'.') => {
            let (value, end) = scan_digits(text, point + 1, value);
            let fraction = end - point - 1;
            match text.get(end) {
                _ if fraction == 0 => Scanned::Text,
                Some(b'|' | b'\n') | None if whole + fraction <= MANTISSA_DIGITS => {
                    match quotient(value, fraction) {
                        // Subtracting from zero turns -0.0 into 0.0.
                        Some(value) if negative => Scanned::Number(Number::Float(0.0 - value), end),
                        Some(value) => Scanned::Number(Number::Float(value), end),
                        None => Scanned::Unknown,
                    }
                }
                Some(b'|' | b'\n' | b'e' | b'E') | None => Scanned::Unknown,
                Some(_) => Scanned::Text,
            }
        }
        Some(b'|' | b'\n' | b'e' | b'E') | None => Scanned::Unknown,
        Some(_) => Scanned::Text,
    }
}

/// Every integer of at most this many digits fits into an `i64`.
const INT_DIGITS: usize = 18;
/// Every integer of at most this many digits fits into a `u64`.
const MANTISSA_DIGITS: usize = 19;

/// Appends the digits from `at` on to `value`; returns it and the offset after them.
#[inline]
fn scan_digits(text: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    while let Some(word) = text.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*word);
        let count = digits_before(word);
        if count > 0 {
            let number = join_digits(word, count);
            value = value.wrapping_mul(WHOLE_POWERS[count]).wrapping_add(number);
        }
        at += count;
        if count < 8 {
            return (value, at);
        }
    }
    while let Some(digit) =
        text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10)
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

const WHOLE_POWERS: [u64; 9] =
    [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The number of digits before the first of eight bytes that is not a digit. The first byte is the lowest of
/// `word`.
#[inline]
fn digits_before(word: u64) -> usize {
    let digits = word ^ ZEROS;
    // The highest bit is clear in both operands of the `|` only for a digit. Only a byte that is not a digit
    // carries into the next byte, so the bytes up to the first such byte are exact.
    let others = (digits | digits.wrapping_add(HIGH / 128 * 0x76)) & HIGH;
    others.trailing_zeros() as usize / 8
}

/// The value of the first `count` digits of eight bytes; `count` is at least 1.
#[inline]
fn join_digits(word: u64, count: usize) -> u64 {
    // The shift puts zeros before the digits. Then neighbours are joined to two, four and eight digits.
    let digits = (word ^ ZEROS) << (64 - 8 * count);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF
}

/// The digit 0 in each byte.
const ZEROS: u64 = HIGH / 128 * b'0' as u64;

/// The double nearest to `value / 10^places`; `None` if 128 bits do not decide which one is nearest.
#[inline]
fn quotient(value: u64, places: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
    match POWERS.get(places) {
        // The value and the power are exact, and one division rounds once.
        Some(power) if value <= 1 << 53 => Some(value as f64 / power),
        _ => long_quotient(value, places),
    }
}

/// The powers of ten that a double represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The first 128 bits of 1 / 5^n, and the number of bits of 5^n.
const INVERSES: [(u128, u32); 28] = {
    let mut inverses = [(0, 0); 28];
    let mut power: u128 = 5;
    let mut n = 1;
    while n < inverses.len() {
        let bits = 128 - power.leading_zeros();
        let mut rest = 1 << (bits - 1);
        let mut inverse = 0;
        let mut i = 0;
        while i < 128 {
            rest *= 2;
            inverse *= 2;
            if rest >= power {
                rest -= power;
                inverse += 1;
            }
            i += 1;
        }
        inverses[n] = (inverse, bits);
        power *= 5;
        n += 1;
    }
    inverses
};

/// [`quotient`] by multiplication with the first 128 bits of 1 / 5^n, as in the algorithm of Eisel and
/// Lemire. Only the last bits of the product are inexact. In the rare case that they decide how to round,
/// `None`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "parts of 128 bits"
)]
fn long_quotient(value: u64, places: usize) -> Option<f64> {
    /// The bits of the product below those of the double.
    const BELOW: u32 = 128 - f64::MANTISSA_DIGITS;
    const HALF: u128 = 1 << (BELOW - 1);
    /// The product is too small by less than this.
    const ERROR: u128 = 4;
    if value == 0 {
        return Some(0.0);
    }
    let &(inverse, bits) = INVERSES.get(places).filter(|_| places > 0)?;
    let shift = value.leading_zeros();
    let factor = u128::from(value << shift);
    let low = factor * u128::from(inverse as u64);
    let product = factor * (inverse >> 64) + (low >> 64);
    let normal = product.leading_zeros();
    let product = product << normal;
    let rest = product & (2 * HALF - 1);
    let up = rest > HALF;
    if !up && rest + ERROR > HALF {
        return None;
    }
    let mantissa = (product >> BELOW) as u64 + u64::from(up);
    let exponent = 1023 + u64::from(BELOW) - 63 - u64::from(shift + bits + normal) - places as u64;
    Some(mantissa as f64 * f64::from_bits(exponent << 52))
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
    if let Some(whole) = integer(value) {
        return write_int(whole, out);
    }
    if !(SMALLEST_PLAIN..EXACT).contains(&value.abs()) {
        return Decimal::of(value).write_scientific(Exponent::Signed, out);
    }
    let mut buffer = zmij::Buffer::new();
    match decimal::positional(value, &mut buffer) {
        // The value has a fraction, so its text needs no `.0`, and has no zeros at its end.
        Some(shortest) => push_short(shortest, out),
        None => Decimal::of(value).write_positional(out),
    }
}

/// Appends a finite double to an output. The result is that of [`write_float`].
#[inline]
pub(crate) fn put_float<M: Memory>(value: f64, out: &mut Output<M>) {
    if let Some(whole) = integer(value) {
        out.int(whole);
    } else if (ALWAYS_POSITIONAL..EXACT).contains(&value.abs()) {
        out.short(zmij::Buffer::new().format_finite(value));
    } else {
        put_extreme(value, out);
    }
}

#[cold]
fn put_extreme<M: Memory>(value: f64, out: &mut Output<M>) {
    let mut text = String::new();
    write_float(value, &mut text);
    out.str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::decimal::layouts::{self, Layout, written};
    use proptest::prelude::*;

    #[test]
    fn doubles_are_written_in_canonical_form() {
        layouts::check(Layout::Gcf, write_float);
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

    /// The result of the general parser for the token before the first delimiter.
    fn general(text: &str) -> Option<Number> {
        let token = text.split(['|', '\n']).next().unwrap();
        parse(token, 0).unwrap_or(None)
    }

    fn check_scan(text: &str) {
        match scan(text.as_bytes(), 0) {
            Scanned::Number(number, end) => {
                assert_eq!(Some(number), general(text), "{text}");
                assert_eq!(end, text.find(['|', '\n']).unwrap_or(text.len()), "{text}");
                if let Number::Float(value) = number {
                    assert!(value != 0.0 || value.is_sign_positive(), "{text}");
                }
            }
            Scanned::Text => assert_eq!(general(text), None, "{text}"),
            Scanned::Unknown => {}
        }
    }

    #[test]
    fn digits_are_joined_in_words_as_one_by_one() {
        for bytes in
            [*b"12345678", *b"00000009", *b"1234567/", *b"98:76543", *b"7|999999", *b"|1234567"]
        {
            for other in [b'/', b':', b'.', 0, 0xFF, 0xB0, b'5'] {
                for at in 0..8 {
                    let mut bytes = bytes;
                    bytes[at] = other;
                    let length = digits(&bytes);
                    let number =
                        std::str::from_utf8(&bytes[..length]).unwrap().parse().unwrap_or(0);
                    let word = u64::from_le_bytes(bytes);
                    assert_eq!(digits_before(word), length, "{bytes:?}");
                    if length > 0 {
                        assert_eq!(join_digits(word, length), number, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn common_numbers_are_scanned() {
        for text in [
            "0|",
            "-0\n",
            "-0.0|",
            "0.0\n",
            "12|",
            "129.5|",
            "999999999999999999|",
            "0.1|",
            "-5\n",
            "0.30000000000000004|",
            "123456789012345.69|",
            "9007199254740993.5|",
            "-3.141592653589793\n",
            "184467440737095516.5|",
            "0.000000000000000001|",
        ] {
            assert!(matches!(scan(text.as_bytes(), 0), Scanned::Number(..)), "{text}");
            check_scan(text);
        }
        for text in [
            "01|",
            "1.|",
            "-|",
            "-a|",
            "2024-02-29|",
            "1.2.3|",
            "1e5|",
            "1.5e-7|",
            "9223372036854775808|",
            "12345678901234567890123|",
            "0.00000000000000000000000000001|",
            "12\r\n",
            "1 |",
        ] {
            assert!(!matches!(scan(text.as_bytes(), 0), Scanned::Number(..)), "{text}");
            check_scan(text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn scanned_numbers_are_those_of_the_general_parser(
            text in prop_oneof![
                "-?[0-9]{1,20}[|\n]",
                "-?[0-9]{1,18}\\.[0-9]{1,18}[|\n]",
                "-?(0|[1-9][0-9]{0,3})\\.[0-9]{12,18}[|\n]",
                "-?[0-9.e]{1,6}[|\n x\r]?",
            ]
        ) {
            check_scan(&text);
        }

        #[test]
        fn doubles_of_any_length_are_scanned(value in -1e6_f64..1e6, digits in 0_usize..18) {
            check_scan(&format!("{value}|"));
            check_scan(&format!("{value:.digits$}\n"));
        }

        #[test]
        fn quotients_near_a_tie_are_rounded_as_in_the_standard_library(
            mantissa in 1_u64 << 52..1 << 53,
            places in 1_usize..6,
            off in -1_i64..=1,
        ) {
            // A number in the middle of two doubles, and its neighbours.
            let value = u128::from(2 * mantissa + 1) * 10_u128.pow(u32::try_from(places).unwrap())
                / 2_u128.pow(u32::try_from(places).unwrap() + 4);
            prop_assume!(value < 1 << 63);
            let value = u64::try_from(value).unwrap().saturating_add_signed(off);
            let digits = format!("{value:019}");
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let whole = whole.trim_start_matches('0');
            check_scan(&format!("{}.{fraction}|", if whole.is_empty() { "0" } else { whole }));
        }

        #[test]
        fn outputs_get_the_same_text(bits: u64, small in -2e6..2e6_f64, exponent in -9..18) {
            for value in [f64::from_bits(bits), small, small.trunc(), small * 10_f64.powi(exponent)] {
                prop_assume!(value.is_finite());
                let mut out = Output::new(Vec::new());
                put_float(value, &mut out);
                prop_assert_eq!(out.into_string(), Some(written(write_float, value)));
            }
        }

        #[test]
        fn doubles_round_trip(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let read = match parse(&written(write_float, value), 0) {
                Ok(Some(Number::Float(read))) => read,
                #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                Ok(Some(Number::Int(read))) => read as f64,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(read.total_cmp(&(value + 0.0)), std::cmp::Ordering::Equal);
        }
    }
}
