"""The fixture of the tests of `compactwire mcp proxy URL`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.mcp.http_server import SECRET, Relay, Request, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.mcp.http_server import Start


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server that answers by the function, and a relay to it."""
    with contextlib.ExitStack() as stack:

        def both(answer: Callable[[Request], object], *options: str) -> tuple[Relay, Server]:
            server = Server(answer)
            stack.callback(server.close)
            relay = Relay(tmp_path, server.url, *options, TOKEN=SECRET)
            stack.callback(relay.kill)
            return relay, server

        yield both
