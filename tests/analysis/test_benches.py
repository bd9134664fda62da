"""The benches run and check their answers; speed is not tested."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benches import cad_tokens, instructions, measure, report
from benches.measure import QUICK, Call, _lengths, _Turns, compare
from benches.speed import Rows
from compactwire import cad

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
    for work in (
        "gcf.dumps",
        "gcf.loads",
        "graph decode, with objects",
        "cad.to_compact",
        "verify_claim",
    ):
        assert result.stdout.count(f"| {work}") >= 2, "in the table of targets, and in its own"
    assert result.stdout.count("constant memory") == 2
    if Path("/proc/self/clear_refs").exists():
        assert result.stdout.count("| orjson.dumps, decoded ") == 1


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


def rows(ratios: dict[str, float], target: float | None) -> list[report.Record]:
    return [
        {"work": "w", "size": size, "peer": "p", "target": target, "ratio": ratio}
        for size, ratio in ratios.items()
    ]


def test_targets_are_computed_from_the_rows() -> None:
    systems = {"S": [*rows({"2 B": 1.5, "3 B": 1.0}, 1.0), *rows({"4 B": 9.0}, None)]}
    record = {"speed": rows({"1 B": 0.5}, 0.4), "core": [], "systems": systems}
    line = report.targets(record).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "w", "p", "2 B", "1 of 3", "1.50", "1.00", "missed by 50%",
    ]  # fmt: skip


@pytest.mark.parametrize(("collector", "shown"), [(None, False), (True, True)])
def test_a_table_of_the_core_has_no_empty_column(collector: bool | None, shown: bool) -> None:
    times = dict.fromkeys(["seconds", "fifth", "peer_seconds", "peer_fifth"], 1.0)
    found = [{**row, **times, "collector": collector} for row in rows({"1 B": 1.0}, None)]
    header = report.speed({"speed": found}).splitlines()[0]
    assert ("collector" in header) is shown


@pytest.mark.parametrize(
    ("ratio", "shown"), [(1.234, "1.23"), (0.2, "0.20"), (1 / 7.6, "1/7.6"), (1 / 1200, "1/1,200")]
)
def test_a_share_of_time_is_a_fraction_where_it_is_small(ratio: float, shown: str) -> None:
    assert report.share(ratio) == shown


def test_rows_are_chosen_by_words() -> None:
    rows = Rows.parse(["loads", "flat,orders"])
    assert rows.include("gcf.loads of str", "500 flat rows", "orjson")
    assert rows.include("gcf.loads of bytes", "500 nested orders", "orjson")
    assert not rows.include("gcf.dumps", "500 flat rows", "orjson")
    assert Rows().include("anything")


def test_a_slice_uses_each_argument_once() -> None:
    made = iter(range(10**9))
    used: list[int] = []
    compare([Call(used.append, lambda: next(made))], QUICK)
    compare([Call(used.append, lambda: next(made))], QUICK, collector=True)
    assert sorted(used) == list(range(len(used)))
    assert len(used) > 2 * QUICK.least


@pytest.mark.parametrize("collector", [False, True])
def test_the_collector_is_as_it_was_after_a_comparison(collector: bool) -> None:
    seen = []
    compare([Call(lambda _: seen.append(gc.isenabled()))], QUICK, collector=collector)
    assert seen[-1] is collector
    assert gc.isenabled()


def test_a_call_that_fails_leaves_the_collector_on() -> None:
    def fail(_: object) -> None:
        raise ValueError("wrong answer")

    with pytest.raises(ValueError, match="wrong answer"):
        compare([Call(fail)], QUICK, collector=True)
    assert gc.isenabled()


def test_a_turn_with_the_collector_on_lasts_until_a_full_collection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A call that the system interrupts would be measured as one that fills a turn.
    monkeypatch.setattr(measure, "MOST_OF_A_TURN", 1e9)
    lists = Call(lambda _: [[] for _ in range(5_000)], kept=True)
    effort = replace(QUICK, slice_seconds=1e-6)
    assert _lengths(lists, effort, collector=True)[1] > 1
    assert _lengths(lists, effort, collector=False)[1] == 1
    assert _lengths(Call(id), effort, collector=True)[1] == 1


def test_the_result_is_the_mean_of_the_minima_of_each_place() -> None:
    turns = _Turns(Call(id), calls=2, slices=2)
    for first, second in ((4.0, 8.0), (2.0, 10.0)):
        turns.taken.append([{"wall": seconds, "processor": 1.0} for seconds in (first, second)])
    assert turns.timing().least == {"wall": (2 + 8) / 2 / 2, "processor": 0.5}


@pytest.mark.parametrize("name", instructions.calls())
def test_counted_call_gives_the_same_result_each_time(name: str) -> None:
    call = instructions.calls()[name]
    first = call()
    assert first is not None
    assert call() == first


def test_counts_are_compared_where_both_records_have_the_call() -> None:
    lines = instructions.table({"a": 2000, "gone": 5}, {"a": 1500, "new": 7}).splitlines()
    assert lines[2:] == ["| a | 2,000 | 1,500 | 0.750 |"]


def test_tokens_of_a_folder_with_one_document_and_compact_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "C 1 2 3\nS 2\nU 0 1"
    (tmp_path / "one.vcad").write_text(cad.dumps(cad.from_compact(text)))
    (tmp_path / "text.vcad").write_text(text)
    (tmp_path / "bytes.vcad").write_bytes(cad.to_binary(cad.from_compact(text)))
    monkeypatch.setattr(sys, "argv", ["cad_tokens", str(tmp_path)])
    cad_tokens.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["|", "0.1,", "without", "names", "|", "1", "|"] in [row[:7] for row in rows]
