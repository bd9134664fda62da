"""The command ``compactwire gcf``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compactwire import gcf

ORDERS = {"orders": [{"id": i, "to": {"city": "Köln"}, "by": "post"} for i in range(9)]}
COMPACT = json.dumps(ORDERS, ensure_ascii=False, separators=(",", ":"))


def run(
    *arguments: str | Path, data: bytes = b"", imports: str = ""
) -> subprocess.CompletedProcess[bytes]:
    start = f"{imports}\nimport sys; from compactwire.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", start, "gcf", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.json"
    path.write_text(json.dumps(ORDERS, indent=2), encoding="utf-8")
    return path


def test_json_round_trips_through_gcf(orders: Path, tmp_path: Path) -> None:
    text = tmp_path / "orders.gcf"
    assert run("encode", orders, "-o", text).returncode == 0
    assert text.read_bytes().decode() == gcf.dumps(ORDERS)
    assert run("decode", text).stdout.decode() == COMPACT + "\n"
    assert json.loads(run("decode", text, "--ascii").stdout.decode("ascii")) == ORDERS


def test_input_may_be_a_pipe_and_have_a_byte_order_mark() -> None:
    result = run("encode", data=b"\xef\xbb\xbf" + COMPACT.encode())
    assert result.stdout.decode() == gcf.dumps(ORDERS)
    assert run("decode", "-", data=result.stdout).stdout.decode() == COMPACT + "\n"


def test_numbers_and_order_are_kept_exactly() -> None:
    data = b'{"b":9223372036854775807,"a":1e+22}'
    assert run("decode", data=run("encode", data=data).stdout).stdout == data + b"\n"


def test_encoder_options_are_command_line_options(orders: Path) -> None:
    for option, keyword in (
        ("--no-flatten", {"flatten": False}),
        ("--constant-columns", {"constant_columns": True}),
    ):
        expected = gcf.dumps(ORDERS, **keyword)
        assert expected != gcf.dumps(ORDERS)
        assert run("encode", orders, option).stdout.decode() == expected


def test_group_values_is_an_option_of_encode() -> None:
    rows = [{"id": i, "path": f"src/server/{i // 3}.rs"} for i in range(6)]
    result = run("encode", "-", "--group-values", data=json.dumps(rows).encode())
    assert result.stdout.decode() == gcf.dumps(rows, group_values=True) != gcf.dumps(rows)


def test_extensions_are_options_of_encode_and_decode() -> None:
    rows = [{"id": i, "tags": ["a", "b"]} for i in range(3)]
    text = run("encode", "-", "--list-columns", data=json.dumps(rows).encode()).stdout
    assert text.decode() == gcf.dumps(rows, list_columns=True) != gcf.dumps(rows)
    assert json.loads(run("decode", "-", "--extensions", data=text).stdout) == rows
    matrix = [[1, 2], [3, 4]]
    rows_only = run("encode", "-", "--matrices", data=json.dumps(matrix).encode()).stdout
    assert rows_only.decode() == gcf.dumps(matrix, matrices=True) != gcf.dumps(matrix)
    refused = run("decode", "-", data=text)
    assert (refused.returncode, b"unsupported_extension" in refused.stderr) == (1, True)


def test_invalid_input_is_an_error_in_one_line_with_its_place() -> None:
    for command, data, expected in (
        ("encode", b'{"a":1,\n"a":2}', b"duplicate_key"),
        ("encode", b'{"a":1e999}', b"out_of_range"),
        ("decode", b"GCF profile=generic\n## [2]{a}\n1\n", b"count_mismatch"),
        ("decode", b"GCF profile=generic\na=\xff\n", b"invalid_utf8"),
    ):
        result = run(command, "-", data=data)
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.startswith(b"compactwire: error: standard input: " + expected)
        assert result.stderr.count(b"\n") == 1
        assert b"line " in result.stderr


def test_stats_is_the_command_stats_under_another_name(orders: Path) -> None:
    child = [sys.executable, "-m", "compactwire", "stats", str(orders)]
    expected = subprocess.run(child, capture_output=True, check=True).stdout
    assert run("stats", orders).stdout == expected != b""


def test_usage() -> None:
    assert run().returncode == 2
    missing = run("encode", "/nowhere/orders.json")
    assert missing.returncode == 1
    assert missing.stderr.startswith(b"compactwire: error: ")
