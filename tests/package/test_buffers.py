"""Every `memoryview` of bytes is read; one of other items is a `TypeError`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims, gcf, wire
from tests.package.calls import PART, PAYLOAD, RESPONSE, SEED, SET, TEXT, VALUE

READERS: dict[str, tuple[Callable[[Any], Any], bytes]] = {
    "decode": (cw.decode, cw.encode(RESPONSE, format="dsl").encode()),
    "detect": (cw.detect, cw.encode(RESPONSE, format="dsl").encode()),
    "inspect": (lambda data: cw.inspect(data).layers, cw.encode(RESPONSE, format="dsl").encode()),
    "decode_base85": (cw.decode_base85, b"00000"),
    "decode_tool_call": (cw.decode_tool_call, cw.encode_tool_call("t", VALUE).encode()),
    "encode_base85": (cw.encode_base85, b"any bytes"),
    "apply_delta": (lambda data: cw.apply_delta(TEXT, data), b"D|R|7|x"),
    "Dictionary.from_bytes": (cw.Dictionary.from_bytes, cw.Dictionary.default().to_bytes()),
    "expand": (cw.expand, cw.shrink([VALUE] * 20).text.encode()),
    "gcf.loads": (gcf.loads, gcf.dumps_bytes(VALUE)),
    "gcf.to_json": (gcf.to_json, gcf.dumps_bytes(VALUE)),
    "gcf.from_json": (gcf.from_json, b'{"a":[1,2]}'),
    "gcf.decode": (gcf.decode, gcf.encode(PAYLOAD).encode()),
    "gcf.read_keyed": (gcf.read_keyed, SET.encode().encode()),
    "wire.decode_gcb": (wire.decode_gcb, wire.encode_gcb(PAYLOAD)),
    "wire.decode_json": (wire.decode_json, wire.encode_json(PAYLOAD).encode()),
    "cad.loads": (cad.loads, cad.dumps(PART).encode()),
    "cad.from_binary": (cad.from_binary, cad.to_binary(PART)),
    "cad.from_compact": (cad.from_compact, b"C 1 2 3"),
    "cad.check": (cad.check, b"C 1 2 3"),
    "cad.to_compact": (cad.to_compact, cad.dumps(PART).encode()),
    "claims.parse_json": (claims.parse_json, b'{"a":[1,2]}'),
    "SigningKey.from_seed": (lambda data: claims.SigningKey.from_seed(data).public_key, SEED),
}


def views(data: bytes) -> dict[str, Any]:
    """Buffers with the same bytes; the last three views have them in pieces or in reverse."""
    apart = bytearray(2 * len(data))
    apart[::2] = data
    return {
        "bytearray": bytearray(data),
        "whole": memoryview(data),
        "characters": memoryview(data).cast("c"),
        "rows": memoryview(data).cast("B", (len(data), 1)),
        "every second byte": memoryview(apart)[::2],
        "backwards": memoryview(data[::-1])[::-1],
    }


@pytest.mark.parametrize("name", READERS)
def test_every_view_of_bytes_is_read(name: str) -> None:
    read, data = READERS[name]
    expected = read(data)
    for kind, view in views(data).items():
        assert read(view) == expected, kind


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("format", ["b", "?", "H", "d"])
def test_a_view_of_other_items_is_a_type_error(name: str, format: str) -> None:
    view = memoryview(bytes(16)).cast(format)
    with pytest.raises(TypeError) as caught:
        READERS[name][0](view)
    assert f"of items of format {format} " in str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_view_without_dimensions_and_a_released_one_are_errors(name: str) -> None:
    read, _ = READERS[name]
    with pytest.raises(TypeError, match="in 0 dimensions"):
        read(memoryview(b"a").cast("B", []))
    view = memoryview(b"a")
    view.release()
    with pytest.raises(ValueError, match="released"):
        read(view)
