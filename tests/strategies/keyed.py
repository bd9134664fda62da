"""Keyed sets for tests."""

from __future__ import annotations

from typing import Any

from compactwire import gcf


def keyed_set(given: dict[str, Any]) -> gcf.KeyedSet:
    return gcf.KeyedSet(
        given["rows"], key=given["key"], fields=given["fields"], name=given.get("name", "rows")
    )
