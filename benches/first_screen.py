"""Writes the figures at the start of the README and of the documentation, and their chart.

The figures are those of ``compactwire demo``: tokens by the tokenizer o200k_base, and the bytes of
a conversation. ``python -m benches.first_screen`` writes them into the pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from compactwire import _demo, _demo_session, _demo_values
from compactwire.analysis import count_tokens

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "index.md")
CHART = ROOT / "docs" / "assets" / "savings.svg"

# The chart, in pixels; its text must stay legible on a phone.
WIDTH, ROW, MARGIN, BAR = 420, 58, 16, 18


class Texts(NamedTuple):
    """The texts of a row, as JSON and as compactwire writes them."""

    title: str
    unit: str
    before: list[str]
    after: list[str]

    def figure(self) -> Figure:
        """Measure the texts."""
        measure = count_tokens if self.unit == "tokens" else lambda text: len(text.encode())
        sums = [sum(map(measure, texts)) for texts in (self.before, self.after)]
        return Figure(self.title, self.unit, *sums)


class Figure(NamedTuple):
    """A row of the table and of the chart."""

    title: str
    unit: str
    before: int
    after: int

    @property
    def saved(self) -> str:
        """The part that is saved."""
        return f"{1 - self.after / self.before:.0%}"


def rows() -> list[Texts]:
    """Write the examples of the demo."""
    examples = _demo_values.examples()
    found = [Texts(one.title, "tokens", [one.before], [one.after]) for one in examples]
    turns = _demo_session.turns([message.response.result for message in _demo.MESSAGES])
    plain, packed = [turn.plain for turn in turns], [turn.packed for turn in turns]
    return [*found, Texts(f"{len(turns)} turns between two programs", "bytes", plain, packed)]


def figures() -> list[Figure]:
    """Measure the examples of the demo."""
    return [row.figure() for row in rows()]


def table(found: list[Figure]) -> str:
    """Return the table in Markdown."""
    head = ["| | JSON | compactwire | saved |", "|---|--:|--:|--:|"]
    lines = [
        f"| {row.title}, in {row.unit} | {row.before:,} | {row.after:,} | {row.saved} |"
        for row in found
    ]
    return "\n".join([*head, *lines])


def chart(found: list[Figure]) -> str:
    """Return the chart as SVG: for each row, what is left of the JSON."""
    height = 2 * MARGIN + ROW * len(found) - 8
    full = WIDTH - 2 * MARGIN
    parts = [
        # Without a width of its own, a forge would scale it to the width of the page.
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="What is left of compact JSON" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14">',
        # A background of its own: the page may be dark.
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f6f8fa"/>',
    ]
    for number, row in enumerate(found):
        top = MARGIN + ROW * number
        left = round(full * row.after / row.before)
        label = f"{row.before:,} → {row.after:,} {row.unit}"
        parts += [
            f'<text x="{MARGIN}" y="{top + 13}" fill="#24292f">{row.title}</text>',
            f'<rect x="{MARGIN}" y="{top + 21}" width="{full}" height="{BAR}" rx="3" '
            'fill="#d0d7de"/>',
            f'<rect x="{MARGIN}" y="{top + 21}" width="{left}" height="{BAR}" rx="3" '
            'fill="#1a7f64"/>',
            f'<text x="{WIDTH - MARGIN}" y="{top + 13}" fill="#57606a" text-anchor="end">'
            f"{label}</text>",
            f'<text x="{WIDTH - MARGIN - 6}" y="{top + 35}" fill="#24292f" font-weight="600" '
            f'text-anchor="end">−{row.saved}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def updated(page: str, found: list[Figure]) -> str:
    """Return a page with the table between its comments."""
    pattern = r"(<!-- first -->\n).*?(<!-- /first -->)"
    page, count = re.subn(
        pattern, lambda marks: f"{marks[1]}\n{table(found)}\n\n{marks[2]}", page, flags=re.DOTALL
    )
    if count != 1:
        raise ValueError("the page has no place for the first table")
    return page


def main() -> None:
    """Write the pages and the chart."""
    found = figures()
    for path in PAGES:
        path.write_text(updated(path.read_text(encoding="utf-8"), found), encoding="utf-8")
    CHART.write_text(chart(found), encoding="utf-8")


if __name__ == "__main__":
    main()
