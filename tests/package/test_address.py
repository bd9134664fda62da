"""With an address of the project, what is published has no relative link."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / ".ci" / "address.py"))
# The tests also run in the tree of a release, in which the script has been run.
ADDRESS = SCRIPT["ADDRESS"] or "https://git.example/group/compactwire"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]*)\)", text)


def test_every_link_of_the_readme_leads_to_a_file_of_this_version() -> None:
    readme = read("README.md")
    changed = SCRIPT["absolute"](readme, ADDRESS, VERSION)
    assert len(links(changed)) == len(links(readme)) >= 20
    for link in links(changed):
        kind, version, path = link.removeprefix(f"{ADDRESS}/").split("/", 2)
        assert version == f"v{VERSION}", link
        target = ROOT / path.partition("#")[0]
        assert target.is_dir() if kind == "tree" else target.is_file(), link
        assert (kind == "raw") == (target.suffix == ".svg"), link
    assert links(SCRIPT["absolute"](changed, ADDRESS, VERSION)) == links(changed)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](docs/gcf.md#rows)", f"[a]({ADDRESS}/blob/v1/docs/gcf.md#rows)"),
        ("[a](#speed)", f"[a]({ADDRESS}/blob/v1/README.md#speed)"),
        ("[a](notebooks)", f"[a]({ADDRESS}/tree/v1/notebooks)"),
        ("![a](docs/b.svg)", f"![a]({ADDRESS}/raw/v1/docs/b.svg)"),
        ("[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("a[0](b)", f"a[0]({ADDRESS}/blob/v1/b)"),
    ],
)
def test_a_link_gets_the_kind_of_its_target(link: str, expected: str) -> None:
    assert SCRIPT["absolute"](link, ADDRESS, "1") == expected


def test_the_metadata_gets_the_addresses_that_a_package_index_lists() -> None:
    project = tomllib.loads(SCRIPT["with_urls"](read("pyproject.toml"), ADDRESS, "1"))["project"]
    assert list(project["urls"]) == ["Homepage", "Documentation", "Source", "Issues", "Changelog"]
    assert project["optional-dependencies"]["mcp"]
    crate = tomllib.loads(SCRIPT["with_repository"](read("Cargo.toml"), ADDRESS))["package"]
    assert (crate["repository"], crate["name"]) == (ADDRESS, "compactwire")


@pytest.mark.skipif(bool(SCRIPT["ADDRESS"]), reason="there is an address")
def test_nothing_names_an_address_before_there_is_one() -> None:
    assert "urls" not in tomllib.loads(read("pyproject.toml"))["project"]
    assert "repository" not in tomllib.loads(read("Cargo.toml"))["package"]
    assert SCRIPT["main"]() == 1
