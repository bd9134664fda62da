"""The receiving side: keeps conversations by their ids, and answers each turn once.

Invariant: a store keeps the state of a conversation after the last turn that was answered, with
that answer. Both change in one step, so that a turn whose answer failed can be sent again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from .._core import Request, Session
from .._table import Table
from .._texts import (
    check_awaitable,
    check_callable,
    check_finished,
    check_positive,
    check_texts,
    check_type,
    real,
    shown,
)
from ..errors import OptionError, OutputTooLarge, TurnConflict
from ._lease import Lease, finished
from ._lock import TurnLock
from ._sender import MAX_NUMBER, Turn

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType


_ADVICE = "answer it after `respond` has returned, or in another conversation"

# How long a call waits while another connection holds the file of a database.
_BUSY_S = 30.0

# How often a task asks for a lock that a thread or another event loop holds.
_POLL_S = 0.01


class SavedSession(NamedTuple):
    """The state of a conversation in a store."""

    number: int
    """The number of the last turn that was answered."""
    digest: bytes
    """`Turn.digest` of that turn."""
    answer: str | bytes
    """The answer to that turn."""
    session: bytes
    """The state of the session after that turn: `Session.to_bytes`."""


class _Kept(NamedTuple):
    """What a `MemorySessionStore` keeps of a conversation."""

    saved: SavedSession
    size: int
    """The bytes of memory that it takes."""


class _Locks:
    """A lock for each key, as long as it is used."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def of(self, key: Hashable, make: Callable[[], Any]) -> Any:
        with self._guard:
            return self._locks.setdefault(key, make())


class _TurnLocks:
    """The locks of conversations, and of the tasks of an event loop that wait for them."""

    def __init__(self) -> None:
        self.locks = _Locks()
        self.queues = _Locks()


# The stores of one file share locks, so that a turn that waits for itself is found between them.
_FILES = _Locks()


class _Opened(NamedTuple):
    """A turn that is being answered."""

    conversation: str
    turn: Turn
    state: bytes
    """The state of the session after the turn."""
    request: Request
    after: int
    """The number of the turn before; 0 for none."""


