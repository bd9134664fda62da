"""`compactwire mcp proxy` in front of a real process: how either side ends, and what is left."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

import pytest

from compactwire.mcp import _http, _stdio
from compactwire.mcp._host import End
from tests.mcp.test_projection import ROWS, SHORT, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULT = '{"jsonrpc": "2.0", "id": 1, "result": {}}'
NOT_WRITTEN = "an answer cannot be written to standard output: No space left on device"

SERVER = [sys.executable, str(Path(__file__).with_name("server.py"))]

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="NOT RUN: the tests use signals and process groups of POSIX"
)


class Host:
    """A host that runs the server through the relay, or alone."""

    def __init__(
        self, folder: Path, *options: str, relayed: bool = True, arguments: Sequence[str] = ()
    ) -> None:
        relay = [sys.executable, "-m", "compactwire", "mcp", "proxy", *options, "--"]
        self.process = subprocess.Popen(
            [*(relay if relayed else []), *SERVER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(folder)},
        )
        self.sent = 0

    def send(self, method: str, **members: Any) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, **members}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, tool: str, **arguments: Any) -> None:
        self.sent += 1
        self.send("tools/call", id=self.sent, params={"name": tool, "arguments": arguments})

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def answer(self) -> Any:
        return json.loads(self.line())

    def text(self, tool: str, **arguments: Any) -> str:
        self.call(tool, **arguments)
        text = self.answer()["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text

    def end(self) -> tuple[int, bytes, str]:
        """The exit code, the rest of the output and the errors."""
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err.decode()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    one = Host(tmp_path)
    yield one
    one.process.kill()
    one.process.wait()
    for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
        assert pipe is not None
        with contextlib.suppress(OSError):
            pipe.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return True


def gone(*pids: int) -> bool:
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


def test_nothing_is_left_open_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    host = Host(tmp_path)
    host.send("initialize", id=1, params={})
    assert host.answer()["id"] == 1
    assert host.end() == (0, b"", "")


def test_results_are_shrunk_and_other_messages_pass(host: Host, tmp_path: Path) -> None:
    host.send("initialize", id="a", params={"x": 1})
    assert host.answer()["result"] == {"x": 1}
    host.send("notifications/initialized")
    assert host.answer()["params"]["method"] == "notifications/initialized"
    host.send("tools/list", id="b")
    assert "outputSchema" not in host.answer()["result"]["tools"][0]
    host.call("rows")
    assert host.answer()["result"] == {"content": [{"type": "text", "text": SHORT}]}
    assert host.end() == (0, b"", "")
    (line,) = (tmp_path / "compactwire" / "mcp" / "tests.jsonl").read_text().splitlines()
    assert json.loads(line)["tool"] == "rows"


def test_switched_off_every_byte_is_that_of_the_server(tmp_path: Path) -> None:
    outputs = []
    for relayed in (True, False):
        host = Host(tmp_path, "--off", relayed=relayed)
        host.send("tools/list", id=1)
        host.call("rows")
        host.call("noise")
        outputs.append(host.end())
        host = Host(tmp_path, "--off", "--max-message", "10000", relayed=relayed)
        host.call("echo", text="x" * 200_000)
        long = host.line()
        host.call("hang")
        host.call("partial")
        host.process.wait(timeout=30)  # Before `end` closes the input, which ends the relay, too.
        status, rest, err = host.end()
        outputs.append((status, long + rest, err))
    assert outputs[0] == outputs[2]
    assert outputs[1] == outputs[3]
    assert outputs[1][0] == 3
    assert outputs[1][1].endswith(b'x"}]}}\nhalf a line')
    assert b"Listening" in outputs[0][1]
    assert not list(tmp_path.iterdir())


def test_the_server_has_the_environment_of_the_relay(host: Host, tmp_path: Path) -> None:
    assert host.text("environment", name="XDG_STATE_HOME") == str(tmp_path)


def test_lines_that_are_no_messages_are_reported(host: Host) -> None:
    assert host.text("noise") == "after the noise"
    _, _, err = host.end()
    assert len(err.splitlines()) == 4
    assert all(line.startswith("compactwire: the server sent a line") for line in err.splitlines())


def test_ends_of_lines_may_be_odd(host: Host) -> None:
    lines = [b"", b"\r", b'{"id": 1, "method": "x"}\r', b" ", b'{"id": 2, "method": "x"}']
    assert host.process.stdin is not None
    host.process.stdin.write(b"\xef\xbb\xbf" + b"\n".join(lines))
    status, out, err = host.end()
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2]
    assert (status, err) == (0, "")


def test_a_byte_order_mark_of_the_server_is_left_out(host: Host) -> None:
    host.call("mark")
    assert host.line().startswith(b'{"jsonrpc"')
    assert host.end() == (0, b"", "")


@pytest.mark.parametrize(
    ("tool", "arguments", "status"),
    [
        ("helper", {}, 5),
        ("helper", {"status": 0}, 0),  # It has the output, but no input: no server.
        ("exit", {"status": 0}, 0),
        ("exit", {"status": 7}, 7),
        ("kill", {}, 137),
        ("close", {}, 143),
    ],
)
def test_a_server_that_ends_leaves_no_request_open(
    host: Host, tool: str, arguments: dict[str, Any], status: int
) -> None:
    begun = time.monotonic()
    host.call(tool, **arguments)
    error = host.answer()["error"]
    assert error == {
        "code": -32000,
        "message": "the MCP server has ended",
        "data": {"exit_status": status},
    }
    assert time.monotonic() - begun < 60  # When the helper ends.
    assert host.end() == (status, b"", "")


def test_a_process_that_left_the_group_does_not_delay_the_end(host: Host) -> None:
    begun = time.monotonic()
    host.call("detached")
    assert host.answer()["method"] == "notifications/last"
    assert host.answer()["error"]["data"] == {"exit_status": 5}
    assert host.process.wait(20) == 5
    assert time.monotonic() - begun < 20  # Without it, the last lines have 30 seconds.
    assert host.process.stderr is not None
    os.kill(int(host.process.stderr.readline()), signal.SIGKILL)


@pytest.mark.parametrize("leave", [[], ["--leave"]])
def test_a_launcher_may_end_before_its_server(tmp_path: Path, leave: list[str]) -> None:
    host = Host(tmp_path, arguments=["--fork", *leave])
    server = int(host.text("pid"))
    time.sleep(0.5)  # The launcher has ended.
    assert host.text("rows") == SHORT
    assert host.end() == (0, b"", "")
    assert gone(server)


def test_a_stubborn_server_of_a_launcher_is_ended(tmp_path: Path) -> None:
    host = Host(tmp_path, arguments=["--fork"])
    time.sleep(0.5)
    pids = map(int, host.text("stubborn").split())
    host.process.send_signal(signal.SIGTERM)
    # Before `end` closes the input, which ends the relay, too.
    assert host.process.wait(30) == 128 + signal.SIGTERM
    host.end()
    assert gone(*pids)


def test_an_endless_message_ends_the_server(tmp_path: Path) -> None:
    host = Host(tmp_path, "--max-message", "1000000")
    host.call("long")
    error = host.answer()["error"]
    said = "the MCP server sent a message of more than 1,000,000 bytes; the server was ended"
    assert error["message"] == said
    status, _, err = host.end()
    assert status != 0
    assert err.splitlines()[0] == f"compactwire: {said}"


def test_an_endless_message_of_the_host_is_an_error(tmp_path: Path) -> None:
    host = Host(tmp_path, "--max-message", "10000")
    host.call("hang")
    host.call("echo", text="x" * 10_000)
    said = "the host sent a message of more than 10,000 bytes; the server was ended"
    error = host.answer()
    assert (error["id"], error["error"]["message"]) == (1, said)
    assert host.process.wait(timeout=30) == 1
    assert host.end() == (1, b"", f"compactwire: {said}\n")


@pytest.mark.parametrize("ending", [signal.SIGTERM, None])
def test_no_process_is_left_of_a_stubborn_server(host: Host, ending: signal.Signals | None) -> None:
    pids = list(map(int, host.text("stubborn").split()))
    assert all(map(alive, pids))
    if ending is None:
        assert host.process.stdin is not None
        host.process.stdin.close()
    else:
        host.process.send_signal(ending)
    assert host.process.wait(timeout=30) == (0 if ending is None else 128 + ending)
    assert gone(*pids)


def test_a_second_signal_kills_a_stubborn_server(host: Host) -> None:
    pids = list(map(int, host.text("stubborn", note="signals").split()))
    host.process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    host.process.send_signal(signal.SIGINT)
    assert host.process.wait(timeout=30) == 130
    assert gone(*pids)
    # It had no time for the signals that come after the first second.
    assert host.end()[2] == ""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_the_relay_in_order(host: Host, ending: signal.Signals) -> None:
    pid = int(host.text("pid"))
    host.process.send_signal(ending)
    host.process.wait(timeout=30)  # Before `end` closes the input, which would end the relay, too.
    assert host.end() == (128 + ending, b"", "")
    assert gone(pid)


def test_a_host_that_no_longer_reads_ends_the_server(host: Host) -> None:
    pid = int(host.text("pid"))
    assert host.process.stdout is not None
    host.process.stdout.close()
    host.call("rows")
    assert host.process.wait(timeout=30) == 0
    assert gone(pid)


def test_answers_after_the_end_of_the_requests_still_arrive(tmp_path: Path) -> None:
    host = Host(tmp_path)
    for _ in range(20):
        host.call("rows")
    status, out, err = host.end()
    assert (status, err) == (0, "")
    assert [json.loads(line)["id"] for line in out.splitlines()] == list(range(1, 21))


@pytest.mark.parametrize("options", [[], ["--off"]])
def test_a_slow_answer_after_the_end_of_the_requests_still_arrives(
    tmp_path: Path, options: list[str]
) -> None:
    host = Host(tmp_path, *options)
    host.call("slow", seconds=4)
    status, out, err = host.end()
    assert status == 0
    said = "the host has closed its input; waiting up to 30 seconds for the server"
    assert err == f"compactwire: {said}\n"
    assert json.loads(out.splitlines()[1])["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("status", [0, 7])
def test_a_server_that_ends_after_the_requests_leaves_none_open(
    tmp_path: Path, status: int
) -> None:
    host = Host(tmp_path)
    host.call("echo", text="x")
    host.call("exit", status=status)
    code, out, err = host.end()
    answer, failure = map(json.loads, out.splitlines())
    assert (answer["id"], failure["id"]) == (1, 2)
    assert failure["error"]["message"] == "the MCP server has ended"
    assert failure["error"]["data"] == {"exit_status": status}
    assert (code, err) == (status, "")


@pytest.mark.parametrize("options", [[], ["--off"]])
def test_the_status_of_a_server_that_ends_by_itself_is_that_of_the_relay(
    tmp_path: Path, options: list[str]
) -> None:
    for program in ("sys.exit(3)", "sys.stdin.read(); sys.exit(3)"):
        command = [sys.executable, "-c", f"import sys; {program}"]
        assert run("proxy", *options, "--", *command, folder=tmp_path).returncode == 3


def test_a_message_too_long_after_the_requests_is_an_error(tmp_path: Path) -> None:
    host = Host(tmp_path, "--max-message", "1000000")
    host.call("long")
    status, out, err = host.end()
    said = "the MCP server sent a message of more than 1,000,000 bytes; the server was ended"
    assert json.loads(out)["error"]["message"] == said
    assert status != 0
    assert err.splitlines()[0] == f"compactwire: {said}"


def test_a_last_message_too_long_is_an_error_though_the_server_has_ended(tmp_path: Path) -> None:
    host = Host(tmp_path, "--max-message", "10000")
    host.call("last", size=12_000)
    failure = host.answer()["error"]
    assert "of more than 10,000 bytes" in failure["message"]
    assert host.process.wait(timeout=30) == 1
    assert "of more than 10,000 bytes" in host.end()[2]


def test_requests_without_an_answer_in_time_are_an_error(tmp_path: Path) -> None:
    code = (
        "import sys; from compactwire.cli import main; from compactwire.mcp import _stdio;"
        "_stdio.ANSWERS = 0.5; sys.exit(main(sys.argv[1:]))"
    )
    params = {"name": "slow", "arguments": {"seconds": 60}}
    request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    made = subprocess.run(
        [sys.executable, "-c", code, "mcp", "proxy", "--no-ledger", "--", *SERVER],
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    said = (
        "the MCP server did not answer within 0.5 seconds after the host closed its input; "
        "the server was ended"
    )
    failure = json.loads(made.stdout.splitlines()[1])
    assert (failure["id"], failure["error"]["code"]) == (5, -32000)
    assert failure["error"]["message"] == said
    assert (made.returncode, made.stderr) == (1, f"compactwire: {said}\n")


def test_switched_off_a_server_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    code = (
        "import sys; from compactwire.cli import main; from compactwire.mcp import _host, _stdio;"
        "_stdio.ANSWERS, _host._WARN_AFTER = 0.5, 0.1; sys.exit(main(sys.argv[1:]))"
    )
    server = [sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(60)"]
    made = subprocess.run(
        [sys.executable, "-c", code, "mcp", "proxy", "--off", "--", *server],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.returncode, made.stdout) == (1, "hello\n")
    assert made.stderr.splitlines() == [
        "compactwire: the host has closed its input; waiting up to 0.5 seconds for the server",
        "compactwire: the MCP server did not end within 0.5 seconds after the host closed its "
        "input; the server was ended",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT RUN: /dev/full does not exist")
@pytest.mark.parametrize("options", [[], ["--off"]])
@pytest.mark.parametrize("rest", ["", "sys.stdin.read(); sys.exit(3)"])
def test_an_answer_that_cannot_be_written_is_an_error(
    tmp_path: Path, options: list[str], rest: str
) -> None:
    program = f"import sys; print({RESULT!r}, flush=True); {rest}"
    command = ["proxy", "--no-ledger", *options, "--", sys.executable, "-c", program]
    with Path("/dev/full").open("wb") as full:
        made = run(*command, folder=tmp_path, stdout=full)
    assert (made.returncode, made.stderr) == (1, f"compactwire: error: {NOT_WRITTEN}\n")


def test_last_messages_that_the_host_does_not_read_are_an_error() -> None:
    code = (
        "import sys; from compactwire.cli import main; from compactwire.mcp import _stdio;"
        "_stdio._LAST_LINES = 0.5; sys.exit(main(sys.argv[1:]))"
    )
    server = [sys.executable, "-c", f"print({RESULT!r} + ' ' * 1_000_000)"]
    with subprocess.Popen(
        [sys.executable, "-c", code, "mcp", "proxy", "--no-ledger", "--", *server],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        status = process.wait(timeout=20)
        assert process.stderr is not None
        said = "the last messages are lost: the host did not read them within 0.5 seconds"
        assert (status, process.stderr.read().decode()) == (1, f"compactwire: error: {said}\n")


def test_standard_input_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "new").open("wb") as only_written:
        made = run("proxy", "--no-ledger", "--", *SERVER, folder=tmp_path, stdin=only_written)
    assert made.returncode == 1
    assert made.stderr.startswith("compactwire: error: standard input cannot be read: ")


@pytest.mark.parametrize("leaves", ["signals", "reads no more"])
def test_a_host_that_leaves_does_not_wait_for_answers(host: Host, leaves: str) -> None:
    host.call("slow", seconds=60)
    pid = host.answer()["params"]
    assert host.process.stdin is not None
    assert host.process.stdout is not None
    host.process.stdin.close()
    if leaves == "signals":
        host.process.send_signal(signal.SIGTERM)
    else:
        host.process.stdout.close()
    assert host.process.wait(timeout=20) == (143 if leaves == "signals" else 0)
    assert gone(pid)


def test_a_server_may_set_the_pipe_that_it_shares_not_to_wait() -> None:
    """Node.js does so with its standard error, which may be the standard output of the relay."""
    program = (
        "import os, sys; sys.stdin.readline(); os.set_blocking(2, False);"
        'print(\'{"jsonrpc":"2.0","id":1,"result":"\' + \'x\' * 5_000_000 + \'"}\')'
    )
    relay = [sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger", "--"]
    with subprocess.Popen(
        [*relay, sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
        process.stdin.flush()
        time.sleep(1)  # The pipe is full by then.
        assert len(json.loads(process.stdout.readline())["result"]) == 5_000_000
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="NOT RUN: the test needs the memory in /proc"
)
def test_memory_is_bounded_by_two_messages(host: Host) -> None:
    host.text("echo", text="x")
    before = peak(host.process.pid)
    length = 40_000_000  # From 32 MiB on, what is freed goes back to the system at once.
    for _ in range(3):
        assert len(host.text("echo", text="x" * length)) == length
    assert peak(host.process.pid) - before < 2.25 * length


def peak(pid: int) -> int:
    """The most memory that a process took so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    (size,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(size) * 1024


def test_a_thousand_calls_at_once_keep_their_ids(tmp_path: Path) -> None:
    host = Host(tmp_path, "--no-ledger")
    texts = {n: TEXT if n % 2 else str(n) for n in range(1, 1_001)}
    requests = b"".join(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": text}},
            }
        ).encode()
        + b"\n"
        for n, text in texts.items()
    )
    out, _ = host.process.communicate(requests, timeout=60)
    found = {}
    for line in out.splitlines():
        message = json.loads(line)
        found[message["id"]] = message["result"]["content"][0]["text"]
    assert found == {n: SHORT if n % 2 else str(n) for n in texts}


