"""This package as a program that `tests/vectors/prove.py` asks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import compactwire as cw
from compactwire import cad, claims, gcf, wire
from compactwire.conformance._graph import payload_of


def decode(given: dict[str, Any]) -> object:
    found = cw.decode(given["wire"])
    names = ("result", "model", "status", "tokens", "model_name", "returncode")
    fields = {name: getattr(found, name) for name in (*names, "reasoning_effort", "ultrathink")}
    return {name: value for name, value in fields.items() if value is not None}


def encode_gcb(given: dict[str, Any]) -> str:
    lossy = {"dangling_zero"} if given.get("mode") == "compat" else ()
    return wire.encode_gcb(payload_of(given["payload"]), lossy=lossy).hex()


def canonical(given: dict[str, Any]) -> str:
    return claims.canonical_json(claims.parse_json(given["text"].encode())).decode()


CALLS: dict[str, Callable[[dict[str, Any]], object]] = {
    "compact.decode": decode,
    "compact.encode": lambda given: cw.encode(cw.Response(**given.pop("response")), **given),
    "compact.apply_delta": lambda given: cw.apply_delta(given["content"], given["delta"]),
    "base85.encode": lambda given: cw.encode_base85(bytes.fromhex(given["hex"])),
    "base85.decode": lambda given: cw.decode_base85(given["text"]).hex(),
    "gcf.encode": lambda given: gcf.dumps(given["value"], **given.get("options", {})),
    "gcf.decode": lambda given: gcf.loads(given["text"], **given["options"]),
    "gcb.encode": encode_gcb,
    "gcb.decode": lambda given: wire.decode_gcb(bytes.fromhex(given["hex"])),
    "claims.canonical": canonical,
    "claims.merkle_root": lambda given: claims.merkle_root(given["leaves"]),
    "cad.write": lambda given: cad.to_compact(given.pop("document"), **given),
    "cad.read": lambda given: cad.from_compact(given["text"], given["dialect"]),
}


def answer(given: dict[str, Any]) -> dict[str, Any]:
    call = CALLS.get(given.pop("call"))
    if call is None:
        return {"unsupported": True}
    try:
        return {"result": call(given)}
    except cw.CompactWireError as error:
        if isinstance(error, cad.CompactParseError):
            return {"error": {"line": error.line, "column": error.column}}
        return {"error": getattr(error, "code", str(error))}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
