"""`shrink_messages` shrinks the tool results of a chat, and nothing else."""

from __future__ import annotations

import copy
import json
from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from tests.shrink.test_shrink import same
from tests.strategies.gcf import values

ROWS = [{"id": i, "state": "open", "kind": "task"} for i in range(20)]
TEXT = json.dumps(ROWS)
SHRUNK = cw.shrink(TEXT).text
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
CACHE = {"cache_control": {"type": "ephemeral"}}


def openai(content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "c1", "content": content}


def function(content: Any) -> dict[str, Any]:
    return {"role": "function", "name": "list", "content": content}


def item(output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "c1", "output": output}


def custom(output: Any) -> dict[str, Any]:
    return {"type": "custom_tool_call_output", "call_id": "c1", "output": output}


def anthropic(content: Any, **members: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, **members}
    return {"role": "user", "content": [{"type": "text", "text": TEXT}, block, IMAGE]}


def parts(text: str, kind: str = "text") -> list[Any]:
    return [{"type": kind, "text": text, **CACHE}, IMAGE, {"type": kind, "text": "done"}]


RESULTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "openai": lambda text: openai(text),
    "openai, parts": lambda text: openai(parts(text)),
    "openai, function": lambda text: function(text),
    "openai, item": lambda text: item(text),
    "openai, item with parts": lambda text: item(parts(text, "input_text")),
    "openai, item of a direct call": lambda text: {**item(text), "caller": {"type": "direct"}},
    "openai, custom tool": lambda text: custom(text),
    "anthropic": lambda text: anthropic(text, **CACHE),
    "anthropic, parts": lambda text: anthropic(parts(text), is_error=False),
}

