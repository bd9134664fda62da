"""The part of the protocol that client and server share, without input and output.

Both sides of a session have the same lanes. A lane is a pair of `Session` objects, one for the
bodies of requests and one for those of answers, and has one request at a time.

Invariants: a server refuses a request only before the application sees it, so that sending it again
is safe for every method. A server codes an answer only against an answer that the client says it
has read, because an answer cannot be sent again.
"""

from __future__ import annotations

import hashlib
import re
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .._core import Session
from .._texts import check_positive, real
from ..errors import InvalidFormat, OptionError, OutputTooLarge
from ..savings import Saving
from ._header import CODING

CREDENTIALS = ("authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key")
"""Headers that identify the user."""

MIN_SIZE = 512
# The headers of a coded body take about as much.
_MIN_SAVING = 64
# The largest plain body that begins a session: both sides read it a second time.
MAX_KEPT = 1 << 17
# Beginning with a body takes as long as continuing one that is this many times as long.
WORK = 8
# A message has a few bytes more than its body.
FRAME = 1_024
# A session can have a body twice, since it can take one back, and keeps the last packed ones.
_COPIES, _HISTORY = 2, 1 << 17
# These headers describe the bytes on the wire, or sign them.
_SEALED = (
    *("content-encoding", "content-range", "digest", "content-digest", "repr-digest"),
    *("content-md5", "signature", "signature-input", "x-amz-content-sha256"),
)
# A token of RFC 9110.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

Headers = list[tuple[str, str]]
"""Names in lower case, and values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of client and server."""

    max_sessions: int
    idle_s: float
    max_size: int
    max_memory: int
    credentials: Iterable[str] = CREDENTIALS
    on_saving: Callable[[Saving], object] | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        for name in ("max_sessions", "max_size", "max_memory"):
            check_positive(name, getattr(self, name))
        object.__setattr__(self, "idle_s", real("idle_s", self.idle_s))
        if not self.idle_s > 0:
            raise OptionError(f"idle_s must be more than 0, not {self.idle_s}", option="idle_s")
        if self.on_saving is not None and not callable(self.on_saving):
            raise TypeError(f"on_saving must be callable, not {type(self.on_saving).__name__}")
        object.__setattr__(self, "credentials", _names(self.credentials))

    def session(self) -> Session:
        """A session of one direction."""
        return Session(max_size=self.max_size + FRAME)

    def keeps(self, headers: Headers, body: bytes) -> bool:
        """Whether a session begins with the body of a request that has these headers."""
        if self.why_plain(headers, len(body), min(MAX_KEPT, self.max_size)):
            return False
        try:
            body.decode()
        except UnicodeDecodeError:
            return False
        return True

    def begin(self, first: bytes) -> tuple[Session, Session]:
        """The sessions of a sender and of its peer that begin with a body."""
        sender, peer = self.session(), self.session()
        coded = sender.encode_request(context=first.decode(), pack="bytes")
        body_of(peer, coded, self.max_size)
        return sender, peer

    def owner(self, headers: Headers, *more: str) -> bytes:
        """A digest of the user's credentials: one session never has the bodies of two users."""
        digest = hashlib.sha256()
        found = [(name, value) for name, value in headers if name in self.credentials]
        for text in (*more, *(text for pair in found for text in pair)):
            data = text.encode("utf-8", "surrogateescape")
            digest.update(b"%d:" % len(data))
            digest.update(data)
        return digest.digest()

    def why_plain(self, headers: Headers, size: int, limit: int) -> str:
        """Why a body of this size stays plain, or an empty string."""
        if any(name in _SEALED for name, _ in headers):
            return "encoded"
        return "" if MIN_SIZE <= size <= limit else "size"

    def code(
        self, session: Session | None, body: bytes
    ) -> tuple[bytes | None, Session | None, str]:
        """A body as a packed request, the session that wrote it, and why there is none.

        A session that is None begins anew. If nothing is gained, the session is as before.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return None, session, "not-text"
        writer = session or self.session()
        coded = writer.encode_request(context=text, pack="bytes")
        if len(coded) + _MIN_SAVING > len(body):
            writer.rollback()
            return None, session, "no-gain"
        return coded, writer, ""

    def whole(self, body: bytes) -> tuple[bytes, Session] | None:
        """A body as a request that is not packed, and the session that wrote it.

        It is a little longer than the body, and takes a small part of the time. None if it is not
        text.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return None
        writer = self.session()
        (message,) = writer.encode_request(context=text)
        return message.encode(), writer

    def report(self, direction: str, before: int, after: int, reason: str = "") -> None:
        """Report to the caller how a body was sent."""
        if self.on_saving is not None:
            form = "text" if reason else "session"
            self.on_saving(
                Saving(
                    source="http",
                    tool=direction,
                    format=form,
                    before=before,
                    after=after,
                    unit="bytes",
                    exact=True,
                    reason=reason,
                )
            )


def _names(credentials: Iterable[str]) -> tuple[str, ...]:
    if isinstance(credentials, str | bytes) or not isinstance(credentials, Iterable):
        kind = type(credentials).__name__
        raise TypeError(f"credentials must be a list of names of headers, not {kind}")
    names = tuple(credentials)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"credentials must hold str, not {type(name).__name__}")
        # No request can have a header of that name: users would share a session unnoticed.
        if not _NAME.fullmatch(name):
            raise OptionError(
                f"credentials must hold names of headers, and {name!r} is none",
                option="credentials",
            )
    return tuple(sorted({name.lower() for name in names}))


