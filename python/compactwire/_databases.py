"""What the stores in SQLite databases share: the wait for a lock, and errors that name the file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

from ._guard import Guard
from ._texts import check_path, one_line
from .errors import OptionError

_Path = str | bytes | os.PathLike[str]
_Result = TypeVar("_Result")

# The `timeout` of a connection: how long SQLite itself waits while another connection holds the
# file. It does not notice Ctrl-C, so each of its waits is short.
STEP_S = 0.2

# A rest between two attempts, because SQLite does not wait at all where it sees a deadlock.
_REST_S = 0.01


def connect(path: _Path, **options: Any) -> sqlite3.Connection:
    """Open the file of exactly this name.

    SQLite may be built to take a name that begins with `file:` as a URI, which can say that nothing
    is written.
    """
    name = os.fsdecode(path)
    if _is_unsafe:
        raise RuntimeError(
            f"{one_line(name)}: a thread used SQLite when this process was forked, and would block "
            "it here for ever: fork while no thread uses a store, or start a new process"
        )
    if name.startswith("file:"):
        name = f"./{name}"

    def opened() -> sqlite3.Connection:
        database: sqlite3.Connection = sqlite3.connect(name, timeout=STEP_S, **options)
        return database

    return _opening.run(opened, opened)


def guard() -> Guard:
    """The guard in which a connection runs its statements."""
    made = Guard()
    _guards.add(made)
    return made


_guards: WeakSet[Guard] = WeakSet()
_opening = Guard()


def _note_use() -> None:
    global _is_unsafe
    _is_unsafe |= _opening.is_held() or any(guard.is_held() for guard in list(_guards))


# Whether a thread of the parent used SQLite when this process was forked. What that thread held,
# locks of files and those of SQLite itself, is then held here for ever.
_is_unsafe = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_use)


def retried(attempt: Callable[[], _Result], wait_s: float) -> _Result:
    """Call `attempt`, again and again for `wait_s` seconds as long as the file is locked.

    Python runs the handlers of signals in between.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _is_busy(error):
                raise
            if time.monotonic() >= deadline:
                reason = f"another connection has held the file for {wait_s:g} seconds"
                error.args = (f"{error}; {reason}",)
                raise
        time.sleep(_REST_S)


def _is_busy(error: sqlite3.OperationalError) -> bool:
    # The module `sqlite3` has errors of its own, without a code. The low byte is the kind.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


class NamedErrors:
    """A context manager that names the database in the errors of SQLite, which do not.

    Parameters
    ----------
    path : str, bytes or path-like
        The path of the database, which is checked.
    """

    def __init__(self, path: _Path) -> None:
        if isinstance(path, str | bytes) and not path:
            # SQLite would open a database that is deleted when it is closed.
            raise OptionError('path must name a file, or be ":memory:"', option="path")
        check_path(path)
        self._name = one_line(os.fsdecode(path))

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, UnicodeDecodeError):
            # SQLite quotes the file in its message.
            message = f"{self._name}: the database is damaged: its content is not UTF-8"
            raise sqlite3.DatabaseError(message) from error
        if isinstance(error, sqlite3.Error):
            message, *rest = error.args or ("",)
            error.args = (f"{self._name}: {message}", *rest)
