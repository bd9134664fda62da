"""Sessions with faults: the receiver returns the right request or an error that names what is
missing, never a wrong request, and both sides recover.
"""

from __future__ import annotations

import itertools
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.sessions import (
    COLLIDING,
    COLLIDING_ID,
    content_of,
    deliver,
    expected_content,
    request_or_error,
)

Turn = dict[str, Any]
TOOLS = [{"name": f"tool {number}", "about": "é|D|" * number} for number in range(3)]


def turns(name: str, count: int = 6) -> list[Turn]:
    """A conversation in which every turn defines something and relies on something."""
    context = ""
    listed = []
    for number in range(count):
        context += f"{name} says {number}.\n"
        listed.append(
            {
                "tool": [TOOLS[0], {"name": f"{name} {number}"}],
                "system": f"{name}'s prompt {number // 2}",
                "args": {"turn": number, "text": "a|b"},
                "context": context if number != 3 else context.replace("says", "content_of"),
            }
        )
    return listed


def in_step(sender: cw.Session, receiver: cw.Session, turn: Turn) -> None:
    """After a fault: at most one refusal, and then nothing is missing."""
    assert deliver(sender, receiver, **turn) <= 1
    assert deliver(sender, receiver, **{**turn, "context": turn["context"] + "More."}) == 0


def frames_of(turn: Turn, **options: Any) -> Any:
    return cw.Session().encode_request(**turn, **options)


def context_id(frames: list[str]) -> str:
    """The check of the context after a request."""
    return frames[-1].split("|D|=|")[1][:10]


# Frames that are lost, repeated, out of order


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("lost", range(6))
def test_a_lost_request_is_detected_by_the_next(lost: int, pack: bool) -> None:
    sender, receiver = cw.Session(), cw.Session()
    listed = turns("Ann")
    for number, turn in enumerate([*listed, listed[-1]]):
        if number == lost:
            sender.encode_request(**turn, pack=pack)
        else:
            refused = deliver(sender, receiver, **turn, pack=pack)
            if pack:
                # A text that cannot be unpacked names no ids: a second refusal names the rest.
                assert (refused > 0) == (number == lost + 1)
                assert refused <= 2
            else:
                assert refused == (number == lost + 1)


@pytest.mark.parametrize("repeated", range(6))
def test_a_repeated_request_is_the_same_or_refused(repeated: int) -> None:
    sender, receiver = cw.Session(), cw.Session()
    for number, turn in enumerate(turns("Ann")):
        frames = sender.encode_request(**turn)
        for _ in range(1 + (number == repeated)):
            found = request_or_error(receiver, frames)
            if isinstance(found, cw.UnknownReference):
                assert number == repeated
                assert found.id == context_id(frames)
            else:
                assert isinstance(found, cw.Request)
                assert content_of(found) == expected_content(**turn)
    in_step(sender, receiver, turn)


def test_requests_in_any_order_are_right_or_refused() -> None:
    sender = cw.Session()
    written = [(turn, sender.encode_request(**turn)) for turn in turns("Ann", 4)]
    for order in itertools.permutations(written):
        receiver, right = cw.Session(), 0
        other = pickle.loads(pickle.dumps(sender))
        for turn, frames in order:
            try:
                decoded = receiver.decode_request(frames)
            except cw.UnknownReference:
                continue
            assert content_of(decoded) == expected_content(**turn)
            right += 1
        assert (right == 4) == (order == tuple(written))
        in_step(other, receiver, turns("Ann", 5)[-1])


def test_lost_or_reordered_frames_are_refused() -> None:
    for turn in turns("Ann"):
        frames = frames_of(turn)
        for count in range(len(frames) + 1):
            for some in itertools.permutations(frames, count):
                receiver = cw.Session()
                found = request_or_error(receiver, some)
                if isinstance(found, cw.Request):
                    assert content_of(found) == expected_content(**turn)
                    assert set(some) == set(frames)
                elif isinstance(found, cw.UnknownReference):
                    assert some[-1] == frames[-1]
                    assert len(found.ids) == 4  # two tools, a prompt, a context
                else:
                    assert isinstance(found, cw.InvalidFormat)
                    assert count == 0 or some[-1] != frames[-1]
                assert deliver(cw.Session(), receiver, **turn) == 0


