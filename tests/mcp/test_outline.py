"""Messages that Python cannot read: what the relay still learns of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from compactwire.mcp._outline import outline
from tests.mcp.test_spans import OBJECTS

DEEP = b"[" * 200_000 + b"]" * 200_000
BATCH = [{"id": 1, "a": None}, [3, None], {"result": None, "id": 3}, 4]


@given(OBJECTS)
def test_outer_values_are_read_and_nested_ones_are_null(value: Any) -> None:
    outer = {key: None if isinstance(one, dict | list) else one for key, one in value.items()}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert outline(text.encode()) == outer


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"id":1,"method":"x","params":{"id":2,"a":%b}}', {"id": 1, "method": "x"}),
        (b'{"params":{"\\"}":%b},"id":"\\"]\\\\"}', {"id": '"]\\'}),
        (b'{"id":' + b"7" * 5000 + b',"params":%b}', {"id": None}),
        (b'{"id":"' + b"7" * 5000 + b'","params":%b}', {"id": "7" * 5000}),
        (b'{"id":1,"params":%b', None),
        (b'{"id":1,"params":%b]', None),
        (b'{"id":1,"params":[%b}', None),
        (b'{"id":1,"params":"%b}', None),
        (b'{"id":1 "params":%b}', None),
        (b'{"id":1,"params":[%b,word]}', None),
        (b'<html>{"id":1,"params":%b}', None),
        (b'{"id":1,"params":%b}{}', None),
        (b"17", None),
        (b'[{"id":1,"params":%b}]', [{"id": 1, "params": None}]),
        (b' [{"id":1,"a":{}}, [3, {"id":2}], {"result":%b , "id":3} ,4]', BATCH),
    ],
)
def test_the_outline_of_a_message_that_is_nested_deeply(text: bytes, found: Any) -> None:
    outer = outline(text.replace(b"%b", DEEP))
    if isinstance(outer, dict):
        assert outer.pop("params") is None
    assert outer == found


@pytest.mark.parametrize("said", [r"\\", r"\\\"", r"a\"b", r"\"", "", r"a\\\\", "a" * 100])
def test_strings_end_where_they_end(said: str) -> None:
    text = f'{{"a":"{said}","b":[["{said}"]],"c":"{said}"}}'
    value = json.loads(text)["a"]
    assert outline(text.encode()) == {"a": value, "b": None, "c": value}
    assert outline(text.encode()[: -len(said) - 2]) is None


def test_the_search_is_bounded() -> None:
    assert outline(b'{"a":' + b"[]," * 2_100_000 + b"0}") == []
    assert outline(b'{"a":"' + b"x" * (1 << 20) + b'"}') == []


MANY = b"[" + b"[]," * 2_100_000 + b"0]"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"id":1,"method":"x","params":%b}', {"id": 1, "method": "x", "params": None}),
        (b'{"result":{"x":%b}, "id":2, "a":"}"} \n', {"result": None, "id": 2, "a": "}"}),
        (b'{"result":{"x":%b} , "id":3}\n', {"result": None, "id": 3}),
        (b'{"id":4,"result":%b,"a":"b},"}', {"id": 4, "result": None, "a": "b},"}),
        (b'{"id":4,"result":%b,"a":"]]]]]]]]]"}', {"id": 4, "result": None}),
        (b'{"result":%b,"id":4,"_meta":{}}', {"result": None, "id": 4, "_meta": {}}),
        (b'{"result":%b,"id":4,"_meta":[[[[[[[[[]]]]]]]]]}', []),
        (b'{"method":"x","params":%b}', []),
        (b'{"result":%b,"id":4,"a":"' + b"x" * (1 << 20) + b'"}', []),
        (b'{"id":1,"_meta":%b,"result":"]]]]]]]]]"}', []),
        (b'[{"id":5,"method":"x","params":%b}]', []),
    ],
)
def test_members_at_both_ends_are_read_of_a_message_beyond_the_limit(
    text: bytes, found: Any
) -> None:
    assert outline(text.replace(b"%b", MANY)) == found
