"""`compare_sessions`: a conversation measured by its frames."""

from __future__ import annotations

from typing import Any

import pytest

import compactwire as cw
from benches import conversations
from compactwire import analysis


def test_compare_sessions_counts_the_frames() -> None:
    turns = conversations.load("chat").turns
    requests = [
        {"tool": turn.tools, "system": turn.system, "args": turn.args, "context": turn.context}
        for turn in turns
    ]
    frame = analysis.compare_sessions(requests)
    assert len(frame) == 3 * len(turns)
    assert frame["round_trip"].all()
    session = cw.Session()
    sent = [session.encode_request(**request) for request in requests]
    ours = frame[frame["format"] == "session"]
    assert ours["bytes"].tolist() == [sum(len(text.encode()) for text in frames) for frames in sent]
    assert ours["total_bytes"].tolist()[-1] == ours["bytes"].sum()
    assert (ours["encode_seconds_low"] <= ours["encode_seconds_high"]).all()


def test_messages_become_one_request_per_answer() -> None:
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who wrote Solaris?"},
        {"role": "assistant", "content": "Lem.", "tool_calls": [{"id": 1}]},
        {"role": "tool", "content": [{"type": "text", "text": "found"}]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "Thanks."},
    ]
    frame = analysis.compare_sessions(talk, tools=[{"name": "search"}])
    assert frame["turn"].max() == 3
    assert frame["round_trip"].all()
    ours = frame[frame["format"] == "session"]["bytes"].tolist()
    theirs = frame[frame["format"] == "json"]["bytes"].tolist()
    assert theirs == sorted(theirs)
    assert ours[-1] < theirs[-1]


@pytest.mark.parametrize(
    ("conversation", "error", "message"),
    [
        ([], ValueError, "the conversation is empty"),
        (["hello"], TypeError, r"conversation\[0\] must be a message or a request, not str"),
        ([{"text": "x"}], ValueError, "item 0 has the member 'text'"),
        (
            [{"role": "user", "content": "x"}, {"args": 1}],
            ValueError,
            "item 0 has the member 'role'",
        ),
        (None, TypeError, "must be a list of messages or requests, not NoneType"),
        ([{"tool": 3}], TypeError, "'tool' of item 0 is a int, not a definition"),
        (
            [{"tool": ["search"]}],
            TypeError,
            "'tool' of item 0 has a str: a definition must be a dict",
        ),
    ],
    ids=repr,
)
def test_an_invalid_conversation_is_an_error(
    conversation: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        analysis.compare_sessions(conversation)


def test_a_table_in_a_value_is_its_rows() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    for table in (pandas.DataFrame({"id": [1, 2]}), pyarrow.table({"id": [1, 2]})):
        rows = [{"id": 1}, {"id": 2}]
        for wrap in (
            lambda value: [{"tool": {"name": "t"}, "args": {"of": value}}],
            lambda value: [{"role": "tool", "content": value}],
        ):
            frame = analysis.compare_sessions(wrap(table), tokenizer=len)
            assert frame["round_trip"].all()
            plain = analysis.compare_sessions(wrap(rows), tokenizer=len)
            assert frame["bytes"].tolist() == plain["bytes"].tolist()
        found = analysis.compare({"of": table}, formats=["json", "gcf"], seconds=0, tokenizer=len)
        assert found["round_trip"].all()


def test_a_series_in_a_value_is_an_array() -> None:
    # Before version 3, it is no column.
    pandas = pytest.importorskip("pandas", "3", reason="NOT RUN: pandas is not installed")
    column = pandas.Series([1, None])
    frame = analysis.compare_sessions([{"args": {"of": column}}], tokenizer=len)
    assert frame["round_trip"].all()
