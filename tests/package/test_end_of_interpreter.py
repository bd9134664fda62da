"""A daemon thread within Python code that a call runs does not change how the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

# What a thread does until the process ends: in nearly all of its time, it sleeps in Python code.
THREADS = {
    "read of iter_rows": "list(gcf.iter_rows(Slow('GCF profile=generic\\n## [?]{a}\\n', '1\\n')))",
    "read of load": "[gcf.load(Slow('GCF profile=generic\\n=1\\n')) for _ in forever]",
    "read of iter_compact": "list(cad.iter_compact(Slow('C 1 2 3\\n', 'C 1 2 3\\n')))",
    "chunks of iter_compact": "list(cad.iter_compact(slow('C 1 2 3\\n') for _ in forever))",
    "write of dump": "[gcf.dump([1], Slow()) for _ in forever]",
    "write of StreamEncoder": "[gcf.StreamEncoder(Slow().write) for _ in forever]",
    "write of GraphStreamEncoder": "[gcf.GraphStreamEncoder(Slow().write) for _ in forever]",
    "default": "[gcf.dumps([object()], default=slow) for _ in forever]",
    "default of types": "[gcf.dumps([[D]], default=slow, types='common') for _ in forever]",
    "tokenizer": "[cw.shrink([{'a': 1}] * 30, tokenizer=lambda _: slow(1)) for _ in forever]",
    "count_tokens": (
        "one = lambda _: slow(1); P = gcf.Payload('t', symbols=[S]); base = {gcf.pack_root(P): P};"
        "[gcf.respond(gcf.Payload('t'), *base, snapshots=base, count_tokens=one) for _ in forever]"
    ),
    "items": "[gcf.DeltaPayload('t', removed=(slow(S) for _ in forever)) for _ in forever]",
}

PROLOGUE = """
    import os, sys, threading, time, types
    import compactwire as cw
    from compactwire import cad, gcf

    forever = iter(int, 1)
    D, S = object(), gcf.Symbol("a", "function", 0.5, "lsp_resolved")

    def slow(value):
        time.sleep(0.001)
        return value if value is not D else 1

    class Slow:
        def __init__(self, *texts):
            self.texts = list(texts)

        def read(self, size=-1):
            return slow(self.texts.pop(0) if len(self.texts) > 1 else "".join(self.texts))

        def write(self, text):
            return slow(len(text))

    class Last:  # It is used when the interpreter ends and the modules are gone.
        def __init__(self, use, *objects):
            self.use, self.objects = use, objects

        def __del__(self):
            try:
                self.use(*self.objects)
            except BaseException as error:
                os.write(1, f"{type(error).__name__}: {error}\\n".encode())
            else:
                os.write(1, b"used\\n")
