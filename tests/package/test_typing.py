"""The stubs match the compiled module: names, signatures, docstrings, types."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import compactwire
from compactwire import _core

STUBS = Path(compactwire.__file__).parent / "_core"
EXAMPLES = Path(__file__).parent / "typing_examples.py"


def has_overload(function: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in function.decorator_list)


def stub_docstrings() -> list[tuple[str, str | None]]:
    """Every name of every stub, as a path from the compiled module."""
    found: list[tuple[str, str | None]] = []
    for stub in sorted(STUBS.glob("*.pyi")):
        inside = "" if stub.stem == "__init__" else f"{stub.stem}."
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.append((inside + node.name, ast.get_docstring(node)))
            if isinstance(node, ast.ClassDef):
                found.extend(
                    (f"{inside}{node.name}.{member.name}", ast.get_docstring(member))
                    for member in node.body
                    # The first overload has the docstring.
                    if isinstance(member, ast.FunctionDef)
                    and (ast.get_docstring(member) or not has_overload(member))
                )
    return [
        (name, doc) for name, doc in found if not any(p.startswith("_") for p in name.split("."))
    ]


@pytest.mark.parametrize(("name", "docstring"), stub_docstrings())
def test_a_docstring_of_the_stub_is_that_of_the_module(name: str, docstring: str | None) -> None:
    thing: object = _core
    for part in name.split("."):
        thing = getattr(thing, part)
    assert docstring
    assert docstring == inspect.getdoc(thing)


def run(*command: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_signatures_of_the_stub_are_those_of_the_module() -> None:
    assert "Success" in run("mypy.stubtest", "compactwire._core")


def test_type_checkers_see_the_types_that_the_examples_state() -> None:
    assert "Success" in run("mypy", "--strict", str(EXAMPLES))
