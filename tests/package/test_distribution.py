"""Dependencies: licence texts and bill of materials in the package, equal versions when fuzzed."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import PackagePath
from pathlib import Path

import pytest

import compactwire as cw

ROOT = Path(__file__).parents[2]
MATERIALS = json.loads((ROOT / "licenses" / "sbom.cdx.json").read_text(encoding="utf-8"))
TEXTS = (ROOT / "licenses" / "THIRD-PARTY.txt").read_text(encoding="utf-8")


def installed(name: str) -> PackagePath:
    """Return a file of the package's metadata folder by its name."""
    try:
        files = importlib.metadata.files("compactwire") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("compactwire is imported from the source tree, not installed")
    return next(file for file in files if file.name == name and ".dist-info" in file.parts[0])


def test_wheel_carries_all_licence_texts() -> None:
    assert installed("THIRD-PARTY.txt").read_text(encoding="utf-8") == TEXTS
    assert "MIT" in installed("LICENSE").read_text(encoding="utf-8")


def test_wheel_carries_the_bill_of_materials_and_no_other() -> None:
    file = installed("sbom.cdx.json")
    assert json.loads(file.read_text(encoding="utf-8")) == MATERIALS
    every = importlib.metadata.files("compactwire") or []
    assert [one for one in every if "sboms" in one.parts] == [file]


def test_bill_of_materials_differs_on_no_machine() -> None:
    assert "serialNumber" not in MATERIALS
    assert "timestamp" not in MATERIALS["metadata"]
    assert "file:" not in json.dumps(MATERIALS)
    assert str(Path.home()) not in json.dumps(MATERIALS)


def locked(path: str) -> dict[tuple[str, str], str | None]:
    """Return name, version and checksum of the packages in a lock file."""
    lock = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def test_bill_of_materials_has_the_versions_and_hashes_of_the_lock_file() -> None:
    product = locked("Cargo.lock")
    crates = [one for one in MATERIALS["components"] if one["purl"].startswith("pkg:cargo/")]
    assert len(crates) > 20
    for one in crates:
        assert product[one["name"], one["version"]] == one["hashes"][0]["content"]


@pytest.mark.parametrize("name", ["ed25519-dalek", "flate2", "pyo3", "rmp", "sha2", "zstd-sys"])
def test_licence_texts_name_each_dependency(name: str) -> None:
    versions = [one["version"] for one in MATERIALS["components"] if one["name"] == name]
    assert versions
    assert all(f"{name} {version} (" in TEXTS for version in versions)


def test_every_component_has_a_licence_text() -> None:
    for one in MATERIALS["components"]:
        if one["purl"].startswith("pkg:cargo/"):
            assert f"{one['name']} {one['version']} (" in TEXTS


@pytest.mark.parametrize(
    "words",
    [
        "Permission is hereby granted, free of charge",
        "Redistribution and use in source and binary forms",
        "Apache License",
        "This software is provided 'as-is'",
    ],
    ids=["MIT", "BSD-3-Clause", "Apache-2.0", "Zlib"],
)
def test_licence_texts_hold_each_kind(words: str) -> None:
    assert words in " ".join(TEXTS.split())


def test_the_policy_for_dependencies_is_for_the_platforms_with_wheels() -> None:
    policy = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    listed = runpy.run_path(str(ROOT / ".ci" / "dependencies.py"))["TARGETS"]
    assert sorted(policy["graph"]["targets"]) == sorted(listed)


def test_every_step_of_the_checks_is_run_by_a_workflow() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    if not workflows:
        pytest.skip("NOT RUN: a source distribution has no workflows")
    texts = [path.read_text(encoding="utf-8") for path in workflows]
    run = {
        step
        for text in texts
        for steps in re.findall(r"\.ci/run( [a-z ]+)", text)
        for step in steps.split()
    }
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    listed = re.search(r"^EXTRA=\((.*)\)$", script, re.MULTILINE)
    assert listed
    # Spark and Ray are larger than all other dependencies, and Spark needs Java.
    assert set(listed[1].split()) - run == {"engines"}


@pytest.mark.skipif(sys.platform == "win32", reason="the checks are a script for a Unix shell")
def test_the_help_of_the_checks_names_every_step() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    listed = re.findall(r"^(?:STEPS|EXTRA)=\((.*)\)$", script, re.MULTILINE)
    child = subprocess.run(
        ["bash", ROOT / ".ci" / "run", "--help"], capture_output=True, check=True, encoding="utf-8"
    )
    assert set(" ".join(listed).split()) <= set(child.stdout.split())


