"""Reads the results of the core's benches (the minima), if they ran recently."""

from __future__ import annotations

import json
import os
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The targets: our time divided by the peer's.
PEERS = {"crate gcf": 1 / 10, "etoon, which writes TOON": 1.0}
BASE85 = ["cargo", "bench", "--bench", "base85", "--", "--warm-up-time=0.5", "--measurement-time=1"]
GCF = ["cargo", "bench", "--locked", "--manifest-path=benches/gcf_crate/Cargo.toml"]
GCF += ["--target-dir", str(TARGET)]

# Older figures may come from another machine or another version of the code.
MOST_SECONDS = 24 * 60 * 60


def run() -> None:
    """Run the benches of the core."""
    for command in (BASE85, GCF):
        subprocess.run(command, cwd=ROOT, check=True)


def base85() -> dict[tuple[str, int], dict[str, float]]:
    """Seconds by peer, for each direction and size in bytes."""
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for path in sorted((TARGET / "criterion").glob("base85_*/*/*/new/sample.json")):
        if not recent(path):
            continue
        direction, peer, size = path.parts[-5], path.parts[-4], path.parts[-3]
        found = json.loads(path.read_text())
        nanoseconds = min(
            taken / count for taken, count in zip(found["times"], found["iters"], strict=True)
        )
        key = (direction.removeprefix("base85_"), int(size))
        rows.setdefault(key, {})[peer] = nanoseconds / 1e9
    return dict(sorted(rows.items()))


def gcf() -> list[dict[str, Any]]:
    """Give the rows of `benches/gcf_crate/gcf.rs`."""
    path = TARGET / "tmp" / "gcf.json"
    if not path.exists() or not recent(path):
        return []
    return [
        {
            **row,
            "collector": None,
            "clock": "wall",
            "ratio": row["seconds"] / row["peer_seconds"],
            "target": PEERS.get(row["peer"]),
        }
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]


def versions() -> dict[str, str]:
    """Give the versions of the peers, which their lock file fixes."""
    lock = tomllib.loads((ROOT / "benches" / "gcf_crate" / "Cargo.lock").read_text("utf-8"))
    peers = ("etoon", "gcf", "serde_json")
    found = {one["name"]: str(one["version"]) for one in lock["package"]}
    return {f"crate {name}": found[name] for name in peers}


def recent(path: Path) -> bool:
    """Whether a file was written lately."""
    return path.stat().st_mtime > time.time() - MOST_SECONDS
