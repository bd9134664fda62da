"""Sessions and their copies: pickle, copy, deepcopy, and several threads."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.sessions import COLLIDING, HELPFUL, SEARCH, content_of, expected_content, pair
from tests.strategies.threads import THREADS, in_threads


@pytest.mark.parametrize(
    "moved",
    [lambda session: pickle.loads(pickle.dumps(session)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copied_session_continues(moved: Any) -> None:
    ours, theirs = pair(checked=False, max_size=10_000)
    tools = [*COLLIDING, SEARCH]
    for turn in range(30):
        request: dict[str, Any] = {
            "tool": tools[: turn % 4],
            "system": f"{turn % 3}",
            "context": "turn " * turn,
        }
        stay, ours, theirs = ours, moved(ours), moved(theirs)
        assert (repr(stay), stay.stats) == (repr(ours), ours.stats)
        frames = ours.encode_request(**request)
        assert frames == stay.encode_request(**request)
        assert "D|=|" not in frames[-1]
        assert content_of(theirs.decode_request(frames)) == expected_content(**request)
        assert content_of(
            ours.decode_request(theirs.encode_request(**request))
        ) == expected_content(**request)
    with pytest.raises(cw.EncodeError):
        ours.encode_request(context="x" * 10_001)


def test_a_copy_is_independent() -> None:
    ours = cw.Session()
    ours.encode_request(context="a")
    other = copy.copy(ours)
    ours.encode_request(tool=SEARCH, context="ab")
    assert len(other.encode_request(tool=SEARCH, context="ac")) == 2


@pytest.mark.parametrize("state", [b"", b"\xc0", b"\x95", bytes(50), b"\x95\x02\x00" + bytes(9)])
def test_an_invalid_session_state_is_refused(state: bytes) -> None:
    restore, (whole, _) = cw.Session().__reduce__()
    for bad in (state, whole[:-1]):
        with pytest.raises(ValueError, match="invalid session state"):
            restore(bad, True)


def test_threads_share_a_session_and_each_tool_is_defined_once() -> None:
    ours, theirs = pair()
    tools = [{"name": f"tool {number}"} for number in range(200)]

    def work(number: int) -> list[list[str]]:
        turns = itertools.islice(itertools.cycle(tools), number * 25, number * 25 + 400)
        return [ours.encode_request(tool=tool, system=HELPFUL, args=number) for tool in turns]

    written = list(itertools.chain.from_iterable(in_threads(work)))
    definitions = [frame for frames in written for frame in frames[:-1]]
    assert len(definitions) == len(set(definitions)) == len(tools) + 1
    for frames in sorted(written, key=len, reverse=True):
        theirs.decode_request(frames)
    assert ours.stats.messages == theirs.stats.messages == THREADS * 400


def test_threads_hold_one_conversation() -> None:
    ours, theirs = pair()
    lock = threading.Lock()
    said_so_far = [""]

    def work(number: int) -> None:
        for turn in range(50):
            with lock:
                said_so_far[0] += f"{number}: {turn}\n" * 20
                context = said_so_far[0]
                frames = ours.encode_request(tool={"n": number}, args=turn, context=context)
                decoded = theirs.decode_request(frames)
            assert decoded == cw.Request({"n": number}, args=turn, context=context)
            assert ours.stats.messages > 0
            pickle.dumps(theirs)

    in_threads(work)
    assert len(theirs.encode_request(tool={"n": 0})) == 2
