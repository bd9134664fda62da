"""The sending side: numbers turns, one at a time, and repeats what the receiver lacks."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import Session
from .._texts import check_awaitable, check_callable, check_finished, check_type, iterated, shown
from ..errors import InvalidFormat, OptionError, UnknownReference
from ._lock import TurnLock

if TYPE_CHECKING:
    import asyncio

ATTEMPTS = 4
"""How often a request is sent at most: its receiver rejects it at most three times."""

MAX_NUMBER = 2**63 - 1

_ADVICE = "send it after `deliver` has returned, or in another conversation with its own Sender"

_CONTEXT = "c_00000000"
"""The id of a conversation: `Session.forget` ignores its digits."""

_Frames = str | bytes | tuple[str | bytes, ...] | list[str]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Turn:
    """A request and its number in the conversation.

    Parameters
    ----------
    number : int
        The number, from 1 to 2^63 - 1. Numbers grow; some may be missing. Without hashes, in
        sessions with `checked=False`, the turn after a missing one must contain the conversation.
    frames : list or tuple of str or bytes, str or bytes
        The output of `Session.encode_request`.
    """

    number: int
    frames: _Frames

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or isinstance(self.number, bool):
            raise TypeError(f"number must be an int, not {type(self.number).__name__}")
        if not 1 <= self.number <= MAX_NUMBER:
            raise OptionError(
                f"number must be from 1 to 2^63 - 1, not {shown(self.number)}", option="number"
            )
        if isinstance(self.frames, bytearray | memoryview):
            found = type(self.frames).__name__
            raise TypeError(f"frames must be a str, bytes or a list of these, not {found}")
        single = isinstance(self.frames, str | bytes)
        frames = self.frames if single else tuple(iterated("frames", self.frames, "str or bytes"))
        for at, frame in enumerate(() if single else frames):
            if not isinstance(frame, str | bytes):
                found = type(frame).__name__
                raise TypeError(f"frames[{at}] must be a str or bytes, not {found}")
        object.__setattr__(self, "frames", frames)

    def __reduce__(self) -> tuple[type[Turn], tuple[int, _Frames]]:
        # The constructor checks a pickle that was changed; the state of a dataclass is not checked.
        return Turn, (self.number, self.frames)

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the frames, by which the same request is recognised."""
        frames = [self.frames] if isinstance(self.frames, str | bytes) else self.frames
        digest = hashlib.sha256()
        for frame in frames:
            data = frame.encode(errors="surrogatepass") if isinstance(frame, str) else frame
            digest.update(b"%d:" % len(data))
            digest.update(data)
        return digest.digest()


