"""Renders the deviations from the specifications into the pages that list them.

They are data, `python/compactwire/conformance/deviations.json`. After a change of the data,
`python -m tests.package.deviations` writes the tables between the markers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from compactwire.conformance import deviations

ROOT = Path(__file__).parents[2]
PAGES = ("design.md", "gcf.md", "cad.md")

HEADS = {
    "gcf": ("value or text", "gcf-python 2.8", "compactwire"),
    "cad": ("specification", "implementation"),
}
MARKED = r"(<!-- deviations: (\w+) -->\n\n).*?(\n\n<!-- /deviations -->)"


def rendered(page: str) -> str:
    """The text of a page with its tables made from the data."""
    return re.sub(MARKED, lambda found: found[1] + table(found[2]) + found[3], page, flags=re.S)


def table(system: str) -> str:
    head = HEADS.get(system, ("specification", "what we do, and why"))
    rows = [cells(each) for each in deviations() if each["system"] == system]
    lines = [head, ("---",) * len(head)]
    return "\n".join([f"| {' | '.join(lines[0])} |", f"|{'|'.join(lines[1])}|", *rows])


def cells(each: dict[str, Any]) -> str:
    found = [each[name] for name in ("case", "theirs", "ours") if each[name] is not None]
    return "| " + " | ".join(text.replace("|", "\\|") for text in found) + " |"


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / "docs" / name
        path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