class SessionStore(ABC):
    """Keeps the conversations of a receiver by their ids, and answers each turn once.

    `MemorySessionStore` and `SQLiteSessionStore` are stores. For another store, for example in your
    own database, write a subclass with `load`, `save` and `forget`; several processes may share it.
    With `lease` and `release`, a turn that arrives in several of them at once is answered by one.

    Parameters
    ----------
    max_size : int
        As for `Session`, for conversations that begin.
    checked : bool
        As for `Session`; the senders need the same. If it is False, a turn that arrives late can be
        added to a wrong conversation, and no error tells: where its sender was lost or restored
        from an older pickle, the conversation was forgotten here, and another turn began it again
        under the number before.
    wait_s : float
        How many seconds a turn waits while another process answers a turn of its conversation.
    """

    def __init__(
        self, *, max_size: int = 67_108_864, checked: bool = True, wait_s: float = 60.0
    ) -> None:
        Session(max_size=max_size, checked=checked)  # raises for an invalid option
        self._max_size = max_size
        self._checked = checked
        self._wait_s = _seconds("wait_s", wait_s)
        self._turn_locks = _TurnLocks()
        self._max_memory: float = inf

    @abstractmethod
    def load(self, conversation: str, /) -> SavedSession | None:
        """What is kept of a conversation; None if nothing is."""

    @abstractmethod
    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        """Keep `saved` if the kept number is `after`, or if nothing is kept; return whether it was.

        The comparison and the write are one atomic step, also for other threads and processes.
        """

    @abstractmethod
    def forget(self, conversation: str, /) -> None:
        """Forget a conversation. Its next turn is rejected once, and then sent in full."""

    def lease(self, conversation: str, holder: str, /) -> float:  # noqa: ARG002 - for subclasses
        """Reserve the turns of a conversation for `holder`, or extend its reservation.

        `answer` calls it before it loads the conversation, and again before the reservation ends.
        The attempt is one atomic step, also for other processes.

        Parameters
        ----------
        conversation : str
            The id of the conversation.
        holder : str
            An id that `answer` makes up for each turn.

        Returns
        -------
        float
            For how many seconds it is reserved, or 0 if it is reserved for another holder. As long
            as a subclass does not override the method it reserves nothing and returns infinity:
            other processes may answer the same turn at the same time.
        """
        return inf

    def release(self, conversation: str, holder: str, /) -> None:  # noqa: B027
        """End the reservation of `holder`, if there is one.

        After an exception that is no `Exception`, such as that of Ctrl-C, `answer` calls it in a
        thread, for which it waits half a second at most.
        """

    def answer(
        self, conversation: str, turn: Turn, respond: Callable[[Request], str | bytes], /
    ) -> str | bytes:
        """Answer a turn with `respond`, or with the kept answer if it was answered before.

        The turns of one conversation are answered one after the other, also if they are delivered
        at the same time; in several processes, if the store has leases, as `SQLiteSessionStore`
        does. If `respond` raises an exception, nothing of the turn is kept: it can then be
        delivered again.

        Parameters
        ----------
        conversation : str
            The id of the conversation. A user who knows the id can continue the conversation:
            choose ids that cannot be guessed, and reject an id that belongs to another user.
        turn : Turn
            The turn.
        respond : callable
            Takes the decoded `Request` and returns the answer. It must not answer another turn of
            the same conversation, nor wait for a thread or task that does.

        Returns
        -------
        str or bytes
            The answer.

        Raises
        ------
        UnknownReference
            As `Session.decode_request`: report its `ids` to the sender, which sends the request
            again.
        TurnConflict
            The number was used for other frames, or a later turn was answered already.
        NestedTurn
            `respond` answers a turn of the same conversation, so that both would wait for ever.
        TurnInProgress
            Another process still answers a turn of the conversation after `wait_s` seconds.
        UnsupportedValue
            The id or the answer has a lone surrogate.
        DecodeError
            The frames are invalid, or the kept state is not of this version of the package.
            `OutputTooLarge` for a conversation that is larger than `max_size`, or alone takes more
            than the `max_memory` of the store: `respond` is called only if the answer is what is
            too much. Nothing of the turn is kept.
        """
        lease = self._lease(conversation, turn, respond)
        with self._lock(conversation).held(), lease.held():
            opened = self._open(conversation, turn)
            if isinstance(opened, SavedSession):
                return opened.answer
            answer = respond(opened.request)
            check_finished("respond", answer, "answer_async")
            return self._close(opened, answer)

    async def answer_async(
        self, conversation: str, turn: Turn, respond: Callable[[Request], Awaitable[str | bytes]], /
    ) -> str | bytes:
        """Like `answer`, for a `respond` that is a coroutine function.

        If the task is cancelled while the answer is being kept, it ends when it has been kept.
        """
        lease = self._lease(conversation, turn, respond)
        async with self._held(conversation), lease.held_async():
            opened = await finished(partial(self._open, conversation, turn))
            if isinstance(opened, SavedSession):
                return opened.answer
            response = respond(opened.request)
            check_awaitable("respond", response, "answer")
            answer = await response
            return await finished(partial(self._close, opened, answer))

    def _lease(self, conversation: str, turn: Turn, respond: object) -> Lease:
        # A request without an id must not continue the conversation of another one without an id.
        # 1 and True would find the conversation "1" in a database, and each other in a dict.
        check_texts(conversation=conversation)
        check_type("turn", turn, Turn)
        check_callable("respond", respond)
        return Lease(self, conversation, turn.number, time.monotonic() + self._wait_s)

    def _lock(self, conversation: str) -> TurnLock:
        locks = self._turn_locks.locks
        lock: TurnLock = locks.of(conversation, lambda: TurnLock(_ADVICE, conversation))
        return lock

    @asynccontextmanager
    async def _held(self, conversation: str) -> AsyncIterator[None]:
        """Hold the lock of a conversation, as `answer` does."""
        import asyncio

        # The tasks of one event loop wait in order; at most one of them asks for the lock, which a
        # thread or a task of another event loop may hold.
        queue = self._turn_locks.queues.of((conversation, asyncio.get_running_loop()), asyncio.Lock)
        lock, task = self._lock(conversation), asyncio.current_task()
        lock.check(task)
        async with queue:
            while not lock.acquire(task):
                await asyncio.sleep(_POLL_S)
            try:
                yield
            finally:
                lock.release()

    def _open(self, conversation: str, turn: Turn) -> _Opened | SavedSession:
        saved = self.load(conversation)
        if saved is None:
            session = Session(max_size=self._max_size, checked=self._checked)
        elif turn.number <= saved.number:
            return _answered(turn, saved)
        else:
            session = Session.from_bytes(saved.session, checked=self._checked)
        after = saved.number if saved else 0
        # A request without a hash does not tell which conversation it adds to. After a gap, the
        # turn before it was lost here, or an old turn that arrived late began the conversation
        # again.
        request = session.decode_request(turn.frames, lost=turn.number != after + 1)
        state = session.to_bytes()
        # `save` would refuse it as well, but only after `respond` has done its work.
        self._check_memory(len(state))
        return _Opened(conversation, turn, state, request, after)

    def _check_memory(self, size: int) -> None:
        """Raise `OutputTooLarge` for a conversation that takes more than all may take together."""
        if size > self._max_memory:
            raise OutputTooLarge(
                f"the conversation takes {size} bytes, more than max_memory, "
                f"{self._max_memory} bytes",
                limit=int(self._max_memory),
            )

    def _close(self, opened: _Opened, answer: str | bytes) -> str | bytes:
        if not isinstance(answer, str | bytes):
            kind = type(answer).__name__
            raise TypeError(f"respond must return a str or bytes, the answer, not {kind}")
        if isinstance(answer, str):
            check_texts(answer=answer)
        turn = opened.turn
        saved = SavedSession(turn.number, turn.digest, answer, opened.state)
        if self.save(opened.conversation, saved, after=opened.after):
            return answer
        # Another process answered a turn of this conversation in the meantime.
        other = self.load(opened.conversation)
        if other is None:
            raise TurnConflict(
                f"turn {turn.number}: the store did not keep the answer; send the turn again",
                number=turn.number,
                last=opened.after,
            )
        return _answered(turn, other).answer


