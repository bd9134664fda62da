//! The memory that GCF requests grows in proportion to its input, counted by a global allocator.
//!
//! Each case has one generator. Its parameter is doubled three times; the bytes that the last doubling
//! adds, for each byte of input, must be about as many as the first adds. To add a case, add it to
//! `CASES`.

#![cfg(feature = "gcf")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

use compactwire::gcf::{EncodeOptions, Limits, decode, from_json, to_json};
use compactwire::json::Escape;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;

thread_local! {
    /// The bytes requested by this thread, so that tests do not count each other.
    static REQUESTED: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: all calls are passed on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = REQUESTED.try_with(|bytes| bytes.set(bytes.get() + layout.size() as u64));
        // SAFETY: the caller fulfils the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the contract.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = REQUESTED.try_with(|bytes| bytes.set(bytes.get() + size as u64));
        // SAFETY: the caller fulfils the contract.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Linear requests have 1, quadratic ones 4; buffers that double in size make some difference.
const STEEPEST: f64 = 2.5;

/// A name, the input for a value of the parameter, and the call.
type Case = (&'static str, fn(usize) -> String, fn(&str));

const CASES: &[Case] = &[
    ("decode, rows", rows, read),
    ("to_json, rows", rows, convert),
    ("to_json, columns", columns, convert),
    ("to_json, path columns", path_columns, convert),
    ("to_json, constants refused", constants, convert_without_expansion),
    ("to_json, deep path refused", deep_path, convert_without_expansion),
    ("from_json, rows", json_rows, write),
    ("from_json, unlike rows", unlike_rows, write),
    ("from_json, unlike members", unlike_members, write),
    ("from_json, one wide row", one_wide_row, write),
];

fn read(text: &str) {
    let _ = decode(text, Limits::default());
}

fn convert(text: &str) {
    let _ = to_json(text, Limits::default(), Escape::Needed);
}

fn convert_without_expansion(text: &str) {
    let limits = Limits { max_expansion: 0, ..Limits::default() };
    assert!(to_json(text, limits, Escape::Needed).is_err());
}

fn write(json: &str) {
    let _ = from_json(json, &EncodeOptions::default());
}

/// A text with one table: the columns, and a row that is repeated.
fn table(columns: &str, row: &str, count: usize) -> String {
    format!("GCF profile=generic\n## [{count}]{{{columns}}}\n{}", format!("{row}\n").repeat(count))
}

/// `count` pieces with commas between them.
fn list(count: usize, mut piece: impl FnMut(usize, &mut String)) -> String {
    let mut out = String::new();
    for index in 0..count {
        out.push_str(if index == 0 { "" } else { "," });
        piece(index, &mut out);
    }
    out
}

fn rows(count: usize) -> String {
    table("a,b,c", "1|two|true", count)
}

fn columns(count: usize) -> String {
    let names = list(count, |index, out| write!(out, "c{index}").unwrap());
    table(&names, &vec!["1"; count].join("|"), 1)
}

fn path_columns(count: usize) -> String {
    let names = list(count, |index, out| write!(out, "\"a>c{index}\"").unwrap());
    table(&names, &vec!["1"; count].join("|"), 1)
}

fn constants(count: usize) -> String {
    table(
        &format!("a,{}", list(count, |index, out| write!(out, "c{index}=1").unwrap())),
        "1",
        count,
    )
}

fn deep_path(count: usize) -> String {
    table(&format!("\"{}\"", ["a"; 100].join(">")), "1", count)
}

fn json_rows(count: usize) -> String {
    format!("[{}]", list(count, |index, out| write!(out, r#"{{"a":{index},"b":"x"}}"#).unwrap()))
}

fn unlike_rows(count: usize) -> String {
    format!("[{}]", list(count, |index, out| write!(out, r#"{{"c{index}":1}}"#).unwrap()))
}

fn unlike_members(count: usize) -> String {
    let members = list(count, |index, out| write!(out, r#""k{index}":{{"c{index}":1}}"#).unwrap());
    format!("{{{members}}}")
}

fn one_wide_row(count: usize) -> String {
    let wide = list(count, |index, out| write!(out, r#""c{index}":1"#).unwrap());
    format!("[{{{wide}}}{}]", r#",{"a":1}"#.repeat(count))
}

/// The length of the input and the bytes that the call requests.
fn cost(make: fn(usize) -> String, call: fn(&str), count: usize) -> (f64, f64) {
    let input = make(count);
    let before = REQUESTED.get();
    call(&input);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let pair = (input.len() as f64, (REQUESTED.get() - before) as f64);
    pair
}

/// The bytes that the last doubling requests for each added byte of input, divided by those of the first.
fn steepness(make: fn(usize) -> String, call: fn(&str)) -> f64 {
    let added = |count| {
        let ((small, few), (large, many)) = (cost(make, call, count), cost(make, call, 2 * count));
        (many - few) / (large - small)
    };
    // A text that is refused at once requests nothing.
    added(4000) / added(1000).max(0.001)
}

#[test]
fn requested_memory_grows_like_the_input() {
    for &(name, make, call) in CASES {
        let found = steepness(make, call);
        assert!(found < STEEPEST, "{name}: {found:.1}");
    }
}

#[test]
fn quadratic_requests_would_be_noticed() {
    fn quadratic(input: &str) {
        (0..input.len() / 100).for_each(|_| drop(input.to_owned()));
    }
    assert!(steepness(rows, quadratic) > STEEPEST);
}
