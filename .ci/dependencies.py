"""Records the crates that are linked into the wheel: licence texts and a bill of materials.

    python .ci/dependencies.py          # after a change of Cargo.toml or Cargo.lock
    python .ci/dependencies.py --check  # changes nothing; fails if a file differs

`licenses/THIRD-PARTY.txt` holds the licence texts. If a crate offers a choice that contains MIT,
only the MIT text is given. `licenses/sbom.cdx.json` is a CycloneDX 1.5 bill of materials (PEP 770).
Both are the same bytes on every machine: they contain no date, no serial number and no path.

A crate is listed if the extension module links it on one of TARGETS. Procedural macros and build
scripts run only during the build and are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TEXTS = ROOT / "licenses" / "THIRD-PARTY.txt"
MATERIALS = ROOT / "licenses" / "sbom.cdx.json"

# The platforms with wheels.
TARGETS = [
    f"{machine}-{system}"
    for machine in ("x86_64", "aarch64")
    for system in ("unknown-linux-gnu", "unknown-linux-musl", "apple-darwin", "pc-windows-msvc")
]
# The C library in a crate: name and licence. The crate's version ends with that of the library.
CARRIED = {"zstd-sys": ("zstd", "BSD-3-Clause")}

MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

HEADER = """\
compactwire itself is under the MIT licence (LICENSE). Its compiled module contains the Rust
standard library, parts of two vocabularies and the packages below, under these licences.
"""
RULE = "-" * 100


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of the lock file that is linked into the extension module."""

    name: str
    version: str
    license: str
    folder: Path
    authors: tuple[str, ...]
    checksum: str
    needs: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        """The package URL, which is also the crate's reference within the bill of materials."""
        return f"pkg:cargo/{self.name}@{self.version}"


def main() -> int:
    """Write or check both files; return the exit code."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only fail if a file differs")
    check = arguments.parse_args().check
    crates = linked()
    exit_code = 0
    for path, content in [(TEXTS, texts(crates)), (MATERIALS, materials(crates))]:
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run python .ci/dependencies.py")
            exit_code = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return exit_code


def linked() -> list[Crate]:
    """Return the crates that the extension module links, without the two of this repository."""
    names = {line for target in TARGETS for line in tree(target)}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    metadata = json.loads(cargo("metadata", "--format-version", "1"))
    packages = {one["id"]: one for one in metadata["packages"]}
    crates = []
    for node in metadata["resolve"]["nodes"]:
        package = packages[node["id"]]
        key = package["name"], package["version"]
        if key not in names or package["source"] is None:
            continue
        needs = ((packages[one]["name"], packages[one]["version"]) for one in node["dependencies"])
        folder = Path(package["manifest_path"]).parent
        license_ = package["license"].replace("/", " OR ")
        authors = tuple(package["authors"])
        wanted = tuple(sorted(names.intersection(needs)))
        crates.append(Crate(*key, license_, folder, authors, checksums[key], wanted))
    return sorted(crates)


def tree(target: str) -> list[tuple[str, str]]:
    """Return name and version of what the extension module links on one platform."""
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]
    output = cargo("tree", "--package", "compactwire-python", "--target", target, *edges)
    words = (line.split() for line in output.splitlines())
    return [(name, version.removeprefix("v")) for name, version, *_ in words]


def cargo(*arguments: str) -> str:
    """Return what a cargo command prints."""
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def texts(crates: list[Crate]) -> str:
    """Return all licence texts; equal ones once, with the crates that they apply to."""
    users: dict[str, list[str]] = {
        MIT_OF_RUST: ["the Rust standard library"],
        MIT_OF_TIKTOKEN: ["tokens of punctuation, from the vocabularies of tiktoken"],
    }
    for crate in crates:
        for text in dict.fromkeys(texts_of(crate)):
            users.setdefault(text, []).append(f"{crate.name} {crate.version} ({crate.license})")
    sections = [f"{RULE}\n{', '.join(names)}\n{RULE}\n\n{text}" for text, names in users.items()]
    return "\n".join([HEADER, *sections])


def texts_of(crate: Crate) -> list[str]:
    """Return the licence texts of one crate."""
    prefixes = ("license", "unlicense", "copying", "notice", "copyright")
    found = [
        path
        for path in sorted(crate.folder.rglob("*"))
        if path.is_file() and path.name.lower().startswith(prefixes) and path.suffix != ".yml"
    ]
    found = chosen(found)
    if found:
        return [normalized(path.read_text(encoding="utf-8")) for path in found]
    if "MIT" not in crate.license:
        raise SystemExit(f"{crate.name}: no licence text found for {crate.license!r}")
    owners = ", ".join(crate.authors) or f"the authors of {crate.name}"
    return [f"MIT License\n\nCopyright (c) {owners}\n\n{MIT}"]


def chosen(files: list[Path]) -> list[Path]:
    """Of the licence files of a crate, return those of the licences under which we use it."""
    if any("mit" in path.name.lower() for path in files):
        wanted = ("mit", "unicode", "notice")
        return [path for path in files if any(word in path.name.lower() for word in wanted)]
    licenses = [path for path in files if path.name.lower().startswith("license")]
    # If both exist, COPYING is the text of an alternative that we do not use (zstd: the GPL).
    return licenses or files


def normalized(text: str) -> str:
    """Return the text without differences that a reader does not see."""
    lines = [line.rstrip() for line in text.replace("\f", "").splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


MIT_OF_RUST = f"MIT License\n\nCopyright (c) The Rust Project contributors\n\n{MIT}"
MIT_OF_TIKTOKEN = f"MIT License\n\nCopyright (c) 2022 OpenAI, Shantanu Jain\n\n{MIT}"


def materials(crates: list[Crate]) -> str:
    """Return the bill of materials as CycloneDX 1.5."""
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    package = manifest["workspace"]["package"]
    url = f"pkg:pypi/compactwire@{package['version']}"
    itself = component("compactwire", package["version"], package["license"], url)
    references = {(crate.name, crate.version): crate.url for crate in crates}
    components: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = [{"ref": url, "dependsOn": sorted(references.values())}]
    for crate in crates:
        one = component(crate.name, crate.version, crate.license, crate.url)
        one["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
        needs = [references[name] for name in crate.needs if name in references]
        if crate.name in CARRIED:
            name, license_ = CARRIED[crate.name]
            version = crate.version.partition(f"+{name}.")[2]
            needs.append(f"pkg:generic/{name}@{version}")
            components.append(component(name, version, license_, needs[-1]))
            edges.append({"ref": needs[-1]})
        components.append(one)
        edges.append({"ref": crate.url, "dependsOn": sorted(needs)})
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": itself},
        "components": sorted(components, key=lambda one: one["bom-ref"]),
        "dependencies": sorted(edges, key=lambda one: one["ref"]),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def component(name: str, version: str, license_: str, url: str) -> dict[str, Any]:
    """Return one component of the bill of materials."""
    return {
        "type": "library",
        "bom-ref": url,
        "name": name,
        "version": version,
        "licenses": [{"expression": license_}],
        "purl": url,
    }


if __name__ == "__main__":
    sys.exit(main())
