"""An MCP server of the standard library alone, whose tools misbehave by name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

ROWS = [{"id": n, "state": "open", "kind": "task"} for n in range(40)]


def send(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(identity: object, result: Any) -> None:
    send(json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}))


def text(said: str, **members: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **members}


def call(identity: object, name: str, arguments: dict[str, Any]) -> None:
    if name in ("rows", "read_file"):
        answer(identity, text(json.dumps(ROWS, indent=2), structuredContent={"result": ROWS}))
    elif name == "echo":
        answer(identity, text(arguments["text"]))
    elif name == "environment":
        answer(identity, text(os.environ.get(arguments["name"], "")))
    elif name == "helper":
        stdin = subprocess.DEVNULL if "status" in arguments else None
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdin=stdin)
        sys.exit(arguments.get("status", 5))
    elif name == "detached":
        send('{"jsonrpc": "2.0", "method": "notifications/last"}')
        program = [sys.executable, "-c", "import time; time.sleep(60)"]
        child = subprocess.Popen(program, start_new_session=True)
        print(child.pid, file=sys.stderr, flush=True)
        sys.exit(5)
    elif name == "pid":
        answer(identity, text(str(os.getpid())))
    elif name == "exit":
        sys.exit(arguments["status"])
    elif name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "hang":
        pass
    elif name == "slow":
        send(json.dumps({"jsonrpc": "2.0", "method": "notifications/pid", "params": os.getpid()}))
        time.sleep(arguments["seconds"])
        answer(identity, text("done"))
    elif name == "partial":
        sys.stdout.write("half a line")
        sys.stdout.flush()
        os._exit(3)
    elif name == "close":
        os.close(1)
        time.sleep(60)
    elif name == "noise":
        send("Listening on port 3000")
        send("[1, 2")
        send("17")
        sys.stdout.buffer.write(b"\xff\xfe\n")
        answer(identity, text("after the noise"))
    elif name == "mark":
        sys.stdout.write("\ufeff")
        answer(identity, text("after the mark"))
    elif name == "long":
        while True:
            sys.stdout.write("x" * 65536)
    elif name == "last":
        sys.stdout.write("x" * arguments["size"])
        sys.stdout.flush()
        os._exit(0)
    elif name == "stubborn":
        terminated = say if "note" in arguments else signal.SIG_IGN
        signal.signal(signal.SIGTERM, terminated)
        child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        answer(identity, text(f"{os.getpid()} {child.pid}"))
        while True:
            time.sleep(1)


def say(number: int, _frame: object) -> None:
    print("still here after signal", number, file=sys.stderr, flush=True)


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""


def main() -> None:
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        if "id" not in message:
            send(json.dumps({"jsonrpc": "2.0", "method": "notifications/seen", "params": message}))
        elif message["method"] == "tools/call":
            params = message["params"]
            call(message["id"], params["name"], params.get("arguments", {}))
        elif message["method"] == "tools/list":
            schema = {"type": "object"}
            tools = [{"name": "rows", "inputSchema": schema, "outputSchema": schema}]
            answer(message["id"], {"tools": tools})
        else:
            answer(message["id"], message.get("params", {}))


if __name__ == "__main__":
    if "--fork" in sys.argv:
        if os.fork():
            os._exit(0)
        if "--leave" in sys.argv:
            os.setsid()
    main()
