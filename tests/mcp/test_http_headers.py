"""The headers that the user and the protocol ask for."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from compactwire.mcp._http_headers import ProtocolHeaders, marked_arguments, user_headers
from tests.mcp.http_server import MODERN

SECRET = "s3cret"


def test_variables_are_replaced() -> None:
    texts = ["Authorization: Bearer ${A_1}", "X-Two:${A_1}-${B}", "X-Plain: $A {x}"]
    assert user_headers(texts, {"A_1": "a", "B": "b\n"}) == {
        "Authorization": "Bearer a",
        "X-Two": "a-b",
        "X-Plain": "$A {x}",
    }


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["X: ${NO}"], "the variable NO is not set, or empty"),
        (["X: ${EMPTY}"], "the variable EMPTY is not set, or empty"),
        (["X: ${A:-b}"], "expected ${NAME}"),
        (["X: ${A"], "expected ${NAME}"),
        (["X: ${LINES}"], "line break"),
        (["X: ${ACCENT}"], "printable ASCII"),
        (["X:"], "the value is empty"),
        ([SECRET], "expected 'Name: value'"),
        ([f"{SECRET} x: y"], "expected 'Name: value'"),
        (["x: a", "X: b"], "occurs twice"),
        (["Mcp-Session-Id: x"], "sets this header itself"),
        (["content-length: 5"], "sets this header itself"),
    ],
)
def test_an_invalid_header_is_an_error_without_values(texts: list[str], said: str) -> None:
    environment = {"EMPTY": "", "LINES": f"{SECRET}\nX-Other: 1", "ACCENT": f"{SECRET}é"}
    with pytest.raises(ValueError, match=r"--header") as raised:
        user_headers(texts, environment)
    assert said in str(raised.value)
    assert SECRET not in str(raised.value)


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"id": 1, "method": method, "params": {"_meta": MODERN, **params}}


def test_a_session_names_itself_and_its_version() -> None:
    headers = ProtocolHeaders()
    assert headers.of({"id": 1, "method": "initialize", "params": {}}) == {}
    headers.note_session("abc")
    headers.note_result("initialize", {"protocolVersion": "2025-11-25"})
    known = {"Mcp-Session-Id": "abc", "MCP-Protocol-Version": "2025-11-25"}
    assert headers.of({"method": "notifications/initialized"}) == known
    assert headers.of(None) == known
    assert headers.of({"id": 2, "method": "initialize"}) == {}


@pytest.mark.parametrize(
    ("method", "params", "more"),
    [
        ("tools/list", {}, {}),
        ("tools/call", {"name": "rows"}, {"Mcp-Name": "rows"}),
        ("tools/call", {"name": " é"}, {"Mcp-Name": "=?base64?IMOp?="}),
        ("tools/call", {"name": "=?base64?x?="}, {"Mcp-Name": "=?base64?PT9iYXNlNjQ/eD89?="}),
        ("tools/call", {"name": "\ud800"}, {}),
        ("tools/call", {"name": 5}, {}),
        ("prompts/get", {"name": ""}, {"Mcp-Name": ""}),
        ("resources/read", {"uri": "a:b"}, {"Mcp-Name": "a:b"}),
        ("tasks/get", {"name": "x"}, {}),
        ("tasks/get", {"": "x"}, {}),
    ],
)
def test_a_request_of_2026_repeats_method_and_name(
    method: str, params: dict[str, Any], more: dict[str, str]
) -> None:
    found = ProtocolHeaders().of(request(method, **params))
    assert found == {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **more}


def test_no_header_can_be_smuggled_in() -> None:
    headers = ProtocolHeaders()
    headers.note_session("a\r\nX: 1")
    assert headers.session is None
    found = headers.of(request("x\r\nX: 1", name="\ud800"))
    assert found["Mcp-Method"] == "=?base64?eA0KWDogMQ==?="
    broken = {"method": "m", "params": {"_meta": dict.fromkeys(MODERN, "\r\n")}}
    assert ProtocolHeaders().of(broken) == {"Mcp-Method": "m"}


def test_marked_arguments_are_repeated() -> None:
    kinds = {"s": "string", "n": "integer", "b": "boolean"}
    schema = {
        "properties": {
            **{key: {"type": kind, "x-mcp-header": key} for key, kind in kinds.items()},
            "deep": {"properties": {"in": {"type": "string", "x-mcp-header": "Deep"}}},
            "plain": {"type": "string"},
        }
    }
    headers = ProtocolHeaders()
    headers.note_result("tools/list", {"tools": [{"name": "t", "inputSchema": schema}, 5, {}]})
    arguments = {"s": "é", "n": 7, "b": True, "deep": {"in": "d"}, "plain": "p"}
    found = headers.of(request("tools/call", name="t", arguments=arguments))
    assert {name: value for name, value in found.items() if name.startswith("Mcp-Param")} == {
        "Mcp-Param-s": "=?base64?w6k=?=",
        "Mcp-Param-n": "7",
        "Mcp-Param-b": "true",
        "Mcp-Param-Deep": "d",
    }
    for arguments in ({}, {"s": None, "deep": 5}, {"s": "\ud800"}, []):
        found = headers.of(request("tools/call", name="t", arguments=arguments))
        assert not any(name.startswith("Mcp-Param") for name in found)
    headers.note_result("tools/list", {"tools": [{"name": "t", "inputSchema": {}}]})
    assert "Mcp-Param-n" not in headers.of(request("tools/call", name="t", arguments={"n": 7}))


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string", "x-mcp-header": "b c"}},
        {"a": {"type": "string", "x-mcp-header": "x\r\ny"}},
        {"a": {"type": "number", "x-mcp-header": "x"}},
        {"a": {"type": "string", "x-mcp-header": 5}},
        {key: {"type": "string", "x-mcp-header": key} for key in "aA"},
    ],
)
def test_a_tool_with_an_invalid_mark_has_no_headers(properties: dict[str, Any]) -> None:
    assert marked_arguments({"properties": properties}) == {}
    assert marked_arguments({"x-mcp-header": "x"}) == {}


def test_the_memory_of_marks_is_bounded() -> None:
    def deep(width: int, depth: int = 300) -> dict[str, Any]:
        marks = {"type": "string"}
        schema: dict[str, Any] = {
            "properties": {str(n): {**marks, "x-mcp-header": f"h{n}"} for n in range(width)}
        }
        for _ in range(depth):
            schema = {"properties": {"a": schema}}
        return schema

    assert len(marked_arguments(deep(100))) == 100
    assert marked_arguments(deep(101)) == {}
    plain = {"properties": {str(n): {} for n in range(50_000)}}
    for _ in range(300):
        plain = {"properties": {"a": plain}}
    tracemalloc.start()
    try:
        assert marked_arguments(plain) == {}
        assert tracemalloc.get_traced_memory()[1] < 20 << 20  # All paths would take 120 MB.
    finally:
        tracemalloc.stop()
    headers = ProtocolHeaders()
    arguments: dict[str, Any] = {str(n): "x" for n in range(100)}
    for _ in range(300):
        arguments = {"a": arguments}
    sent = []
    for n in range(20):
        headers.note_result("tools/list", {"tools": [{"name": f"t{n}", "inputSchema": deep(100)}]})
        found = headers.of(request("tools/call", name=f"t{n}", arguments=arguments))
        sent.append(len([name for name in found if name.startswith("Mcp-Param")]))
    assert sent == [100] * 3 + [0] * 17
    # A tool that is listed again counts once.
    headers.note_result("tools/list", {"tools": [{"name": "t0", "inputSchema": {}}]})
    headers.note_result("tools/list", {"tools": [{"name": "t9", "inputSchema": deep(100)}]})
    found = headers.of(request("tools/call", name="t9", arguments=arguments))
    assert sum(name.startswith("Mcp-Param") for name in found) == 100
