"""An application and a transport that keep what passes them, for the tests of HTTP."""

from __future__ import annotations

from typing import Any

from compactwire.http import compact_transport


class Echo:
    """Answers with the body that it was sent, and keeps all of them."""

    def __init__(self) -> None:
        self.seen: list[tuple[bytes, dict[bytes, bytes]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        data, more = b"", True
        while more:
            message = await receive()
            data += message["body"]
            more = message["more_body"]
        self.seen.append((data, dict(scope["headers"])))
        headers = [(b"content-length", b"%d" % len(data)), (b"x-app", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": data})


class Spy:
    """A transport that keeps what passes it; mixed into those of a library."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.requests: list[Any] = []
        self.responses: list[Any] = []

    async def handle_async_request(self, request: Any) -> Any:
        self.requests.append(request)
        library_class: Any = super()
        response = await library_class.handle_async_request(request)
        self.responses.append((response.status_code, response.headers.get("compactwire", "")))
        return response


def in_process(library: Any, app: Any) -> Any:
    return type("Spied", (Spy, library.ASGITransport), {})(app=app)


def client_of(library: Any, inner: Any, **options: Any) -> Any:
    transport = compact_transport(inner, **options)
    return library.AsyncClient(transport=transport, base_url="http://agent.example")