def _check_saved(conversation: str, saved: SavedSession, after: int) -> None:
    check_texts(conversation=conversation)
    check_type("saved", saved, SavedSession)
    for name, number in (("after", after), ("saved.number", saved.number)):
        check_type(name, number, int)
        if not 0 <= number <= MAX_NUMBER:
            raise OptionError(
                f"{name} must be from 0 to 2^63 - 1, as the numbers of turns, not {shown(number)}",
                option=name,
            )


def _answered(turn: Turn, saved: SavedSession) -> SavedSession:
    """Return the kept state if it is that of this turn; raise `TurnConflict` otherwise."""
    if (turn.number, turn.digest) == (saved.number, saved.digest):
        return saved
    if turn.number == saved.number:
        what = "other frames were answered under this number"
    else:
        what = f"turn {saved.number} was answered already, and earlier answers are not kept"
    message = (
        f"turn {turn.number}: {what}; go on with number {saved.number + 1}, which "
        f"`Sender.go_on({saved.number})` does"
    )
    raise TurnConflict(message, number=turn.number, last=saved.number)


class MemorySessionStore(SessionStore):
    """A store in the memory of this process.

    Parameters
    ----------
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
    """

    def __init__(
        self,
        *,
        max_sessions: int = 256,
        idle_s: float = 600.0,
        max_memory: int = 268_435_456,
        max_size: int = 67_108_864,
        checked: bool = True,
    ) -> None:
        super().__init__(max_size=max_size, checked=checked)
        most, idle = _limits(max_sessions, idle_s)
        check_positive("max_memory", max_memory)
        self._max_memory = max_memory
        self._guard = threading.Lock()
        self._kept: Table[str, _Kept] = Table(
            most=most, idle_s=idle, memory=max_memory, clock=time.monotonic
        )

    def load(self, conversation: str, /) -> SavedSession | None:
        """What is kept of a conversation; None if nothing is."""
        check_texts(conversation=conversation)
        with self._guard:
            self._kept.trim()
            kept = self._kept.peek(conversation)
            return None if kept is None else kept.saved

    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        """Keep `saved` if the kept number is `after`, or if nothing is kept."""
        _check_saved(conversation, saved, after)
        new = _Kept(saved, _memory(conversation, saved))
        self._check_memory(new.size)
        with self._guard:
            present = self._kept.peek(conversation)
            if present is not None and present.saved.number != after:
                return False
            self._kept.put(conversation, new)
            return True

    def forget(self, conversation: str, /) -> None:
        """Forget a conversation. Its next turn is rejected once, and then sent in full."""
        check_texts(conversation=conversation)
        with self._guard:
            self._kept.forget(conversation)

    def __len__(self) -> int:
        with self._guard:
            return len(self._kept)


