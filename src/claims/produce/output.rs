//! Writing files atomically and without following links.
//!
//! Invariant: a path holds the complete new file or its previous content, because files are written
//! under a new temporary name and then renamed. In a folder, the file that identifies it is written
//! last. One writer at a time works in a folder.

use super::Result;
use crate::claims::error::ProduceError;
use crate::interrupt::poll;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How the names of temporary files and folders begin.
const TEMPORARY: &str = ".compactwire-";

/// Writes a file. Replaces a regular file if there is one.
pub(super) fn replace(path: &Path, text: &str) -> Result<()> {
    let failed = |error| ProduceError::io(path, error);
    let before = match path.symlink_metadata() {
        Ok(found) if found.is_file() => Some(found.permissions()),
        Ok(found) => {
            let found = if found.is_symlink() { "a link" } else { "not a regular file" };
            let message = format!("this is {found}; remove it, or name another file");
            return Err(ProduceError::occupied(path, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if before.as_ref().is_some_and(fs::Permissions::readonly) {
        let message = "this file is read-only; remove it, or name another file";
        return Err(ProduceError::occupied(path, message));
    }
    let beside = path.parent().unwrap_or(Path::new("")).join(fresh_name()?);
    let written = write_new(&beside, text, before.as_ref())
        // The system may have left out some of them.
        .and_then(|()| before.map_or(Ok(()), |before| fs::set_permissions(&beside, before)))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _gone = fs::remove_file(&beside);
        failed(error)
    })
}

/// Writes a file that only its owner can access and that does not exist yet.
pub(in crate::claims) fn create_private(path: &Path, text: &str) -> Result<()> {
    let failed = |error| ProduceError::io(path, error);
    let beside = path.parent().unwrap_or(Path::new("")).join(fresh_name()?);
    let _removed = TemporaryFile(&beside);
    write_private(&beside, text).map_err(failed)?;
    match fs::hard_link(&beside, path) {
        // Some file systems have no second names for a file.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            write_private(path, text).map_err(failed)
        }
        linked => linked.map_err(failed),
    }
}

/// Writes a new file that only its owner can access, where the system has such permissions.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes()).inspect_err(|_| {
        // A part of it would block the next attempt.
        let _gone = fs::remove_file(path);
    })
}

/// Removes a file when dropped.
struct TemporaryFile<'p>(&'p Path);

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        let _gone = fs::remove_file(self.0);
    }
}

/// Fills a folder, which must be empty or missing: first with the folder `inner` and its `files`, then
/// with the file `last`. Files are pairs of a path and a text; those of `files` begin with `inner`.
pub(super) fn fill(
    folder: &Path,
    inner: &str,
    files: &[(String, String)],
    last: (&str, &str),
) -> Result<()> {
    within(folder, || fill_existing(folder, inner, files, last))
}

fn fill_existing(
    folder: &Path,
    inner: &str,
    files: &[(String, String)],
    last: (&str, &str),
) -> Result<()> {
    let failed = |name: &str, error| ProduceError::io(&folder.join(name), error);
    let unusable = |error| ProduceError::io(folder, error);
    if let Some(message) = not_empty(folder).map_err(unusable)? {
        return Err(ProduceError::occupied(folder, message));
    }
    let temporary = folder.join(fresh_name()?);
    private_folder(&temporary).map_err(unusable)?;
    let _removed = TemporaryFolder(&temporary);
    let build = || {
        fs::create_dir(temporary.join(inner)).map_err(|error| failed(inner, error))?;
        for (path, text) in files {
            // Each file takes far longer than a poll.
            poll();
            write_new(&temporary.join(path), text, None).map_err(|error| failed(path, error))?;
        }
        let (name, text) = last;
        write_new(&temporary.join(name), text, None).map_err(|error| failed(name, error))?;
        let place = |name| fs::rename(temporary.join(name), folder.join(name));
        place(inner).map_err(|error| failed(inner, error))?;
        place(name).map_err(|error| {
            let _gone = fs::remove_dir_all(folder.join(inner));
            failed(name, error)
        })
    };
    build()
}

