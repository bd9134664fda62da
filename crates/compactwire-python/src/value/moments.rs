//! Dates and times as ISO 8601, without a call of Python: what `_moment` of `compactwire._types` returns.

use crate::abi::{self, Moment};
use crate::make::make_str;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::c_int;

/// The text of a date or time; `None` if only Python can tell it.
pub(super) fn text<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyString>>> {
    let Some(moment) = abi::moment(object) else { return Ok(None) };
    let mut line = Line::new();
    line.moment(&moment);
    make_str(object.py(), &line.0).map(Some)
}

/// A text under construction.
struct Line(String);

impl Line {
    fn new() -> Self {
        Self(String::with_capacity("2026-01-01T00:00:00.000000Z".len()))
    }

    fn moment(&mut self, Moment { date: [year, month, day], clock, is_utc }: &Moment) {
        self.digits(*year, 4);
        for part in [month, day] {
            self.0.push('-');
            self.digits(*part, 2);
        }
        if let Some([hour, minute, second, microsecond]) = clock {
            for (mark, part) in [('T', hour), (':', minute), (':', second)] {
                self.0.push(mark);
                self.digits(*part, 2);
            }
            if *microsecond > 0 {
                self.0.push('.');
                self.digits(*microsecond, 6);
                self.0.truncate(self.0.trim_end_matches('0').len());
            }
        }
        if *is_utc {
            self.0.push('Z');
        }
    }

    /// Writes a number with zeros before it, up to a width.
    fn digits(&mut self, number: c_int, width: usize) {
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number);
        self.0.extend(std::iter::repeat_n('0', width.saturating_sub(digits.len())));
        self.0.push_str(digits);
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
            let mut line = Line::new();
            line.moment(&Moment { date: [1, 2, 3], clock, is_utc });
            assert_eq!(line.0, expected);
        }
    }
}
