"""`compactwire mcp proxy URL`: which server is asked, with which headers, and redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from compactwire import __version__
from compactwire.mcp._http_client import Endpoint, HttpError, Interrupt
from tests.mcp.http_server import POSIX, SECRET, Request, Server
from tests.mcp.test_stdio import run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.http_server import Start

pytestmark = POSIX


# Redirects


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_origin_is_followed(start: Start, status: int) -> None:
    def answer(request: Request) -> None:
        if request.path == "/mcp":
            request.reply(status=status, Location="/mcp/")
        else:
            request.result({"path": request.path})

    relay, server = start(answer)
    assert relay.ask("x")["result"] == {"path": "/mcp/"}
    assert server.requests[1].message == server.requests[0].message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(start: Start, status: int) -> None:
    other = Server(lambda request: request.result())

    def answer(request: Request) -> None:
        request.reply(status=status, Location=f"{other.url}?{SECRET}")

    relay, _ = start(answer, "--header", "X-Key: ${TOKEN}")
    said = relay.error()
    assert f"a redirect to http://127.0.0.1:{other.port}, which is not followed" in said
    assert SECRET not in said
    assert not other.requests
    other.close()


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (302, "/other", "lose the message: use the URL that it redirects to"),
        (301, "/mcp/", "lose the message: use the URL with a slash at its end"),
        (307, "/mcp", "redirected a request more than 5 times"),
        (307, "http://user:x@127.0.0.1/", "a redirect to no valid URL"),
        (307, "ftp://127.0.0.1/", "a redirect to no valid URL"),
        (307, "http://[", "a redirect to no valid URL"),
    ],
)
def test_other_redirects_are_errors(start: Start, status: int, location: str, said: str) -> None:
    relay, _ = start(lambda request: request.reply(status=status, Location=location))
    assert said in relay.error()


# The command line, and the URL


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--header", "X: ${NO_SUCH_VARIABLE}", "URL"], "NO_SUCH_VARIABLE is not set, or empty"),
        (["--header", "X: a", "--", "python3"], "--header and --allow-http are for a URL"),
        (["URL", "--header", "X: a"], "options stand before it"),
        (["--header", "X: a", "http://example.invalid/mcp"], "sent without encryption"),
        (["--header", "X: a", "http://127.0.0.1.example.invalid/"], "sent without encryption"),
        (["https://user:pass@example.invalid/"], "credentials belong in --header"),
        (["https:///mcp"], "must begin with http:// or https:// and a host"),
        (["https://exa mple/"], "the URL of the server names no valid host: exa mple"),
        (["https://ex..ample/"], "the URL of the server names no valid host: ex..ample"),
        ([f"https://{'x' * 64}.invalid/"], "the URL of the server names no valid host"),
        (["https://[/mcp"], "the URL of the server is malformed"),
        (["http://localhost:99999/"], "the URL of the server is malformed"),
    ],
)
def test_wrong_usage_is_an_error_before_anything_starts(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    server = Server(lambda request: request.result())
    made = run(
        "proxy", *(server.url if one == "URL" else one for one in arguments), folder=tmp_path
    )
    assert (made.returncode, made.stdout) == (1, "")
    assert said in made.stderr
    assert server.connections == 0
    server.close()


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("http://localhost:1/", False),
        ("http://127.9.9.9/", False),
        ("http://[::1]:8000/mcp", False),
        ("http://10.0.0.1/", True),
        ("http://localhost.example.invalid/", True),
        ("https://example.invalid/", False),
    ],
)
def test_only_this_machine_gets_headers_without_encryption(url: str, readable: bool) -> None:
    assert Endpoint(url, {}).readable_by_others is readable


def test_a_server_without_encryption_gets_no_request() -> None:
    server = Server(lambda request: request.result())
    endpoint = Endpoint(f"https://127.0.0.1:{server.port}/", {})
    with pytest.raises(HttpError, match=r"cannot be reached|closed the connection"):
        endpoint.open("POST", {}, b"{}", Interrupt(), timeout=5)
    assert not server.requests
    server.close()


@pytest.mark.parametrize(
    ("options", "agent"),
    [((), f"compactwire/{__version__}"), (("--header", "USER-AGENT: mine/1"), "mine/1")],
)
def test_a_server_is_told_who_asks_and_not_to_compress(
    start: Start, options: tuple[str, ...], agent: str
) -> None:
    relay, server = start(lambda request: request.result(), *options)
    relay.ask("x")
    (request,) = server.requests
    assert request.headers["user-agent"] == agent
    assert request.headers["accept-encoding"] == "identity"


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> None:
        request.reply(status=407) if request.method == "CONNECT" else request.reply("{}")

    server = Server(answer)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://user:pa%20ss@127.0.0.1:{server.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    plain = Endpoint("http://example.invalid/mcp?a=b", {"X-Key": "1"})
    with plain.open("POST", {}, b"{}", Interrupt(), timeout=5) as found:
        assert found.status == 200
    with pytest.raises(HttpError, match=f"the proxy http://127.0.0.1:{server.port} of .*: 407"):
        Endpoint("https://example.invalid/", {"X-Key": "1"}).open("GET", {}, None, Interrupt())
    for url in ("https://[2001:db8::1]/", "https://bücher.invalid:8443/"):
        with pytest.raises(HttpError, match=r"of HTTPS_PROXY .*: 407"):
            Endpoint(url, {}).open("GET", {}, None, Interrupt())
    with Endpoint("http://bücher.invalid/", {}).open("GET", {}, None, Interrupt()) as found:
        assert found.status == 200
    first, second, *others = server.requests
    paths = ["[2001:db8::1]:443", "xn--bcher-kva.invalid:8443", "http://xn--bcher-kva.invalid/"]
    assert [one.path for one in others] == paths
    assert others[2].headers["host"] == "xn--bcher-kva.invalid"
    assert first.path == "http://example.invalid/mcp?a=b"
    assert first.headers["host"] == "example.invalid"
    assert first.headers["proxy-authorization"] == "Basic dXNlcjpwYSBzcw=="
    assert (second.method, second.path) == ("CONNECT", "example.invalid:443")
    assert "x-key" not in second.headers
    assert second.headers["proxy-authorization"] == "Basic dXNlcjpwYSBzcw=="
    server.close()


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        (
            f"http://user:{SECRET}@127.0.0.1:1",
            r"the proxy http://127\.0\.0\.1:1 of HTTPS_PROXY .*: refused",
        ),
        (f"http://{SECRET}:abc", "the proxy of HTTPS_PROXY .* has no valid http:// URL"),
        (f"socks5://user:{SECRET}@h:1", "the proxy of HTTPS_PROXY .* has no valid http:// URL"),
    ],
)
def test_a_proxy_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, proxy: str, said: str
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(HttpError, match=said) as failed:
        Endpoint("https://example.invalid/", {}).open("GET", {}, None, Interrupt())
    assert SECRET not in str(failed.value)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "No such file"), ("-----BEGIN", "no certificate in it")]
)
def test_a_file_without_certificates_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(OSError, match=f"SSL_CERT_FILE: .*ca.pem cannot be used: {said}"):
        Endpoint("https://example.invalid/", {})
