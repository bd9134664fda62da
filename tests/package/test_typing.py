"""The stubs describe the compiled module: names, signatures, docstrings, types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent / "typing_examples.py"


def run(*command: str) -> str:
    result = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_stub_docstrings_are_rendered_from_rust() -> None:
    assert run(".ci/stubs.py", "--check") == ""


def test_stub_signatures_are_those_of_the_module() -> None:
    assert "Success" in run("-m", "mypy.stubtest", "compactwire._core")


def test_type_checkers_see_the_types_that_the_examples_state() -> None:
    assert "Success" in run("-m", "mypy", "--strict", str(EXAMPLES))
