"""The ASGI middleware: reads coded requests, and codes answers that come in one part."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._threads import run
from ._protocol import CREDENTIALS, FRAME, MAX_KEPT, Headers, Options, RefusalError, length_of
from ._server import Server, Turn, refusal

if TYPE_CHECKING:
    from ..savings import Saving

# The names of ASGI.
_Message = Any
_Receive = Callable[[], Any]
_Send = Callable[[_Message], Any]


class CompactASGI:
    """An ASGI application that reads and writes bodies as differences from earlier ones.

    Clients without `compact_transport` get plain HTTP. The application gets every body byte for
    byte, with the headers that a plain request would have. Place it inside any middleware that
    compresses answers, because compressed answers stay as they are. Sessions are in the memory of
    this process: see `docs/http.md` for servers of several processes.

    Parameters
    ----------
    app : callable
        The ASGI application.
    max_sessions : int
        The maximum number of sessions. The least recently used is forgotten first.
    idle_s : float
        The seconds without a request after which a session is forgotten.
    max_size : int
        The largest body in bytes; larger ones are sent plain, and so are answers over 1 MiB. Each
        session keeps bodies of at most twice this size.
    max_memory : int
        The maximum memory of all sessions together, in bytes. The least recently used are forgotten
        first.
    lanes : int
        The maximum number of requests of one client that are coded at once, from 1 to 64; others
        are sent plain.
    credentials : iterable of str
        The headers that identify the user. A session belongs to one value of them.
    on_saving : callable, optional
        Called with a `compactwire.savings.Saving`, in bytes, for each coded request and each
        answer that could be coded.

    Raises
    ------
    TypeError, OptionError
        An option has another type, or a value that is not allowed.

    Examples
    --------
    >>> async def app(scope, receive, send): ...
    >>> app = CompactASGI(app, max_sessions=1_000)

    Source: an extension of this package.
    """

    def __init__(
        self,
        app: Callable[..., Any],
        *,
        max_sessions: int = 256,
        idle_s: float = 600.0,
        max_size: int = 16_777_216,
        max_memory: int = 268_435_456,
        lanes: int = 4,
        credentials: Iterable[str] = CREDENTIALS,
        on_saving: Callable[[Saving], object] | None = None,
    ) -> None:
        if not callable(app):
            raise TypeError(f"app must be an ASGI application, not {type(app).__name__}")
        options = Options(
            max_sessions=max_sessions,
            idle_s=idle_s,
            max_size=max_size,
            max_memory=max_memory,
            credentials=credentials,
            on_saving=on_saving,
        )
        self._app = app
        self._server = Server(options, lanes)

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Serve a connection."""
        turn = None
        if scope["type"] == "http":
            if not isinstance(scope["headers"], list | tuple):
                # An iterator, which the application reads after this.
                scope["headers"] = list(scope["headers"])
            turn = self._server.begin(scope["method"], _text(scope["headers"]))
        if turn is None:
            await self._app(scope, receive, send)
            return
        size = None
        if turn.coded:
            try:
                limit = self._server.options.max_size + FRAME
                coded = await _read(receive, limit, keep=turn.refusal is None)
                if coded is None:
                    return
                body = await run(len(coded) + turn.weight, turn.body, coded)
            except RefusalError as refused:
                await _refuse(send, refused)
                return
            size, receive = len(body), _Body(body, receive).receive
            # It is the application's now, which may let it go long before it ends.
            del coded, body
        elif turn.wants:
            kept = _Kept(receive)
            receive, turn.first = kept.receive, kept.body
        inner = _Scope(scope, _raw(turn.request_headers(size)))
        answer = _Answer(turn, send, inner.share)
        try:
            await self._app(inner.content, receive, answer.send)
        except Exception:
            # Without this middleware, too, the client sees an answer that ends early, not an error.
            with contextlib.suppress(Exception):
                await answer.flush()
            raise
        finally:
            inner.share()
        await answer.flush()


