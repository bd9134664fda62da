"""The receiving side: keeps conversations by their ids, and answers each turn once.

Invariant: a store keeps the state of a conversation after the last turn that was answered, with
that answer. Both change in one step, so that a turn whose answer failed can be sent again.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from math import inf
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from .._core import Request, Session
from .._guard import Guard
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

_ADVICE = "answer it after `respond` has returned, or in another conversation"

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


class Locks:
    """A lock for each key, as long as it is used."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Forget all locks: in the child of a fork, its parent's threads hold them for ever."""
        # A handler of a signal, or `__del__`, may take another lock while its thread takes one.
        self._guard = Guard()
        self._locks: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()

    def of(self, key: Hashable, make: Callable[[], Any]) -> Any:
        def made() -> Any:
            return self._locks.setdefault(key, make())

        return self._guard.run(made, made)


class TurnLocks:
    """The locks of conversations, and of the tasks of an event loop that wait for them."""

    def __init__(self) -> None:
        self.locks = Locks()
        self.queues = Locks()


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
    These methods must take no turns: the threads in which `answer_async` calls them are few.

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
        self._wait_s = check_seconds("wait_s", wait_s)
        self._turn_locks = TurnLocks()
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

        def answered() -> str | bytes:
            opened = self._open(conversation, turn)
            if isinstance(opened, SavedSession):
                return opened.answer
            answer = respond(opened.request)
            check_finished("respond", answer, "answer_async")
            return self._close(opened, answer)

        return self._lock(conversation).hold(partial(lease.hold, answered))

    async def answer_async(
        self, conversation: str, turn: Turn, respond: Callable[[Request], Awaitable[str | bytes]], /
    ) -> str | bytes:
        """Like `answer`, for a `respond` that is a coroutine function.

        If the task is cancelled while the answer is being kept, it ends when it has been kept.
        """
        lease = self._lease(conversation, turn, respond)

        async def answered() -> str | bytes:
            async with lease:
                opened = await finished(partial(self._open, conversation, turn))
                if isinstance(opened, SavedSession):
                    return opened.answer
                response = respond(opened.request)
                check_awaitable("respond", response, "answer")
                answer = await response
                return await finished(partial(self._close, opened, answer))

        return await self._hold_async(conversation, answered)

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

    async def _hold_async(
        self, conversation: str, work: Callable[[], Awaitable[str | bytes]]
    ) -> str | bytes:
        """Hold the lock of a conversation, as `answer` does."""
        import asyncio

        # The tasks of one event loop wait in order; at most one of them asks for the lock, which a
        # thread or a task of another event loop may hold.
        queue = self._turn_locks.queues.of((conversation, asyncio.get_running_loop()), asyncio.Lock)
        lock = self._lock(conversation)
        lock.check(asyncio.current_task())
        async with queue:
            return await lock.hold_async(work, partial(asyncio.sleep, _POLL_S))

    def _open(self, conversation: str, turn: Turn) -> _Opened | SavedSession:
        saved = self._loaded(conversation)
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

    def _loaded(self, conversation: str) -> SavedSession | None:
        """What is kept of a conversation; a subclass may return a row of its database instead."""
        saved = self.load(conversation)
        if saved is not None:
            check_type("load()", saved, SavedSession)
        return saved

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
        other = self._loaded(opened.conversation)
        if other is None:
            raise TurnConflict(
                f"turn {turn.number}: the store did not keep the answer; send the turn again",
                number=turn.number,
                last=opened.after,
            )
        return _answered(turn, other).answer


def check_saved(conversation: str, saved: SavedSession, after: int) -> None:
    """Raise for arguments of `save` that `load` would refuse, or that could change afterwards."""
    check_texts(conversation=conversation)
    check_type("saved", saved, SavedSession)
    for name, number, least in (("after", after, 0), ("saved.number", saved.number, 1)):
        check_type(name, number, int)
        if not least <= number <= MAX_NUMBER:
            expected = f"from {least} to 2^63 - 1, as the numbers of turns"
            raise OptionError(f"{name} must be {expected}, not {shown(number)}", option=name)
    check_type("saved.digest", saved.digest, bytes)
    check_type("saved.session", saved.session, bytes)
    if isinstance(saved.answer, str):
        check_texts(**{"saved.answer": saved.answer})
    elif not isinstance(saved.answer, bytes):
        kind = type(saved.answer).__name__
        raise TypeError(f"saved.answer must be a str or bytes, not {kind}")


def _answered(turn: Turn, saved: SavedSession) -> SavedSession:
    """Return the kept state if it is that of this turn; raise `TurnConflict` otherwise."""
    if (turn.number, turn.digest) == (saved.number, saved.digest):
        return saved
    if turn.number == saved.number:
        what = "other frames were answered under this number"
    else:
        what = f"turn {saved.number} was answered already, and earlier answers are not kept"
    if saved.number < MAX_NUMBER:
        advice = f"with number {saved.number + 1}, which `Sender.go_on({saved.number})` does"
    else:
        advice = "in another conversation: this one has had the last number"
    message = f"turn {turn.number}: {what}; go on {advice}"
    raise TurnConflict(message, number=turn.number, last=saved.number)


def limits(max_sessions: int, idle_s: float) -> tuple[int, float]:
    """Check the limits of a store."""
    check_positive("max_sessions", max_sessions)
    if max_sessions > MAX_NUMBER:
        raise OptionError(
            f"max_sessions must be at most 2^63 - 1, not {shown(max_sessions)}",
            option="max_sessions",
        )
    return max_sessions, check_seconds("idle_s", idle_s)


def check_seconds(name: str, value: float) -> float:
    """Check a time in seconds."""
    seconds = real(name, value)
    if not seconds > 0:
        raise OptionError(f"{name} must be more than 0, not {shown(value)}", option=name)
    return seconds
