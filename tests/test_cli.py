"""The command ``compactwire``: exact bytes, honest exit codes, output fit for where it goes."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import compactwire as cw
import pytest
from compactwire import _demo
from compactwire.cli import main

TEXT = "Héllo, wörld!\r\nNo newline is added or lost: \0 \t 한국어 🎉\n\n"
LONG = TEXT * 40

BROKEN = {
    "not UTF-8": b"RES|OK|C4|0|\xff",
    "empty": b"",
    "no prefix": b"hello",
    "control character": b"\x1b[31mred",
    "cut off": b"RES|OK",
    "a delta": b"D|F|text",
    "bad Base85": b"A\x7f\x7f",
    "verbose without a member": b'{"model":"C4"}',
}

BAD_JSON = {
    "no JSON": "{",
    "no object": "[1]",
    "no result": "{}",
    "wrong type": '{"result":1}',
    "wrong type of a number": '{"result":"a","tokens":"1"}',
    "unknown field": '{"result":"a","x\\n\\u001b[31m":1}',
    "a name twice": '{"result":"a","result":"b"}',
    "lone surrogate": '{"result":"\\ud800"}',
    "endless number": '{"result":"a","tokens":' + "9" * 5000 + "}",
    "endless depth": "[" * 100_000,
}

USAGE = [
    [],
    ["nonsense"],
    ["encode", "--format", "morse"],
    ["encode", "--protocol", "3"],
    ["encode", "--msgpack-version", "4"],
    ["encode", "--tokens", "-1"],
    ["encode", "--tokens", "many"],
    ["encode", "--status", "FINE"],
    ["decode", "--max-size", "-1"],
    ["decode", "--max-size", str(1 << 200)],
    ["decode", "one", "two"],
    ["train", "."],
    ["train", "-o", "out"],
]


def shell(*args: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "compactwire", *args],
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )


@pytest.fixture
def call(capsysbinary, monkeypatch):
    """Runs the command here: (exit code, standard output, standard error)."""

    def run(*args: str, stdin: str | bytes = b"") -> tuple[int, bytes, str]:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = main(args)
        out, err = capsysbinary.readouterr()
        return code, out, err.decode()

    return run


@pytest.fixture
def trained(tmp_path):
    """A dictionary file, and a message that needs it."""
    for number in range(60):
        folder = tmp_path / "samples" / str(number % 3)
        folder.mkdir(parents=True, exist_ok=True)
        text = f"Sensor {number} reports {number * 7 % 50} degrees in hall {number % 9}.\n" * 3
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    file = tmp_path / "sensors.zdct"
    options = ["--size", "1500", "--content-type", "sensors", "--time", "7"]
    assert main(["train", str(tmp_path / "samples"), *options, "-o", str(file)]) == 0
    text = "Sensor 61 reports 30 degrees in hall 4.\n" * 2
    wire = cw.encode({"result": text}, format="dictionary", dictionary=cw.Dictionary.load(file))
    return file, text, wire


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


# Encode and decode --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n", "a", TEXT, LONG, "\ufeffwith a mark"])
def test_pipe_is_identity(text):
    encoded = shell("encode", stdin=text.encode())
    decoded = shell("decode", stdin=encoded.stdout)
    assert (encoded.returncode, encoded.stderr) == (0, b"")
    assert (decoded.returncode, decoded.stderr, decoded.stdout) == (0, b"", text.encode())


@pytest.mark.parametrize("protocol", ["2", "4"])
@pytest.mark.parametrize("name", [*_demo.FORMATS, "auto", "smallest"])
def test_every_format_is_identity(call, name, protocol):
    code, wire, _ = call("encode", "--format", name, "--protocol", protocol, stdin=LONG)
    assert code == 0
    assert wire.decode() == cw.encode({"result": LONG}, format=name, protocol=int(protocol))
    assert call("decode", stdin=wire) == (0, LONG.encode(), "")


def test_encode_passes_its_options_on(call):
    options = ["--model", "G3", "--status", "PARTIAL", "--tokens", "12", "--format", "binary"]
    code, wire, _ = call("encode", *options, "--msgpack-version", "2", stdin=TEXT)
    response = cw.Response(TEXT, model="G3", status="PART", tokens=12)
    assert code == 0
    assert wire.decode() == cw.encode(response, format="binary", msgpack_version=2)


def test_files_are_read_and_written_exactly(call, tmp_path):
    source, wire, target = (str(tmp_path / name) for name in ("source", "wire", "target"))
    Path(source).write_bytes(LONG.encode())
    assert call("encode", source, "-o", wire) == (0, b"", "")
    assert Path(wire).read_text() == cw.encode({"result": LONG})
    assert call("decode", wire, "-o", target) == (0, b"", "")
    assert Path(target).read_bytes() == LONG.encode()


def test_encode_takes_fields_as_json(call):
    fields = {"result": TEXT, "model": "C4", "returncode": 3, "status": "ERR", "ultrathink": True}
    verbose = {"response": TEXT, "model": "claude", "returncode": 0}
    for members in (fields, verbose):
        code, wire, _ = call("encode", "--json", stdin=json.dumps(members))
        assert (code, wire.decode()) == (0, cw.encode(members))


def test_encode_lets_options_win_over_json(call):
    code, wire, _ = call("encode", "--json", "--tokens", "9", stdin='{"result":"a","tokens":5}')
    assert (code, wire) == (0, b"RES|OK||9|a")


def test_decode_prints_the_fields_that_are_set(call):
    code, out, _ = call("decode", "--json", stdin="RES|OK|C45|150|" + TEXT)
    fields = {"result": TEXT, "model": "C45", "status": "OK", "tokens": 150}
    assert (code, json.loads(out)) == (0, {**fields, "format": "dsl", "version": None})
    verbose = '{"model":"C4","returncode":7,"response":"a","reasoning_effort":"low"}'
    code, out, _ = call("decode", "--json", stdin=verbose)
    assert code == 0
    assert json.loads(out).items() >= {"returncode": 7, "reasoning_effort": "low"}.items()


def test_fields_of_decode_are_fields_for_encode(call):
    wire = cw.encode({"result": TEXT, "model": "C45", "tokens": 5}, format="base85")
    _, fields, _ = call("decode", "--json", stdin=wire)
    assert call("encode", "--json", "--format", "base85", stdin=fields) == (0, wire.encode(), "")


def test_fallback_prints_plain_text(call):
    assert call("decode", "--fallback", stdin="hello\n") == (0, b"hello\n", "")
    assert json.loads(call("decode", "--fallback", "--json", stdin="hello")[1])["format"] == "raw"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_terminal_gets_a_newline_where_one_is_missing():
    for text, shown in [("a", b"a\r\n"), ("a\n", b"a\r\n")]:
        ours, theirs = os.openpty()
        command = [sys.executable, "-m", "compactwire", "decode"]
        subprocess.run(command, input=f"RES|OK||0|{text}".encode(), stdout=theirs, check=True)
        assert os.read(ours, 100) == shown
        os.close(ours)
        os.close(theirs)


# Inspect ------------------------------------------------------------------------------------------


def test_inspect_tells_programs_what_the_api_tells(call):
    wire = cw.encode(cw.Response(LONG, model="C45", tokens=150), format="zstd")
    code, out, _ = call("inspect", "--json", stdin=wire)
    facts, found = json.loads(out), cw.inspect(wire)
    layers = facts.pop("layers")
    assert code == 0
    assert facts == {
        "format": "zstd",
        "version": "map",
        "compression": "zstd",
        "dictionary_id": None,
        "verbose_size": found.verbose_size,
        "ratio": pytest.approx(found.ratio, abs=1e-4),
        "status": "OK",
        "model": "C45",
        "tokens": 150,
    }
    assert [(layer["name"], layer["size"]) for layer in layers] == found.layers
    assert layers[0]["share"] == facts["ratio"]


def test_inspect_shows_people_an_aligned_table(call):
    response = cw.Response(LONG, model="C4", tokens=150)
    code, out, _ = call("inspect", stdin=cw.encode(response, format="zlib", protocol=2))
    facts, table = out.decode().split("\n\n")
    assert code == 0
    assert dict(line.split(maxsplit=1) for line in facts.splitlines()) == {
        "format": "zlib",
        "layout": "MessagePack 3",
        "compression": "zlib",
        "dictionary": "-",
        "status": "OK",
        "model": "C4",
        "tokens": "150",
    }
    assert re.findall(r"^\w+", table, re.MULTILINE) == [
        *("layer", "wire", "zlib", "msgpack", "result", "verbose")
    ]
    assert len({len(line) for line in table.splitlines()}) == 1
    assert "100.0%" in table


def test_inspect_shows_no_control_characters_of_a_message(call):
    code, out, _ = call("inspect", stdin=cw.encode({"result": "a", "model": "\x1b[31m"}))
    assert code == 0
    assert b"\\x1b[31m" in out
    assert b"\x1b" not in out


# Dictionaries -------------------------------------------------------------------------------------


def test_train_makes_a_dictionary_and_tells_of_it(trained):
    file, _, _ = trained
    made = cw.Dictionary.load(file)
    assert (made.samples, made.size, made.content_type, made.time) == (60, 1500, "sensors", "7")


def test_train_prints_one_line(trained, call, tmp_path):
    again = tmp_path / "again.zdct"
    options = ["--size", "1500", "--content-type", "sensors", "--time", "7", "-o", str(again)]
    code, out, err = call("train", str(tmp_path / "samples"), *options)
    made = cw.Dictionary.load(trained[0])
    assert (code, out) == (0, b"")
    assert err.endswith(f"again.zdct: dictionary {made.id}, 1,500 bytes, 60 samples\n")
    assert again.read_bytes() == trained[0].read_bytes()


def test_dictionary_is_used_on_both_sides(trained, call):
    file, text, wire = trained
    given = ("--dictionary", str(file))
    assert call("encode", *given, "--format", "dictionary", stdin=text) == (0, wire.encode(), "")
    assert call("decode", *given, stdin=wire) == (0, text.encode(), "")
    facts = json.loads(call("inspect", "--json", *given, stdin=wire)[1])
    assert facts["dictionary_id"] == cw.Dictionary.load(file).id


@pytest.mark.parametrize("command", ["decode", "inspect"])
def test_missing_dictionary_is_named(trained, call, command):
    code, out, err = call(command, stdin=trained[2])
    assert (code, out) == (1, b"")
    assert err.endswith("(pass it as --dictionary)\n")
    assert str(cw.Dictionary.load(trained[0]).id) in err


def test_train_names_the_sample_that_is_no_text(call, tmp_path):
    (tmp_path / "image").write_bytes(b"\x89PNG")
    code, _, err = call("train", str(tmp_path), "-o", str(tmp_path / "out"))
    assert code == 1
    assert err == f"compactwire: error: {tmp_path / 'image'}: not UTF-8 from byte 0 on\n"
    assert not (tmp_path / "out").exists()


# Exit codes ---------------------------------------------------------------------------------------


def assert_one_line(result: tuple[int, bytes, str]) -> None:
    code, out, err = result
    assert (code, out) == (1, b"")
    assert re.fullmatch(r"compactwire: error: [^\x00-\x1f]{5,}\n", err)


@pytest.mark.parametrize("command", ["decode", "inspect"])
@pytest.mark.parametrize("wire", BROKEN.values(), ids=BROKEN)
def test_broken_message_is_one_line(call, command, wire):
    assert_one_line(call(command, stdin=wire))


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_is_one_line(call, text):
    assert_one_line(call("encode", "--json", stdin=text))


@pytest.mark.parametrize(
    "args",
    [
        ["encode", "nowhere"],
        ["decode", "."],
        ["decode", "--dictionary", "nowhere"],
        ["decode", "--dictionary", __file__],
        ["encode", "-o", "nowhere/out"],
        ["encode", "--format", "dsl", "--model", "a|b"],
        ["train", "nowhere", "-o", "nowhere/out"],
        ["train", __file__, "-o", "nowhere/out"],
    ],
    ids=" ".join,
)
def test_bad_arguments_are_one_line(call, args):
    assert_one_line(call(*args, stdin="RES|OK||0|a"))


def test_too_large_a_message_names_the_option(call):
    result = call("decode", "--max-size", "1000", stdin=cw.encode({"result": "a" * 5000}))
    assert_one_line(result)
    assert "--max-size" in result[2]


def test_error_of_plain_text_names_the_option(call):
    assert "decode --fallback" in call("decode", stdin="hello")[2]


def test_input_that_is_not_utf8_ends_without_a_traceback():
    result = shell("encode", stdin=b"abc\xff")
    line = b"compactwire: error: standard input: not UTF-8 from byte 3 on"
    assert (result.returncode, result.stdout, result.stderr.rstrip()) == (1, b"", line)


@pytest.mark.parametrize("args", USAGE, ids=" ".join)
def test_bad_usage_is_exit_code_2(capsys, args):
    with pytest.raises(SystemExit, match="2"):
        main(args)
    assert capsys.readouterr().err.startswith("usage: compactwire")


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"compactwire {cw.__version__}\n"


@pytest.mark.parametrize("command", ["demo", "encode", "decode", "inspect", "train"])
def test_help_shows_an_example(capsys, command):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"example:\n  compactwire {command}" in capsys.readouterr().out.replace(
        "compactwire encode answer.md | ", ""
    )


def test_help_tells_the_defaults_of_the_api(capsys):
    for command, function, name in [
        ("train", cw.Dictionary.train, "size"),
        ("decode", cw.decode, "max_size"),
        ("inspect", cw.inspect, "max_size"),
    ]:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        default = inspect.signature(function).parameters[name].default
        assert f"default: {default}" in capsys.readouterr().out


def test_interrupt_ends_quietly(call, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cw, "decode", interrupt)
    assert call("decode", stdin="RES|OK||0|a") == (128 + signal.SIGINT, b"", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX pipe")
@pytest.mark.parametrize("args", [["decode"], ["demo"]], ids=" ".join)
def test_reader_that_goes_away_ends_it_quietly(args):
    wire = cw.encode({"result": "a" * 500_000})
    command = [sys.executable, "-m", "compactwire", *args]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(wire.encode(), timeout=60)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_one_line():
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "compactwire", "demo"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert_one_line((result.returncode, b"", result.stderr.decode()))


# Demo ---------------------------------------------------------------------------------------------

ROW = re.compile(r"  (\w+) +[\d,]+ +\d+\.\d% [#+ ]{20} {1,8}\d+\.\d us {1,8}\d+\.\d us  ok")


def test_demo_is_plain_where_nobody_looks():
    result = shell("demo", PYTHONUTF8="1")
    assert (result.returncode, result.stderr) == (0, b"")
    lines = result.stdout.decode("ascii").splitlines()
    rows = [line for line in lines if line.startswith("  ")]
    assert "\x1b" not in result.stdout.decode()
    assert [ROW.fullmatch(row)[1] for row in rows] == [*_demo.FORMATS] * len(_demo.MESSAGES)
    assert len({len(row) for row in rows}) == 1
    assert lines[-1].startswith("35 round trips, all equal.")
    for (title, response), line in zip(_demo.MESSAGES, lines[::9], strict=False):
        assert line.startswith(title)
        assert f"auto chooses {cw.detect(cw.encode(response))} " in line


def test_demo_shows_a_terminal_colour_and_bars(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    assert _demo.run(terminal) == 0
    assert "\x1b[" in terminal.getvalue()
    assert "█" in terminal.getvalue()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_demo_respects_who_wants_no_colour(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    terminal = Terminal()
    assert _demo.run(terminal) == 0
    assert "\x1b" not in terminal.getvalue()


def falsified(how):
    """``cw.decode``, except for one message in one format."""
    decode = cw.decode

    def wrong(wire: str) -> cw.Response:
        response = decode(wire)
        chosen = wire.startswith("Z") and response.result == _demo.KOREAN
        return how(response) if chosen else response

    return wrong


def raising(_: cw.Response) -> cw.Response:
    raise cw.DecompressionFailed("made to fail")


@pytest.mark.parametrize("how", [lambda r: cw.Response(r.result + " "), raising])
def test_demo_names_the_row_that_differs(call, monkeypatch, how):
    monkeypatch.setattr(cw, "decode", falsified(how))
    code, out, _ = call("demo")
    lines = out.decode().splitlines()
    assert code == 1
    assert [line.split()[0] for line in lines if line.endswith("DIFFERS")] == ["zlib"]
    assert lines[-1] == "1 of 35 round trips differ: Korean answer as zlib."


def test_demo_totals_are_sums(capsys):
    assert main(["demo"]) == 0
    responses = [response for _, response in _demo.MESSAGES]
    verbose, auto, smallest = (
        sum(len(cw.encode(response, format=name).encode()) for response in responses)
        for name in ("verbose", "auto", "smallest")
    )
    sizes = f"auto {auto / verbose:.1%}, smallest {smallest / verbose:.1%}."
    assert capsys.readouterr().out.endswith(f"Verbose JSON {verbose:,} bytes: {sizes}\n")


def test_demo_sends_what_it_says_it_sends():
    assert isinstance(json.loads(_demo.TOOL), dict)
    assert _demo.CODE.count("```") == 2
    assert len(_demo.SHORT) < 50
