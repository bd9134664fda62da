"""The memory of a session: identifiers, eviction, `forget`, `reset`, size limits."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.sessions import (
    COLLIDING,
    COLLIDING_ID,
    HELPFUL,
    HELPFUL_ID,
    SEARCH,
    SEARCH_ID,
    SEARCH_JSON,
    check_of,
    content_of,
    expected_content,
    packed_delta,
    pair,
)


def test_two_tools_with_one_short_id_are_distinguished() -> None:
    ours, theirs = pair()
    for tool, length in zip(COLLIDING, (10, 18), strict=True):
        frames = ours.encode_request(tool=tool)
        id = frames[1].split("|")[2]
        assert (len(id), id[:10]) == (length, COLLIDING_ID)
        assert theirs.decode_request(frames) == cw.Request(tool)
    both = ours.encode_request(tool=COLLIDING[::-1])
    assert len(both) == 1
    assert theirs.decode_request(both).tool == list(COLLIDING[::-1])


def test_a_colliding_pair_found_by_search_is_distinguished() -> None:
    # Prompts, because text is fastest to create; 2^16 of them collide with probability 1/2.
    seen: dict[bytes, int] = {}
    for number in itertools.count():
        head = hashlib.sha256(b"prompt %d" % number).digest()[:4]
        other = seen.setdefault(head, number)
        if other != number:
            break
    ours, theirs = pair()
    prompts = [f"prompt {other}", f"prompt {number}"]
    ids = []
    for prompt in prompts * 2:
        frames = ours.encode_request(system=prompt)
        ids.append(frames[-1].split("|")[3])
        assert theirs.decode_request(frames).system == prompt
    assert ids[:2] == ids[2:]
    assert [len(id) for id in ids[:2]] == [10, 18]
    assert ids[1].startswith(ids[0])


@pytest.mark.parametrize(("kind", "limit"), [("tool", 256), ("system", 64)])
def test_both_sides_forget_the_least_recently_used(kind: str, limit: int) -> None:
    ours, theirs = pair()
    contents: list[Any] = [f"content {number}" for number in range(limit + 1)]
    if kind == "tool":
        contents = [{"name": content} for content in contents]

    def frames_for(number: int) -> int:
        frames = ours.encode_request(**{kind: contents[number]})
        assert getattr(theirs.decode_request(frames), kind) == contents[number]
        return len(frames)

    assert [frames_for(number) for number in range(limit)] == [2] * limit
    assert frames_for(0) == 1
    assert frames_for(limit) == 2  # takes the place of 1
    assert frames_for(0) == 1
    assert frames_for(2) == 1
    assert frames_for(1) == 2


def test_forgotten_definitions_are_sent_again() -> None:
    ours, theirs = pair()
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "context": "c"}
    whole = ours.encode_request(**request)
    theirs.decode_request(whole)
    assert len(ours.encode_request(**request)) == 1
    assert ours.forget(SEARCH_ID, HELPFUL_ID, "c_00000000") == 3
    assert ours.forget(SEARCH_ID, HELPFUL_ID, "c_00000000", "", "x_1", "t_1") == 0
    assert ours.encode_request(**request) == whole
    assert theirs.decode_request(whole) == cw.Request(**request)
    # The peer has forgotten; its own definitions are still known here.
    theirs.decode_request([f"REQ|1|{SEARCH_ID}|{HELPFUL_ID}|{{}}"])
    with pytest.raises(TypeError):
        ours.forget(1)  # type: ignore[arg-type]


def test_reset_forgets_both_directions_and_keeps_the_counts() -> None:
    ours, theirs = pair()
    whole = ours.encode_request(tool=SEARCH, context="c")
    theirs.decode_request(whole)
    ours.decode_request(theirs.encode_request(tool=SEARCH, context="d"))
    counts = ours.stats
    ours.reset()
    assert ours.stats == counts
    assert ours.encode_request(tool=SEARCH, context="c") == whole
    with pytest.raises(cw.UnknownReference) as caught:
        ours.decode_request(theirs.encode_request(tool=SEARCH, context="de"))
    assert caught.value.ids == (SEARCH_ID, check_of(SEARCH_JSON, "de"))


def test_size_limits_hold_on_both_sides() -> None:
    small = cw.Session(max_size=100)
    for request in ({"context": "é" * 51}, {"system": "x" * 101}, {"tool": {"x": "x" * 100}}):
        with pytest.raises(cw.EncodeError, match="max_size, 100"):
            small.encode_request(**request)
        frames = cw.Session().encode_request(**request)
        with pytest.raises(cw.OutputTooLarge) as caught:
            small.decode_request(frames)
        assert caught.value.limit == 100
        packed = cw.Session().encode_request(**request, pack=True)
        with pytest.raises(cw.OutputTooLarge):
            small.decode_request(packed)
    fitting: dict[str, Any] = {"context": "|D|" + "x" * 97, "system": "x" * 100}
    frames = small.encode_request(**fitting)
    assert "|D|Z|" in frames[-1]  # the operation is not part of the context
    assert content_of(small.decode_request(frames)) == expected_content(**fitting)
    with pytest.raises(cw.EncodeError, match="max_size, 100") as refused:
        cw.Session(max_size=100).encode_request(**fitting, pack=True)
    assert refused.value.field == "pack"
    with pytest.raises(cw.OutputTooLarge):
        small.decode_request(["REQ|1|||{}|D|+|x"])


@pytest.mark.parametrize("checked", ["", "D|=|c_00000000|"])
def test_compressed_deltas_share_one_size_limit(checked: str) -> None:
    bomb = packed_delta("D|F|" + "x" * 900_000)  # compressed to a thousandth
    frame = f"REQ|1|||{{}}|{checked}" + "|".join([bomb] * 2000)
    with pytest.raises(cw.OutputTooLarge):
        cw.Session(max_size=1_000_000).decode_request(frame)
    additions = "|".join([packed_delta("D|+|" + "x" * 400)] * 3)
    with pytest.raises(cw.OutputTooLarge):
        cw.Session(max_size=1000).decode_request(f"REQ|1|||{{}}|{checked}{additions}")


def test_a_request_names_at_most_256_tools() -> None:
    ids = ",".join([SEARCH_ID] * 256)
    session = cw.Session()
    assert (
        len(session.decode_request(["TOOL|def|" + SEARCH_JSON, f"REQ|1|{ids}||{{}}"]).tools) == 256
    )
    with pytest.raises(cw.InvalidFormat, match="256"):
        session.decode_request([f"REQ|1|{ids},{SEARCH_ID}||{{}}"])
