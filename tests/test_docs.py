"""What the documentation shows is what happens, and its figures are those of the benches."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import compactwire
from benches import report

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_examples_of_the_readme_give_what_they_show() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted >= 9
    assert result.failed == 0


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_give_what_they_show(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted >= 1
    assert result.failed == 0


def test_two_processes_talk_as_the_page_shows(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
    fenced = r"^```python two_processes.py\n(.*?)^```$.*?^It prints:\n\n```\n(.*?)^```$"
    found = re.search(fenced, page, re.DOTALL | re.MULTILINE)
    assert found
    script = tmp_path / "two_processes.py"
    script.write_text(found[1], encoding="utf-8")
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.stderr, result.stdout) == ("", found[2])


def test_the_example_of_the_package_gives_what_it_shows() -> None:
    result = doctest.testmod(compactwire)
    assert result.attempted >= 3
    assert result.failed == 0


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


def test_the_page_of_results_is_what_the_record_gives() -> None:
    page = (ROOT / "benches" / "RESULTS.md").read_text(encoding="utf-8")
    assert page == report.results(record())


def test_the_tables_of_the_readme_are_what_the_record_gives() -> None:
    assert report.update_readme(README, record()) == README
