"""What tests of CAD documents compare with."""

from __future__ import annotations

import struct
from typing import Any


def exact(value: Any) -> Any:
    """Tell -0 from 0 and True from 1, but not 50 from 50.0."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, bool | str | None):
        return (type(value).__name__, value)
    return struct.pack(">d", value) if abs(value) < 2**53 else value


def same(left: Any, right: Any) -> bool:
    return bool(exact(left) == exact(right))


def assembled(items: Any) -> Any:
    nodes, rest = {}, None
    for kind, item in items:
        assert rest is None
        if kind == "node":
            nodes[str(item["id"])] = item
        else:
            rest = item
    assert rest is not None
    return {**rest, "nodes": nodes}
