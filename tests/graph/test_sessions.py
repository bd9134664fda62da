"""Two sessions that exchange graphs, with faults: texts that are lost, repeated, reordered or from
an interrupted stream; sides that restart or forget. A decoded payload is the one that was sent, or
an error says that the sides are out of step; after both reset, they agree again.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import compactwire as cw
from compactwire import gcf
from tests.strategies.graph import graphs
from tests.strategies.profiles import PROFILE

OUT_OF_STEP = {"unknown_session_reference", "session_conflict"}
Identity = tuple[str, str]
Meaning = tuple[list[tuple[Identity, int]], set[gcf.Edge]]


def meaning(payload: gcf.Payload) -> Meaning:
    """The content of a payload independent of the session: identities by distance, and edges."""
    symbols = sorted(((s.kind, s.qualified_name), s.distance) for s in payload.symbols)
    return symbols, set(payload.edges)


def streamed(session: cw.Session, payload: gcf.Payload, *, breaks: bool = False) -> str:
    """The text of a stream; an interrupted one has no last line."""
    pieces: list[str] = []
    stream = gcf.GraphStreamEncoder(pieces.append, payload.tool, session=session)
    for symbol in payload.symbols:
        stream.write_symbol(symbol)
    for edge in payload.edges:
        stream.write_edge(edge)
    if not breaks:
        stream.close()
    return "".join(pieces)


WRITERS: dict[str, Callable[[cw.Session, gcf.Payload], str]] = {
    "whole": cw.Session.encode_graph,
    "stream": streamed,
}


class Conversation(RuleBasedStateMachine):
    """A writer, a reader, and the payload of each text."""

    @initialize()
    def connect(self) -> None:
        self.writer, self.reader = cw.Session(), cw.Session()
        self.sent: list[tuple[str, Meaning]] = []
        # Whether a fault of this conversation may have left the two sides out of step.
        self.faulty = False

    def write(self, payload: gcf.Payload, way: str) -> tuple[str, Meaning]:
        self.sent.append((WRITERS[way](self.writer, payload), meaning(payload)))
        return self.sent[-1]

    def read(self, text: str, expected: Meaning) -> bool:
        before = copy.copy(self.reader)
        try:
            found = self.reader.decode_graph(text)
        except gcf.GcfError as error:
            assert error.code in OUT_OF_STEP, error  # noqa: PT017
            assert self.faulty, error  # noqa: PT017
            assert pickle.dumps(self.reader) == pickle.dumps(before)
            return False
        assert isinstance(found, gcf.Payload)
        assert meaning(found) == expected
        return True

    ways = st.sampled_from(sorted(WRITERS))

    @rule(payload=graphs(), way=ways)
    def arrives(self, payload: gcf.Payload, way: str) -> None:
        self.read(*self.write(payload, way))

    @rule(payload=graphs(), way=ways, detected=st.booleans())
    def is_lost(self, payload: gcf.Payload, way: str, detected: bool) -> None:
        self.write(payload, way)
        if detected:
            self.writer.forget_graph()
        else:
            self.faulty = True

    @rule(payload=graphs(), arrives=st.booleans())
    def breaks_off(self, payload: gcf.Payload, arrives: bool) -> None:
        text = streamed(self.writer, payload, breaks=True)
        if arrives:
            self.read(text, meaning(payload))

    @rule(data=st.data())
    def comes_again(self, data: st.DataObject) -> None:
        if self.sent:
            # Only texts since both sides started; older ones belong to another conversation.
            self.read(*data.draw(st.sampled_from(self.sent)))

    @rule(first=graphs(), second=graphs(), way=ways)
    def come_out_of_order(self, first: gcf.Payload, second: gcf.Payload, way: str) -> None:
        early, late = self.write(first, way), self.write(second, way)
        before, self.faulty = self.faulty, True
        understood = self.read(*late)
        self.faulty = before
        self.read(*early)
        # A refused text counts as lost.
        self.faulty |= not understood

    @rule(side=st.sampled_from(["writer", "reader"]))
    def goes_on_elsewhere(self, side: str) -> None:
        setattr(self, side, pickle.loads(pickle.dumps(getattr(self, side))))

    @rule()
    def reader_restarts(self) -> None:
        self.reader = cw.Session()
        self.faulty = True

    @rule(first=graphs(), second=graphs())
    def writer_restarts(self, first: gcf.Payload, second: gcf.Payload) -> None:
        """Its ids start over: the next text is right or refused, and then both sides must reset."""
        self.writer, self.faulty = cw.Session(), True
        self.read(*self.write(first, "whole"))
        self.both_reset(second)

    @rule(payload=graphs())
    def both_reset(self, payload: gcf.Payload) -> None:
        self.writer.reset()
        self.reader.reset()
        self.sent, self.faulty = [], False
        self.read(*self.write(payload, "whole"))
        self.read(*self.write(payload, "stream"))


def run(machine: type[Conversation]) -> None:
    examples = 60 if PROFILE == "quick" else 5_000
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=30, report_multiple_bugs=False
        ),
    )


def test_decoded_payloads_are_right_despite_faults() -> None:
    run(Conversation)


def test_the_model_detects_a_wrong_payload() -> None:
    """The model detects a reader that confuses two ids."""

    class Confused(Conversation):
        def read(self, text: str, expected: Meaning) -> bool:
            return super().read(text.replace("@0  # previously", "@1  # previously", 1), expected)

    with pytest.raises(AssertionError):
        run(Confused)


def test_a_stream_does_not_outlive_its_session() -> None:
    session = cw.Session()
    pieces: list[str] = []
    stream = gcf.GraphStreamEncoder(pieces.append, session=session)
    symbol = gcf.Symbol("a", "type", 0.5, "lsp")
    stream.write_symbol(symbol)
    session.reset()
    written = len(pieces)
    for call in (
        lambda: stream.write_symbol(gcf.Symbol("b", "type", 0.5, "lsp")),
        lambda: stream.write_edge(gcf.Edge("a", "a", "calls")),
        stream.close,
    ):
        with pytest.raises(gcf.GcfError, match="invalid_line: the session has started over"):
            call()
    assert len(pieces) == written
    assert "@0 type a" in session.encode_graph(gcf.Payload(symbols=[symbol]))


def test_a_stream_that_is_closed_may_be_closed_after_a_reset() -> None:
    session = cw.Session()
    stream = gcf.GraphStreamEncoder(lambda _: None, session=session)
    stream.close()
    session.reset()
    stream.close()


def test_a_warning_that_is_an_error_leaves_the_session_unchanged() -> None:
    head = "GCF profile=graph tool=t symbols=1 edges=0 session=true\n## targets\n@0 fn "
    session = cw.Session()
    before = session.__reduce__()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="strange"):
            session.decode_graph(head + "a 0.50 lsp\n## strange\nx\n")
    assert session.__reduce__() == before
    decoded = session.decode_graph(head + "b 0.50 lsp\n")
    assert isinstance(decoded, gcf.Payload)
    # A warning that is shown, or ignored, is no reason to refuse the text.
    other = cw.Session()
    with pytest.warns(UserWarning, match="strange"):
        other.decode_graph(head + "a 0.50 lsp\n## strange\nx\n")
    known = other.decode_graph(head.replace("fn ", " # previously transmitted\n"))
    assert isinstance(known, gcf.Payload)
    assert [symbol.qualified_name for symbol in known.symbols] == ["a"]