OTHERS: list[Any] = [
    {"role": "system", "content": TEXT},
    {"role": "user", "content": TEXT},
    {"role": "user", "content": [{"type": "text", "text": TEXT}, IMAGE]},
    {"role": "assistant", "content": TEXT, "tool_calls": [{"function": {"arguments": TEXT}}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": TEXT}]},
    {"role": "assistant", "content": [{"type": "tool_result", "content": TEXT}]},
    {"type": "function_call", "arguments": TEXT},
    {"type": "reasoning", "content": TEXT},
    {"type": "unknown", "output": TEXT},
    {"role": ["tool"], "content": TEXT},
    {"content": TEXT},
    {},
    anthropic(TEXT, is_error=True),
    anthropic(parts(TEXT), is_error=True),
    anthropic("done"),
    anthropic(None),
    anthropic(parts(TEXT, "input_text")),
    {"role": "user", "content": ["x", None, {"type": "tool_result"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": ["x", {"type": "text"}]}]},
    openai(None),
    openai(ROWS),
    openai([TEXT, {"type": "text", "text": ROWS}]),
    openai({"type": "text", "text": TEXT}),
    openai("[1, "),
    openai('["\ud800", 1]'),
    item(parts(TEXT, "output_text")),
    {**item(TEXT), "caller": {"type": "program", "caller_id": "p1"}},
    {"role": "tool"},
    TEXT,
    None,
    object(),
]


@pytest.mark.parametrize("name", RESULTS)
def test_only_the_text_of_a_result_is_shrunk(name: str) -> None:
    make = RESULTS[name]
    message = make(TEXT)
    before = copy.deepcopy(message)
    (done,) = cw.shrink_messages([message])
    assert done == make(SHRUNK)
    assert list(done) == list(message)
    assert message == before
    assert cw.expand(SHRUNK) == ROWS


@pytest.mark.parametrize("message", OTHERS, ids=range(len(OTHERS)))
def test_everything_else_is_the_same_object(message: Any) -> None:
    before = copy.deepcopy(message) if isinstance(message, dict) else message
    assert cw.shrink_messages([message])[0] is message
    assert message == before


@pytest.mark.parametrize("name", RESULTS)
def test_a_shrunk_result_in_place_of_its_text_becomes_the_text(name: str) -> None:
    shrunk = cw.shrink(TEXT)
    assert cw.shrink_messages([RESULTS[name](shrunk)]) == [RESULTS[name](shrunk.text)]


def test_unchanged_parts_are_the_same_objects() -> None:
    message = anthropic(parts(TEXT))
    (done,) = cw.shrink_messages([message])
    assert done["content"][0] is message["content"][0]
    assert done["content"][2] is message["content"][2]
    assert done["content"][1]["content"][1] is message["content"][1]["content"][1]


def test_options_are_those_of_shrink() -> None:
    options: list[dict[str, Any]] = [
        {"formats": ["json"]},
        {"formats": iter(["json"])},
        {"extensions": False},
        {"min_saving": 1.0},
        {"min_tokens": 10**6},
        {"max_size": 10},
        {"max_depth": 1},
        {"tokenizer": len},
    ]
    tagged = json.dumps([{"id": i, "tags": ["bug", f"area-{i % 4}"]} for i in range(20)])
    changed = 0
    for given_options in options:
        done = cw.shrink_messages([openai(tagged), openai(tagged)], **given_options)
        again = given_options | ({"formats": ["json"]} if "formats" in given_options else {})
        assert done == [openai(cw.shrink(tagged, **again).text)] * 2
        changed += done != cw.shrink_messages([openai(tagged)] * 2)
    assert changed >= 6


@pytest.mark.parametrize(
    "messages", [TEXT, b"[]", bytearray(), {"messages": []}, UserDict(), None, 5]
)
def test_messages_that_are_no_list_are_a_type_error(messages: Any) -> None:
    with pytest.raises(TypeError, match="messages must be a list of dicts, not "):
        cw.shrink_messages(messages)


def test_a_table_is_no_list_of_messages() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([openai(TEXT)])
    with pytest.raises(TypeError, match="messages must be a list of dicts, not DataFrame"):
        cw.shrink_messages(table)
    rows = table.to_dict("records")
    for messages in (rows, pandas.Series(rows)):
        assert cw.shrink_messages(messages) == cw.shrink_messages([openai(TEXT)])


@pytest.mark.parametrize("chat", [[], [openai(TEXT)]])
def test_an_invalid_option_is_an_error_without_a_tool_result_too(chat: list[Any]) -> None:
    with pytest.raises(cw.OptionError, match="formats"):
        cw.shrink_messages(chat, formats=["xml"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        cw.shrink_messages(chat, formats="json")  # type: ignore[arg-type]


TEXTS = st.one_of(
    st.text(max_size=20),
    st.builds(json.dumps, values, indent=st.sampled_from([None, 2]), ensure_ascii=st.booleans()),
    st.builds(lambda one, n: json.dumps([one] * n), values, st.integers(2, 9)),
)
MESSAGES = st.one_of(
    st.sampled_from([one for one in OTHERS if isinstance(one, dict)]),
    st.builds(lambda make, text: make(text), st.sampled_from(list(RESULTS.values())), TEXTS),
)
OPTIONS = st.sampled_from(
    [{}, {"min_tokens": 0, "min_saving": 0.0}, {"extensions": False, "min_tokens": 1}]
)


@given(st.lists(MESSAGES, max_size=6), st.lists(MESSAGES, max_size=3), OPTIONS)
def test_a_chat_that_grows_keeps_its_beginning(
    chat: list[Any], more: list[Any], options: dict[str, Any]
) -> None:
    before = cw.shrink_messages(chat, **options)
    after = cw.shrink_messages([*before, *more], **options)
    # As text, because 1 equals True.
    assert json.dumps(after[: len(chat)]) == json.dumps(before)
    assert after == cw.shrink_messages([*chat, *more], **options)
    # What was shrunk before is the same object.
    assert all(new is old for new, old in zip(after, before, strict=False))


@given(TEXTS, st.sampled_from(list(RESULTS)), OPTIONS)
def test_every_shrunk_text_expands_to_its_value(
    text: str, name: str, options: dict[str, Any]
) -> None:
    (done,) = cw.shrink_messages([RESULTS[name](text)], **options)
    shrunk = cw.shrink(text, **options).text
    assert done == RESULTS[name](shrunk)
    assert shrunk == text or same(cw.expand(shrunk), json.loads(text))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "TEXT"},
        {"role": "system", "content": "TEXT"},
        {"role": "user", "content": [{"type": "text", "text": "TEXT"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "TEXT"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "TEXT", "is_error": True}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "content": [{"type": "text", "text": "TEXT"}],
                    "is_error": True,
                }
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "mcp_tool_result", "content": [{"type": "text", "text": "TEXT"}]}],
        },
        {"type": "function_call_output", "output": "TEXT", "caller": {"type": "program"}},
    ],
    ids=str,
)
def test_a_shrunk_in_any_message_becomes_its_text(message: dict[str, Any]) -> None:
    shrunk = cw.shrink([{"id": n, "state": "open"} for n in range(20)])

    def with_text(part: Any, text: object) -> Any:
        if isinstance(part, dict):
            return {name: with_text(one, text) for name, one in part.items()}
        if isinstance(part, list):
            return [with_text(one, text) for one in part]
        return text if part == "TEXT" else part

    (found,) = cw.shrink_messages([with_text(message, shrunk)])
    assert found == with_text(message, shrunk.text)


PART = cw.shrink(TEXT)


@pytest.mark.parametrize(
    ("message", "path", "kind"),
    [
        ({"role": "user", "content": ["a", PART]}, "messages[1].content[1]", "text"),
        ({"role": "tool", "content": [PART]}, "messages[1].content[0]", "text"),
        (
            {"type": "function_call_output", "output": [PART]},
            "messages[1].output[0]",
            "input_text",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": [PART]}]},
            "messages[1].content[0].content[0]",
            "text",
        ),
    ],
)
def test_a_shrunk_in_place_of_a_part_is_an_error(
    message: dict[str, Any], path: str, kind: str
) -> None:
    with pytest.raises(cw.UnsupportedValue, match="a Shrunk is not a part") as caught:
        cw.shrink_messages([{}, message])
    assert (caught.value.path, caught.value.code) == (path, "unsupported_type")
    assert str(caught.value).startswith(f"{path}: ")
    assert f'"type": "{kind}"' in str(caught.value)
