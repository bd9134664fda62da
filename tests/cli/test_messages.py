"""The command ``compactwire``: exact bytes, exit codes, output for terminals and for pipes."""

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

import pytest

import compactwire as cw
from compactwire import _demo, _demo_values
from compactwire._demo_session import Turn
from compactwire.cli import main, messages
from tests.cli import message_about

COMMAND = [sys.executable, "-m", "compactwire"]
BUFFERED = {**os.environ, "PYTHONUNBUFFERED": ""}
TRAIN = ["--size", "1500", "--content-type", "sensors", "--time", "7"]

TEXT = "Héllo, wörld!\r\nNo newline is added or lost: \0 \t 한국어 🎉\n\n"
LONG = TEXT * 40

BROKEN = [
    *(b"", b"hello", b"RES|OK", b"RES|OK|C4|0|\xff", b"\x1b[31mred", b"D|F|text", b"A\x7f"),
    b'{"model":"C4"}',
]

BAD_JSON = [
    *("{", "[1]", "{}", '{"result":1}', '{"result":"a","tokens":"1"}', '{"result":"\\ud800"}'),
    *('{"result":"a","x\\n\\u001b[31m":1}', '{"result":"a","result":"b"}'),
    pytest.param('{"result":"a","tokens":' + "9" * 5000 + "}", id="endless number"),
    pytest.param("[" * 100_000, id="endless depth"),
]

SHEET = b"""\
format       base85
layout       MessagePack 3
compression  -
dictionary   -
status       OK
model        C4
tokens       7

layer             bytes  of verbose
wire              1,511      120.5%
msgpack           1,208       96.3%
result            1,200       95.7%
verbose JSON      1,254      100.0%
"""

USAGE = [
    *("", "-v", "nonsense", "train .", "train -o out", "encode --format morse"),
    *("encode --protocol 3", "encode --msgpack-version 4", "encode --status FINE"),
    *("encode --tokens -1", f"encode --tokens {'9' * 5000}", f"decode --max-size {1 << 63}"),
]


posix = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and terminals of POSIX")


