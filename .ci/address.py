"""Writes the project's address into what is published; a release runs it before it builds.

    python .ci/address.py

While `ADDRESS` is empty, the metadata names no address, and a release fails here: a package index
shows README.md, and its links are relative. With an address, they lead to the files of the version.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# The page of the repository, without a slash at the end; empty until there is one.
ADDRESS = ""

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)(\[[^][]*\])\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")


def absolute(readme: str, address: str, version: str) -> str:
    """Return the text with the address and the version in every relative link."""

    def replace(found: re.Match[str]) -> str:
        image, text, path, place = found.groups(default="")
        path = path or "README.md"
        kind = "raw" if image else "tree" if (ROOT / path).is_dir() else "blob"
        return f"{image}{text}({address}/{kind}/v{version}/{path}{place})"

    return LINK.sub(replace, readme)


def with_urls(project: str, address: str, version: str) -> str:
    """Return the text of pyproject.toml with the addresses that a package index lists."""
    if "[project.urls]" in project:
        return project
    urls = {
        "Homepage": address,
        "Documentation": f"{address}/blob/v{version}/docs/index.md",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    heading = "[project.optional-dependencies]\n"
    return project.replace(heading, f"[project.urls]\n{lines}\n{heading}", 1)


def with_repository(manifest: str, address: str) -> str:
    """Return the text of Cargo.toml with the address of the repository."""
    if "\nrepository = " in manifest:
        return manifest
    heading = '[package]\nname = "compactwire"\n'
    return manifest.replace(heading, f'{heading}repository = "{address}"\n', 1)


def main() -> int:
    """Change README.md, pyproject.toml and Cargo.toml."""
    if not ADDRESS:
        print(".ci/address.py: set ADDRESS to the page of the repository first", file=sys.stderr)
        return 1
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version = tomllib.loads(manifest)["workspace"]["package"]["version"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name, text in (
        ("README.md", absolute(readme, ADDRESS, version)),
        ("pyproject.toml", with_urls(project, ADDRESS, version)),
        ("Cargo.toml", with_repository(manifest, ADDRESS)),
    ):
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
