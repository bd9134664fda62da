"""After an exception of `write`, every call of a stream raises: its text never looks complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from compactwire import Session, cad, errors, gcf


class Full(Exception):
    """The sink is full."""


class Sink:
    """Keeps pieces; the call with this number raises, after it has kept half of its piece."""

    def __init__(self, fails_at: int) -> None:
        self.pieces: list[str] = []
        self.left = fails_at

    def write(self, piece: str) -> None:
        self.left -= 1
        if self.left == 0:
            self.pieces.append(piece[: len(piece) // 2])
            raise Full
        self.pieces.append(piece)


SYMBOLS = [gcf.Symbol(name, "function", 0.5, "lsp") for name in "abc"]


def write_graph(stream: gcf.GraphStreamEncoder) -> list[Callable[[], None]]:
    edge = gcf.Edge("a", "b", "calls")
    writes = [lambda symbol=symbol: stream.write_symbol(symbol) for symbol in SYMBOLS]
    return [*writes, lambda: stream.write_edge(edge), stream.close]


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("fails_at", range(2, 7))
def test_a_failed_graph_stream_stays_failed(fails_at: int, in_session: bool) -> None:
    session = Session() if in_session else None
    sink = Sink(fails_at)
    stream = gcf.GraphStreamEncoder(sink.write, session=session)
    calls = write_graph(stream)
    for call in calls[: fails_at - 2]:
        call()
    with pytest.raises(Full):
        calls[fails_at - 2]()
    written = list(sink.pieces)
    for call in write_graph(stream):
        with pytest.raises(errors.GcfError, match="the text is incomplete"):
            call()
    assert sink.pieces == written
    assert "counts=" not in "".join(written), "a reader would take the text for whole"
    if session:
        text = session.encode_graph(gcf.Payload(symbols=SYMBOLS))
        assert "previously" not in text
        assert Session().decode_graph(text).symbols == tuple(SYMBOLS)


def test_a_failed_first_write_makes_no_stream() -> None:
    with pytest.raises(Full):
        gcf.GraphStreamEncoder(Sink(1).write)


def test_leaving_a_with_block_after_a_swallowed_failure_raises() -> None:
    with (
        pytest.raises(errors.GcfError, match="the text is incomplete"),
        gcf.GraphStreamEncoder(Sink(2).write) as stream,
        pytest.raises(Full),
    ):
        stream.write_symbol(SYMBOLS[0])


def test_a_cad_stream_gives_nothing_after_its_source_has_raised() -> None:
    def source() -> Iterator[bytes]:
        yield b"C 1 2 3\nT 0 1 2 3\n"
        raise Full

    stream = cad.iter_compact(source())
    kinds = []
    with pytest.raises(Full):
        kinds.extend(kind for kind, _ in stream)
    assert "end" not in kinds
    assert list(stream) == []