# Sides that restart


@pytest.mark.parametrize("when", range(1, 6))
def test_a_restarted_receiver_names_everything_it_lacks(when: int) -> None:
    sender, receiver = cw.Session(), cw.Session()
    for number, turn in enumerate(turns("Ann")):
        if number == when:
            receiver = cw.Session()
        assert deliver(sender, receiver, **turn) == (number == when)


@pytest.mark.parametrize("when", range(1, 6))
def test_a_restarted_sender_replaces_the_conversation(when: int) -> None:
    for resync in (False, True):
        sender, receiver = cw.Session(), cw.Session()
        for number, turn in enumerate(turns("Ann")):
            if number == when:
                sender = cw.Session()
            refused = deliver(sender, receiver, **turn, resync=resync)
            assert refused == (number == when and not resync)


def test_a_first_request_delivered_again_does_not_rewind_the_conversation() -> None:
    sender, receiver = cw.Session(), cw.Session()
    first, second, third = turns("Ann", 3)
    frames = sender.encode_request(**first)
    for _ in range(2):
        assert content_of(receiver.decode_request(frames)) == expected_content(**first)
    assert deliver(sender, receiver, **second) == 0
    before = receiver.__reduce__()
    with pytest.raises(cw.UnknownReference, match="starts the conversation over"):
        receiver.decode_request(frames)
    assert receiver.__reduce__() == before
    assert deliver(sender, receiver, **third) == 0
    assert content_of(receiver.decode_request(frames, resync=True)) == expected_content(**first)


@pytest.mark.parametrize("pack", [False, True, "bytes"])
@pytest.mark.parametrize("arrives", [False, True])
def test_a_request_that_is_rolled_back_is_as_if_it_was_never_encoded(
    pack: Any, arrives: bool
) -> None:
    sender, receiver = cw.Session(), cw.Session()
    assert not sender.rollback()
    for number, turn in enumerate(turns("Ann")):
        before, stats = sender.to_bytes(), sender.stats
        frames = sender.encode_request(**turn, pack=pack)
        if arrives:
            receiver.decode_request(frames)
        assert sender.rollback()
        assert (sender.to_bytes(), sender.stats) == (before, stats)
        assert not sender.rollback()
        # Another request instead, and then the same again.
        other = {**turn, "context": turn["context"] + "And?"}
        assert deliver(sender, receiver, **other, pack=pack) <= (2 if arrives or number else 0)
        assert deliver(sender, receiver, **turn, pack=pack) <= 1
    sender.forget("c_00000000")
    assert not sender.rollback()


def test_an_error_names_unknown_ids_and_then_refused_definitions() -> None:
    sender, receiver = cw.Session(), cw.Session()
    receiver.decode_request(sender.encode_request(tool=TOOLS[0], context="a"))
    sender.encode_request(tool=TOOLS[1], system="lost")
    frames = sender.encode_request(tool=TOOLS, system="lost", context="ab")
    ids = frames[-1].split("|")[2].split(",")
    with pytest.raises(cw.UnknownReference) as caught:
        receiver.decode_request(frames)
    error = caught.value
    assert error.id == ids[1]
    assert [id[0] for id in error.ids] == ["t", "s", "t", "c", "b"]
    assert error.ids[2] == ids[2]
    # Only the first two are unknown, and only they are in the text.
    assert ids[2] not in str(error)
    sender.forget(*error.ids)
    assert content_of(
        receiver.decode_request(sender.encode_request(tool=TOOLS, system="lost"))
    ) == expected_content(tool=TOOLS, system="lost")


