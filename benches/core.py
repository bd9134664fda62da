"""What Criterion measured in the core, if `cargo bench` has run: medians per benchmark."""

from __future__ import annotations

import json
import os
from pathlib import Path

ROOT = Path(__file__).parent.parent


def base85() -> dict[tuple[str, int], dict[str, float]]:
    """Seconds by peer, for each direction and size in bytes; empty before `cargo bench`."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for path in sorted((target / "criterion").glob("base85_*/*/*/new/estimates.json")):
        direction, peer, size = path.parts[-5], path.parts[-4], path.parts[-3]
        nanoseconds = json.loads(path.read_text())["median"]["point_estimate"]
        key = (direction.removeprefix("base85_"), int(size))
        rows.setdefault(key, {})[peer] = nanoseconds / 1e9
    return dict(sorted(rows.items()))
