//! Any value round-trips; most are tables of similar rows.

#![no_main]

use compactwire::gcf::{self, Code, DecodeOptions, EncodeOptions, Grouping, Limits};
use compactwire::json::{self, Escape};
use compactwire::value::Value;
use libfuzzer_sys::fuzz_target;
use std::borrow::Cow;

#[path = "support/bounded.rs"]
mod bounded;
#[path = "support/same.rs"]
mod same;

const NAMES: [&str; 12] = ["a", "b", "c", "key", "_key", "id", "", "a>b", ">", "x y", "é", "\"|"];
const TEXTS: [&str; 16] = [
    "", "-", "~", "^", "true", "1", "01", "^{a}", "x[1]: y", "#x", ".a", "}", "a,b", "@0 x", " s",
    "\n",
];

/// Draws choices from bytes, and zeros after the end.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn bits(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn options(&mut self) -> EncodeOptions {
        let byte = self.byte();
        EncodeOptions {
            flatten: byte & 1 == 0,
            constant_columns: byte & 2 != 0,
            group_values: byte & 4 != 0,
            ..EncodeOptions::default()
        }
    }

    fn text(&mut self) -> Cow<'static, str> {
        match self.byte() {
            choice @ 0..64 => TEXTS[usize::from(choice) % TEXTS.len()].into(),
            length => {
                let bytes: Vec<u8> = (0..length % 8).map(|_| self.byte()).collect();
                String::from_utf8_lossy(&bytes).into_owned().into()
            }
        }
    }

    fn names(&mut self) -> Vec<Cow<'static, str>> {
        let mut names = Vec::new();
        for _ in 0..self.byte() % 5 {
            let name = match self.byte() {
                choice @ 0..200 => NAMES[usize::from(choice) % NAMES.len()].into(),
                _ => self.text(),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn value(&mut self, depth: usize) -> Value<'static> {
        let choice = self.byte() % if depth < 6 { 16 } else { 8 };
        match choice {
            0 => Value::Null,
            1 => Value::Bool(self.byte() & 1 == 1),
            2 => Value::Int(i64::from(self.byte())),
            3 => Value::Int(self.bits().cast_signed()),
            4 => {
                let float = f64::from_bits(self.bits());
                Value::Float(if float.is_finite() { float } else { -0.0 })
            }
            5..8 => Value::String(self.text()),
            8 | 9 => Value::Array((0..self.byte() % 5).map(|_| self.value(depth + 1)).collect()),
            10 | 11 => {
                let names = self.names().into_iter();
                Value::Object(names.map(|name| (name, self.value(depth + 1))).collect())
            }
            12..15 => Value::Array(self.rows(depth + 1)),
            _ => {
                let mut members: Vec<(Cow<'_, str>, Value<'_>)> = Vec::new();
                for row in self.rows(depth + 1) {
                    let name = self.text();
                    if members.iter().all(|member| member.0 != name) {
                        members.push((name, row));
                    }
                }
                Value::Object(members)
            }
        }
    }

    /// Objects similar to one, each with a few changes.
    fn rows(&mut self, depth: usize) -> Vec<Value<'static>> {
        let names = self.names();
        let row: Vec<_> = names.into_iter().map(|name| (name, self.value(depth + 1))).collect();
        let mut rows = vec![Value::Object(row.clone())];
        for _ in 0..self.byte() % 4 {
            let mut row = row.clone();
            for _ in 0..self.byte() % 3 {
                let Some(at) = usize::from(self.byte()).checked_rem(row.len()) else { break };
                match self.byte() % 4 {
                    0 => drop(row.remove(at)),
                    1 => row[at].1 = Value::Null,
                    2 => row.swap(at, 0),
                    _ => row[at].1 = self.value(depth + 1),
                }
            }
            rows.push(Value::Object(row));
        }
        rows
    }
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let mut choices = Choices(data.iter());
    // Every value with all options, and all pairs of fields, would take eight times as long.
    let (options, pair) = (choices.options(), choices.byte());
    let value = choices.value(0);
    let mut json = String::new();
    json::write_in_order(&value, Escape::Needed, &mut json);
    let plain = check(&value, &json, &options, "");
    let matrices = check(&value, &json, &EncodeOptions { matrices: true, ..options }, &plain);
    assert!(matrices.len() <= plain.len(), "{matrices}");
    let both = EncodeOptions { list_columns: true, matrices: true, ..options };
    let text = check(&value, &json, &both, &matrices);
    assert!(text.len() <= matrices.len(), "{text}");
    assert_eq!(gcf::decode(&text, Limits::default()).is_ok(), text == plain, "{text}");
    check_groups(&value, pair.into());
}));

/// Writes a value and reads it again, unless the text is `known`, which was read before; returns its text.
fn check(value: &Value<'_>, json: &str, options: &EncodeOptions, known: &str) -> String {
    let text = gcf::encode(value, options).unwrap();
    assert_eq!(gcf::from_json(json, options).unwrap(), text);
    if text != known {
        let reading = DecodeOptions { extensions: true, ..DecodeOptions::default() };
        let again = gcf::decode(&text, reading).unwrap();
        assert!(same::same(&again, value), "{text}");
    }
    text
}

/// Groups the rows of a value by two fields of its first row, which `pair` chooses.
fn check_groups(value: &Value<'_>, pair: usize) {
    let first = value.as_array().and_then(|rows| rows.first()).and_then(Value::as_object);
    let Some(fields) = first.filter(|fields| !fields.is_empty()) else { return };
    let (key, group) = (&fields[pair % fields.len()].0, &fields[pair / 16 % fields.len()].0);
    let grouping = Grouping { key, group, reorder: false };
    match gcf::encode_grouped(value, grouping, Limits::default()) {
        Ok(text) => {
            let again = gcf::decode(&text, Limits::default()).unwrap();
            assert!(same::same(&again, value), "{text}");
        }
        Err(error) => assert_eq!(error.code, Code::InvalidGrouping, "{error}"),
    }
}
