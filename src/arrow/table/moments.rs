//! Dates, times, decimals and UUIDs as the texts that stand for them in a value.
//!
//! Dates and times are in ISO 8601 without zeros at the end of a fraction of a second, as `types="common"` writes
//! Python's objects.

use crate::text::hex;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_time};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, TimeUnit};
use chrono::{Datelike, TimeDelta};
use std::fmt::Write;

/// The years that Python's dates have.
const YEARS: std::ops::RangeInclusive<i32> = 1..=9999;

const MILLISECONDS_OF_DAY: i64 = 24 * 60 * 60 * 1000;

/// A column of dates, times, decimals or UUIDs.
pub(super) struct Moments {
    array: ArrayRef,
    zone: Zone,
}

/// How the zone of a timestamp is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// There is none.
    None,
    Utc,
    /// Minutes east of UTC.
    Offset(i32),
}

impl Zone {
    /// The zone of a timestamp type. A named zone is written in UTC: its offsets would need a database.
    fn new(name: &str) -> Self {
        let (sign, digits) = match name.as_bytes() {
            [b'+', ..] => (1, &name[1..]),
            [b'-', ..] => (-1, &name[1..]),
            _ => return Self::Utc,
        };
        let digits = digits.replacen(':', "", 1);
        let digits = if digits.len() == 2 { digits + "00" } else { digits };
        if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Self::Utc;
        }
        let (hours, minutes) = digits.split_at(2);
        match (hours.parse::<i32>(), minutes.parse::<i32>()) {
            (Ok(0), Ok(0)) => Self::Utc,
            (Ok(hours @ 0..=23), Ok(minutes @ 0..=59)) => {
                Self::Offset(sign * (hours * 60 + minutes))
            }
            _ => Self::Utc,
        }
    }
}

impl Moments {
    /// `None` for an array of another type.
    pub(super) fn new(field: &Field, array: &dyn Array) -> Option<Self> {
        let zone = match array.data_type() {
            DataType::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => {
                Zone::None
            }
            DataType::Timestamp(_, Some(name)) => Zone::new(name),
            DataType::Timestamp(_, None)
            | DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Zone::None,
            _ => return None,
        };
        Some(Self { array: array.slice(0, array.len()), zone })
    }

    /// Why a row has no text.
    pub(super) fn invalid(&self) -> &'static str {
        match self.array.data_type() {
            DataType::Time32(_) | DataType::Time64(_) => "the time is not a time of day",
            DataType::Date64 => "the date is not a whole day within the years 1 to 9999",
            _ => "the time is not within the years 1 to 9999",
        }
    }

    /// The text of a row that is not null; `None` for a time outside of the years 1 to 9999, or of the day, and
    /// for a date with a part of a day.
    pub(super) fn text(&self, row: usize) -> Option<String> {
        macro_rules! value {
            ($type:ty) => {
                self.array.as_primitive::<$type>().value(row)
            };
        }
        macro_rules! decimal {
            ($type:ty) => {
                Some(self.array.as_primitive::<$type>().value_as_string(row))
            };
        }
        match self.array.data_type() {
            DataType::Date32 => date::<Date32Type>(value!(Date32Type).into()),
            DataType::Date64 => {
                let is_day = |milliseconds: &i64| milliseconds % MILLISECONDS_OF_DAY == 0;
                Some(value!(Date64Type)).filter(is_day).and_then(date::<Date64Type>)
            }
            DataType::Time32(TimeUnit::Second) => {
                time::<Time32SecondType>(value!(Time32SecondType).into())
            }
            DataType::Time32(_) => {
                time::<Time32MillisecondType>(value!(Time32MillisecondType).into())
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                time::<Time64MicrosecondType>(value!(Time64MicrosecondType))
            }
            DataType::Time64(_) => time::<Time64NanosecondType>(value!(Time64NanosecondType)),
            DataType::Timestamp(TimeUnit::Second, _) => {
                self.timestamp::<TimestampSecondType>(value!(TimestampSecondType))
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                self.timestamp::<TimestampMillisecondType>(value!(TimestampMillisecondType))
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.timestamp::<TimestampMicrosecondType>(value!(TimestampMicrosecondType))
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                self.timestamp::<TimestampNanosecondType>(value!(TimestampNanosecondType))
            }
            DataType::Decimal32(..) => decimal!(Decimal32Type),
            DataType::Decimal64(..) => decimal!(Decimal64Type),
            DataType::Decimal128(..) => decimal!(Decimal128Type),
            DataType::Decimal256(..) => decimal!(Decimal256Type),
            DataType::FixedSizeBinary(_) => {
                Some(uuid(self.array.as_fixed_size_binary().value(row)))
            }
            _ => None,
        }
    }

    /// The text of a timestamp.
    fn timestamp<T: ArrowPrimitiveType>(&self, value: i64) -> Option<String> {
        let mut moment = as_datetime::<T>(value)?;
        if let Zone::Offset(minutes) = self.zone {
            // Nanoseconds in 64 bits may not have the local time.
            moment = moment.checked_add_signed(TimeDelta::minutes(minutes.into()))?;
        }
        let mut text = within_years(moment.year(), &format!("{moment:?}"))?;
        match self.zone {
            Zone::None => {}
            Zone::Utc => text.push('Z'),
            Zone::Offset(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                // Writing to a string does not fail.
                let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
            }
        }
        Some(text)
    }
}