def shell(*args: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    options = {"input": stdin, "capture_output": True, "env": BUFFERED | env}
    return subprocess.run([*COMMAND, *args], **options, check=False)


@pytest.fixture
def call(capsysbinary, monkeypatch):
    """Runs the command in this process: (exit code, standard output, standard error)."""

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
    assert main(["train", str(tmp_path / "samples"), *TRAIN, "-o", str(file)]) == 0
    text = "Sensor 61 reports 30 degrees in hall 4.\n" * 2
    wire = cw.encode({"result": text}, format="dictionary", dictionary=cw.Dictionary.load(file))
    return file, text, wire


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", ["", "\n", "a", TEXT, LONG, "\ufeffwith a mark"])
def test_a_pipe_round_trips(text):
    encoded = shell("encode", stdin=text.encode())
    decoded = shell("decode", stdin=encoded.stdout)
    assert (encoded.returncode, encoded.stderr) == (0, b"")
    assert (decoded.returncode, decoded.stderr, decoded.stdout) == (0, b"", text.encode())


@pytest.mark.parametrize("protocol", ["2", "4"])
@pytest.mark.parametrize("name", [*_demo.FORMATS, "auto", "smallest"])
def test_every_format_round_trips(call, name, protocol):
    code, wire, _ = call("encode", "--format", name, "--protocol", protocol, stdin=LONG)
    ours = cw.encode({"result": LONG}, format=name, protocol=int(protocol))
    assert (code, wire.decode()) == (0, ours)
    assert call("decode", stdin=wire) == (0, LONG.encode(), "")


def test_encode_passes_its_options(call):
    options = ["--model", "G3", "--status", "PARTIAL", "--tokens", "12", "--format", "binary"]
    code, wire, _ = call("encode", *options, "--msgpack-version", "2", stdin=TEXT)
    response = cw.Response(TEXT, model="G3", status="PART", tokens=12)
    assert (code, wire.decode()) == (0, cw.encode(response, format="binary", msgpack_version=2))


def test_files_round_trip_exactly(call, tmp_path):
    source, wire, target = (str(tmp_path / name) for name in ("source", "wire", "target"))
    Path(source).write_bytes(LONG.encode())
    assert call("encode", source, "-o", wire) == (0, b"", "")
    assert Path(wire).read_text() == cw.encode({"result": LONG})
    assert call("decode", wire, "-o", target)[0] == 0
    assert Path(target).read_bytes() == LONG.encode()


def test_encode_reads_fields_from_json_and_options_override_them(call):
    fields = {"result": TEXT, "model": "C4", "returncode": 3, "status": "ERR", "ultrathink": True}
    verbose = {"response": TEXT, "model": "claude", "returncode": 0}
    for members in (fields, verbose):
        code, wire, _ = call("encode", "--json", stdin=json.dumps(members))
        assert (code, wire.decode()) == (0, cw.encode(members))
    code, wire, _ = call("encode", "--json", "--tokens", "9", stdin='{"result":"a","tokens":5}')
    assert (code, wire) == (0, b"RES|OK||9|a")


def test_decode_prints_the_fields_that_are_set(call):
    code, out, _ = call("decode", "--json", stdin="RES|OK|C45|150|" + TEXT)
    fields = {"result": TEXT, "model": "C45", "status": "OK", "tokens": 150}
    assert (code, json.loads(out)) == (0, {**fields, "format": "dsl", "version": None})
    verbose = '{"model":"C4","returncode":7,"response":"a","reasoning_effort":"low"}'
    fields = json.loads(call("decode", "--json", stdin=verbose)[1])
    assert (fields["returncode"], fields["reasoning_effort"]) == (7, "low")


def test_decoded_fields_can_be_encoded(call):
    wire = cw.encode({"result": TEXT, "model": "C45", "tokens": 5}, format="base85")
    _, fields, _ = call("decode", "--json", stdin=wire)
    assert call("encode", "--json", "--format", "base85", stdin=fields) == (0, wire.encode(), "")


def test_fallback_prints_plain_text(call):
    assert call("decode", "--fallback", stdin="hello\n") == (0, b"hello\n", "")
    assert json.loads(call("decode", "--fallback", "--json", stdin="hello")[1])["format"] == "raw"


@posix
def test_a_terminal_gets_a_final_newline():
    for text, shown in [("a", b"a\r\n"), ("a\n", b"a\r\n")]:
        try:
            ours, theirs = os.openpty()
        except OSError as error:
            pytest.skip(f"NO TERMINALS on this machine: {error}")
        wire = f"RES|OK||0|{text}".encode()
        subprocess.run([*COMMAND, "decode"], input=wire, stdout=theirs, check=True)
        assert os.read(ours, 100) == shown
        os.close(ours)
        os.close(theirs)


def test_inspect_as_json_equals_the_api(call):
    wire = cw.encode(cw.Response(LONG, model="C45", tokens=150), format="zstd")
    code, out, _ = call("inspect", "--json", stdin=wire)
    facts, found = json.loads(out), cw.inspect(wire)
    layers = facts.pop("layers")
    expected = {"format": "zstd", "version": "map", "compression": "zstd", "dictionary_id": None}
    expected |= {"verbose_size": found.verbose_size, "ratio": round(found.ratio, 4)}
    expected |= {"status": "OK", "model": "C45", "tokens": 150}
    assert (code, facts) == (0, expected)
    assert [(layer["name"], layer["size"]) for layer in layers] == found.layers
    assert layers[0]["share"] == facts["ratio"]


def test_inspect_prints_an_aligned_table(call):
    response = cw.Response("Twelve men. " * 100, model="C4", tokens=7)
    wire = cw.encode(response, format="base85", protocol=2)
    assert call("inspect", stdin=wire) == (0, SHEET, "")


def test_inspect_escapes_control_characters(call):
    code, out, _ = call("inspect", stdin=cw.encode({"result": "a", "model": "\x1b[31m"}))
    assert (code, b"\\x1b[31m" in out, b"\x1b" in out) == (0, True, False)


def test_train_makes_the_same_of_a_folder_and_of_its_files_in_any_order(trained, call, tmp_path):
    again = tmp_path / "again.zdct"
    files = sorted(map(Path.as_posix, (tmp_path / "samples").rglob("*.txt")), reverse=True)
    code, out, err = call("train", *files, *TRAIN, "-o", str(again))
    made = cw.Dictionary.load(trained[0])
    assert (made.samples, made.size, made.content_type, made.time) == (60, 1500, "sensors", "7")
    origin = "a sample with seed 0 and max_bytes 150000"
    line = f"{again}: dictionary {made.id}, 1,500 bytes, 60 samples ({origin})\n"
    assert (code, out, err[-len(line) :]) == (0, b"", line)
    assert again.read_bytes() == trained[0].read_bytes()


def test_a_dictionary_is_used_by_encode_and_decode(trained, call):
    file, text, wire = trained
    given = ("--dictionary", str(file))
    assert call("encode", *given, "--format", "dictionary", stdin=text) == (0, wire.encode(), "")
    assert call("decode", *given, stdin=wire) == (0, text.encode(), "")
    facts = json.loads(call("inspect", "--json", *given, stdin=wire)[1])
    assert facts["dictionary_id"] == cw.Dictionary.load(file).id


@pytest.mark.parametrize("command", ["decode", "inspect"])
def test_a_missing_dictionary_is_named(trained, call, command):
    result = call(command, stdin=trained[2])
    assert_one_line(result)
    made = cw.Dictionary.load(trained[0])
    assert result[2].endswith(f"unknown dictionary {made.id}; --dictionary FILE passes it\n")


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ([], ""),
        (["--sample", "9"], ""),
        (["--sample", "9", "--column", "a"], " with a text in 'a'"),
    ],
)
def test_train_without_a_sample_says_so(call, tmp_path, options, end):
    (tmp_path / "folder").mkdir()
    if options:
        (tmp_path / "folder" / "a.jsonl").write_text('{"b":"c"}\n' if end else "")
    result = call("train", str(tmp_path / "folder"), *options, "-o", str(tmp_path / "out"))
    message = f"no samples to train on: the paths have no file or row{end}"
    assert result == (1, b"", f"compactwire: error: {message}\n")


