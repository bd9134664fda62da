"""Files at a path: the new content is complete, or the old one is kept; errors name the file."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ._texts import check_path

# How many links in a row are followed, as Linux does.
_MAX_LINKS = 40

# Folders of open files.
_DESCRIPTORS = ("/proc/", "/dev/fd/")


@contextlib.contextmanager
def naming_file(name: str) -> Iterator[None]:
    """Name the file in the error of a read, which does not."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = name
        raise


def write_file(data: bytes, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
    """Write a file. An existing one is replaced once its new content is complete."""
    check_path(path)
    name = os.fsdecode(path)
    try:
        if not _replace(data, Path(name)):
            _write_into(data, name)
    except OSError as error:
        # The error of a write names no file; other errors name the temporary file, which the user
        # does not know. With None for the second name, the message would end in "-> None".
        error.filename = name
        del error.filename2
        raise


def check_target(path: str) -> None:
    """Raise what `write_file` would raise because of a folder, before the content is made."""
    check_path(path)
    target = _behind_links(Path(path))
    if target is None:
        return
    folder, code = target.parent, 0
    if target.is_dir():
        code = errno.EISDIR
    elif not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
    if code:
        raise OSError(code, os.strerror(code), path)


def _replace(data: bytes, path: Path) -> bool:
    """Write a temporary file beside `path` and rename it; False if that is not possible."""
    target = _behind_links(path)
    if target is None:
        return False
    try:
        found = target.stat()
    except FileNotFoundError:
        found = None
    # A FIFO must not even be opened here, which would wake its reader. Other names of a file would
    # keep the old content.
    if found is not None and not (stat.S_ISREG(found.st_mode) and found.st_nlink == 1):
        return False
    try:
        if found is not None:
            # A user who may not write the file must not replace it either.
            target.open("r+b").close()
        return _write_beside(data, target, found)
    except PermissionError:
        # Perhaps the file can be written, but no new file can be created in its folder.
        return False


def _write_beside(data: bytes, target: Path, found: os.stat_result | None) -> bool:
    temporary = target.with_name(f".compactwire-{os.urandom(8).hex()}")
    renamed = False
    try:
        with temporary.open("xb") as file:
            made = os.fstat(file.fileno())
            if found and (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid):
                return False
            if found:
                # Before the content is there: others may not be allowed to read it.
                temporary.chmod(stat.S_IMODE(found.st_mode))
            file.write(data)
        temporary.replace(target)
        renamed = True
    finally:
        if not renamed:
            with contextlib.suppress(OSError):
                temporary.unlink()
    return True


def _write_into(data: bytes, name: str) -> None:
    """Write into a file that must not be replaced; if the disk is full, its old content is kept."""
    # An open file is written from its beginning, as it always was.
    truncate = os.O_TRUNC if _behind_links(Path(name)) is None else 0
    flags = os.O_WRONLY | os.O_CREAT | truncate | getattr(os, "O_BINARY", 0)
    descriptor = os.open(name, flags, 0o666)
    try:
        found = os.fstat(descriptor)
        if truncate or not stat.S_ISREG(found.st_mode):
            _write_all(descriptor, data)
            return
        try:
            # What is longer than the old content comes first, because only this needs more space.
            os.lseek(descriptor, found.st_size, os.SEEK_SET)
            _write_all(descriptor, data[found.st_size :])
        except BaseException:
            os.ftruncate(descriptor, found.st_size)
            raise
        os.lseek(descriptor, 0, os.SEEK_SET)
        _write_all(descriptor, data[: found.st_size])
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _behind_links(path: Path) -> Path | None:
    """Follow links to the file that they name; None for an open file of a process."""
    for _ in range(_MAX_LINKS):
        # `/dev/stdout` links to such a path. It may be a regular file, which the shell goes on
        # writing. `Path.resolve` would follow the links, and `Path.absolute` keeps "..".
        if os.path.abspath(path).startswith(_DESCRIPTORS):  # noqa: PTH100
            return None
        if not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    return None
