"""Lines that a type checker must accept, or refuse where they have `type: ignore`; never run."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import compactwire as cw


def accepted(path: Path) -> None:
    response = cw.Response("x", "C45", "OK", 3, model_name=None, ultrathink=True)
    wire = cw.encode(response, format="zstd", protocol=2, msgpack_version="map")
    assert_type(wire, str)
    assert_type(cw.encode({"result": "x"}, format=cw.Format.DSL), str)
    for data in (wire, wire.encode(), bytearray(), memoryview(b"")):
        assert_type(cw.decode(data), cw.Response)
    assert_type(cw.detect(wire), cw.Format)
    dictionary = cw.Dictionary.train(["a", b"b", response], size=1000)
    dictionary.save(path)
    assert_type(cw.Dictionary.load(path), cw.Dictionary)
    cw.decode(wire, dictionary=dictionary, dictionaries=[dictionary], max_size=10, fallback=True)
    assert_type(cw.apply_delta("a", cw.encode_delta("a", "b")), str)
    assert_type(cw.DeltaStream().push("x"), str)
    assert_type(cw.decode_base85(cw.encode_base85(b"x")), bytes)
    assert_type(cw.inspect(wire).layers, list[tuple[str, int]])
    match response:
        case cw.Response(result, model):
            assert_type(result, str)
            assert_type(model, str)


def refused(response: cw.Response) -> None:
    cw.encode(response, format="brotli")  # type: ignore[arg-type]
    cw.encode(response, protocol=3)  # type: ignore[arg-type]
    cw.encode("text")
    cw.encode(["rows"])  # type: ignore[arg-type]
    cw.Response("x", status="FINE")  # type: ignore[arg-type]
    response.tokens = 3  # type: ignore[misc]
    cw.decode(3)  # type: ignore[arg-type]
