//! Temporary folders for tests.

use std::fs;
use std::path::PathBuf;

/// A temporary folder, removed at the end.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes an empty folder. `name` differs from test to test.
    pub(super) fn new(name: &str) -> Self {
        let name = format!("compactwire-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// The names in the folder, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = self.0.read_dir().unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
