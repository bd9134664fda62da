"""Public functions do not leak: each runs many times, on valid and on invalid input.

Each case runs in a process of its own (`python -m tests.package.test_memory NAME`). Its resident
memory must not grow after the first rounds.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad
from tests.strategies.outcomes import result_or_error
from tests.strategies.packing import PACKERS, SMALL, SMALL_BYTES, prefix_of

if sys.platform != "linux":
    pytest.skip("resident memory is read the Linux way", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
WARM_UP, REPEATS = 3_000, 20_000
# 60 bytes for each call: less than a leaked message or exception takes.
MOST_BYTES = REPEATS * 60

TEXT = "The quick brown fox jumps over the lazy dog. 한국어 🚀 " * 20
RESPONSE = cw.Response(
    TEXT, "C4", "PART", 300, model_name="claude", returncode=7, reasoning_effort="low"
)
MAPPING = {"model": "claude", "returncode": 0, "response": TEXT, "ultrathink": True}
MESSAGE = cw.decode_base85(cw.encode(RESPONSE, format="base85")[1:])
WIRES = {
    name: prefix_of(name) + cw.encode_base85(pack(MESSAGE)) for name, pack in PACKERS.items()
} | {name: cw.encode(RESPONSE, format=name) for name in ("verbose", "dsl", "binary", "base85")}
BAD = {
    "nothing": "",
    "prefix": "X" + TEXT,
    "dsl": "RES|NO|" + TEXT,
    "json": '{"model":"' + TEXT + '"',
    "member": '{"model":"x","response":""}',
    "base64": "M" + "A" * 1001,
    "character": "A" + "0" * 1000 + "~",
    "length": "A" + "0" * 1001,
    "value": "A" + "0" * 1000 + "#####",
    "zlib": WIRES["zlib"][:-10],
    "zstd": WIRES["zstd"][:-10],
    "MessagePack": "A" + cw.encode_base85(MESSAGE + b"\0"),
    "dictionary": "D" + cw.encode_base85(PACKERS["dictionary"](MESSAGE)),
}
STREAM, FILE = cw.DeltaStream("x" * 1000), SMALL.to_bytes()
PACKED = cw.encode_delta("", TEXT * 2)
ERROR = cw.InvalidBase85Char("text", char="~", position=7)
PART = cad.from_compact(
    "# vcad 0.2\nM steel 0.5 0.5 0.5 1 0.2\nC 50 30 5\nSK 0 0 0 1 0 0 0 1 0\nL 0 0 1.5 0\n"
    "A 1.5 0 0 0 0.75 0 1\nEND\nE 1 0 0 -2.5\nD 0 2\nROOT 3 steel"
)
PART_JSON, PART_TEXT, PART_BYTES = cad.dumps(PART), cad.to_compact(PART, "0.2"), cad.to_binary(PART)
BAD_PART = {**PART, "nodes": {**PART["nodes"], "0": {"op": {"type": "Cube", "holes": TEXT}}}}


def encode_in_both_protocols(format: Any) -> tuple[str, str]:
    return cw.encode(RESPONSE, format=format, protocol=2), cw.encode(RESPONSE, format=format)


def turn_stream() -> None:
    STREAM.push(TEXT)
    STREAM.apply("D|F|" + TEXT)
    assert STREAM.content is not None
    repr(STREAM)


CASES: dict[str, Callable[[], object]] = {
    **{
        f"encode {format}": partial(encode_in_both_protocols, format)
        for format in ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary", "auto")
    },
    **{
        f"decode {name}": partial(cw.decode, wire, dictionary=SMALL) for name, wire in WIRES.items()
    },
    **{f"decode bad {name}": partial(cw.decode, wire) for name, wire in BAD.items()},
    "decode bytearray": lambda: cw.decode(bytearray(WIRES["zstd"].encode())),
    "decode memoryview": lambda: cw.decode(memoryview(WIRES["zstd"].encode())),
    "decode not UTF-8": lambda: cw.decode(b"RES|\xff" + bytes(1000)),
    "decode fallback": lambda: cw.decode(BAD["json"], fallback=True),
    "decode too large": lambda: cw.decode(WIRES["zstd"], max_size=10),
    "detect": lambda: cw.detect(WIRES["dsl"]),
    "detect bad": lambda: cw.detect(BAD["prefix"]),
    "inspect": lambda: repr(cw.inspect(WIRES["dictionary"], dictionary=SMALL)),
    "inspect bad": lambda: cw.inspect(BAD["zlib"]),
    "encode mapping": lambda: cw.encode(MAPPING),
    "encode bad mapping": lambda: cw.encode({**MAPPING, "unknown": TEXT}),
    "encode bad model": lambda: cw.encode(cw.Response("", TEXT + "|"), format="dsl"),
    "response": lambda: hash(cw.Response(TEXT, TEXT, model_name=TEXT, reasoning_effort=TEXT)),
    "response bad status": lambda: cw.Response(TEXT, status=TEXT),  # type: ignore[arg-type]
    "response bad text": lambda: cw.Response(TEXT + "\ud800"),
    "response repr": lambda: repr(RESPONSE),
    "response pickle": lambda: pickle.loads(pickle.dumps(RESPONSE)),
    "response replace": lambda: RESPONSE.__replace__(tokens=8),
    "base85": lambda: cw.decode_base85(cw.encode_base85(MESSAGE)),
    "delta": lambda: cw.apply_delta(TEXT, cw.encode_delta(TEXT, TEXT + "and more")),
    "delta packed": lambda: cw.apply_delta(TEXT, PACKED),
    "delta bad": lambda: cw.apply_delta(TEXT, "D|R|99999|" + TEXT),
    "stream": turn_stream,
    "stream new": lambda: cw.DeltaStream(TEXT).push(TEXT + "!"),
    "dictionary": lambda: cw.Dictionary.from_bytes(FILE, name=TEXT),
    "dictionary bad": lambda: cw.Dictionary.from_bytes(b"ZDCT|v9|" + SMALL_BYTES),
    "dictionary default": lambda: repr(cw.Dictionary.default()),
    "dictionary bytes": lambda: hash(SMALL) + len(SMALL.to_bytes()),
    "error": lambda: copy.copy(pickle.loads(pickle.dumps(ERROR))),
    "cad read": lambda: cad.from_compact(PART_TEXT),
    "cad read bad": lambda: cad.from_compact("C 1 2 3\nY " + TEXT),
    "cad read surrogate": lambda: cad.from_compact("C 1 2 3 # \ud800"),
    "cad write": lambda: cad.to_compact(PART, "0.2"),
    "cad write bad": lambda: cad.to_compact(BAD_PART),
    "cad lossy": lambda: cad.to_compact(BAD_PART, lossy=True),
    "cad JSON": lambda: cad.canonical(PART_JSON),
    "cad JSON bad": lambda: cad.canonical(PART_JSON[:-9]),
    "cad dumps": lambda: cad.dumps(PART),
    "cad binary": lambda: cad.from_binary(cad.to_binary(PART)),
    "cad binary bad": lambda: cad.from_binary(PART_BYTES[:-1]),
    "cad hybrid": lambda: cad.from_hybrid(cad.to_hybrid(PART)),
    "cad load": lambda: cad.loads(PART_BYTES),
    "cad check": lambda: cad.check("cube 1 2\nT 9 0 0 0\nQ"),
    "cad stream": lambda: list(cad.iter_compact(iter([PART_TEXT]))),
    "cad stream bad": lambda: list(cad.iter_compact(iter([PART_TEXT, "\n", TEXT]))),
    "cad losses": lambda: cad.losses(PART, "0.1"),
    "cad tool": lambda: cad.create_cad_compact("Q " + TEXT),
}


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(call: Callable[[], object]) -> int:
    for _ in range(WARM_UP):
        result_or_error(call)
    before = resident_bytes()
    for _ in range(REPEATS):
        result_or_error(call)
    return resident_bytes() - before


def growth_in_a_new_process(name: str) -> int:
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_memory", name],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert child.returncode == 0, child.stderr
    grown: int = json.loads(child.stdout)
    return grown


@pytest.mark.parametrize("name", CASES)
def test_memory_does_not_grow(name: str) -> None:
    assert growth_in_a_new_process(name) < MOST_BYTES


def test_a_leak_would_be_noticed() -> None:
    assert growth_in_a_new_process("leak") > MOST_BYTES


if __name__ == "__main__":
    leaked: list[bytes] = []
    LEAK = {"leak": lambda: leaked.append(bytes(100))}
    print(json.dumps(growth((CASES | LEAK)[sys.argv[1]])))
