"""The stream of a server's own messages: its notifications, and what it asks of the host.

Source: the Streamable HTTP transport of the Model Context Protocol, version 2025-11-25.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from ._http_client import HttpError, Interrupt
from ._http_session import SessionEndedError
from ._retry import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._http_session import Session
    from ._sse import Event

__all__ = ["Notifications"]

# Seconds for the stream to open, before the next message of the host is sent: a server drops what
# it asks for while there is none. Some answer only with an event.
_OPENING = 1.0
# Seconds after which the end of a stream is usual, even if it brought nothing.
_USUAL = 10.0
# What servers answer that have no such stream.
_NO_STREAM = (400, 404, 405, 406, 501)


@dataclass(slots=True)
class _Stream:
    """The stream of the server's own messages."""

    retry: Retry = field(default_factory=Retry)
    opened: bool = False
    last_event: str = ""
    # Set after the first answer, or failure.
    tried: threading.Event = field(default_factory=threading.Event)


class Notifications:
    """Reads the stream in a thread of its own.

    Parameters
    ----------
    session
        The session that the stream belongs to.
    on_event
        Called with each event.
    complain
        Called with a text about what went wrong, which goes after "the MCP server at ...".
    on_session_end
        Called with a text of the same kind if the server no longer knows the session.
    """

    def __init__(
        self,
        session: Session,
        on_event: Callable[[Event], object],
        complain: Callable[[str], object],
        on_session_end: Callable[[str], object],
    ) -> None:
        self._session = session
        self._on_event = on_event
        self._complain = complain
        self._on_session_end = on_session_end
        self._lock = threading.Lock()
        self._listening: Interrupt | None = None
        self._listened: str | None = None
        self._ended = False

    def listen(self) -> None:
        """Open the stream, unless that of this session is open."""
        session = self._session.headers.session
        with self._lock:
            if self._ended or (self._listening is not None and self._listened == session):
                return
            if self._listening is not None:  # The host has begun another session.
                self._listening.set()
            self._listening, self._listened = Interrupt(), session
        stream = _Stream()
        arguments = (self._listening, stream)
        threading.Thread(target=self._read, args=arguments, daemon=True).start()
        stream.tried.wait(_OPENING)

    def _read(self, interrupt: Interrupt, stream: _Stream) -> None:
        """Read the stream of the server's own messages, if it has one."""
        try:
            while stream.retry.waits(interrupt, first=not stream.opened):
                try:
                    self._read_once(interrupt, stream)
                except HttpError as error:
                    stream.tried.set()
                    if not error.passing:
                        raise
                    stream.retry.failed()
            if not interrupt.was_set:
                self._complain("has ended the stream of its notifications; no more arrive")
        except SessionEndedError as error:
            if stream.opened:
                self._on_session_end(str(error))
        except HttpError as error:
            if stream.opened or error.status not in _NO_STREAM:
                self._complain(f"{error}; its notifications are not received")
        finally:
            stream.tried.set()
            with self._lock:
                if self._listening is interrupt:
                    self._listening = None

    def _read_once(self, interrupt: Interrupt, stream: _Stream) -> None:
        begun, progress = time.monotonic(), False
        with self._session.get(interrupt, stream.last_event) as answer:
            stream.opened = True
            stream.tried.set()
            for event in self._session.events(answer):
                progress = True
                stream.retry.note(event)
                stream.last_event = stream.last_event if event.id is None else event.id
                self._on_event(event)
                del event  # It may be long, and so may the next one.
        stream.retry.ended(progress=progress or time.monotonic() - begun > _USUAL)

    def end(self) -> None:
        """Close the stream, and open no other."""
        with self._lock:
            self._ended = True
            listening = self._listening
        if listening is not None:
            listening.set()
