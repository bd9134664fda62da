"""`compactwire analyze`, and `compactwire train` on a sample."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis
from compactwire.analysis.extra import need
from compactwire.cli import analyze, main
from tests.strategies.analysis import ANSWERS
from tests.strategies.privileges import guarded_lake, without_privileges

pa, parquet = need("pyarrow", ""), need("pyarrow.parquet", "")
TEXTS = [f"Sensor {n} reports {n * 7 % 50} degrees in hall {n % 9}.\n" * 3 for n in range(900)]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with the same texts as lines and as a table."""
    folder = tmp_path / "lake"
    folder.mkdir()
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(TEXTS[:300])]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    rest = TEXTS[300:]
    parquet.write_table(pa.table({"id": range(600), "text": rest}), folder / "b.parquet")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_figures_are_those_of_the_functions(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "analyze", lake, "--column", "text", "--json", "--price", 2)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["files"], found["failed_files"]) == (2, [])
    frame = analysis.report(analysis.summarize(analysis.measure(pa.array(TEXTS))), price=2)
    expected = json.loads(frame.to_json(orient="records", double_precision=15))
    for line, other in zip(found["formats"], expected, strict=True):
        assert line.pop("errors") == {}
        assert other.pop("errors") == ""
        assert line == pytest.approx(other)


def test_a_format_that_rows_of_a_file_do_not_have_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, text = tmp_path / "a.json", tmp_path / "b.txt"
    values.write_text('{"a": 1}', encoding="utf-8")
    text.write_text("hi", encoding="utf-8")
    for workers in (1, 2):
        options = ("--format", "dsl", "--workers", workers)
        code, out, err = run(capsys, "analyze", values, text, *options)
        assert (code, "dsl" in out) == (1, True)
        assert f"compactwire: error: {values}: unknown format 'dsl' for value" in err