def test_train_names_the_sample_that_is_not_text(call, tmp_path):
    (tmp_path / "image").write_bytes(b"\x89PNG")
    code, _, err = call("train", str(tmp_path), "-o", str(tmp_path / "out"))
    assert (code, err.count("\n")) == (1, 1)
    assert err.endswith(f"{tmp_path / 'image'}: not UTF-8 from byte 0 on\n")
    assert not (tmp_path / "out").exists()


def assert_one_line(result: tuple[int, bytes, str]) -> None:
    code, out, err = result
    assert (code, out) == (1, b"")
    assert re.fullmatch(r"compactwire: error: [^\x00-\x1f]{5,}\n", err)


@pytest.mark.parametrize("command", ["decode", "inspect"])
@pytest.mark.parametrize("wire", BROKEN)
def test_a_broken_message_is_an_error_in_one_line(call, command, wire):
    assert_one_line(call(command, stdin=wire))


@pytest.mark.parametrize(
    ("command", "content", "message"),
    [
        (["decode"], b"Zabc", "decompression failed"),
        (["inspect"], b"Zabc", "decompression failed"),
        (["encode", "--json"], b'{"result": ', "invalid JSON: "),
        (["encode", "--json"], b"[]", "expected a response as a JSON object"),
        (["encode", "--json"], b'{"result": 1}', "a field has the wrong type: "),
    ],
)
def test_an_error_in_a_file_names_the_file(command, content, message, tmp_path, capsys):
    assert message_about(tmp_path / "answer", content, capsys, *command).startswith(message)


@pytest.mark.parametrize("text", BAD_JSON)
def test_invalid_json_is_an_error_in_one_line(call, text):
    assert_one_line(call("encode", "--json", stdin=text))


@pytest.mark.parametrize(
    "args",
    [
        *("encode nowhere", "decode .", "decode --dictionary nowhere", "decode --dictionary FILE"),
        *("encode -o nowhere/out", "encode --format dsl --model a|b"),
        *("train nowhere -o nowhere/out", "train FILE -o nowhere/out"),
    ],
)
def test_invalid_arguments_are_an_error_in_one_line(call, args):
    words = (__file__ if word == "FILE" else word for word in args.split())
    assert_one_line(call(*words, stdin="RES|OK||0|a"))


@pytest.mark.parametrize("before", range(58, 65))
@pytest.mark.parametrize("name", [*_demo.FORMATS, "auto"])
def test_a_character_at_the_end_of_the_judged_bytes_is_no_error(call, name, before):
    text = "a" * before + "é한😀" * 20
    code, wire, error = call("encode", "--format", name, stdin=text)
    assert (code, error) == (0, "")
    assert call("decode", stdin=wire) == (0, text.encode(), "")
    # As the text of an unknown format, it is judged nowhere.
    assert call("decode", "--fallback", stdin=text) == (0, text.encode(), "")


def test_input_that_is_not_utf8_ends_without_a_traceback():
    result = shell("encode", stdin=b"abc\xff")
    assert_one_line((result.returncode, result.stdout, result.stderr.decode()))
    assert b"standard input: not UTF-8 from byte 3 on" in result.stderr