def test_new_and_missing_definitions_in_one_request_are_resolved() -> None:
    # The definition of the new tool is refused with the request that names the missing one.
    sender, receiver = cw.Session(), cw.Session()
    receiver.decode_request(sender.encode_request(tool=TOOLS[0], system="s", context="a"))
    for tools, system in ((TOOLS[:2], "s"), (TOOLS, "new"), (TOOLS[2:], "s")):
        receiver = cw.Session()
        assert deliver(sender, receiver, tool=tools, system=system, context="ab") == 1


def test_a_refused_request_succeeds_with_full_tables() -> None:
    # The repeated definition evicts another one that the request needs.
    sender, receiver = cw.Session(), cw.Session()
    tools = [{"n": number} for number in range(256)]
    deliver(sender, receiver, tool=tools[1:])
    sender.encode_request(tool=tools[0])
    deliver(sender, receiver, tool={"n": "other"})
    receiver.decode_request(frames_of({"tool": [{"m": number} for number in range(3)]}))
    assert 1 <= deliver(sender, receiver, tool=tools[:200]) <= 10
    assert deliver(sender, receiver, tool=tools[:200]) == 0


# Another conversation


def test_another_conversation_is_read_correctly_or_refused() -> None:
    for start in range(5):
        ours, receiver, theirs = cw.Session(), cw.Session(), cw.Session()
        for mine, yours in zip(turns("Ann"), turns("Bob"), strict=True):
            frames = theirs.encode_request(**yours)
            deliver(ours, receiver, **mine)
            if start:
                start -= 1
                continue
            found = request_or_error(receiver, frames)
            if isinstance(found, cw.UnknownReference):
                assert context_id(frames) in found.ids
            else:
                assert isinstance(found, cw.Request)
                assert content_of(found) == expected_content(**yours)
        in_step(ours, receiver, turns("Ann", 7)[-1])
        in_step(theirs, receiver, turns("Bob", 7)[-1])


def test_without_the_check_a_lost_request_is_not_detected() -> None:
    # The check exists to detect this.
    sender, receiver = cw.Session(checked=False), cw.Session()
    receiver.decode_request(sender.encode_request(context="a"))
    sender.encode_request(context="ab")
    assert receiver.decode_request(sender.encode_request(context="abc")).context == "ac"


# Frames that are truncated or changed

CUT: list[Turn] = [
    *turns("Ann"),
    {"args": {"no": "context"}},
    {"args": {}, "context": "User: |D|"},
    {"tool": TOOLS, "args": {}, "context": "long " * 50},
    {"args": {"deep": [{"a": "}"}, "|D|=|"]}, "context": ""},
]


@pytest.mark.parametrize("number", range(len(CUT)))
def test_a_frame_truncated_at_any_byte_is_refused_or_right(number: int) -> None:
    turn = CUT[number]
    sender, before = cw.Session(), cw.Session()
    if number % 2:  # the text contains a definition that the receiver has
        deliver(sender, before, **{**turn, "context": "User"})
    frames = [frame.encode() for frame in sender.encode_request(**turn)]
    arguments = frames[-1].partition(b"|D|=|c_")[0] if "context" in turn else None
    for place, frame in enumerate(frames):
        for end in range(len(frame)):
            receiver = pickle.loads(pickle.dumps(before))
            cut = [*frames[:place], frame[:end], *frames[place + 1 :]]
            try:
                decoded = receiver.decode_request(cut)
            except cw.DecodeError:
                assert receiver.__reduce__() == before.__reduce__()
                continue
            assert place == len(frames) - 1
            # A frame that ends after its arguments is a complete request without a context.
            assert arguments is not None
            assert frame[:end] in (arguments, arguments + b"|")
            assert content_of(decoded) == expected_content(**{**turn, "context": None})
    assert content_of(before.decode_request(frames)) == expected_content(**turn)