/// Removes a folder with its content when dropped, also if the call is interrupted.
struct TemporaryFolder<'p>(&'p Path);

impl Drop for TemporaryFolder<'_> {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(self.0);
    }
}

/// Creates a folder with its missing parents, locks it, and calls `work`. If that fails, removes the folders
/// that were created.
pub(super) fn within<T>(folder: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let mut made = Created(folder.ancestors().take_while(missing).collect());
    fs::create_dir_all(folder).map_err(|error| ProduceError::io(folder, error))?;
    let _lock = Lock::new(folder);
    let result = work()?;
    made.0.clear();
    Ok(result)
}

/// A folder that is locked, so that what was found out about its files stays true while one is written. Other
/// writers of this module, and the command `claim sign`, wait.
struct Lock(File);

impl Lock {
    /// Waits until the folder can be locked; `None` where a system or file system has no such locks.
    fn new(folder: &Path) -> Option<Self> {
        const INTERVAL: Duration = Duration::from_millis(1);
        let file = File::open(folder).ok()?;
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Self(file)),
                Err(TryLockError::WouldBlock) => {
                    poll();
                    thread::sleep(INTERVAL);
                }
                Err(TryLockError::Error(_)) => return None,
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // To close the file is not enough if a process was forked meanwhile.
        let _unlocked = self.0.unlock();
    }
}

/// Removes folders when dropped, also if the call is interrupted.
struct Created<'p>(Vec<&'p Path>);

impl Drop for Created<'_> {
    fn drop(&mut self) {
        for folder in &self.0 {
            // A folder to which another process has added files in the meantime is kept.
            let _gone = fs::remove_dir(folder);
        }
    }
}

/// Writes a new file. It has at most these permissions before its content is there: others may not be allowed
/// to read it.
fn write_new(path: &Path, text: &str, permissions: Option<&fs::Permissions>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(permissions) = permissions {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(permissions.mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _unused = permissions;
    options.open(path)?.write_all(text.as_bytes())
}

/// Why a folder cannot be filled: it is not empty. A run that is killed cannot remove its work.
fn not_empty(folder: &Path) -> io::Result<Option<String>> {
    let mut found = None;
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TEMPORARY) {
            return Ok(Some(format!(
                "the folder is not empty: {name} is the unfinished work of another run, and holds nothing but \
                 copies; if that run has ended, remove it, or name a new folder"
            )));
        }
        found = Some("the folder is not empty; name a new folder, or empty this one".to_owned());
    }
    Ok(found)
}

/// Creates a folder that only its owner can access, where the system has such permissions.
fn private_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        DirBuilder::new().mode(0o700).create(path)
    }
    #[cfg(not(unix))]
    DirBuilder::new().create(path)
}

