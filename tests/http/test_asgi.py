"""The ASGI middleware, driven by its own messages: no framework, no server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import tracemalloc
from typing import Any

import pytest

import compactwire as cw
from compactwire._threads import run
from compactwire.errors import OptionError
from compactwire.http import CompactASGI, compact_transport
from compactwire.http._protocol import body_of
from compactwire.savings import Saving
from tests.http import body

Message = dict[str, Any]
Pairs = list[tuple[bytes, bytes]]


class App:
    """Answers with these messages, and keeps what it was given."""

    def __init__(self, *messages: Message) -> None:
        self.messages = messages
        self.scope: Message = {}
        self.body = b""

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        self.scope, more = scope, scope["type"] == "http"
        while more:
            message = await receive()
            self.body += message["body"]
            more = message["more_body"]
        for message in self.messages:
            await send(message)


def start(*headers: tuple[bytes, bytes], status: int = 200, **more: Any) -> Message:
    return {"type": "http.response.start", "status": status, "headers": list(headers), **more}


def part(data: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def whole(data: bytes) -> list[Message]:
    return [start((b"content-length", b"%d" % len(data))), part(data)]


def call(app: Any, headers: Pairs, *parts: bytes, **scope: Any) -> list[Message]:
    """What the middleware sends."""
    sent: list[Message] = []
    incoming = [
        {"type": "http.request", "body": each, "more_body": n + 1 < len(parts)}
        for n, each in enumerate(parts)
    ]

    async def receive() -> Message:
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    given = {"type": "http", "method": "POST", "headers": headers, **scope}
    asyncio.run(app(given, receive, send))
    return sent


async def never() -> Message:
    """The application does not ask for its body."""
    raise AssertionError


def said(messages: list[Message]) -> bytes:
    headers: Pairs = messages[0]["headers"]
    return dict(headers).get(b"compactwire", b"")


def opened(app: Any) -> bytes:
    """The name of a new session."""
    return said(call(app, [(b"compactwire", b"offer")], b"")).split(b";")[0]


def test_other_clients_notice_nothing() -> None:
    inner = App(*whole(body(3)))
    headers = [(b"content-length", b"5"), (b"content-encoding", b"gzip")]
    assert call(CompactASGI(inner), headers, b"he", b"llo") == list(inner.messages)
    assert inner.scope["headers"] is headers
    assert inner.body == b"hello"


def test_other_connections_are_passed_on() -> None:
    inner = App({"type": "websocket.accept"})
    assert call(CompactASGI(inner), [], type="websocket") == [{"type": "websocket.accept"}]


def test_the_application_sees_a_plain_request() -> None:
    inner = App(*whole(body(3)))
    app = CompactASGI(inner)
    session = opened(app)
    session_out = cw.Session()
    coded = session_out.encode_request(context=body(9).decode(), pack="bytes")
    inner.body = b""
    sent = call(
        app,
        [
            (b"host", b"x"),
            (b"transfer-encoding", b"chunked"),
            (b"Content-Encoding", b"X-CompactWire"),
            (b"compactwire", session + b"; lane=2; seq=5; coded; new"),
        ],
        coded[:20],
        coded[20:],
    )
    # The session was opened without a host: it belongs to somebody else.
    assert (sent[0]["status"], said(sent)) == (410, b"refused=session")
    sent = call(
        app,
        [
            (b"transfer-encoding", b"chunked"),
            (b"Content-Encoding", b"X-CompactWire"),
            (b"x-other", b"\xff"),
            (b"compactwire", session + b"; lane=2; seq=5; coded; new"),
        ],
        coded[:20],
        coded[20:],
    )
    assert said(sent) == b"seq=5; coded; new"
    assert inner.body == body(9)
    assert inner.scope["headers"] == [
        (b"x-other", b"\xff"),
        (b"content-length", b"%d" % len(body(9))),
    ]
    assert cw.Session().decode_request(sent[1]["body"]).context == body(3).decode()
    lengths = [value for name, value in sent[0]["headers"] if name == b"content-length"]
    assert lengths == [b"%d" % len(sent[1]["body"])]


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([body(9)], True),
        ([body(9)[:100], body(9)[100:], b""], True),
        ([b"x" * (1 << 17)], True),
        ([b"x" * (1 << 17), b"y"], False),
        ([b""], False),
    ],
)
def test_a_short_body_begins_the_session(parts: list[bytes], kept: bool) -> None:
    inner = App(*whole(b""))
    sent = call(CompactASGI(inner), [(b"compactwire", b"offer")], *parts)
    assert said(sent).endswith(b"; kept") == kept
    assert inner.body == b"".join(parts)


def test_a_body_that_the_application_does_not_read_does_not_begin_the_session() -> None:
    async def early(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        for message in whole(b""):
            await send(message)

    sent = call(CompactASGI(early), [(b"compactwire", b"offer")], body(9), b"more")
    assert said(sent).startswith(b"session=")
    assert b"kept" not in said(sent)


TEXT = body(30)
LENGTH = (b"content-length", b"%d" % len(TEXT))


@pytest.mark.parametrize(
    ("messages", "coded"),
    [
        ([start(LENGTH), part(TEXT)], True),
        ([start(LENGTH), part(TEXT[:9], more=True), part(TEXT[9:])], False),
        ([start(LENGTH), part(TEXT, more=True), part(b"")], True),
        ([start(LENGTH, status=404), part(TEXT)], True),
        ([start(), part(TEXT)], False),
        ([start(LENGTH, (b"content-type", b"text/event-stream")), part(TEXT)], False),
        ([start(LENGTH, (b"content-encoding", b"br")), part(TEXT)], False),
        ([start(LENGTH, trailers=True), part(TEXT)], False),
        ([start(LENGTH), part(TEXT + b"x")], False),
        ([start(LENGTH), part(TEXT + b"x", more=True), part(b"")], False),
        ([start(LENGTH), part(TEXT[:-1])], False),
        ([start(LENGTH), part(TEXT[:9], more=True)], False),
        ([start(LENGTH), {"type": "http.response.pathsend", "path": "/f"}], False),
        ([start(LENGTH)], False),
        ([start(LENGTH), part(b"")], False),
        ([start((b"content-length", b"9" * 5_000)), part(TEXT)], False),
        ([start((b"content-length", b"3")), part(b"abc")], False),
        ([start((b"content-length", b"1000")), part(b"\xff" * 1_000)], False),
    ],
)
def test_an_answer_is_coded_or_as_it_was(messages: list[Message], coded: bool) -> None:
    inner = App(*whole(b""))
    app = CompactASGI(inner)
    session = opened(app)
    inner.messages = tuple(messages)
    sent = call(app, [(b"compactwire", session + b"; lane=0; seq=1; new")], b"")
    if coded:
        assert cw.Session().decode_request(sent[1]["body"]).context == TEXT.decode()
        assert sent[0]["status"] == messages[0]["status"]
        return
    assert sent[0] == messages[0]
    data = b"".join(message.get("body", b"") for message in messages)
    assert b"".join(message.get("body", b"") for message in sent) == data
    assert [message["type"] for message in sent if message["type"] != "http.response.body"] == [
        message["type"] for message in messages if message["type"] != "http.response.body"
    ]
    assert sent[-1].get("more_body") == messages[-1].get("more_body")


def passed_on(*messages: Message, sent: list[Message] | None = None) -> list[int]:
    """How many messages the client has after each of the application's; they are put in `sent`."""
    app = CompactASGI(App(*whole(b"")))
    session = opened(app)
    received = [] if sent is None else sent
    counts: list[int] = []

    async def answer(scope: Message, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)
            counts.append(len(received))

    async def send(message: Message) -> None:
        received.append(message)

    app._app = answer
    headers = [(b"compactwire", session + b"; lane=0; seq=1; new")]
    asyncio.run(app({"type": "http", "method": "POST", "headers": headers}, never, send))
    return counts


