"""`GraphStreamEncoder`: what several threads, or its own sink, do while it writes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

import compactwire as cw
from compactwire import gcf

FIRST, SECOND = (gcf.Symbol(name, "function", 0.5, "lsp") for name in "ab")
EDGE = gcf.Edge("a", "a", "calls")

# What another thread, or the sink, does while the line of a symbol is written.
CALLS: dict[str, Callable[[gcf.GraphStreamEncoder], None]] = {
    "symbol": lambda stream: stream.write_symbol(SECOND),
    "edge": lambda stream: stream.write_edge(EDGE),
    "close": lambda stream: stream.close(),
}


class Full(Exception):
    """The sink is full."""


class Slow:
    """A sink. While it gets the first symbol, another thread calls the stream."""

    def __init__(self, call: Callable[[gcf.GraphStreamEncoder], None], *, full: bool) -> None:
        self.pieces: list[str] = []
        self.call, self.full = call, full
        self.stream: gcf.GraphStreamEncoder
        self.other: threading.Thread | None = None
        self.errors: list[Exception] = []

    def write(self, piece: str) -> None:
        if "fn a" in piece:
            self.other = threading.Thread(target=self.run)
            self.other.start()
            self.other.join(0.2)
            if self.full:
                raise Full
        self.pieces.append(piece)

    def run(self) -> None:
        try:
            self.call(self.stream)
        except gcf.GcfError as error:
            self.errors.append(error)


def streamed(sink: Slow, session: cw.Session | None) -> None:
    sink.stream = gcf.GraphStreamEncoder(sink.write, "t", session=session)
    try:
        sink.stream.write_symbol(FIRST)
    finally:
        assert sink.other is not None
        sink.other.join()


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_lines_of_several_threads_are_written_in_order(call: str, in_session: bool) -> None:
    sink = Slow(CALLS[call], full=False)
    streamed(sink, cw.Session() if in_session else None)
    sink.stream.close()
    assert sink.errors == []
    read = cw.Session().decode_graph if in_session else gcf.decode
    payload = read("".join(sink.pieces))
    assert isinstance(payload, gcf.Payload)
    assert payload.symbols == ((FIRST, SECOND) if call == "symbol" else (FIRST,))
    assert payload.edges == ((EDGE,) if call == "edge" else ())


@pytest.mark.parametrize("call", CALLS)
def test_a_write_that_fails_beside_another_call_delivers_nothing(call: str) -> None:
    session = cw.Session()
    sink = Slow(CALLS[call], full=True)
    with pytest.raises(Full):
        streamed(sink, session)
    assert ["incomplete" in str(error) for error in sink.errors] == [True]
    assert len(sink.pieces) == 1, "only the header"
    assert "previously" not in session.encode_graph(gcf.Payload(symbols=[FIRST, SECOND]))


@pytest.mark.parametrize("call", CALLS)
def test_the_sink_must_not_call_its_stream(call: str) -> None:
    pieces: list[str] = []

    def write(piece: str) -> None:
        if "fn a" in piece:
            with pytest.raises(gcf.GcfError, match="its sink must not call it"):
                CALLS[call](stream)
        pieces.append(piece)

    stream = gcf.GraphStreamEncoder(write, "t")
    stream.write_symbol(FIRST)
    stream.write_edge(EDGE)
    stream.close()
    assert gcf.decode("".join(pieces)) == gcf.Payload("t", symbols=[FIRST], edges=[EDGE])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="NOT RUN: needs timers of POSIX")
def test_a_close_that_is_interrupted_before_it_delivers_can_be_repeated() -> None:
    session = cw.Session()
    long = [{"role": "user", "content": os.urandom(500).hex()} for _ in range(60_000)]
    busy = threading.Thread(target=partial(session.encode_request, messages=long))
    pieces: list[str] = []

    def write(piece: str) -> None:
        pieces.append(piece)
        if "summary" in piece:
            busy.start()
            time.sleep(0.05)  # Until the session is in use.
            signal.setitimer(signal.ITIMER_REAL, 0.05)

    def interrupt(*_: object) -> None:
        raise TimeoutError

    stream = gcf.GraphStreamEncoder(write, "t", session=session)
    stream.write_symbol(FIRST)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # If the session is free earlier than expected, nothing is interrupted.
        with suppress(TimeoutError):
            stream.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    busy.join()
    stream.close()
    stream.close()
    assert "".join(pieces).count("summary") == 1
    assert "previously" in session.encode_graph(gcf.Payload(symbols=[FIRST]))
