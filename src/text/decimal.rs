//! A finite double as its shortest decimal: sign, digits and decimal point.
//!
//! Each format has a layout of its own (where an exponent begins and how it is written). A layout is a
//! function over [`Decimal`] that chooses between [`Decimal::write_positional`] and
//! [`Decimal::write_scientific`].
//!
//! Invariant: a decimal parses to the double that it was made from, and no decimal with fewer
//! digits does.

/// The maximum length of a double's text: a sign, 17 digits, the point, `e-` and an exponent of three digits.
const MAX_TEXT: usize = 24;

/// 2^53. From this value on not every integer is a double.
pub const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a double as an integer, if it is one below 2^53 in magnitude; -0 is 0.
#[inline]
pub fn integer(value: f64) -> Option<i64> {
    if value.abs() >= EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
    let whole = value as i64;
    #[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "exact below 2^53")]
    (whole as f64 == value).then_some(whole)
}

/// The shortest text of a finite double, if it has no exponent: the common case, for which a layout needs no
/// [`Decimal`]. An integral double ends in `.0`.
#[inline]
pub(crate) fn positional(value: f64, buffer: &mut zmij::Buffer) -> Option<&str> {
    Some(buffer.format_finite(value)).filter(|text| !text.contains('e'))
}

/// A number of the form `±0.digits * 10^point`. Zero has no digits and point 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// ASCII digits. The significant ones are from `start` to before `end`.
    digits: [u8; MAX_TEXT],
    start: usize,
    end: usize,
    point: i32,
}

/// How an exponent is written after the `e`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exponent {
    /// `e21`, `e-7`
    Bare,
    /// `e+21`, `e-7`
    Signed,
    /// `e+21`, `e-07`
    TwoDigits,
}

impl Decimal {
    /// The shortest decimal of a finite double. If two are equally near, it is the one whose last
    /// digit is even, as in Python and ECMAScript.
    #[inline]
    pub fn of(value: f64) -> Self {
        Self::parse(zmij::Buffer::new().format_finite(value))
    }

    /// The shortest decimal of a finite double. If two are equally near, it is the larger one, as
    /// in Rust's formatter: `5 * 2^-23` has the digits 5960464477539063; those of [`Self::of`] end
    /// in 2.
    pub fn rounding_up(value: f64) -> Self {
        Self::parse(&format!("{value:e}"))
    }

    /// Parses the text of a double: `-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`, of at most 24 bytes.
    #[inline]
    fn parse(text: &str) -> Self {
        let text = text.as_bytes();
        let unsigned = text.strip_prefix(b"-").unwrap_or(text);
        let (mantissa, exponent) = split(unsigned, b'e');
        let (whole, fraction) = split(mantissa, b'.');
        let mut digits = [b'0'; MAX_TEXT];
        let length = whole.len() + fraction.len();
        digits[..whole.len()].copy_from_slice(whole);
        digits[whole.len()..length].copy_from_slice(fraction);
        let end = digits[..length].iter().rposition(|&digit| digit != b'0').map_or(0, |at| at + 1);
        let start = digits[..end].iter().take_while(|&&digit| digit == b'0').count();
        let point = if end == 0 { 0 } else { signed(whole.len()) - signed(start) + read(exponent) };
        Self { negative: unsigned.len() < text.len(), digits, start, end, point }
    }

    /// Whether the double is a zero.
    pub fn is_zero(&self) -> bool {
        self.start == self.end
    }

    /// Whether the double has no fraction.
    pub fn is_integer(&self) -> bool {
        usize::try_from(self.point).is_ok_and(|point| point >= self.end - self.start)
    }

    /// The significant digits, without zeros at either end.
    pub fn digits(&self) -> &str {
        std::str::from_utf8(&self.digits[self.start..self.end]).unwrap_or_default()
    }

    /// The position of the decimal point: the value is `0.digits * 10^point`.
    pub fn point(&self) -> i32 {
        self.point
    }

