"""Where this package differs from a specification on purpose, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("deviations.json")


def deviations() -> list[dict[str, Any]]:
    """Return the deviations from the specifications, and decisions where they leave a choice.

    Returns
    -------
    list of dict
        Each has ``id``, ``system`` (`"compact"`, `"sessions"`, `"gcf"`, `"cad"`, `"claims"`),
        ``against`` (the specification or program), ``case`` (what it is about, or None),
        ``theirs`` and ``ours``, in Markdown. The tables of the documentation are made from it.

    Source: an extension of this package.
    """
    found: list[dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
