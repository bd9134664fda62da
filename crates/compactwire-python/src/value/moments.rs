//! Dates and times as ISO 8601, without a call of Python: what `_moment` of `compactwire._types` returns.

use crate::abi::{self, Moment};
use crate::make::make_str;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::c_int;

/// The text of a date or time; `None` if only Python can tell it.
pub(super) fn text<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    let Some(moment) = abi::moment(object) else { return Ok(None) };
    let mut line = Line::default();
    line.moment(&moment);
    make_str(object.py(), line.text()).map(Some)
}

/// The characters of a text.
#[derive(Default)]
struct Line {
    bytes: [u8; "2026-01-01T00:00:00.000000Z".len()],
    len: usize,
}

impl Line {
    fn moment(&mut self, Moment { date: [year, month, day], clock, is_utc }: &Moment) {
        self.digits(*year, 4);
        for part in [month, day] {
            self.byte(b'-');
            self.digits(*part, 2);
        }
        if let Some([hour, minute, second, microsecond]) = clock {
            for (mark, part) in [(b'T', hour), (b':', minute), (b':', second)] {
                self.byte(mark);
                self.digits(*part, 2);
            }
            if *microsecond > 0 {
                self.byte(b'.');
                self.digits(*microsecond, 6);
                self.drop_zeros();
            }
        }
        if *is_utc {
            self.byte(b'Z');
        }
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Writes a number in so many digits.
    fn digits(&mut self, number: c_int, count: usize) {
        let mut rest = number;
        for byte in self.bytes[self.len..self.len + count].iter_mut().rev() {
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        self.len += count;
    }

    fn drop_zeros(&mut self) {
        let zeros = self.bytes[..self.len].iter().rev().take_while(|&&byte| byte == b'0').count();
        self.len -= zeros;
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_the_shortest_fraction() {
        for (clock, is_utc, expected) in [
            (None, false, "0001-02-03"),
            (Some([0, 0, 0, 0]), false, "0001-02-03T00:00:00"),
            (Some([23, 59, 58, 120_000]), true, "0001-02-03T23:59:58.12Z"),
            (Some([1, 2, 3, 1]), false, "0001-02-03T01:02:03.000001"),
            (Some([1, 2, 3, 999_999]), true, "0001-02-03T01:02:03.999999Z"),
        ] {
            let mut line = Line::default();
            line.moment(&Moment { date: [1, 2, 3], clock, is_utc });
            assert_eq!(line.text(), expected);
        }
    }
}