def test_an_event_stream_is_not_held_back() -> None:
    stream = start((b"content-type", b"text/event-stream"))
    assert passed_on(stream, part(b"1", more=True)) == [1, 2]


def test_an_answer_in_parts_is_not_held_back() -> None:
    """Whatever the application waits for before the next part, the client has the ones before."""
    parts = [part(TEXT[:9], more=True), part(TEXT[9:99], more=True), part(TEXT[99:])]
    sent: list[Message] = []
    assert passed_on(start(LENGTH), *parts, sent=sent) == [0, 2, 3, 4]
    assert (said(sent), sent[1:]) == (b"", parts)


def test_a_whole_body_is_not_held_back_for_the_message_that_ends_it() -> None:
    """The application may have work to do before it sends that one."""
    sent: list[Message] = []
    messages = [start(LENGTH), part(TEXT, more=True), part(b"")]
    assert passed_on(*messages, sent=sent) == [0, 2, 3]
    assert cw.Session().decode_request(sent[1]["body"]).context == TEXT.decode()
    assert [message["more_body"] for message in sent[1:]] == [True, False]


def test_an_answer_that_is_longer_than_it_says_is_not_held_back() -> None:
    parts = [part(TEXT + b"x", more=True), part(b"")]
    sent: list[Message] = []
    assert passed_on(start(LENGTH), *parts, sent=sent) == [0, 2, 3]
    assert sent[1:] == parts


