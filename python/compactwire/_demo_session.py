"""The second half of ``compactwire demo``: the same messages as a conversation.

There is one session on each side. The table shows the size of each turn as compact JSON with the
whole request, as frames of a session, and packed.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import compactwire as cw

__all__ = ["Turn", "turns"]

SYSTEM = """\
You are the assistant of a small software team. Answer in the language of the question. Look things
up with your tools before you answer, say where you found them, and never guess a number. Give code
in Markdown fences, with types and without comments that repeat it. When a tool fails, say so and
offer what you would try next; do not try the same call twice.
"""

TOOLS = [
    {
        "name": "search_code",
        "description": "Search the repository for a regular expression. Returns the matching lines "
        "with their paths and line numbers, at most `limit` of them, newest files first.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression (RE2 syntax)."},
                "path": {"type": "string", "description": "Only below this folder."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
                "ignore_case": {"type": "boolean", "default": False},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    },
    {
        "name": "query_weather",
        "description": "Ask the weather service for the forecast of a place, hour by hour.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "A city, or latitude and longitude."},
                "hours": {"type": "integer", "minimum": 1, "maximum": 120},
                "units": {"enum": ["metric", "imperial"], "default": "metric"},
            },
            "required": ["place", "hours"],
            "additionalProperties": False,
        },
    },
]


class Turn(NamedTuple):
    """The texts of a turn, and whether the decoded request equals the original."""

    plain: str
    frames: str
    packed: str
    equal: bool

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The bytes of the three texts."""
        plain, frames, packed = (len(text.encode()) for text in self[:3])
        return plain, frames, packed


def turns(answers: list[str]) -> list[Turn]:
    """Return the turns of a conversation with these answers."""
    ours, theirs = cw.Session(), cw.Session()
    packing, unpacking = cw.Session(), cw.Session()
    context, found = "", []
    for number, answer in enumerate(answers, 1):
        args = {"question": number}
        turn = cw.Request(TOOLS, SYSTEM, args, context)
        plain = {"tools": TOOLS, "system": SYSTEM, "args": args, "context": context}
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        frames = ours.encode_request(tool=TOOLS, system=SYSTEM, args=args, context=context)
        packed = packing.encode_request(
            tool=TOOLS, system=SYSTEM, args=args, context=context, pack=True
        )
        try:
            equal = theirs.decode_request(frames) == unpacking.decode_request(packed) == turn
        except cw.CompactWireError:
            equal = False
        found.append(Turn(text, "".join(frames), packed, equal))
        context += f"User: question {number}\nAgent: {answer}\n"
    return found
