"""Measures what a session saves and costs, turn by turn, for three conversations.

Each turn is compared with what an agent sends without a session: tools, prompt, arguments and the
whole context as compact JSON. Every turn is decoded by a peer session and compared before it is
counted. `python -m benches.sessions` prints the tables; tokens need `bpe-openai`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import compactwire as cw
from compactwire.analysis import count_tokens

from . import conversations, data, report
from .conversations import Conversation, Turn, compact
from .measure import FULL, QUICK, Call, Effort, compare, once_each
from .speed import KIB, name, same

TOKENIZER = "o200k_base"

# The conversations that are timed, in KiB, and the bytes that are new in their last turn.
SHORT, LONG, NEW = 20, 200, 2 * KIB

Work = Callable[[], object]
Prepare = Callable[[], Work]
Scale = Callable[[list[str]], Prepare]


@cache
def tokenizer() -> Callable[[str], int] | None:
    """Count the tokens of a text; None where `bpe-openai` is not installed."""
    try:
        count_tokens("")
    except ImportError:
        return None
    return count_tokens


@dataclass
class Pair:
    """The sessions at both ends. An error is raised unless decoding returns the request."""

    pack: bool
    ours: cw.Session
    theirs: cw.Session

    @classmethod
    def new(cls, *, pack: bool) -> Pair:
        """Create two new sessions."""
        return cls(pack, cw.Session(), cw.Session())

    def send(self, turn: Turn) -> list[str]:
        """Give the frames of a turn, or the one text they are packed into."""
        fields: dict[str, Any] = {
            "tool": turn.tools,
            "system": turn.system,
            "args": turn.args,
            "context": turn.context,
        }
        if self.pack:
            frames = [self.ours.encode_request(**fields, pack=True)]
            request = self.theirs.decode_request(frames[0])
        else:
            frames = self.ours.encode_request(**fields)
            request = self.theirs.decode_request(frames)
        same([*request.tools], turn.tools)
        same(
            (request.system, request.args, request.context), (turn.system, turn.args, turn.context)
        )
        return frames


def size(texts: list[str]) -> int:
    """Return the bytes of UTF-8, without separators that a transport adds between the texts."""
    return sum(len(text.encode()) for text in texts)


def parts(frames: list[str]) -> dict[str, int]:
    """Bytes that frames spend on each part; the separator before each is counted with it."""
    *definitions, request = frames
    kind, version, tools, prompt, rest = request.split("|", 4)
    same((kind, version), ("REQ", "1"))
    _, end = json.JSONDecoder().raw_decode(rest)
    defined = {"TOOL": 0, "SYS": 0}
    for frame in definitions:
        defined[frame.split("|", 1)[0]] += size([frame])
    return {
        "tools": defined["TOOL"] + size(["|", tools]),
        "shortest": max(size(["|", tool]) for tool in tools.split(",")),
        "prompt": defined["SYS"] + size(["|", prompt]),
        "args": size(["|", rest[:end]]),
        "context": size([rest[end:]]),
    }


def whole(turn: Turn) -> dict[str, int]:
    """Bytes of the same parts when they are sent again; texts as they are, without escapes."""
    tools = [size([compact(tool)]) for tool in turn.tools]
    return {
        "tools": sum(tools),
        "shortest": min(tools),
        "prompt": size([turn.system]),
        "context": size([turn.context]),
    }


def turns(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Give a record per turn: bytes and tokens of the three ways to send it."""
    plain_session, packed_session = Pair.new(pack=False), Pair.new(pack=True)
    count = tokenizer()
    for number, turn in enumerate(conversation.turns, 1):
        frames = plain_session.send(turn)
        ways = {"json": [turn.plain()], "frames": frames, "packed": packed_session.send(turn)}
        yield {
            "turn": number,
            "change": turn.change,
            "bytes": {way: size(texts) for way, texts in ways.items()},
            "tokens": count and {way: sum(map(count, texts)) for way, texts in ways.items()},
            "parts": parts(frames),
            "whole": whole(turn),
        }


def left(rows: list[dict[str, Any]], part: str) -> float:
    """Return the remaining size of a part, compared with sending it again."""
    return float(sum(row["parts"][part] for row in rows) / sum(row["whole"][part] for row in rows))


