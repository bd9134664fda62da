"""The frames of a request: what is defined, what is named, which deltas carry the context."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

import compactwire as cw
from tests.strategies.sessions import (
    HELPFUL,
    HELPFUL_ID,
    SEARCH,
    SEARCH_ID,
    SEARCH_JSON,
    check_of,
    content_of,
    expected_content,
    id_of,
    packed_delta,
    pair,
)


def test_the_first_request_defines_and_the_next_refers() -> None:
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
def test_a_request_has_the_specified_frame(request_: dict[str, Any], frame: str) -> None:
    ours, theirs = pair()
    assert ours.encode_request(**request_) == [frame]
    assert content_of(theirs.decode_request([frame])) == expected_content(**request_)


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
    replaced = old if deltas.startswith("D|F|") else ""
    assert frames == [f"REQ|1|||null|D|=|{check_of(new, replaced=replaced)}|{deltas}"]
    assert theirs.decode_request(frames).context == new


def test_frames_stay_readable_unless_the_text_contains_the_separator() -> None:
    ours, theirs = pair()
    replaced = ""
    for text in ("The quick brown fox. " * 100, "The |D| fox. " * 100):
        (frame,) = ours.encode_request(context=text)
        check = check_of(text, replaced=replaced)
        compressed = frame.startswith(f"REQ|1|||null|D|=|{check}|D|Z|")
        assert compressed == ("|D|" in text)
        assert theirs.decode_request([frame]).context == text
        replaced = text


def test_several_tools_are_defined_once_each() -> None:
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


def test_a_list_of_one_tool_is_that_tool_and_an_empty_list_is_none() -> None:
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


def test_a_request_without_a_context_keeps_the_context() -> None:
    ours, theirs = pair()
    theirs.decode_request(ours.encode_request(context="one"))
    assert theirs.decode_request(ours.encode_request(args=1)).context is None
    frames = ours.encode_request(context="one two")
    assert frames[0].endswith("|D|+| two")
    assert theirs.decode_request(frames).context == "one two"


def test_the_two_directions_are_independent() -> None:
    ours, theirs = pair()
    theirs.decode_request(ours.encode_request(tool=SEARCH, context="ours"))
    back = theirs.encode_request(tool=SEARCH, context="theirs")
    assert len(back) == 2
    assert ours.decode_request(back) == cw.Request(SEARCH, context="theirs")
    assert ours.encode_request(context="ours!")[0].endswith("|D|+|!")


def test_unchecked_requests_have_no_context_id_and_are_read_by_all() -> None:
    ours, theirs = cw.Session(checked=False), cw.Session()
    frames = ours.encode_request(context="a")
    assert frames == ["REQ|1|||null|D|F|a"]
    assert theirs.decode_request(frames).context == "a"
    back = theirs.encode_request(context="b")
    assert back == [f"REQ|1|||null|D|=|{check_of('b')}|D|F|b"]
    assert ours.decode_request(back).context == "b"


def test_several_deltas_are_applied_in_order() -> None:
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


@pytest.mark.parametrize("text", ["|D|", "D|F|x", "a|D|+|b", "x|D", "||D||", "|", "D|", "|D|=|c_"])
def test_a_text_with_the_separator_round_trips_in_every_field(text: str) -> None:
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
            assert content_of(theirs.decode_request(frames)) == expected_content(**request)
            packed = ours.encode_request(**request, pack=True)
            assert content_of(theirs.decode_request(packed)) == expected_content(**request)
