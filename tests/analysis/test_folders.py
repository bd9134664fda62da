"""The files of folders and patterns: each once, and none left out in silence."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compactwire import analysis
from compactwire.analysis.extra import need
from compactwire.analysis.folders import below, kind_of, matching
from tests.strategies.privileges import guarded_lake, without_privileges

# Not later, by a user without permission to read it.
need("pandas", "")
unix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs links and permissions of Unix")

FILES = (
    *("a.json", "b.json", ".c.json", "x/a.json", "x/y/a.json", "x/y/x/a.json", "x/y/x/z.txt"),
    *("y/a.json", "y/b[1].json", ".hidden/a.json", "x/.hidden/a.json", "a/b/c/d/e.json"),
)
PATTERNS = (
    *("*", "*.json", "**", "**/*", "**/*.json", "**/a.json", "x/**/a.json", "x/**", "?.json"),
    *("**/x/**/*.json", "**/**/*.json", "*/*", "*/y/*", "[xy]/a.*", ".*", ".*/*", "**/.*"),
    *("y/b[[]1].json", "x/../y/*.json", "a.json/*", "nothing/*", "x/nothing*", "a/*/c/**/*"),
)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / "lake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"x": 1}\n', encoding="utf-8")
    return tmp_path / "lake"


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_pattern_matches_what_it_matches_for_glob(
    pattern: str, absolute: bool, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)
    given = lake / pattern if absolute else Path(pattern)
    found = {os.path.realpath(path) for path in glob.glob(str(given), recursive=True)}  # noqa: PTH207 - the reference
    expected = sorted(path for path in found if Path(path).is_file())
    matched = matching(given)
    assert matched == sorted(matched)
    assert sorted(map(os.path.realpath, matched)) == expected
    assert all(path.is_absolute() == absolute for path in matched)


@unix
def test_links_do_not_make_more_files(lake: Path) -> None:
    usual = matching(lake / "**" / "*.json")
    (lake / "again").symlink_to(lake / "x")
    (lake / "loop").symlink_to(lake)
    (lake / "d.json").symlink_to(lake / "a.json")
    (lake / "nowhere.json").symlink_to(lake / "nothing")
    assert matching(lake / "**" / "*.json") == usual
    # Each under the first of its names.
    names = ["again/a.json", "loop/a.json", "y/a.json"]
    assert matching(lake / "*" / "a.json") == [lake / name for name in names]
    assert matching(lake / "again" / "*.json") == [lake / "again" / "a.json"]
    assert matching(lake / "d*.json") == [lake / "d.json"]
    assert below(lake) == sorted(lake / name for name in FILES if "/." not in f"/{name}")
    assert lake / "loop" / "a.json" in below(lake / "loop")


@pytest.fixture
def guarded() -> Iterator[Path]:
    with guarded_lake(0) as lake:
        yield lake


@unix
@pytest.mark.parametrize("pattern", ["**/*.jsonl", "*/*.jsonl", "**", "b/*", "*/1.jsonl"])
def test_a_folder_that_cannot_be_read_is_an_error(pattern: str, guarded: Path) -> None:
    with without_privileges():
        with pytest.raises(PermissionError) as caught:
            list(analysis.batches(guarded / pattern))
        said: list[OSError] = []
        found = matching(guarded / pattern, said.append)
    assert caught.value.filename.startswith(str(guarded / "b"))
    assert found == ([] if pattern.startswith("b") else [guarded / "a" / "1.jsonl"])
    assert len(said) == 1
    assert said[0].filename.startswith(str(guarded / "b"))


@unix
def test_what_is_there_is_not_known_without_permission(guarded: Path) -> None:
    with without_privileges():
        with pytest.raises(PermissionError):
            kind_of(guarded / "b" / "1.jsonl")
        with pytest.raises(PermissionError):
            list(analysis.batches(guarded / "b" / "1.jsonl"))
    for name, kind in [("a", "folder"), ("a/1.jsonl", "file"), ("c", None), ("a/1.jsonl/x", None)]:
        assert kind_of(guarded / name) == kind
    assert kind_of(Path("/dev/null")) == "other"
    assert kind_of(Path("\0")) is None


@unix
def test_an_error_of_a_read_names_the_file(tmp_path: Path) -> None:
    memory = Path("/proc/self/mem")
    if not memory.exists():
        pytest.skip("needs a file that opens and cannot be read")
    for name in ("a.jsonl", "a.csv", "a.json", "a.txt"):
        path = tmp_path / name
        path.symlink_to(memory)
        calls: list[Any] = [lambda path=path: list(analysis.batches(path))]
        calls += [lambda path=path: analysis.compare(path)]
        for call in calls:
            with pytest.raises(OSError, match="Input/output error") as caught:
                call()
            assert caught.value.filename == str(path)
