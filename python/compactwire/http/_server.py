"""The server's side: which session a request names, and how an answer is written."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from sys import getsizeof

from .._core import Session
from .._table import Table
from .._threads import LONG
from ..errors import CompactWireError, OptionError, OutputTooLarge, UnknownReference
from ._header import CODING, NAME, REFUSAL, Header, read
from ._protocol import (
    WORK,
    Headers,
    Lane,
    Lanes,
    Options,
    RefusalError,
    body_of,
    is_coded,
    length_of,
    values,
    without,
)

_ID_BYTES = 16
_MAX_LANES = 64
# New text takes about 0.2 s for each MiB, in which the client waits for the head of the answer.
_MAX_ANSWER = 1 << 20
_NO_BODY = (204, 205, 206, 304)
# Caches that know one of these ignore `Cache-Control` (RFC 9213), and so our `no-store`.
_STORED = ("surrogate-control", "x-accel-expires")
_STORED_END = "cdn-cache-control"


class Server:
    """The sessions of one application, safe for several threads."""

    def __init__(self, options: Options, lanes: int) -> None:
        if not isinstance(lanes, int) or isinstance(lanes, bool):
            raise TypeError(f"lanes must be an int, not {type(lanes).__name__}")
        if not 1 <= lanes <= _MAX_LANES:
            raise OptionError(f"lanes must be from 1 to {_MAX_LANES}", option="lanes")
        self.options = options
        self.wary = False
        """Whether a short coded body had a long text or was refused: each may take long, then."""
        self._lanes = lanes
        self._lock = threading.Lock()
        # By a hash of the id, so that the time of a lookup tells nothing about ids that are close.
        self._sessions: Table[bytes, Lanes] = Table(
            most=options.max_sessions,
            idle_s=options.idle_s,
            memory=options.max_memory,
            clock=options.clock,
            # A request may hold one for as long as the application takes to answer.
            forgotten=Lanes.clear,
        )

    def begin(self, method: str, headers: Headers) -> Turn | None:
        """Begin with a request; None if it is none of ours."""
        if not values(headers, NAME) and not is_coded(headers):
            return None
        return Turn(self, method, headers, read(values(headers, NAME)) or Header())

    def owner(self, headers: Headers) -> bytes:
        """A digest of the user's credentials."""
        return self.options.owner(headers, *values(headers, "host"))

    def find(self, id: str, owner: bytes) -> Lanes | None:
        """The session with this id, if it belongs to this owner."""
        with self._lock:
            session = self._sessions.get(_key(id)) if id else None
            if session is None or not hmac.compare_digest(session.owner, owner):
                return None
            return session

    def open(self, owner: bytes, first: bytes | None = None) -> Header:
        """Make a session, and give it a name that cannot be guessed.

        Its first lane begins with a body, if one is given.
        """
        id = secrets.token_urlsafe(_ID_BYTES)
        lanes = [Lane() for _ in range(self._lanes)]
        limit = self.options.max_size
        lanes[0].first = first or b""
        with self._lock:
            self._sessions.put(_key(id), Lanes(id, owner, limit, lanes))
        return Header(session=id, lanes=self._lanes, size=limit, kept=bool(first))

    def enter(self, session: Lanes, header: Header) -> Lane | None:
        """The lane for a request; None if its number was used, or is of no lane."""
        with self._lock:
            if header.lane >= len(session.lanes):
                return None
            lane = session.use(header.lane)
            if header.seq <= lane.seq:
                return None
            if header.new:
                session.restart(header.lane)
                lane = session.lanes[header.lane]
            lane.seq = header.seq
            if lane.answered != header.got:
                lane.answers, lane.answer_size = None, 0
            return lane

    def lives(self, session: Lanes, lane: Lane) -> bool:
        """Whether a lane of a session was not ended."""
        with self._lock:
            return self._lives(session, lane)

    def _lives(self, session: Lanes, lane: Lane) -> bool:
        return self._sessions.has(_key(session.id), session) and any(
            lane is each for each in session.lanes
        )

    def keep_request(self, session: Lanes, lane: Lane, requests: Session) -> None:
        """Keep what a lane has read, unless it was ended, and forget what exceeds a limit."""
        size = getsizeof(requests)
        with self._lock:
            if self._lives(session, lane):
                lane.requests, lane.request_size, lane.first = requests, size, b""
                self._trim(session)

    def keep_answer(self, session: Lanes, lane: Lane, answers: Session, seq: int) -> None:
        """Keep what a lane has written in the answer to this request, on the same terms."""
        size = getsizeof(answers)
        with self._lock:
            if not self._lives(session, lane):
                return
            if lane.seq == seq:
                lane.answers, lane.answered, lane.answer_size = answers, seq, size
            else:
                # A later request was begun, whose client does not know of this answer.
                lane.answers, lane.answer_size = None, 0
            self._trim(session)

    def _trim(self, session: Lanes) -> None:
        session.trim()
        self._sessions.resized(_key(session.id), session)


