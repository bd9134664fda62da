"""The stub says what the compiled module is: names, signatures, docstrings, types."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import compactwire
from compactwire import _core

STUB = Path(compactwire.__file__).parent / "_core.pyi"
EXAMPLES = Path(__file__).parent / "typing_examples.py"


def stub_docstrings() -> list[tuple[str, str | None]]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    found: list[tuple[str, str | None]] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, ast.get_docstring(node)))
        elif isinstance(node, ast.ClassDef):
            found.append((node.name, ast.get_docstring(node)))
            found.extend(
                (f"{node.name}.{member.name}", ast.get_docstring(member))
                for member in node.body
                if isinstance(member, ast.FunctionDef)
            )
    return [(name, doc) for name, doc in found if "_" not in (name[0], name.split(".")[-1][0])]


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
        cwd=Path(__file__).parent.parent,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_signatures_of_the_stub_are_those_of_the_module() -> None:
    assert "Success" in run("mypy.stubtest", "compactwire._core")


def test_type_checkers_see_the_types_that_the_examples_state() -> None:
    assert "Success" in run("mypy", "--strict", str(EXAMPLES))
