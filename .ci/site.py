"""Checks the built documentation for what the hooks of the site are there to do.

    python .ci/site.py SITE

The directives of doctest are left out, a parameter has its own default also where a docstring
explains several at once, each public name is a heading of the reference, and what people search for
is a heading of its page: headings weigh most in the search of the site.
"""

from __future__ import annotations

import ast
import html
import json
import re
import sys
from pathlib import Path

DIRECTIVES = ("# doctest:", "<BLANKLINE>")
# The text of a row of `cad.preview`, whose docstring explains `width, height : int`.
ROW = re.compile(r"\bheight\s+int\s+In pixels[^.]*\.\s+480\s")
PACKAGE = Path(__file__).parents[1] / "python" / "compactwire"
# The command line has a page of its own.
ELSEWHERE = {"__version__", "main", *(path.stem for path in PACKAGE.glob("*.py"))}
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
    pages = (site / "reference").rglob("index.html")
    headings = {each for page in pages for each in names(page)}
    for module, name in public():
        if name.lower() not in headings:
            found.append(f"{site / 'reference'}: no heading has the name {name} of {module}")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    for word, page in SEARCHED.items():
        titles = [each["title"] for each in index["docs"] if each["location"].startswith(page)]
        if not any(word.lower() in title.lower() for title in titles):
            found.append(f"{site / page}: no heading has the word {word}")
    return found


def public() -> list[tuple[str, str]]:
    """Return each public module of the package with each name of its `__all__`."""
    found = []
    for path in [*PACKAGE.glob("[!_]*.py"), *PACKAGE.rglob("__init__.py")]:
        module = path.parent.name if path.stem == "__init__" else path.stem
        if module.startswith("_"):
            continue
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__all__":
                exported = set(ast.literal_eval(each.value)) - ELSEWHERE
                found += [(module, name) for name in sorted(exported)]
    return found


def names(page: Path) -> list[str]:
    """Return the last part of the address of each heading, in lower case."""
    found = re.findall(r'<h\d id="([\w.]+)"', page.read_text(encoding="utf-8"))
    return [each.rpartition(".")[2].lower() for each in found]


def shown(page: Path) -> str:
    """Return the text of a page without its markup."""
    return html.unescape(re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(bool(lines))
