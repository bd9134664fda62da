//! The vectors of `tests/vectors` for Rust tests; Python reads the same files.

#![allow(dead_code, reason = "each test crate uses a part of this module")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed helper fails its test")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The path of a vector file or folder.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The value of a JSON file.
pub fn load(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The cases of a file that is an array.
pub fn cases(name: &str) -> Vec<Value> {
    match load(&path(name)) {
        Value::Array(cases) if !cases.is_empty() => cases,
        other => panic!("{name} is not an array with cases: {other}"),
    }
}

/// The values of all JSON files of a folder, in the order of their names.
pub fn files(folder: &str) -> Vec<Value> {
    let entries = fs::read_dir(path(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no files");
    paths.iter().map(|path| load(path)).collect()
}

/// The string of a member.
pub fn string<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap_or_else(|| panic!("no string {name} in {case}"))
}

/// The bytes of a member in hexadecimal digits.
pub fn bytes(case: &Value, name: &str) -> Vec<u8> {
    let digits = string(case, name);
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}
