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

pub(super) use system::{Folder, Listed};

use crate::interrupt::{self, Stopped};
use crate::memory;
use std::fs::File;
use std::io::{self, Read};
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
    match path.metadata().map_err(about_the_file) {
        Ok(found) if found.is_file() => system::open(path),
        _ => Err(Refusal::Missing),
    }
}

/// Passes on an error that says something about the file. Ends the call for any other: no verdict may depend
/// on how much memory, or how many open files, the machine has left.
#[cold]
fn about_the_file(error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    if error.kind() == io::ErrorKind::OutOfMemory {
        interrupt::out_of_memory();
    }
    if let Some(code) = system::too_many_files(&error) {
        interrupt::end(Stopped::NoFiles(code));
    }
    error
}

/// The most memory that a parsed and checked file takes, in bytes for each byte of the file.
const FACTOR: usize = 30;

impl Content {
    /// Takes an open file, and checks its type again now that it cannot be replaced any more.
    fn new(file: File) -> Result<Self, Refusal> {
        let found = file.metadata().map_err(about_the_file).or(Err(Refusal::Unreadable))?;
        if !found.is_file() {
            return Err(Refusal::Missing);
        }
        Ok(Self { file, size: found.len() })
    }

    /// The whole content, if it has at most `limit` bytes. [`memory::require`]s memory for it and for what
    /// is made from it.
    pub(super) fn read(mut self, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        if self.size > limit {
            return Err(ReadProblem::TooLarge);
        }
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let (mut bytes, capacity) = (Vec::new(), size.saturating_add(1));
        memory::require(bytes.try_reserve_exact(capacity));
        memory::require(memory::ensure(size.saturating_mul(FACTOR)));
        bytes.resize(capacity, 0);
        let read = self.read_into(&mut bytes)?;
        bytes.truncate(read);
        if read != size {
            let mut rest = self.file.take(limit.saturating_add(1).saturating_sub(read as u64));
            let read = rest.read_to_end(&mut bytes).map_err(about_the_file);
            read.or(Err(ReadProblem::Unreadable))?;
        }
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
            let read = self.read_into(&mut buffer)?;
            if read == 0 {
                return if left == 0 { Ok(()) } else { Err(ReadProblem::Unreadable) };
            }
            left = left.checked_sub(read as u64).ok_or(ReadProblem::TooLarge)?;
            take(&buffer[..read]);
            if left == 0 && read < buffer.len() {
                return Ok(());
            }
        }
    }

    /// Reads once. A read that ends at the size of the file although there was room for more has met the
    /// end; other reads can be short for other reasons.
    fn read_into(&mut self, buffer: &mut [u8]) -> Result<usize, ReadProblem> {
        loop {
            match self.file.read(buffer) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    about_the_file(error);
                    return Err(ReadProblem::Unreadable);
                }
            }
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

    fn sorted(folder: &Folder) -> Vec<Listed> {
        let mut listed = folder.list(|_| true).unwrap();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed
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
    fn files_around_the_size_of_a_piece_are_read_to_the_end() {
        let scratch = with_a_file("pieces");
        let folder = Folder::open(&scratch.0).unwrap();
        for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK] {
            let content: Vec<u8> = (0..=u8::MAX).cycle().take(size).collect();
            fs::write(scratch.0.join("file"), &content).unwrap();
            let open = || folder.open_file(&["file"]).unwrap();
            assert_eq!(open().read(size as u64).unwrap(), content);
            let mut seen = Vec::new();
            assert_eq!(open().pieces(size as u64, |piece| seen.extend_from_slice(piece)), Ok(()));
            assert_eq!(seen, content);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn file_whose_size_the_system_does_not_know_is_read_to_the_end() {
        let text = open(Path::new("/proc/version")).unwrap().read(1 << 20).unwrap();
        assert_eq!(text, fs::read("/proc/version").unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn folder_that_is_replaced_while_files_are_read_stays_the_same() {
        let scratch = with_a_file("replaced");
        let folder = Folder::open(&scratch.0).unwrap();
        let read = |segments: &[&str]| folder.open_file(segments).unwrap().read(7).unwrap();
        let (inner, other) = (["inside", "deeper", "file"], ["other", "file"]);
        assert_eq!(read(&inner), b"content");
        fs::rename(scratch.0.join("inside"), scratch.0.join("other")).unwrap();
        fs::write(scratch.0.join("other/deeper/file"), "same").unwrap();
        fs::write(scratch.0.join("other/file"), "another").unwrap();
        assert_eq!(read(&inner), b"same");
        assert_eq!(read(&other), b"another");
        assert_eq!(folder.open_file(&inner).err(), Some(Refusal::Missing));
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
        let names: Vec<_> = sorted(&folder).into_iter().map(|listed| listed.name).collect();
        assert_eq!(names, ["inside"]);
    }

    #[test]
    fn listed_files_are_opened_and_others_are_refused() {
        let scratch = with_a_file("listed");
        fs::write(scratch.0.join("file"), "content").unwrap();
        fs::write(scratch.0.join("gone"), "content").unwrap();
        let folder = Folder::open(&scratch.0).unwrap();
        let listed = sorted(&folder);
        fs::remove_file(scratch.0.join("gone")).unwrap();
        let opened = listed.iter().map(|one| folder.open_listed(one).map(|file| file.size));
        let expected = [Ok(7), Err(Refusal::Missing), Err(Refusal::Missing)];
        assert_eq!(opened.collect::<Vec<_>>(), expected);
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
