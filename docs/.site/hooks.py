"""Adds pages to the site that are not in `docs/`: the changelog, the benchmarks, the notebooks.

The files stay in their folders; links to them become links to the generated pages.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"results.md": "benches/RESULTS.md", "changelog.md": "CHANGELOG.md"}
RECORDS = (*PAGES, "notebooks/")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages whose files are outside of `docs/`."""
    for name, source in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page, pictures = _notebook(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page))
        for name, data in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=data))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link to the generated pages, and show examples as sessions with the interpreter."""
    if page.file.src_uri.startswith(RECORDS):
        # What they show is explained on other pages, which a search should list first.
        page.meta["search"] = {"boost": 0.5}
    for name, source in PAGES.items():
        markdown = re.sub(rf"\]\(\.\./{re.escape(source)}(?=[)#])", f"]({name}", markdown)
    markdown = re.sub(r"\]\(\.\./notebooks/(\w+)\.ipynb(?=[)#])", r"](notebooks/\1.md", markdown)
    markdown = re.sub(r"^```python(?: \S+\.py)?$\n(?=>>>)", "```pycon\n", markdown, flags=re.M)
    # What tells doctest how to compare is nothing to read.
    markdown = re.sub(r" *# doctest: \+\w+$|^<BLANKLINE>$", "", markdown, flags=re.M)
    return re.sub(r"^```python (\S+\.py)$", r'```python title="\1"', markdown, flags=re.M)


def on_page_content(content: str, **_: Any) -> str:
    """Let the copy button take the code of a session, without prompts and output.

    In the cells of a table, show an escaped bar in code as a bar, as forges do. Mark code that is
    short enough for a line of its own: an option such as `--json` does not break after a hyphen.
    """
    content = re.sub(
        r"(?<=<code>)[^<]*(?=</code>)", lambda code: code[0].replace("\\|", "|"), content
    )
    content = re.sub(r"<code>(?=[^<\n]{1,24}</code>)", '<code class="short">', content)
    return re.sub(r'<code>(<span class="gp">.*?</code>)', _with_copy, content, flags=re.S)


def _with_copy(found: re.Match[str]) -> str:
    lines: list[str] = []
    in_code = False
    for line in html.unescape(re.sub(r"<[^>]*>", "", found[1])).split("\n"):
        # "..." continues the line before it; in a traceback, it stands for what is left out.
        in_code = line.startswith(">>>") or (in_code and line.startswith("..."))
        if in_code:
            lines.append(line[4:])
    return f'<code data-copy="{html.escape(chr(10).join(lines))}">{found[1]}'


def _notebook(path: Path) -> tuple[str, dict[str, bytes]]:
    """Render a notebook: prose, code and output."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}_{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![What the cell above draws]({name})")
            elif "text/html" in data:
                parts.append(_table("".join(data["text/html"])))
            else:
                text = "".join(output.get("text", data.get("text/plain", "")))
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures


def _table(shown: str) -> str:
    """Leave of a table of pandas what is a table: one block, without style."""
    table = re.sub(r"<style.*?</style>", "", shown, flags=re.S)
    return re.sub(r"\s*\n\s*", "", table.replace('border="1" class="dataframe"', ""))