def length_of(headers: Headers) -> int | None:
    """The length that the headers declare; None if it is missing or invalid.

    Beside a `Transfer-Encoding` it does not count (RFC 9112, section 6.3).
    """
    if values(headers, "transfer-encoding"):
        return None
    lengths = values(headers, "content-length")
    known = len(lengths) == 1 and len(lengths[0]) < 16 and lengths[0].isdecimal()
    return int(lengths[0]) if known else None


def values(headers: Headers, name: str) -> list[str]:
    """The values of a header, one for each line."""
    return [value for key, value in headers if key == name]


def is_coded(headers: Headers) -> bool:
    """Whether the content coding is ours."""
    return [value.strip().lower() for value in values(headers, "content-encoding")] == [CODING]


def without(headers: Headers, *names: str) -> Headers:
    """The headers but for these."""
    return [(name, value) for name, value in headers if name not in names]


def body_of(session: Session, coded: bytes, max_size: int) -> bytes:
    """The body of a packed request. Raises a `DecodeError` if there is none, or it is longer."""
    try:
        request = session.decode_request(coded)
    except OutputTooLarge:
        # That error names the limit of the session: `FRAME` bytes more than the user's.
        raise _too_large(max_size) from None
    if request.context is None or request.tools or request.system is not None:
        raise InvalidFormat("expected a request with a context and nothing else")
    body = request.context.encode()
    if len(body) > max_size:
        raise _too_large(max_size)
    return body


def _too_large(max_size: int) -> OutputTooLarge:
    error = OutputTooLarge(f"the body is larger than max_size, {max_size} bytes")
    error.limit = max_size
    return error


class Use:
    """What an exchange of a client refers to for as long as it uses a lane, or offers a session.

    The lane and the offer refer to it weakly. Both are therefore free as soon as the exchange ends,
    even if Ctrl-C ended it where it could not say so.
    """

    over = False
    """Whether the exchange has ended. The exception that ended it may still refer to this."""


def is_used(by: weakref.ref[Use] | None) -> bool:
    """Whether an exchange uses a lane or offer that refers to this."""
    use = None if by is None else by()
    return use is not None and not use.over


@dataclass(slots=True)
class Lane:
    """What one side keeps of a lane: a `Session` for requests, one for answers, and their sizes."""

    seq: int = 0
    """The number of the last request."""
    fresh: bool = True
    """Whether the next request begins anew."""
    requests: Session | None = None
    first: bytes = b""
    """A body that both sides have, with which `requests` begins as soon as it is needed."""
    answers: Session | None = None
    answered: int = 0
    """The number of the request that had the last coded answer."""
    request_size: int = 0
    answer_size: int = 0
    """The bytes of memory of the two sessions, counted after each use."""
    body: bytes = b""
    target: str = ""
    """The client's last body and its method and path, by which it finds the lane to continue."""
    user: weakref.ref[Use] | None = None
    """By what a client uses the lane; None if it was freed, and its state is known."""
    used: int = 0

    @property
    def busy(self) -> bool:
        """Whether it is in use by a client."""
        return is_used(self.user)

    @property
    def size(self) -> int:
        """The bytes of memory that the lane counts for."""
        return self.request_size + self.answer_size + len(self.body) + len(self.first)

    @property
    def weight(self) -> int:
        """The size, in bytes, by which the time to code or read a body grows."""
        return self.size + WORK * len(self.first)

    def clear(self) -> None:
        """Release all bodies."""
        self.requests = self.answers = None
        self.request_size = self.answer_size = 0
        self.body = self.first = b""


@dataclass(slots=True)
class Lanes:
    """What one side keeps of a session: its lanes, its owner and its limits."""

    id: str
    owner: bytes
    """A digest of the user's credentials; the key in the table of a client."""
    limit: int
    """The largest body that both sides accept."""
    lanes: list[Lane]
    max_answer: int = 0
    """The bytes that a client sends to the server as its limit; 0 if the server's is not larger."""
    uses: int = 0
    number: int = 0
    """How many sessions a client had opened with it."""
    targets: dict[str, None] = field(default_factory=dict)
    """Where a client knows that the session is read; the oldest is first."""

    @property
    def size(self) -> int:
        """The bytes of memory that the session counts for."""
        return sum(lane.size for lane in self.lanes)

    def use(self, number: int) -> Lane:
        """The lane, which is now the last one used."""
        self.uses += 1
        lane = self.lanes[number]
        lane.used = self.uses
        return lane

    def restart(self, number: int) -> None:
        """Begin a lane anew. Its numbers go on, so that a request that is late is noticed."""
        old = self.lanes[number]
        self.lanes[number] = Lane(seq=old.seq, user=old.user, used=old.used)
        old.clear()

    def clear(self) -> None:
        """Release the bodies of all lanes, which requests under way may still refer to."""
        for lane in self.lanes:
            lane.clear()

    def trim(self) -> None:
        """Begin lanes anew while all together are larger than two of the largest bodies need."""
        largest = 2 * (_COPIES * self.limit + _HISTORY)
        by_use = sorted(range(len(self.lanes)), key=lambda number: self.lanes[number].used)
        for number in by_use[:-1]:
            if self.size <= largest:
                break
            if not self.lanes[number].busy:
                self.restart(number)


class RefusalError(Exception):
    """A server does not accept a request, which the application has not seen."""

    def __init__(self, status: int, word: str) -> None:
        super().__init__(word)
        self.status, self.word = status, word
