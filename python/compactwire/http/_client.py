"""The client's side: chooses a lane, codes a request, and decides on the next step."""

from __future__ import annotations

import hashlib
import weakref
from sys import getsizeof
from typing import Literal

from .._guard import Guard, or_else, soon
from .._table import Table
from .._threads import LONG
from ..errors import CompactWireError, InvalidFormat
from ._header import CODING, NAME, REFUSAL, Header, read
from ._protocol import (
    MIN_SIZE,
    WORK,
    Headers,
    Lane,
    Lanes,
    Options,
    Use,
    body_of,
    is_coded,
    is_used,
    values,
)

Step = Literal["again", "plain", "coded"]
"""What follows an answer: another attempt, or its body is read as it is, or decoded."""

_CREDIT = 3
# Offers to all paths of a server together: some may be of other applications.
_MAX_OFFERS = 16
# A server decides how many lanes a session has.
_MAX_LANES = 64
_MAX_ORIGINS = 1_024
# Sessions in a row that were never used: each request has other credentials.
_MAX_UNUSED = 64
# Answers of an application that does not know the coding.
_NOT_UNDERSTOOD = (400, 415, 422)
# Targets of a session that are known to read what is coded.
_MAX_TARGETS = 256
# New text takes about 0.2 s for each MiB to pack. More of it is sent as it is.
_MAX_NEW = 1 << 20
# Pieces of a body, their length, and how far they may have moved in the next one.
_PROBES, _PROBE, _NEAR = 32, 24, 1 << 18


class _Origin:
    """The offers of sessions to a server, or for a path or a user of it, and what became of them.

    A server that only refuses, and a user or path that is only refused, gets plain requests for a
    while.
    """

    size = 0

    def __init__(self, off_until: float = 0.0, ended: int = 0) -> None:
        self.offers, self.unused, self.credit, self.off_until = 0, 0, _CREDIT, off_until
        self.ended = ended
        """How many sessions there were when the end of one was last counted."""


