"""Requests to one URL, by the standard library, and answers that are read as they arrive.

There is a connection for each request that is open, and one that is idle is used again. Threads may
share an endpoint; another thread can end a request that is waiting.

Redirects are followed only within the origin of the URL, and only where the method stays: the
headers and the message were meant for this server.

Source: RFC 9110 and RFC 9112, by `http.client`.
"""

from __future__ import annotations

import contextlib
import http
import http.client
import os
import re
import select
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin

from .._core import __version__
from .._texts import short_line
from ._http_urls import (
    address,
    checked,
    is_loopback,
    named_proxy,
    origin,
    proxy_for,
    proxy_headers,
    target_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

__all__ = ["Answer", "Endpoint", "HttpError", "Interrupt"]

_CHUNK = 1 << 16
_CONNECT_SECONDS = 30.0
_MAX_REDIRECTS = 5
_MAX_INTERIM = 100
_MAX_TRAILERS, _MAX_LINE = 100, 65_536
# Leading zeros do not count (RFC 9110, section 8.6).
_CHUNK_SIZE = re.compile(rb"0*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n")
_LENGTH = re.compile(r"0*[0-9]{1,18}[ \t]*")


# Servers often end a connection that was idle for five seconds; a request may then be lost.
_IDLE_SECONDS = 3.0
_MAX_IDLE = 8

# Seconds until a peer that is gone without a word is noticed: silence, then probes.
_KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


class HttpError(Exception):
    """A request failed. The text goes after "the MCP server at ...".

    `status` is that of the answer, if there was one; `passing` tells that another try may help.
    """

    def __init__(self, text: str, *, status: int | None = None, passing: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.passing = passing


class Interrupt:
    """Lets one thread end the request of another one."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    @property
    def was_set(self) -> bool:
        """Whether the request was ended."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait, unless the request is ended; whether it was."""
        return self._event.wait(seconds)

    def watch(self, connected: socket.socket | None) -> None:
        """Name the connection to end; None if there is none any more."""
        with self._lock:
            self._socket = connected
            if self._event.is_set():
                self._shut()

    def set(self) -> None:
        """End the request: reading and writing fail at once."""
        self._event.set()
        with self._lock:
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # `SSLSocket.shutdown` would drop the TLS state that the other thread reads with.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Response(http.client.HTTPResponse):
    """An answer, without the interim answers (1xx) before it, whose end is certain."""

    def begin(self) -> None:
        super().begin()
        # `http.client` takes 6_090 and +6090 for 6090, the first of several lengths, and a coding
        # that it does not know for none: a program in between might see another end.
        lengths = self.headers.get_all("Content-Length", [])
        codings = self.headers.get_all("Transfer-Encoding", [])
        if not all(_LENGTH.fullmatch(one) for one in lengths) or len(set(map(int, lengths))) > 1:
            raise http.client.HTTPException("invalid Content-Length")
        if [one.lower() for one in codings] not in ([], ["chunked"]):
            raise http.client.HTTPException("unknown Transfer-Encoding")
        if self.headers.get_payload():
            # After a line without a colon, `email` takes the other headers for a text.
            raise http.client.HTTPException("invalid header line")

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(_MAX_INTERIM):
            # Private and without a type, but `http.client` itself skips only status 100.
            line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            if not 100 <= line[1] < 200 or line[1] == http.HTTPStatus.SWITCHING_PROTOCOLS:
                return line
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("too many interim answers")

    def _read_next_chunk_size(self) -> int:
        # Private, too: `http.client` takes -5, +5, 0x5 and 5_0 for sizes.
        found = _CHUNK_SIZE.fullmatch(self.fp.readline(_MAX_LINE))
        if found is None:
            raise ValueError("invalid chunk size")
        return int(found[1], 16)

    def _read_and_discard_trailer(self) -> None:
        # Private, too: `http.client` reads on as long as there are lines.
        for _ in range(_MAX_TRAILERS):
            if self.fp.readline(_MAX_LINE) in (b"\r\n", b"\n", b""):
                return
        raise http.client.HTTPException("too many lines after the last chunk")


class _Secure(http.client.HTTPSConnection):
    """A connection of TLS, which may lead through a proxy to an address of IPv6."""

    _tunnel_host: str

    def _tunnel(self) -> None:
        # Private, but older versions of `http.client` write the address without brackets.
        # TLS needs it without.
        host = self._tunnel_host
        if ":" in host:
            self._tunnel_host = f"[{host}]"
        try:
            super()._tunnel()  # type: ignore[misc]
        finally:
            self._tunnel_host = host


class Endpoint:
    """A URL, and the headers of the user for every request to it.

    Raises
    ------
    ValueError
        If it is no URL of http or https with a host, or names a user.
    OSError
        If the file of `SSL_CERT_FILE` has no certificates that can be read.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._place = checked(url)
        self._headers = dict(headers)
        # Some servers, and programs before them, refuse requests without it.
        if "user-agent" not in map(str.lower, self._headers):
            self._headers["User-Agent"] = f"compactwire/{__version__}"
        self._idle: list[tuple[float, str, http.client.HTTPConnection]] = []
        self._lock = threading.Lock()
        # A redirect may lead from http to https.
        self._tls = _tls() if self._place.scheme == "https" else None

    @property
    def origin(self) -> str:
        """Scheme, host and port. A path or query may hold a secret, so no message shows them."""
        return origin(self._place)

    @property
    def readable_by_others(self) -> bool:
        """Whether requests leave this machine without encryption."""
        return self._place.scheme == "http" and not is_loopback(self._place.hostname or "")

    def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        interrupt: Interrupt,
        *,
        timeout: float | None = None,
    ) -> Answer:
        """Send a request and wait for the headers of the answer.

        Parameters
        ----------
        method, headers, body
            The request; the headers of the user are added.
        interrupt
            Ends the request while this or the reading of the answer waits.
        timeout
            Seconds that each step may take; None for as long as the server needs.

        Raises
        ------
        HttpError
            If there is no answer, or a redirect that is not followed.
        """
        place = self._place
        for _ in range(_MAX_REDIRECTS + 1):
            answer = self._send(place, method, headers, body, interrupt, timeout)
            try:
                followed = _redirected(place, method, answer)
            except BaseException:
                answer.close()
                raise
            if followed is None:
                return answer
            answer.close()
            place = followed
        raise HttpError(f"redirected a request more than {_MAX_REDIRECTS} times")

    def _send(
        self,
        place: SplitResult,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        interrupt: Interrupt,
        timeout: float | None,
    ) -> Answer:
        connection = proxy = None
        try:
            proxy = proxy_for(place)
            connection = self._connection(place, proxy, timeout)
            # `connection.sock` becomes None where the answer ends with the connection.
            connected: socket.socket = connection.sock
            interrupt.watch(connected)
            connected.settimeout(timeout)
            # This also asks for an answer that is not compressed.
            connection.putrequest(method, target_of(place, proxy))
            plain = proxy if proxy is not None and place.scheme == "http" else None
            for name, value in {**self._headers, **headers, **proxy_headers(plain)}.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                # A server may answer, as with status 413, and not read to the end.
                connection.endheaders(body)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            interrupt.watch(None)
            reason = _reason(error)
            if connection is not None:
                connection.close()
            elif proxy is not None and not isinstance(error, ssl.SSLError):
                # A later failure, or one of TLS, is between the relay and the server.
                why = reason.removeprefix("cannot be reached: ")
                reason = f"cannot be reached through {named_proxy(place, proxy)}: {why}"
            raise HttpError(reason, passing=True) from None
        return Answer(self, origin(place), connection, connected, response, interrupt)

    def _connection(
        self, place: SplitResult, proxy: SplitResult | None, timeout: float | None
    ) -> http.client.HTTPConnection:
        """An idle connection to this origin, or a new one."""
        while True:
            with self._lock:
                known = [one for one in self._idle if one[1] == origin(place)]
                if not known:
                    break
                self._idle.remove(known[-1])
            since, _, connection = known[-1]
            if time.monotonic() - since < _IDLE_SECONDS and not _readable(connection):
                return connection
            connection.close()
        connection = self._new(place, proxy, timeout)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        _keep_alive(connection.sock)
        return connection

    def _new(
        self, place: SplitResult, proxy: SplitResult | None, timeout: float | None
    ) -> http.client.HTTPConnection:
        seconds = _CONNECT_SECONDS if timeout is None else min(timeout, _CONNECT_SECONDS)
        host, port = address(place if proxy is None else proxy)
        if place.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        else:
            with self._lock:
                self._tls = self._tls or _tls()
            connection = _Secure(host, port, timeout=seconds, context=self._tls)
            if proxy is not None:
                connection.set_tunnel(*address(place), headers=proxy_headers(proxy))
        connection.response_class = _Response
        return connection

    def keep(self, origin: str, connection: http.client.HTTPConnection) -> None:
        """Use a connection again, whose answer was read to its end."""
        with self._lock:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append((time.monotonic(), origin, connection))
                return
        connection.close()


class Answer:
    """The answer to a request; a context manager that ends the connection if something is left."""

    def __init__(
        self,
        endpoint: Endpoint,
        origin: str,
        connection: http.client.HTTPConnection,
        connected: socket.socket,
        response: http.client.HTTPResponse,
        interrupt: Interrupt,
    ) -> None:
        self._endpoint = endpoint
        self._origin = origin
        self._connection = connection
        self._socket = connected
        self._response = response
        self._interrupt = interrupt
        self._whole = False
        self._deadline: float | None = None
        self.status = response.status

    def __enter__(self) -> Answer:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def named_status(self) -> str:
        """The status with its usual name; that of the server may be anything."""
        try:
            return f"{self.status} {http.HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    def header(self, name: str) -> str | None:
        """The value of a header."""
        return self._response.getheader(name)

    @property
    def media_type(self) -> str:
        """The type of the content, without parameters."""
        return (self.header("Content-Type") or "").partition(";")[0].strip().lower()

    def chunks(self) -> Iterator[bytes]:
        """The body in parts, as they arrive.

        Raises
        ------
        HttpError
            If the connection ends before the body does, or the body is compressed, which was not
            asked for.
        """
        if (self.header("Content-Encoding") or "identity").strip().lower() != "identity":
            raise HttpError("compressed an answer, though the relay did not ask for it")
        left = self._response.length
        try:
            while left is None or left > 0:
                self._check_time()
                chunk = self._response.read1(_CHUNK if left is None else min(_CHUNK, left))
                if not chunk:
                    break
                if left is not None:
                    left -= len(chunk)
                yield chunk
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise HttpError(_reason(error), passing=True) from None
        if left:
            raise HttpError("sent an incomplete answer", passing=True)
        self._whole = True

    def is_over(self) -> bool:
        """Whether the exchange was ended by another thread, or its time is over."""
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return late or self._interrupt.was_set

    def end_within(self, seconds: float) -> None:
        """Wait no longer than this for the rest of the body."""
        self._deadline = time.monotonic() + seconds

    def _check_time(self) -> None:
        """Limit the next read to the time that is left."""
        if self._deadline is not None:
            left = self._deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)

    def close(self) -> None:
        """End the exchange; the connection is kept where nothing is left to read."""
        self._interrupt.watch(None)
        whole = self._whole or self._response.length == 0
        kept = whole and not self._response.will_close and not self._interrupt.was_set
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            self._response.close()
        if kept and self._connection.sock is not None:
            self._endpoint.keep(self._origin, self._connection)
        else:
            self._connection.close()


def _redirected(place: SplitResult, method: str, answer: Answer) -> SplitResult | None:
    """Where an answer redirects to; None if it is no redirect."""
    location = answer.header("Location")
    if answer.status not in (301, 302, 303, 307, 308) or location is None:
        return None
    said = f"answered {answer.named_status}, a redirect"
    try:
        target = checked(urljoin(place.geturl(), location))
    except ValueError:
        raise HttpError(f"{said} to no valid URL", status=answer.status) from None
    usual = (place.hostname, None, "http", None, "https")
    upgraded = (target.hostname, target.port, place.scheme, place.port, target.scheme) == usual
    if origin(target) != origin(place) and not upgraded:
        raise HttpError(
            f"{said} to {short_line(origin(target))}, which is not followed: use the URL there if "
            "it is the server that is meant",
            status=answer.status,
        )
    if method != "GET" and answer.status not in (307, 308):
        # The path may hold a secret, but an added slash at its end is none.
        slash = target.path == f"{place.path}/"
        use = "the URL with a slash at its end" if slash else "the URL that it redirects to"
        raise HttpError(f"{said} that would lose the message: use {use}", status=answer.status)
    return target


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if path := os.environ.get("SSL_CERT_FILE"):
        try:
            # OpenSSL has read it, but ignores a file that it cannot read.
            context.load_verify_locations(path)
        except OSError as error:
            why = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
            raise OSError(f"SSL_CERT_FILE: {path} cannot be used: {why}") from None
    return context


def _readable(connection: http.client.HTTPConnection) -> bool:
    """Whether the server has ended an idle connection, or sent unexpected bytes."""
    if connection.sock is None:
        return True
    try:
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):  # More descriptors than `select` takes.
        return True


def _keep_alive(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            with contextlib.suppress(OSError):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _reason(error: Exception) -> str:
    """What went wrong, without text of the server."""
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted: {short_line(error.verify_message)}"
    if isinstance(error, ConnectionError | http.client.RemoteDisconnected):
        known = isinstance(error, ConnectionRefusedError)
        return "refused the connection" if known else "closed the connection without an answer"
    if isinstance(error, http.client.IncompleteRead):
        return "sent an incomplete answer"
    if isinstance(error, http.client.HTTPException):
        return f"sent an answer that is not valid HTTP ({type(error).__name__})"
    if isinstance(error, OSError):
        return f"cannot be reached: {short_line(error.strerror or str(error))}"
    return f"cannot be used: {type(error).__name__}"