@pytest.mark.parametrize("data", [TEXT, TEXT[:9]])
def test_the_headers_of_an_answer_may_be_an_iterator(data: bytes) -> None:
    """ASGI says that they are an iterable, and servers read them once."""
    sent: list[Message] = []
    passed_on(start() | {"headers": iter([LENGTH, (b"x-a", b"1")])}, part(data), sent=sent)
    assert (b"x-a", b"1") in sent[0]["headers"]
    assert b"content-length" in dict(sent[0]["headers"])


def test_a_second_head_is_passed_on_so_that_the_server_says_it_is_one() -> None:
    sent: list[Message] = []
    heads = [start(LENGTH, status=200), start(LENGTH, status=500)]
    passed_on(*heads, part(TEXT), sent=sent)
    assert sent == [*heads, part(TEXT)]


@pytest.mark.parametrize("offer", [[], [(b"compactwire", b"offer")]])
def test_headers_of_an_iterator_reach_the_application(offer: Pairs) -> None:
    inner = App(*whole(b""))
    headers: Any = filter(None, [*offer, (b"authorization", b"Bearer t")])
    call(CompactASGI(inner), headers, b"")
    assert (b"authorization", b"Bearer t") in list(inner.scope["headers"])


def test_what_is_noted_outside_during_a_request_is_kept() -> None:
    headers = [(b"compactwire", b"offer")]
    scope: Message = {"type": "http", "method": "POST", "headers": headers, "read": 0, "old": 1}

    async def receive() -> Message:
        scope["read"] += 1
        return {"type": "http.request", "body": b"hello"}

    async def app(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        del scope["old"]
        for message in whole(b""):
            await send(message)

    async def send(_: Message) -> None:
        scope["sent"] = True

    asyncio.run(CompactASGI(app)(scope, receive, send))
    assert scope == {
        "type": "http", "method": "POST", "headers": headers, "read": 1, "sent": True
    }  # fmt: skip


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_application_notes_in_its_scope_is_seen_outside(fails: bool) -> None:
    """Middleware that measures names a request by the route that the application found for it."""
    seen: list[Message] = []
    headers = [(b"compactwire", b"offer"), (b"x-a", b"1")]
    scope: Message = {"type": "http", "method": "POST", "headers": headers}

    async def routed(scope: Message, receive: Any, send: Any) -> None:
        scope["route"] = "/a/{b}"
        if fails:
            raise KeyError("app")
        for message in whole(b""):
            await send(message)
        scope["endpoint"] = "b"

    async def send(message: Message) -> None:
        seen.append(dict(scope))

    with contextlib.suppress(KeyError):
        asyncio.run(CompactASGI(routed)(scope, never, send))
    assert [one["route"] for one in seen] == [] if fails else ["/a/{b}"] * 2
    assert scope["route"] == "/a/{b}"
    assert fails or scope["endpoint"] == "b"
    assert scope["headers"] is headers


def test_the_error_of_an_application_is_the_one_that_is_raised() -> None:
    """Also if the client has gone, and the head of the answer cannot be sent any more."""

    async def fail(scope: Message, receive: Any, send: Any) -> None:
        await send(start(LENGTH))
        raise KeyError("app")

    async def gone(message: Message) -> None:
        raise OSError

    app = CompactASGI(App(*whole(b"")))
    session = opened(app)
    app._app = fail
    headers = [(b"compactwire", session + b"; lane=0; seq=1; new")]
    with pytest.raises(KeyError):
        asyncio.run(app({"type": "http", "method": "POST", "headers": headers}, never, gone))


def test_an_application_that_fails_sends_nothing() -> None:
    async def fail(scope: Message, receive: Any, send: Any) -> None:
        await send(start(LENGTH))
        raise KeyError("app")

    app = CompactASGI(App(*whole(b"")))
    session = opened(app)
    app._app = fail
    with pytest.raises(KeyError):
        call(app, [(b"compactwire", session + b"; lane=0; seq=1; new")], b"")


def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    inner = App(*whole(b""))
    app = CompactASGI(inner, max_size=1_000)
    session = opened(app)
    headers = [
        (b"compactwire", session + b"; lane=0; seq=1; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    inner.scope = {}
    sent = call(app, headers, *[b"x" * 400] * 9)
    assert (sent[0]["status"], said(sent)) == (413, b"refused=size")
    assert inner.scope == {}


@pytest.mark.parametrize("header", [b"", b"session=AAAAAAAAAAAAAAAAAAAAAA; lane=0; seq=1; coded"])
def test_the_body_of_a_request_that_is_refused_is_not_kept(header: bytes) -> None:
    """A stranger may send it slowly, and needs no session for that."""
    app = CompactASGI(App(*whole(b"")))
    memory, parts = [], 200

    async def main() -> None:
        left = parts

        async def receive() -> Message:
            nonlocal left
            left -= 1
            memory.append(tracemalloc.get_traced_memory()[0])
            return {"type": "http.request", "body": bytes(1 << 16), "more_body": left > 0}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"content-encoding", b"x-compactwire"), (b"compactwire", header)]
        await app({"type": "http", "method": "POST", "headers": headers}, receive, send)

    sent: list[Message] = []
    tracemalloc.start()
    try:
        asyncio.run(main())
    finally:
        tracemalloc.stop()
    assert sent[0]["status"] == (410 if header else 415)
    assert len(memory) == parts
    assert max(memory) - memory[0] < 1 << 20


def test_a_coded_body_over_the_limit_by_one_byte_is_refused() -> None:
    inner = App(*whole(b""))
    app = CompactASGI(inner, max_size=4_096)
    session = opened(app)
    for seq, (size, status) in enumerate([(4_096, 200), (4_097, 413), (4_096, 200)], 1):
        coded = cw.Session().encode_request(context="x" * size, pack="bytes")
        headers = [
            (b"compactwire", session + b"; lane=0; seq=%d; coded; new" % seq),
            (b"content-encoding", b"x-compactwire"),
        ]
        inner.body = b""
        sent = call(app, headers, coded)
        assert sent[0]["status"] == status
        assert len(inner.body) == (size if status == 200 else 0)


def test_a_body_in_small_parts_takes_no_more_memory_than_its_size() -> None:
    app = CompactASGI(App(*whole(b"")))
    session = opened(app)
    headers = [
        (b"compactwire", session + b"; lane=0; seq=1; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    parts = 100_000

    async def receive() -> Message:
        nonlocal parts
        parts -= 1
        body = b"%c%c" % (97 + parts % 26, 97)  # No two parts in a row are one object.
        return {"type": "http.request", "body": body, "more_body": parts > 0}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    tracemalloc.start()
    asyncio.run(app(scope, receive, send))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sent[0]["status"] == 400
    assert peak < 5 * 200_000


def test_a_client_that_goes_while_it_sends_is_not_answered() -> None:
    inner = App(*whole(b""))
    app = CompactASGI(inner)
    session = opened(app)
    headers = [
        (b"compactwire", session + b"; lane=0; seq=1; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    assert call(app, headers) == []


def test_an_application_that_fails_after_the_head_has_sent_the_head() -> None:
    """Otherwise the server would answer with an error of its own, as if nothing had begun."""
    inner = App(*whole(TEXT))
    sent: list[Message] = []

    async def failing(scope: Message, receive: Any, send: Any) -> None:
        await inner(scope, receive, send)
        if inner.messages == (start(LENGTH),):
            raise ValueError("after the head")

    app = CompactASGI(failing)
    session = opened(app)
    inner.messages = (start(LENGTH),)
    scope = {
        "type": "http",
        "method": "POST",
        "headers": [(b"compactwire", session + b"; lane=0; seq=1; new")],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    with pytest.raises(ValueError, match="after the head"):
        asyncio.run(app(scope, receive, send))
    assert [message["status"] for message in sent] == [200]


def test_a_coding_without_a_session_is_refused() -> None:
    inner = App(*whole(b""))
    for header in ([], [(b"compactwire", b"rubbish=")], [(b"compactwire", b"offer")]):
        sent = call(CompactASGI(inner), [(b"content-encoding", b"x-compactwire"), *header], b"x")
        assert (sent[0]["status"], said(sent)) == (415, b"refused=coding")
    assert inner.scope == {}


def test_answers_of_a_session_are_not_for_caches() -> None:
    sent = call(CompactASGI(App(*whole(b""))), [(b"compactwire", b"offer")], b"")
    assert {(b"cache-control", b"no-store"), (b"vary", b"Compactwire")} <= set(sent[0]["headers"])


@pytest.mark.parametrize(
    "name",
    [b"CDN-Cache-Control", b"Surrogate-Control", b"Any-CDN-Cache-Control", b"X-Accel-Expires"],
)
def test_an_answer_that_a_cache_keeps_in_any_case_stays_as_it_is(name: bytes) -> None:
    inner = App(*whole(b""))
    app = CompactASGI(inner)
    session = opened(app)
    inner.messages = (start(LENGTH, (name, b"60")), part(TEXT))
    for header in (b"offer", b"offer; " + session + b"; lane=0; seq=1; new"):
        sent = call(app, [(b"compactwire", header)], b"")
        assert [name for name, _ in sent[0]["headers"]] == [LENGTH[0], name.lower()]
        assert sent[1:] == [part(TEXT)]
    coded = cw.Session().encode_request(context=body(9).decode(), pack="bytes")
    headers = [
        (b"compactwire", session + b"; lane=0; seq=2; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    # Otherwise the client would take it for the answer of a stranger.
    assert (said(sent := call(app, headers, coded)), sent[1:]) == (b"seq=2", [part(TEXT)])


def test_the_header_of_an_application_is_not_ours() -> None:
    inner = App(start((b"Compactwire", b"refused=state")), part(b""))
    assert said(call(CompactASGI(inner), [(b"compactwire", b"x")], b"")) == b""


def test_large_bodies_are_coded_in_a_thread() -> None:
    large = body(20_000)
    inner = App(*whole(b""))
    app = CompactASGI(inner)
    session = opened(app)
    inner.messages = tuple(whole(large))
    sent = call(app, [(b"compactwire", session + b"; lane=0; seq=1; new")], b"")
    assert cw.Session().decode_request(sent[1]["body"]).context == large.decode()


def test_a_body_is_the_applications_to_let_go() -> None:
    """It may take long to answer, and has no use for the text that it has read."""
    size, held = 1 << 22, []

    async def slow(scope: Message, receive: Any, send: Any) -> None:
        if scope["headers"]:
            assert len((await receive())["body"]) == size
            held.append(tracemalloc.get_traced_memory()[0])
        for message in whole(b""):
            await send(message)

    app = CompactASGI(slow)
    session = opened(app)
    coded = cw.Session().encode_request(context="x" * size, pack="bytes")
    headers = [
        (b"compactwire", session + b"; lane=0; seq=1; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    tracemalloc.start()
    call(app, headers, coded)
    tracemalloc.stop()
    assert held[0] < size


def test_work_in_a_thread_ends_before_its_task_is_cancelled() -> None:
    started, go, done = threading.Event(), threading.Event(), []

    def work() -> None:
        started.set()
        go.wait()
        done.append(1)

    async def main() -> None:
        task = asyncio.ensure_future(run(1 << 20, work))
        await asyncio.to_thread(started.wait)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        waited = not task.done()
        go.set()
        assert waited
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [1]

    asyncio.run(main())


def test_a_loop_without_threads_does_the_work_itself() -> None:
    class Loop(asyncio.SelectorEventLoop):
        def run_in_executor(self, *_: Any) -> Any:
            raise NotImplementedError

    loop = Loop()
    assert loop.run_until_complete(run(1 << 20, threading.get_ident)) == threading.get_ident()
    loop.close()


def test_work_is_done_once_if_no_thread_can_be_started() -> None:
    from compactwire._threads import _pool

    done: list[int] = []
    _pool.cache_clear()  # It may have an idle thread.

    async def main() -> None:
        pool, busy = _pool("run"), threading.Event()
        holder = pool.submit(busy.wait)
        with pytest.MonkeyPatch.context() as patch:

            def start(thread: threading.Thread) -> None:
                raise RuntimeError("can't start new thread")

            # It has put the work into its queue before it starts a thread.
            patch.setattr(threading.Thread, "start", start)
            assert await run(1 << 20, lambda: done.append(threading.get_ident())) is None
        assert done == [threading.get_ident()]
        busy.set()
        holder.result()
        await run(1 << 20, lambda: done.append(0))

    asyncio.run(main())
    assert len(done) == 2


def test_work_does_not_wait_for_the_threads_of_the_event_loop() -> None:
    """Programs wait in these for the answer to a request."""
    from concurrent.futures import ThreadPoolExecutor

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))

        def step() -> int:
            answer = asyncio.run_coroutine_threadsafe(run(1 << 20, lambda: 7), loop)
            return answer.result(timeout=5)

        assert await asyncio.to_thread(step) == 7

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_work_runs_in_a_process_that_was_forked_after_other_work() -> None:
    code = """if True:
        import asyncio, os, sys
        from compactwire._threads import run
        asyncio.run(run(1 << 20, int))
        if not (child := os.fork()):
            asyncio.run(asyncio.wait_for(run(1 << 20, int), 20))
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8", timeout=60
    )
    assert child.stdout == "7\n"


def test_short_messages_with_a_long_text_block_the_event_loop_once() -> None:
    threads: list[str] = []

    def decode(session: cw.Session, coded: bytes, max_size: int) -> bytes:
        threads.append(threading.current_thread().name)
        return body_of(session, coded, max_size)

    inner = App(*whole(b""))
    app = CompactASGI(inner)
    session = opened(app)
    coded = cw.Session().encode_request(context="x" * (1 << 20), pack="bytes")
    assert len(coded) < 1_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("compactwire.http._server.body_of", decode)
        for seq in (1, 2, 3):
            headers = [
                (b"compactwire", session + b"; lane=0; seq=%d; coded; new" % seq),
                (b"content-encoding", b"x-compactwire"),
            ]
            call(app, headers, coded)
    assert [name.startswith("compactwire") for name in threads] == [False, True, True]


def test_work_runs_without_asyncio() -> None:
    coroutine = run(1 << 20, lambda: 7)
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    assert stopped.value.value == 7


def test_the_server_reports_what_it_saved() -> None:
    records: list[Saving] = []
    inner = App(*whole(b""))
    app = CompactASGI(inner, on_saving=records.append)
    session = opened(app)
    inner.messages = tuple(whole(b"\xff" * 1_000))
    coded = cw.Session().encode_request(context=body(9).decode(), pack="bytes")
    headers = [
        (b"compactwire", session + b"; lane=0; seq=1; coded; new"),
        (b"content-encoding", b"x-compactwire"),
    ]
    call(app, headers, coded)
    assert [(one.tool, one.format, one.before, one.after, one.reason) for one in records] == [
        ("request", "session", len(body(9)), len(coded), ""),
        ("response", "text", 1_000, 1_000, "not-text"),
    ]


@pytest.mark.parametrize(
    ("app", "options", "error"),
    [
        (1, {}, TypeError),
        (App(), {"lanes": 0}, OptionError),
        (App(), {"max_size": 0}, OptionError),
        (App(), {"idle_s": -1}, OptionError),
    ],
)
def test_arguments_are_checked(app: Any, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        CompactASGI(app, **options)


def test_something_else_is_no_transport() -> None:
    with pytest.raises(TypeError, match="must be a transport of httpx or httpx2"):
        compact_transport(object())


def test_import_needs_no_package() -> None:
    code = (
        "import sys, compactwire.http; print([m for m in ('httpx', 'anyio') if m in sys.modules])"
    )
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )
    assert child.stdout == "[]\n"
