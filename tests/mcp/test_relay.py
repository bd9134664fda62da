"""Messages between a host and a server: which bytes change, and for which answers."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire.mcp import _relay
from compactwire.mcp._project import Projector
from compactwire.mcp._relay import MAX_READ, Relay
from tests.mcp.test_projection import ROWS, SHORT, TEXT


class Connection:
    """A relay with what it warned of."""

    def __init__(self, **options: Any) -> None:
        self.warnings: list[str] = []
        self.records: list[Any] = []
        projector = Projector("mcp", on_saving=self.records.append, **options)
        self.relay = Relay(projector, self.warnings.append)
        self.listed([{"name": "rows"}])

    def ask(self, method: str, identity: Any = 1, **params: Any) -> None:
        request = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        line = json.dumps(request).encode() + b"\n"
        assert self.relay.from_host(line) == line

    def listed(self, tools: list[Any]) -> Any:
        """What the host is sent for this list of tools."""
        self.ask("tools/list", "list")
        return self.answered({"tools": tools}, "list", ensure_ascii=False)["tools"]

    def answered(self, result: Any, identity: Any = 1, **style: Any) -> Any:
        """What the host is sent for this result."""
        line = json.dumps({"id": identity, "result": result, "jsonrpc": "2.0"}, **style) + "\n"
        sent = self.relay.from_server(line.encode())
        assert sent is not None
        return json.loads(sent)["result"]


def text(said: str = TEXT, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **members}


@pytest.mark.parametrize("style", [{}, {"indent": 1}, {"separators": (",", ":")}])
def test_only_the_text_and_its_copy_change(style: dict[str, Any]) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    block = {"annotations": {"x": 1}, "type": "text", "text": TEXT, "_meta": {"y": "é"}}
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    result = {"_meta": {"a": 1}, "content": [block], "structuredContent": {"r": ROWS}, "z": 2}
    short = {**block, "text": SHORT}
    assert one.answered(result, **style) == {"_meta": {"a": 1}, "content": [short], "z": 2}
    # A host that shows structured content does not show the image beside it.
    one.ask("tools/call", name="rows")
    beside = {**result, "content": [image, block]}
    assert one.answered(beside, **style) == {**beside, "content": [image, short]}
    assert not one.warnings


def test_all_other_bytes_pass_as_they_came() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    said = json.dumps(TEXT).encode()
    numbers = b'"n":1.10,"e":1E2,"u":"\\u00e9\\/"'
    line = b' { "id":1 ,\t"result":{' + numbers + b',"content":[ {"text":%b,"type":"text"}] } }\r\n'
    sent = one.relay.from_server(line % said)
    assert sent == line % json.dumps(SHORT, ensure_ascii=False).encode()


def test_no_text_breaks_the_line_of_a_message() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    said = json.dumps([{**row, "note": "a\u2028b\u2029c\x85d"} for row in ROWS], ensure_ascii=False)
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": text(said)})
    sent = one.relay.from_server(line.encode() + b"\n")
    assert sent is not None
    (only,) = sent.decode().splitlines()
    shrunk = json.loads(only)["result"]["content"][0]["text"]
    assert shrunk != said
    assert cw.expand(shrunk) == json.loads(said)


@pytest.mark.parametrize(
    "result",
    [
        text(isError=True, structuredContent={"r": ROWS}),
        text(isError="yes"),
        text(resultType="input_required"),
        text(resultType=None),
        {"content": TEXT},
        {"content": None},
        {"contents": []},
        [TEXT],
        TEXT,
        None,
        {"content": [TEXT, None, 1, {"type": "text"}, {"type": "text", "text": 5}, {"text": TEXT}]},
        {"content": [{"type": "resource", "resource": {"text": TEXT}}]},
        {"content": [{"type": ["text"], "text": TEXT}]},
        {"content": [], "structuredContent": None},
        {"content": [], "structuredContent": 5},
    ],
)
def test_errors_and_unknown_shapes_pass(result: Any) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.answered(result) == result


def test_a_complete_result_type_is_a_result() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.answered(text(resultType="complete", isError=False))["content"][0]["text"] == SHORT


def test_answers_of_other_methods_and_unknown_ids_pass() -> None:
    one = Connection()
    one.ask("resources/read", name="rows")
    assert one.answered(text()) == text()
    one.ask("tools/call", "1", name="rows")
    assert one.answered(text(), 1) == text()
    assert one.answered(text(), "1") != text()
    # The second answer to a request, and ids that the protocol does not have.
    assert one.answered(text(), "1") == text()
    for identity in (True, None, float("inf"), [1]):
        one.ask("tools/call", identity, name="rows")
        assert one.answered(text(), identity) == text()


@pytest.mark.parametrize(
    ("asked", "answered"), [("2.0", "2"), ("1e2", "100"), ("2", "2.0"), ("1.5", "15E-1")]
)
def test_an_id_that_is_written_as_a_float_is_an_id(asked: str, answered: str) -> None:
    one = Connection()
    request = f'{{"id":{asked},"method":"tools/call","params":{{"name":"rows"}}}}'
    one.relay.from_host(request.encode())
    line = f'{{"id":{answered},"result":{json.dumps(text())}}}'
    sent = one.relay.from_server(line.encode())
    assert sent is not None
    assert json.loads(sent)["result"] == text(SHORT)
    one.relay.from_host(request.encode())
    (error,) = one.relay.unanswered("", None)
    assert repr(json.loads(error)["id"]) == repr(json.loads(asked))


def test_a_request_of_the_server_is_not_an_answer() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    request = b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","result":{}}\n'
    assert one.relay.from_server(request) == request
    assert one.answered(text())["content"][0]["text"] == SHORT


def test_an_error_ends_the_request() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}\n'
    assert one.relay.from_server(error) == error
    assert one.answered(text()) == text()


def test_files_and_excluded_tools_pass() -> None:
    one = Connection(exclude=("secret*",))
    for name, arguments in (("secret_rows", {}), ("show", {"p": ["x/A.JSON"]})):
        one.ask("tools/call", name=name, arguments=arguments)
        assert one.answered(text()) == text()
    assert [record.reason for record in one.records] == ["excluded", "document"]


@pytest.mark.parametrize(
    "name",
    [
        "read_text_file",
        "readFile",
        "mcp__files__read",
        "Read",
        "get_file_contents",
        "getFile",
        "View",
        "webFetch",
        "open_file",
        "openFile",
        "open",
        "download_file",
        "show_file",
        "viewFile",
        "file_viewer",
        "cat_file",
        "read_notebook",
        "str_replace_based_edit_tool",
    ],
)
def test_names_that_read_files_are_excluded_by_default(name: str) -> None:
    one = Connection()
    one.ask("tools/call", name=name)
    assert one.answered(text()) == text()


@pytest.mark.parametrize("name", ["list_files", "search_files", "find_file", "locate_files"])
def test_names_that_list_files_are_shrunk(name: str) -> None:
    one = Connection()
    one.ask("tools/call", name=name)
    assert one.answered(text()) == text(SHORT)


def test_output_schemas_leave_the_list_of_tools() -> None:
    tool = {"name": "rows", "inputSchema": {"$schema": "x", "type": "object"}, "outputSchema": {}}
    tools = {"tools": [tool, 5, {"outputSchema": {}, "name": "b"}], "nextCursor": "c"}
    one = Connection()
    one.ask("tools/list")
    left = {"name": "rows", "inputSchema": tool["inputSchema"]}
    assert one.answered(tools) == {"tools": [left, 5, {"name": "b"}], "nextCursor": "c"}
    one = Connection(structured="keep", definitions="slim")
    one.ask("tools/list")
    assert one.answered(tools)["tools"][0] == {**tool, "inputSchema": {"type": "object"}}
    one.ask("tools/list")
    assert one.answered({"tools": {"a": 1}}) == {"tools": {"a": 1}}


@pytest.mark.parametrize(
    "member",
    [
        '"maximum":0.12345678901234567890123',
        '"multipleOf":1e400',
        '"minimum":1e9999999999999999999999',
        '"default":{"a":1,"a":2}',
    ],
)
def test_a_definition_that_python_would_change_stays(member: str) -> None:
    one = Connection(structured="keep", definitions="slim")
    one.ask("tools/list")
    exact = '{"$schema":"x","maximum":0.1,"multipleOf":1e2}'
    tools = [
        f'{{"name":"a","inputSchema":{{"$schema":"x",{member}}}}}',
        f'{{"inputSchema":{exact}}}',
    ]
    line = '{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}\n'
    sent = one.relay.from_server(line.format(",".join(tools)).encode())
    tools[1] = '{"inputSchema":{"maximum":0.1,"multipleOf":100.0}}'
    assert sent is not None
    assert sent.decode() == line.format(",".join(tools))


def test_a_call_by_the_program_of_an_interface_stays_whole() -> None:
    one = Connection()
    result = text(structuredContent={"r": ROWS})
    one.ask("tools/call", name="__0123456789ab_rows")
    assert one.answered(result) == result
    assert one.records[-1].reason == "app"
    one.ask("tools/call", name="__0123456789_rows")
    assert one.answered(result) != result


def test_the_requests_and_answers_of_a_long_batch_are_known() -> None:
    one = Connection()
    long = "x" * MAX_READ
    requests = [{"id": n, "method": "tools/call", "params": {"x": long}} for n in (1, 2)]
    one.relay.from_host(json.dumps(requests).encode() + b"\n")
    assert one.relay.is_busy()
    answers = json.dumps([{"id": n, "result": {"x": long}} for n in (1, 2)]).encode() + b"\n"
    assert one.relay.from_server(answers) == answers
    assert not one.relay.is_busy()
    assert one.relay.from_server(json.dumps([1, [[long]]]).encode() + b"\n") is None


def test_structured_content_of_tools_that_were_not_listed_stays() -> None:
    one = Connection()
    result = text(structuredContent={"r": ROWS})
    one.ask("tools/call", name="other")
    assert one.answered(result)["structuredContent"] == {"r": ROWS}
    assert one.records[-1].reason == ""
    one.ask("tools/call", name="rows")
    assert "structuredContent" not in one.answered(result)


@pytest.mark.parametrize(
    "meta",
    [
        {"ui": {"resourceUri": "ui://a"}},
        {"ui/resourceUri": "ui://a"},
        {"openai/outputTemplate": "a"},
    ],
)
def test_a_result_for_a_user_interface_stays_whole(meta: dict[str, Any]) -> None:
    one = Connection()
    tools = [{"name": "b", "outputSchema": {}}, {"name": "a", "outputSchema": {}, "_meta": meta}]
    assert one.listed(tools) == tools
    result = text(structuredContent={"r": ROWS})
    one.ask("tools/call", name="a")
    assert one.answered(result) == result
    assert one.records[-1].reason == "app"
    # The interface may call other tools of its server.
    one.ask("tools/call", name="rows")
    assert one.answered(result) == text(SHORT, structuredContent={"r": ROWS})
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.answered({**result, "_meta": meta}) == {**result, "_meta": meta}


@pytest.mark.parametrize(("value", "stays"), [(True, True), (False, False), (1, False)])
def test_a_text_stays_if_the_server_says_so(value: Any, stays: bool) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    meta = {"compactwire/verbatim": value}
    assert one.answered(text(_meta=meta)) == text(TEXT if stays else SHORT, _meta=meta)
    assert one.records[-1].reason == ("verbatim" if stays else "")


@pytest.mark.parametrize(
    ("audience", "shrunk", "dropped"),
    [
        (None, True, True),
        (["user", "assistant"], True, True),
        (["assistant"], True, False),
        (["user"], False, False),
        ([], False, False),
        ("assistant", False, False),
        ({"assistant": 1}, False, False),
        (5, False, False),
    ],
)
def test_a_text_for_one_reader_is_no_copy_for_the_other(
    audience: Any, shrunk: bool, dropped: bool
) -> None:
    one = Connection()
    block = {"type": "text", "text": TEXT, "annotations": {"audience": audience}}
    one.ask("tools/call", name="rows")
    made = one.answered({"content": [block], "structuredContent": {"r": ROWS}})
    assert made["content"] == [{**block, "text": SHORT} if shrunk else block]
    assert ("structuredContent" not in made) is dropped
    assert one.records[-1].reason == ("" if shrunk else "audience")


def test_a_message_that_is_too_long_to_read_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_relay, "MAX_READ", 1_000)
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.answered(text()) == text()
    short = text("[1, 2,  3, 4, 5, 6]", structuredContent={"r": [1, 2, 3, 4, 5, 6]})
    one.ask("tools/call", 2, name="rows")
    assert "structuredContent" not in one.answered(short, 2)
    # The host may now know output schemas.
    assert one.listed([{"name": "rows", "outputSchema": {"x": "y" * 1_000}}])[0]["outputSchema"]
    one.ask("tools/call", 3, name="rows")
    assert one.answered(short, 3)["structuredContent"]


def test_an_answer_that_is_too_long_to_read_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_relay, "MAX_READ", 1_000)
    one = Connection()
    for identity in (1, 2):
        one.ask("tools/call", identity, name="rows")
    assert one.answered(text("x" * 1_000), 1)
    assert one.relay.from_server(b"x" * 2_000) is None
    assert one.relay.from_server(b'{"id":2,"a":"' + b"x" * 2_000 + b'"}') is None
    assert len(one.warnings) == 2
    (error,) = one.relay.unanswered("", None)
    assert json.loads(error)["id"] == 2


@pytest.mark.parametrize("value", [b"7" * 5_000, b"[" * 200_000 + b"]" * 200_000])
def test_a_request_that_python_cannot_read_is_open(value: bytes) -> None:
    one = Connection()
    arguments = b'{"path":"a.json","n":%b}' % value
    request = b'{"id":1,"method":"tools/call","params":{"name":"rows","arguments":%b}}' % arguments
    assert one.relay.from_host(request) == request
    (error,) = one.relay.unanswered("", None)
    assert json.loads(error)["id"] == 1
    one.relay.from_host(request)
    assert one.answered(text()) == text()  # It may be a document.


def test_a_method_of_any_type_is_open_while_a_long_message_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_relay, "MAX_READ", 1_000)
    one = Connection()
    assert one.relay.from_host(b'{"id": 1, "method": ["x"]}\n')
    assert one.answered(text("x" * 1_000), 1) == text("x" * 1_000)


def test_batches_of_requests_and_answers() -> None:
    one = Connection()
    calls = [
        {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "rows"}}
        for n in (1, 2)
    ]
    one.relay.from_host(json.dumps([*calls, 5]).encode())
    answers: list[Any] = [{"id": 2, "result": text()}, {"id": 9, "result": text()}, 7]
    sent = one.relay.from_server(json.dumps(answers).encode())
    assert sent is not None
    made = json.loads(sent)
    assert made[0]["result"]["content"][0]["text"] == SHORT
    assert made[1:] == answers[1:]


def test_a_list_of_tools_that_passes_keeps_the_structured_content() -> None:
    one = Connection()
    one.ask("tools/list")
    listed = b'{"id":1,"result":{"tools":[{"name":"a","name":"a","outputSchema":{}}]}}\n'
    assert one.relay.from_server(listed) == listed
    one.ask("tools/call", name="a")
    assert one.answered(text(structuredContent={"r": ROWS}))["structuredContent"] == {"r": ROWS}


def test_an_answer_with_invalid_utf8_passes_and_is_an_answer() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    line = b'{"id":1,"result":{"content":[{"type":"text","text":"\xff[1,  2]"}]}}\n'
    assert one.relay.from_server(line) == line
    assert not list(one.relay.unanswered("", None))


def test_a_replacement_character_that_a_server_sent_is_text() -> None:
    one = Connection()
    listed = one.listed([{"name": "rows", "description": "a\ufffdb", "outputSchema": {}}])
    assert listed == [{"name": "rows", "description": "a\ufffdb"}]
    rows = [{**row, "note": "\ufffd"} for row in ROWS]
    one.ask("tools/call", name="rows")
    sent = one.answered(text(json.dumps(rows, ensure_ascii=False)), ensure_ascii=False)
    assert sent == text(cw.shrink(rows).text)


def test_an_id_that_is_a_lone_surrogate_is_answered() -> None:
    one = Connection()
    one.ask("tools/call", "\ud800", name="rows")
    (line,) = one.relay.unanswered("", None)
    assert json.loads(line)["id"] == "\ud800"


NO_MESSAGES = [
    "17",
    '"x"',
    "{}",
    "[]",
    "[1]",
    "[{}, []]",
    '{"id": 1}',
    '{"result": {}}',
    '{"jsonrpc": "2.0", "id": 1, "params": {}}',
    '{"error": "unauthorized"}',
]


@pytest.mark.parametrize(
    "line",
    [b"Listening on 3000\n", b"{\n", b"\xff\n", *(f"{one}\n".encode() for one in NO_MESSAGES)],
)
def test_a_line_that_is_no_message_is_dropped_with_a_warning(line: bytes) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.relay.from_server(line) is None
    assert len(one.warnings) == 1
    assert one.answered(text()) == text(SHORT)  # The request is still open.


def test_an_empty_line_is_dropped_without_a_warning() -> None:
    one = Connection()
    assert one.relay.from_server(b" \r\n") is None
    assert not one.warnings


@pytest.mark.parametrize(
    "result",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"content":[{"type":"text","text":"[1, 2]","text":"[1, 2]"}]}',
        b'{"content":[],"content":[{"type":"text","text":"[1, 2]"}]}',
        b'{"n":' + b"1" * 5_000 + b',"content":[{"type":"text","text":"[1, 2]"}]}',
        b'{"content":[{"type":"text","text":"[\\"\\ud800\\", 1,  2]"}]}',
    ],
)
def test_a_result_that_readers_disagree_on_passes(result: bytes) -> None:
    one = Connection(min_saving=0.0, min_tokens=0)
    one.ask("tools/call", name="rows")
    line = b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}\n"
    assert one.relay.from_server(line) == line


def test_a_text_nested_deeply_passes_and_the_next_one_is_shrunk() -> None:
    one = Connection()
    for said in ("[" * 200_000 + "]" * 200_000, TEXT):
        one.ask("tools/call", name="rows")
        assert one.answered(text(said)) == text(cw.shrink(said).text)


def test_requests_are_open_until_they_are_answered_or_cancelled() -> None:
    host = Connection()
    assert not host.relay.is_busy()
    for identity in (1, 2):
        host.ask("x", identity)
    host.relay.from_host(
        b'{"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "late"}}'
    )
    assert host.relay.is_busy()
    host.answered({}, 2)
    assert not host.relay.is_busy()
    assert host.answered({"late": True}, 1) == {"late": True}
    # It has no answer as long as both sides go on.
    host.ask("subscriptions/listen", 3)
    assert not host.relay.is_busy()


def test_the_values_of_a_message_are_there_once() -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    result = {"content": [], "x": [[] for _ in range(100_000)]}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    tracemalloc.start()
    try:
        message = json.loads(line)
        alone = tracemalloc.get_traced_memory()[1]
        del message
        tracemalloc.reset_peak()
        one.relay.from_server(line)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * alone
    finally:
        tracemalloc.stop()


def test_unanswered_requests_get_an_error() -> None:
    one = Connection()
    one.ask("initialize", "a")
    one.ask("tools/call", 7, name="rows")
    one.answered({}, "a")
    (line,) = one.relay.unanswered("the MCP server has ended", {"exit_status": 3})
    error = {"code": -32000, "message": "the MCP server has ended", "data": {"exit_status": 3}}
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 7, "error": error}
    assert not list(one.relay.unanswered("", None))


@given(st.binary(max_size=60))
def test_bytes_never_raise(line: bytes) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    assert one.relay.from_host(line) == line
    one.relay.from_server(line)
    one.relay.from_server(b'{"id":1,"result":' + line + b"}")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=4), lambda inner: (
    st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["content", "type", "text", "structuredContent", "isError", "x"]),
        inner | st.just("text") | st.just(TEXT), max_size=4
    )
), max_leaves=12))  # fmt: skip
def test_results_of_any_shape_keep_all_but_texts_and_copies(result: Any) -> None:
    one = Connection()
    one.ask("tools/call", name="rows")
    assert without(one.answered(result), result) == without(result, result)


def without(result: Any, original: Any) -> Any:
    """The result without what may change."""
    if not isinstance(original, dict) or not isinstance(original.get("content"), list):
        return result
    left = {key: value for key, value in result.items() if key != "structuredContent"}
    if not original["content"]:
        return {**left, "content": None}
    blocks = [
        {**block, "text": None}
        if isinstance(block, dict) and block.get("type") == "text"
        else block
        for block in result["content"]
    ]
    return {**left, "content": blocks}


def test_an_open_request_is_never_forgotten_and_a_cancelled_one_in_time() -> None:
    one = Connection()
    most = _relay._MAX_CANCELLED
    for identity in range(most + 2):
        one.ask("tools/call", identity, name="rows")
    assert one.answered(text(), 0)["content"][0]["text"] == SHORT
    for identity in range(1, most + 2):
        params = {"requestId": identity}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        one.relay.from_host(json.dumps(cancelled).encode() + b"\n")
    assert not one.relay.is_busy()
    assert one.answered(text(), 1)["content"][0]["text"] == TEXT
    assert one.answered(text(), 2)["content"][0]["text"] == SHORT
    # An id that is used again is a new request.
    one.ask("tools/call", 3, name="rows")
    assert one.relay.is_busy()
    assert len(list(one.relay.unanswered("ended", None))) == most - 1
    assert not one.relay.is_busy()
