"""Files below the roots of `compactwire mcp serve`: a path that leads out of them is refused.

A path is resolved with its links first. The result must lie below a root, and is then opened entry
by entry from the root's descriptor, without following links: a link that is put in the place of a
folder or file in between makes the call fail. A system without `openat` (Windows) compares the file
that was opened with the one that the path names afterwards.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import operator
import os
import stat
from pathlib import PurePath

from .._texts import one_line, short_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["MAX_FILE", "PathError", "Roots"]

MAX_FILE = 16 << 20
_MAX_PATH = 4_096

_OPENAT = hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.unlink, os.link} <= os.supports_dir_fd


def _flags(*names: str) -> int:
    """These flags of `open`, as far as the system has them."""
    return functools.reduce(operator.or_, (getattr(os, name, 0) for name in names))


_COMMON = _flags("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")
# A FIFO must not block, and a terminal must not become that of the process.
_READ = os.O_RDONLY | _COMMON | _flags("O_NONBLOCK", "O_NOCTTY")
_REPLACE = os.O_WRONLY | _COMMON | _flags("O_NONBLOCK", "O_NOCTTY")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON
# Passing through a folder needs no permission to list it.
_THROUGH = _COMMON | _flags("O_DIRECTORY", "O_PATH" if hasattr(os, "O_PATH") else "O_RDONLY")

_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EMLINK, errno.ENOTSUP, errno.EOPNOTSUPP}
_ADVICE = {
    errno.EEXIST: "exists already; name another file, or ask the user for --overwrite",
    errno.ELOOP: "is a link in a circle, or became a link while it was opened",
    errno.EISDIR: "is a folder; name a file",
    errno.ENOTDIR: "a part of the path is not a folder, or became a link",
}


class PathError(ValueError):
    """A path cannot be used; the message names the argument, the path, and what to do."""


class _Folder:
    """An open folder, or its resolved path where the system cannot open entries of a folder."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor
        self._at: dict[str, Any] = {} if descriptor is None else {"dir_fd": descriptor}

    def _name(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name  # noqa: PTH118

    def open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags, 0o666, **self._at)

    def stat(self, name: str) -> os.stat_result:
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
        os.replace(source, target, **both)  # noqa: PTH105

    def check(self, name: str, found: os.stat_result) -> None:
        """Raise unless an opened file is the entry of this name in the folder of this path."""
        if self.descriptor is None and not (
            os.path.realpath(self.path) == self.path and os.path.samestat(found, self.stat(name))
        ):
            raise OSError(errno.ELOOP, "changed while it was opened")