/// A new random name that cannot be the name of a receipt.
fn fresh_name() -> Result<String> {
    let number = getrandom::u64().map_err(|_| ProduceError::Randomness)?;
    Ok(format!("{TEMPORARY}{number:016x}.tmp"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::scratch::Scratch;

    #[test]
    fn file_is_replaced_atomically_without_leftovers() {
        let scratch = Scratch::new("output-replace");
        let path = scratch.0.join("file");
        for text in ["first", "second"] {
            replace(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(scratch.names(), ["file"]);
    }

    #[test]
    fn a_private_file_is_created_whole_and_never_replaced() {
        let scratch = Scratch::new("output-create");
        let path = scratch.0.join("file");
        create_private(&path, "first").unwrap();
        assert!(create_private(&path, "second").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(scratch.names(), ["file"]);
        assert!(create_private(&scratch.0.join("no/folder"), "text").is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            let found = fs::metadata(&path).unwrap();
            assert_eq!((found.permissions().mode() & 0o777, found.nlink()), (0o600, 1));
            std::os::unix::fs::symlink("elsewhere", scratch.0.join("link")).unwrap();
            assert!(create_private(&scratch.0.join("link"), "text").is_err());
            assert_eq!(scratch.names(), ["file", "link"]);
        }
    }

    #[test]
    #[cfg(unix)]
    fn one_writer_at_a_time_works_in_a_folder() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        let scratch = Scratch::new("output-lock");
        let (folder, inside) = (&scratch.0, &AtomicUsize::new(0));
        let work = || {
            let others = inside.fetch_add(1, SeqCst);
            thread::sleep(Duration::from_millis(5));
            inside.fetch_sub(1, SeqCst);
            Ok(others)
        };
        let found: Vec<_> = thread::scope(|scope| {
            let writers: Vec<_> = (0..4).map(|_| scope.spawn(|| within(folder, work))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap().unwrap()).collect()
        });
        assert_eq!(found, [0; 4]);
    }

    #[test]
    fn only_regular_files_are_replaced() {
        let scratch = Scratch::new("output-occupied");
        fs::create_dir(scratch.0.join("folder")).unwrap();
        let refused = |name: &str| {
            matches!(replace(&scratch.0.join(name), "text"), Err(ProduceError::Occupied { .. }))
        };
        assert!(refused("folder"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("elsewhere", scratch.0.join("link")).unwrap();
            assert!(refused("link"));
            assert_eq!(scratch.names(), ["folder", "link"]);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_private_file_is_private_while_it_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("output-private");
        let path = scratch.0.join("file");
        fs::write(&path, "first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let text = "second ".repeat(1 << 20);
        let (folder, written) = (&scratch.0, &std::sync::atomic::AtomicBool::new(false));
        let ordering = std::sync::atomic::Ordering::SeqCst;
        let modes = std::thread::scope(|scope| {
            let watcher = scope.spawn(move || {
                let mut modes = Vec::new();
                while !written.load(ordering) {
                    let beside = folder.read_dir().unwrap().flatten();
                    let beside = beside.filter(|entry| entry.file_name() != "file");
                    let found = beside.filter_map(|entry| entry.metadata().ok());
                    modes.extend(found.map(|found| found.permissions().mode() & 0o777));
                    written.store(!modes.is_empty(), ordering);
                }
                modes
            });
            // Until the watcher has seen a temporary file.
            while !written.load(ordering) {
                replace(&path, &text).unwrap();
            }
            watcher.join().unwrap()
        });
        assert!(modes.iter().all(|mode| mode & 0o777 == 0o600), "{modes:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn folder_is_filled_completely_or_not_at_all() {
        let scratch = Scratch::new("output-fill");
        let good = [("inner/a".to_owned(), "a".to_owned())];
        fill(&scratch.0.join("new/deep"), "inner", &good, ("last", "z")).unwrap();
        assert!(scratch.0.join("new/deep/inner/a").is_file());
        assert!(scratch.0.join("new/deep/last").is_file());
        let again = fill(&scratch.0.join("new/deep"), "inner", &good, ("last", "z"));
        assert!(matches!(again, Err(ProduceError::Occupied { .. })));
        let bad = [("inner/no/folder".to_owned(), "a".to_owned())];
        assert!(fill(&scratch.0.join("other/deep"), "inner", &bad, ("last", "z")).is_err());
        fs::create_dir(scratch.0.join("empty")).unwrap();
        assert!(fill(&scratch.0.join("empty"), "inner", &bad, ("last", "z")).is_err());
        let left = fresh_name().unwrap();
        fs::create_dir_all(scratch.0.join("killed").join(&left)).unwrap();
        let killed = fill(&scratch.0.join("killed"), "inner", &good, ("last", "z")).unwrap_err();
        assert!(killed.to_string().contains(&left), "{killed}");
        assert!(scratch.0.join("killed").join(&left).is_dir());
        assert_eq!(scratch.names(), ["empty", "killed", "new"]);
        assert!(scratch.0.join("empty").read_dir().unwrap().next().is_none());
    }
}