class Turn:
    """One request and its answer.

    If `coded`, call `body` before anything else. The head of the answer goes to `may_code`: where
    that is true, the whole answer goes to `answer`, and otherwise the head to `plain`.
    """

    def __init__(self, server: Server, method: str, headers: Headers, header: Header) -> None:
        self._server, self._method, self._headers, self._header = server, method, headers, header
        self._owner = server.owner(headers)
        self._session = server.find(header.session, self._owner)
        self._lane = server.enter(self._session, header) if self._session is not None else None
        self._accepted = False
        self.coded = is_coded(headers) or header.coded
        self.wants = not self.coded and self._session is None and (header.offer or header.session)
        """Whether a session is wanted; it then begins with `first`, the body of the request."""
        self.first: Callable[[], bytes | None] = lambda: None

    @property
    def weight(self) -> int:
        """The size, in bytes, by which the time to read the body grows, beside that of the body."""
        known = self._lane.weight if self._lane is not None else 0
        return max(known, LONG) if self._server.wary else known

    def answer_weight(self, size: int) -> int:
        """The size, in bytes, by which the time to code an answer of this size grows."""
        begins = self._lane is not None and self._lane.answers is None
        return self.weight + (WORK * size if begins else size)

    @property
    def refusal(self) -> RefusalError | None:
        """Why the head of a coded request is refused, whatever its body is."""
        header = self._header
        if not (header.coded and header.session and is_coded(self._headers)):
            return RefusalError(415, "coding")
        if self._session is None:
            return RefusalError(410, "session")
        return RefusalError(409, "seq") if self._lane is None else None

    def body(self, coded: bytes) -> bytes:
        """The body of a coded request; raises `RefusalError`."""
        if (refusal := self.refusal) is not None:
            raise refusal
        assert self._session is not None
        assert self._lane is not None
        lane = self._lane
        # Another request can end the lane at any time.
        requests = lane.requests or self._session_of(lane.first)
        try:
            body = body_of(requests, coded, self._server.options.max_size)
        except UnknownReference:
            self._server.wary = True
            raise RefusalError(409, "state") from None
        except CompactWireError as error:
            self._server.wary = True
            # It may have left something in the session.
            lane.requests, lane.request_size, lane.first = None, 0, b""
            if isinstance(error, OutputTooLarge):
                raise RefusalError(413, "size") from None
            raise RefusalError(400, "body") from None
        self._accepted = True
        if len(body) > len(coded) + lane.size + LONG:
            self._server.wary = True
        self._server.keep_request(self._session, lane, requests)
        self._server.options.report("request", len(body), len(coded))
        return body

    def _session_of(self, first: bytes) -> Session:
        options = self._server.options
        return options.begin(first)[1] if first else options.session()

    def request_headers(self, size: int | None = None) -> Headers:
        """The headers for the application, with the size of the body if it was coded."""
        headers = without(self._headers, NAME)
        if size is None:
            return headers
        headers = without(headers, "content-encoding", "content-length", "transfer-encoding")
        return [*headers, ("content-length", str(size))]

    def may_code(self, status: int, headers: Headers) -> bool:
        """Whether the body of an answer with this head may be coded: it is known how long it is."""
        length = length_of(headers)
        if self._lane is None or self._method == "HEAD" or status in _NO_BODY or length is None:
            return False
        if self._session is None or not self._server.lives(self._session, self._lane):
            return False
        kinds = values(headers, "content-type")
        if any(kind.strip().lower().startswith("text/event-stream") for kind in kinds):
            return False
        if _is_stored(headers):
            return False
        options = self._server.options
        limit = min(options.max_size, self._header.size or options.max_size, _MAX_ANSWER)
        return not options.why_plain(headers, length, limit)

    def answer(self, status: int, headers: Headers, body: bytes) -> tuple[Headers, bytes]:
        """The headers and the body of an answer, coded if that is shorter."""
        lane, session, options = self._lane, self._session, self._server.options
        assert lane is not None
        assert session is not None
        # A later request of this lane was begun: this answer would be out of step.
        if lane.seq != self._header.seq:
            return self.plain(status, headers), body
        old = lane.answers
        coded, answers, reason = options.code(old, body)
        if coded is None or answers is None:
            options.report("response", len(body), len(body), reason)
            return self.plain(status, headers), body
        self._server.keep_answer(session, lane, answers, self._header.seq)
        options.report("response", len(body), len(coded))
        headers = without(headers, NAME, "content-length")
        headers += [("content-length", str(len(coded))), ("content-encoding", CODING)]
        return _marked(headers, Header(seq=self._header.seq, coded=True, new=old is None)), coded

    def plain(self, status: int, headers: Headers) -> Headers:
        """The headers of an answer whose body stays as it is."""
        headers = without(headers, NAME)
        asked = self._lane is not None and self._header.offer
        stored = _is_stored(headers)
        if self._accepted or (asked and not stored):
            return _marked(headers, Header(seq=self._header.seq))
        # A user that the application rejects gets no session, and so takes no memory.
        if not self.wants or status >= 400 or stored:
            return headers
        first = self.first()
        if first is not None and not self._server.options.keeps(self._headers, first):
            first = None
        return _marked(headers, self._server.open(self._owner, first))


def refusal(refused: RefusalError) -> tuple[Headers, bytes]:
    """The headers and the body of an answer to a request that is refused."""
    body = f"compactwire: the request was refused ({refused.word})\n".encode()
    headers = [("content-type", REFUSAL), ("content-length", str(len(body)))]
    return _marked(headers, Header(refused=refused.word)), body


def _marked(headers: Headers, header: Header) -> Headers:
    """An answer with our header is for one client: a cache must not give it to another."""
    more = [(NAME, str(header)), ("cache-control", "no-store"), ("vary", "Compactwire")]
    return [*headers, *more]


def _is_stored(headers: Headers) -> bool:
    """Whether some caches may keep an answer with these headers whatever we say."""
    return any(name in _STORED or name.endswith(_STORED_END) for name, _ in headers)


def _key(id: str) -> bytes:
    return hashlib.sha256(id.encode()).digest()
