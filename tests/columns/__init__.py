"""Tests of columns. Those of libraries need the extra `test-columns`: `.ci/run columns`."""

from __future__ import annotations

from typing import Any

import pytest


def needed(module: str) -> Any:
    """The module; where it is not installed, the tests of the calling file are skipped."""
    return pytest.importorskip(
        module, reason=f"NOT RUN: {module} is not installed", exc_type=ImportError
    )
