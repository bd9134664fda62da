"""Files below the roots of `compactwire mcp serve`: a path that leads out of them is refused.

A path is resolved with its links first. The result must lie below a root, and is then opened entry
by entry from the root's descriptor, without following links: a link that is put in the place of a
folder or file in between makes the call fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import unicodedata
from pathlib import Path

from .._texts import one_line, short_line
from ._folder import READ, REPLACE, open_root, path_of, walk, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._folder import Folder

__all__ = ["MAX_FILE", "PathError", "Roots"]

MAX_FILE = 16 << 20
_MAX_PATH = 4_096

_ADVICE = {
    errno.EEXIST: "exists already; name another file, or ask the user for --overwrite",
    errno.ELOOP: "is a link in a circle, or became a link while it was opened",
    errno.EISDIR: "is a folder; name a file",
    errno.ENOTDIR: "a part of the path is not a folder, leads in a circle, or became a link",
}


class PathError(ValueError):
    """A path cannot be used; the message names the argument, the path, and what to do."""


class Roots:
    """Folders whose files may be read, and written if the name is free.

    Parameters
    ----------
    paths
        The folders. They are opened now; if one is moved or replaced, its files are not used.
    overwrite
        Whether a file may take the place of another.

    Raises
    ------
    OSError
        A path is not a folder, or cannot be opened.
    """

    def __init__(self, paths: Iterable[str] = (), *, overwrite: bool = False) -> None:
        self._overwrite = overwrite
        self._roots: list[Folder] = []
        for path in paths:
            try:
                real = _resolved(path)
                if real not in self.paths:
                    self._roots.append(open_root(real))
            except OSError as error:
                self.close()
                said = error.strerror or str(error)
                raise OSError(f"--root {one_line(path)!r}: {said.lower()}") from None

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
            own = None if descriptor is None else path_of(descriptor)
            yield own or os.path.realpath(self._absolute(path, argument))

    def write(self, path: str, data: bytes, argument: str = "to", *, suffix: str = "") -> None:
        """Write a file, all of it or nothing.

        Raises
        ------
        PathError
            The path leads out of the roots, is hidden, exists, or cannot be written; it is a link
            to a file without this suffix, or to none.
        """
        link = self._is_link(path, argument)
        root, parts = self._place(path, argument)
        shown = _shown(path)
        if not parts[-1].lower().endswith(suffix):
            raise PathError(
                f"{argument}: {shown} is a link to a file that does not end in {suffix}"
            )
        if any(part.startswith(".") and part != "." for part in parts):
            raise PathError(f"{argument}: {shown} is hidden; name a file without a leading dot")
        for character in "".join(parts):
            if not _allowed(character):
                said = f"has the character {character!a}, which new names must not have"
                raise PathError(f"{argument}: {shown} {said}")
        with self._explained(path, argument), walk(root, parts[:-1]) as folder:
            mode = self._replaced(folder, parts[-1], shown, argument)
            if link and mode is None:
                raise PathError(f"{argument}: {shown} is a link to a file that does not exist")
            write(folder, parts[-1], data, mode)

    def _replaced(self, folder: Folder, name: str, shown: str, argument: str) -> int | None:
        """The mode of the file that will be replaced; None if there is none."""
        try:
            found = folder.stat(name)
        except FileNotFoundError:
            return None
        _must_be_regular(found, shown, argument)
        if not self._overwrite:
            raise FileExistsError(errno.EEXIST, "exists")
        # A user who may not write the file must not replace it either.
        os.close(folder.open(name, REPLACE))
        return stat.S_IMODE(found.st_mode)

    @contextlib.contextmanager
    def _opened(self, path: str, argument: str, limit: int = MAX_FILE) -> Iterator[int]:
        """Open a regular file for reading."""
        root, parts = self._place(path, argument)
        shown = _shown(path)
        with contextlib.ExitStack() as stack:
            with self._explained(path, argument):
                folder = stack.enter_context(walk(root, parts[:-1]))
                # Some devices act when they are opened.
                _must_be_regular(folder.stat(parts[-1]), shown, argument)
                descriptor = folder.open(parts[-1], READ)
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
            with self._explained(path, argument):
                folder = stack.enter_context(walk(root, parts))
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
        return str(Path(self._roots[0].path, path))

    def _is_link(self, path: str, argument: str) -> bool:
        absolute = self._absolute(path, argument)
        with self._explained(path, argument):
            return Path(absolute).is_symlink()

    def _place(self, path: str, argument: str) -> tuple[Folder, list[str]]:
        """The root that a path lies below, and the names from there, without links."""
        absolute = self._absolute(path, argument)
        # A link that changes meanwhile is an error even here.
        with self._explained(path, argument):
            try:
                real = Path(os.path.realpath(absolute))
            except RecursionError:  # More links than Python follows, and many more than the system.
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        for root in sorted(self._roots, key=lambda root: -len(root.path)):
            if real.is_relative_to(root.path):
                if not root.in_place():
                    raise PathError(
                        f"{argument}: {_shown(path)} is not used{self._replaced_roots()}"
                    )
                return root, list(real.relative_to(root.path).parts) or ["."]
        roots = ", ".join(map(_shown, self.paths))
        said = f"is not below a root; the roots are {roots}{self._replaced_roots()}"
        raise PathError(f"{argument}: {_shown(path)} {said}")

    @contextlib.contextmanager
    def _explained(self, path: str, argument: str) -> Iterator[None]:
        """Turn an error of the system into one for the caller of a tool."""
        try:
            yield
        except OSError as error:
            said = _ADVICE.get(error.errno or 0) or (error.strerror or "cannot be used").lower()
            if isinstance(error, FileNotFoundError):
                said = "no such file or folder; relative paths begin at the first root"
                said += self._replaced_roots()
            raise PathError(f"{argument}: {_shown(path)}: {said}") from None

    def _replaced_roots(self) -> str:
        """What to do if a root is no longer where it was: the files of a new one are not used."""
        lost = [_shown(root.path) for root in self._roots if not root.in_place()]
        if not lost:
            return ""
        said = "was deleted, moved or made again: ask the user to restart the server"
        return f". Since the server started, {', '.join(lost)} {said}"


def _resolved(path: str) -> str:
    """The path of a root without links."""
    # Python takes an empty path, perhaps a variable without a value, for the working folder.
    real = os.path.realpath(path, strict=True) if path else None
    if real is None or not Path(real).is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a root must be a folder")
    return real


def _allowed(character: str) -> bool:
    """Whether the name of a new file may have this character: a letter, a sign, or a space."""
    if character == ":" and os.name == "nt":  # What follows would be a stream of another file.
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _must_be_regular(found: os.stat_result, shown: str, argument: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise PathError(f"{argument}: {shown} is a folder; name a file")
    if stat.S_ISLNK(found.st_mode):  # All links that lead anywhere were followed.
        raise PathError(f"{argument}: {shown} {_ADVICE[errno.ELOOP]}")
    if not stat.S_ISREG(found.st_mode):
        raise PathError(f"{argument}: {shown} is not a regular file, but a device or pipe")


def _shown(path: str) -> str:
    return short_line(path, 200)
