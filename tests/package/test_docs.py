"""The documentation's examples run, and its figures are those of the benches."""

from __future__ import annotations

import doctest
import functools
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import compactwire
from benches import first_screen, report
from compactwire import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_examples_give_the_output_shown() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted >= 9
    assert result.failed == 0


PAGES = sorted((ROOT / "docs").rglob("*.md"))
# The pages of the reference have no text of their own: the site takes it from the docstrings.
WRITTEN = [page for page in PAGES if page.parent.name != "reference"]
# The examples of a framework or an engine need it: `tests/agents` and `tests/columns` run them.
FRAMEWORKS = {page for page in WRITTEN if page.parent.name == "frameworks"} - {
    ROOT / "docs" / "frameworks" / "index.md"
}
ENGINES = {ROOT / "docs" / "scale.md"}
ELSEWHERE = FRAMEWORKS | {ROOT / "docs" / "http.md", ROOT / "docs" / "columns.md"}
# The source distribution has none.
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
README_TOO = [*WRITTEN, ROOT / "README.md"]


def blocks(page: Path) -> list[tuple[str, str]]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", sorted({*WRITTEN} - ENGINES), ids=lambda page: page.stem)
def test_page_examples_give_the_output_shown(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted >= 1 or page in FRAMEWORKS
    assert result.failed == 0


@pytest.mark.parametrize("page", README_TOO, ids=lambda page: page.stem)
def test_every_python_block_runs(page: Path) -> None:
    for kind, text in blocks(page):
        # `http_turns.py` has its own test below, and `asgi_turns.py` in `tests/agents`.
        named = kind.endswith("_turns.py") or page in ELSEWHERE
        assert named or not kind.startswith("python") or text.startswith(">>> ")


@pytest.mark.parametrize("page", README_TOO, ids=lambda page: page.stem)
def test_the_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    for line in commands(page):
        words = line.split()
        command = [word for word in words[:2] if re.fullmatch("[a-z]+", word)]
        while help_of(*command) is None:
            command.pop()  # What follows the command is its argument.
        assert command, line
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", help_of(*command) or ""), line


def commands(page: Path) -> Iterator[str]:
    for kind, text in blocks(page):
        if kind in ("", "sh"):
            for line in text.splitlines():
                for part in re.split(r"\||&&", line.split("#")[0]):
                    if part.strip().startswith("compactwire "):
                        yield part.strip().removeprefix("compactwire ")


@functools.cache
def help_of(*command: str) -> str | None:
    child = subprocess.run(
        [sys.executable, "-m", "compactwire", *command, "--help"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    usage = " ".join(["usage: compactwire", *command, ""])
    return child.stdout if child.stdout.startswith(usage) else None


def test_every_page_is_in_the_navigation() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f": {page.relative_to(ROOT / 'docs').as_posix()}\n" in site
    for path in NOTEBOOKS:
        assert f": notebooks/{path.stem}.md\n" in site


def documented() -> Iterator[str]:
    """Every name that the reference shows: a whole module, or one member."""
    package = ROOT / "python" / "compactwire"
    for page in set(PAGES) - set(WRITTEN):
        for path in re.findall(r"^::: compactwire\.(\S+)", page.read_text("utf-8"), re.MULTILINE):
            module = package.joinpath(*path.split("."))
            files = [module.with_suffix(end) for end in (".py", ".pyi")] + [module / "__init__.pyi"]
            texts = [file.read_text(encoding="utf-8") for file in files if file.exists()]
            yield from re.findall(r"^(?:class|def) (\w+)", "".join(texts), flags=re.MULTILINE)
            yield path.split(".")[-1]


def test_the_page_of_commands_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = re.findall(r"^    (\w+)$|^    (\w+) ", capsys.readouterr().out, flags=re.MULTILINE)
    table = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("\n## ")[0]
    listed = set(re.findall(r"`(\w+)", table))
    assert len(commands) > 10
    assert {short or long for short, long in commands} <= listed


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".gcf",
        ".wire",
        ".cad",
        ".claims",
        ".analysis",
        ".turns",
        ".http",
        ".arrow",
        ".conformance",
    ],
)
def test_the_reference_has_every_public_name(name: str) -> None:
    module = importlib.import_module("compactwire" + name)
    values = [getattr(module, each) for each in module.__all__]
    public = {value.__name__ for value in values if callable(value)}
    assert public <= set(documented())


def test_two_processes_exchange_messages_as_the_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
    fenced = r"^```python http_turns.py\n(.*?)^```$.*?^It prints:\n\n```\n(.*?)^```$"
    found = re.search(fenced, page, re.DOTALL | re.MULTILINE)
    assert found
    script = tmp_path / "http_turns.py"
    script.write_text(found[1], encoding="utf-8")
    for _ in range(2):  # The second run finds the database of the first.
        result = subprocess.run(
            [sys.executable, str(script)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (result.stderr, result.stdout) == ("", found[2])


# `tests/analysis` and `tests/cli` run the examples of the analysis and of the conformance.
@pytest.mark.parametrize(
    ("name", "examples"),
    [("", 4), ("._core", 3), (".cad", 4), ("._chat", 4), (".savings", 5), (".http._asgi", 2)],
)
def test_the_examples_of_docstrings_give_the_output_shown(name: str, examples: int) -> None:
    result = doctest.testmod(importlib.import_module(f"compactwire{name}"))
    assert (result.attempted, result.failed) == (examples, 0)


@pytest.mark.parametrize(
    "command",
    [
        "python -m pip install . && compactwire demo",
        "python -m pip install '.[test]' && python -m pytest",
    ],
)
def test_the_readme_shows_the_commands_of_a_fresh_machine(command: str) -> None:
    assert command in README


def test_there_is_one_version() -> None:
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.*)"$', manifest, flags=re.MULTILINE)
    assert compactwire.__version__ == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_changelog_names_the_built_in_dictionary() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert str(compactwire.Dictionary.default().id) in changelog


def record() -> report.Record:
    text = (ROOT / "benches" / "results" / "latest.json").read_text(encoding="utf-8")
    found: report.Record = json.loads(text)
    return found


def test_the_results_page_is_rendered_from_the_record() -> None:
    page = (ROOT / "benches" / "RESULTS.md").read_text(encoding="utf-8")
    assert page == report.results(record())


def test_the_readme_tables_are_rendered_from_the_record() -> None:
    assert report.update_readme(README, record()) == README


def test_the_first_figures_and_their_chart_are_those_of_the_demo() -> None:
    rows = first_screen.figures()
    for path in first_screen.PAGES:
        page = path.read_text(encoding="utf-8")
        assert first_screen.updated(page, rows) == page
    assert first_screen.CHART.read_text(encoding="utf-8") == first_screen.chart(rows)


@pytest.mark.parametrize("path", first_screen.PAGES, ids=lambda path: path.stem)
def test_the_first_screen_has_tokens_before_and_after_and_the_chart(path: Path) -> None:
    start = re.split(r"\n## [A-Z]", path.read_text(encoding="utf-8"))[0]
    for expected in ("JSON", "shrink", "tokens_before", "savings.svg", "cw.expand"):
        assert expected in start


def headings(page: Path) -> set[str]:
    """The anchors of a page, as the site makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower())) for title in titles}


@pytest.mark.parametrize("page", README_TOO, ids=lambda page: page.stem)
def test_every_link_to_a_page_leads_to_a_page_and_a_heading(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
        found = (page.parent / target) if target else page
        if found.suffix == ".ipynb" and not NOTEBOOKS:
            continue
        assert found.exists(), target
        if anchor and found.suffix == ".md" and found.parent.name != "reference":
            assert anchor in headings(found), (target, anchor)
