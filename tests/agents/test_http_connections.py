"""The transports of httpx and httpx2 over a connection: to uvicorn, and to a server that fails."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from compactwire.http import CompactASGI, compact_transport
from compactwire.savings import Saving
from tests.agents import needed
from tests.agents.http_peers import Echo
from tests.http import body


class Served:
    """A server with uvicorn on the loopback, in a thread."""

    def __init__(self, app: Any, port: int = 0) -> None:
        uvicorn = needed("uvicorn")
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive(), "uvicorn ended before it served"
            time.sleep(0.005)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()


@contextlib.contextmanager
def served(app: Any, port: int = 0) -> Iterator[Served]:
    server = Served(app, port)
    try:
        yield server
    finally:
        server.stop()


def test_a_conversation_over_a_connection_and_a_restart(library: Any) -> None:
    echo = Echo()
    records: list[Saving] = []
    transport = compact_transport(library.HTTPTransport(), on_saving=records.append)
    with library.Client(transport=transport) as client:
        with served(CompactASGI(echo)) as server:
            url = f"http://127.0.0.1:{server.port}/"
            for turns in range(1, 6):
                assert client.post(url, content=body(turns)).content == body(turns)
        with served(CompactASGI(echo), server.port):
            # The connection of the old server may be noticed to be closed only now.
            with contextlib.suppress(library.TransportError):
                client.post(url, content=b"again")
            for turns in range(6, 10):
                assert client.post(url, content=body(turns)).content == body(turns)
    bodies = [data for data, _ in echo.seen if data != b"again"]
    assert bodies == [body(turns) for turns in range(1, 10)]
    assert sum(record.after for record in records) < sum(map(len, bodies))


def test_threads_share_a_transport_over_connections(library: Any) -> None:
    echo = Echo()
    failed: list[BaseException] = []

    def talk(client: Any, url: str, name: str) -> None:
        try:
            for turns in range(1, 6):
                assert client.post(url, content=body(turns, name)).content == body(turns, name)
        except BaseException as error:
            failed.append(error)

    with (
        served(CompactASGI(echo)) as server,
        library.Client(transport=compact_transport(library.HTTPTransport())) as client,
    ):
        url = f"http://127.0.0.1:{server.port}/"
        threads = [
            threading.Thread(target=talk, args=(client, url, str(number))) for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    assert len(echo.seen) == 40


def test_a_truncated_answer_is_an_error(library: Any) -> None:
    """A server that ends in the middle of a coded answer."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    session = b"compactwire: session=AAAAAAAAAAAAAAAAAAAAAA; lanes=4; size=9999\r\n"
    coded = b"compactwire: seq=1; coded; new\r\ncontent-encoding: x-compactwire\r\n"
    answers = [session + b"content-length: 0\r\n\r\n", coded + b"content-length: 90\r\n\r\nabc"]

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\n" + answer)

    # A daemon: if the client fails first, no second connection comes.
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with library.Client(transport=compact_transport(library.HTTPTransport())) as client:
        client.post(url, content=b"")
        with pytest.raises(library.RemoteProtocolError):
            client.post(url, content=b"")
    thread.join()
    listener.close()
