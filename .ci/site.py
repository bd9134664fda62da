"""Checks the built documentation for what the hooks of the site are there to do.

    python .ci/site.py SITE

The directives of doctest are left out, a parameter has its own default also where a docstring
explains several at once, and what people search for is a heading of its page: headings weigh most
in the search of the site.
"""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path

DIRECTIVES = ("# doctest:", "<BLANKLINE>")
# The text of a row of `cad.preview`, whose docstring explains `width, height : int`.
ROW = re.compile(r"\bheight\s+int\s+In pixels[^.]*\.\s+480\s")
SEARCHED = {
    "LangChain": "frameworks/langchain/",
    "MCP": "mcp/",
    "async": "frameworks/openai-agents/",
    "retry": "frameworks/pydantic-ai/",
}


def faults(site: Path) -> list[str]:
    """Return a line for each fault of the site in a folder."""
    found = []
    for page in sorted(site.rglob("index.html")):
        found += [f"{page}: shows {each}" for each in DIRECTIVES if each in shown(page)]
    reference = site / "reference" / "cad" / "index.html"
    if not ROW.search(shown(reference)):
        found.append(f"{reference}: the default of height is not 480")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    for word, page in SEARCHED.items():
        headings = [each["title"] for each in index["docs"] if each["location"].startswith(page)]
        if not any(word.lower() in heading.lower() for heading in headings):
            found.append(f"{site / page}: no heading has the word {word}")
    return found


def shown(page: Path) -> str:
    """Return the text of a page without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(bool(lines))
