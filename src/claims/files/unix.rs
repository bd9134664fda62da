//! Access relative to open folders, by file descriptors.

use super::{Content, Kind, Refusal, about_the_file};
use crate::memory;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Flags that avoid blocking on a FIFO and acquiring a controlling terminal.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Flags to traverse a folder, which need no permission to list it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const THROUGH: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const THROUGH: OFlags = LIST;

/// An open folder.
#[derive(Debug)]
pub(in crate::claims) struct Folder {
    opened: OwnedFd,
    /// The folder below it where the last file was opened: the next file is usually there, too.
    last: Mutex<Option<Arc<Below>>>,
}

/// An open folder below another one.
#[derive(Debug)]
struct Below {
    segments: Vec<OsString>,
    opened: OwnedFd,
}

/// An entry of a folder as its list shows it.
#[derive(Debug)]
pub(in crate::claims) struct Listed {
    pub(in crate::claims) name: OsString,
    /// Its kind, if the file system lists it.
    kind: Option<Kind>,
}

impl Folder {
    /// The folder at `path`, following links; `None` if there is none.
    pub(in crate::claims) fn open(path: &Path) -> Option<Self> {
        let opened = openat(CWD, path, THROUGH, Mode::empty()).map_err(about_the_file).ok()?;
        Some(Self { opened, last: Mutex::default() })
    }

    /// The kind of the entry `name`; `None` if there is none.
    pub(in crate::claims) fn kind(&self, name: &str) -> Option<Kind> {
        kind(self.opened.as_fd(), name.as_ref())
    }

    /// Opens the regular file at `segments`, each an entry of the one before.
    pub(in crate::claims) fn open_file<S: AsRef<OsStr>>(
        &self,
        segments: &[S],
    ) -> Result<Content, Refusal> {
        let (name, parents) = segments.split_last().ok_or(Refusal::Missing)?;
        if parents.is_empty() {
            return open_in(self.opened.as_fd(), name.as_ref());
        }
        open_in(self.below(parents)?.opened.as_fd(), name.as_ref())
    }

    /// Opens the folder at `segments`, of which there is at least one, unless it is open.
    fn below<S: AsRef<OsStr>>(&self, segments: &[S]) -> Result<Arc<Below>, Refusal> {
        // A poisoned lock is safe here: its value is replaced as a whole.
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |below: &&Arc<Below>| {
            let names = segments.iter().map(AsRef::as_ref);
            below.segments.iter().map(OsString::as_os_str).eq(names)
        };
        if let Some(below) = last().as_ref().filter(is_same) {
            return Ok(Arc::clone(below));
        }
        let (first, rest) = segments.split_first().ok_or(Refusal::Missing)?;
        let first = step(self.opened.as_fd(), first.as_ref());
        let opened =
            rest.iter().try_fold(first?, |from, name| step(from.as_fd(), name.as_ref()))?;
        let segments = segments.iter().map(|name| name.as_ref().to_owned()).collect();
        let below = Arc::new(Below { segments, opened });
        *last() = Some(Arc::clone(&below));
        Ok(below)
    }

    /// Opens a listed file.
    pub(in crate::claims) fn open_listed(&self, listed: &Listed) -> Result<Content, Refusal> {
        match listed.kind {
            Some(Kind::File) => open_inspected(self.opened.as_fd(), &listed.name),
            _ => open_in(self.opened.as_fd(), &listed.name),
        }
    }

    /// The entries with the wanted names, in any order; `None` if the folder cannot be listed.
    pub(in crate::claims) fn list(
        &self,
        mut wanted: impl FnMut(&OsStr) -> bool,
    ) -> Option<Vec<Listed>> {
        let folder =
            openat(&self.opened, c".", LIST, Mode::empty()).map_err(about_the_file).ok()?;
        let mut listed = Vec::new();
        for entry in Dir::new(folder).map_err(about_the_file).ok()? {
            let entry = entry.map_err(about_the_file).ok()?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." && wanted(name) {
                let kind = kind_of(entry.file_type());
                memory::push(&mut listed, Listed { name: name.to_owned(), kind });
            }
        }
        Some(listed)
    }
}

/// Opens the folder `name`.
fn step(folder: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Refusal> {
    let opened = openat(folder, name, THROUGH | OFlags::NOFOLLOW, Mode::empty());
    opened.map_err(about_the_file).map_err(|_| {
        let link = kind(folder, name) == Some(Kind::Link);
        if link { Refusal::Link } else { Refusal::Missing }
    })
}

/// Opens the regular file `name`. It is inspected before, because opening a device can have an effect.
fn open_in(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Content, Refusal> {
    match kind(folder, name) {
        Some(Kind::File) => open_inspected(folder, name),
        found => Err(refusal(found)),
    }
}

/// Opens the file `name`, which was a regular file.
fn open_inspected(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Content, Refusal> {
    let file = openat(folder, name, FILE | OFlags::NOFOLLOW, Mode::empty());
    // If it was replaced meanwhile, the refusal says by what.
    let file = file.map_err(about_the_file).map_err(|_| refusal(kind(folder, name)))?;
    Content::new(File::from(file))
}

/// Why an entry of this kind is not opened.
fn refusal(found: Option<Kind>) -> Refusal {
    match found {
        Some(Kind::File) => Refusal::Unreadable,
        Some(Kind::Link) => Refusal::Link,
        Some(Kind::Folder | Kind::Other) | None => Refusal::Missing,
    }
}

/// Opens the file at a path of the caller that has been inspected.
pub(super) fn open(path: &Path) -> Result<Content, Refusal> {
    let file = openat(CWD, path, FILE, Mode::empty()).map_err(about_the_file);
    Content::new(File::from(file.or(Err(Refusal::Unreadable))?))
}

/// The code of an error that says that no more files can be opened, by the process or on the whole system.
pub(super) fn too_many_files(error: &io::Error) -> Option<i32> {
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error.raw_os_error().filter(|code| codes.contains(code))
}

fn kind(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Kind> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(about_the_file).ok()?;
    kind_of(FileType::from_raw_mode(found.st_mode))
}

fn kind_of(found: FileType) -> Option<Kind> {
    Some(match found {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Unknown => return None,
        _ => Kind::Other,
    })
}