    /// Appends the decimal without an exponent: `1200`, `1.2`, `0.0012`. Integers have no point.
    pub fn write_positional(&self, out: &mut String) {
        self.write_sign(out);
        let digits = self.digits();
        match usize::try_from(self.point) {
            Ok(point) if point > 0 && point < digits.len() => {
                out.push_str(&digits[..point]);
                out.push('.');
                out.push_str(&digits[point..]);
            }
            Ok(point) if point > 0 => {
                out.push_str(digits);
                write_zeros(point - digits.len(), out);
            }
            _ if self.is_zero() => out.push('0'),
            _ => {
                out.push_str("0.");
                write_zeros(self.point.unsigned_abs() as usize, out);
                out.push_str(digits);
            }
        }
    }

    /// Appends the decimal with an exponent, one digit before the point: `1.2e-7`.
    pub fn write_scientific(&self, style: Exponent, out: &mut String) {
        self.write_sign(out);
        let (first, rest) = self.digits().split_at_checked(1).unwrap_or(("0", ""));
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        out.push('e');
        let exponent = self.point - 1;
        if exponent < 0 {
            out.push('-');
        } else if style != Exponent::Bare {
            out.push('+');
        }
        if style == Exponent::TwoDigits && exponent.abs() < 10 {
            out.push('0');
        }
        out.push_str(itoa::Buffer::new().format(exponent.unsigned_abs()));
    }

    fn write_sign(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
    }
}

/// The parts before and after the first `separator`; without one, the whole text and an empty part.
#[inline]
fn split(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|&byte| byte == separator) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// Reads an exponent; 0 if there is none.
#[inline]
fn read(exponent: &[u8]) -> i32 {
    let (negative, digits) = match exponent {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, exponent),
    };
    let size = digits.iter().fold(0, |size, &digit| size * 10 + i32::from(digit - b'0'));
    if negative { -size } else { size }
}

/// Converts a length, which is at most [`MAX_TEXT`].
fn signed(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(0)
}

fn write_zeros(mut count: usize, out: &mut String) {
    const ZEROS: &str = "000000000000000000000";
    while count > 0 {
        let some = count.min(ZEROS.len());
        out.push_str(&ZEROS[..some]);
        count -= some;
    }
}

/// Doubles with their texts, for the tests of the layouts.
#[cfg(test)]
pub(crate) mod layouts {
    /// The layouts of Python's `repr` and of GCF.
    #[derive(Debug, Clone, Copy)]
    pub(crate) enum Layout {
        Python,
        #[cfg_attr(not(feature = "gcf"), expect(dead_code, reason = "GCF is not compiled"))]
        Gcf,
    }

    /// Doubles, with their text in each [`Layout`].
    const TEXTS: [(f64, [&str; 2]); 30] = [
        (5e-324, ["5e-324", "5e-324"]),
        (9.999_999e-7, ["9.999999e-07", "9.999999e-7"]),
        (0.000_001, ["1e-06", "0.000001"]),
        (0.000_001_234, ["1.234e-06", "0.000001234"]),
        (0.000_01, ["1e-05", "0.00001"]),
        (0.000_012_5, ["1.25e-05", "0.0000125"]),
        (0.0001, ["0.0001", "0.0001"]),
        (0.000_123, ["0.000123", "0.000123"]),
        (0.1, ["0.1", "0.1"]),
        (0.1 + 0.2, ["0.30000000000000004", "0.30000000000000004"]),
        (1.0, ["1.0", "1"]),
        (123.456, ["123.456", "123.456"]),
        (129.5, ["129.5", "129.5"]),
        (123_456_789_012_345.69, ["123456789012345.69", "123456789012345.69"]),
        (1e15, ["1000000000000000.0", "1000000000000000"]),
        (9_007_199_254_740_991.0, ["9007199254740991.0", "9007199254740991"]),
        (9_007_199_254_740_992.0, ["9007199254740992.0", "9.007199254740992e+15"]),
        (9_999_999_999_999_998.0, ["9999999999999998.0", "9.999999999999998e+15"]),
        (1e16, ["1e+16", "1e+16"]),
        (123_456_789_012_345_680.0, ["1.2345678901234568e+17", "1.2345678901234568e+17"]),
        (1e20, ["1e+20", "1e+20"]),
        (1e21, ["1e+21", "1e+21"]),
        (1e22, ["1e+22", "1e+22"]),
        (1e23, ["1e+23", "1e+23"]),
        (1e300, ["1e+300", "1e+300"]),
        (f64::MAX, ["1.7976931348623157e+308", "1.7976931348623157e+308"]),
        (-0.0, ["-0.0", "0"]),
        (-1e-100, ["-1e-100", "-1e-100"]),
        (-1.5e-7, ["-1.5e-07", "-1.5e-7"]),
        (-5e18, ["-5e+18", "-5e+18"]),
    ];

