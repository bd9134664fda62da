"""The command ``compactwire cad``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from compactwire import cad
from compactwire.cli import main

TEXT = "C 50 30 5 # box\nY 5 10 # hole\nT 1 25 15 0\nD 0 2"
DOCUMENT = cad.from_compact("# vcad 0.2\n" + TEXT.replace("# box", '"box"') + "\nROOT 3 default")

HINT = ' (unknown="keep" keeps it, in load, loads, and to_compact with dialect 0.2)'


def run(*arguments: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "compactwire", "cad", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def part(tmp_path: Path) -> Path:
    path = tmp_path / "part.vcad"
    path.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    return path


def test_a_document_round_trips_as_text(part: Path, tmp_path: Path) -> None:
    text = tmp_path / "part.vcadc"
    assert run("compact", part, "-o", text, "--dialect", "0.2").returncode == 0
    data = text.read_bytes()
    assert data.endswith(b"\n")
    assert data.decode() == cad.to_compact(DOCUMENT, "0.2") + "\n"
    back = run("expand", text)
    assert json.loads(back.stdout) == cad.canonical(DOCUMENT)
    assert back.stderr == b""


def test_losses_are_reported(part: Path) -> None:
    result = run("compact", part)
    assert result.stdout.decode() == cad.to_compact(DOCUMENT) + "\n"
    assert result.stderr == b"compactwire: not written: names as data (names)\n"
    result = run("compact", part, "--no-names")
    assert b"#" not in result.stdout


def test_a_loss_of_shape_needs_an_option() -> None:
    data = json.dumps({"nodes": {"0": {"op": {"type": "Torus"}}}, "holes": 1}).encode()
    result = run("compact", "-", data=data)
    assert result.returncode == 1
    assert b'unknown op type "Torus"' in result.stderr
    result = run("compact", "-", "--lossy", data=data)
    assert (result.returncode, result.stdout) == (0, b"C 0 0 0\n")
    assert b"(unknown)" in result.stderr


def test_text_for_a_target_names_what_it_loses(part: Path) -> None:
    result = run("compact", part, "--target", "vcad")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode() == cad.to_compact(DOCUMENT, target="vcad") + "\n"
    assert b'"' not in run("compact", part, "--target", "vcad", "--no-names").stdout
    sphere = {"op": {"type": "Sphere", "radius": 1, "segments": 8}}
    document = {"nodes": {"0": sphere}, "roots": [{"root": 0, "material": "m"}], "x": 1}
    data = json.dumps(document).encode()
    for arguments, message in (
        ([], b'unknown field "x"'),
        (["--lose", "unknown"], b"node 0: segments cannot be written for vcad"),
        (["--lose", "unknown,holes"], b'unknown loss code "holes"'),
        (["--dialect", "0.1", "--lossy"], b'target "vcad" is written in dialect 0.2'),
        (["--unknown", "keep"], b'unknown="keep" needs dialect 0.2 without a target'),
    ):
        result = run("compact", "-", "--target", "vcad", *arguments, data=data)
        assert (result.returncode, result.stdout) == (1, b"")
        assert message in result.stderr, arguments
    for arguments in (["--lossy"], ["--lose", "unknown,segments"]):
        result = run("compact", "-", "--target", "vcad", *arguments, data=data)
        assert (result.returncode, result.stdout) == (0, b"# vcad 0.2\nS 1\nROOT 0 m\n")
        assert result.stderr.splitlines() == [
            b"compactwire: not written: the number of segments of round solids (segments)",
            b"compactwire: not written: fields and operations that are not in the model (unknown)",
        ]


@pytest.mark.parametrize("options", [[], ["--dialect", "0.2", "--unknown", "keep"]])
def test_losses_without_a_target_are_an_error(part: Path, options: list[str]) -> None:
    result = run("compact", part, "--lose", "segments", *options)
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.startswith(b"compactwire: error: --lose needs --target vcad")


def test_bytes_and_hybrids(part: Path, tmp_path: Path) -> None:
    packed = tmp_path / "part.vcadb"
    assert run("pack", part, "-o", packed).returncode == 0
    assert packed.read_bytes() == cad.to_binary(DOCUMENT)
    assert json.loads(run("unpack", packed).stdout) == cad.canonical(DOCUMENT)
    hybrid = run("hybrid", packed).stdout
    assert json.loads(hybrid) == cad.to_hybrid(DOCUMENT)
    assert json.loads(run("expand", "-", data=hybrid).stdout) == cad.canonical(DOCUMENT)


def test_check_reports_every_error(part: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.vcadc"
    bad.write_text("C 1 2\ncube 1 2 3\nT 9 0 0 0\n", encoding="utf-8")
    result = run("check", part, bad)
    assert result.returncode == 1
    assert result.stdout.decode().splitlines() == [
        f"{bad}:1:1: C expects 3 args, got 2",
        f"{bad}:2:1: unknown opcode cube (did you mean C?)",
        f"{bad}:3:3: node 9 referenced but only 2 nodes defined",
    ]
    result = run("check", part)
    assert (result.returncode, result.stdout) == (0, b"")
    broken = b'{"nodes":{},"compact":"S 1\\nQ\\x1b"}'.replace(b"\\x1b", b"\\u001b")
    assert run("check", "-", data=broken).stdout == b"-:2:1: unknown opcode Q\\u{1b}\n"
    assert run("check", "-", data=b"\x89VCB").stdout == b"-:1:1: byte 4: unexpected end\n"


def test_stats_measure_each_form(part: Path) -> None:
    lines = run("stats", part, "-", data=b"S 1").stdout.decode().splitlines()
    assert lines[0] == f"{part}: 4 nodes"
    sizes = {line[:20].strip(): int(line[20:].split()[0]) for line in lines[1:8]}
    assert sizes["0.2"] == len(cad.to_compact(DOCUMENT, "0.2"))
    assert sizes["binary"] == len(cad.to_binary(DOCUMENT))
    assert "-: 1 nodes" in lines


def test_unknown_members_are_kept_with_an_option() -> None:
    document = {"nodes": {"0": {"op": {"type": "Torus"}}}, "units": "mm"}
    data = json.dumps(document).encode()
    kept = run("compact", "-", "--dialect", "0.2", "--unknown", "keep", data=data)
    assert kept.stdout.decode() == cad.to_compact(document, "0.2", unknown="keep") + "\n"
    back = json.loads(run("expand", "-", data=kept.stdout).stdout)
    assert (back["nodes"]["0"]["op"], back["units"]) == ({"type": "Torus"}, "mm")
    again = run("compact", "-", "--dialect", "0.2", "--unknown", "keep", data=kept.stdout)
    assert again.stdout == kept.stdout
    assert run("check", "-", data=kept.stdout).returncode == 0
    hybrid = json.dumps(cad.to_hybrid(DOCUMENT)).encode()
    text = run("compact", "-", "--dialect", "0.2", "--unknown", "keep", data=hybrid).stdout
    assert text.decode() == cad.to_compact(DOCUMENT, "0.2") + "\n"
    for arguments in (["--dialect", "0.1"], ["--dialect", "0.2", "--repair"]):
        result = run("compact", "-", "--unknown", "keep", *arguments, data=data)
        assert result.returncode == 1
        assert b"keep" in result.stderr


def test_repair_is_an_option_and_reported() -> None:
    data = b'{"nodes":{"a":{"op":{"type":"Empty"}}},"roots":[{"root":"a","material":"m"}]}'
    assert run("expand", "-", data=data).returncode == 1
    result = run("expand", "-", "--repair", data=data)
    assert json.loads(result.stdout)["roots"] == [{"root": 0, "material": "m"}]
    assert result.stderr.decode().splitlines() == [
        "compactwire: repaired: node a: assigned id 0",
        'compactwire: repaired: roots[0].root: changed "a" to 0',
    ]
    for command in ("compact", "pack", "hybrid"):
        assert run(command, "-", "--repair", data=data).returncode == 0


def test_repairs_and_losses_are_reported_together() -> None:
    data = (
        b'{"nodes":{"a":{"id":"a","name":"n","op":{"type":"Sphere","radius":1,"segments":0}}},'
        b'"roots":[{"root":"a","material":"m"}]}'
    )
    result = run("compact", "-", "--repair", "--lossy", data=data)
    assert (result.returncode, result.stdout) == (0, b"S 1 # n\n")
    assert result.stderr.decode().splitlines() == [
        "compactwire: repaired: node a: assigned id 0",
        'compactwire: repaired: roots[0].root: changed "a" to 0',
        "compactwire: not written: names as data (names)",
        "compactwire: not written: the material of the root (root_material)",
    ]


def test_repairs_are_reported_with_a_remaining_error() -> None:
    data = b'{"nodes":{"plate":{"op":{"type":"Sphere","radius":1}}}}'
    result = run("expand", "-", "--repair", data=data)
    assert result.returncode == 1
    assert result.stderr.decode().splitlines() == [
        "compactwire: repaired: node plate: assigned id 0",
        'compactwire: error: -: node 0: missing field "segments"' + HINT,
    ]


def test_json_may_follow_a_byte_order_mark_and_white_space() -> None:
    for before in ("\ufeff", "\u00a0", "\ufeff\u2003\n"):
        hybrid = (before + json.dumps({"compact": "S 1\nS"})).encode()
        result = run("check", "-", data=hybrid)
        assert result.stdout.decode() == "-:2:1: S expects 1 or 2 args, got 0\n"
        unknown = (before + json.dumps({"nodes": {}, "units": "mm"})).encode()
        assert run("compact", "-", "--lossy", data=unknown).returncode == 0
        kept = run("compact", "-", "--dialect", "0.2", "--unknown", "keep", data=unknown)
        assert kept.stdout == b'# vcad 0.2 x1\nXF /units "mm"\n'


def test_a_hybrid_error_names_what_lossy_does_not_drop() -> None:
    result = run("compact", "-", "--lossy", data=b'{"compact":"S 1","holes":1}')
    assert result.returncode == 1
    message = 'compactwire: error: -: document: unknown field "holes"' + HINT
    assert result.stderr.decode() == message + "\n"


def test_check_reports_errors_per_file(part: Path, tmp_path: Path) -> None:
    bad, none = tmp_path / "bad.vcadc", tmp_path / "none"
    bad.write_text("C 1 1\n", encoding="utf-8")
    result = run("check", none, bad)
    assert result.returncode == 1
    assert str(none) in result.stderr.decode()
    assert result.stdout.decode() == f"{bad}:1:1: C expects 3 args, got 2\n"
    result = run("stats", none, bad, part)
    assert result.returncode == 1
    errors = result.stderr.decode().splitlines()
    assert str(none) in errors[0]
    mistake = f"{bad}: line 1, column 1: C expects 3 args, got 2"
    assert errors[1] == f"compactwire: error: {mistake}"
    assert result.stdout.decode().startswith(f"{part}: 4 nodes\n")
    for command in ("compact", "expand"):
        assert mistake in run(command, bad).stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
def test_notes_never_mix_with_the_output(part: Path) -> None:
    expected = run("compact", part, "--lossy")
    assert expected.stderr
    command = [sys.executable, "-m", "compactwire", "cad", "compact", str(part), "--lossy"]
    for stderr in ("2>&-", "2>/dev/full"):
        closed = subprocess.run(
            ["sh", "-c", f'"$@" {stderr}', "sh", *command], capture_output=True, check=False
        )
        assert (closed.returncode, closed.stdout) == (0, expected.stdout), stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_stats_escape_the_name_of_a_file(tmp_path: Path) -> None:
    for name in (b"g\xff", b"a\nb", b"\x1b[31m"):
        path = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
        Path(path).write_text(TEXT)
        result = run("stats", path)
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[0].endswith(b": 4 nodes")
        assert b"\x1b" not in result.stdout


def test_check_writes_utf8_in_every_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    path = tmp_path / "part.vcadc"
    path.write_text("ü 1", encoding="utf-8")
    assert "unknown opcode ü" in run("check", path).stdout.decode()


def test_check_reports_that_there_are_more_errors() -> None:
    for lines, more in ((100, b""), (101, b"more than 100 errors")):
        result = run("check", "-", data=b"Q\n" * lines)
        assert result.stdout.count(b"\n") == 100
        assert more in result.stderr
        assert bool(more) == bool(result.stderr)


def test_usage() -> None:
    assert run().returncode == 2
    assert run("compact").returncode == 2
    missing = run("expand", "/nowhere/part.vcad")
    assert missing.returncode == 1
    assert missing.stderr.startswith(b"compactwire: error: ")


PICTURES = pytest.mark.skipif(
    not (find_spec("manifold3d") and find_spec("matplotlib")),
    reason="NO PICTURES: pip install 'compactwire[notebook]'",
)


@PICTURES
@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_the_suffix_of_a_preview_is_its_format(
    name: str, start: bytes, part: Path, tmp_path: Path
) -> None:
    picture = tmp_path / name
    found = run("preview", part, "-o", picture, "--width", "64", "--height", "48")
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")
    assert picture.read_bytes().startswith(start)


@PICTURES
def test_the_options_of_a_preview_change_the_picture(part: Path) -> None:
    small = ("--width", "64", "--height", "48")
    front, above = run("preview", part, *small), run("preview", part, *small, "--elevation", "80")
    assert front.stdout[16:24] == b"\0\0\0\x40\0\0\0\x30"
    assert front.stdout != above.stdout


@PICTURES
def test_a_preview_names_what_it_does_not_show(part: Path) -> None:
    part.write_text("# vcad 0.2\nC 10 10 10\nFI 0 1\nROOT 1 default", encoding="utf-8")
    found = run("preview", part, "--width", "64", "--height", "48")
    assert found.stdout.startswith(b"\x89PNG")
    assert found.stderr.decode().startswith(f"compactwire: {part}: not shown exactly: ")


def test_a_preview_without_its_libraries_says_what_to_install(
    part: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "manifold3d", None)
    assert main(["cad", "preview", str(part)]) == 1
    assert "pip install 'compactwire[notebook]'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.jpg", "a.PDF"])
def test_a_preview_is_not_written_under_the_suffix_of_another_format(
    name: str, part: Path, tmp_path: Path
) -> None:
    found = run("preview", part, "-o", tmp_path / name)
    assert found.returncode == 1
    suffix = Path(name).suffix.lower()
    assert found.stderr.decode().endswith(f"cannot write {suffix}; expected .png or .svg\n")
    assert not (tmp_path / name).exists()


@PICTURES
def test_a_preview_of_nothing_says_that_the_picture_is_empty(tmp_path: Path) -> None:
    found = run("preview", "-", "-o", tmp_path / "a.png", data=b"# nothing")
    assert found.returncode == 0
    assert found.stderr == b"compactwire: -: the document has no nodes, so the picture is empty\n"


def test_binary_output_is_not_written_to_a_terminal(
    part: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["cad", "pack", str(part)]) == 1
    message = "the output is binary: name a file for it with -o, or pipe it"
    assert capsys.readouterr() == ("", f"compactwire: error: {message}\n")
