"""Tools and arguments in frames: canonical JSON, exact numbers, refused values."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import compactwire as cw
from tests.strategies import messages
from tests.strategies.profiles import examples
from tests.strategies.sessions import (
    JSON,
    SEARCH,
    TOOLS,
    check_of,
    content_of,
    expected_content,
    id_of,
    pair,
)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@examples(0.5)
@given(TOOLS, JSON)
def test_tools_and_arguments_are_json_with_sorted_keys(tool: Any, args: Any) -> None:
    definition, request = cw.Session().encode_request(tool=tool, args=args)
    assert definition == "TOOL|def|" + canonical(tool)
    check = check_of(canonical(tool))
    assert request == f"REQ|1|{id_of('t', canonical(tool))}||{canonical(args)}|D|=|{check}"


@examples(0.5)
@given(st.lists(TOOLS, max_size=3), JSON, st.none() | messages.TEXTS, st.none() | messages.TEXTS)
def test_any_request_round_trips(
    tool: Any, args: Any, system: str | None, context: str | None
) -> None:
    ours, theirs = pair()
    request = {"tool": tool, "args": args, "system": system, "context": context}
    for pack in (False, True, False):
        decoded = theirs.decode_request(ours.encode_request(**request, pack=pack))
        assert content_of(decoded) == expected_content(**request)


def test_the_order_of_members_does_not_matter() -> None:
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
def test_a_value_outside_json_is_named_and_changes_nothing(
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
        {"system": b"s"},
        {"context": 3},
    ],
)
def test_other_types_are_type_errors(request_: dict[str, Any]) -> None:
    session = cw.Session()
    with pytest.raises(TypeError):
        session.encode_request(**request_)
    with pytest.raises(TypeError):
        cw.Request(**request_)
    assert session.stats == cw.SessionStats()


def test_cyclic_arguments_are_refused() -> None:
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
