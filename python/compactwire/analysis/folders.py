"""The files of folders and patterns.

Invariant: no file is silently left out or found twice. What cannot be listed is an error, and a
file that a pattern matches under several names is found under the first one.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import functools
import glob
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

Report = Callable[[OSError], object]
"""Gets the error of each folder that cannot be listed. Without it, the error is raised."""

# What the operating system says of a path that leads nowhere.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def kind_of(path: Path) -> Literal["file", "folder", "other"] | None:
    """What a path leads to; None if to nothing.

    Raises
    ------
    OSError
        It cannot be found out. Methods such as `Path.exists` then say "no", from Python 3.14 on.
    """
    try:
        mode = path.stat().st_mode
    except ValueError:  # No name has U+0000.
        return None
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def below(root: Path, report: Report | None = None) -> list[Path]:
    """Every file in a folder and its folders, but hidden ones and links, in the order of names."""
    return sorted(_walk({root}, report)[1])


def matching(pattern: Path, report: Report | None = None) -> list[Path]:
    """Every file that a pattern matches, in the order of names.

    The pattern is one of `glob.glob` with `recursive`, but `**` does not follow links.
    """
    parts = list(pattern.parts[1:] if pattern.anchor else pattern.parts)
    if parts[-1:] == ["**"]:
        parts.append("*")
    reached = {Path(pattern.anchor)}
    for part in parts:
        if part == "**":
            reached = _walk(reached, report)[0]
        elif glob.has_magic(part):
            reached = _named(reached, part, report)
        else:
            reached = {path / part for path in reached}
    found: dict[str, Path] = {}
    real = functools.cache(os.path.realpath)
    for path in sorted(reached):
        with _reporting(report):
            if kind_of(path) == "file":
                # Of a folder, this is found out once for all files in it.
                name = real(path) if path.is_symlink() else Path(real(path.parent), path.name)
                found.setdefault(str(name), path)
    return list(found.values())


def _walk(roots: set[Path], report: Report | None) -> tuple[set[Path], list[Path]]:
    """Those of the paths that are folders, the folders in them, and the files in all of these.

    Hidden files and folders, and links, are left out.
    """
    folders, files, left = set[Path](), list[Path](), list(roots)
    while left:
        folder = left.pop()
        with _reporting(report):
            if folder in folders or (folder in roots and kind_of(folder) != "folder"):
                continue
            entries = _entries(folder)
            folders.add(folder)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    files.append(Path(entry.path))
    return folders, files


def _named(folders: set[Path], pattern: str, report: Report | None) -> set[Path]:
    """What is in those of the paths that are folders, and has a name that matches."""
    found = set[Path]()
    for folder in folders:
        with _reporting(report):
            if kind_of(folder) == "folder":
                names = [entry.name for entry in _entries(folder, hidden=pattern.startswith("."))]
                found.update(folder / name for name in fnmatch.filter(names, pattern))
    return found


def _entries(folder: Path, *, hidden: bool = False) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if hidden or not entry.name.startswith(".")]


@contextlib.contextmanager
def _reporting(report: Report | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if report is None:
            raise
        report(error)
