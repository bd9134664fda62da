//! The canonical text of a value: members sorted, no white space, one form for every number.

use crate::interrupt::Steps;
use crate::memory;
use crate::text::decimal::{self, Decimal, Exponent};
use crate::text::quoted::{self, Escape};
use crate::value::{Entries, Value};
use std::ops::Range;

/// Appends the canonical text of `value`: members sorted by the code points of their keys.
pub fn write(value: &Value<'_>, escape: Escape, out: &mut String) {
    append(value, escape, true, out);
}

/// Appends the text of `value` as [`write()`] does, but keeps the order of members.
pub fn write_in_order(value: &Value<'_>, escape: Escape, out: &mut String) {
    append(value, escape, false, out);
}

/// At least the bytes of a word or number, and a mark.
const SHORT: usize = 32;

/// Uses an explicit stack, because the type [`Value`] does not bound the depth.
fn append(mut value: &Value<'_>, escape: Escape, sort: bool, out: &mut String) {
    let mut open = Vec::new();
    let mut steps = Steps::default();
    loop {
        steps.step();
        let mut first = false;
        memory::require(out.try_reserve(SHORT));
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Int(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Value::BigInt(digits) => {
                memory::require(out.try_reserve(digits.len()));
                out.push_str(digits);
            }
            Value::Float(value) => write_float(*value, out),
            Value::String(text) => quoted::write(text, escape, out),
            Value::Array(elements) => {
                out.push('[');
                memory::push(&mut open, Entries::Elements(elements.iter()));
                first = true;
            }
            Value::Object(members) => {
                out.push('{');
                memory::push(&mut open, Entries::of_members(members, sort));
                first = true;
            }
        }
        let next = loop {
            let Some(rest) = open.last_mut() else { return };
            if let Some(next) = rest.next() {
                break next;
            }
            push(if matches!(rest, Entries::Elements(_)) { ']' } else { '}' }, out);
            open.pop();
            first = false;
        };
        if !first {
            push(',', out);
        }
        if let Some(name) = next.0 {
            quoted::write(name, escape, out);
            push(':', out);
        }
        value = next.1;
    }
}

fn push(mark: char, out: &mut String) {
    memory::require(out.try_reserve(1));
    out.push(mark);
}

/// The magnitudes of doubles that are written without an exponent, except for zero.
const PLAIN: Range<f64> = 1e-4..1e16;

/// Appends a finite double as Python's `repr` does: the shortest digits that read back as the same
/// double, with an exponent below 10^-4 and from 10^16 on.
pub fn write_float(value: f64, out: &mut String) {
    let mut buffer = zmij::Buffer::new();
    if PLAIN.contains(&value.abs())
        && let Some(shortest) = decimal::positional(value, &mut buffer)
    {
        return out.push_str(shortest);
    }
    let decimal = Decimal::of(value);
    if !(-3..=16).contains(&decimal.point()) {
        return decimal.write_scientific(Exponent::TwoDigits, out);
    }
    decimal.write_positional(out);
    if decimal.is_integer() {
        out.push_str(".0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::decimal::layouts::{self, Layout, written};
    use crate::value::drop_iteratively;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_writes_the_digits_of_the_decimal(value in any::<f64>(), point in -8..20_i32) {
            let near = value.abs().log10().floor();
            let scaled = value * 10_f64.powf(f64::from(point) - near);
            for value in [value, scaled, scaled.trunc()].into_iter().filter(|value| value.is_finite()) {
                let text = written(write_float, value);
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
                let decimal = Decimal::of(value);
                prop_assert_eq!(!text.contains('e'), (-3..=16).contains(&decimal.point()), "{}", text);
                let mantissa = text.split('e').next().unwrap_or_default();
                let digits = mantissa.replace(['-', '.'], "");
                prop_assert_eq!(digits.trim_matches('0'), decimal.digits(), "{}", text);
            }
        }
    }

    #[test]
    fn numbers_are_written_as_by_python() {
        layouts::check(Layout::Python, write_float);
        // Halfway between two shortest candidates: the even digit.
        let halfway = "1801514316094494.25".parse().unwrap();
        assert_eq!(written(write_float, halfway), "1801514316094494.2");
    }

    #[test]
    fn members_are_sorted_and_strings_are_escaped() {
        let value = Value::Object(vec![
            ("\u{10000}".into(), Value::Int(1)),
            ("\u{ff5e}".into(), Value::Array(vec![Value::Null, Value::Bool(true)])),
            ("a".into(), Value::String("\"\\\u{0}\u{8}\t\n\u{c}\r\u{7f}/é😀".into())),
        ]);
        let mut out = String::new();
        write(&value, Escape::Needed, &mut out);
        let text = "\"\\\"\\\\\\u0000\\b\\t\\n\\f\\r\u{7f}/é😀\"";
        assert_eq!(out, format!("{{\"a\":{text},\"\u{ff5e}\":[null,true],\"\u{10000}\":1}}"));
        out.clear();
        write(&value, Escape::NonAscii, &mut out);
        let text = r#""\"\\\u0000\b\t\n\f\r\u007f/\u00e9\ud83d\ude00""#;
        assert_eq!(out, format!(r#"{{"a":{text},"\uff5e":[null,true],"\ud800\udc00":1}}"#));
    }

    #[test]
    fn deep_value_is_written_without_recursion() {
        let deep = (0..1_000_000).fold(Value::Int(0), |value, level| match level % 2 {
            0 => Value::Array(vec![value]),
            _ => Value::Object(vec![("a".into(), value)]),
        });
        let mut out = String::new();
        write(&deep, Escape::NonAscii, &mut out);
        assert_eq!(out.len(), 1 + 500_000 * (2 + 6));
        drop_iteratively(deep);
    }

    proptest! {
        #[test]
        fn written_number_is_read_back(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let text = written(write_float, value);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