@pytest.mark.parametrize("number", range(len(CUT)))
def test_a_packed_text_truncated_at_any_byte_is_refused(number: int) -> None:
    text = frames_of(CUT[number], pack=True)
    receiver = cw.Session()
    for end in range(len(text)):
        with pytest.raises(cw.DecodeError):
            receiver.decode_request(text[:end])
    assert receiver.stats == cw.SessionStats()
    assert content_of(receiver.decode_request(text)) == expected_content(**CUT[number])


def test_a_flipped_bit_in_a_packed_text_changes_no_decoded_request() -> None:
    # The arguments may change on the way: the check does not cover them.
    turn = CUT[2]
    text = frames_of(turn, pack=True)
    receiver = cw.Session()
    changed_arguments = 0
    for place, bit in itertools.product(range(len(text)), range(7)):
        flipped = text[:place] + chr(ord(text[place]) ^ 1 << bit) + text[place + 1 :]
        try:
            decoded = receiver.decode_request(flipped)
        except cw.DecodeError:
            continue
        tools, system, args, context = content_of(decoded)
        expected = expected_content(**turn)
        assert (tools, system, context) == (expected[0], expected[1], expected[3])
        changed_arguments += args != expected[2]
    assert changed_arguments < 20
    assert deliver(cw.Session(), receiver, **turn) == 0


def test_random_input_is_refused_and_the_session_stays_usable() -> None:
    generator = random.Random(3)
    sender, receiver = cw.Session(), cw.Session()
    deliver(sender, receiver, **turns("Ann")[0])
    parts = ["TOOL|", "SYS|", "REQ|", "1|", "def|", "ref|", "full|", "{}", "|", "t_", "D|", "=|"]
    for _ in range(5000):
        noise = ["".join(generator.choices(parts, k=generator.randrange(12))) for _ in range(2)]
        before = receiver.__reduce__()
        found = request_or_error(receiver, noise if len(noise[0]) % 2 else noise[0])
        assert isinstance(found, cw.DecodeError)
        assert receiver.__reduce__() == before
    in_step(sender, receiver, turns("Ann")[1])


HOSTILE: dict[str, tuple[type[cw.DecodeError], Callable[[], Any]]] = {
    "ids": (cw.InvalidFormat, lambda: "REQ|1|" + ",".join(map("t_{:08x}".format, range(10**6)))),
    "known ids": (cw.InvalidFormat, lambda: f"REQ|1|{'t_00000000,' * 10**6}t_00000000||{{}}"),
    "references": (
        cw.UnknownReference,
        lambda: [*map("TOOL|ref|t_{:08x}".format, range(10**5)), "REQ|1|||{}"],
    ),
    "definitions": (
        cw.UnknownReference,
        lambda: [*map('TOOL|def|{{"n":{}}}'.format, range(10**4)), "REQ|1|t_00000000||{}"],
    ),
    "prompts": (
        cw.UnknownReference,
        lambda: [*map("SYS|full|{}".format, range(10**5)), "REQ|1||s_00000000|{}"],
    ),
    "empty deltas": (cw.UnknownReference, lambda: "REQ|1|||{}|D|=|c_00000000" + "|D|+|" * 10**6),
    "depth": (cw.InvalidFormat, lambda: "REQ|1|||" + "[" * 10**6),
    "digits": (cw.InvalidFormat, lambda: "REQ|1|||" + "1" * 10**6),
    "bars": (cw.InvalidFormat, lambda: "|" * 10**6),
    "frames": (cw.InvalidFormat, lambda: ["REQ|1|||{}"] * 10**5),
}


@pytest.mark.slow
@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_huge_request_is_refused_in_little_time(name: str) -> None:
    error, make = HOSTILE[name]
    receiver = cw.Session()
    with pytest.raises(error) as caught:
        receiver.decode_request(make())
    assert len(str(caught.value)) < 200
    assert receiver.stats == cw.SessionStats()


# Eviction


