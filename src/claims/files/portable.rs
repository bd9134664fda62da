//! Access by paths, for systems that cannot open a file relative to an open folder.

use super::{Content, Kind, Refusal, about_the_file};
use crate::memory;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A folder.
#[derive(Debug)]
pub(in crate::claims) struct Folder(PathBuf);

/// An entry of a folder as its list shows it. Its kind is of no use: a file is inspected as it is opened.
#[derive(Debug)]
pub(in crate::claims) struct Listed {
    pub(in crate::claims) name: OsString,
}

impl Folder {
    /// The folder at `path`, following links; `None` if there is none.
    pub(in crate::claims) fn open(path: &Path) -> Option<Self> {
        path.is_dir().then(|| Self(path.to_owned()))
    }

    /// The kind of the entry `name`; `None` if there is none.
    pub(in crate::claims) fn kind(&self, name: &str) -> Option<Kind> {
        kind(&self.0.join(name))
    }

    /// Opens the regular file at `segments`, each an entry of the one before.
    pub(in crate::claims) fn open_file<S: AsRef<OsStr>>(
        &self,
        segments: &[S],
    ) -> Result<Content, Refusal> {
        let (name, parents) = segments.split_last().ok_or(Refusal::Missing)?;
        let mut path = self.0.clone();
        for segment in parents {
            path.push(segment.as_ref());
            expect(&path, Kind::Folder)?;
        }
        path.push(name.as_ref());
        expect(&path, Kind::File)?;
        open(&path)
    }

    /// Opens a listed file.
    pub(in crate::claims) fn open_listed(&self, listed: &Listed) -> Result<Content, Refusal> {
        self.open_file(&[&listed.name])
    }

    /// The entries with the wanted names, in any order; `None` if the folder cannot be listed.
    pub(in crate::claims) fn list(
        &self,
        mut wanted: impl FnMut(&OsStr) -> bool,
    ) -> Option<Vec<Listed>> {
        let mut listed = Vec::new();
        for entry in self.0.read_dir().map_err(about_the_file).ok()? {
            let name = entry.map_err(about_the_file).ok()?.file_name();
            if wanted(&name) {
                memory::push(&mut listed, Listed { name });
            }
        }
        Some(listed)
    }
}

/// Opens the file at a path that has been inspected.
pub(super) fn open(path: &Path) -> Result<Content, Refusal> {
    Content::new(File::open(path).map_err(about_the_file).or(Err(Refusal::Unreadable))?)
}

/// There is no limit but that of the memory.
pub(super) fn too_many_files(_error: &io::Error) -> Option<i32> {
    None
}

fn expect(path: &Path, expected: Kind) -> Result<(), Refusal> {
    match kind(path) {
        Some(kind) if kind == expected => Ok(()),
        Some(Kind::Link) => Err(Refusal::Link),
        _ => Err(Refusal::Missing),
    }
}

fn kind(path: &Path) -> Option<Kind> {
    let kind = path.symlink_metadata().map_err(about_the_file).ok()?.file_type();
    Some(match () {
        () if kind.is_symlink() => Kind::Link,
        () if kind.is_dir() => Kind::Folder,
        () if kind.is_file() => Kind::File,
        () => Kind::Other,
    })
}
