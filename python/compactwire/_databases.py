"""What the stores in SQLite databases share: checks of the path, and errors that name it."""

from __future__ import annotations

import os
import sqlite3

from ._texts import check_path, one_line
from .errors import OptionError

_Path = str | bytes | os.PathLike[str]


class NamedErrors:
    """A context manager that names the database in the errors of SQLite, which do not.

    Parameters
    ----------
    path : str, bytes or path-like
        The path of the database, which is checked.
    """

    def __init__(self, path: _Path) -> None:
        check_path(path)
        if not os.fspath(path):
            # SQLite would open a database that is deleted when it is closed.
            raise OptionError('path must name a file, or be ":memory:"', option="path")
        self._name = one_line(os.fsdecode(path))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, sqlite3.Error):
            message, *rest = error.args or ("",)
            error.args = (f"{self._name}: {message}", *rest)