"""


def process(code: str) -> str:
    code = textwrap.dedent(PROLOGUE) + textwrap.dedent(code)
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("what", THREADS)
def test_a_thread_in_python_code_does_not_abort_the_process(what: str) -> None:
    printed = process(f"""
        def work():
            {THREADS[what]}

        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.05)
        print("x" * 8000)  # It is in a buffer until the end.
    """)
    assert printed == "x" * 8000 + "\n"


CALLS = {
    "errors": "gcf.loads('x')",
    "a path": "gcf.load(path)",
    "rows at a path": "list(gcf.iter_rows(path))",
    "rows of a file": "list(gcf.iter_rows(io.StringIO(text)))",
    "a file that is closed with its rows": "list(gcf.iter_rows(path.open()))",
    "types": "gcf.dumps([decimal.Decimal('1.5'), uuid.UUID(int=3)], types='common')",
    "warnings": "gcf.decode(unknown)",
    "members of an enum": "gcf.dumps([color], types='common')",
}


@pytest.mark.parametrize("what", CALLS)
def test_threads_that_call_all_the_time_do_not_abort_the_process(what: str, tmp_path: Path) -> None:
    """Classes of errors, paths and abstract classes are Python code, too, although short."""
    for _ in range(3):
        printed = process(rf"""
            import decimal, enum, io, pathlib, uuid, warnings

            color = enum.Enum("Color", "RED").RED
            warnings.simplefilter("always")
            warnings.showwarning = lambda *_: None
            path = pathlib.Path({str(tmp_path / "rows.gcf")!r})
            text = "GCF profile=generic\n## [1]{{a}}\n1\n"
            path.write_text(text)
            unknown = "GCF profile=graph symbols=1 edges=0\n## targets\n@0 fn a 0.50 lsp\n## y\nx\n"

            def work():
                while True:
                    try:
                        {CALLS[what]}
                    except cw.CompactWireError:
                        pass

            for _ in range(2):
                threading.Thread(target=work, daemon=True).start()
            end = time.perf_counter() + 0.03
            while time.perf_counter() < end:
                pass
            print("x" * 8000)
        """)
        assert printed == "x" * 8000 + "\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT RUN: needs a FIFO")
def test_a_thread_that_waits_for_a_fifo_does_not_abort_the_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    process(f"""
        threading.excepthook = lambda _: None  # The file may be empty.
        path = {str(tmp_path / "fifo")!r}
        threading.Thread(target=lambda: list(gcf.iter_rows(path)), daemon=True).start()
        time.sleep(0.05)
        threading.Thread(target=lambda: open(path, "w"), daemon=True).start()
    """)


def test_an_object_of_a_thread_that_has_been_stopped_is_not_waited_for() -> None:
    printed = process("""
        stream = cw.DeltaStream()
        text = "".join(map(chr, range(97, 123))) * 100_000

        def work():
            for n in range(1_000_000):
                stream.push(text[n % 100:])

        threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        sys.modules["builtins"].last = Last(lambda stream: stream.content, stream)
    """)
    assert printed in (
        "used\n",  # if the thread was between two calls
        "RuntimeError: a thread that the end of the interpreter has stopped holds this object\n",
    )


def test_a_turn_of_a_thread_that_has_been_stopped_is_not_waited_for() -> None:
    printed = process("""
        from compactwire import turns

        sender, begun = turns.Sender(), threading.Event()

        def deliver(turn):
            begun.set()
            time.sleep(60)

        threading.Thread(target=sender.send, args=(deliver,), daemon=True).start()
        begun.wait()
        sys.modules["builtins"].last = Last(lambda sender: sender.send(str), sender)
    """)
    assert printed.startswith("RuntimeError: a thread that the end of the interpreter has stopped")


def test_a_store_of_a_thread_that_has_been_stopped_is_not_waited_for(tmp_path: Path) -> None:
    printed = process(f"""
        from compactwire import turns

        store = turns.SQLiteSessionStore({str(tmp_path / "sessions.db")!r})
        held = threading.Event()

        def slow():
            held.set()
            while True:
                time.sleep(0.001)

        work = threading.Thread(target=store._guard.run, args=(slow, str), daemon=True)
        work.start()
        held.wait()
        sys.modules["builtins"].last = Last(lambda store: store.close(), store)
    """)
    assert printed.startswith("RuntimeError: a thread that the end of the interpreter has stopped")


def test_a_turn_in_a_database_works_when_the_interpreter_ends(tmp_path: Path) -> None:
    """Its lease is not extended, because no thread can be started any more."""
    printed = process(f"""
        from compactwire import turns

        store, sender = turns.SQLiteSessionStore({str(tmp_path / "sessions.db")!r}), turns.Sender()

        def deliver(turn):
            return store.answer("c", turn, lambda request: "ok")

        sender.send(deliver, context="a")
        last = Last(lambda: sender.send(deliver, context="b"))
        last.itself = last  # The last collection frees it, before the modules are gone.
        del last
    """)
    assert printed == "used\n"


def test_long_calls_work_when_the_interpreter_ends() -> None:
    printed = process("""
        text = "x" * 40_000
        session = cw.Session()
        builtins = sys.modules["builtins"]
        builtins.streams = Last(lambda stream: stream.push(text), cw.DeltaStream())
        builtins.texts = Last(lambda _: gcf.loads(gcf.dumps([text])), None)
        builtins.sessions = Last(lambda _: session.encode_request(context=text), None)
    """)
    assert printed == "used\n" * 3
