"""The benches run and check their answers; speed is not tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benches import report

ROOT = Path(__file__).parents[2]


def test_benches_run_and_give_right_answers() -> None:
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
    for work in ("gcf.dumps", "gcf.loads", "graph encode", "cad.to_compact", "verify_claim"):
        assert result.stdout.count(f"| {work}") >= 2, "in the table of targets, and in its own"
    assert result.stdout.count("constant memory") == 2


def corpus(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benches", "--quick", "--corpus", str(folder)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
    )


def test_a_folder_argument_is_measured(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([{"id": n, "open": True} for n in range(50)]))
    (tmp_path / "answer.md").write_text("The answer is 42.\n" * 20)
    (tmp_path / "big.json").write_text(json.dumps(2**70))
    result = corpus(tmp_path)
    assert result.returncode == 0, result.stderr
    assert "\n| gcf " in result.stdout
    assert "\n| dictionary " in result.stdout
    assert "gcf of big.json: cannot carry it" in result.stdout


def test_a_missing_folder_is_an_error_in_one_line(tmp_path: Path) -> None:
    result = corpus(tmp_path / "nowhere")
    assert result.returncode != 0
    assert result.stderr.startswith("python -m benches: no folder ")
    assert result.stderr.count("\n") == 1


def test_targets_are_computed_from_the_rows() -> None:
    row = {"work": "w", "size": "1 B", "peer": "p", "target": 10.0, "ratio": 12.0}
    worse = {**row, "size": "2 B", "ratio": 6.0}
    record = {"speed": [row], "core": [], "systems": {"S": [worse, {**row, "target": None}]}}
    line = report.targets(record).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "w", "p", "2 B", "10x", "6x to 12x", "1 of 2", "missed: 40% short",
    ]  # fmt: skip