class SQLiteSessionStore(SessionStore):
    """A store in a SQLite database, which a restarted server and other processes continue.

    Use it as a context manager, or call `close`. Open it in each process: one that was opened
    before a fork raises a `RuntimeError` in the child.

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
        import sqlite3

        from .._databases import STEP_S, NamedErrors

        super().__init__(max_size=max_size, checked=checked, wait_s=wait_s)
        self._max_sessions, self._idle_s = _limits(max_sessions, idle_s)
        check_positive("max_memory", max_memory)
        self._max_memory = max_memory
        self._lease_s = _seconds("lease_s", lease_s)
        if self._lease_s == inf:
            raise OptionError("lease_s must be finite", option="lease_s")
        self._guard = threading.Lock()
        self._named_errors = NamedErrors(path)
        self._process = os.getpid()
        # Autocommit: each statement is a transaction of its own.
        with self._named_errors:
            self._database = sqlite3.connect(
                path, timeout=STEP_S, isolation_level=None, check_same_thread=False
            )
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
        with self._transaction() as run:
            for statement in statements:
                run(statement)

    def _share_locks(self, path: str | os.PathLike[str]) -> None:
        """Share the locks of the other stores of the file in this process."""
        name = os.fsdecode(path)
        if name != ":memory:":
            status = Path(name).stat()
            self._turn_locks = _FILES.of((status.st_dev, status.st_ino), _TurnLocks)

    def _run(self, statement: str, *values: object) -> tuple[list[Any], int]:
        """Run a statement; return its rows and the number of rows that it changed."""
        from .._databases import retried

        def attempt() -> tuple[list[Any], int]:
            with self._guard:
                cursor = self._database.execute(statement, values)
                return cursor.fetchall(), cursor.rowcount

        self._check_process()
        with self._named_errors:
            return retried(attempt, _BUSY_S)

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """A transaction; yields the function that runs a statement with its values."""
        from .._databases import retried

        def run(statement: str, *values: object) -> sqlite3.Cursor:
            return retried(lambda: self._database.execute(statement, values), _BUSY_S)

        self._check_process()
        with self._guard, self._named_errors:
            try:
                # Ctrl-C may be raised as soon as the transaction has begun.
                run("BEGIN IMMEDIATE")
                yield run
                run("COMMIT")
            except BaseException:
                self._database.rollback()
                raise

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            # Two processes with one connection of SQLite can damage the file.
            raise RuntimeError("the store was opened before a fork: open it in each process")

    def load(self, conversation: str, /) -> SavedSession | None:
        """What is kept of a conversation; None if nothing is."""
        check_texts(conversation=conversation)
        rows, _ = self._run(
            "SELECT number, digest, answer, session FROM compactwire_sessions_1 "
            "WHERE conversation = ? AND used >= ?",
            conversation,
            time.time() - self._idle_s,
        )
        return SavedSession(*rows[0]) if rows else None

    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        """Keep `saved` if the kept number is `after`, or if nothing is kept."""
        _check_saved(conversation, saved, after)
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
            "FROM compactwire_sessions_1 ORDER BY used DESC LIMIT -1 OFFSET ?)",
            self._max_sessions,
        )
        with self._transaction() as run:
            run(*forget_idle)
            kept = run(*insert).rowcount == 1
            if kept:  # Otherwise this process was late, and another one may have the lease.
                run(*end_lease)
            if after == 0:
                run(*forget_oldest)
            self._make_room(run, conversation)
        return kept

    def _make_room(self, run: Callable[..., sqlite3.Cursor], conversation: str) -> None:
        """Forget the least recently used, except for `conversation`, down to `max_memory`."""
        forget_oldest = (
            "DELETE FROM compactwire_sessions_1 WHERE conversation = (SELECT conversation "
            "FROM compactwire_sessions_1 WHERE conversation <> ? ORDER BY used LIMIT 1)",
            conversation,
        )
        while run("SELECT bytes FROM compactwire_memory_1").fetchone()[0] > self._max_memory:
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
        _, changed = self._run(
            "INSERT INTO compactwire_leases_1 VALUES (?, ?, ?) ON CONFLICT (conversation) "
            "DO UPDATE SET holder = excluded.holder, until = excluded.until "
            "WHERE holder = excluded.holder OR until <= ?",
            conversation,
            holder,
            now + self._lease_s,
            now,
        )
        return self._lease_s if changed == 1 else 0.0

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
        with self._guard:
            self._database.close()

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


def _limits(max_sessions: int, idle_s: float) -> tuple[int, float]:
    """Check the limits of a store."""
    check_positive("max_sessions", max_sessions)
    if max_sessions > MAX_NUMBER:
        raise OptionError(
            f"max_sessions must be at most 2^63 - 1, not {shown(max_sessions)}",
            option="max_sessions",
        )
    return max_sessions, _seconds("idle_s", idle_s)


def _memory(conversation: str, saved: SavedSession) -> int:
    """The bytes of memory that a conversation takes."""
    return sum(map(sys.getsizeof, (conversation, saved, *saved)))


def _row_size(row: str) -> str:
    """The bytes of a row, in SQL. SQLite does not read the session for its length."""
    texts = (f"length(CAST({row}.{name} AS BLOB))" for name in ("conversation", "answer"))
    return " + ".join((*texts, f"length({row}.session)"))


def _seconds(name: str, value: float) -> float:
    """Check a time in seconds."""
    seconds = real(name, value)
    if not seconds > 0:
        raise OptionError(f"{name} must be more than 0, not {shown(value)}", option=name)
    return seconds
