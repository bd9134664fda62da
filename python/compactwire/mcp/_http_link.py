"""The server's side of the relay to a URL: requests that are open, the session, and its streams.

Each request of the host is a POST in a thread of its own, because its answer may be a stream that
lasts. Everything else that the host sends, and `initialize`, is answered before the next message is
sent: these change what the server does with the messages after them. Meanwhile the host is read on,
for its end, its cancellations, and its responses to what the server asks before it answers
`initialize`. What the server sends goes to the host one message at a time,
whatever stream it came by.

Invariant: each request of the host is answered, if only by an error, unless the host cancelled it
or closed the connection.

Source: the Streamable HTTP transport of the Model Context Protocol, versions 2025-11-25 (sessions,
resumption, a stream for the server's own messages) and 2026-07-28 (neither of these).
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections import deque

from .._texts import short_line
from ._host import BOM, End, passed_on
from ._http_client import HttpError
from ._http_exchange import Exchange
from ._http_notifications import Notifications
from ._http_session import EVENTS, JSON, Session, SessionEndedError
from ._messages import (
    cancelled_id,
    each,
    id_key,
    is_answer,
    is_error,
    is_utf8,
    read_message,
    with_id,
)
from ._relay import MAX_READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    import queue
    from collections.abc import Callable
    from typing import Any

    from ._http_client import Answer, Endpoint
    from ._messages import Key
    from ._relay import Passthrough, Relay
    from ._sse import Event

__all__ = ["Link"]

_ERROR = -32000
_METHOD_NOT_FOUND = -32601

_NOT_READ = (
    "was not asked: the request is nested too deeply for the relay, or has too long a number"
)

# Requests that are open at the same time, each with a thread and a connection, and that wait.
_MAX_OPEN, _MAX_WAITING = 64, 10_000
# Bytes of messages that are kept until the one before them is answered.
_MAX_KEPT = 1 << 20
# Requests that need no further answer, but whose connections are still open.
_MAX_LINGERING = 16
# Seconds for the server to take a message that has no answer.
_ACCEPTED = 30.0
# Seconds for the end of a stream after the last answer: then its connection can be used again.
_LINGER = 1.0


class Link:
    """The server's side: the open requests, the session, and the stream of the server's own."""

    def __init__(
        self,
        endpoint: Endpoint,
        relay: Relay | Passthrough,
        max_message: int,
        warn: Callable[[str], object],
        ends: queue.SimpleQueue[End],
    ) -> None:
        self._endpoint = endpoint
        self._relay = relay
        self._max_message = max_message
        self._warn = warn
        self._ends = ends
        self._session = Session(endpoint, max_message)
        # Held from the moment when a request counts as answered until the answer is written.
        self._to_host = threading.Lock()
        self._answering = False
        self._lock = threading.Lock()
        self._open: dict[Key | None, Exchange] = {}
        self._running: set[Exchange] = set()
        self._waiting: deque[Exchange] = deque()
        self._waiting_size = 0
        self._lingering: deque[Exchange] = deque()
        self._before: Exchange | None = None
        # Messages of the host that are not sent yet: one thread sends them while `_is_sending`.
        self._kept: deque[Exchange] = deque()
        self._kept_size = 0
        self._is_sending = False
        # The one that this thread has taken last, and that may not be started yet.
        self._taken: tuple[Exchange, ...] = ()
        self._fewer = threading.Condition(self._lock)
        self._notifications = Notifications(
            self._session, self._pass_event, self._complain, self._session_ended
        )
        self._ended = False
        self._lost = False
        # Why the host could not be read or written to, though it had not left.
        self.failure: OSError | None = None

    # From the host

    def from_host(self, line: bytes) -> None:
        """Send a message, or keep it until the one before is answered if that must be first.

        Waits where `_MAX_KEPT` bytes are kept. Only one thread may call this.
        """
        if not line.strip():
            return
        line = self._relay.from_host(line)
        message, whole = read_message(line)
        requests = [one for one in each(message) if "method" in one and "id" in one]
        asked = {key: one["method"] for one in requests if (key := id_key(one["id"])) is not None}
        # A message that cannot be read may be a request: whatever answers it is passed on.
        unknown = message is None or (not whole and message == [])
        is_request = bool(requests) or unknown
        exchange = Exchange(line.strip(), message, asked, is_request, unsure=not asked)
        if asked and not whole and not isinstance(message, list):
            # Without its headers, the request could mean another one to the server.
            self._refuse(exchange, _NOT_READ)
            return
        with self._lock:
            before = self._before
            kept = self._is_sending or (before is not None and not before.done.is_set())
        if not kept:
            self._send(exchange)
        elif not self._overtakes(exchange):
            self._keep(exchange)

    def _send(self, exchange: Exchange) -> None:
        if self._cancels(exchange):
            return
        goes_first = not exchange.is_request or exchange.method == "initialize"
        self._before = exchange if goes_first else None
        self._start(exchange)

    def _keep(self, exchange: Exchange) -> None:
        with self._lock:
            self._fewer.wait_for(lambda: self._kept_size < _MAX_KEPT or self._ended)
            self._kept.append(exchange)
            self._kept_size += len(exchange.line)
            if self._is_sending:
                return
            self._is_sending = True
        try:
            threading.Thread(target=self._send_kept, daemon=True).start()
        except RuntimeError:  # The system has no more threads.
            self._send_kept()

    def _send_kept(self) -> None:
        """Send what is kept, each message when the one before is answered."""
        while True:
            if self._before is not None:
                self._before.done.wait()
            with self._lock:
                self._taken = ()
                if self._ended or not self._kept:
                    self._is_sending = False
                    return
                exchange = self._kept.popleft()
                self._taken = (exchange,)
                self._kept_size -= len(exchange.line)
                self._fewer.notify_all()
            self._send(exchange)

    def _overtakes(self, exchange: Exchange) -> bool:
        """Send a message at once that must not wait for the one before; whether it was sent.

        It is a cancellation of a request that was sent, or a response while the server, which may
        wait for it, answers `initialize`.
        """
        with self._lock:
            others = sum(not one.is_request for one in self._running)
            if others > _MAX_LINGERING:
                return False
            if exchange.method == "notifications/cancelled":
                found = self._open.get(cancelled_id(exchange.message))
                overtakes = found is not None and not found.cancelled
            else:
                before = self._before
                overtakes = exchange.is_response and before is not None and before.is_request
        if overtakes and not self._cancels(exchange):
            self._start(exchange)
        return overtakes

    def _refuse(self, exchange: Exchange, why: str) -> None:
        """Answer a request that is not sent with an error."""
        with self._lock:
            self._register(exchange)
        self._fail(exchange, HttpError(why))

    def _register(self, exchange: Exchange) -> None:
        for key in exchange.left:
            used = self._open.get(key)
            if used is not None:  # The host used the id again; only one answer can be matched.
                used.left.discard(key)
            self._open[key] = exchange

    def _cancels(self, exchange: Exchange) -> bool:
        """Note a cancellation; whether ending the request is all there is to do for it."""
        if exchange.method != "notifications/cancelled":
            return False
        with self._lock:
            found = self._open.get(cancelled_id(exchange.message))
            if found is None:
                return not self._session.headers.is_session
            found.cancelled = True
            waited = found in self._waiting
            if waited:
                self._drop_waiting(found)
        # Without a session, the end of the request is how a server learns of it.
        if waited or found.method == "initialize" or found.is_modern:
            found.interrupt.set()
            return True
        self._linger(found)
        return False

    def _drop_waiting(self, exchange: Exchange) -> None:
        self._waiting.remove(exchange)
        self._waiting_size -= len(exchange.line)
        self._forget(exchange)
        exchange.done.set()

    def _linger(self, exchange: Exchange) -> None:
        """Give its place to another request; messages that still come are passed on."""
        with self._lock:
            if exchange not in self._lingering:  # A host may cancel a request twice.
                self._lingering.append(exchange)
            old = self._lingering.popleft() if len(self._lingering) > _MAX_LINGERING else None
        if old is not None:
            old.interrupt.set()
        self._finish(exchange)

    def _start(self, exchange: Exchange) -> None:
        with self._lock:
            self._register(exchange)
            full = exchange.is_request and len(self._running) >= _MAX_OPEN
            size = self._waiting_size + len(exchange.line)
            refused = full and (len(self._waiting) >= _MAX_WAITING or size > self._max_message)
            if full and not refused:
                self._waiting_size = size
                self._waiting.append(exchange)
            elif not full:
                self._running.add(exchange)
        if refused:
            self._fail(exchange, HttpError("has too many open requests"))
            exchange.done.set()
        elif not full:
            self._run_in_thread(exchange)

    def _run_in_thread(self, exchange: Exchange | None) -> None:
        while exchange is not None:
            try:
                threading.Thread(target=self._run, args=(exchange,), daemon=True).start()
            except RuntimeError:  # The system has no more threads.
                self._fail(exchange, HttpError("has too many open requests"))
                exchange = self._following(exchange)
            else:
                return

    def _finish(self, exchange: Exchange) -> None:
        """Mark an exchange as answered, and start a request that waits."""
        self._run_in_thread(self._following(exchange))

    def _following(self, exchange: Exchange) -> Exchange | None:
        """Mark an exchange as answered; the request that waits and gets its place."""
        following = None
        with self._lock:
            if exchange in self._running:
                self._running.remove(exchange)
                if exchange.is_request and self._waiting and not self._ended:
                    following = self._waiting.popleft()
                    self._waiting_size -= len(following.line)
                    self._running.add(following)
            exchange.done.set()
        return following

    def _forget(self, exchange: Exchange) -> None:
        for key in exchange.left:
            if self._open.get(key) is exchange:
                del self._open[key]

    # To the server

    def _run(self, exchange: Exchange) -> None:
        try:
            self._post(exchange)
            if exchange.is_open:
                self._resume(exchange)
        except SessionEndedError as error:
            self._fail(exchange, error)
            self._session_ended(str(error))
        except HttpError as error:
            self._fail(exchange, error)
        except BaseException:
            self._fail(exchange, HttpError("sent an answer that the relay could not read"))
            raise
        finally:
            self._finish(exchange)
            with self._lock:
                self._forget(exchange)
                if exchange in self._lingering:
                    self._lingering.remove(exchange)

    def _post(self, exchange: Exchange) -> None:
        with self._sent(exchange) as answer:
            if not exchange.is_request:
                self._accepted(exchange, answer)
                return
            if exchange.method == "initialize" and answer.status < 300:
                self._session.begin(answer.header("Mcp-Session-Id"))
            if answer.media_type == EVENTS and answer.status < 300:
                self._stream(exchange, answer)
            elif answer.media_type == JSON:
                self._body(exchange, answer)
            elif answer.status < 300:
                raise self._session.unusable(answer)
            else:
                raise self._session.refused(answer)

    def _sent(self, exchange: Exchange) -> Answer:
        """Send a message, and forget what only that needs."""
        headers, exchange.message = self._session.headers.of(exchange.message), None
        timeout = None if exchange.is_request else _ACCEPTED
        answer = self._session.post(exchange.line, headers, exchange.interrupt, timeout=timeout)
        exchange.line = b""
        return answer

    def _accepted(self, exchange: Exchange, answer: Answer) -> None:
        """After a message that has no answer: the status says all, and content may never end."""
        if answer.status >= 300:
            raise self._session.refused(answer)
        if exchange.method == "notifications/initialized":
            self._notifications.listen()

    def _body(self, exchange: Exchange, answer: Answer) -> None:
        """Pass on an answer that is one JSON text."""
        with self._session.body(answer) as text, self._to_host:
            self._pass_in_order(self._checked(text, exchange, answer), exchange)
        if exchange.is_open:
            raise HttpError("sent an answer with another id", status=answer.status)

    def _checked(self, text: bytes, exchange: Exchange, answer: Answer) -> bytes:
        """The text of an answer as the host is sent it, if it is a message."""
        text = text.removeprefix(BOM)
        # The host reads UTF-8, and may end at a line that is not.
        message: Any = read_message(text, MAX_READ)[0] if is_utf8(text) else None
        error = is_error(message)
        if answer.status >= 300 and not error:
            raise self._session.refused(answer)
        if answer.status == 404 and message["error"]["code"] != _METHOD_NOT_FOUND:
            ended = self._session.refused(answer)
            if isinstance(ended, SessionEndedError):
                raise ended
        if message is None:
            raise HttpError(
                "sent an answer that is not a JSON-RPC message in UTF-8", status=answer.status
            )
        refused = error and (message.get("id") is None or answer.status >= 300)
        if refused and len(exchange.left) == 1:
            # The server may have refused the request before it read the id.
            return with_id(text, message, next(iter(exchange.left))[1])
        return text

    def _stream(self, exchange: Exchange, answer: Answer) -> None:
        """Pass on the messages of a stream, until it ends.

        It is an error if the stream ends before the answer, and cannot be resumed.
        """
        try:
            for event in self._session.events(answer):
                exchange.retry.note(event)
                exchange.last_event = exchange.last_event if event.id is None else event.id
                self._pass_event(event, exchange)
                del event  # It may be long, and so may the next one.
                if exchange.is_open or exchange.done.is_set():
                    continue
                self._linger(exchange)
                if not exchange.unsure:
                    answer.end_within(_LINGER)
        except HttpError as error:
            if exchange.is_open and not (error.passing and exchange.last_event):
                raise
        if exchange.is_open and not exchange.last_event:
            raise HttpError("ended the stream of an answer without the answer")

    def _resume(self, exchange: Exchange) -> None:
        """Open the stream of an answer again, from its last event on."""
        while exchange.is_open:
            if not exchange.retry.waits(exchange.interrupt):
                raise HttpError("ended the stream of an answer, which could not be resumed")
            before = exchange.last_event
            try:
                with self._session.get(exchange.interrupt, before) as answer:
                    self._stream(exchange, answer)
                exchange.retry.ended(progress=exchange.last_event != before)
            except HttpError as error:
                if not error.passing:
                    raise
                exchange.retry.failed()

    # To the host

    def _pass_event(self, event: Event, exchange: Exchange | None = None) -> None:
        if event.kind == "message" and event.data.strip():
            with self._to_host:
                self._pass_in_order(event.data, exchange)

    def _pass_in_order(self, text: bytes, exchange: Exchange | None) -> None:
        """Pass on a message, as one line. Outside of strings, JSON may have line breaks.

        The caller holds `_to_host`, also because the value made from a message is large: there must
        be one at a time.
        """
        message, whole = read_message(text, MAX_READ)
        if message is None and (b"\n" in text or not whole):
            # Without the break, which may be in a string, another message might pass.
            self._complain("sent an event that is not a JSON-RPC message; it was dropped")
            return
        line = text.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"
        if exchange is not None and not whole and message == []:
            exchange.unsure = True
        self._note_answers(message)
        del message  # The relay makes values as large once more.
        self._to_relay(line)

    def _note_answers(self, message: Any) -> None:
        for one in each(message):
            key = id_key(one.get("id"))
            asked = self._answered(key) if is_answer(one) else None
            if asked is not None and key is not None:
                self._session.headers.note_result(asked.asked[key], one.get("result"))

    def _answered(self, key: Key | None) -> Exchange | None:
        """Mark a request as answered; None if it was before, or no request has this id."""
        with self._lock:
            asked = self._open.pop(key, None)
            if asked is not None and key is not None:
                asked.left.discard(key)
                self._answering = True
        return asked

    def _to_relay(self, line: bytes) -> None:
        passed = self._relay.from_server(line)
        try:
            reads = passed is None or passed_on(passed)
        except OSError as error:
            self.failure, reads = error, False
        self._answering = False
        if not reads:
            self._ends.put(End("host"))

    def _fail(self, exchange: Exchange, error: HttpError) -> None:
        """Answer what is left of an exchange with an error."""
        text = f"the MCP server at {self._endpoint.origin} {error}"
        ended = isinstance(error, SessionEndedError) or exchange.interrupt.was_set
        if not (exchange.left or exchange.done.is_set() or ended):
            self._complain(f"{error}, for {short_line(str(exchange.method or 'a response'))}")
        if not exchange.is_open:
            return
        data = {} if error.status is None else {"data": {"status": error.status}}
        for key in list(exchange.left):
            failure = {"code": _ERROR, "message": text, **data}
            answer = {"jsonrpc": "2.0", "id": key[1], "error": failure}
            with self._to_host:
                if self._answered(key) is not None:
                    self._to_relay(json.dumps(answer).encode() + b"\n")

    def _complain(self, text: str) -> None:
        self._warn(f"the MCP server at {self._endpoint.origin} {text}")

    # The end

    def has_requests(self) -> bool:
        """Whether a request of the host waits for its answer, or the answer to be written."""
        with self._lock:
            ones = (*self._running, *self._waiting, *self._taken, *self._kept)
            left = any(one.is_open and not one.is_subscription for one in ones)
        return left or self.is_answering()

    def is_answering(self) -> bool:
        """Whether an answer is being written, which waits for the host to read it."""
        return self._answering and self._to_host.locked()

    def is_busy(self) -> bool:
        """Whether the server has not taken a message of the host."""
        with self._lock:
            ones = (*self._running, *self._waiting)
            return self._is_sending or not all(one.is_subscription for one in ones)

    def _session_ended(self, text: str) -> None:
        """End the relay: a host starts a server again that has ended, and asks for a session."""
        with self._lock:
            known, self._ended, self._lost = self._lost, True, True
        if known:
            return
        self._complain(text)
        self._fail_all(HttpError(text, status=404))
        self._ends.put(End("server"))

    def _fail_all(self, error: HttpError) -> None:
        """Answer what is open with an error."""
        with self._lock:
            for one in self._kept:
                self._register(one)
            self._kept.clear()
            left = list(dict.fromkeys(self._open.values()))
        for exchange in left:
            self._fail(exchange, error)

    def end(self, why: str) -> None:
        """End the session, and every request that is open; if there is a reason, answer them."""
        with self._lock:
            self._ended = True
            self._fewer.notify_all()
            left = [*self._running, *self._lingering]
        if why:
            self._fail_all(HttpError(why))
        with contextlib.suppress(HttpError):  # The server ends sessions by itself, only later.
            self._session.delete(lost=self._lost)
        for exchange in left:
            exchange.cancelled = True
            exchange.interrupt.set()
        self._notifications.end()
