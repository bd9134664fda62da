"""Relays between the host of this process, over stdio, and an MCP server over Streamable HTTP.

A thread reads what the host sends; the calling thread waits for the end of either side, and ends
the other one.

Source: the Streamable HTTP transport of the Model Context Protocol, versions 2025-11-25 and
2026-07-28.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time

from ._host import (
    ANSWERS,
    STDIN,
    End,
    TooLongError,
    answered,
    first,
    lines,
    out_of_memory,
    prepare,
    signals,
    unread,
    unreadable,
)
from ._http_link import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._http_client import Endpoint
    from ._relay import Passthrough, Relay

__all__ = ["relay_http"]

# Seconds for the server to take the last notifications of the host.
_ACCEPTED = 1.5
# Seconds for all that happens at the end. Hosts wait two seconds after a signal before they kill.
_LAST = 3.0
_POLL = 0.02


def relay_http(
    endpoint: Endpoint,
    relay: Relay | Passthrough,
    *,
    max_message: int,
    warn: Callable[[str], object],
) -> int:
    """Relay until one side ends; return the exit code for this process.

    It is 128 plus the number of a signal that ended this process, 1 if the server has ended the
    session or did not answer in time after the host had closed its input, or if a message of the
    host was too long, and else 0. A second signal ends the relay at once.

    Parameters
    ----------
    endpoint
        The URL of the server.
    relay
        What passes on the messages.
    max_message
        The length in bytes of the longest message. A longer one of the server is an error for the
        request, a longer one of the host ends the connection.
    warn
        Called with a line of text about what went wrong.

    Raises
    ------
    OSError
        Standard input or output failed.
    """
    ends: queue.SimpleQueue[End] = queue.SimpleQueue()
    prepare()
    with signals(ends) as hurry:
        link = Link(endpoint, relay, max_message, warn, ends)
        threading.Thread(target=_pump_host, args=(link, max_message, ends), daemon=True).start()
        end = first(ends)
        if end.side == "host" and not end.too_long:
            late = answered(ends, link.has_requests, ANSWERS, warn)
            end = late or _taken(ends, link, warn) or end
        why = _why_ended(end, max_message)
        # A thread ends the link, because neither host nor server may be waited for without end.
        ending = threading.Thread(target=link.end, args=(why,), daemon=True)
        ending.start()
        deadline = time.monotonic() + _LAST
        while ending.is_alive() and not hurry.is_set() and time.monotonic() < deadline:
            ending.join(_POLL)
    if link.failure is not None:
        raise link.failure
    if end.side == "time" and link.is_answering():
        raise unread(ANSWERS)
    if why:
        warn(f"the MCP server at {endpoint.origin} {why}")
    if end.side == "signal":
        return 128 + end.signal
    return int(end.side == "server" or bool(why))


def _taken(ends: queue.SimpleQueue[End], link: Link, warn: Callable[[str], object]) -> End | None:
    """Wait until the server has taken the last messages; what ended it before, but for the time."""
    end = answered(ends, link.is_busy, _ACCEPTED, warn)
    if end is None:
        # The last message was taken, and its answer may have ended the session just before.
        with contextlib.suppress(queue.Empty):
            return ends.get_nowait()
    return None if end is None or end.side == "time" else end


def _why_ended(end: End, max_message: int) -> str:
    """Why open requests get no answer, as a clause after "the MCP server"; "" if none is open."""
    if end.too_long:
        return f"is left: the host sent a message of more than {max_message:,} bytes"
    if end.side == "time":
        return f"did not answer within {ANSWERS:g} seconds after the host closed its input"
    return ""


def _pump_host(link: Link, max_message: int, ends: queue.SimpleQueue[End]) -> None:
    end = End("host")
    try:
        for line in lines(STDIN, max_message):
            link.from_host(line)
    except TooLongError:
        end = End("host", too_long=True)
    except OSError as error:
        link.failure = unreadable(error)
    except MemoryError:
        link.failure = out_of_memory("host")
    finally:
        ends.put(end)