    /// The text that a function appends for a double.
    pub(crate) fn written(write: impl Fn(f64, &mut String), value: f64) -> String {
        let mut out = String::new();
        write(value, &mut out);
        out
    }

    /// Compares the texts that a function appends with those of a layout.
    pub(crate) fn check(layout: Layout, write: impl Fn(f64, &mut String)) {
        for (value, texts) in TEXTS {
            assert_eq!(written(&write, value), texts[layout as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_has_sign_digits_and_point() {
        for (value, negative, digits, point) in [
            (0.0, false, "", 0),
            (-0.0, true, "", 0),
            (1.0, false, "1", 1),
            (-1200.0, true, "12", 4),
            (1002.5, false, "10025", 4),
            (0.1, false, "1", 0),
            (0.00105, false, "105", -2),
            (1e16, false, "1", 17),
            (1e-7, false, "1", -6),
            (5e-324, false, "5", -323),
            (f64::MAX, false, "17976931348623157", 309),
        ] {
            for decimal in [Decimal::of(value), Decimal::rounding_up(value)] {
                assert_eq!(decimal.negative, negative, "{value}");
                assert_eq!(decimal.is_zero(), digits.is_empty(), "{value}");
                assert_eq!(decimal.is_integer(), value.fract() == 0.0, "{value}");
                assert_eq!(decimal.digits(), digits, "{value}");
                assert_eq!(decimal.point(), point, "{value}");
            }
        }
    }

    #[test]
    fn equally_near_decimals_end_in_an_even_digit_or_round_up() {
        // Exactly between two decimals of 17 digits.
        let value = 7_206_057_264_377_977.0 / 4.0;
        assert_eq!(Decimal::of(value).digits(), "18015143160944942");
        assert_eq!(Decimal::rounding_up(value).digits(), "18015143160944943");
    }

    #[test]
    fn an_integer_is_below_two_to_the_53() {
        for value in [0, 1, -7, (1 << 53) - 1, 1 - (1 << 53)] {
            #[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
            let double = value as f64;
            assert_eq!(integer(double), Some(value));
        }
        assert_eq!(integer(-0.0), Some(0));
        for value in [0.5, -1e-300, EXACT, -EXACT, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(integer(value), None, "{value}");
        }
    }

    #[test]
    fn exponents_have_three_styles() {
        for (value, bare, signed, two_digits) in [
            (1e21, "1e21", "1e+21", "1e+21"),
            (-1.5e7, "-1.5e7", "-1.5e+7", "-1.5e+07"),
            (1e-7, "1e-7", "1e-7", "1e-07"),
            (2.5e-100, "2.5e-100", "2.5e-100", "2.5e-100"),
        ] {
            let written = |style| {
                let write = |value, out: &mut _| Decimal::of(value).write_scientific(style, out);
                layouts::written(write, value)
            };
            assert_eq!(written(Exponent::Bare), bare);
            assert_eq!(written(Exponent::Signed), signed);
            assert_eq!(written(Exponent::TwoDigits), two_digits);
        }
    }

    proptest! {
        #[test]
        fn both_notations_read_back_as_the_same_double(bits: u64, small in -2e6..2e6_f64) {
            for value in [f64::from_bits(bits), small, small.trunc(), small * 1e-9] {
                prop_assume!(value.is_finite());
                for decimal in [Decimal::of(value), Decimal::rounding_up(value)] {
                    let mut positional = String::new();
                    decimal.write_positional(&mut positional);
                    prop_assert_eq!(positional.parse::<f64>().unwrap().to_bits(), value.to_bits());
                    if !decimal.is_zero() {
                        let mut scientific = String::new();
                        decimal.write_scientific(Exponent::Signed, &mut scientific);
                        prop_assert_eq!(scientific.parse::<f64>().unwrap().to_bits(), value.to_bits());
                    }
                }
            }
        }
    }
}
