"""Open folders, whose entries are opened without following links.

A system without `openat` (Windows) opens them by path, and compares what was opened with what the
path names afterwards.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import operator
import os
import threading
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "READ",
    "REPLACE",
    "Folder",
    "nothing_unfinished",
    "open_root",
    "path_of",
    "walk",
    "write",
]

_OPENAT = hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.unlink, os.link} <= os.supports_dir_fd


def _flags(*names: str) -> int:
    """These flags of `open`, as far as the system has them."""
    return functools.reduce(operator.or_, (getattr(os, name, 0) for name in names))


_COMMON = _flags("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
# A FIFO must not block, and a terminal must not become that of the process.
READ = os.O_RDONLY | _COMMON | _flags("O_NONBLOCK", "O_NOCTTY")
REPLACE = os.O_WRONLY | _COMMON | _flags("O_NONBLOCK", "O_NOCTTY")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
# Passing through a folder needs no permission to list it.
_THROUGH = _COMMON | _flags("O_DIRECTORY", "O_PATH" if hasattr(os, "O_PATH") else "O_RDONLY")

# The temporary files that there are. While the lock is held, none is made or removed.
_unfinished: set[tuple[Folder, str]] = set()
_making = threading.Lock()

# How file systems without hard links refuse one; EINVAL is what Python makes of it on Windows.
_NO_LINKS = {
    *(errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
}


class Folder:
    """An open folder, or its resolved path where the system cannot open entries of a folder."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor
        self._at: dict[str, Any] = {} if descriptor is None else {"dir_fd": descriptor}

    def _name(self, name: str) -> str:
        return str(Path(self.path, name)) if self.descriptor is None else name

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self._name(name), flags, mode, **self._at)

    def stat(self, name: str) -> os.stat_result:
        # `Path` knows no descriptor of a folder.
        return os.stat(self._name(name), follow_symlinks=False, **self._at)  # noqa: PTH116

    def unlink(self, name: str) -> None:
        os.unlink(self._name(name), **self._at)

    def rename(self, old: str, new: str, *, replace: bool) -> None:
        """Give a file another name, which must be free unless `replace` is true."""
        source, target = self._name(old), self._name(new)
        both: dict[str, Any] = {}
        if self._at:
            both = {"src_dir_fd": self.descriptor, "dst_dir_fd": self.descriptor}
        if not replace:
            try:
                os.link(source, target, **both)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                # A file system without hard links: an empty file holds the name.
                os.close(self.open(new, _CREATE))
            else:
                return
        try:
            # `Path` knows no descriptor of a folder.
            os.replace(source, target, **both)  # noqa: PTH105
        except OSError:
            if not replace:
                self.unlink(new)
            raise

    def check(self, name: str, found: os.stat_result) -> None:
        """Raise unless an opened file is the entry of this name in the folder of this path."""
        if self.descriptor is None and not (
            os.path.realpath(self.path) == self.path and os.path.samestat(found, self.stat(name))
        ):
            raise OSError(errno.ELOOP, "changed while it was opened")

    def in_place(self) -> bool:
        """Whether the path of this folder still names it; True where the system cannot tell."""
        if self.descriptor is None:
            return True
        try:
            return os.path.samestat(os.fstat(self.descriptor), Path(self.path).stat())
        except OSError:
            return False


def open_root(path: str) -> Folder:
    """Open the folder at a resolved path."""
    return Folder(path, os.open(path, _THROUGH) if _OPENAT else None)


@contextlib.contextmanager
def walk(root: Folder, parts: list[str]) -> Iterator[Folder]:
    """Open the folder at these names below the root, without following links."""
    path = str(Path(root.path, *parts))
    if root.descriptor is None:
        yield Folder(path, None)
        return
    descriptor = os.open(".", _THROUGH, dir_fd=root.descriptor)
    try:
        for part in parts:
            deeper = os.open(part, _THROUGH, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


def path_of(descriptor: int) -> str | None:
    """A path of an open file; None where the system has none."""
    path = f"/proc/self/fd/{descriptor}"
    try:
        same = os.path.samestat(Path(path).stat(), os.fstat(descriptor))
    except OSError:
        return None
    return path if same else None


def write(folder: Folder, name: str, data: bytes, mode: int | None) -> None:
    """Write a temporary file, and give it the name once it is complete."""
    temporary = f".compactwire-{os.urandom(8).hex()}"
    with _making:
        # The content of a file that others must not read is not readable meanwhile.
        descriptor = folder.open(temporary, _CREATE, 0o666 if mode is None else 0o600)
        _unfinished.add((folder, temporary))
    try:
        with os.fdopen(descriptor, "wb") as file:
            folder.check(temporary, os.fstat(descriptor))
            file.write(data)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        folder.rename(temporary, name, replace=mode is not None)
    finally:
        with _making:
            _unfinished.discard((folder, temporary))
            with contextlib.suppress(OSError):
                folder.unlink(temporary)


@contextlib.contextmanager
def nothing_unfinished() -> Iterator[None]:
    """Remove the temporary files of other threads, and hold up new ones: to end the process."""
    with _making:
        for folder, name in _unfinished:
            with contextlib.suppress(OSError):
                folder.unlink(name)
        yield
