"""The transports of httpx and httpx2, in process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import compactwire as cw
from compactwire.http import CompactASGI, compact_transport
from compactwire.savings import Saving
from tests.agents import needed
from tests.agents.http_peers import Echo, client_of, in_process
from tests.http import body
from tests.strategies.profiles import examples

LIBRARIES = [
    importlib.import_module(name)
    for name in ("httpx", "httpx2")
    if importlib.util.find_spec(name) is not None
]


def test_a_conversation_is_sent_once(library: Any) -> None:
    records: list[Saving] = []
    inner = in_process(library, CompactASGI(Echo()))

    async def main() -> None:
        async with client_of(library, inner, on_saving=records.append) as client:
            for turns in range(1, 9):
                answer = await client.post("/", content=body(turns), headers={"x-agent": "1"})
                assert answer.content == body(turns)
                assert answer.headers["content-length"] == str(len(body(turns)))
                assert not {"content-encoding", "compactwire"} & set(answer.headers)
                assert answer.request.content == body(turns)

    asyncio.run(main())
    sizes = [int(request.headers["content-length"]) for request in inner.requests]
    assert sizes[0] == len(body(1))
    assert max(sizes[2:]) < 100
    assert {record.tool for record in records} == {"request", "response"}
    assert sum(record.saved for record in records) > 10_000


def test_the_application_sees_the_headers_of_a_plain_request(library: Any) -> None:
    plain, coded = Echo(), Echo()

    async def main() -> None:
        for client in (
            library.AsyncClient(transport=library.ASGITransport(plain), base_url="http://a"),
            library.AsyncClient(
                transport=compact_transport(library.ASGITransport(CompactASGI(coded))),
                base_url="http://a",
            ),
        ):
            async with client:
                for turns in (1, 2, 3):
                    await client.post("/", json={"text": "x" * 999 * turns}, params={"q": "ä"})

    asyncio.run(main())
    assert coded.seen == plain.seen


@examples(0.1)
@given(
    st.sampled_from(LIBRARIES or [None]),
    st.lists(
        st.binary(max_size=700)
        | st.text(max_size=30).flatmap(
            lambda text: st.integers(0, 90).map(lambda times: (text * times).encode())
        ),
        max_size=5,
    ),
)
def test_any_body_arrives_byte_for_byte(library: Any, bodies: list[bytes]) -> None:
    if library is None:
        pytest.skip("NOT RUN: neither httpx nor httpx2 is installed")
    echo = Echo()

    async def main() -> None:
        async with client_of(library, library.ASGITransport(CompactASGI(echo))) as client:
            for each in bodies:
                assert (await client.post("/", content=each)).content == each

    asyncio.run(main())
    assert [data for data, _ in echo.seen] == bodies


def test_a_peer_without_it_gets_plain_requests(library: Any) -> None:
    inner = in_process(library, Echo())

    async def main() -> None:
        async with client_of(library, inner) as client:
            for turns in range(1, 7):
                assert (await client.post("/", content=body(turns))).content == body(turns)

    asyncio.run(main())
    assert [request.headers.get("compactwire") for request in inner.requests] == [
        *["offer"] * 3,
        *[None] * 3,
    ]


def test_fifty_tasks_share_the_lanes(library: Any) -> None:
    records: list[Saving] = []
    echo = Echo()
    app = CompactASGI(echo, lanes=3)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.001)
        await app(scope, receive, send)

    async def talk(client: Any, name: str) -> None:
        for turns in range(1, 6):
            answer = await client.post("/", content=body(turns, name))
            assert answer.content == body(turns, name)

    async def main() -> None:
        async with client_of(
            library, library.ASGITransport(slow), on_saving=records.append
        ) as client:
            await asyncio.gather(*(talk(client, str(number)) for number in range(50)))

    asyncio.run(main())
    assert sorted(data for data, _ in echo.seen) == sorted(
        body(turns, str(number)) for number in range(50) for turns in range(1, 6)
    )
    reasons = [record.reason for record in records if record.tool == "request"]
    assert {"", "busy"} <= set(reasons)
    assert "refused" not in reasons


def test_two_credentials_have_two_sessions(library: Any) -> None:
    inner = in_process(library, CompactASGI(Echo()))

    async def main() -> None:
        async with client_of(library, inner) as client:
            for _ in range(2):
                for user in (("ann", "1"), ("bob", "2")):
                    await client.post("/", content=body(40), auth=user)

    asyncio.run(main())
    *_, ann, bob = inner.requests
    assert ann.headers["compactwire"].split(";")[0] != bob.headers["compactwire"].split(";")[0]
    assert ann.headers["content-length"] == bob.headers["content-length"]


def test_large_bodies_are_coded_in_threads(library: Any) -> None:
    echo = Echo()
    inner = in_process(library, CompactASGI(echo))
    large = [body(turns, name) for turns in (9_000, 9_001) for name in "abcdef"]

    async def main() -> None:
        async with client_of(library, inner) as client:
            await client.post("/", content=b"")
            answers = await asyncio.gather(*(client.post("/", content=each) for each in large))
            assert [answer.content for answer in answers] == large

    asyncio.run(main())
    assert sorted(data for data, _ in echo.seen[1:]) == sorted(large)
    assert {status for status, _ in inner.responses} == {200}
    assert sum("coded" in request.headers.get("compactwire", "") for request in inner.requests) >= 4


@pytest.mark.parametrize("turns", [9, 9_000])
def test_a_cancelled_request_begins_its_lane_anew(library: Any, turns: int) -> None:
    """It is cancelled while the application has it: what the server knows is then unknown."""
    echo = Echo()

    async def main() -> None:
        reached = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/wait":
                await receive()
                reached.set()
                await asyncio.Event().wait()
            await echo(scope, receive, send)

        inner = in_process(library, CompactASGI(app, lanes=1))
        async with client_of(library, inner) as client:
            for added in (0, 1):
                await client.post("/", content=body(turns + added))
            task = asyncio.ensure_future(client.post("/wait", content=body(turns + 2)))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            answer = await client.post("/", content=body(turns + 3))
            assert answer.content == body(turns + 3)
        assert inner.requests[-1].headers["compactwire"].endswith("seq=3; coded; new")
        assert inner.responses[-1] == (200, "seq=3; coded; new")

    asyncio.run(main())


def test_streamed_bodies_stay_plain(library: Any) -> None:
    inner = in_process(library, CompactASGI(Echo()))

    async def parts() -> AsyncIterator[bytes]:
        yield body(9)
        yield b"end"

    async def main() -> None:
        async with client_of(library, inner) as client:
            for _ in range(2):
                answer = await client.post("/", content=parts())
                assert answer.content == body(9) + b"end"
            await client.post("/", files={"f": b"x" * 900})

    asyncio.run(main())
    assert all("content-encoding" not in request.headers for request in inner.requests)


def test_an_event_stream_passes_in_its_parts(library: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(3):
            data = b"data: %d\n\n" % number
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> None:
        async with client_of(library, library.ASGITransport(CompactASGI(app))) as client:
            for _ in range(2):
                async with client.stream("POST", "/", content=body(9)) as answer:
                    parts = [part async for part in answer.aiter_raw()]
                assert b"".join(parts) == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "extensions"), [("/agent%2Fx", {}), ("/agent/x", {"target": b"/other"})]
)
def test_a_path_is_the_one_that_is_sent(library: Any, url: str, extensions: Any) -> None:
    """A gateway may lead the two to different applications."""
    inner = in_process(library, CompactASGI(Echo()))

    async def main() -> None:
        async with client_of(library, inner) as client:
            for each in ("/agent/x", "/agent/x?q=1"):
                await client.put(each, content=body(9))
            await client.put(url, content=body(9), extensions=extensions)

    asyncio.run(main())
    coded = ["content-encoding" in request.headers for request in inner.requests]
    assert coded == [False, True, False]


def test_redirects_and_cookies_work(library: Any) -> None:
    echo = Echo()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/there":
            await echo(scope, receive, send)
            return
        headers = [(b"location", b"/there"), (b"set-cookie", b"a=1"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 307, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> None:
        async with client_of(library, library.ASGITransport(CompactASGI(app))) as client:
            for turns in (1, 2, 3):
                answer = await client.post("/", content=body(turns), follow_redirects=True)
                assert answer.content == body(turns)

    asyncio.run(main())
    assert [data for data, _ in echo.seen] == [body(1), body(2), body(3)]


SESSION = "session=AAAAAAAAAAAAAAAAAAAAAA; lanes=4; size=16777216"


def coded_answer(library: Any, **changed: Any) -> Any:
    """A server that opens a session, and answers in it with something else."""

    def answer(request: Any) -> Any:
        if "lane" not in request.headers.get("compactwire", ""):
            return library.Response(200, headers={"compactwire": SESSION})
        given = {"compactwire": "seq=1; coded; new", "content-encoding": "x-compactwire"}
        return library.Response(200, headers=given, **changed)

    return library.MockTransport(answer)


def test_a_client_of_the_other_kind_is_told_which_to_use(library: Any) -> None:
    name = library.__name__
    hint = f"AsyncHTTPTransport is for {name}.AsyncClient; for {name}.Client, wrap .*{name}.HTTP"
    transport = compact_transport(library.AsyncHTTPTransport())
    with pytest.raises(AttributeError, match=hint):
        library.Client(transport=transport).get("http://localhost/")
    with pytest.raises(AttributeError, match=hint), library.Client(transport=transport):
        pass
    other = library.AsyncClient(transport=compact_transport(library.HTTPTransport()))
    with pytest.raises(AttributeError, match=f"HTTPTransport is for {name}.Client; for"):
        asyncio.run(other.get("http://localhost/"))
    assert not hasattr(transport, "handle_request")


@pytest.mark.parametrize("wrong", [b"", b"S", cw.Session().encode_request(args=1, pack="bytes")])
def test_an_answer_that_cannot_be_read_is_an_error(library: Any, wrong: bytes) -> None:
    with library.Client(
        transport=compact_transport(coded_answer(library, content=wrong))
    ) as client:
        client.post("http://a/", content=body(3))
        with pytest.raises(library.DecodingError):
            client.post("http://a/", content=body(3))


def test_an_error_page_longer_than_max_size_is_followed_by_a_plain_request(library: Any) -> None:
    page = b"not understood " * 50

    def answer(request: Any) -> Any:
        if "content-encoding" in request.headers:
            return library.Response(400, content=page)
        return library.Response(200, headers={"compactwire": SESSION})

    inner = compact_transport(library.MockTransport(answer), max_size=700)
    with library.Client(transport=inner) as client:
        statuses = [client.post("http://a/", content=b"x" * 600).status_code for _ in range(2)]
    assert statuses == [200, 200]


def test_an_answer_without_end_is_given_up(library: Any) -> None:
    taken: list[int] = []

    class Endless(library.SyncByteStream):  # type: ignore[misc] # of either library
        closed = False

        def __iter__(self) -> Iterator[bytes]:
            for _ in range(1_000):
                taken.append(1)
                yield b"x" * 1_000

        def close(self) -> None:
            Endless.closed = True

    inner = coded_answer(library, stream=Endless())
    with library.Client(transport=compact_transport(inner, max_size=10_000)) as client:
        client.post("http://a/", content=body(3))
        with pytest.raises(library.DecodingError, match="longer than max_size"):
            client.post("http://a/", content=body(3))
        assert len(taken) == 11
        assert Endless.closed
        # It fails once, not for each request.
        assert client.post("http://a/", content=body(3)).status_code == 200


def test_an_answer_over_max_size_in_a_task_switches_coding_off(library: Any) -> None:
    inner = coded_answer(library, content=b"x" * 701)

    async def main() -> None:
        async with client_of(library, inner, max_size=700) as client:
            await client.post("/", content=b"")
            with pytest.raises(library.DecodingError, match="longer than max_size"):
                await client.post("/", content=b"")
            assert (await client.post("/", content=b"")).status_code == 200

    asyncio.run(main())


def test_a_bomb_in_an_answer_is_given_up(library: Any) -> None:
    bomb = cw.Session().encode_request(context="a" * (1 << 24), pack="bytes")
    inner = coded_answer(library, content=bomb)
    with library.Client(transport=compact_transport(inner, max_size=1 << 20)) as client:
        client.post("http://a/", content=body(3))
        with pytest.raises(library.DecodingError, match="larger than max_size"):
            client.post("http://a/", content=body(3))


def test_a_transport_of_both_kinds_is_both(library: Any) -> None:
    transport: Any = compact_transport(library.MockTransport(lambda _: library.Response(200)))
    assert isinstance(transport, library.BaseTransport)
    assert isinstance(transport, library.AsyncBaseTransport)
    only = compact_transport(library.ASGITransport(Echo()))
    assert not isinstance(only, library.BaseTransport)


def test_a_transport_of_both_kinds_sends_again_in_tasks(library: Any) -> None:
    refused = {"compactwire": "refused=session"}

    def answer(request: Any) -> Any:
        if "offer" in request.headers["compactwire"]:
            return library.Response(200, headers={"compactwire": SESSION}, content=b"ok")
        return library.Response(410, headers=refused, content=b"no")

    async def main() -> None:
        transport = compact_transport(library.MockTransport(answer))
        async with library.AsyncClient(transport=transport) as client:
            for _ in range(2):
                assert (await client.post("http://a/", content=body(3))).content == b"ok"

    asyncio.run(main())


def test_an_answer_that_a_proxy_sent_in_chunks_has_one_length(library: Any) -> None:
    inner = in_process(library, CompactASGI(Echo()))

    class Proxy(library.AsyncBaseTransport):  # type: ignore[misc] # of either library
        async def handle_async_request(self, request: Any) -> Any:
            answer = await inner.handle_async_request(request)
            del answer.headers["content-length"]
            answer.headers["transfer-encoding"] = "chunked"
            return answer

    async def main() -> None:
        async with client_of(library, Proxy()) as client:
            for turns in range(1, 5):
                answer = await client.post("/", content=body(turns))
                assert answer.content == body(turns)
        assert answer.headers["content-length"] == str(len(body(4)))
        assert "transfer-encoding" not in answer.headers

    asyncio.run(main())


def test_the_inner_transport_is_closed(library: Any) -> None:
    closed: list[str] = []

    class Inner(library.BaseTransport, library.AsyncBaseTransport):  # type: ignore[misc] # of either library
        def close(self) -> None:
            closed.append("sync")

        async def aclose(self) -> None:
            closed.append("async")

    async def main() -> None:
        async with library.AsyncClient(transport=compact_transport(Inner())):
            pass

    library.Client(transport=compact_transport(Inner())).close()
    asyncio.run(main())
    assert closed == ["sync", "async"]


def test_an_answer_in_small_parts_takes_no_more_memory_than_its_size(library: Any) -> None:
    class Stream(library.SyncByteStream):  # type: ignore[misc] # of either library
        def __iter__(self) -> Iterator[bytes]:
            for number in range(100_000):  # No two parts in a row are one object.
                yield b"%c%c" % (97 + number % 26, 97)

    class Inner(library.BaseTransport):  # type: ignore[misc] # of either library
        def handle_request(self, request: Any) -> Any:
            headers = {"content-encoding": "x-compactwire", "compactwire": "seq=1; coded"}
            return library.Response(200, headers=headers, stream=Stream())

    client = library.Client(transport=compact_transport(Inner()))
    tracemalloc.start()
    with pytest.raises(library.DecodingError):
        client.post("http://a/", json={"a": "b" * 1_000})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 200_000


def test_a_hook_that_fails_leaves_no_connection_open(library: Any) -> None:
    closed: list[bool] = []

    class Stream(library.SyncByteStream):  # type: ignore[misc] # of either library
        def __iter__(self) -> Iterator[bytes]:
            yield b""

        def close(self) -> None:
            closed.append(True)

    def fail(saving: Saving) -> None:
        raise KeyError(saving.tool)

    inner = library.MockTransport(lambda _: library.Response(200, stream=Stream()))
    with (
        library.Client(transport=compact_transport(inner, on_saving=fail)) as client,
        pytest.raises(KeyError),
    ):
        client.post("http://a/", content=b"x")
    assert closed == [True]


def test_starlette_takes_it_as_middleware() -> None:
    needed("starlette")
    httpx2 = needed("httpx2")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def chat(request: Request) -> JSONResponse:
        return JSONResponse(await request.json())

    async def dispatch(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    app = Starlette(
        routes=[Route("/", chat, methods=["POST"])],
        middleware=[
            Middleware(GZipMiddleware),
            Middleware(CompactASGI, lanes=2),
            Middleware(BaseHTTPMiddleware, dispatch=dispatch),
        ],
    )
    inner = in_process(httpx2, app)

    async def main() -> None:
        async with client_of(httpx2, inner) as client:
            for turns in range(1, 5):
                value = json.loads(body(turns))
                assert (await client.post("/", json=value)).json() == value

    asyncio.run(main())
    assert inner.responses[-1] == (200, "seq=3; coded")


PAGE = Path(__file__).parents[2] / "docs" / "http.md"


def test_the_example_of_the_page_runs(
    library: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed("starlette")
    (code,) = re.findall(r"```python\n(import .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.setitem(sys.modules, "httpx", library)
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})
    assert "request" in capsys.readouterr().out