def test_a_hundred_thousand_tools_are_evicted_alike_on_both_sides() -> None:
    sender, receiver = cw.Session(), cw.Session()
    generator = random.Random(5)
    each = 250
    for start in range(0, 100_000, each):
        new = [{"name": f"tool {start + number}"} for number in range(each)]
        frames = sender.encode_request(tool=new, args=start)
        assert len(frames) == each + 1
        assert receiver.decode_request(frames).args == start
        request: Turn = {"tool": generator.sample(new, 3), "system": f"prompt {start // 500}"}
        packed = sender.encode_request(**request, pack=True)
        assert content_of(receiver.decode_request(packed)) == expected_content(**request)
    assert sender.__reduce__()[1][0].count(b'"name"') == 256


def test_a_request_redefines_its_own_tools_if_they_are_evicted() -> None:
    sender, receiver = cw.Session(), cw.Session()
    tools = [{"n": number} for number in range(256)]
    assert deliver(sender, receiver, tool=tools) == 0
    for request in (
        [*tools[:10], {"n": "new"}],
        [{"n": "newer"}, *tools[:255]],
        [tools[255], {"n": "newest"}, tools[0], tools[0]],
        tools,
    ):
        for references in (False, True):
            assert deliver(sender, receiver, tool=request, references=references) == 0


def test_references_recover_after_a_mismatch() -> None:
    sender, receiver = cw.Session(), cw.Session()
    generator = random.Random(7)
    tools = [{"n": number} for number in range(400)]
    refused = 0
    for _ in range(300):
        request: Turn = {"tool": generator.sample(tools, generator.randrange(1, 30)), "system": "s"}
        if generator.random() < 0.3:
            sender.encode_request(**request)
        else:
            refused += deliver(sender, receiver, **request)
    assert 20 < refused < 600


# Tools that collide


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("lost", [(), (0,), (1,), (0, 1)])
def test_colliding_tools_are_resolved_correctly_after_any_loss(
    first: int, lost: tuple[int, ...]
) -> None:
    sender, receiver = cw.Session(), cw.Session()
    order = [COLLIDING[first], COLLIDING[1 - first]]
    for number, tool in enumerate(order):
        if number in lost:
            sender.encode_request(tool=tool)
        else:
            assert deliver(sender, receiver, tool=tool) == 0
    for tools in ([order[1]], [order[0]], order, order[::-1]):
        deliver(sender, receiver, tool=tools, context="both")
    moved = pickle.loads(pickle.dumps(sender))
    for session in (sender, moved):
        assert deliver(session, pickle.loads(pickle.dumps(receiver)), tool=order) == 0
    frames = sender.encode_request(tool=order)
    assert len(frames) == 1
    assert [len(id) for id in frames[0].split("|")[2].split(",")] == [10, 18]


def test_a_short_id_moves_to_the_newly_defined_tool() -> None:
    # The sender has restarted and gives the second tool the id that the first has here.
    receiver = cw.Session()
    deliver(cw.Session(), receiver, tool=COLLIDING[0])
    sender = cw.Session()
    assert deliver(sender, receiver, tool=COLLIDING[1]) == 0
    deliver(sender, receiver, tool=list(COLLIDING))


@pytest.mark.parametrize("lost", ["all", "definition"])
def test_a_short_id_of_another_tool_is_not_resolved(lost: str) -> None:
    receiver = cw.Session()
    deliver(cw.Session(), receiver, tool=COLLIDING[0])
    sender = cw.Session()
    frames = sender.encode_request(tool=COLLIDING[1])
    if lost == "all":
        frames = sender.encode_request(tool=COLLIDING[1])
    assert frames[-1].startswith(f"REQ|1|{COLLIDING_ID}||null|")
    with pytest.raises(cw.UnknownReference) as caught:
        receiver.decode_request(frames[-1:])
    sender.forget(*caught.value.ids)
    assert deliver(sender, receiver, tool=COLLIDING[1]) == 0
