"""The conversations of the session bench are as documented and counted correctly."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

import compactwire as cw
from benches import conversations, sessions
from benches.conversations import Conversation, load

ALL = [load(name) for name in conversations.NAMES]
each = pytest.mark.parametrize("conversation", ALL, ids=lambda conversation: conversation.name)


def bytes_of(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def changes(conversation: Conversation) -> Counter[str]:
    return Counter(turn.change for turn in conversation.turns)


def test_ten_turns_has_eight_large_tools_and_two_changes_of_earlier_text() -> None:
    ten = load("ten_turns")
    assert len(ten.turns) == 10
    assert len(ten.tools) == 8
    assert all(1000 <= bytes_of(tool) <= 2048 for tool in ten.tools)
    assert 1900 <= len(ten.system.encode()) <= 2200
    assert changes(ten) == {"append": 8, "edit": 1, "insert": 1}


def test_coding_has_forty_turns_and_chat_has_many_short_turns() -> None:
    coding, chat, ten = load("coding"), load("chat"), load("ten_turns")
    assert len(coding.turns) == 40
    assert 6 <= len(coding.tools) <= 10
    assert len(chat.turns) == 25
    assert len(chat.tools) == 2
    assert len(chat.system) < len(ten.system) / 2
    mean = len(chat.turns[-1].context) / len(chat.turns)
    assert mean < len(ten.turns[-1].context) / len(ten.turns) / 4


def test_tool_schemas_are_as_deep_as_those_of_real_servers() -> None:
    schemas = json.dumps([tool["inputSchema"] for tool in load("ten_turns").tools])
    for keyword in ("enum", "examples", "default", "minimum", "items", "required", "description"):
        assert schemas.count(f'"{keyword}"') >= 5
    nested = [
        tool["name"]
        for tool in load("ten_turns").tools
        if any("properties" in field for field in tool["inputSchema"]["properties"].values())
    ]
    assert len(nested) >= 4


@each
def test_tool_names_are_unique(conversation: Conversation) -> None:
    names = [tool["name"] for tool in conversation.tools]
    assert len(set(names)) == len(names)


def check_call(schema: dict[str, Any], value: Any) -> None:
    """The part of JSON Schema that the tools use."""
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "boolean": bool,
    }
    assert isinstance(value, kinds.get(schema.get("type", ""), object))
    assert value in schema.get("enum", [value])
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        assert set(schema.get("required", [])) <= set(value)
        if schema.get("additionalProperties") is False:
            assert set(value) <= set(properties)
        for name, item in value.items():
            check_call(properties.get(name, {}), item)
    for item in value if schema.get("type") == "array" else []:
        check_call(schema["items"], item)


@each
def test_calls_match_the_tool_schemas(conversation: Conversation) -> None:
    schemas = {tool["name"]: tool["inputSchema"] for tool in conversation.tools}
    calls = [turn.args for turn in conversation.turns if "name" in turn.args]
    assert len({call["name"] for call in calls}) == len(schemas)
    for call in calls:
        check_call(schemas[call["name"]], call["arguments"])


@each
def test_each_turn_continues_the_previous_one(conversation: Conversation) -> None:
    before = ""
    for turn in conversation.turns:
        assert turn.context.startswith(before) == (turn.change == "append")
        assert len(turn.context) > len(before) or turn.change == "edit"
        assert turn.tools is conversation.tools
        before = turn.context


def test_an_edit_shortens_an_old_result_and_an_insert_adds_a_note() -> None:
    turns = load("ten_turns").turns
    (edit,) = (k for k, turn in enumerate(turns) if turn.change == "edit")
    (insert,) = (k for k, turn in enumerate(turns) if turn.change == "insert")
    # The earlier text stays, except for the one edited result or around the one inserted note.
    for k, gone in ((edit, True), (insert, False)):
        old, new = (set(turn.context.splitlines()) for turn in turns[k - 1 : k + 1])
        assert bool(old - new) == gone
        assert new - old
    assert "[shortened]" in turns[edit].context
    note = turns[insert].context.index("[note]") / len(turns[insert].context)
    assert 0.4 < note < 0.6


@each
def test_the_text_is_printable(conversation: Conversation) -> None:
    for turn in conversation.turns:
        assert all(char.isprintable() or char == "\n" for char in turn.context + turn.system)
    assert conversation.turns[-1].context.isascii() == (conversation.name == "coding")


def test_texts_are_unique() -> None:
    found: Counter[str] = Counter()
    for name in conversations.NAMES:
        stored = json.loads((conversations.HERE / f"{name}.json").read_text(encoding="utf-8"))
        texts = [text for step in stored["turns"] for _, text in step["append"]]
        found.update(str(text) for text in texts if len(str(text)) > 100)
    assert len(found) >= 60
    assert set(found.values()) == {1}


@each
def test_conversations_are_deterministic(conversation: Conversation) -> None:
    load.cache_clear()
    assert load(conversation.name) == conversation


@each
def test_the_plain_request_is_compact_json_of_everything(conversation: Conversation) -> None:
    for turn in conversation.turns:
        plain = turn.plain()
        fields = {"system": turn.system, "args": turn.args, "context": turn.context}
        assert json.loads(plain) == {"tools": turn.tools, **fields}
        parts = bytes_of(turn.tools) + sum(map(bytes_of, fields.values()))
        assert len(plain.encode()) == parts + len('{"tools":,"system":,"args":,"context":}')


@each
def test_session_stats_count_the_same_plain_bytes(conversation: Conversation) -> None:
    pair = sessions.Pair.new(pack=False)
    plain = sent = 0
    for turn in conversation.turns:
        sent += sessions.size(pair.send(turn))
        # The session calls this member "tool".
        plain += len(turn.plain().encode()) - 1
    assert pair.ours.stats == cw.SessionStats(
        messages=len(conversation.turns), bytes_out=sent, plain_bytes=plain
    )


@each
def test_the_parts_add_up_to_what_is_sent(conversation: Conversation) -> None:
    pair = sessions.Pair.new(pack=False)
    for turn in conversation.turns:
        frames = pair.send(turn)
        parts = sessions.parts(frames)
        del parts["shortest"]
        assert sum(parts.values()) + len("REQ|1") == sessions.size(frames)


def test_a_wrongly_decoded_turn_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = sessions.Pair.new(pack=False)
    first, second = load("ten_turns").turns[:2]
    pair.send(first)
    wrong = cw.Request(second.tools, second.system, second.args, second.context + "!")

    class Peer:
        def decode_request(self, _frames: object) -> cw.Request:
            return wrong

    monkeypatch.setattr(pair, "theirs", Peer())
    with pytest.raises(AssertionError, match="wrong answer"):
        pair.send(second)
