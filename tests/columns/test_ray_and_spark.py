"""The recipes for Ray Data and Spark, each in a process of its own, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.columns import needed

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["ray", "pyspark"])
def test_the_recipes_of_an_engine_give_the_results_of_the_loop(engine: str) -> None:
    needed(engine)
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("NOT RUN: Spark needs Java")
    program = f"tests.columns.{engine.removeprefix('py')}_recipe"
    child = subprocess.run(
        [sys.executable, "-m", program],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    print(child.stdout)  # The times: for `pytest -rP`.
    assert child.stdout.splitlines()[-1:] == ["all recipes ran"], child.stderr[-4000:]
