"""Input that is small but could cost much: each reader refuses it, or its cost is linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compactwire import cad


def leb128(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def many_uses(length: int, nodes: int) -> bytes:
    """A binary document in which every node has the same name."""
    table = leb128(1) + leb128(length) + b"x" * length
    # Op code 4 is `Empty`, bit 5 says that a name follows: string 0.
    body = leb128(nodes) + b"\0" + bytes((4 | 32, 0)) * nodes + bytes(4)
    return b"\x89VCB\x01" + table + body


def test_a_string_that_many_nodes_use_is_counted_each_time() -> None:
    assert len(cad.from_binary(many_uses(1000, 50))["nodes"]) == 50
    readers: list[Callable[..., Any]] = [cad.from_binary, cad.loads]
    for read in readers:
        with pytest.raises(cad.BinaryError, match="50000 bytes, more than max_expansion=49999"):
            read(many_uses(1000, 50), max_expansion=49_999)
        assert len(read(many_uses(1000, 50), max_expansion=50_000)["nodes"]) == 50
    with pytest.raises(cad.BinaryError, match="more than max_expansion=268435456"):
        cad.from_binary(many_uses(500_000, 200_000))


def test_the_writer_emits_no_bytes_that_the_reader_refuses() -> None:
    name = "x" * 1_000_000
    text = "# vcad 0.2\n" + f'S 1 "{name}"\n' * 2
    document = cad.from_compact(text)
    node = document["nodes"]["0"]
    document["nodes"] = {str(i): {**node, "id": i} for i in range(300)}
    with pytest.raises(
        cad.DocumentError, match="too large for the binary form: the strings have 3000"
    ):
        cad.to_binary(document)


def test_a_tool_answer_with_many_errors_splits_the_text_once() -> None:
    text = "\n" * 300_000 + "Q\n" * 150
    answer = cad.create_cad_compact(text, all_errors=True)
    assert len(answer["errors"]) == 100
    assert answer["errors"][0]["line"] == 300_001