def run(
    *arguments: str,
    folder: Path,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "compactwire", "mcp", *arguments],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "XDG_STATE_HOME": str(folder)},
        check=False,
    )


def test_wrong_usage_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    made = run("proxy", folder=tmp_path)
    assert made.returncode == 2
    assert "the command that starts the server is missing" in made.stderr
    made = run("proxy", "--", "", folder=tmp_path)
    assert made.returncode == 2
    assert "the command that starts the server is an empty text" in made.stderr
    (tmp_path / "circle").symlink_to("circle")
    made = run("proxy", "--", "no-such-program-here", folder=tmp_path)
    assert made.returncode == 1
    assert made.stderr.startswith(
        "compactwire: error: the MCP server cannot be started: 'no-such-program-here' is in no "
        f"folder of PATH ({os.environ['PATH']}); install it, or give its whole path"
    )
    for command, said in (
        (str(tmp_path / "none"), "or the interpreter in its first line, does not exist"),
        (str(tmp_path), "Permission denied; expected a program or an executable script"),
        (str(tmp_path / "circle"), "is a link in a circle, or below one"),
        ("sh -c ./x", "'sh' and its arguments are one text; give each by itself"),
        ("C://none", "or the interpreter in its first line, does not exist"),
        ("ws://host/mcp?key=1", "error: a URL of ws:// cannot be relayed: expected one of http"),
    ):
        made = run("proxy", "--no-ledger", "--", command, folder=tmp_path)
        assert (made.returncode, said in made.stderr) == (1, True), made.stderr
    for option in ("--bogus", "--max-message=0", "--formats=json,,gcf", "--formats=json,json"):
        made = run("proxy", option, "--", *SERVER, folder=tmp_path)
        assert made.returncode == 2
        assert made.stderr.startswith("usage: compactwire mcp proxy [options] -- COMMAND")
    made = run("proxy", "--tokenizer", "x", "--", *SERVER, folder=tmp_path)
    assert made.returncode == 1
    assert "tokenizer" in made.stderr
    without = "import sys; sys.modules['bpe_openai'] = None; import compactwire.cli as cli; "
    arguments = ["mcp", "proxy", "--no-ledger", "--tokenizer", "o200k_base", "--", *SERVER]
    command = [sys.executable, "-c", f"{without}sys.exit(cli.main({arguments}))"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    said = "counting tokens needs bpe-openai: pip install 'compactwire[tokens]'"
    assert (made.returncode, made.stderr) == (1, f"compactwire: error: {said}\n")
    made = run("proxy", "--formats", "xml", "--", *SERVER, folder=tmp_path)
    assert (made.returncode, "formats" in made.stderr) == (2, True)


@pytest.mark.parametrize(("closed", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_stream_is_an_error(tmp_path: Path, closed: str, name: str) -> None:
    command = shlex.join([sys.executable, "-m", "compactwire", "mcp", "proxy", "--", *SERVER])
    made = subprocess.run(["sh", "-c", f"{command} {closed}"], stderr=subprocess.PIPE, check=False)
    assert made.returncode == 1
    assert made.stderr.decode() == f"compactwire: error: standard {name} is closed\n"


def test_options_may_stand_before_a_command_without_dashes(tmp_path: Path) -> None:
    made = run("proxy", "--no-ledger", *SERVER, folder=tmp_path)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ([], ["read_file"]),
        (["r?ws"], ["rows", "read_file"]),
        ([""], []),
        (["", "rows"], ["rows"]),
    ],
)
def test_tools_are_excluded_beside_those_that_read_files(
    tmp_path: Path, patterns: list[str], kept: list[str]
) -> None:
    host = Host(tmp_path, *(f"--exclude={pattern}" for pattern in patterns))
    found = [tool for tool in ("rows", "read_file") if host.text(tool) == TEXT]
    assert found == kept
    assert host.end()[0] == 0


def test_structured_content_can_be_kept(tmp_path: Path) -> None:
    host = Host(tmp_path, "--structured", "keep", "--name", "../x y")
    host.call("rows")
    result = host.answer()["result"]
    assert result["structuredContent"] == {"result": ROWS}
    assert result["content"][0]["text"] == SHORT
    host.end()
    assert [path.name for path in (tmp_path / "compactwire" / "mcp").iterdir()] == ["_x_y.jsonl"]


@pytest.mark.parametrize(
    ("pump", "side"),
    [(_stdio._pump_host, "host"), (_stdio._pump_server, "server"), (_http._pump_host, "host")],
)
def test_a_message_that_does_not_fit_in_memory_is_an_error(
    pump: Any, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    ends: SimpleQueue[End] = SimpleQueue()
    child: Any = SimpleNamespace(
        stdout=0, write=fail, pass_on=fail, from_host=fail, failure=None, closed_input=False
    )
    relay = SimpleNamespace(from_host=fail)
    for module in (_stdio, _http):
        monkeypatch.setattr(module, "lines", lambda *_: iter([b"a line"]))
    pump(*((child, 9) if pump is _http._pump_host else (child, relay, 9)), ends)
    assert str(child.failure) == f"there is not enough memory for a message of the {side}"
    assert ends.get_nowait() == End(side)


READS_ONE = r"""
import os, time
line = b""
while not line.endswith(b"\n"):
    line += os.read(0, 1)
os.close(0)
time.sleep(2.5)
os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
"""


@pytest.mark.parametrize("options", [[], ["--off"]])
def test_a_server_that_reads_no_more_may_still_answer(options: list[str]) -> None:
    asked = b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":["%s"]}\n' % (n, b"y" * 50)
        for n in range(1, 3000)
    )
    relay = [sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger", *options, "--"]
    command = [*relay, sys.executable, "-c", READS_ONE]
    done = subprocess.run(command, input=asked, capture_output=True, check=False, timeout=50)
    first, *others = done.stdout.splitlines()
    assert json.loads(first) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert all(json.loads(other)["error"]["code"] == -32000 for other in others)
    assert bool(others) != bool(options)
    assert done.returncode == 0


ANSWERS_AT_LENGTH = r"""
import sys
for line in sys.stdin:
    print('{"jsonrpc":"2.0","id":1,"result":{"x":"' + "y" * 300000 + '"}}', flush=True)
"""

FILLS_STANDARD_ERROR = r"""
import os, sys
os.set_blocking(2, False)
for size in (4096, 1):
    try:
        while True:
            os.write(2, b"l" * size)
    except BlockingIOError:
        pass
os.set_blocking(2, True)
os.write(1, b"banner\n")
for line in sys.stdin:
    os.write(1, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
"""

RELAY = [
    sys.executable,
    "-m",
    "compactwire",
    "mcp",
    "proxy",
    "--no-ledger",
    "--",
    sys.executable,
    "-c",
]
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def test_a_signal_while_the_last_lines_are_passed_on_is_the_status() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([*RELAY, ANSWERS_AT_LENGTH], **pipes) as relay:
        assert relay.stdin is not None
        relay.stdin.write(PING)
        relay.stdin.close()
        time.sleep(3)  # The server has ended, and the host has read nothing.
        relay.terminate()
        time.sleep(0.5)
        assert relay.stdout is not None
        relay.stdout.read()
        assert relay.wait(20) == 128 + signal.SIGTERM


def test_a_host_that_does_not_read_warnings_gets_answers() -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*RELAY, FILLS_STANDARD_ERROR], **pipes) as relay:
        assert relay.stdin is not None
        relay.stdin.write(PING)
        relay.stdin.close()
        assert relay.stdout is not None
        assert json.loads(relay.stdout.read()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert relay.wait(20) == 0
