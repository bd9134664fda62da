"""Chat messages as the conversation of a request."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw

OPENAI: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather in Riga?\nAnd tomorrow?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city":"Riga"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "−3 °C"},
    {"role": "assistant", "content": "Cold."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "weather", "input": {"days": 2.0}}],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [], "is_error": False},
            {"type": "text", "text": "go on | D|F|"},
        ],
    },
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
messages = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), values, max_size=3)


@pytest.mark.parametrize("chat", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_messages_come_back_and_only_new_ones_are_sent(chat: list[Any], pack: Any) -> None:
    ours, theirs = cw.Session(), cw.Session()
    for end in range(len(chat) + 1):
        sent: Any = ours.encode_request(messages=chat[:end], pack=pack)  # type: ignore[call-overload]
        assert theirs.decode_request(sent).messages == chat[:end]
        if end > 1 and not pack:
            line = json.dumps(
                chat[end - 1], ensure_ascii=False, sort_keys=True, separators=(",", ":")
            )
            assert sent[0].endswith(f"|D|+|{line}\n")


@given(st.lists(messages, max_size=4), st.lists(messages, max_size=4))
def test_any_messages_come_back(first: list[Any], second: list[Any]) -> None:
    ours, theirs = cw.Session(), cw.Session()
    for chat in (first, first + second, second):
        request = theirs.decode_request(ours.encode_request(messages=iter(chat)))
        assert request.messages == chat
        assert json.dumps(request.messages, sort_keys=True) == json.dumps(chat, sort_keys=True)


def test_a_request_without_a_context_has_no_messages() -> None:
    assert cw.Request().messages is None
    assert cw.Request(context="").messages == []
    session = cw.Session()
    assert session.decode_request(cw.Session().encode_request(messages=[])).messages == []


@pytest.mark.parametrize(
    ("context", "line"),
    [("User: Hi", 1), ("{}", 1), ("{}\n[]\n", 2), ("{}\n\n", 2), ('{"a":1,"a":2}\n', 1)],
)
def test_another_context_has_no_messages(context: str, line: int) -> None:
    request = cw.Request(context=context)
    with pytest.raises(cw.InvalidFormat, match=f"line {line} of the context is not a message"):
        _ = request.messages
    assert request.context == context


def test_messages_are_dicts_of_values() -> None:
    session = cw.Session()
    for wrong in ([1], ["text"], [None], [OPENAI]):
        with pytest.raises(TypeError, match=r"messages\[0\] must be a dict"):
            session.encode_request(messages=wrong)
    with pytest.raises(TypeError, match="messages must be a list of dicts, not int"):
        session.encode_request(messages=5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="pass context or messages, not both"):
        session.encode_request(messages=[], context="")
    at = datetime.date(2026, 11, 23)
    with pytest.raises(cw.UnsupportedValue) as raised:
        session.encode_request(messages=[{}, {"at": at}])
    assert raised.value.path == "messages[1].at"
    read = cw.Session().decode_request(
        session.encode_request(messages=[{"at": at}], types="common")
    )
    assert read.messages == [{"at": "2026-11-23"}]
    assert session.stats.messages == 1


@pytest.mark.parametrize("messages", [5, {"role": "user", "content": "Hi"}, "Hi", b"Hi"])
def test_messages_that_are_no_list_are_named(messages: Any) -> None:
    with pytest.raises(TypeError, match="messages must be a list of dicts, not "):
        cw.Session().encode_request(messages=messages)
