"""Sessions: what the frames are, what is remembered, what comes out."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import pickle
import threading
import zlib
from typing import Any

import hypothesis.strategies as st
import msgpack  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given

import compactwire as cw
from tests.package.test_threads import THREADS, in_threads
from tests.strategies import messages as some
from tests.strategies.sessions import COLLIDING, COLLIDING_ID, check_of, meant, plain_json, said

SEARCH = {"name": "search", "schema": {"type": "object"}}
SEARCH_JSON = '{"name":"search","schema":{"type":"object"}}'


def id_of(letter: str, content: str) -> str:
    return f"{letter}_{hashlib.sha256(content.encode()).hexdigest()[:8]}"


SEARCH_ID = id_of("t", SEARCH_JSON)
HELPFUL = "You are a helpful assistant..."
HELPFUL_ID = id_of("s", HELPFUL)


def pair(**options: Any) -> tuple[cw.Session, cw.Session]:
    return cw.Session(**options), cw.Session(**options)


def packed_delta(delta: str) -> str:
    return "D|Z|" + cw.encode_base85(zlib.compress(delta.encode()))


# Frames


def test_the_first_request_defines_and_the_next_names() -> None:
    ours, theirs = pair(checked=False)
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "args": {"query": "hello"}}
    first = ours.encode_request(**request, context="User: Hi")
    assert first == [
        "TOOL|def|" + SEARCH_JSON,
        "SYS|full|You are a helpful assistant...",
        f'REQ|1|{SEARCH_ID}|{HELPFUL_ID}|{{"query":"hello"}}|D|F|User: Hi',
    ]
    second = ours.encode_request(**request, context="User: Hi\nAgent: Hello.")
    assert second == [f'REQ|1|{SEARCH_ID}|{HELPFUL_ID}|{{"query":"hello"}}|D|+|\nAgent: Hello.']
    expected = cw.Request(SEARCH, HELPFUL, {"query": "hello"}, "User: Hi")
    assert theirs.decode_request(first) == expected
    assert theirs.decode_request(second).context == "User: Hi\nAgent: Hello."


def test_the_frames_of_the_specification_are_read() -> None:
    tool = '{"name":"search","schema":{}}'
    session = cw.Session()
    frames = [
        "TOOL|def|" + tool,
        "SYS|full|" + HELPFUL,
        f'REQ|1|{id_of("t", tool)}|{HELPFUL_ID}|{{"query":"hello"}}|D|+|User: Hi',
    ]
    request = session.decode_request(frames)
    assert request == cw.Request(
        {"name": "search", "schema": {}}, HELPFUL, {"query": "hello"}, "User: Hi"
    )
    later = [f"TOOL|ref|{id_of('t', tool)}", f"SYS|ref|{HELPFUL_ID}", "REQ|1|||null|D|+|!"]
    assert session.decode_request(later) == cw.Request(context="User: Hi!")
    with pytest.raises(cw.UnknownReference) as caught:
        session.decode_request('REQ|1|t_abc12345|s_xyz78901|{"query":"hello"}|D|+|User: Hi')
    assert caught.value.ids[:2] == ("t_abc12345", "s_xyz78901")


@pytest.mark.parametrize(
    ("request_", "frame"),
    [
        ({}, "REQ|1|||null"),
        ({"args": {}}, "REQ|1|||{}"),
        ({"args": "a|D|+|b"}, 'REQ|1|||"a|D|+|b"'),
        ({"context": ""}, f"REQ|1|||null|D|=|{check_of('')}|D|F|"),
        ({"context": "한국어"}, f"REQ|1|||null|D|=|{check_of('한국어')}|D|F|한국어"),
        ({"args": 10**40}, "REQ|1|||1" + "0" * 40),
    ],
)
def test_a_request_is_written_as_the_design_says(request_: dict[str, Any], frame: str) -> None:
    ours, theirs = pair()
    assert ours.encode_request(**request_) == [frame]
    assert said(theirs.decode_request([frame])) == meant(**request_)


@pytest.mark.parametrize(
    ("old", "new", "deltas"),
    [
        ("User: Hi", "User: Hi", "D|+|"),
        ("User: Hi", "User: Hi!", "D|+|!"),
        ("User: Hello there", "User: Hallo there", "D|R|7|allo there"),
        ("User: Hello there, all of you", "User", "D|F|User"),
        ("é", "e", "D|F|e"),
        ("User: Hi", "", "D|F|"),
    ],
)
def test_a_context_changes_by_the_shortest_delta(old: str, new: str, deltas: str) -> None:
    ours, theirs = pair()
    theirs.decode_request(ours.encode_request(context=old))
    frames = ours.encode_request(context=new)
    assert frames == [f"REQ|1|||null|D|=|{check_of(new)}|{deltas}"]
    assert theirs.decode_request(frames).context == new


def test_frames_stay_readable_unless_the_text_would_divide_them() -> None:
    ours, theirs = pair()
    for text in ("The quick brown fox. " * 100, "The |D| fox. " * 100):
        (frame,) = ours.encode_request(context=text)
        compressed = frame.startswith(f"REQ|1|||null|D|=|{check_of(text)}|D|Z|")
        assert compressed == ("|D|" in text)
        assert theirs.decode_request([frame]).context == text


def test_several_tools_are_defined_once_each_and_named_together() -> None:
    ours, theirs = pair()
    tools = [{"name": name} for name in "abc"]
    texts = [f'{{"name":"{name}"}}' for name in "abc"]
    ids = [id_of("t", text) for text in texts]
    first = ours.encode_request(tool=[tools[0], tools[1], tools[0]])
    assert first == [
        'TOOL|def|{"name":"a"}',
        'TOOL|def|{"name":"b"}',
        f"REQ|1|{ids[0]},{ids[1]},{ids[0]}||null|D|=|{check_of(*texts[:2], texts[0])}",
    ]
    assert theirs.decode_request(first).tool == [tools[0], tools[1], tools[0]]
    second = ours.encode_request(tool=tuple(tools))
    request = f"REQ|1|{','.join(ids)}||null|D|=|{check_of(*texts)}"
    assert second == ['TOOL|def|{"name":"c"}', request]
    assert theirs.decode_request(second).tools == tuple(tools)


def test_a_list_of_one_tool_is_that_tool_and_an_empty_one_is_none() -> None:
    ours, theirs = pair()
    assert theirs.decode_request(ours.encode_request(tool=[SEARCH])) == cw.Request(SEARCH)
    assert ours.encode_request(tool=[]) == ["REQ|1|||null"]
    assert cw.Request([]) == cw.Request()


def test_references_are_written_on_request() -> None:
    ours, theirs = pair()
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "references": True}
    assert [frame[:9] for frame in ours.encode_request(**request)] == [
        "TOOL|def|",
        "SYS|full|",
        "REQ|1|t_" + SEARCH_ID[2:3],
    ]
    theirs.decode_request(["TOOL|def|" + SEARCH_JSON, "SYS|full|" + HELPFUL, "REQ|1|||{}"])
    again = ours.encode_request(**request)
    assert again == [
        f"TOOL|ref|{SEARCH_ID}",
        f"SYS|ref|{HELPFUL_ID}",
        f"REQ|1|{SEARCH_ID}|{HELPFUL_ID}|null|D|=|{check_of(SEARCH_JSON, HELPFUL)}",
    ]
    assert theirs.decode_request(again) == cw.Request(SEARCH, HELPFUL)


def test_a_request_without_a_context_leaves_the_context_as_it_is() -> None:
    ours, theirs = pair()
    theirs.decode_request(ours.encode_request(context="one"))
    assert theirs.decode_request(ours.encode_request(args=1)).context is None
    frames = ours.encode_request(context="one two")
    assert frames[0].endswith("|D|+| two")
    assert theirs.decode_request(frames).context == "one two"


def test_both_directions_are_apart() -> None:
    ours, theirs = pair()
    theirs.decode_request(ours.encode_request(tool=SEARCH, context="ours"))
    back = theirs.encode_request(tool=SEARCH, context="theirs")
    assert len(back) == 2
    assert ours.decode_request(back) == cw.Request(SEARCH, context="theirs")
    assert ours.encode_request(context="ours!")[0].endswith("|D|+|!")


def test_unchecked_requests_have_no_id_of_the_context_and_all_read_both() -> None:
    ours, theirs = cw.Session(checked=False), cw.Session()
    frames = ours.encode_request(context="a")
    assert frames == ["REQ|1|||null|D|F|a"]
    assert theirs.decode_request(frames).context == "a"
    back = theirs.encode_request(context="b")
    assert back == [f"REQ|1|||null|D|=|{check_of('b')}|D|F|b"]
    assert ours.decode_request(back).context == "b"


def test_several_deltas_are_read_one_after_the_other() -> None:
    deltas = ["D|F|Hello", "D|+|, world", packed_delta("D|+||D|!"), "D|R|7|World", "D|ZF|", "D|+|"]
    deltas[4] = "D|Z+|" + cw.encode_base85(zlib.compress(b"?"))
    request = cw.Session().decode_request("REQ|1|||{}|" + "|".join(deltas))
    assert request.context == "Hello, World|D|!?"


def test_frames_may_be_bytes_or_any_iterable() -> None:
    frames = cw.Session().encode_request(tool=SEARCH, context="é")
    expected = cw.Request(SEARCH, context="é")
    kinds: list[Any] = [tuple(frames), iter(frames), [frame.encode() for frame in frames]]
    kinds.append([bytearray(frames[0].encode()), memoryview(frames[1].encode())])
    for kind in kinds:
        assert cw.Session().decode_request(kind) == expected
    assert cw.Session().decode_request(b"REQ|1|||{}") == cw.Request(args={})
    with pytest.raises(TypeError):
        cw.Session().decode_request([None])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        cw.Session().decode_request(3)  # type: ignore[arg-type]


# Canonical JSON

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | some.SHORT_TEXTS
    | st.sampled_from(("|D|", "D|F|", "|D|+|", "t_00000000,", "\x7f")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(some.SHORT_TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)
TOOLS = st.dictionaries(some.SHORT_TEXTS, JSON, max_size=4)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@some.share(0.5)
@given(TOOLS, JSON)
def test_tools_and_arguments_are_the_json_of_python_with_sorted_keys(tool: Any, args: Any) -> None:
    definition, request = cw.Session().encode_request(tool=tool, args=args)
    assert definition == "TOOL|def|" + canonical(tool)
    check = check_of(canonical(tool))
    assert request == f"REQ|1|{id_of('t', canonical(tool))}||{canonical(args)}|D|=|{check}"


@some.share(0.5)
@given(st.lists(TOOLS, max_size=3), JSON, st.none() | some.TEXTS, st.none() | some.TEXTS)
def test_whatever_is_asked_comes_out(
    tool: Any, args: Any, system: str | None, context: str | None
) -> None:
    ours, theirs = pair()
    request = {"tool": tool, "args": args, "system": system, "context": context}
    for pack in (False, True, False):
        decoded = theirs.decode_request(ours.encode_request(**request, pack=pack))
        assert said(decoded) == meant(**request)


def test_the_order_of_members_makes_no_other_tool() -> None:
    session = cw.Session()
    session.encode_request(tool={"a": 1, "b": {"c": 2, "d": 3}})
    assert len(session.encode_request(tool={"b": {"d": 3, "c": 2}, "a": 1})) == 1
    assert len(session.encode_request(tool={"b": {"d": 3, "c": 2}, "a": 1.0})) == 2


NUMBERS = [0, -1, 2**63 - 1, 2**63, -(2**64), 10**4299, 0.1, 1e16, 1e-7, -0.0, 5e-324, 1.7e308]


def test_numbers_keep_every_digit() -> None:
    ours, theirs = pair()
    frames = ours.encode_request(args=NUMBERS)
    assert frames == ["REQ|1|||" + json.dumps(NUMBERS, separators=(",", ":"))]
    args = theirs.decode_request(frames).args
    assert args == NUMBERS
    assert [type(number) for number in args] == [type(number) for number in NUMBERS]
    assert math.copysign(1, args[9]) == -1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"args": {"rows": [0, {"total": math.inf}]}}, "args.rows[1].total"),
        ({"args": math.nan}, "args"),
        ({"args": ["\ud800"]}, "args[0]"),
        ({"tool": [SEARCH, {"a": math.nan}]}, "tool[1].a"),
        ({"tool": {"\ud800": 1}}, "tool"),
        ({"tool": [{"n": number} for number in range(257)]}, "tool"),
        ({"system": "\udfff"}, "system"),
        ({"context": "a\ud800"}, "context"),
    ],
)
def test_what_json_has_not_is_named_and_changes_nothing(
    request_: dict[str, Any], field: str
) -> None:
    session = cw.Session()
    before = session.__reduce__()
    with pytest.raises(cw.EncodeError) as caught:
        session.encode_request(**{"tool": SEARCH, "system": "s", "context": "c", **request_})
    assert caught.value.field == field
    assert session.__reduce__() == before


@pytest.mark.parametrize(
    "request_",
    [
        {"tool": "search"},
        {"tool": [SEARCH, None]},
        {"tool": {1: 2}},
        {"system": b"s"},
        {"context": 3},
        {"args": {1}},
        {"args": [b"x"]},
    ],
)
def test_other_types_are_type_errors(request_: dict[str, Any]) -> None:
    session = cw.Session()
    with pytest.raises(TypeError):
        session.encode_request(**request_)
    with pytest.raises(TypeError):
        cw.Request(**request_)
    assert session.stats == cw.SessionStats()


def test_arguments_within_themselves_are_refused() -> None:
    args: list[Any] = []
    args.append(args)
    with pytest.raises(cw.EncodeError, match="128 levels"):
        cw.Session().encode_request(args=args)
    deep: Any = 0
    for _ in range(128):
        deep = [deep]
    ours, theirs = pair()
    assert theirs.decode_request(ours.encode_request(args=deep)).args == deep
    with pytest.raises(cw.EncodeError):
        ours.encode_request(args=[deep])


# The divider of deltas


@pytest.mark.parametrize("text", ["|D|", "D|F|x", "a|D|+|b", "x|D", "||D||", "|", "D|", "|D|=|c_"])
def test_a_text_with_the_divider_is_carried_everywhere(text: str) -> None:
    for old in ("", "a", text, "b|D"):
        ours, theirs = pair()
        theirs.decode_request(ours.encode_request(context=old))
        for new in (old + text, text + old, text):
            request: dict[str, Any] = {
                "tool": {text: text},
                "system": text,
                "args": {text: [text]},
                "context": new,
            }
            frames = ours.encode_request(**request)
            assert said(theirs.decode_request(frames)) == meant(**request)
            packed = ours.encode_request(**request, pack=True)
            assert said(theirs.decode_request(packed)) == meant(**request)


# Memory


def test_two_tools_with_one_short_id_are_told_apart() -> None:
    ours, theirs = pair()
    for tool, length in zip(COLLIDING, (10, 18), strict=True):
        frames = ours.encode_request(tool=tool)
        id = frames[1].split("|")[2]
        assert (len(id), id[:10]) == (length, COLLIDING_ID)
        assert theirs.decode_request(frames) == cw.Request(tool)
    both = ours.encode_request(tool=COLLIDING[::-1])
    assert len(both) == 1
    assert theirs.decode_request(both).tool == list(COLLIDING[::-1])


def test_a_colliding_pair_is_found_by_search_and_told_apart() -> None:
    # Prompts, because text is the quickest to make; 2^16 of them collide with even odds.
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
def test_the_least_recently_used_is_forgotten_by_both(kind: str, limit: int) -> None:
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


def test_what_is_forgotten_is_sent_again() -> None:
    ours, theirs = pair()
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "context": "c"}
    whole = ours.encode_request(**request)
    theirs.decode_request(whole)
    assert len(ours.encode_request(**request)) == 1
    assert ours.forget(SEARCH_ID, HELPFUL_ID, "c_00000000") == 3
    assert ours.forget(SEARCH_ID, HELPFUL_ID, "c_00000000", "", "x_1", "t_1") == 0
    assert ours.encode_request(**request) == whole
    assert theirs.decode_request(whole) == cw.Request(**request)
    # It is the peer that has forgotten: what it sent is still known here.
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


def test_the_bounds_of_a_session_hold_on_both_sides() -> None:
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
    assert "|D|Z|" in frames[-1]  # the operation in it is not part of the context
    assert said(small.decode_request(frames)) == meant(**fitting)
    with pytest.raises(cw.EncodeError, match="max_size, 100") as refused:
        cw.Session(max_size=100).encode_request(**fitting, pack=True)
    assert refused.value.field == "pack"
    with pytest.raises(cw.OutputTooLarge):
        small.decode_request(["REQ|1|||{}|D|+|x"])


@pytest.mark.parametrize("checked", ["", "D|=|c_00000000|"])
def test_many_compressed_deltas_are_bounded_together(checked: str) -> None:
    bomb = packed_delta("D|F|" + "x" * 900_000)  # a thousandth of that
    frame = f"REQ|1|||{{}}|{checked}" + "|".join([bomb] * 2000)
    with pytest.raises(cw.OutputTooLarge):
        cw.Session(max_size=1_000_000).decode_request(frame)
    additions = "|".join([packed_delta("D|+|" + "x" * 400)] * 3)
    with pytest.raises(cw.OutputTooLarge):
        cw.Session(max_size=1000).decode_request(f"REQ|1|||{{}}|{checked}{additions}")


def test_a_request_names_256_tools_at_most() -> None:
    ids = ",".join([SEARCH_ID] * 256)
    session = cw.Session()
    assert (
        len(session.decode_request(["TOOL|def|" + SEARCH_JSON, f"REQ|1|{ids}||{{}}"]).tools) == 256
    )
    with pytest.raises(cw.InvalidFormat, match="256"):
        session.decode_request([f"REQ|1|{ids},{SEARCH_ID}||{{}}"])


# Counts


@some.share(0.3)
@given(st.lists(st.tuples(TOOLS, JSON, some.TEXTS, some.TEXTS, st.booleans()), max_size=4))
def test_counts_are_those_of_the_frames_and_of_compact_json(requests: Any) -> None:
    ours, theirs = pair()
    plain = sent = 0
    for tool, args, system, context, pack in requests:
        request = {"tool": [tool, SEARCH], "args": args, "system": system, "context": context}
        for left_out in ("", "tool", "system", "context"):
            part = {name: value for name, value in request.items() if name != left_out}
            frames: Any = ours.encode_request(**part, pack=pack)
            theirs.decode_request(frames)
            sent += len(frames) if pack else sum(len(frame.encode()) for frame in frames)
            plain += len(plain_json(**part))
    count = 4 * len(requests)
    assert ours.stats == cw.SessionStats(messages=count, bytes_out=sent, plain_bytes=plain)
    assert theirs.stats == cw.SessionStats(messages=count, bytes_in=sent, plain_bytes=plain)
    assert ours.stats.savings == (1 - sent / plain if plain else 0.0)


def test_counts_are_values() -> None:
    counts = cw.SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)
    assert counts == cw.SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)
    assert counts != cw.SessionStats(messages=2)
    assert len({counts, pickle.loads(pickle.dumps(counts)), copy.copy(counts)}) == 1
    assert counts.savings == 0.9
    assert repr(counts) == ("SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)")
    assert repr(cw.Session()) == "<Session: 0 messages, 0 bytes out, 0 in, 0.0% saved>"


def test_a_failure_is_not_counted() -> None:
    session = cw.Session()
    with pytest.raises(cw.UnknownReference):
        session.decode_request("REQ|1|t_00000000||{}")
    with pytest.raises(cw.EncodeError):
        session.encode_request(args=math.nan)
    assert session.stats == cw.SessionStats()


# Packed


def test_packed_frames_are_base85_of_zstd_of_msgpack() -> None:
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "context": "one |D| two " * 30}
    ours, theirs = pair()
    text = ours.encode_request(**request, pack=True)
    assert text.startswith("S")
    assert text.isascii()
    frames = msgpack.unpackb(zstandard.decompress(cw.decode_base85(text[1:])))
    assert frames[:2] == ["TOOL|def|" + SEARCH_JSON, "SYS|full|" + HELPFUL]
    assert len(frames) == 3
    assert theirs.decode_request(f" \n{text}\n") == cw.Request(**request)
    # A session does not mind how it was told.
    request["context"] += "."
    assert theirs.decode_request(ours.encode_request(**request)) == cw.Request(**request)


def test_another_msgpack_and_zstd_are_read() -> None:
    frames = cw.Session().encode_request(tool=SEARCH, context="é")
    text = "S" + cw.encode_base85(zstandard.compress(msgpack.packb(frames)))
    assert cw.Session().decode_request(text) == cw.Request(SEARCH, context="é")
    assert cw.Session().decode_request(text.encode()) == cw.Request(SEARCH, context="é")


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ([], cw.InvalidFormat),
        ({}, cw.InvalidMsgpack),
        ("REQ|1|||{}", cw.InvalidMsgpack),
        ([b"REQ|1|||{}"], cw.InvalidMsgpack),
        (["REQ|1|||{}", None], cw.InvalidMsgpack),
        ([["REQ|1|||{}"]], cw.InvalidMsgpack),
        (b"\x91\xa1", cw.InvalidMsgpack),
        (b"\xdd\xff\xff\xff\xff", cw.InvalidMsgpack),
        (b"\x91\xa1R\xc0", cw.InvalidMsgpack),
        (b"\x91\xa1\xff", cw.InvalidMsgpack),
    ],
)
def test_a_packed_text_that_holds_no_frames_is_an_error(
    message: Any, error: type[cw.CompactWireError]
) -> None:
    data = message if isinstance(message, bytes) else msgpack.packb(message)
    with pytest.raises(error):
        cw.Session().decode_request("S" + cw.encode_base85(zstandard.compress(data)))


# Elsewhere


@pytest.mark.parametrize(
    "moved",
    [lambda session: pickle.loads(pickle.dumps(session)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_session_goes_on_elsewhere(moved: Any) -> None:
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
        assert said(theirs.decode_request(frames)) == meant(**request)
        assert said(ours.decode_request(theirs.encode_request(**request))) == meant(**request)
    with pytest.raises(cw.EncodeError):
        ours.encode_request(context="x" * 10_001)


def test_a_copy_goes_its_own_way() -> None:
    ours = cw.Session()
    ours.encode_request(context="a")
    other = copy.copy(ours)
    ours.encode_request(tool=SEARCH, context="ab")
    assert len(other.encode_request(tool=SEARCH, context="ac")) == 2


@pytest.mark.parametrize("state", [b"", b"\xc0", b"\x95", bytes(50), b"\x95\x02\x00" + bytes(9)])
def test_what_is_no_session_is_not_unpickled(state: bytes) -> None:
    restore, (whole, _) = cw.Session().__reduce__()
    for bad in (state, whole[:-1]):
        with pytest.raises(ValueError, match="state of a session"):
            restore(bad, True)


# Threads


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


# Requests as values


def test_a_request_is_a_value() -> None:
    request = cw.Request(SEARCH, "sys", {"b": 1, "a": [2.0, None, "é"]}, "con")
    for same in (
        cw.Request(tool=SEARCH, system="sys", args={"a": [2.0, None, "é"], "b": 1}, context="con"),
        pickle.loads(pickle.dumps(request)),
        copy.copy(request),
        copy.deepcopy(request),
        eval(repr(request), {"Request": cw.Request}),
        cw.Session().decode_request(
            [
                "TOOL|def|" + SEARCH_JSON,
                "SYS|full|sys",
                f"REQ|1|{SEARCH_ID}|{id_of('s', 'sys')}"
                '|{"b":1,"a":[2e0 ,null,"\\u00e9"]}|D|F|con',
            ]
        ),
    ):
        assert same == request
        assert hash(same) == hash(request)
    assert repr(request) == (
        f"Request(tool={SEARCH!r}, system='sys', args={{'a': [2.0, None, 'é'], 'b': 1}}, "
        "context='con')"
    )
    assert repr(cw.Request()) == "Request()"


def test_requests_differ_in_what_json_tells_apart() -> None:
    requests = [
        cw.Request(),
        cw.Request(args=0),
        cw.Request(args=0.0),
        cw.Request(args=-0.0),
        cw.Request(args=False),
        cw.Request(args=""),
        cw.Request(args=[]),
        cw.Request(args={}),
        cw.Request({}),
        cw.Request([{}, {}]),
        cw.Request(system=""),
        cw.Request(context=""),
        cw.Request(system="a", context="b"),
        cw.Request(system="b", context="a"),
        cw.Request([{"a": 1}, {"b": 1}]),
        cw.Request([{"b": 1}, {"a": 1}]),
    ]
    for one, other in itertools.combinations(requests, 2):
        assert one != other
    assert len(set(requests)) == len(requests)
    assert cw.Request() != "Request()"


def test_a_request_does_not_change() -> None:
    args = {"list": [1]}
    request = cw.Request([SEARCH, SEARCH], args=args)
    args["list"].append(2)
    request.args["list"].append(3)
    request.tools[0]["name"] = "other"
    request.tool.clear()
    assert request == cw.Request([SEARCH, SEARCH], args={"list": [1]})
    with pytest.raises(AttributeError):
        request.system = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        request.other = "x"  # type: ignore[attr-defined]


def test_a_request_is_replaced_and_matched() -> None:
    request = cw.Request(SEARCH, "sys", 1, "con")
    assert request.__replace__() == request
    assert request.__replace__(args=[2], system=None) == cw.Request(SEARCH, None, [2], "con")
    with pytest.raises(TypeError):
        request.__replace__(other=1)
    match request:
        case cw.Request(tool, system, args, context):
            assert (tool, system, args, context) == (SEARCH, "sys", 1, "con")
