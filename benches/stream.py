"""Packed requests of a session against one zstd stream over the same requests.

    python -m benches.stream

The stream is flushed after each request, so that each can be read when it arrives. It compresses
the request as compact JSON, with its tools, prompt and whole conversation.
"""

from __future__ import annotations

import zstandard

import compactwire as cw
from benches import conversations

LEVELS = (3, 19)


def stream_bytes(conversation: conversations.Conversation, level: int) -> int:
    """Give the bytes of one stream over all turns."""
    stream = zstandard.ZstdCompressor(level=level).compressobj()
    size = 0
    for turn in conversation.turns:
        size += len(stream.compress(turn.plain().encode()))
        size += len(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    return size


def session_bytes(conversation: conversations.Conversation) -> int:
    """Give the bytes of all turns as packed requests, each of which is read back."""
    ours, theirs = cw.Session(), cw.Session()
    size = 0
    for turn in conversation.turns:
        packed: bytes = ours.encode_request(
            tool=turn.tools, system=turn.system, args=turn.args, context=turn.context, pack="bytes"
        )
        assert theirs.decode_request(packed).context == turn.context
        size += len(packed)
    return size


def main() -> None:
    """Print a row for each conversation."""
    print("conversation  session", *(f"zstd {level}" for level in LEVELS), sep="  ")
    for name in conversations.NAMES:
        conversation = conversations.load(name)
        streams = (f"{stream_bytes(conversation, level):7,}" for level in LEVELS)
        print(f"{name:12}  {session_bytes(conversation):7,}", *streams, sep="  ")


if __name__ == "__main__":
    main()
