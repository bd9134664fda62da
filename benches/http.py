"""Requests of `compactwire.http` against plain HTTP, and against gzip and zstd of each request.

    python -m benches.http

The body of a request is compact JSON with its tools, prompt and whole conversation. Bytes are those
of the body and of the header lines that each way adds, as HTTP/1.1 writes them. Every body is read
back and compared.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import zstandard

from benches import conversations
from compactwire.http._client import Client
from compactwire.http._protocol import Options
from compactwire.http._server import Server

LEVELS = {"gzip": 6, "zstd": 3}


def header_bytes(*headers: tuple[str, str]) -> int:
    """Give the bytes of header lines."""
    return sum(len(f"{name}: {value}\r\n") for name, value in headers)


def by_itself(body: bytes, coding: str) -> int:
    """Give the bytes of a request that is compressed without the earlier ones."""
    if coding == "gzip":
        packed = gzip.compress(body, LEVELS[coding])
    else:
        packed = zstandard.compress(body, LEVELS[coding])
    return len(packed) + header_bytes(("Content-Encoding", coding))


def session() -> Callable[[bytes], int]:
    """Give a function that gives the bytes of the next request of a client."""
    options = Options(max_sessions=1, idle_s=600, max_size=1 << 24, max_memory=1 << 28)
    client, server = Client(options), Server(options, 4)

    def send(body: bytes) -> int:
        exchange = client.begin("http://agent", [], body)
        said, coded = exchange.attempt()
        added = [("compactwire", said)]
        if coded:
            added.append(("content-encoding", "x-compactwire"))
        turn = server.begin("POST", added)
        assert turn is not None
        turn.first = lambda: body
        if coded:
            assert turn.body(coded) == body
        exchange.answered(200, turn.plain(200, []))
        exchange.close()
        return len(coded or body) + header_bytes(*added)

    return send


def figures(conversation: conversations.Conversation) -> dict[str, list[int]]:
    """Give the bytes of each turn, by the way that it is sent."""
    bodies = [turn.plain().encode() for turn in conversation.turns]
    send = session()
    return {
        "plain": [len(body) for body in bodies],
        **{coding: [by_itself(body, coding) for body in bodies] for coding in LEVELS},
        "session": [send(body) for body in bodies],
    }


def rows(found: dict[str, list[int]]) -> list[tuple[str, dict[str, int]]]:
    """Give the rows of the table for a conversation: the requests, and the bytes of each way."""
    count = len(found["plain"])
    parts: list[tuple[str, Callable[[list[int]], int]]] = [
        (f"all {count}", sum),
        ("the first", lambda sizes: sizes[0]),
        ("the second", lambda sizes: sizes[1]),
        ("the median of the others", lambda sizes: sorted(sizes[2:])[len(sizes[2:]) // 2]),
        ("the last", lambda sizes: sizes[-1]),
    ]
    return [(part, {way: give(sizes) for way, sizes in found.items()}) for part, give in parts]


def main() -> None:
    """Print the table of `docs/http.md`."""
    print("| conversation | requests | plain | gzip | zstd | session |")
    print("|---|---|--:|--:|--:|--:|")
    for name in conversations.NAMES:
        for part, sizes in rows(figures(conversations.load(name))):
            print(f"| {name} | {part} |", " | ".join(f"{size:,}" for size in sizes.values()), "|")


if __name__ == "__main__":
    main()
