//! Opening and reading files that are not trusted: once, without links, up to a limit.
//!
//! Invariant: below a [`Folder`], no link is followed, only regular files are opened, and the file
//! that was inspected is the one that is read. On Unix, each path segment is opened relative to its
//! open parent, so that no part of the path can be replaced in between. On other systems paths are
//! inspected segment by segment, which leaves a race for an attacker who changes folders meanwhile;
//! the hashes still cover the bytes that were read.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

pub(super) use system::Folder;

use crate::memory;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The size of the read buffer for artifacts, in bytes.
const CHUNK: usize = 64 << 10;

/// The kind of a folder's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Why an entry is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The entry or a parent folder is a link.
    Link,
    /// The entry or a parent folder is missing, or of another kind.
    Missing,
    /// The entry is a regular file that cannot be opened.
    Unreadable,
}

/// An open regular file.
#[derive(Debug)]
pub(super) struct Content {
    file: File,
    /// Its size in bytes when it was opened.
    pub(super) size: u64,
}

/// Why the content of a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadProblem {
    Unreadable,
    TooLarge,
}

/// Opens a file that the caller named. Links are followed, because the caller chose the path.
pub(super) fn open(path: &Path) -> Result<Content, Refusal> {
    match path.metadata() {
        Ok(found) if found.is_file() => system::open(path),
        _ => Err(Refusal::Missing),
    }
}

/// The most memory that a parsed and checked file takes, in bytes for each byte of the file.
const FACTOR: usize = 30;

impl Content {
    /// Takes an open file, and checks its type again now that it cannot be replaced any more.
    fn new(file: File) -> Result<Self, Refusal> {
        let found = file.metadata().map_err(|_| Refusal::Unreadable)?;
        if !found.is_file() {
            return Err(Refusal::Missing);
        }
        Ok(Self { file, size: found.len() })
    }

    /// The whole content, if it has at most `limit` bytes. [`memory::require`]s memory for it and for what
    /// is made from it.
    pub(super) fn read(self, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        if self.size > limit {
            return Err(ReadProblem::TooLarge);
        }
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        memory::require(bytes.try_reserve_exact(size.saturating_add(1)));
        memory::require(memory::ensure(size.saturating_mul(FACTOR)));
        let mut bounded = self.file.take(limit.saturating_add(1));
        bounded.read_to_end(&mut bytes).map_err(|_| ReadProblem::Unreadable)?;
        if bytes.len() as u64 > limit {
            return Err(ReadProblem::TooLarge);
        }
        Ok(bytes)
    }

    /// Passes exactly `size` bytes to the callback, piece by piece.
    pub(super) fn pieces(
        mut self,
        size: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), ReadProblem> {
        if self.size != size {
            return Err(ReadProblem::TooLarge);
        }
        let capacity = usize::try_from(size).unwrap_or(CHUNK).saturating_add(1).min(CHUNK);
        let mut buffer = vec![0; capacity];
        let mut left = size;
        loop {
            let read = match self.file.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return Err(ReadProblem::Unreadable),
            };
            if read == 0 {
                return if left == 0 { Ok(()) } else { Err(ReadProblem::Unreadable) };
            }
            left = left.checked_sub(read as u64).ok_or(ReadProblem::TooLarge)?;
            take(&buffer[..read]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::scratch::Scratch;
    use std::fs;

    fn with_a_file(name: &str) -> Scratch {
        let scratch = Scratch::new(name);
        fs::create_dir_all(scratch.0.join("inside/deeper")).unwrap();
        fs::write(scratch.0.join("inside/deeper/file"), "content").unwrap();
        scratch
    }

    #[test]
    fn file_is_read_up_to_its_limit() {
        let scratch = with_a_file("bound");
        let folder = Folder::open(&scratch.0).unwrap();
        let open = || folder.open_file(&["inside", "deeper", "file"]).unwrap();
        assert_eq!(open().read(7).unwrap(), b"content");
        assert_eq!(open().read(6), Err(ReadProblem::TooLarge));
        let mut seen = Vec::new();
        assert_eq!(open().pieces(7, |piece| seen.extend_from_slice(piece)), Ok(()));
        assert_eq!(seen, b"content");
        for size in [0, 6, 8] {
            assert!(open().pieces(size, |_| ()).is_err(), "{size}");
        }
    }

    #[test]
    fn file_that_grew_after_opening_is_refused() {
        let scratch = with_a_file("grew");
        let folder = Folder::open(&scratch.0).unwrap();
        let open = || folder.open_file(&["inside", "deeper", "file"]).unwrap();
        let (whole, pieces) = (open(), open());
        fs::write(scratch.0.join("inside/deeper/file"), "content and more").unwrap();
        assert_eq!(whole.read(7), Err(ReadProblem::TooLarge));
        assert_eq!(pieces.pieces(7, |_| ()), Err(ReadProblem::TooLarge));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let scratch = with_a_file("kinds");
        let folder = Folder::open(&scratch.0).unwrap();
        for missing in
            [&["nothing"][..], &["inside"], &["inside", "no"], &["inside", "deeper", "file", "x"]]
        {
            let refusal = folder.open_file(missing).err();
            assert_eq!(refusal, Some(Refusal::Missing), "{missing:?}");
        }
        assert!(Folder::open(&scratch.0.join("inside/deeper/file")).is_none());
        assert!(Folder::open(&scratch.0.join("nothing")).is_none());
        assert_eq!(folder.kind("inside"), Some(Kind::Folder));
        assert_eq!(folder.kind("nothing"), None);
        let mut names = Vec::new();
        assert!(folder.names(|name| names.push(name.to_owned())).is_some());
        assert_eq!(names, ["inside"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_refused_wherever_they_point() {
        use std::os::unix::fs::symlink;
        let scratch = with_a_file("links");
        symlink("deeper", scratch.0.join("inside/link")).unwrap();
        symlink("file", scratch.0.join("inside/deeper/link")).unwrap();
        symlink("nowhere", scratch.0.join("dangling")).unwrap();
        let folder = Folder::open(&scratch.0).unwrap();
        for link in [&["inside", "link", "file"][..], &["inside", "deeper", "link"], &["dangling"]]
        {
            assert_eq!(folder.open_file(link).err(), Some(Refusal::Link), "{link:?}");
        }
        // The caller chose this path.
        assert!(Folder::open(&scratch.0.join("inside/link")).is_some());
        assert!(open(&scratch.0.join("inside/deeper/link")).is_ok());
        assert_eq!(open(&scratch.0.join("dangling")).err(), Some(Refusal::Missing));
    }
}
