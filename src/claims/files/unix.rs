//! Access relative to open folders, by file descriptors.

use super::{Content, Kind, Refusal};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
pub(in crate::claims) struct Folder(OwnedFd);

impl Folder {
    /// The folder at `path`, following links; `None` if there is none.
    pub(in crate::claims) fn open(path: &Path) -> Option<Self> {
        openat(CWD, path, THROUGH, Mode::empty()).ok().map(Self)
    }

    /// The kind of the entry `name`; `None` if there is none.
    pub(in crate::claims) fn kind(&self, name: &str) -> Option<Kind> {
        kind(self.0.as_fd(), name.as_ref())
    }

    /// Opens the regular file at `segments`, each an entry of the one before.
    pub(in crate::claims) fn open_file<S: AsRef<OsStr>>(
        &self,
        segments: &[S],
    ) -> Result<Content, Refusal> {
        let (name, parents) = segments.split_last().ok_or(Refusal::Missing)?;
        let mut folder: Option<OwnedFd> = None;
        for segment in parents {
            let from = folder.as_ref().unwrap_or(&self.0);
            let flags = THROUGH | OFlags::NOFOLLOW;
            let segment = segment.as_ref();
            let next = openat(from, segment, flags, Mode::empty()).map_err(|_| {
                let link = kind(from.as_fd(), segment) == Some(Kind::Link);
                if link { Refusal::Link } else { Refusal::Missing }
            })?;
            folder = Some(next);
        }
        let folder = folder.as_ref().unwrap_or(&self.0);
        let name = name.as_ref();
        match kind(folder.as_fd(), name) {
            Some(Kind::File) => {}
            Some(Kind::Link) => return Err(Refusal::Link),
            Some(Kind::Folder | Kind::Other) | None => return Err(Refusal::Missing),
        }
        let file = openat(folder, name, FILE | OFlags::NOFOLLOW, Mode::empty());
        Content::new(File::from(file.map_err(|_| Refusal::Unreadable)?))
    }

    /// Calls `take` with the name of each entry, in any order; `None` if the folder cannot be listed.
    pub(in crate::claims) fn names(&self, mut take: impl FnMut(&OsStr)) -> Option<()> {
        let folder = openat(&self.0, c".", LIST, Mode::empty()).ok()?;
        for entry in Dir::new(folder).ok()? {
            match entry.ok()?.file_name().to_bytes() {
                b"." | b".." => {}
                name => take(OsStr::from_bytes(name)),
            }
        }
        Some(())
    }
}

/// Opens the file at a path of the caller that has been inspected.
pub(super) fn open(path: &Path) -> Result<Content, Refusal> {
    let file = openat(CWD, path, FILE, Mode::empty()).map_err(|_| Refusal::Unreadable)?;
    Content::new(File::from(file))
}

fn kind(folder: BorrowedFd<'_>, name: &OsStr) -> Option<Kind> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    })
}
