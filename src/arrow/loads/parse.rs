//! Reads the texts that stand for dates, times, decimals and UUIDs, as `moments` writes them.

use crate::text::hex;
use arrow_schema::TimeUnit;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike};

const SECONDS_PER_DAY: i64 = 86_400;
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// The days of a date since 1970.
pub(super) fn days(text: &str) -> Option<i64> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.signed_duration_since(NaiveDate::default()).num_days())
}

/// A time of day in a unit.
pub(super) fn time(text: &str, unit: TimeUnit) -> Option<i64> {
    check_fraction(text)?;
    let time = NaiveTime::parse_from_str(text, "%H:%M:%S%.f").ok()?;
    in_unit(time.num_seconds_from_midnight().into(), time.nanosecond(), unit)
}

/// A timestamp in a unit since 1970; `zoned` if the text has a zone.
pub(super) fn timestamp(text: &str, zoned: bool, unit: TimeUnit) -> Option<i64> {
    check_fraction(text)?;
    let moment = if zoned {
        DateTime::parse_from_rfc3339(text).ok()?.to_utc()
    } else {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok()?.and_utc()
    };
    in_unit(moment.timestamp(), moment.timestamp_subsec_nanos(), unit)
}

/// `None` if the fraction of a second has more digits than nanoseconds, which `chrono` would drop; zeros are no loss.
fn check_fraction(text: &str) -> Option<()> {
    let (_, fraction) = text.split_once('.').unwrap_or_default();
    let mut digits = fraction.bytes().take_while(u8::is_ascii_digit).skip(9);
    digits.all(|digit| digit == b'0').then_some(())
}

/// Seconds and nanoseconds in a unit; `None` if it cannot hold them exactly, as with every leap second, which is one
/// second with the nanoseconds of two.
fn in_unit(seconds: i64, nanoseconds: u32, unit: TimeUnit) -> Option<i64> {
    let per_second: i64 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOSECONDS_PER_SECOND,
    };
    let (nanoseconds, unit) = (i64::from(nanoseconds), NANOSECONDS_PER_SECOND / per_second);
    let is_exact = nanoseconds < NANOSECONDS_PER_SECOND && nanoseconds % unit == 0;
    let parts = is_exact.then_some(nanoseconds / unit)?;
    // The smallest timestamp in nanoseconds is no whole number of seconds.
    let whole = i128::from(seconds) * i128::from(per_second) + i128::from(parts);
    i64::try_from(whole).ok()
}

/// The milliseconds of a date since 1970.
pub(super) fn date_milliseconds(text: &str) -> Option<i64> {
    days(text)?.checked_mul(SECONDS_PER_DAY * 1_000)
}

/// The digits of a decimal without a point, with `scale` digits behind it; `None` if there are more digits than
/// the precision.
pub(super) fn decimal(text: &str, precision: u8, scale: i8) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || digits.ends_with('.') {
        return None;
    }
    let mut digits = format!("{whole}{fraction}");
    match i64::from(scale) - i64::try_from(fraction.len()).ok()? {
        missing @ 0.. => {
            let missing = usize::try_from(missing).ok()?;
            digits.extend(std::iter::repeat_n('0', missing));
        }
        surplus => {
            let surplus = usize::try_from(-surplus).ok()?;
            // A zero has fewer digits than a scale below 0 takes away.
            let kept = digits.len().saturating_sub(surplus);
            if digits[kept..].bytes().any(|digit| digit != b'0') {
                return None;
            }
            digits.truncate(kept);
        }
    }
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    (digits.len() <= usize::from(precision)).then(|| format!("{sign}{digits}"))
}

