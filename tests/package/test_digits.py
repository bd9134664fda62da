"""Integers of many digits, in a process that has lowered Python's limit for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims, gcf

LONGEST = 10**4300 - 1
INTEGERS = [10**640, 10**1279 + 7, -(10**1280), 5 * 10**1920, LONGEST, -LONGEST]
TEXTS = {value: str(value) for value in INTEGERS}


@pytest.fixture(autouse=True)
def lowest_limit() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


def of_request(text: str) -> Any:
    session = cw.Session()
    wires = session.encode_request(args=claims.parse_json(f'{{"a": {text}}}'))
    return cw.Session().decode_request(wires).args["a"]


READERS: dict[str, Callable[[str], Any]] = {
    "expand": lambda text: cw.expand(f'{{"a": {text}}}')["a"],
    "parse_json": claims.parse_json,
    "args": of_request,
    "tool call": lambda text: (
        cw.decode_tool_call(cw.encode_tool_call("f", claims.parse_json(text))).arguments
    ),
}


@pytest.mark.parametrize("value", INTEGERS, ids=lambda value: f"{value.bit_length()} bits")
@pytest.mark.parametrize("reader", READERS)
def test_an_integer_is_read_and_written_whatever_the_limit_of_the_process(
    reader: str, value: int
) -> None:
    assert READERS[reader](TEXTS[value]) == value
    assert claims.canonical_json([value]).decode() == f"[{TEXTS[value]}]"


def test_an_integer_of_too_many_digits_is_still_refused() -> None:
    for value in (LONGEST + 1, -LONGEST - 1, 1 << 100_000):
        with pytest.raises(cw.EncodeError, match="more than 4300 digits"):
            claims.canonical_json([value])


def test_other_readers_name_the_integer() -> None:
    text = TEXTS[LONGEST]
    with pytest.raises(gcf.GcfError, match="within -2"):
        gcf.loads(gcf.from_json(f"[{text}]"))
    document = json.dumps({"version": 0}).replace("0", text)
    with pytest.raises(cad.DocumentError):
        cad.loads(document)
