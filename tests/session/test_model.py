"""Sessions against a model: a decoded request is the one that was sent, or an error that recovers.

A state machine drives two sessions through conversations with faults and knows what each request
means. Then the product is compared with the reference: the same frames, the same requests, the same
outcome for changed frames.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import hypothesis.strategies as st
import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, rule

import compactwire as cw
from tests import reference as ref
from tests.reference import sessions as reference
from tests.reference.json_strict import read_whole_json, write_json
from tests.strategies import messages
from tests.strategies.packing import zstd
from tests.strategies.profiles import PROFILE, examples
from tests.strategies.sessions import (
    COLLIDING,
    MOST_REFUSALS,
    content_of,
    deliver,
    expected_content,
    request_or_error,
    texts_of,
)

Parts = tuple[list[dict[str, Any]], str | None, Any]
Change = tuple[str, int, str]
Style = dict[str, bool]

# Requests

NAMES = ("search", "fetch", "é|D|", "")
TOOLS = st.sampled_from(
    [*COLLIDING, *COLLIDING, *({"name": name} for name in NAMES)]
    + [{"name": f"tool {number}"} for number in range(10)]
)
MANY_TOOLS = st.integers(0, 299).map(
    lambda start: [{"name": f"tool {(start + number) % 300}"} for number in range(250)]
)
FEW_TOOLS = st.lists(TOOLS, max_size=4)
PROMPTS = st.none() | st.sampled_from(
    ["", "You are helpful.", "|D|", "S", *(f"prompt {number}" for number in range(80))]
)
ARGS = st.sampled_from([None, {}, {"q": "a|D|+|b"}, [1, 1.0, True], "|", 0, {"é": [10**30, -0.5]}])
PARTS = st.tuples(messages.mostly(FEW_TOOLS, MANY_TOOLS), PROMPTS, ARGS)
STYLES = st.fixed_dictionaries(
    {"pack": st.sampled_from((False, False, True)), "references": st.booleans()}
)
PIECES = st.sampled_from(
    ["a", "\n", "|D|", "D|F|", "é", "🚀", "User: Hi\n", "word " * 30, "|", "x|D"]
)
CHANGES = st.tuples(
    st.sampled_from(("append", "append", "append", "edit", "insert", "truncate", "clear", "same")),
    st.integers(0, 1000),
    PIECES,
)


def grown(context: str, change: Change) -> str:
    """The next context: appended to, edited, cut off, emptied."""
    kind, place, piece = change
    at = place % (len(context) + 1)
    return {
        "append": context + piece,
        "edit": context[:at] + piece + context[at + len(piece) :],
        "insert": context[:at] + piece + context[at:],
        "truncate": context[:at],
        "clear": "",
        "same": context,
    }[kind]


# The state machine


class Side:
    """One end of the connection."""

    def __init__(self) -> None:
        self.session = cw.Session()
        self.context = ""
        self.written: list[tuple[Any, dict[str, Any]]] = []
        """Frames and their meaning, delivered or not."""


SIDES = st.integers(0, 1)


class Conversation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.sides = [Side(), Side()]
        self.strangers = [cw.Session(), cw.Session()]

    def request(self, number: int, parts: Parts, change: Change | None) -> dict[str, Any]:
        side = self.sides[number]
        tools, system, args = parts
        if change is not None:
            side.context = grown(side.context, change)
        context = None if change is None else side.context
        return {"tool": tools, "system": system, "args": args, "context": context}

    def write(self, number: int, request: dict[str, Any], style: Style, stranger: bool) -> Any:
        side = self.sides[number]
        session: Any = self.strangers[number] if stranger else side.session
        frames = session.encode_request(**request, **style)
        side.written.append((frames, request))
        return frames

    def read(self, number: int, frames: Any, request: dict[str, Any]) -> tuple[str, ...]:
        """Delivers frames to the peer, which decodes them correctly, or names what it lacks and
        stays unchanged; returns what it lacks."""
        receiver = self.sides[1 - number].session
        before = receiver.__reduce__()
        found = request_or_error(receiver, frames)
        if isinstance(found, cw.Request):
            assert content_of(found) == expected_content(**request)
            return ()
        assert isinstance(found, cw.UnknownReference)
        assert receiver.__reduce__() == before
        return found.ids

    @rule(
        number=SIDES,
        parts=PARTS,
        change=st.none() | CHANGES,
        style=STYLES,
        fate=st.sampled_from(("delivered", "delivered", "delivered", "lost", "given up")),
    )
    def say(self, number: int, parts: Parts, change: Change, style: Style, fate: str) -> None:
        request = self.request(number, parts, change)
        for _ in range(MOST_REFUSALS[bool(style.get("pack"))] + 1):
            frames = self.write(number, request, style, stranger=False)
            if fate == "lost" or frames is None:
                return
            missing = self.read(number, frames, request)
            if not missing or fate == "given up":
                return
            self.sides[number].session.forget(*missing)
        raise AssertionError("a request was refused too often")

    @rule(number=SIDES, parts=PARTS, change=CHANGES, style=STYLES)
    def read_another_conversation(
        self, number: int, parts: Parts, change: Change, style: Style
    ) -> None:
        request = self.request(number, parts, change)
        frames = self.write(number, request, style, stranger=True)
        if frames is not None:
            self.read(number, frames, request)

    @rule(number=SIDES, which=st.integers(0, 1000))
    def repeat(self, number: int, which: int) -> None:
        written = self.sides[number].written
        if written:
            self.read(number, *written[-1 - which % min(len(written), 10)])

    @rule(number=SIDES, which=st.integers(0, 3), place=st.integers(0, 10**6))
    def cut(self, number: int, which: int, place: int) -> None:
        written = self.sides[number].written
        if not written:
            return
        frames, request = written[-1 - which % len(written)]
        texts = [frame.encode() for frame in texts_of(frames)]
        place %= sum(map(len, texts))
        at = 0
        while place >= len(texts[at]):
            place -= len(texts[at])
            at += 1
        arguments = texts[-1].partition(b"|D|=|c_")[0]
        is_whole = at == len(texts) - 1 and texts[at][:place] in (arguments, arguments + b"|")
        texts[at] = texts[at][:place]
        receiver = self.sides[1 - number].session
        before = receiver.__reduce__()
        found = request_or_error(receiver, texts[0] if isinstance(frames, str) else texts)
        if isinstance(found, cw.Request):
            expected = {**request, "context": None} if is_whole else request
            assert content_of(found) == expected_content(**expected)
        else:
            assert isinstance(found, cw.DecodeError)
            assert receiver.__reduce__() == before

    @rule(number=SIDES)
    def restart(self, number: int) -> None:
        self.sides[number].session = cw.Session()

    @rule()
    def reset_both(self) -> None:
        for side in self.sides:
            side.session.reset()
            side.written = []
        self.strangers = [cw.Session(), cw.Session()]

    @rule(number=SIDES)
    def move(self, number: int) -> None:
        side = self.sides[number]
        side.session = pickle.loads(pickle.dumps(side.session))

    def teardown(self) -> None:
        """After any faults, a request succeeds, and the next one has nothing to define."""
        for number, side in enumerate(self.sides):
            plain: list[dict[str, Any]] = [{"name": name} for name in NAMES]
            request: dict[str, Any] = {
                "tool": plain,
                "system": "|D|",
                "context": side.context + "last",
            }
            receiver = self.sides[1 - number].session
            deliver(side.session, receiver, **request)
            assert deliver(side.session, receiver, **request) == 0
            assert len(side.session.encode_request(**request)) == 1


TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    examples(0.15), stateful_step_count=30 if PROFILE == "quick" else 100
)


# The product against the reference


def outcome(session: Any, frames: Any) -> Any:
    """The decoded request, or the class of the error with the ids it names."""
    try:
        found = session.decode_request(frames)
    except (cw.CompactWireError, ref.ReferenceError_) as error:
        name = type(error).__name__
        # For an invalid stream that is also too large, the error depends on the decompressor.
        if name in ("DecompressionFailed", "OutputTooLarge"):
            return "not decompressed"
        return name, getattr(error, "ids", None)
    if isinstance(found, cw.Request):
        return content_of(found)
    tools = [write_json(read_whole_json(tool)) for tool in found.tools]
    return tools, found.system, write_json(read_whole_json(found.args)), found.context


def same_frames(ours: Any, theirs: Any, before: reference.Direction) -> bool:
    """Compare frames, whose compressed parts may differ."""
    if isinstance(ours, str):
        # The compressed data differ, and all else is the same.
        ours, theirs = (reference.unpack(text, 2**26, before) for text in (ours, theirs))
        ours, theirs = (reference.frames_of(*unpacked) for unpacked in (ours, theirs))
    heads = [[*frames[:-1], frames[-1].split("|D|Z|")[0]] for frames in (ours, theirs)]
    return bool(ours == theirs or ("|D|Z|" in ours[-1] and heads[0] == heads[1]))


TURNS = st.lists(
    st.tuples(
        PARTS, st.none() | CHANGES, STYLES, st.sampled_from(("", "", "lost", "repeated", "forget"))
    ),
    max_size=8,
)


@examples(0.3)
@given(TURNS, st.booleans(), st.sampled_from((2**26, 2**26, 600)))
def test_the_reference_writes_and_reads_the_same_frames(
    turns: list[Any], checked: bool, max_size: int
) -> None:
    sender: Any = cw.Session(checked=checked, max_size=max_size)
    other: Any = ref.Session(checked=checked, max_size=max_size)
    receivers: list[Any] = [cw.Session(max_size=max_size), ref.Session(max_size=max_size)]
    context = ""
    for (tools, system, args), change, style, fate in turns:
        context = context if change is None else grown(context, change)
        request = {"tool": tools, "system": system, "args": args, **style}
        request["context"] = None if change is None else context
        try:
            frames = sender.encode_request(**request)
        except cw.EncodeError:
            with pytest.raises(ref.EncodeError):
                other.encode_request(**request)
            continue
        before = copy.deepcopy(other.sent)
        assert same_frames(frames, other.encode_request(**request), before)
        if style["pack"]:
            # A compressed delta may differ, and the next text is compressed against the sent one.
            message, check = reference.unpack(frames, 2**26, before)
            other.sent.recent, other.sent.digest = before.recent, before.digest
            other.sent.add_packed(message, check is not None)
        for _ in range({"": 1, "lost": 0, "repeated": 2, "forget": 1}[fate]):
            found = [outcome(receiver, frames) for receiver in receivers]
            assert found[0] == found[1]
            if found[0][0] == "UnknownReference" and fate == "forget":
                sender.forget(*found[0][1])
                other.forget(*found[0][1])


IDS = st.sampled_from(
    [reference.full_id("t", write_json(tool)) for tool in (*COLLIDING, {"name": ""}, {"a": 1})]
    + [reference.full_id("s", prompt) for prompt in ("", "S", "|D|")]
).flatmap(
    lambda id: st.sampled_from((id[:10], id[:10], id[:10], id[:18], id[:11], id[:9], id, id + "0"))
)
DEFINITIONS = st.sampled_from(
    [f"TOOL|def|{write_json(tool)}" for tool in (*COLLIDING, {"name": ""}, {"a": 1})]
    + ["SYS|full|", "SYS|full|S", "SYS|full||D|", 'TOOL|def| {"a" : 1}', "TOOL|def|[]", "TOOL|", ""]
)
BEFORE = st.one_of(
    DEFINITIONS,
    DEFINITIONS,
    DEFINITIONS,
    IDS.map("TOOL|ref|{}".format),
    IDS.map("SYS|ref|{}".format),
    messages.JSON_ANY.map("TOOL|def|{}".format),
    messages.SHORT_TEXTS,
)
CHECKS = st.sampled_from(
    ["", "", "", "|D|=|", "|D|=|c_", "|D|=|c_xyz78901", "|D|=|t_00000000", "|D|=|c_DEADBEEF"]
    + [f"|D|=|{reference.meaning(text)}" for text in ("", "a", "aa", "|D|", "é")]
)
CONTEXT_DELTAS = st.one_of(
    st.sampled_from(["D|F|", "D|F|a", "D|+|a", "D|+|", "D|R|0|a", "D|R|1|", "D|R|9|x", "D|=|c_"]),
    st.sampled_from(["D|R|99999999999999999999|x", "D|R|00|é", " D|+|a", "D|Z|", "D|R|x"]),
    messages.PACKED_DELTAS,
    messages.DELTAS,
)
REQUESTS = st.builds(
    "REQ|{}|{}|{}|{}{}{}".format,
    messages.mostly(st.just("1"), st.sampled_from(("", "2", "01", " 1"))),
    st.lists(messages.mostly(IDS, messages.SHORT_TEXTS), max_size=3).map(",".join),
    messages.mostly(st.just("") | IDS, messages.SHORT_TEXTS),
    st.sampled_from(["{}", "null", "0", ' {"a": 1}', '"|D|"']) | messages.JSON_ANY,
    CHECKS,
    st.lists(CONTEXT_DELTAS, max_size=3).map(lambda deltas: "".join("|" + one for one in deltas)),
)
BATCHES = st.builds(
    lambda before, request, edits, cut: [*before, messages.edited(request, edits, cut)],
    st.lists(BEFORE, max_size=4),
    REQUESTS,
    messages.mostly(st.just(()), messages.TEXT_EDITS),
    messages.mostly(st.none(), messages.PLACES),
)


@examples(1)
@given(st.lists(BATCHES, min_size=1, max_size=4), st.sampled_from((2**26, 2**26, 40)))
def test_hostile_frames_have_the_same_outcome_as_the_reference(
    batches: list[list[str]], max_size: int
) -> None:
    product, reference = cw.Session(max_size=max_size), ref.Session(max_size=max_size)
    for frames in batches:
        before = product.__reduce__()
        found = outcome(product, frames)
        assert found == outcome(reference, frames)
        if len(found) == 2:
            assert product.__reduce__() == before


@examples(0.5)
@given(BATCHES, messages.BYTE_EDITS | st.just(()), messages.TEXT_EDITS, messages.CUTS)
def test_hostile_packed_texts_have_the_same_outcome_as_the_reference(
    frames: list[str], bytes_: Any, edits: Any, cut: int | None
) -> None:
    message = messages.edited(msgpack.packb(frames), bytes_)
    text = messages.edited("S" + cw.encode_base85(zstd(message)), edits, cut)
    assert outcome(cw.Session(), text) == outcome(ref.Session(), text)