/// The text of the 16 bytes of a UUID: `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`.
fn uuid(bytes: &[u8]) -> String {
    let mut text = hex::encode(bytes);
    for place in [20, 16, 12, 8] {
        text.insert(place, '-');
    }
    text
}

fn date<T: ArrowPrimitiveType>(value: i64) -> Option<String> {
    let date = as_date::<T>(value)?;
    within_years(date.year(), &date.to_string())
}

fn time<T: ArrowPrimitiveType>(value: i64) -> Option<String> {
    Some(without_zeros(&as_time::<T>(value)?.to_string()))
}

/// The text of a date or time without zeros at the end of its fraction; `None` if Python has no such year.
fn within_years(year: i32, text: &str) -> Option<String> {
    YEARS.contains(&year).then(|| without_zeros(text))
}

/// A text without the zeros at the end of its fraction of a second.
fn without_zeros(text: &str) -> String {
    let text = if text.contains('.') { text.trim_end_matches('0') } else { text };
    text.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::TimestampNanosecondArray;

    #[test]
    fn a_local_time_may_be_beyond_the_nanoseconds_of_64_bits() {
        for (value, zone, expected) in [
            (i64::MAX, "+05:30", "2262-04-12T05:17:16.854775807+05:30"),
            (i64::MIN, "-03:00", "1677-09-20T21:12:43.145224192-03:00"),
        ] {
            let array = TimestampNanosecondArray::from(vec![value]).with_timezone(zone);
            let field = Field::new("", array.data_type().clone(), true);
            let text = Moments::new(&field, &array).and_then(|moments| moments.text(0));
            assert_eq!(text.as_deref(), Some(expected));
        }
    }

    #[test]
    fn only_offsets_of_a_day_are_offsets() {
        for (name, zone) in [
            ("UTC", Zone::Utc),
            ("Europe/Berlin", Zone::Utc),
            ("+00:00", Zone::Utc),
            ("+05:30", Zone::Offset(330)),
            ("-0300", Zone::Offset(-180)),
            ("+05", Zone::Offset(300)),
            ("+99:99", Zone::Utc),
            ("+2147483647:0", Zone::Utc),
            ("++5:30", Zone::Utc),
            ("+1:-70", Zone::Utc),
            ("+é1", Zone::Utc),
            ("", Zone::Utc),
        ] {
            assert_eq!(Zone::new(name), zone, "{name}");
        }
    }
}