class Roots:
    """Folders whose files may be read, and written if the name is free.

    Parameters
    ----------
    paths
        The folders. They are opened now: a folder that later takes the place of one is not used.
    overwrite
        Whether a file may take the place of another.

    Raises
    ------
    OSError
        A path is not a folder, or cannot be opened.
    """

    def __init__(self, paths: Iterable[str] = (), *, overwrite: bool = False) -> None:
        self._overwrite = overwrite
        self._roots: list[_Folder] = []
        for path in paths:
            real = os.path.realpath(path, strict=True)
            if not os.path.isdir(real):  # noqa: PTH112
                raise NotADirectoryError(errno.ENOTDIR, "a root must be a folder", path)
            self._roots.append(_Folder(real, os.open(real, _THROUGH) if _OPENAT else None))

    @property
    def paths(self) -> tuple[str, ...]:
        """The roots, resolved. Relative paths begin at the first one."""
        return tuple(root.path for root in self._roots)

    def close(self) -> None:
        """Close the roots."""
        for root in self._roots:
            if root.descriptor is not None:
                os.close(root.descriptor)
        self._roots.clear()

    def read(self, path: str, argument: str = "path", *, limit: int = MAX_FILE) -> bytes:
        """Read a regular file of at most `limit` bytes.

        Raises
        ------
        PathError
            The path leads out of the roots, or names no such file.
        """
        with self._opened(path, argument, limit) as descriptor:
            size = os.fstat(descriptor).st_size
            data = bytearray()
            # A file of size 0 is not read at all: those of /proc have content, and some block.
            while size and (chunk := os.read(descriptor, size + 1 - len(data))):
                data += chunk
                if len(data) > size:
                    break
        if len(data) != size:
            raise PathError(f"{argument}: {_shown(path)} changed while it was read; try again")
        return bytes(data)

    @contextlib.contextmanager
    def held(self, path: str, argument: str, *, folder: bool = False) -> Iterator[str]:
        """Open a file or folder, and yield a path for it that no link can lead elsewhere.

        Where the system has no such path it is the resolved one.
        """
        opened = self._opened_folder if folder else self._opened
        with opened(path, argument) as descriptor:
            own = None if descriptor is None else _path_of(descriptor)
            yield own or os.path.realpath(self._absolute(path, argument))

    def write(self, path: str, data: bytes, argument: str = "to") -> None:
        """Write a file, all of it or nothing.

        Raises
        ------
        PathError
            The path leads out of the roots, is hidden, exists, or cannot be written.
        """
        root, parts = self._place(path, argument)
        shown = _shown(path)
        if any(part.startswith(".") and part != "." for part in parts):
            raise PathError(f"{argument}: {shown} is hidden; name a file without a leading dot")
        if any(one_line(part) != part or (os.name == "nt" and ":" in part) for part in parts):
            raise PathError(f"{argument}: {shown} has control characters; name another file")
        with _explained(path, argument), _walk(root, parts[:-1]) as folder:
            mode = self._replaced(folder, parts[-1], shown, argument)
            _write(folder, parts[-1], data, mode)

    def _replaced(self, folder: _Folder, name: str, shown: str, argument: str) -> int | None:
        """The mode of the file that will be replaced; None if there is none."""
        try:
            found = folder.stat(name)
        except FileNotFoundError:
            return None
        _must_be_regular(found, shown, argument)
        if not self._overwrite:
            raise FileExistsError(errno.EEXIST, "exists")
        # A user who may not write the file must not replace it either.
        os.close(folder.open(name, _REPLACE))
        return stat.S_IMODE(found.st_mode)

    @contextlib.contextmanager
    def _opened(self, path: str, argument: str, limit: int = MAX_FILE) -> Iterator[int]:
        """Open a regular file for reading."""
        root, parts = self._place(path, argument)
        shown = _shown(path)
        with contextlib.ExitStack() as stack:
            with _explained(path, argument):
                folder = stack.enter_context(_walk(root, parts[:-1]))
                # Some devices act when they are opened.
                _must_be_regular(folder.stat(parts[-1]), shown, argument)
                descriptor = folder.open(parts[-1], _READ)
                stack.callback(os.close, descriptor)
                found = os.fstat(descriptor)
                folder.check(parts[-1], found)
            _must_be_regular(found, shown, argument)
            if found.st_size > limit:
                raise PathError(
                    f"{argument}: {shown} has {found.st_size:,} bytes; the limit is {limit:,}."
                    " The command `compactwire` takes more"
                )
            yield descriptor

    @contextlib.contextmanager
    def _opened_folder(self, path: str, argument: str) -> Iterator[int | None]:
        root, parts = self._place(path, argument)
        with contextlib.ExitStack() as stack:
            with _explained(path, argument):
                folder = stack.enter_context(_walk(root, parts))
            yield folder.descriptor

    def _absolute(self, path: str, argument: str) -> str:
        if not self._roots:
            raise PathError(
                f"{argument}: no file can be used, because the server runs without --root;"
                " ask the user to add --root FOLDER to its arguments, or pass `text` if the tool"
                " takes it"
            )
        if not path or "\0" in path or len(path) > _MAX_PATH:
            raise PathError(
                f"{argument}: {_shown(path)!r} is not a path of 1 to {_MAX_PATH:,} characters"
            )
        return os.path.join(self._roots[0].path, path)  # noqa: PTH118

    def _place(self, path: str, argument: str) -> tuple[_Folder, list[str]]:
        """The root that a path lies below, and the names from there, without links."""
        absolute = self._absolute(path, argument)
        # A link that changes meanwhile is an error even here.
        with _explained(path, argument):
            real = os.path.realpath(absolute)
        for root in sorted(self._roots, key=lambda root: -len(root.path)):
            start = os.path.join(root.path, "")  # noqa: PTH118
            if os.path.normcase(real).startswith(os.path.normcase(start)):
                return root, list(PurePath(real[len(start) :]).parts)
            if real == root.path:
                return root, ["."]
        roots = ", ".join(map(_shown, self.paths))
        raise PathError(f"{argument}: {_shown(path)} is not below a root; the roots are {roots}")


@contextlib.contextmanager
def _walk(root: _Folder, parts: list[str]) -> Iterator[_Folder]:
    """Open the folder at these names below the root, without following links."""
    path = os.path.normpath(os.path.join(root.path, *parts))  # noqa: PTH118
    if root.descriptor is None:
        yield _Folder(path, None)
        return
    descriptor = os.open(".", _THROUGH, dir_fd=root.descriptor)
    try:
        for part in parts:
            deeper = os.open(part, _THROUGH, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield _Folder(path, descriptor)
    finally:
        os.close(descriptor)


def _path_of(descriptor: int) -> str | None:
    """A path of an open file; None where the system has none."""
    path = f"/proc/self/fd/{descriptor}"
    try:
        same = os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return None
    return path if same else None


def _write(folder: _Folder, name: str, data: bytes, mode: int | None) -> None:
    """Write a temporary file, and give it the name once it is complete."""
    temporary = f".compactwire-{os.urandom(8).hex()}"
    descriptor = folder.open(temporary, _CREATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            folder.check(temporary, os.fstat(descriptor))
            file.write(data)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        folder.rename(temporary, name, replace=mode is not None)
    finally:
        with contextlib.suppress(OSError):
            folder.unlink(temporary)


def _must_be_regular(found: os.stat_result, shown: str, argument: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise PathError(f"{argument}: {shown} is a folder; name a file")
    if not stat.S_ISREG(found.st_mode):
        raise PathError(f"{argument}: {shown} is not a regular file, but a device, pipe or link")


@contextlib.contextmanager
def _explained(path: str, argument: str) -> Iterator[None]:
    """Turn an error of the system into one for the caller of a tool."""
    try:
        yield
    except OSError as error:
        said = _ADVICE.get(error.errno or 0) or (error.strerror or "cannot be used").lower()
        if isinstance(error, FileNotFoundError):
            said = "no such file or folder; relative paths begin at the first root"
        raise PathError(f"{argument}: {_shown(path)}: {said}") from None


def _shown(path: str) -> str:
    return short_line(path, 200)
