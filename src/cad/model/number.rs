//! Reads numbers, and writes them in the layout of ECMAScript.
//!
//! Invariant: [`parse`] reads the output of [`write`] back to the same bits.

use crate::text::decimal::{self, Decimal, Exponent};

/// 10^0 to 10^22, which doubles hold exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// 10^15. Two different decimals of at most 15 digits never round to the same double.
const FIFTEEN_DIGITS: f64 = 1e15;

/// The reason why a token is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// The token does not match the grammar.
    Invalid,
    /// The number is too large for its type.
    OutOfRange,
}

/// Parses `[sign] (digits [. [digits]] | . digits) [e [sign] digits]` to the nearest finite double.
#[inline]
pub(crate) fn parse(token: &str) -> Result<f64, NumberError> {
    match parse_short(token.as_bytes()) {
        Some(x) => Ok(x),
        None => parse_any(token),
    }
}

/// Parses the common case: no exponent and at most 15 digits. The digits and the power of ten are
/// exact doubles, so one division returns the nearest double.
#[inline]
fn parse_short(token: &[u8]) -> Option<f64> {
    let (negative, digits) = match token {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, token),
    };
    // 15 digits and the point.
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut mantissa, mut point) = (0u64, None);
    for (i, &byte) in digits.iter().enumerate() {
        match byte.wrapping_sub(b'0') {
            digit @ 0..=9 => mantissa = mantissa * 10 + u64::from(digit),
            _ if byte == b'.' && point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    let decimals = match point {
        None if digits.len() == 16 => return None,
        None => 0,
        Some(_) if digits.len() == 1 => return None,
        Some(i) => digits.len() - 1 - i,
    };
    #[expect(clippy::cast_precision_loss, reason = "below 10^15 there is none")]
    let x = mantissa as f64 / POWERS[decimals];
    Some(if negative { -x } else { x })
}

#[cold]
fn parse_any(token: &str) -> Result<f64, NumberError> {
    let plain = |c: u8| matches!(c, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    // The standard library parses the same grammar, and words such as `inf`.
    if !token.bytes().all(plain) {
        return Err(NumberError::Invalid);
    }
    match token.parse::<f64>() {
        Err(_) => Err(NumberError::Invalid),
        Ok(x) if x.is_infinite() => Err(NumberError::OutOfRange),
        Ok(x) => Ok(x),
    }
}

/// Parses ASCII digits as a number of at most 32 bits.
#[inline]
pub(crate) fn parse_u32(token: &str) -> Result<u32, NumberError> {
    match parse_u64(token)?.map(u32::try_from) {
        Some(Ok(n)) => Ok(n),
        _ => Err(NumberError::OutOfRange),
    }
}

/// Parses ASCII digits of any length; `None` if the number exceeds 64 bits.
#[inline]
pub(crate) fn parse_u64(token: &str) -> Result<Option<u64>, NumberError> {
    if token.is_empty() || !token.bytes().all(|c| c.is_ascii_digit()) {
        return Err(NumberError::Invalid);
    }
    Ok(token.bytes().try_fold(0u64, |n, c| n.checked_mul(10)?.checked_add(u64::from(c - b'0'))))
}

/// Writes the shortest decimal that is read back as `x`, in ECMAScript's layout; `-0` keeps its
/// sign.
pub(crate) fn write(out: &mut String, x: f64) {
    if let Some((m, decimals)) = short_decimal(x) {
        write_decimal(out, x.is_sign_negative(), m, decimals);
    } else {
        write_any(out, x);
    }
}

/// Returns `m` and `decimals` with `|x| = m / 10^decimals`, if at most three decimals and 15 digits
/// suffice.
#[inline]
fn short_decimal(x: f64) -> Option<(u64, usize)> {
    let x = x.abs();
    if let Some(whole) = whole(x) {
        return Some((whole, 0));
    }
    let mut decimals = 3;
    let mut m = whole((x * POWERS[decimals] + ROUNDS) - ROUNDS)?;
    #[expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "checks for exact equality")]
    if m as f64 / POWERS[decimals] != x {
        return None;
    }
    while m % 10 == 0 {
        m /= 10;
        decimals -= 1;
    }
    Some((m, decimals))
}

/// 2^52. A double plus this number has no fraction, so that adding and subtracting it rounds.
const ROUNDS: f64 = 4_503_599_627_370_496.0;

/// A number that is not negative, if it is an integer of at most 15 digits.
#[inline]
fn whole(x: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    let n = x as u64;
    #[expect(clippy::float_cmp, clippy::cast_precision_loss, reason = "checks for exact equality")]
    (x < FIFTEEN_DIGITS && n as f64 == x).then_some(n)
}

fn write_decimal(out: &mut String, negative: bool, m: u64, decimals: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(m);
    if negative {
        out.push('-');
    }
    if digits.len() <= decimals {
        out.push_str(&"0.000"[..2 + decimals - digits.len()]);
        return out.push_str(digits);
    }
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    out.push_str(whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
}

fn write_any(out: &mut String, x: f64) {
    let decimal = Decimal::rounding_up(x);
    if (-5..=21).contains(&decimal.point()) {
        decimal.write_positional(out);
    } else {
        decimal.write_scientific(Exponent::Bare, out);
    }
}

/// Returns `m` and `scale` with `x = m / 10^scale`, from the shortest decimal of `x`. `None` if
/// `|m|` is 2^53 or more, for more than 22 decimals, for `-0`, and for numbers written with an
/// exponent. The binary form stores such pairs.
pub(crate) fn scaled(x: f64) -> Option<(i64, u32)> {
    if x == 0.0 {
        return x.is_sign_positive().then_some((0, 0));
    }
    let signed = |m: u64| {
        let m = i64::try_from(m).ok()?;
        Some(if x < 0.0 { -m } else { m })
    };
    if let Some((m, decimals)) = short_decimal(x) {
        return Some((signed(m)?, u32::try_from(decimals).ok()?));
    }
    if !(1e-6..1e21).contains(&x.abs()) {
        return None;
    }
    let decimal = Decimal::rounding_up(x);
    let mut digits = decimal.digits().to_owned();
    let decimals = i32::try_from(digits.len()).ok()? - decimal.point();
    for _ in decimals..0 {
        digits.push('0');
    }
    let m: u64 = digits.parse().ok().filter(|m: &u64| m >> 53 == 0)?;
    let scale = u32::try_from(decimals.max(0)).ok().filter(|&scale| scale <= MAX_SCALE)?;
    Some((signed(m)?, scale))
}

/// The largest scale: 10^22 is the largest power of ten that a double holds exactly.
pub(crate) const MAX_SCALE: u32 = 22;

/// Returns `m / 10^scale`, correctly rounded; `None` if `m` or `scale` is outside the range of
/// [`scaled`].
pub(crate) fn unscaled(m: i64, scale: u32) -> Option<f64> {
    let power = POWERS.get(usize::try_from(scale).ok()?)?;
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 there is none")]
    (m.unsigned_abs() >> 53 == 0).then(|| m as f64 / power)
}

/// Returns `x` as an integer, if it is an integer below 2^53 in magnitude and not `-0`.
#[inline]
pub(crate) fn integer(x: f64) -> Option<i64> {
    decimal::integer(x).filter(|&n| n != 0 || x.is_sign_positive())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(x: f64) -> String {
        let mut out = String::new();
        write(&mut out, x);
        out
    }

    #[test]
    fn numbers_are_written_in_the_layout_of_ecmascript() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (50.0, "50"),
            (-0.5, "-0.5"),
            (-0.025, "-0.025"),
            (0.007, "0.007"),
            (1e12 + 0.5, "1000000000000.5"),
            (4.35, "4.35"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (-2.5e-10, "-2.5e-10"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e21, "1.5e21"),
            (123_456_789.125, "123456789.125"),
            (0.1 + 0.2, "0.30000000000000004"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(written(x), text);
        }
    }

    #[test]
    fn invalid_numbers_are_errors() {
        for token in [
            "", ".", "-", "+", "e5", "1e", "1e+", "NaN", "inf", "1_0", "0x1", "1,5", "--1", "1.2.3",
        ] {
            assert_eq!(parse(token), Err(NumberError::Invalid), "{token}");
        }
        for token in ["1e999", "-1.8e308", "+1e400"] {
            assert_eq!(parse(token), Err(NumberError::OutOfRange), "{token}");
        }
        for (token, x) in [("5.", 5.0), (".5", 0.5), ("+007", 7.0), ("1E3", 1e3), ("1e-999", 0.0)] {
            assert_eq!(parse(token), Ok(x));
        }
        assert!(parse("-0").unwrap().is_sign_negative());
        assert!(parse("-1e-999").unwrap().is_sign_negative());
    }

    proptest! {
        #[test]
        fn doubles_are_read_back_exactly(bits: u64) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            prop_assert_eq!(parse(&written(x)).unwrap().to_bits(), bits);
            if let Some((m, scale)) = scaled(x) {
                prop_assert_eq!(unscaled(m, scale).unwrap().to_bits(), bits);
            }
        }

        #[test]
        fn fast_path_agrees_with_slow_path(m in 0u64..1_000_000_000_000_000, s in 0usize..15) {
            let digits = format!("{m:015}");
            let text = format!("{}.{}", &digits[..15 - s], &digits[15 - s..]);
            let x: f64 = text.parse().unwrap();
            prop_assert_eq!(parse(&text).unwrap().to_bits(), x.to_bits());
            let mut long = String::new();
            write_any(&mut long, x);
            if x != 0.0 {
                prop_assert_eq!(written(x), long);
            }
            prop_assert_eq!(parse_short(text.as_bytes()).map(f64::to_bits), Some(x.to_bits()));
        }
    }
}