class _Scope:
    """The scope of the application: a copy of the one outside, with other headers."""

    def __init__(self, outside: Any, headers: list[tuple[bytes, bytes]]) -> None:
        self.content = {**outside, "headers": headers}
        self._outside, self._shared = outside, dict(self.content)

    def share(self) -> None:
        """Note outside what the application has changed since, such as its route."""
        before, self._shared = self._shared, dict(self.content)
        for key in (before.keys() | self._shared.keys()) - {"headers"}:
            if key not in self._shared:
                self._outside.pop(key, None)
            elif key not in before or self._shared[key] is not before[key]:
                self._outside[key] = self._shared[key]


class _Body:
    """The decoded body, and after it the further messages of the server."""

    def __init__(self, body: bytes, receive: _Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def receive(self) -> _Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class _Kept:
    """Keeps the body that the application receives, unless it is long."""

    def __init__(self, receive: _Receive) -> None:
        self._receive = receive
        self._body, self._is_long, self._whole = bytearray(), False, False

    async def receive(self) -> _Message:
        message = await self._receive()
        if message["type"] == "http.request":
            part = message.get("body", b"")
            self._is_long = self._is_long or len(self._body) + len(part) > MAX_KEPT
            if self._is_long:
                self._body.clear()
            else:
                self._body += part
            self._whole = not message.get("more_body", False)
        return message

    def body(self) -> bytes | None:
        """The body; None if it is long, or was not received to its end."""
        return bytes(self._body) if self._whole and not self._is_long else None


class _Answer:
    """Codes an answer whose first part is its whole body. All others are sent as they are made.

    Only the head is held back until that part: a server need not send it before either.
    """

    def __init__(self, turn: Turn, send: _Send, begins: Callable[[], None]) -> None:
        self._turn, self._send, self._begins = turn, send, begins
        self._start: _Message = None
        self._begun = False

    async def send(self, message: _Message) -> None:
        # A second head is an error, and the server says so.
        if message["type"] == "http.response.start" and not self._begun:
            self._begun = True
            self._begins()
            await self._begin(message)
        elif self._start is not None and message["type"] == "http.response.body":
            await self._first(message)
        else:
            await self.flush()
            await self._send(message)

    async def _begin(self, start: _Message) -> None:
        # The headers may be an iterator, and are read twice.
        raw = list(start.get("headers", ()))
        self._start = {**start, "headers": raw}
        headers = _text(raw)
        if not self._turn.may_code(start["status"], headers) or start.get("trailers"):
            await self.flush()

    async def _first(self, message: _Message) -> None:
        assert self._start is not None
        headers, body = _text(self._start["headers"]), bytes(message.get("body", b""))
        # If its length is not the declared one, the ASGI server reports that.
        if len(body) != length_of(headers):
            await self.flush()
            await self._send(message)
            return
        start, self._start = self._start, None
        weight = self._turn.answer_weight(len(body))
        headers, body = await run(weight, self._turn.answer, start["status"], headers, body)
        await self._send({**start, "headers": _raw(headers)})
        await self._send({**message, "body": body})

    async def flush(self) -> None:
        """Send the head, if it was held back."""
        if self._start is None:
            return
        start, self._start = self._start, None
        headers = self._turn.plain(start["status"], _text(start["headers"]))
        await self._send({**start, "headers": _raw(headers)})


async def _read(receive: _Receive, limit: int, *, keep: bool) -> bytes | None:
    """A coded body, not much longer than the body itself; None if the client has gone.

    The body of a request that is refused is not kept, but read: a client may not see an answer
    before it has sent its request.
    """
    # A list of small parts would take many times their size.
    body, size, more = bytearray(), 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise RefusalError(413, "size")
        if keep:
            body += part
        more = message.get("more_body", False)
    return bytes(body)


async def _refuse(send: _Send, refused: RefusalError) -> None:
    headers, body = refusal(refused)
    start = {"type": "http.response.start", "status": refused.status, "headers": _raw(headers)}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _text(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return [
        (bytes(name).lower().decode("latin-1"), bytes(value).decode("latin-1"))
        for name, value in headers
    ]


def _raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
