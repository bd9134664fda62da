"""What Criterion measured in the core, if `cargo bench` has run: medians per benchmark."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Older figures may be of another machine, or of another version of the code.
MOST_SECONDS = 24 * 60 * 60


def base85() -> dict[tuple[str, int], dict[str, float]]:
    """Seconds by peer, for each direction and size in bytes; empty before `cargo bench` has run."""
    recent = time.time() - MOST_SECONDS
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for path in sorted((target / "criterion").glob("base85_*/*/*/new/estimates.json")):
        if path.stat().st_mtime < recent:
            continue
        direction, peer, size = path.parts[-5], path.parts[-4], path.parts[-3]
        nanoseconds = json.loads(path.read_text())["median"]["point_estimate"]
        key = (direction.removeprefix("base85_"), int(size))
        rows.setdefault(key, {})[peer] = nanoseconds / 1e9
    return dict(sorted(rows.items()))
