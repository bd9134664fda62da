"""The transports of httpx and httpx2: code the bodies of requests, and read coded answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._threads import run
from ..errors import CompactWireError
from ._client import Client, Exchange
from ._header import CODING, NAME
from ._protocol import CREDENTIALS, Headers, Options, length_of

if TYPE_CHECKING:
    from ..savings import Saving

_Transport = TypeVar("_Transport")
_LIBRARIES = ("httpx", "httpx2")
# A refusal up to this size is read to its end: the connection can then be used again.
_SHORT = 4_096


def compact_transport(
    inner: _Transport,
    /,
    *,
    max_sessions: int = 64,
    idle_s: float = 600.0,
    max_size: int = 16_777_216,
    max_memory: int = 268_435_456,
    credentials: Iterable[str] = CREDENTIALS,
    on_saving: Callable[[Saving], object] | None = None,
) -> _Transport:
    """Wrap a transport, so that servers with `CompactASGI` get only the new part of each body.

    Other servers get plain requests. The bodies of requests and answers are byte for byte those of
    plain HTTP.

    Parameters
    ----------
    inner : httpx.BaseTransport or httpx.AsyncBaseTransport
        The transport, of httpx or httpx2.
    max_sessions : int
        The maximum number of sessions: one for each origin and user, and one for each path of the
        origin that another `CompactASGI` serves. The least recently used is forgotten first.
    idle_s : float
        The seconds without a request after which a session is forgotten, and for which a server
        without sessions is not asked again.
    max_size : int
        The largest body in bytes; larger ones are sent plain. Each session keeps bodies of at most
        twice this size.
    max_memory : int
        The maximum memory of all sessions together, in bytes. The least recently used are forgotten
        first.
    credentials : iterable of str
        The headers that identify the user. A session belongs to one value of them.
    on_saving : callable, optional
        Called with a `compactwire.savings.Saving`, in bytes, for each request body and each
        coded answer.

    Returns
    -------
    httpx.BaseTransport or httpx.AsyncBaseTransport
        A transport of the same kind. If a coded answer cannot be read, it raises `DecodingError` of
        the library: the server has acted on the request.

    Raises
    ------
    TypeError, OptionError
        `inner` is no transport, or an option has another type, or a value that is not allowed.

    Examples
    --------
    >>> import httpx  # doctest: +SKIP
    >>> inner = httpx.AsyncHTTPTransport()  # doctest: +SKIP
    >>> client = httpx.AsyncClient(transport=compact_transport(inner))  # doctest: +SKIP

    Source: an extension of this package.
    """
    library = _library(inner)
    bases: list[type] = []
    for mixin, base in ((_Sync, "BaseTransport"), (_Async, "AsyncBaseTransport")):
        if isinstance(inner, getattr(library, base)):
            bases += (mixin, getattr(library, base))
    options = Options(
        max_sessions=max_sessions,
        idle_s=idle_s,
        max_size=max_size,
        max_memory=max_memory,
        credentials=credentials,
        on_saving=on_saving,
    )
    transport = type("CompactTransport", tuple(bases), {"__module__": __name__})()
    transport._wire = _Wire(library, inner, Client(options))
    return cast("_Transport", transport)


def _library(inner: object) -> Any:
    """The library of a transport."""
    for name in _LIBRARIES:
        library: Any = sys.modules.get(name)
        # A transport of a library that is not imported cannot exist.
        if library is not None and isinstance(
            inner, library.BaseTransport | library.AsyncBaseTransport
        ):
            return library
    raise TypeError(
        "inner must be a transport of httpx or httpx2, such as httpx.AsyncHTTPTransport(), "
        f"not {type(inner).__name__}"
    )


class _Wire:
    """The part that both kinds of transport share."""

    def __init__(self, library: Any, inner: Any, client: Client) -> None:
        self.library, self.inner, self.client = library, inner, client

    def begin(self, request: Any) -> Exchange:
        url = request.url
        # Other streams may be endless, or can be read only once.
        known = isinstance(request.stream, self.library.ByteStream)
        body = b"".join(request.stream) if known else None
        # The raw path, as gateways may tell `/a%2Fb` from `/a/b`. An extension can replace it.
        path = request.extensions.get("target", url.raw_path).partition(b"?")[0].decode("latin-1")
        origin, target = f"{url.scheme}://{url.host}:{url.port}", f"{request.method} {path}"
        return self.client.begin(origin, _headers(request), body, target)

    def request(self, request: Any, header: str, coded: bytes | None) -> Any:
        """The request as it is sent."""
        if not header:
            return request
        headers = [pair for pair in request.headers.raw if pair[0].lower() != NAME.encode()]
        if coded is not None:
            headers = _raw_without(headers, "content-length", "transfer-encoding")
            headers.append((b"Content-Encoding", CODING.encode()))
            headers.append((b"Content-Length", b"%d" % len(coded)))
        headers.append((b"Compactwire", header.encode()))
        return self.library.Request(
            request.method,
            request.url,
            headers=headers,
            stream=request.stream if coded is None else self.library.ByteStream(coded),
            extensions=request.extensions,
        )

    def decoded(self, request: Any, response: Any, exchange: Exchange, coded: bytes) -> Any:
        """The answer with its body decoded."""
        try:
            body = exchange.decode(coded)
        except CompactWireError as error:
            raise self.library.DecodingError(
                f"the answer is coded by a session and cannot be read: {error}", request=request
            ) from error
        # They describe the bytes on the wire. A program that passes the answer on with both
        # `Content-Length` and `Transfer-Encoding` would let its peers disagree about its end.
        described = ("content-encoding", "content-length", "transfer-encoding")
        headers = _raw_without(response.headers.raw, NAME, *described)
        headers.append((b"Content-Length", b"%d" % len(body)))
        return self.library.Response(
            response.status_code,
            headers=headers,
            stream=self.library.ByteStream(body),
            extensions=response.extensions,
        )

    def is_short(self, response: Any) -> bool:
        """Whether to read an answer to its end although it is not used."""
        length = length_of(_headers(response))
        return length is not None and length <= min(_SHORT, self.client.options.max_size)

    def too_large(self, request: Any, exchange: Exchange) -> Exception:
        """The error for an answer that is longer than any that a server may send."""
        exchange.unreadable()
        error: Exception = self.library.DecodingError(
            "the answer is coded by a session and longer than max_size, "
            f"{self.client.options.max_size} bytes",
            request=request,
        )
        return error


class _Kind:
    """Names the client to use, where one looks for the methods of the other kind of transport."""

    _wire: _Wire

    def __getattr__(self, name: str) -> Any:
        if name in ("handle_request", "close", "__enter__"):
            client, other, transport = "Client", "AsyncClient", "HTTPTransport"
        elif name in ("handle_async_request", "aclose", "__aenter__"):
            client, other, transport = "AsyncClient", "Client", "AsyncHTTPTransport"
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        library, inner = self._wire.library.__name__, type(self._wire.inner).__name__
        raise AttributeError(
            f"a transport of {inner} is for {library}.{other}; for {library}.{client}, wrap a "
            f"transport of its kind, such as {library}.{transport}()"
        )


class _Sync(_Kind):
    def handle_request(self, request: Any) -> Any:
        wire = self._wire
        exchange = wire.begin(request)
        try:
            while True:
                header, coded = exchange.attempt()
                response = wire.inner.handle_request(wire.request(request, header, coded))
                try:
                    step = exchange.answered(response.status_code, _headers(response))
                    if step == "plain":
                        response.headers.pop(NAME, None)
                        return response
                    if step == "coded":
                        body = self._read(request, response, exchange)
                        response.close()
                        return wire.decoded(request, response, exchange, body)
                    if wire.is_short(response):
                        self._read(request, response, exchange)
                    response.close()
                except BaseException:
                    response.close()
                    raise
        finally:
            exchange.close()

    def _read(self, request: Any, response: Any, exchange: Exchange) -> bytes:
        body = bytearray()  # A list of small parts would take many times their size.
        for part in response.stream:
            if len(body) + len(part) > self._wire.client.options.max_size:
                raise self._wire.too_large(request, exchange)
            body += part
        return bytes(body)

    def close(self) -> None:
        self._wire.inner.close()

    def __enter__(self) -> Any:
        self._wire.inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._wire.inner.__exit__(*error)


class _Async(_Kind):
    # A transport of both kinds has both classes: no name may be in both.

    async def handle_async_request(self, request: Any) -> Any:
        wire = self._wire
        exchange = wire.begin(request)
        try:
            while True:
                header, coded = await run(exchange.weight, exchange.attempt)
                sent = wire.request(request, header, coded)
                response = await wire.inner.handle_async_request(sent)
                try:
                    step = exchange.answered(response.status_code, _headers(response))
                    if step == "plain":
                        response.headers.pop(NAME, None)
                        return response
                    if step == "coded":
                        body = await self._aread(request, response, exchange)
                        await response.aclose()
                        weight = len(body) + exchange.answer_weight
                        return await run(weight, wire.decoded, request, response, exchange, body)
                    if wire.is_short(response):
                        await self._aread(request, response, exchange)
                    await response.aclose()
                except BaseException:
                    await response.aclose()
                    raise
        finally:
            exchange.close()

    async def _aread(self, request: Any, response: Any, exchange: Exchange) -> bytes:
        body = bytearray()  # A list of small parts would take many times their size.
        async for part in response.stream:
            if len(body) + len(part) > self._wire.client.options.max_size:
                raise self._wire.too_large(request, exchange)
            body += part
        return bytes(body)

    async def aclose(self) -> None:
        await self._wire.inner.aclose()

    async def __aenter__(self) -> Any:
        await self._wire.inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._wire.inner.__aexit__(*error)


def _headers(message: Any) -> Headers:
    raw = message.headers.raw
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


def _raw_without(headers: Iterable[tuple[bytes, bytes]], *names: str) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower().decode("latin-1") not in names]
