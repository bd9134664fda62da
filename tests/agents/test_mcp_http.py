"""The relay between clients and servers of the `mcp` SDK, over HTTP and stdio, in both eras."""

from __future__ import annotations

import asyncio
import datetime
import os
import shutil
import sys
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from compactwire.mcp._http_client import Endpoint, HttpError, Interrupt
from compactwire.mcp._http_headers import ProtocolHeaders, marked_arguments
from tests.agents import ROWS, TEXT, needed

needed("mcp")
needed("uvicorn")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import inbound
from mcp.types import ElicitResult

import compactwire as cw
from tests.agents import mcp_servers, own_server, test_mcp
from tests.agents.mcp_servers import ROOT, plain
from tests.agents.own_server import CANCELLED, Memory, over_http
from tests.agents.test_mcp import RELAY, check

if TYPE_CHECKING:
    from pathlib import Path

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("text", {}),
    ("rows", {}),
    ("read_file", {"path": "a"}),
    ("differs", {}),
    ("image", {}),
    ("fails", {}),
    ("marked", {"region": "é"}),
    ("marked", {"region": 5}),
    ("counts", {}),
    ("asks", {}),
    ("no such tool", {}),
]
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, *sys.path])}
OWN = [sys.executable, "-m", "tests.agents.own_server"]


def started(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=ENVIRONMENT)