class Sender:
    """Sends the requests of one conversation, one after the other.

    Several threads, or several tasks, may send at once: each waits for the turn before it. A copy
    or pickle continues with the next number. It does not know the outcome of a turn that was under
    way: if that was answered, the next one is a `TurnConflict`.

    Parameters
    ----------
    session : Session, optional
        The session that encodes the requests; by default a new one. Nothing else may encode
        requests with it. With `checked=False`, the first request contains the whole conversation.
    number : int
        The number of the first turn. A sender that lost its state and goes on with a conversation
        begins after the last number, or calls `go_on` after a `TurnConflict`.
    """

    session: Session
    """The session that encodes the requests."""

    def __init__(self, session: Session | None = None, *, number: int = 1) -> None:
        if session is not None:
            check_type("session", session, Session)
        self.session = Session() if session is None else session
        self._number = Turn(number, "").number
        if not self.session.checked:
            # A session that was saved may be older than the last turn that arrived.
            self.session.forget(_CONTEXT)
        self._failed: bytes | None = None
        self._turn: Turn | None = None
        self._encoded: int | None = None
        """The turn under way, and how many bytes were sent before it; None if none is."""
        self._last: int | None = None
        """The identity of the turn that was delivered last, until the next one begins."""
        self._must_forget = False
        """Whether the next turn sends the conversation anew: the receiver may have lost it."""
        self._lock = TurnLock(_ADVICE)
        self._queue: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    def send(self, deliver: Callable[[Turn], _Answer], /, **request: Any) -> _Answer:
        """Send a request until the receiver has all of it.

        Parameters
        ----------
        deliver : callable
            Takes a `Turn`, delivers its number and its frames, and returns the answer. It raises
            `UnknownReference(ids=...)` if the receiver reports that it lacks references; the
            request is then sent again with these, at most four times in all. It must not send with
            the same sender, nor wait for a thread or task that does.
        **request
            The arguments of `Session.encode_request`.

        Returns
        -------
        object
            The result of `deliver`.

        Raises
        ------
        NestedTurn
            `deliver` sends with the same sender, so that both would wait for ever.
        Exception
            The exception of `deliver`. The session is then as before the call. The same call may
            be repeated: it sends the same turn under the same number, which a store answers once.
            After another request was sent in between, or after `go_on`, it is a new turn.
        """
        check_callable("deliver", deliver)
        request = _repeatable(request)
        turn: Turn | None = None

        def sent() -> _Answer:
            nonlocal turn
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    turn = self._begin(request)
                    answer = deliver(turn)
                    check_finished("deliver", answer, "send_async")
                    self._delivered(turn, request)
                except BaseException as error:
                    if not self._take_back(error) or attempt == ATTEMPTS:
                        raise
                else:
                    return answer
            raise AssertionError("the last attempt returns or raises")

        try:
            return self._lock.hold(sent)
        except BaseException:
            self._lose(turn)
            raise

    async def send_async(
        self, deliver: Callable[[Turn], Awaitable[_Answer]], /, **request: Any
    ) -> _Answer:
        """Like `send`, for a `deliver` that is a coroutine function."""
        import asyncio

        check_callable("deliver", deliver)
        request = _repeatable(request)
        loop = asyncio.get_running_loop()
        self._lock.check(asyncio.current_task())
        turn: Turn | None = None

        async def sent() -> _Answer:
            nonlocal turn
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    turn = self._begin(request)
                    delivery = deliver(turn)
                    check_awaitable("deliver", delivery, "send")
                    answer = await delivery
                    self._delivered(turn, request)
                except BaseException as error:
                    if not self._take_back(error) or attempt == ATTEMPTS:
                        raise
                else:
                    return answer
            raise AssertionError("the last attempt returns or raises")

        async def refuse() -> None:
            raise RuntimeError(
                "use either send or send_async of one sender, not both at once, "
                "and send_async in one event loop at a time"
            )

        # A lock that tasks have waited for belongs to their event loop.
        if self._queue is None or self._queue[0] is not loop:
            self._queue = loop, asyncio.Lock()
        try:
            async with self._queue[1]:
                return await self._lock.hold_async(sent, refuse)
        except BaseException:
            self._lose(turn)
            raise

    def go_on(self, last: int, /) -> None:
        """Go on after a `TurnConflict`: the next turn has a number after `last`.

        Without this call, the request that failed is sent again under its number, for ever in
        vain. After it, the same request is a new turn, and is answered even if it was answered
        before: if that does harm, ask the receiver first.

        Parameters
        ----------
        last : int
            `TurnConflict.last`, the number of the last turn that was answered.

        Raises
        ------
        NestedTurn
            `deliver` calls it with its own sender: call it after `send` has raised the error.
        """
        check_type("last", last, int)
        if not 0 <= last < MAX_NUMBER:
            raise OptionError(f"last must be from 0 to 2^63 - 2, not {shown(last)}", option="last")

        def moved() -> None:
            self._take_back()
            self._last = None
            used = self._number if self._failed is not None else self._number - 1
            self._number = max(used, last) + 1
            self._failed = None
            if not self.session.checked:
                # The receiver may have another conversation, which no hash would tell.
                self.session.forget(_CONTEXT)

        self._lock.hold(moved)

    def _begin(self, request: dict[str, Any]) -> Turn:
        """Encode a turn that is then under way."""
        self._take_back()
        if self._must_forget:
            self.session.forget(_CONTEXT)
            self._must_forget = False
        # Requests that another thread decodes with the session do not change this count.
        self._turn, self._encoded, self._last = None, self.session.stats.bytes_out, None
        self._turn = turn = self._encode(request)
        self._number = turn.number
        return turn

    def _take_back(self, error: BaseException | None = None) -> bool:
        """Restore the session after a turn that failed; whether the request is to be sent again.

        A rejection prepares the next attempt. If a signal ends this method, the turn stays under
        way, and the next call begins with taking it back.
        """
        if self._encoded is None:
            return False
        turn, missing = self._turn, None
        # Without a turn, nothing was delivered: Ctrl-C may come when the request is encoded.
        if turn is not None or self.session.stats.bytes_out > self._encoded:
            self.session.rollback()
        if turn is not None:
            missing = _missing(error) if isinstance(error, UnknownReference) else None
            # The turn may have arrived, so its number belongs to its frames unless it was rejected.
            self._number, self._failed = turn.number, turn.digest if missing is None else None
            self.session.forget(*missing or ())
        self._turn = self._encoded = None
        self._must_forget = False
        return missing is not None

    def _lose(self, turn: Turn | None) -> None:
        """Take a delivered turn back, if a signal has ended its call after all.

        Another thread that has begun the next turn goes on.
        """

        def put_back() -> None:
            if turn is not None and self._last == id(turn):
                self._turn, self._encoded, self._last = turn, 0, None
                self._take_back()

        self._lock.use(put_back)

    def _encode(self, request: dict[str, Any]) -> Turn:
        turn = Turn(self._number, self.session.encode_request(**request))
        if self._failed not in (None, turn.digest):
            turn = Turn(self._number + 1, self._independent(turn.frames, request))
        return turn

    def _independent(self, frames: _Frames, request: dict[str, Any]) -> _Frames:
        """The frames of a request that follows a turn which may have arrived.

        If it has arrived, the receiver rejects frames that do not follow it, by their hash. Frames
        without a hash must contain the whole conversation.
        """
        if self.session.checked:
            return frames
        self.session.rollback()
        self.session.forget(_CONTEXT)
        independent: _Frames = self.session.encode_request(**request)
        return independent

    def _delivered(self, turn: Turn, request: dict[str, Any]) -> None:
        has_conversation = any(request.get(name) is not None for name in ("context", "messages"))
        # The receiver may have lost the conversation, which it could not notice in this turn. It is
        # forgotten later: if a signal ends this method, the turn can still be taken back.
        self._must_forget = not (self.session.checked or has_conversation)
        self._last = id(turn)
        self._number, self._failed = turn.number + 1, None
        self._turn = self._encoded = None

    def __getstate__(self) -> tuple[Session, int, bytes | None]:
        under_way, number, failed = self._is_under_way(), self._number, self._failed
        session = copy.copy(self.session)
        if under_way or self._is_under_way():
            # The session is ahead of a turn that may be lost. If the turn arrives, the next one of
            # the copy is a conflict, because it has the same number.
            failed = None
            if not session.checked:
                session.forget(_CONTEXT)
        elif self._must_forget:
            session.forget(_CONTEXT)
        return session, number, failed

    def _is_under_way(self) -> bool:
        return self._encoded is not None or self._lock.locked()

    def __setstate__(self, state: object) -> None:
        match state:
            case (Session() as session, int(number), (None | bytes()) as failed):
                self.session, self._failed = session, failed
                self._number = Turn(number, "").number
            case _:
                raise InvalidFormat("the pickle of a Sender holds something else than its state")
        self._turn = self._encoded = self._last = None
        self._must_forget = False
        self._lock = TurnLock(_ADVICE)
        self._queue = None


def _repeatable(request: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a request that can be encoded for each attempt."""
    messages = request.get("messages")
    return {**request, "messages": list(messages)} if isinstance(messages, Iterator) else request


def _missing(error: UnknownReference) -> Iterable[str]:
    """The ids that the receiver reported; without them the same request would be rejected again."""
    ids: Iterable[str] | None = getattr(error, "ids", None)
    if not ids or isinstance(ids, str):
        raise TypeError(
            "deliver raised an UnknownReference without a list of ids: pass on those of the "
            "receiver, as UnknownReference(message, ids=ids)"
        ) from error
    return ids