def test_fuzz_targets_are_built_with_the_versions_of_the_product() -> None:
    product, fuzz = locked("Cargo.lock"), locked("fuzz/Cargo.lock")
    own = {"arbitrary", "compactwire-fuzz", "libfuzzer-sys"}
    assert [one for one in fuzz if one not in product and one[0] not in own] == []


def test_the_bench_of_the_crate_is_built_with_the_versions_of_the_product() -> None:
    product, bench = locked("Cargo.lock"), locked("benches/gcf_crate/Cargo.lock")
    shared = {name for name, _ in product} & {name for name, _ in bench}
    assert {"bumpalo", "hashbrown", "itoa", "memchr", "serde_json"} <= shared
    assert [one for one in bench if one not in product and one[0] in shared] == []


def test_every_fuzz_target_has_seeds_and_asserts_its_bound() -> None:
    manifest = tomllib.loads((ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))
    paths = {one["name"]: ROOT / "fuzz" / one["path"] for one in manifest["bin"]}
    seeds = runpy.run_path(str(ROOT / "fuzz" / "seeds.py"))["TARGETS"]
    assert seeds.keys() == paths.keys()
    for name, path in paths.items():
        assert "| bounded::run(" in path.read_text(encoding="utf-8"), name
        assert next(seeds[name](), None) is not None, name


def test_every_fuzz_target_is_listed_in_its_readme() -> None:
    readme = (ROOT / "fuzz" / "README.md").read_text(encoding="utf-8")
    seeds = runpy.run_path(str(ROOT / "fuzz" / "seeds.py"))["TARGETS"]
    listed = [line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted(seeds)


def decode_frames(seed: bytes) -> None:
    session = cw.Session()
    for request in seed.decode().split("\0\0"):
        session.decode_request(request if request.startswith("SD77") else request.split("\0"))


def decode_payload(seed: bytes) -> None:
    cw.decode("AZSD"[seed[0]] + cw.encode_base85(seed[1:]))


def decode_graphs(seed: bytes) -> None:
    base, new, _ = seed.decode().split("\0")
    for body in (base, new):
        cw.gcf.decode(f"GCF profile=graph\n{body}").symbols[0]


@pytest.mark.parametrize(
    ("target", "read"),
    [
        ("session", decode_frames),
        ("decode_payload", decode_payload),
        ("decode_compact", lambda seed: cw.decode(seed.decode())),
        ("decode_tool_call", lambda seed: cw.decode_tool_call(seed.decode())),
        ("read_gcf", lambda seed: cw.gcf.loads(seed.decode())),
        ("read_graph", lambda seed: cw.gcf.decode(seed.decode())),
        ("read_graph_delta", decode_graphs),
        ("read_gcb", cw.wire.decode_gcb),
        ("read_cad", cw.cad.loads),
        ("read_cad_binary", cw.cad.loads),
        ("roundtrip_cad", cw.cad.loads),
    ],
)
def test_fuzz_seeds_are_valid_input(target: str, read: Callable[[bytes], object]) -> None:
    seeds = set(runpy.run_path(str(ROOT / "fuzz" / "seeds.py"))["TARGETS"][target]())
    valid = 0
    for seed in seeds:
        with contextlib.suppress(cw.CompactWireError, UnicodeDecodeError, IndexError):
            read(seed)
            valid += 1
    # Invalid seeds are welcome too, and some lack the header that the target adds.
    assert valid >= len(seeds) / 4


def test_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    def notes(version: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / ".ci" / "notes.py", version]
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *others = re.split(r"^## ", changelog.partition("\n## ")[2], flags=re.MULTILINE)
    version, _, section = first.partition("\n")
    found = notes("v" + version.split()[0])
    assert (found.stdout.strip(), found.returncode) == (section.strip(), 0)
    assert not any(other in found.stdout for other in others)
    missing = notes("v99.0.0")
    assert (missing.stdout, missing.returncode) == ("", 1)
    assert missing.stderr == "CHANGELOG.md has no section for 99.0.0: add one\n"


def test_module_for_x86_has_the_instructions_of_avx512_for_signatures() -> None:
    # Multiply-add of 52-bit integers, in registers of 256 bits: EVEX prefix, opcode B4 or B5.
    instruction = rb"(?s)\x62.[\x80-\xff][\x20\x28][\xb4\xb5]"
    module = Path(cw._core.__file__).read_bytes()
    is_x86 = platform.machine() in {"AMD64", "x86_64"} and sys.maxsize > 2**32
    assert (len(re.findall(instruction, module)) > 100) == is_x86