/// The bytes of a UUID in its usual form.
pub(super) fn uuid(text: &str) -> Option<[u8; 16]> {
    let hyphens = text.bytes().enumerate().filter(|(_, byte)| *byte == b'-').map(|(at, _)| at);
    if !hyphens.eq([8, 13, 18, 23]) {
        return None;
    }
    hex::decode(text.replace('-', "").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        for (text, precision, scale, digits) in [
            ("1.10", 5, 2, Some("110")),
            ("-0.05", 5, 2, Some("-5")),
            ("1.1", 5, 2, Some("110")),
            ("1.100", 5, 2, Some("110")),
            ("1.101", 5, 2, None),
            ("1200", 5, -2, Some("12")),
            ("1234", 5, -2, None),
            ("0", 5, -2, Some("0")),
            ("1", 5, -2, None),
            ("123456", 5, 0, None),
            ("0", 1, 0, Some("0")),
            ("", 5, 0, None),
            (".5", 5, 1, None),
            ("5.", 5, 1, None),
            ("1e2", 5, 0, None),
            ("+1", 5, 0, None),
        ] {
            assert_eq!(decimal(text, precision, scale).as_deref(), digits, "{text}");
        }
    }

    #[test]
    fn a_uuid_has_hyphens_in_their_places() {
        let bytes = *b"\xf8\x1d\x4f\xae\x7d\xec\x11\xd0\xa7\x65\x00\xa0\xc9\x1e\x6b\xf6";
        for (text, uuid) in [
            ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", Some(bytes)),
            ("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", Some(bytes)),
            ("f81d4fae7dec11d0a76500a0c91e6bf6", None),
            ("f81d4fae-7dec-11d0-a765-00a0c91e6bf", None),
            ("f81d4fa-e7dec-11d0-a765-00a0c91e6bf6", None),
            ("f81d4fae-7dec-11d0-a765-00a0c91e6bg6", None),
            ("", None),
        ] {
            assert_eq!(super::uuid(text), uuid, "{text}");
        }
    }

    #[test]
    fn a_unit_holds_a_moment_exactly_or_not_at_all() {
        let moment = "1969-12-31T23:59:59.5";
        for (unit, expected) in [
            (TimeUnit::Second, None),
            (TimeUnit::Millisecond, Some(-500)),
            (TimeUnit::Nanosecond, Some(-500_000_000)),
        ] {
            assert_eq!(timestamp(moment, false, unit), expected);
        }
        let zoned = timestamp("2026-11-22T14:50:00+05:30", true, TimeUnit::Second);
        assert_eq!(zoned, timestamp("2026-11-22T09:20:00Z", true, TimeUnit::Second));
        assert_eq!(timestamp(moment, true, TimeUnit::Nanosecond), None);
        assert_eq!(timestamp("2026-11-22T09:20:00Z", false, TimeUnit::Second), None);
        assert_eq!(timestamp("9999-12-31T00:00:00", false, TimeUnit::Nanosecond), None);
        for unit in [TimeUnit::Second, TimeUnit::Nanosecond] {
            assert_eq!(timestamp("2016-12-31T23:59:60", false, unit), None);
            assert_eq!(timestamp("2016-12-31T23:59:60Z", true, unit), None);
            assert_eq!(time("12:59:60", unit), None);
            assert_eq!(time("23:59:60", unit), None);
        }
        for fraction in ["0000000001", "1234567891", "9999999999"] {
            for unit in [TimeUnit::Second, TimeUnit::Nanosecond] {
                let moment = format!("2026-11-22T09:20:00.{fraction}");
                assert_eq!(timestamp(&moment, false, unit), None);
                assert_eq!(timestamp(&format!("{moment}Z"), true, unit), None);
                assert_eq!(time(&moment[11..], unit), None);
            }
        }
        let zeros = "00:00:01.50000000000";
        assert_eq!(time(zeros, TimeUnit::Millisecond), Some(1_500));
        let zoned = format!("1970-01-01T{zeros}+00:00");
        assert_eq!(timestamp(&zoned, true, TimeUnit::Nanosecond), Some(1_500_000_000));
        assert_eq!(days("1969-12-31"), Some(-1));
        assert_eq!(time("00:00:01.000000001", TimeUnit::Nanosecond), Some(1_000_000_001));
    }
}
