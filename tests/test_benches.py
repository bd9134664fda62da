"""The benches run and check their answers; how fast is not a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_benches_run_and_every_answer_is_right() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "benches", "--quick"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr
    assert "wrong answer" not in result.stdout
    assert result.stdout.count("| encode zstd") >= 8
    assert result.stdout.count("| append ") >= 8