def relayed(*arguments: str) -> StdioServerParameters:
    return started(sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger", *arguments)


async def said(server: Any, era: str) -> dict[str, Any]:
    """Everything that a client of this era learns of a server."""
    heard: list[Any] = []

    async def progress(*values: Any) -> None:
        heard.append(values)

    async def answer(_context: Any, params: Any) -> ElicitResult:
        heard.append(plain(params))
        return ElicitResult(action="accept", content={"sure": True})

    async with Client(server, mode=era, elicitation_callback=answer) as client:
        assert client.protocol_version == ERAS[era]
        lists = [
            await client.list_tools(),
            await client.list_prompts(),
            await client.list_resource_templates(),
            await client.read_resource("memo://x"),
            await client.get_prompt("review", {"code": "x"}),
        ]
        results = []
        for name, arguments in CALLS:
            try:
                result = await client.call_tool(name, arguments, progress_callback=progress)
                results.append(plain(result))
            except Exception as error:
                results.append(repr(error))
        about = [plain(client.server_info), plain(client.server_capabilities)]
    return {"about": about, "lists": list(map(plain, lists)), "results": results, "heard": heard}


def compare(direct: Any, behind: Any, era: str) -> int:
    """Compare all but what the relay shrinks; how often the server asked or told something."""
    old, new = asyncio.run(said(direct, era)), asyncio.run(said(behind, era))
    for tool in old["lists"][0]["tools"]:
        tool.pop("outputSchema", None)
    table = new["results"][0]
    assert table["content"][0]["text"] == cw.shrink(TEXT).text
    assert "structuredContent" not in table
    for (name, arguments), before, after in zip(CALLS, old["results"], new["results"], strict=True):
        if isinstance(before, str):
            assert after == before
        else:
            check(name, arguments, before, after)
    assert {**new, "results": None} == {**old, "results": None}
    return len(new["heard"])


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("options", [{}, {"json_response": True}, {"stateless_http": True}])
def test_a_server_is_the_same_through_the_relay(era: str, options: dict[str, Any]) -> None:
    app = own_server.make().streamable_http_app(**options)
    with over_http(app) as url:
        heard = compare(url, relayed(url), era)
    # Three steps and a question, where there is a way for them.
    assert heard == 4 or options


@pytest.mark.parametrize("era", ERAS)
def test_a_server_over_stdio_is_the_same_through_the_relay(era: str) -> None:
    assert compare(started(*OWN), relayed("--", *OWN), era) == 4


@pytest.mark.parametrize("server", mcp_servers.OVER_HTTP)
def test_a_real_server_over_http_is_the_same_through_the_relay(server: str, tmp_path: Path) -> None:
    if shutil.which(server) is None:
        pytest.skip(f"NOT RUN: {server} is not installed")
    _, calls = mcp_servers.SERVERS[server]

    async def direct(url: str) -> list[Any]:
        async with streamable_http_client(url) as streams:
            return await mcp_servers.said(streams, calls)

    outcomes = []
    for relay in (False, True):
        with mcp_servers.over_http(server) as url:
            command = [*RELAY[:-1], url]
            way = mcp_servers.transcript(command, calls, tmp_path) if relay else direct(url)
            outcomes.append(asyncio.run(way))
    test_mcp.compare(calls, *outcomes)


@pytest.mark.parametrize("era", ERAS)
def test_a_fastmcp_server_is_the_same_through_the_relay(era: str) -> None:
    fastmcp, dependencies = needed("fastmcp"), needed("fastmcp.server.dependencies")
    server = fastmcp.FastMCP("tasks")

    @server.tool
    def rows() -> list[dict[str, Any]]:
        return ROWS

    @server.tool
    async def counts() -> str:
        await dependencies.get_context().report_progress(1, 2)
        return "counted"

    async def results(target: Any) -> Any:
        heard: list[Any] = []

        async def progress(*values: Any) -> None:
            heard.append(values)

        async with Client(target, mode=era) as client:
            assert client.protocol_version == ERAS[era]
            tools = plain(await client.list_tools())
            counted = plain(await client.call_tool("counts", progress_callback=progress))
            return tools, counted, heard, plain(await client.call_tool("rows"))

    with over_http(server.http_app(path="/mcp")) as url:
        direct, behind = asyncio.run(results(url)), asyncio.run(results(relayed(url)))
    for tool in direct[0]["tools"]:
        tool.pop("outputSchema", None)
    assert behind[0] == direct[0]
    assert behind[2] == direct[2] == [(1.0, 2.0, None)]
    assert "structuredContent" not in behind[3]
    assert behind[3]["content"][0]["text"] == cw.shrink(TEXT).text
    check("counts", {}, direct[1], behind[1])
    check("rows", {}, direct[3], behind[3])


def test_a_stream_that_the_server_closes_is_resumed() -> None:
    memory = Memory()
    app = own_server.make().streamable_http_app(event_store=memory, retry_interval=100)

    async def result(url: str) -> Any:
        async with Client(relayed(url), mode="legacy") as client:
            return await client.call_tool("breaks", progress_callback=progress)

    async def progress(*values: Any) -> None:
        heard.append(values)

    heard: list[Any] = []
    with over_http(app) as url:
        assert asyncio.run(result(url)).content[0].text == cw.shrink(TEXT).text
    assert heard == [(1.0, 2.0, None)]
    assert memory.resumed


@pytest.mark.parametrize("era", ERAS)
def test_a_cancellation_reaches_the_server(era: str) -> None:
    CANCELLED.clear()

    async def cancel(url: str) -> Any:
        async with Client(relayed(url), mode=era) as client:
            with anyio.move_on_after(1):
                await client.call_tool("sleeps", {})
            with anyio.move_on_after(20):
                while not CANCELLED:
                    await anyio.sleep(0.02)
            return await client.call_tool("marked", {"region": "after"})

    with over_http(own_server.make().streamable_http_app()) as url:
        after = asyncio.run(cancel(url))
        assert CANCELLED == ["sleeps"]
    assert after.content[0].text == "after"


class Guarded:
    """An application that wants a token."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (b"authorization", b"Bearer t0ken") not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body"})
        else:
            await self.app(scope, receive, send)


@pytest.mark.parametrize("token", ["t0ken", "wr0ng"])
def test_a_header_opens_a_guarded_server(token: str) -> None:
    async def tools(url: str) -> Any:
        server = relayed("--header", "Authorization: Bearer ${TOKEN}", url)
        assert server.env is not None
        server.env["TOKEN"] = token
        async with Client(server, mode="legacy") as client:
            return await client.list_tools()

    with over_http(Guarded(own_server.make().streamable_http_app())) as url:
        if token == "t0ken":
            assert asyncio.run(tools(url)).tools
        else:
            with pytest.raises(BaseExceptionGroup) as raised:
                asyncio.run(tools(url))
            said = "".join(traceback.format_exception(raised.value))
            assert "answered 401 Unauthorized: it wants valid credentials" in said
            assert token not in said


def certificate(folder: Path) -> tuple[str, str]:
    """The files of a certificate for localhost that nobody else has signed, and its key."""
    x509 = needed("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    pem = serialization.Encoding.PEM
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, *private))
    signed = built.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (folder / "certificate.pem").write_bytes(signed.public_bytes(pem))
    return str(folder / "certificate.pem"), str(folder / "key.pem")


def test_only_a_trusted_certificate_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, key = certificate(tmp_path)
    app = own_server.make().streamable_http_app()
    with over_http(app, ssl_certfile=trusted, ssl_keyfile=key) as url:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(HttpError, match="a certificate that is not trusted: self-signed"):
            Endpoint(url, {}).open("GET", {}, None, Interrupt())
        monkeypatch.setenv("SSL_CERT_FILE", trusted)
        endpoint = Endpoint(url, {})
        for _ in range(2):
            with endpoint.open("GET", {}, None, Interrupt()) as answer:
                assert answer.status == 406
                assert b"".join(answer.chunks())
        interrupt = Interrupt()
        headers = {"Accept": "text/event-stream"}
        interrupt.set()
        with pytest.raises(HttpError):
            endpoint.open("GET", headers, None, interrupt)


def test_marked_arguments_are_those_of_the_sdk() -> None:
    schema = {
        "properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"properties": {"c": {"type": "integer", "x-mcp-header": "C"}}},
        }
    }
    marked = marked_arguments(schema)
    assert marked == inbound.x_mcp_header_map(schema)
    headers = ProtocolHeaders()
    headers.note_result("tools/list", {"tools": [{"name": "t", "inputSchema": schema}]})
    for value in ("x", " x", "é\n", "=?base64?eA==?=", "", 5, True, None):
        arguments = {"a": value, "b": {"c": value}}
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        params = {"name": "t", "arguments": arguments, "_meta": meta}
        found = headers.of({"id": 1, "method": "tools/call", "params": params})
        ours = {name: found[name] for name in found if name.startswith("Mcp-Param-")}
        assert ours == inbound.mcp_param_headers(marked, arguments)