@pytest.mark.parametrize("args", USAGE, ids=lambda args: args[:40])
def test_a_usage_error_has_exit_code_2(capsys, args):
    with pytest.raises(SystemExit, match="2"):
        main(args.split())
    assert capsys.readouterr().err.startswith("usage: compactwire")


def test_version(call):
    version = f"compactwire {cw.__version__}\n"
    assert call("--version") == (0, version.encode(), "")
    code, out, _ = call("--version", "-v")
    known = r"module for (?:one version of CPython|the stable ABI), "
    known += r"compiled with(?:out)? a profile of calls\n"
    known += r"Base85 (\w+) of (scalar(?:, \w+)*)\nEd25519 (\w+) of (serial(?:, \w+)*)\n"
    found = re.fullmatch(known, out.decode().removeprefix(version))
    assert code == 0
    assert found is not None
    assert found[1] in found[2].split(", ")
    assert found[3] in found[4].split(", ")


@pytest.mark.parametrize(
    ("command", "function", "name"),
    [
        ("demo", None, None),
        ("encode", cw.encode, "protocol"),
        ("decode", cw.decode, "max_size"),
        ("inspect", cw.inspect, "max_size"),
        ("train", cw.Dictionary.train, "size"),
    ],
)
def test_help_shows_an_example_and_the_defaults_of_the_api(capsys, command, function, name):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert re.search(rf"example:\n  compactwire .*{command}", shown)
    if function:
        assert f"default: {inspect.signature(function).parameters[name].default}" in shown


def test_an_interrupt_ends_without_a_traceback(call, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cw, "decode", interrupt)
    assert call("decode", stdin="RES|OK||0|a") == (128 + signal.SIGINT, b"", "")