def sizes() -> Iterator[dict[str, Any]]:
    """Give a record per conversation."""
    for conversation in map(conversations.load, conversations.NAMES):
        rows = list(turns(conversation))
        totals = {
            unit: {way: sum(row[unit][way] for row in rows) for way in rows[0][unit]}
            for unit in ("bytes", "tokens")
            if rows[0][unit]
        }
        yield {
            "name": conversation.name,
            "about": conversation.about,
            "tools": [size([compact(tool)]) for tool in conversation.tools],
            "prompt": size([conversation.system]),
            "context": rows[-1]["whole"]["context"],
            "turns": [
                {key: row[key] for key in ("turn", "change", "bytes", "tokens")} for row in rows
            ],
            "totals": totals,
            # The first turn defines tools and prompt; from the second turn on they are repeated.
            "left": {
                "tools": left(rows[1:], "tools"),
                "shortest": left(rows[1:], "shortest"),
                "prompt": left(rows[1:], "prompt"),
                "context": left(rows, "context"),
                "packed": totals["bytes"]["packed"] / totals["bytes"]["json"],
            },
        }


def growing(kilobytes: int) -> list[str]:
    """Give fifty contexts that grow by appends to a size, the last one by `NEW` bytes."""
    text = data.text(kilobytes * KIB, ascii_only=True)
    before = len(text) - NEW
    return [text[: before * turn // 49] for turn in range(1, 50)] + [text]


def last_two(contexts: list[str]) -> tuple[str, str]:
    """Return the context of turn 49, and that of turn 50 as a new object, as a caller makes it."""
    old, new = contexts[-2:]
    return old, old + new[len(old) :]


def encoding(request: dict[str, Any], *, pack: bool = False) -> Scale:
    """Write turn 50 from a session that wrote the 49 before it."""

    def scale(contexts: list[str]) -> Prepare:
        def prepare() -> Work:
            session = cw.Session()
            for context in contexts[:-1]:
                session.encode_request(**request, context=context)
            _, new = last_two(contexts)
            if pack:
                return lambda: session.encode_request(**request, context=new, pack=True)
            return lambda: session.encode_request(**request, context=new)

        return prepare

    return scale


def comparing(contexts: list[str]) -> Prepare:
    """Only compare the old text."""

    def prepare() -> Work:
        old, new = last_two(contexts)
        return lambda: new.startswith(old)

    return prepare


def dumping(conversation: Conversation) -> Scale:
    """Write turn 50 in full, without a session."""

    def scale(contexts: list[str]) -> Prepare:
        turn = replace(conversation.turns[-1], context=contexts[-1])
        return lambda: turn.plain

    return scale


def cost(effort: Effort) -> Iterator[dict[str, Any]]:
    """Time turn 50 of a short and a long conversation with the same amount of new text."""
    agent = conversations.load("ten_turns")
    request = {"tool": agent.tools, "system": agent.system, "args": agent.turns[-1].args}
    works = {
        "encode_request, context alone": encoding({}),
        "encode_request, with 8 tools and prompt": encoding(request),
        "the same with pack=True": encoding(request, pack=True),
        "new.startswith(old)": comparing,
        "json.dumps of the plain request": dumping(agent),
    }
    short, long = growing(SHORT), growing(LONG)
    check_growth(short)
    check_growth(long)
    timings = [
        timing
        for scale in works.values()
        for timing in compare(
            [Call(_run, scale(turns)) for turns in (short, long)], once_each(effort)
        )
    ]
    for work, at_short, at_long in zip(works, timings[::2], timings[1::2], strict=True):
        yield {
            "work": work,
            "new": name(NEW),
            "short": name(SHORT * KIB),
            "long": name(LONG * KIB),
            "short_seconds": at_short.least["wall"],
            "short_fifth": at_short.fifth["wall"],
            "long_seconds": at_long.least["wall"],
            "long_fifth": at_long.fifth["wall"],
        }


def _run(work: Work) -> object:
    return work()


def check_growth(contexts: list[str]) -> None:
    """Raise an error unless turn 50 contains only the new text and is decoded correctly."""
    ours, theirs = cw.Session(), cw.Session()
    frames: list[str] = []
    for context in contexts:
        frames = ours.encode_request(context=context)
        same(theirs.decode_request(frames).context, context)
    same(size(frames) <= NEW + 64, True)


def record(effort: Effort) -> report.Record:
    """Measure everything."""
    return {
        "tokenizer": tokenizer() and TOKENIZER,
        "sizes": list(sizes()),
        "cost": list(cost(effort)),
    }


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches.sessions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure briefly")
    quick = parser.parse_args().quick
    print(report.sessions(record(QUICK if quick else FULL)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
