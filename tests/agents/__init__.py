"""Tests of what runs in agent frameworks. They need the extra `test-agents`: `.ci/run agents`."""

from __future__ import annotations

import json
from typing import Any

import pytest

ROWS: list[dict[str, Any]] = [{"id": n, "state": "open", "kind": "task"} for n in range(40)]
TEXT = json.dumps(ROWS, indent=2)


def needed(module: str) -> Any:
    """The module; where it is not installed, the tests of the calling file are skipped."""
    return pytest.importorskip(
        module, reason=f"NOT RUN: {module} is not installed", exc_type=ImportError
    )