def test_an_interrupt_during_the_imports_ends_without_a_traceback():
    code = """if True:
        import runpy, sys

        class Interrupt:
            def find_spec(self, name, path=None, target=None):
                if name == "compactwire.cli.mcp":
                    raise KeyboardInterrupt

        sys.meta_path.insert(0, Interrupt())
        runpy.run_module("compactwire", run_name="__main__")
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGINT, b"")


@posix
@pytest.mark.parametrize("name", ["decode", "demo"])
def test_a_closed_pipe_ends_without_a_traceback(name):
    wire = cw.encode({"result": "a" * 500_000})
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*COMMAND, name], **pipes, env=BUFFERED) as process:
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(wire.encode(), timeout=60)
    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["demo"], ["--help"], ["encode", "--help"]], ids=" ".join)
def test_a_full_disk_is_an_error_in_one_line(arguments: list[str], unbuffered: str):
    env = {**BUFFERED, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        pipes = {"stdout": full, "stderr": subprocess.PIPE}
        result = subprocess.run([*COMMAND, *arguments], **pipes, check=False, env=env)
    assert_one_line((result.returncode, b"", result.stderr.decode()))


ROW = re.compile(
    r"  (\w+) +[\d,]+ +\d+\.\d% [#+ ]{12} +(?:-|[\d,]+) {1,8}\d+\.\d us {1,8}\d+\.\d us  ok"
)


def test_demo_has_no_colours_outside_a_terminal():
    result = shell("demo", PYTHONUTF8="1")
    assert (result.returncode, result.stderr) == (0, b"")
    models, rest = result.stdout.decode("ascii").split("\n\nShort answer")
    messages, conversation = f"Short answer{rest}".split("\n\nThe same five")
    assert models.count("  ok\n") == 3
    lines = messages.splitlines()
    rows = [line for line in lines if ROW.fullmatch(line)]
    assert conversation.count("  ok\n") == len(_demo.MESSAGES)
    assert "\x1b" not in result.stdout.decode()
    assert [ROW.fullmatch(row)[1] for row in rows] == [*_demo.FORMATS] * len(_demo.MESSAGES)
    assert len({len(row) for row in rows}) == 1
    assert lines[-1].startswith("35 round trips, all equal.")
    for (title, response), line in zip(_demo.MESSAGES, lines[::10], strict=False):
        assert line.startswith(title)
        assert line.endswith(f"; encode chooses {cw.detect(cw.encode(response))}")


def test_demo_names_each_column_above_the_end_of_its_figures(capsys):
    lines = demo(capsys, len)[1].splitlines()
    columns = next(line for line in lines if line.startswith("  format"))
    row = lines[lines.index(columns) + 1]
    names = ("bytes", "of JSON", "tokens", "encode", "decode")
    figures = re.finditer(r"\d[\d,]*(?:\.\d(?:%| us))?", row)
    assert [columns.index(name) + len(name) for name in names] == [one.end() for one in figures]


@pytest.mark.parametrize("title", ["What a language model reads", "The same five"])
def test_demo_says_what_a_share_is_of(capsys, title):
    lines = demo(capsys, len)[1].splitlines()
    head = next(line for line in lines if line.startswith(title))
    row = lines[lines.index(head) + 1]
    assert head.endswith(" of JSON")
    assert len(head) == row.index("%") + 1


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_demo_has_colours_on_a_terminal_unless_disabled(monkeypatch, env, coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in ({"TERM": "xterm"} | env).items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    assert _demo.run(terminal) == 0
    assert "█" in terminal.getvalue()
    assert ("\x1b[" in terminal.getvalue()) == coloured


@pytest.mark.parametrize("fails", [False, True])
def test_demo_names_the_row_that_differs(call, monkeypatch, fails):
    decode = cw.decode

    def wrong(wire: str) -> cw.Response:
        response = decode(wire)
        if not wire.startswith("Z") or response.result != _demo.KOREAN:
            return response
        if fails:
            raise cw.DecompressionFailed("made to fail")
        return cw.Response(response.result + " ", model=response.model, tokens=response.tokens)

    monkeypatch.setattr(cw, "decode", wrong)
    code, out, _ = call("demo")
    lines = out.decode().split("\n\nThe same five")[0].splitlines()
    assert [line.split()[0] for line in lines if line.endswith("DIFFERS")] == ["zlib"]
    assert (code, lines[-1]) == (1, "1 of 35 round trips differ: Korean answer as zlib.")


def demo(capsys, tokens):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "token_counter", lambda: tokens)
        code = main(["demo"])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("tokens", [None, len])
def test_demo_shows_the_tokens_of_what_a_model_reads(capsys, tokens):
    code, out = demo(capsys, tokens)
    count = tokens or cw.estimate_tokens
    lines = out.split("\n\n")[0].splitlines()
    assert code == 0
    assert ("tokens, estimated" in lines[0]) == (tokens is None)
    rows = _demo_values.issues()
    before = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    sizes = f"{count(before):,} {count(cw.shrink(rows).text):,}".split()
    assert lines[1].split()[6:8] == sizes
    assert lines[5].strip() == "GCF profile=generic"


def test_demo_estimates_no_tokens_of_compressed_text(capsys):
    rows = [ROW.fullmatch(line) for line in demo(capsys, None)[1].splitlines()]
    tokens = {row[1]: row[0].split()[-6] for row in rows if row}
    assert tokens["dsl"] != "-" == tokens["zstd"] == tokens["base85"]
    assert {row[1] for row in rows if row and row[0].split()[-6] == "-"} == {*_demo.FORMATS[2:]}


def test_demo_names_an_example_that_is_not_read_back(capsys, monkeypatch):
    monkeypatch.setattr(cw, "expand", lambda text: None)
    code, out = demo(capsys, len)
    assert (code, out.count("DIFFERS")) == (1, 3)


def test_demo_totals_are_sums(capsys):
    assert main(["demo"]) == 0
    responses = [response for _, response in _demo.MESSAGES]
    verbose, auto, smallest = (
        sum(len(cw.encode(response, format=name).encode()) for response in responses)
        for name in ("verbose", "auto", "smallest")
    )
    sizes = f"auto {auto / verbose:.1%}, smallest {smallest / verbose:.1%}."
    assert f"Verbose JSON {verbose:,} bytes: {sizes}\n" in capsys.readouterr().out


def test_demo_names_a_turn_that_differs(call, monkeypatch):
    monkeypatch.setattr(
        _demo, "turns", lambda answers: [Turn("plain", "new", "p", False)] * len(answers)
    )
    code, out, _ = call("demo")
    assert (code, out.decode().count("DIFFERS")) == (1, 5)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("encode nowhere", "nowhere: No such file or directory"),
        ("encode . -o out", ".: a folder, expected a file"),
        ("train nowhere -o out", "no file or folder 'nowhere'"),
    ],
)
def test_an_error_of_the_system_has_the_path_and_no_number(call, args, message):
    assert call(*args.split()) == (1, b"", f"compactwire: error: {message}\n")


@pytest.mark.parametrize("group", ["", "gcf", "cad"])
def test_without_a_command_the_error_says_where_they_are_listed(capsys, group):
    with pytest.raises(SystemExit, match="2"):
        main(group.split())
    assert capsys.readouterr().err.endswith(
        "arguments are required: COMMAND; --help lists the commands\n"
    )
