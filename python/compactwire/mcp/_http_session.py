"""Requests to an MCP server with the headers of the protocol, and the content of their answers.

Source: the Streamable HTTP transport of the Model Context Protocol, versions 2025-11-25 and
2026-07-28.
"""

from __future__ import annotations

import contextlib
from collections import deque

from ._http_budget import MemoryBudget
from ._http_client import HttpError, Interrupt
from ._http_headers import ProtocolHeaders
from ._sse import Events, EventTooLongError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._http_client import Answer, Endpoint
    from ._sse import Event

__all__ = ["EVENTS", "JSON", "Session", "SessionEndedError"]

JSON, EVENTS = "application/json", "text/event-stream"

# Seconds for the server to end the session. Hosts wait two seconds before they send SIGTERM.
_GRACE_SESSION = 1.0
# Sessions that a host has left by another `initialize`, and that end with the relay.
_MAX_LEFT = 16


class SessionEndedError(HttpError):
    """The server no longer knows the session."""


class Session:
    """A server, the session with it if it has sessions, and the limit of its messages in bytes."""

    def __init__(self, endpoint: Endpoint, max_message: int) -> None:
        self._endpoint = endpoint
        self._max_message = max_message
        self._budget = MemoryBudget(max_message)
        self.headers = ProtocolHeaders()
        # The headers of earlier sessions. These end with the relay, because requests of theirs may
        # be open.
        self._left: deque[dict[str, str]] = deque(maxlen=_MAX_LEFT)

    def begin(self, session: str | None) -> None:
        """Use the session of an answer to `initialize`; without one there is none."""
        if session != self.headers.session:
            self._leave()
        self.headers.note_session(session)

    def _leave(self) -> None:
        headers = self.headers.of(None)
        if "Mcp-Session-Id" in headers:
            self._left.append(headers)

    def post(
        self,
        line: bytes,
        headers: Mapping[str, str],
        interrupt: Interrupt,
        *,
        timeout: float | None,
    ) -> Answer:
        """Send a message with the headers that the protocol asks for."""
        sent = {"Accept": f"{JSON}, {EVENTS}", "Content-Type": JSON, **headers}
        return self._endpoint.open("POST", sent, line, interrupt, timeout=timeout)

    def get(self, interrupt: Interrupt, last_event: str) -> Answer:
        """Open a stream of events, from the last event on that was read."""
        headers = {"Accept": EVENTS, **self.headers.of(None)}
        if last_event:
            headers["Last-Event-ID"] = last_event
        answer = self._endpoint.open("GET", headers, None, interrupt)
        if answer.status == 200 and answer.media_type == EVENTS:
            return answer
        answer.close()
        raise self.refused(answer) if answer.status >= 300 else self.unusable(answer)

    def delete(self, *, lost: bool) -> None:
        """End the sessions, but for the current one if the server has lost it."""
        if not lost:
            self._leave()
        for headers in reversed(self._left):
            answer = self._endpoint.open(
                "DELETE", headers, None, Interrupt(), timeout=_GRACE_SESSION
            )
            answer.close()

    @contextlib.contextmanager
    def body(self, answer: Answer) -> Iterator[bytes]:
        """The content of an answer that is one JSON text, which counts until it is passed on."""
        body = bytearray()
        try:
            for chunk in answer.chunks():
                body += chunk
                if len(body) > self._max_message:
                    raise self._too_long()
                self._budget.take(answer, len(body), answer.is_over)
            text = bytes(body)
            body.clear()
            yield text
        finally:
            self._budget.leave(answer)

    def events(self, answer: Answer) -> Iterator[Event]:
        """The events of an answer that is a stream, as they arrive; each counts until the next."""
        events = Events(self._max_message)
        try:
            for chunk in answer.chunks():
                yield from events.feed(chunk)
                self._budget.take(answer, events.size, answer.is_over)
        except EventTooLongError:
            raise self._too_long() from None
        finally:
            self._budget.leave(answer)

    def _too_long(self) -> HttpError:
        return HttpError(f"sent a message of more than {self._max_message:,} bytes")

    def refused(self, answer: Answer) -> HttpError:
        """The error for an answer whose status is one."""
        said = f"answered {answer.named_status}"
        if answer.status == 404 and self.headers.session is not None:
            return SessionEndedError(f"has ended the session (it {said})", status=404)
        if answer.status == 401:
            said += ": it wants valid credentials, see --header"
        passing = answer.status in (408, 425, 429, 500, 502, 503, 504)
        return HttpError(said, status=answer.status, passing=passing)

    @staticmethod
    def unusable(answer: Answer) -> HttpError:
        """The error for an answer with content of another type."""
        known = answer.media_type in (JSON, EVENTS, "text/html", "text/plain")
        what = answer.media_type if known else "of another type"
        if not answer.media_type:
            what = "without a type"
        return HttpError(
            f"answered {answer.named_status} with content {what}, not with a JSON-RPC message",
            status=answer.status,
        )