class Client:
    """The sessions of one transport, safe for several threads."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.wary = False
        """Whether a short coded answer had a long text or was invalid: each may take long, then."""
        # The collector closes the exchange of a task that it frees, also within a call of ours.
        self._guard = Guard()
        self._offering: dict[bytes, weakref.ref[Use]] = {}
        self._count = 0
        self._sessions: Table[bytes, Lanes] = Table(
            most=options.max_sessions,
            idle_s=options.idle_s,
            memory=options.max_memory,
            clock=options.clock,
        )
        self._origins: Table[str, _Origin] = Table(
            most=_MAX_ORIGINS, idle_s=float("inf"), memory=0, clock=options.clock
        )

    def begin(
        self, origin: str, headers: Headers, body: bytes | None, target: str = ""
    ) -> Exchange:
        """Begin with a request to a target, whose body is None if it is not known yet."""
        key = self.options.owner(headers, origin, *values(headers, "host"))
        return Exchange(self, origin, key, headers, body, target)

    @or_else("busy")
    def claim(
        self, key: bytes, origin: str, body: bytes, target: str, use: Use
    ) -> tuple[Lanes, int] | str:
        """A session and a lane of it that is free; or why there is none."""
        session = self._session(key, target)
        if session is None or self._is_off(origin) or self._is_off(session.owner.hex()):
            return "no-session"
        number = _best(session.lanes, body, target)
        if number is None:
            return "busy"
        if session.lanes[number].user is not None:
            # It was in use by an exchange that has ended without freeing it.
            session.restart(number)
        lane = session.use(number)
        lane.user, lane.target = weakref.ref(use), target
        return session, number

    def weight(self, key: bytes, target: str, body: bytes) -> int:
        """The size, in bytes, by which the time to code a body grows, in any lane."""
        known, free = self._bodies(key, target)
        if len(body) >= LONG or free is None:
            return len(body) + known
        new = len(body) - max((_common(old, body) for old in free), default=0)
        return len(body) + known + WORK * new

    @or_else((0, None))
    def _bodies(self, key: bytes, target: str) -> tuple[int, list[bytes] | None]:
        """The largest weight of a lane, and the bodies of the free ones; None without lanes."""
        session = self._session(key, target)
        if session is None or not session.lanes:
            return 0, None
        known = max(lane.weight for lane in session.lanes)
        return known, [lane.body for lane in session.lanes if not lane.busy]

    @soon
    def restart(self, session: Lanes, number: int) -> None:
        """Begin a lane anew that is in use."""
        session.restart(number)

    @soon
    def release(self, session: Lanes, number: int, use: Use, *, whole: bool) -> None:
        """Free a lane. If the exchange is not whole, the server's state of it is unknown.

        The lane may be in another use by now: one that is over does not keep it.
        """
        user = session.lanes[number].user
        if user is None or user() is not use:
            return
        if not whole:
            session.restart(number)
        session.lanes[number].user = None
        session.trim()
        self._sessions.resized(session.owner, session)

    @or_else(False)
    def offer(self, key: bytes, origin: str, target: str, use: Use) -> bool:
        """Whether to offer a session now. One offer of each user is under way at a time."""
        known = self._session(key, target) is not None
        off = any(self._is_off(each) for each in (origin, origin + target, key.hex()))
        offering = self._offering.get(key)
        if known or off or is_used(offering):
            return False
        self._offering[key] = weakref.ref(use)
        return True

    @soon
    def offered(
        self,
        key: bytes,
        origin: str,
        target: str,
        answer: Header | None,
        use: Use,
        first: Lane | None = None,
    ) -> None:
        """An offer was answered, by a session or not; None if it is unknown what it led to.

        A session may begin with a lane that has a body already.
        """
        offering = self._offering.get(key)
        if offering is not None and offering() is use:  # Not that of another exchange.
            del self._offering[key]
        if answer is None:
            return
        state = self._state(origin)
        if answer.session and answer.lanes:
            state.offers, state.unused = 0, state.unused + 1
            if state.unused > _MAX_UNUSED:
                self._switch_off(origin)
            session = self._opened(key, answer, first)
            session.targets[target] = None
            self._sessions.put(key, session)
            return
        for place, most in ((origin, _MAX_OFFERS), (origin + target, _CREDIT)):
            state = self._state(place)
            state.offers += 1
            if state.offers >= most:
                self._switch_off(place)

    def _opened(self, key: bytes, answer: Header, first: Lane | None) -> Lanes:
        lanes = [Lane() for _ in range(min(answer.lanes, _MAX_LANES))]
        if first is not None:
            lanes[0] = first
        limit = min(self.options.max_size, answer.size or self.options.max_size)
        smaller = 0 if limit == answer.size else limit
        self._count += 1
        return Lanes(
            answer.session, key, limit, lanes, max_answer=smaller, uses=1, number=self._count
        )

    @soon
    def accepted(self, origin: str, owner: bytes) -> None:
        """Something was coded with a session of this owner, and accepted."""
        for state in (self._state(origin), self._origins.get(owner.hex())):
            if state is not None:
                state.unused, state.credit = 0, min(state.credit + 1, _CREDIT)

    @or_else(False)
    def failed(self, origin: str, *, cost: int = 1) -> bool:
        """Count a coded request that was not accepted; whether coding is now switched off."""
        return self._failed(origin, cost)

    @soon
    def end(self, session: Lanes, origin: str, *, cost: int = 1) -> None:
        """Forget a session that the server does not have; the next request offers a new one.

        A restart ends all sessions, each in several requests, and counts once: sessions that were
        older than another one's end count only if the cost is the whole credit. A server may also
        forget all sessions of one user, for whom each then counts.
        """
        if self._sessions.drop(session.owner, session):
            self._failed(session.owner.hex(), 1)
        state = self._state(origin)
        if session.number > state.ended or cost == _CREDIT:
            state.ended = self._count
            self._failed(origin, cost)

    @soon
    def learn(self, session: Lanes, target: str) -> None:
        """A target has answered in a session: what is coded with it can be sent there."""
        session.targets[target] = None
        if len(session.targets) > _MAX_TARGETS:
            del session.targets[next(iter(session.targets))]

    def _session(self, key: bytes, target: str) -> Lanes | None:
        """The session of a target alone, or else that of the origin."""
        return self._sessions.get(_key_of(key, target)) or self._sessions.get(key)

    def _failed(self, origin: str, cost: int) -> bool:
        state = self._state(origin)
        state.credit -= cost
        if state.credit > 0:
            return False
        self._switch_off(origin)
        return True

    def _state(self, origin: str) -> _Origin:
        state = self._origins.get(origin)
        if state is None:
            state = _Origin()
            self._origins.put(origin, state)
        return state

    def _is_off(self, origin: str) -> bool:
        state = self._origins.get(origin)
        return state is not None and state.off_until > self.options.clock()

    def _switch_off(self, origin: str) -> None:
        until = self.options.clock() + self.options.idle_s
        self._origins.put(origin, _Origin(until, self._count))


class Exchange:
    """One request, until its answer is known.

    `attempt` and `answered` alternate while `answered` returns "again"; `decode` follows "coded".
    Call `close` in any case.
    """

    def __init__(
        self,
        client: Client,
        origin: str,
        key: bytes,
        headers: Headers,
        body: bytes | None,
        target: str,
    ) -> None:
        self._client, self._origin, self._key = client, origin, key
        self._headers, self._body = headers, body
        # A hash takes the same memory for every path.
        self._target = hashlib.sha256(target.encode("utf-8", "surrogateescape")).hexdigest()
        self._may_code = True
        self._refused_once = self._offering = self._coded = self._whole = False
        self._known = False
        self._held: tuple[Lanes, int] | None = None
        self._use = Use()
        self._lane = Lane()
        self._answer = Header()
        self._encoding = ""
        self._sent = 0
        self._reason = ""

    @property
    def weight(self) -> int:
        """The size, in bytes, by which the time to code the body grows."""
        return self._client.weight(self._key, self._target, self._body or b"")

    @property
    def answer_weight(self) -> int:
        """The bytes that the work on its answer depends on, beside those of the answer."""
        known = self._lane.answer_size
        return max(known, LONG) if self._client.wary else known

    def attempt(self) -> tuple[str, bytes | None]:
        """The header to send, if any, and the coded body; None for the body as it is."""
        coded = self._code() if self._may_code else None
        self._coded = coded is not None
        self._sent += len((self._body or b"") if coded is None else coded)
        if self._held is None:
            self._offering = self._client.offer(self._key, self._origin, self._target, self._use)
            return str(Header(offer=self._offering)), None
        session, number = self._held
        lane = self._lane
        header = Header(
            offer=not self._known,
            session=session.id,
            size=session.max_answer,
            lane=number,
            seq=lane.seq,
            got=lane.answered,
            coded=self._coded,
            new=lane.fresh,
        )
        return str(header), coded

    def _code(self) -> bytes | None:
        """Take a lane, and code the body with it."""
        body = self._body
        if self._held is None:
            place = (self._key, self._origin, body or b"", self._target)
            claimed = self._client.claim(*place, self._use)
            if isinstance(claimed, str):
                self._reason = claimed
                return None
            self._held = claimed
        session, number = self._held
        lane = self._lane = session.lanes[number]
        lane.seq += 1
        # Another path may lead to another application, which would take the coded body for its own.
        self._known = self._target in session.targets
        if not self._known:
            self._reason = "no-session"
        if body is None or not self._known:
            return None
        options = self._client.options
        self._reason = options.why_plain(self._headers, len(body), session.limit)
        if self._reason:
            return None
        if len(body) - _common(lane.body, body) > _MAX_NEW:
            return self._begin_with(body)
        if lane.first:
            lane.requests, lane.first = options.begin(lane.first)[0], b""
            lane.request_size = getsizeof(lane.requests)
        coded, requests, self._reason = options.code(lane.requests, body)
        if coded is not None:
            lane.requests, lane.request_size, lane.body = requests, getsizeof(requests), body
        return coded

    def _begin_with(self, body: bytes) -> bytes | None:
        """Begin the lane anew with a body that is not packed, and that the next ones continue."""
        assert self._held is not None
        written = self._client.options.whole(body)
        self._reason = "not-text" if written is None else "new"
        if written is None:
            return None
        session, number = self._held
        self._client.restart(session, number)
        lane = self._lane = session.lanes[number]
        coded, lane.requests = written
        lane.request_size, lane.body = getsizeof(lane.requests), body
        return coded

    def answered(self, status: int, headers: Headers) -> Step:
        """Return the next step after an answer with this status and these headers."""
        answer = self._answer = read(values(headers, NAME)) or Header()
        # Missing is no matter: the header of a coded answer says that it is coded.
        self._encoding = "" if is_coded(headers) else ", ".join(values(headers, "content-encoding"))
        coded = answer.coded or is_coded(headers)
        if self._held is None:
            if self._offering:
                # An error can be of a gateway: it does not show whether the server has sessions.
                unknown = status >= 400
                self._offering = False
                first = self._first(answer)
                self._offered(self._key, None if unknown else answer, first)
            return "coded" if coded else self._over()
        if self._coded:
            if answer.refused:
                return self._refused(status)
            if REFUSAL in values(headers, "content-type"):
                # Something between client and server has removed our header.
                self._client.end(self._held[0], self._origin, cost=_CREDIT)
                return self._again_plain()
            if answer.seq != self._lane.seq:
                return self._lost(status, coded=coded)
            self._client.accepted(self._origin, self._held[0].owner)
        elif answer.session and status < 400:
            # The server has lost the session, or it is another server: it answered with a new one.
            session, _ = self._held
            key = session.owner if self._known else _key_of(self._key, self._target)
            self._offered(key, answer, self._first(answer))
            return self._over()
        elif not self._known and answer.seq == self._lane.seq and status < 400:
            # An error may mean that no application serves this path yet.
            self._client.learn(self._held[0], self._target)
        return "coded" if coded else self._over()

    def _offered(self, key: bytes, answer: Header | None, first: Lane | None = None) -> None:
        self._client.offered(key, self._origin, self._target, answer, self._use, first)

    def _first(self, answer: Header) -> Lane | None:
        """A lane that begins with the body of this request, which was plain and the server kept."""
        body = self._body
        if body is None or not answer.kept or not self._client.options.keeps(self._headers, body):
            return None
        return Lane(fresh=False, first=body, body=body, used=1)

    def _refused(self, status: int) -> Step:
        """The application has not seen the request: send it again, coded if that may help."""
        assert self._held is not None
        session, number = self._held
        if status != 409:
            self._client.end(session, self._origin)
        elif not self._client.failed(self._origin) and not self._refused_once:
            self._refused_once = True
            self._client.restart(session, number)
            return "again"
        return self._again_plain()

    def _lost(self, status: int, *, coded: bool) -> Step:
        """The answer is not of a server that knows the session."""
        assert self._held is not None
        # An application that succeeds may have taken the coded body for its own.
        for_long = status < 400 or status in _NOT_UNDERSTOOD
        self._client.end(self._held[0], self._origin, cost=_CREDIT if for_long else 1)
        if status in _NOT_UNDERSTOOD:
            return self._again_plain()
        return "coded" if coded else self._over()

    def _again_plain(self) -> Step:
        self._release(whole=False)
        self._may_code = False
        self._reason = "refused"
        return "again"

    def decode(self, coded: bytes) -> bytes:
        """The body of a coded answer. Raises a `CompactWireError` if it cannot be read."""
        lane, answer = self._lane, self._answer
        try:
            if self._held is None:
                raise InvalidFormat(
                    "the answer is coded, but this request has no session: something between "
                    "client and server has kept the answer to another client"
                )
            if answer.seq != lane.seq:
                raise InvalidFormat("the answer is coded, but not for this request")
            if self._encoding:
                raise InvalidFormat(
                    f"its Content-Encoding is {self._encoding!r}, not {CODING!r}: something "
                    "between client and server has compressed it again"
                )
            answers = None if answer.new else lane.answers
            answers = answers or self._client.options.session()
            body = body_of(answers, coded, self._client.options.max_size)
        except CompactWireError:
            self.unreadable()
            raise
        if len(body) > len(coded) + lane.answer_size + LONG:
            self._client.wary = True
        lane.answers, lane.answered, lane.answer_size = answers, lane.seq, getsizeof(answers)
        self._client.accepted(self._origin, self._held[0].owner)
        self._over()
        self._client.options.report("response", len(body), len(coded))
        return body

    def unreadable(self) -> None:
        """A coded answer cannot be read.

        The application has acted on the request: no more answers of this server are risked.
        """
        self._client.wary = True
        self._client.failed(self._origin, cost=_CREDIT)

    def _over(self) -> Step:
        # Otherwise it is not known whether the server has the lane begun anew.
        if self._answer.seq == self._lane.seq:
            self._lane.fresh = False
        self._whole = True
        if self._body:
            self._client.options.report("request", len(self._body), self._sent, self._reason)
        return "plain"

    def close(self) -> None:
        """Free the lane. If the exchange is not over, the lane begins anew."""
        try:
            if self._offering:
                self._offered(self._key, None)
                self._offering = False
            self._release(whole=self._whole)
        finally:
            # Frees what the calls above did not reach.
            self._use.over = True
            self._use = Use()

    def _release(self, *, whole: bool) -> None:
        if self._held is not None:
            self._client.release(*self._held, self._use, whole=whole)
            self._held = None


def _key_of(key: bytes, target: str) -> bytes:
    """The key of the session of one target alone."""
    return key + target.encode()


def _best(lanes: list[Lane], body: bytes, target: str) -> int | None:
    """The free lane that a body continues, or else the one that was not used for longest."""
    free = [number for number, lane in enumerate(lanes) if not lane.busy]
    if not free:
        return None
    if len(body) < MIN_SIZE:
        same = [number for number in free if lanes[number].target == target]
        return min(same or free, key=lambda number: lanes[number].used)
    found = {number: _found(lanes[number].body, body) for number in free}
    best = max(free, key=found.__getitem__)
    # A conversation that grows, or has an edit, keeps most of what it had.
    if found[best] * 4 >= _PROBES * 3:
        return best
    return min(free, key=lambda number: lanes[number].used)


def _common(old: bytes, new: bytes) -> int:
    """The length of the beginning that two bodies have in common, which is not coded again."""
    one, other = memoryview(old), memoryview(new)
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _found(old: bytes, new: bytes) -> int:
    """How many pieces of a body, taken at equal distances, are in another, and near their place."""
    if not old:
        return 0
    count = 0
    for number in range(_PROBES):
        at = (len(old) - _PROBE) * number // (_PROBES - 1)
        piece = old[max(at, 0) : at + _PROBE]
        count += new.find(piece, max(at - _NEAR, 0), at + _NEAR) >= 0
    return count
