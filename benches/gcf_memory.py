"""Measures the peak memory of `gcf.dumps` in addition to the value, in a separate process.

The text is included, so the ratio to the bytes of the text is at least 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from compactwire import gcf

from .gcf import to_bytes
from .gcf_stream import ROOT, peak
from .shapes import flat

# The targets: the peak of memory divided by the bytes of the text.
TARGETS = {"gcf.dumps": 2.1, "gcf.dumps_bytes": 1.2}
WRITERS: dict[str, Callable[[Any], str | bytes]] = {
    "gcf.dumps": gcf.dumps,
    "orjson.dumps, decoded": lambda value: orjson.dumps(value).decode(),
    "orjson.dumps": orjson.dumps,
}
if to_bytes:
    WRITERS["gcf.dumps_bytes"] = to_bytes


def measure(name: str, rows: int) -> dict[str, Any]:
    """Write rows once; return the bytes of the text and of the memory that this took."""
    # New str objects, because a str caches its UTF-8.
    value = orjson.loads(orjson.dumps(flat(rows)))
    before = reset()
    text = WRITERS[name](value)
    most = peak() * (1 << 20) - before
    size = len(text if isinstance(text, bytes) else text.encode())
    return {"work": name, "rows": rows, "bytes": size, "memory": most, "target": TARGETS.get(name)}


def reset() -> float:
    """Reset the peak of memory; return the bytes in use now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak() * (1 << 20)


def record(rows: int) -> list[dict[str, Any]]:
    """Measure each writer; empty on systems without `/proc/self/clear_refs`."""
    if not Path("/proc/self/clear_refs").exists():
        return []
    found = []
    for name in WRITERS:
        command = [sys.executable, "-m", "benches.gcf_memory", name, str(rows)]
        child = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
        found.append(json.loads(child.stdout))
    return found


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
