"""The store in a file of SQLite, which several processes may share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .._guard import refuse
from .._texts import check_positive, check_texts
from ..errors import OptionError
from ._sender import MAX_NUMBER
from ._stores import (
    Locks,
    SavedSession,
    SessionStore,
    TurnLocks,
    check_saved,
    check_seconds,
    limits,
)

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType

_Result = TypeVar("_Result")

# How long a call waits while another connection holds the file of a database.
_BUSY_S = 30.0

# A lease is written again if the wait for the file took more than a third of it, after which the
# first renewal comes.
_LEASE_WRITES, _LEASE_LEFT = 3, 2 / 3

# The stores of one file share locks, so that a turn that waits for itself is found between them.
_FILES = Locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FILES.renew)


class SQLiteSessionStore(SessionStore):
    """A store in a SQLite database, which a restarted server and other processes continue.

    Use it as a context manager, or call `close`. Open it in each process: one that was opened
    before a fork raises a `RuntimeError` in the child. So does a new one, if another thread used
    a store at the fork.

    Parameters
    ----------
    path : str or path-like
        The file of the database, or ":memory:". It gets the tables `compactwire_sessions_1`,
        `compactwire_leases_1` and `compactwire_memory_1`.
    max_sessions : int
        How many conversations are kept. The least recently used is forgotten first.
    idle_s : float
        After how many seconds without a turn a conversation is forgotten.
    max_memory : int
        How many bytes the states of all conversations and their last answers may take. The least
        recently used is forgotten first; a turn that makes one conversation larger than this is
        refused with `OutputTooLarge`.
    max_size : int
        As for `Session`.
    checked : bool
        As for `SessionStore`, which says what is at risk if it is False.
    wait_s : float
        How many seconds a turn waits while another process answers a turn of its conversation.
    lease_s : float
        After how many seconds the turn of a process that died is answered by another one. The
        process must run at least once in this time, or another one answers its turn too. Each turn
        that is being answered writes to the database three times in this time, and all processes
        wait for each other's writes: a second costs three writes a second for each open turn.
        Reservations end by the clock of the system. If it is set back, the turn of a process that
        died waits until the clock is there again: such a reservation looks like that of a living
        process with a longer `lease_s`, which must not be taken from it. To end the wait, delete
        the rows of `compactwire_leases_1`.

    Raises
    ------
    sqlite3.Error
        By each call: the file is no database or is damaged, cannot be opened or written, or another
        connection holds it for 30 seconds. The message names the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        /,
        *,
        max_sessions: int = 100_000,
        idle_s: float = 30 * 86_400.0,
        max_memory: int = 10_737_418_240,
        max_size: int = 67_108_864,
        checked: bool = True,
        wait_s: float = 60.0,
        lease_s: float = 30.0,
    ) -> None:
        from .._databases import NamedErrors, connect, guard

        super().__init__(max_size=max_size, checked=checked, wait_s=wait_s)
        self._max_sessions, self._idle_s = limits(max_sessions, idle_s)
        check_positive("max_memory", max_memory)
        self._max_memory = max_memory
        self._lease_s = check_seconds("lease_s", lease_s)
        if self._lease_s == inf:
            raise OptionError("lease_s must be finite", option="lease_s")
        self._guard = guard()
        self._named_errors = NamedErrors(path)
        self._process = os.getpid()
        # Autocommit: each statement is a transaction of its own.
        with self._named_errors:
            self._database = connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._create()
            self._share_locks(path)
        except BaseException:
            self._database.close()
            raise

    def _create(self) -> None:
        self._run(
            "CREATE TABLE IF NOT EXISTS compactwire_sessions_1 (conversation TEXT PRIMARY KEY, "
            "number INTEGER NOT NULL, digest BLOB NOT NULL, answer NOT NULL, "
            "session BLOB NOT NULL, used REAL NOT NULL)"
        )
        self._run(
            "CREATE INDEX IF NOT EXISTS compactwire_sessions_1_used "
            "ON compactwire_sessions_1 (used)"
        )
        self._run(
            "CREATE TABLE IF NOT EXISTS compactwire_leases_1 (conversation TEXT PRIMARY KEY, "
            "holder TEXT NOT NULL, until REAL NOT NULL)"
        )
        tables, _ = self._run("SELECT 1 FROM sqlite_master WHERE name = 'compactwire_memory_1'")
        if not tables:
            self._count_memory()

    def _count_memory(self) -> None:
        """Count the bytes that are kept, and let the database add and subtract what changes.

        The sum of all rows would be too slow for each turn. Triggers also count what another
        version of this package, or a person, deletes.
        """
        old, new = (_row_size(row) for row in ("OLD", "NEW"))
        statements = [
            "CREATE TABLE IF NOT EXISTS compactwire_memory_1 (bytes INTEGER NOT NULL)",
            "DELETE FROM compactwire_memory_1",
            "INSERT INTO compactwire_memory_1 "
            f"SELECT coalesce(sum({_row_size('kept')}), 0) FROM compactwire_sessions_1 AS kept",
        ]
        for change, added in (
            ("INSERT", new),
            ("DELETE", f"-({old})"),
            ("UPDATE", f"{new} - ({old})"),
        ):
            statements.append(
                f"CREATE TRIGGER IF NOT EXISTS compactwire_memory_1_{change.lower()} "
                f"AFTER {change} ON compactwire_sessions_1 BEGIN "
                f"UPDATE compactwire_memory_1 SET bytes = bytes + {added}; END"
            )

        def create(run: Callable[..., sqlite3.Cursor]) -> None:
            for statement in statements:
                run(statement)

        self._transact(create)

    def _share_locks(self, path: str | os.PathLike[str]) -> None:
        """Share the locks of the other stores of the file in this process."""
        name = os.fsdecode(path)
        if name != ":memory:":
            status = Path(name).stat()
            self._turn_locks = _FILES.of((status.st_dev, status.st_ino), TurnLocks)

    def _run(self, statement: str, *values: object) -> tuple[list[Any], int]:
        """Run a statement; return its rows and the number of rows that it changed."""
        from .._databases import retried

        def attempt() -> tuple[list[Any], int]:
            cursor = self._database.execute(statement, values)
            return cursor.fetchall(), cursor.rowcount

        self._check_process()
        with self._named_errors:
            return retried(lambda: self._guard.run(attempt, refuse), _BUSY_S)

    def _transact(self, work: Callable[[Callable[..., sqlite3.Cursor]], _Result]) -> _Result:
        """Run `work` in a transaction; it gets the function that runs a statement."""
        from .._databases import retried

        def run(statement: str, *values: object) -> sqlite3.Cursor:
            return retried(lambda: self._database.execute(statement, values), _BUSY_S)

        def transaction() -> _Result:
            try:
                # Ctrl-C may be raised as soon as the transaction has begun.
                run("BEGIN IMMEDIATE")
                result = work(run)
                run("COMMIT")
            except BaseException:
                try:
                    self._database.rollback()
                except KeyboardInterrupt:  # It came in between.
                    self._database.rollback()
                    raise
                raise
            return result

        self._check_process()
        with self._named_errors:
            return self._guard.run(transaction, refuse)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            # Two processes with one connection of SQLite can damage the file.
            raise RuntimeError("the store was opened before a fork: open it in each process")

    def load(self, conversation: str, /) -> SavedSession | None:
        """What is kept of a conversation; None if nothing is."""
        import sqlite3

        check_texts(conversation=conversation)
        rows, _ = self._run(
            "SELECT number, digest, answer, session FROM compactwire_sessions_1 "
            "WHERE conversation = ? AND used >= ?",
            conversation,
            time.time() - self._idle_s,
        )
        if not rows:
            return None
        saved = SavedSession(*rows[0])
        if not _is_written_by_a_store(saved):
            with self._named_errors:
                message = "a conversation has a row that no store writes: forget the conversation"
                raise sqlite3.DatabaseError(message)
        return saved

    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        """Keep `saved` if the kept number is `after`, or if nothing is kept."""
        check_saved(conversation, saved, after)
        texts = (conversation, saved.answer)
        data = [text.encode() if isinstance(text, str) else text for text in texts]
        self._check_memory(sum(map(len, (*data, saved.session))))
        now = time.time()
        forget_idle = (
            "DELETE FROM compactwire_sessions_1 WHERE used < ?",
            now - self._idle_s,
        )
        insert = (
            "INSERT INTO compactwire_sessions_1 VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (conversation) DO UPDATE SET number = excluded.number, "
            "digest = excluded.digest, answer = excluded.answer, session = excluded.session, "
            "used = excluded.used WHERE number = ?",
            conversation,
            *saved,
            now,
            after,
        )
        # The turn is answered. Here it costs no further write to the disk, as `release` would.
        end_lease = (
            "DELETE FROM compactwire_leases_1 WHERE conversation = ?",
            conversation,
        )
        forget_oldest = (
            "DELETE FROM compactwire_sessions_1 WHERE conversation IN (SELECT conversation "
            "FROM compactwire_sessions_1 WHERE conversation <> ? "
            "ORDER BY used DESC LIMIT -1 OFFSET ?)",
            conversation,
            self._max_sessions - 1,
        )

        def keep(run: Callable[..., sqlite3.Cursor]) -> bool:
            run(*forget_idle)
            kept = run(*insert).rowcount == 1
            if kept:  # Otherwise this process was late, and another one may have the lease.
                run(*end_lease)
            if after == 0:
                run(*forget_oldest)
            self._make_room(run, conversation)
            return kept

        return self._transact(keep)

    def _make_room(self, run: Callable[..., sqlite3.Cursor], conversation: str) -> None:
        """Forget the least recently used, except for `conversation`, down to `max_memory`."""
        forget_oldest = (
            "DELETE FROM compactwire_sessions_1 WHERE conversation = (SELECT conversation "
            "FROM compactwire_sessions_1 WHERE conversation <> ? ORDER BY used LIMIT 1)",
            conversation,
        )
        while _bytes_kept(run) > self._max_memory:
            if run(*forget_oldest).rowcount == 0:
                break

    def forget(self, conversation: str, /) -> None:
        """Forget a conversation. Its next turn is rejected once, and then sent in full."""
        check_texts(conversation=conversation)
        self._run("DELETE FROM compactwire_sessions_1 WHERE conversation = ?", conversation)

    def lease(self, conversation: str, holder: str, /) -> float:
        """Reserve the turns of a conversation for `lease_s` seconds, or extend a reservation."""
        check_texts(conversation=conversation, holder=holder)
        now = time.time()
        # A turn that waits reads only: it takes no lock of the file that the holder needs.
        others, _ = self._run(
            "SELECT 1 FROM compactwire_leases_1 "
            "WHERE conversation = ? AND holder <> ? AND until > ?",
            conversation,
            holder,
            now,
        )
        if others:
            return 0.0
        left = 0.0
        for _ in range(_LEASE_WRITES):
            now = time.time()
            _, changed = self._run(
                "INSERT INTO compactwire_leases_1 VALUES (?, ?, ?) ON CONFLICT (conversation) "
                "DO UPDATE SET holder = excluded.holder, until = excluded.until "
                "WHERE holder = excluded.holder OR until <= ?",
                conversation,
                holder,
                now + self._lease_s,
                now,
            )
            if changed != 1:
                return 0.0
            left = now + self._lease_s - time.time()
            if left >= self._lease_s * _LEASE_LEFT:
                return self._lease_s
        return max(left, self._lease_s / 3)

    def release(self, conversation: str, holder: str, /) -> None:
        """End the reservation of `holder`, and those that processes left when they died."""
        check_texts(conversation=conversation, holder=holder)
        self._run(
            "DELETE FROM compactwire_leases_1 "
            "WHERE (conversation = ? AND holder = ?) OR until <= ?",
            conversation,
            holder,
            time.time(),
        )

    def close(self) -> None:
        """Close the database; in a process that was forked later, do nothing."""
        if os.getpid() != self._process:
            return
        self._guard.soon(self._database.close)

    def __len__(self) -> int:
        rows, _ = self._run("SELECT count(*) FROM compactwire_sessions_1")
        return int(rows[0][0])

    def __enter__(self) -> SQLiteSessionStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _bytes_kept(run: Callable[..., sqlite3.Cursor]) -> int:
    """The count that the database keeps."""
    import sqlite3

    rows = run("SELECT bytes FROM compactwire_memory_1").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], int):
        message = "compactwire_memory_1 must have one row: drop the table, and open the store again"
        raise sqlite3.DatabaseError(message)
    return int(rows[0][0])


def _is_written_by_a_store(saved: SavedSession) -> bool:
    """Whether the fields have the types that are declared, which SQLite does not ensure."""
    number, digest, answer, session = saved
    is_number = type(number) is int and 0 < number <= MAX_NUMBER
    is_state = isinstance(digest, bytes) and isinstance(session, bytes)
    return is_number and is_state and isinstance(answer, str | bytes)


def _row_size(row: str) -> str:
    """The bytes of a row, in SQL. SQLite does not read the session for its length."""
    texts = (f"length(CAST({row}.{name} AS BLOB))" for name in ("conversation", "answer"))
    return " + ".join((*texts, f"length({row}.session)"))