def test_the_table_has_a_line_per_format(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--column", "text", "--format", "dsl", "--format", "zstd", "--tokenizer", "none")
    code, out, _ = run(capsys, "analyze", lake / "*.jsonl", *arguments)
    head, *lines = out.splitlines()
    assert (code, head.split()) == (
        0,
        ["format", "rows", "bytes", "of", "JSON", "p05", "p50", "p95"],
    )
    assert [line.split()[:2] for line in lines] == [["dsl", "300"], ["zstd", "300"]]


def test_a_part_of_the_tokens_is_shown_with_the_rows_that_it_is_of(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--column", "text", "--format", "dsl", "--token-fraction", "0.1")
    head, line = run(capsys, "analyze", lake, *arguments)[1].splitlines()
    assert " ".join(head.split()) == "format rows bytes of JSON counted tokens of JSON p05 p50 p95"
    assert int(line.split()[1]) == len(TEXTS) > 5 * int(line.split()[4]) > 0


def test_quantiles_have_no_more_digits_than_they_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text('{"a":1}')
    arguments = ("--format", "json", "--tokenizer", "none")
    _, out, _ = run(capsys, "analyze", tmp_path / "a.json", *arguments)
    assert out.splitlines()[1].split() == ["json", "1", "7", "100.0%", "100%", "100%", "100%"]


def test_rows_that_fail_are_counted_and_do_not_end_the_job(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (lake / "a.jsonl").open("ab") as file:
        file.write(b'\n{"id":1,"id":2}\n{\n\xff\n')
    arguments = ("--format", "gcf", "--tokenizer", "none", "--json")
    code, out, err = run(capsys, "analyze", lake, *arguments)
    assert code == 0
    (line,) = json.loads(out)["formats"]
    errors = {"DuplicateKeyError": 1, "JSONDecodeError": 1, "UnicodeDecodeError": 1}
    assert (line["inputs"], line["failed"], line["errors"]) == (903, 3, errors)
    assert err.startswith("compactwire: rows that failed in gcf: DuplicateKeyError: 1, ")


def test_files_with_rows_that_fail_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "abcdefg":
        (tmp_path / f"{name}.jsonl").write_text("{}\n{\n" if name != "b" else "{}\n")
    code, _, err = run(capsys, "analyze", tmp_path, "--format", "json", "--tokenizer", "none")
    names = ", ".join(str(tmp_path / f"{name}.jsonl") for name in "acdef")
    assert code == 0
    assert err.splitlines()[1:] == [f"compactwire: files with rows that failed: {names} and 1 more"]


def test_files_of_a_folder_that_are_not_read_are_told(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("c.org", "d.org", "README", ".hidden.gz"):
        (lake / name).write_text("a,b\n", encoding="utf-8")
    code, _, err = run(capsys, "analyze", lake, "--column", "text", "--format", "dsl")
    told = f"compactwire: {lake}: files of these kinds are not read: no suffix, .org\n"
    assert (code, err) == (0, told)


def test_a_file_of_a_pattern_that_is_not_read_does_not_hide_the_others(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "image.bin").write_bytes(b"\x89")
    code, out, err = run(capsys, "analyze", lake / "*", "--column", "text", "--json")
    assert code == 1
    assert "image.bin: cannot read a file with the suffix '.bin'" in err
    found = json.loads(out)
    assert found["files"] == 2
    assert found["failed_files"] == [str(lake / "image.bin")]


def test_a_column_that_no_row_has_is_an_error(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "analyze", lake / "a.jsonl", "--column", "txt")
    expected = "no row has a text in 'txt'; without --column, whole rows are measured"
    assert (code, out, err) == (1, "", f"compactwire: error: {expected}\n")


def test_a_column_that_is_no_text_is_named(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--column", "id", "--format", "dsl", "--tokenizer", "none")
    code, _, err = run(capsys, "analyze", lake / "a.jsonl", *arguments)
    first, second, _ = err.splitlines()
    assert (code, first) == (0, "compactwire: rows that failed in dsl: TypeError: 300")
    assert second == "compactwire: TypeError: the value of 'id' is not a text"


def test_a_column_that_a_table_lacks_is_named_with_the_file_once(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lake / "b.parquet"
    code, _, err = run(capsys, "analyze", path, "--column", "txt")
    columns = "expected one column 'txt'; the columns are 'id', 'text'"
    assert (code, err) == (1, f"compactwire: error: {path}: {columns}\n")


def test_files_without_rows_are_no_error_but_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").touch()
    code, out, err = run(capsys, "analyze", tmp_path, "--json")
    assert (code, json.loads(out)["formats"]) == (0, [])
    assert err == "compactwire: the files have no rows\n"


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("nowhere.jsonl", "no file or folder '{path}'"),
        ("folder", "'{path}'; expected .jsonl, .ndjson, .csv, .tsv, .parquet, .json or text files"),
        ("a.png", "or a text file; with --kind text, it is one text"),
    ],
)
def test_a_path_that_cannot_be_read_is_an_error_in_words_of_the_command(
    name: str, end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.png").write_bytes(b"a,b\n")
    (tmp_path / "folder").mkdir()
    code, out, err = run(capsys, "analyze", tmp_path / name)
    assert (code, out) == (1, "")
    assert err.endswith(end.format(path=tmp_path / name) + "\n")


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_measured(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "c.parquet").write_bytes((lake / "b.parquet").read_bytes()[:-50])
    paths = (lake, lake / "nowhere")
    code, out, err = run(capsys, "analyze", *paths, "--column", "text", "--format", "dsl", "--json")
    found = json.loads(out)
    assert (code, found["files"]) == (1, 2)
    assert found["formats"][0]["inputs"] == 900
    failed = [str(lake / "nowhere"), str(lake / "c.parquet")]
    assert found["failed_files"] == failed
    assert err.count("\n") == 3
    assert all(name in err for name in failed)
    assert err.endswith("compactwire: 2 of 4 files failed\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--tokenizer", "gpt-0"], "unknown tokenizer 'gpt-0'"),
        (["--token-fraction", "2"], "token_fraction must be from 0 to 1"),
        (["--format", "morse"], "unknown format 'morse'"),
        (["--price", "-1"], "price must be 0 or more"),
    ],
)
def test_an_invalid_option_is_an_error_before_reading(
    option: list[str], message: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "analyze", lake, *option)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_two_workers_give_the_output_of_one(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lake / "c.parquet").write_bytes(b"PAR1")
    (lake / "d.jsonl").write_text('{"text":1}\n', encoding="utf-8")
    arguments = ("analyze", lake, "--column", "text", "--format", "dsl", "--tokenizer", "none")
    alone = run(capsys, *arguments)
    assert (alone[0], "c.parquet: invalid Parquet" in alone[2]) == (1, True)
    assert run(capsys, *arguments, "--workers", 2) == alone
    for workers in ("0", "-1", "two"):
        with pytest.raises(SystemExit):
            run(capsys, *arguments, "--workers", workers)
        message = f"argument --workers: expected a number from 1 to 2^63 - 1, not '{workers}'\n"
        assert capsys.readouterr().err.endswith(message)


SUMMARY = analyze._summary


def summary_unless_a(path: Path, **how: Any) -> Any:
    return os._exit(1) if path.name == "a.jsonl" else SUMMARY(path, **how)


def test_a_worker_that_ends_is_an_error_with_the_file(
    lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze, "_summary", summary_unless_a)
    options = ("--column", "text", "--format", "dsl", "--workers", 2, "--json")
    code, out, err = run(capsys, "analyze", lake, *options)
    assert (code, json.loads(out)["files"]) == (1, 1)
    assert err.splitlines() == [
        f"compactwire: error: {lake / 'a.jsonl'}: its process ended unexpectedly",
        "compactwire: 1 of 2 files failed",
    ]


unix = pytest.mark.skipif(sys.platform == "win32", reason="NOT RUN: needs groups of processes")


def members(group: int) -> dict[int, str]:
    """The processes of a group that have not ended: the arguments by the id."""
    listed = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pgid=,pid=,stat=,args="],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split(maxsplit=3) for line in listed.stdout.splitlines()]
    return {int(row[1]): row[-1] for row in rows if row[0] == str(group) and row[2][0] != "Z"}


def workers(group: int) -> list[int]:
    return [number for number, command in members(group).items() if "spawn_main" in command]


def is_soon(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@contextmanager
def two_workers(
    tmp_path: Path,
    handler: Any = signal.default_int_handler,
    make: Callable[[Path], object] = lambda path: os.mkfifo(path),
) -> Iterator[tuple[subprocess.Popen[bytes], tuple[Path, Path]]]:
    """The command with two workers, which by default wait for their files to be written."""
    found = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in found:
        make(path)
    before = signal.signal(signal.SIGINT, handler)
    try:
        command = [sys.executable, "-m", "compactwire", "analyze", *map(str, found), "--json"]
        child = subprocess.Popen(
            [*command, "--workers", "2", "--tokenizer", "none", "--format", "dsl"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield child, found
    finally:
        if members(child.pid):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


@unix
@pytest.mark.parametrize(
    ("number", "to_all", "code"),
    [
        (signal.SIGINT, True, 130),
        (signal.SIGINT, False, 130),
        (signal.SIGTERM, False, 143),
        (signal.SIGKILL if sys.platform != "win32" else 9, False, -9),
    ],
)
def test_a_signal_ends_the_command_and_its_workers(
    number: int, to_all: bool, code: int, tmp_path: Path
) -> None:
    # Opened when both workers have begun to read, and never written: they do not end by themselves.
    with (
        two_workers(tmp_path) as (child, (one, other)),
        one.open("wb"),
        other.open("wb"),
    ):
        (os.killpg if to_all else os.kill)(child.pid, number)
        assert child.communicate(timeout=30) == (b"", b"")
        assert child.returncode == code
        assert is_soon(lambda: not members(child.pid)), members(child.pid)


@unix
def test_a_worker_ignores_ctrl_c_from_its_first_moment(tmp_path: Path) -> None:
    with two_workers(tmp_path, make=lambda path: path.write_bytes(b"text")) as (child, _):
        assert is_soon(lambda: bool(workers(child.pid)))
        os.kill(workers(child.pid)[0], signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, json.loads(out)["files"], err) == (0, 2, b"")


@unix
def test_workers_ignore_ctrl_c_as_the_command_does(tmp_path: Path) -> None:
    with two_workers(tmp_path, signal.SIG_IGN) as (child, (one, other)):
        with one.open("wb") as first, other.open("wb") as second:
            os.killpg(child.pid, signal.SIGINT)
            first.write(b"one")
            second.write(b"two")
        out, err = child.communicate(timeout=60)
        assert (child.returncode, json.loads(out)["files"], err) == (0, 2, b"")


def test_without_the_extra_it_is_named() -> None:
    code = "import sys; sys.modules['pyarrow'] = None\nfrom compactwire.cli import main\n"
    child = subprocess.run(
        [sys.executable, "-c", code + "sys.exit(main(['analyze', '.']))"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    message = (
        "compactwire: error: compactwire.analysis needs pyarrow: pip install 'compactwire[anal"
    )
    assert (child.returncode, child.stdout) == (1, "")
    assert child.stderr.startswith(message)


TRAIN = ("--size", 2000, "--time", 0)


def train(capsys: Any, out: Path, *arguments: object) -> tuple[int, str]:
    code, _, err = run(capsys, "train", *arguments, *TRAIN, "-o", out)
    return code, err


def test_train_makes_the_dictionary_of_a_merged_sample(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code, err = train(capsys, out, lake, "--column", "text", "--held-out", "--sample", 30_000)
    assert code == 0
    told = " (a sample with seed 0 and max_bytes 30000, without the held-out texts)\n"
    assert err.endswith(told)
    limit = {"max_bytes": 30_000}
    parts = [analysis.sample(pa.array(TEXTS[n::5]), 900, seed=0, **limit) for n in range(5)]
    texts = analysis.merge_samples(parts, 900, **limit)["text"].to_pylist()
    made = cw.Dictionary.train(texts, size=2000, time=0)
    assert out.read_bytes() == made.to_bytes()
    assert made.samples < 400


def test_held_out_prints_three_figures(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code, err = train(capsys, out, lake, "--column", "text", "--held-out")
    first, *figures, last = err.splitlines()
    batches = list(analysis.held_out(pa.array(TEXTS)))
    assert first == f"held out: {sum(one.num_rows for one in batches)} texts"
    expected = {
        "this dictionary": {"format": "dictionary", "dictionary": cw.Dictionary.load(out)},
        "built-in": {"format": "dictionary"},
        "plain zstd": {"format": "zstd"},
    }
    held = [text for batch in batches for text in batch["text"].to_pylist()]
    for line, (name, how) in zip(figures, expected.items(), strict=True):
        size = sum(len(cw.encode(cw.Response(text), **how)) for text in held)
        assert line.split("held out: ")[1].startswith(f"{name:<15} {size:>14,} bytes ")
    assert code == 0
    assert last.startswith(f"{out}: dictionary ")


def test_a_dictionary_that_is_no_better_is_not_saved_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    data = tmp_path / "a.jsonl"
    # Texts of the kind that the built-in dictionary is made for.
    data.write_text("\n".join(map(json.dumps, ANSWERS)), encoding="utf-8")
    code, err = train(capsys, out, data, "--held-out")
    assert (code, out.exists()) == (1, False)
    assert err.endswith(
        "not saved: the held-out texts are no smaller than with the built-in dictionary;"
        " --always-save saves it\n"
    )
    assert train(capsys, out, data, "--held-out", "--always-save")[0] == 0
    assert out.exists()


def test_rows_that_cannot_be_read_are_left_out_of_a_sample_and_told(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (lake / "a.jsonl").open("ab") as file:
        file.write(b'\n{"text":5}\n{\n')
    code, err = train(capsys, tmp_path / "out", lake, "--column", "text", "--sample", 50_000)
    assert code == 0
    rows, files, _ = err.split("\n", 2)
    counts = "JSONDecodeError: 1, TypeError: 1"
    assert rows == f"compactwire: rows that cannot be read are left out: {counts}"
    assert files == f"compactwire: files with rows that failed: {lake / 'a.jsonl'}"
    assert err.endswith(" samples (a sample with seed 0 and max_bytes 50000)\n")


def test_train_takes_each_row_of_a_file_once(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (lake / "a.jsonl").read_text(encoding="utf-8").split("\n")
    table = pa.table({"text": [json.loads(row)["text"] for row in rows]})
    (tmp_path / "data").mkdir()
    need("pyarrow.csv", "").write_csv(table, tmp_path / "data" / "a.csv")
    parquet.write_table(table, tmp_path / "data" / "b.parquet")
    (tmp_path / "data" / "c.jsonl").write_text("{\n" + "\n".join(rows), encoding="utf-8")
    out = tmp_path / "out"
    code, err = train(capsys, out, tmp_path / "data", "--column", "text")
    assert (code, out.read_bytes()) == (0, dictionary_of(table["text"].to_pylist()))
    assert "rows that cannot be read are left out: JSONDecodeError: 1\n" in err
    code, err = train(capsys, out, lake / "a.jsonl")
    assert out.read_bytes() == dictionary_of(rows)


def dictionary_of(texts: list[str]) -> bytes:
    """The file that `train` makes of texts that are smaller than its sample."""
    sample = analysis.sample(pa.array(texts), len(texts), hold_out=False)["text"]
    return cw.Dictionary.train(sample.to_pylist(), size=2000, time=0).to_bytes()


def test_train_takes_a_sample_of_files_larger_than_it_and_the_same_of_any_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [f"Sensor {n} in hall {n % 9} reports {n * 7 % 50} degrees." for n in range(9000)]
    made = []
    for parts in (1, 7):
        folder = tmp_path / str(parts)
        folder.mkdir()
        for part in range(parts):
            lines = "\n".join(map(json.dumps, reversed(texts[part::parts])))
            (folder / f"{part}.jsonl").write_text(lines, encoding="utf-8")
        # Of 100 times the dictionary, whatever one input may have.
        code, err = train(capsys, tmp_path / "out", folder, "--max-input", 999)
        assert (code, "a sample with seed 0 and max_bytes 200000" in err) == (0, True)
        made.append((tmp_path / "out").read_bytes())
    assert made[0] == made[1]
    bytes_of_all = sum(len(json.dumps(text)) for text in texts)
    assert cw.Dictionary.load(tmp_path / "out").samples < 9000 * 200_000 / bytes_of_all + 99


def test_train_takes_the_files_of_a_pattern(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, column = tmp_path / "out", ("--column", "text")
    assert train(capsys, out, lake / "a.jsonl", lake / "b.parquet", *column)[0] == 0
    expected = out.read_bytes()
    assert train(capsys, out, lake / "[ab].*", *column)[0] == 0
    assert out.read_bytes() == expected
    code, err = train(capsys, out, lake / "*.nothing", *column)
    assert (code, err) == (1, f"compactwire: error: no file matches '{lake / '*.nothing'}'\n")


def test_train_passes_over_hidden_files_and_links_of_a_folder(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, column = tmp_path / "out", ("--column", "text")
    assert train(capsys, out, lake, *column)[0] == 0
    expected = out.read_bytes()
    # As Spark leaves them beside its files.
    (lake / ".b.parquet.crc").write_bytes(b"\xff")
    (lake / "_SUCCESS").write_bytes(b"")
    (lake / "link.jsonl").symlink_to(lake / "a.jsonl")
    assert train(capsys, out, lake, *column)[0] == 0
    assert out.read_bytes() == expected


def test_train_takes_no_column_of_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = train(capsys, tmp_path / "out", "-", "--column", "text")
    message = "it is one text, and --column needs the suffix of a file, such as .jsonl"
    assert (code, err) == (1, f"compactwire: error: standard input: {message}\n")


@unix
def test_held_out_names_a_file_that_cannot_be_read_twice(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, err = train(capsys, tmp_path / "out", lake, tmp_path / "pipe", "-", "--held-out")
    message = "a pipe or device, and --held-out reads each file twice\n"
    assert code == 1
    for name in (tmp_path / "pipe", "standard input"):
        assert err.count(f"compactwire: error: {name}: {message}") == 1


def test_train_takes_no_byte_order_mark_of_a_file_as_its_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, marked, plain = tmp_path / "out", tmp_path / "marked", tmp_path / "plain"
    for folder, mark in ((plain, ""), (marked, "\ufeff")):
        folder.mkdir()
        for number in range(60):
            text = f"Sensor {number} reports {number * 7 % 50} degrees in hall {number % 9}.\n" * 3
            (folder / f"{number}.txt").write_text(mark + text, encoding="utf-8")
    assert train(capsys, out, plain)[0] == 0
    made = out.read_bytes()
    assert train(capsys, out, marked)[0] == 0
    assert out.read_bytes() == made


def test_train_needs_no_extra_for_text_files(tmp_path: Path) -> None:
    for number in range(60):
        text = f"Sensor {number} reports {number * 7 % 50} degrees in hall {number % 9}.\n" * 3
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    code = "import sys; sys.modules['pyarrow'] = None\nfrom compactwire.cli import main\n"
    arguments = ["train", str(tmp_path), *map(str, TRAIN), "-o", str(tmp_path / "out")]
    child = subprocess.run(
        [sys.executable, "-c", f"{code}sys.exit(main({arguments!r}))"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr


@pytest.mark.parametrize("options", [[], ["--sample", 50_000], ["--held-out"]], ids=str)
def test_train_leaves_out_a_file_that_cannot_be_read(
    options: list[object], lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--column", "text", *options]
    assert train(capsys, out, lake, *options)[0] == 0
    expected = out.read_bytes()
    (lake / "damaged.parquet").write_bytes((lake / "b.parquet").read_bytes()[:-8])
    code, err = train(capsys, out, lake, *options)
    assert (code, out.read_bytes()) == (1, expected)
    assert f"compactwire: error: {lake / 'damaged.parquet'}: invalid Parquet: " in err
    assert err.endswith("compactwire: left out are the files that failed: 1\n")


@pytest.mark.parametrize("options", [[], ["--sample", 50_000], ["--held-out"]], ids=str)
def test_train_leaves_out_a_path_or_text_that_cannot_be_read(
    options: list[object], lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, damaged, missing = tmp_path / "out", lake / "damaged.txt", lake / "nowhere"
    assert train(capsys, out, lake, *options)[0] == 0
    expected = out.read_bytes()
    damaged.write_bytes(b"text\xff")
    code, err = train(capsys, out, missing, lake, *options)
    assert (code, out.read_bytes()) == (1, expected)
    assert err.count(f"compactwire: error: {damaged}: not UTF-8") == 1
    assert err.count(f"compactwire: error: no file or folder '{missing}'\n") == 1
    assert err.endswith("compactwire: left out are the files that failed: 2\n")


@pytest.mark.parametrize("options", [[], ["--sample", 50_000]], ids=str)
def test_train_names_a_json_file_without_the_column(
    options: list[object], lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "c.json").write_text("{", encoding="utf-8")
    code, err = train(capsys, tmp_path / "out", lake, "--column", "text", *options)
    message = "expected a JSON object with a text in 'text': JSONDecodeError\n"
    assert (code, err.count(f"compactwire: error: {lake / 'c.json'}: {message}")) == (1, 1)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.Parquet", [], "smaller than the minimum file footer (8 bytes)"),
        (
            "a.org",
            ["--column", "text"],
            "expected a JSON object with a text in 'text': JSONDecodeError",
        ),
    ],
)
def test_a_file_that_train_cannot_read_is_an_error_that_says_what_is_wrong(
    name: str,
    options: list[object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = tmp_path / name
    data.write_bytes(b"PAR1")
    code, err = train(capsys, tmp_path / "out", data, *options)
    assert code == 1
    assert err.endswith(f"{message}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--always-save"], "--always-save needs --held-out"),
        (["--column", "text", "--sample", 9000, "--always-save"], "--always-save needs --held-out"),
        (["--sample", 0], "--sample must be 1 or more, not 0"),
    ],
)
def test_an_option_without_the_one_that_it_needs_is_an_error(
    options: list[object],
    message: str,
    lake: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, err = train(capsys, tmp_path / "out", lake, *options)
    assert (code, err) == (1, f"compactwire: error: {message}\n")


@unix
def test_a_file_that_vanishes_or_breaks_is_named_and_the_others_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_text('{"x": 1}\n', encoding="utf-8")
    memory = Path("/proc/self/mem")
    if memory.exists():
        # It opens, and cannot be read.
        (tmp_path / "d.jsonl").symlink_to(memory)
    usual = Path.stat

    def stat(self: Path, **options: Any) -> os.stat_result:
        found = usual(self, **options)
        if self.name == "b.jsonl":  # It is removed as soon as it was found.
            self.unlink()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "stat", stat)
        options = ("--tokenizer", "none", "--format", "json", "--json")
        code, out, err = run(capsys, "analyze", tmp_path / "*.jsonl", *options)
    found = json.loads(out)
    failed = ["b", "d"] if memory.exists() else ["b"]
    assert (code, found["files"]) == (1, 2)
    assert found["failed_files"] == [str(tmp_path / f"{name}.jsonl") for name in failed]
    for name in failed:
        assert f"error: {tmp_path / name}.jsonl: " in err


@unix
def test_a_folder_without_search_permission_does_not_hide_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with guarded_lake(0o744) as lake, without_privileges():
        options = ("--tokenizer", "none", "--format", "json", "--json")
        code, out, err = run(capsys, "analyze", lake, *options)
    found = json.loads(out)
    assert (code, found["files"]) == (1, 1)
    assert found["failed_files"] == [str(lake / "b" / "1.jsonl")]
    assert f"error: {lake / 'b' / '1.jsonl'}: Permission denied" in err
