"""The first part of ``compactwire demo``: what a language model reads, in tokens.

A tool result, a table and a chat, as compact JSON and as `shrink` or `shrink_messages` writes them.
The tables at the start of the README and of the documentation are made from these figures.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import compactwire as cw

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Example", "Saved", "chat", "examples", "issues", "measure", "weather"]

_VERBS = ("Fix", "Document", "Speed up", "Remove", "Test")
_PARTS = ("the login form", "the export to CSV", "retries of uploads", "the search index")
_TOPICS = ("bug", "docs", "performance", "cleanup", "tests")


def issues(count: int = 30) -> list[dict[str, Any]]:
    """Return the issues of a project, as a tool that lists them does."""
    return [
        {
            "number": 410 + n,
            "title": f"{_VERBS[n % 5]} {_PARTS[n % 4]}",
            "state": "closed" if n % 7 == 3 else "open",
            "locked": False,
            "user": {"id": 1001 + n % 4, "type": "User"},
            "labels": [_TOPICS[n % 5], "api"] if n % 3 == 0 else [_TOPICS[n % 5]],
            "comments": n * n % 11,
            "created_at": f"2026-10-{1 + n % 28:02}T{n * 5 % 24:02}:15:00Z",
            "author_association": "CONTRIBUTOR",
            "assignee": None,
            "milestone": None,
        }
        for n in range(count)
    ]


def weather(hours: int = 48) -> list[dict[str, Any]]:
    """Return a forecast, hour by hour."""
    return [
        {
            "time": f"2026-11-{14 + n // 24}T{n % 24:02}:00",
            "temperature": round(6 + 4.5 * ((n - 8) % 24 < 12) + n % 5 / 10, 1),
            "humidity": 62 + n * 7 % 30,
            "wind_speed": round(8 + n * 13 % 90 / 10, 1),
            "rain": 0.4 if n % 11 == 5 else 0,
            "cloud_cover": n * 17 % 101,
        }
        for n in range(hours)
    ]


def chat() -> list[dict[str, Any]]:
    """Return a chat with the results of two tools."""
    asked = [
        ("Which issues are open, and which of them is the oldest?", "list_issues", issues(12)),
        ("And will it rain in the next 24 hours?", "get_forecast", weather(24)),
    ]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Answer briefly, and look things up with your tools."}
    ]
    for number, (question, tool, found) in enumerate(asked, 1):
        call = {"id": f"call_{number}", "function": {"name": tool, "arguments": "{}"}}
        messages += [
            {"role": "user", "content": question},
            {"role": "assistant", "tool_calls": [{"type": "function", **call}]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": _compact(found)},
            {"role": "assistant", "content": "I found it in the list; here is a short summary."},
        ]
    return messages


class Example(NamedTuple):
    """An input of a model, and the shorter text that compactwire writes for it."""

    title: str
    call: str
    before: str
    after: str
    equal: bool


class Saved(NamedTuple):
    """The tokens of an example."""

    example: Example
    before: int
    after: int


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _value(title: str, value: object) -> Example:
    shrunk = cw.shrink(value)
    return Example(title, "shrink", _compact(value), shrunk.text, cw.expand(shrunk) == value)


def _messages(title: str, messages: list[dict[str, Any]]) -> Example:
    small = cw.shrink_messages(messages)
    texts = [[str(message.get("content", "")) for message in each] for each in (messages, small)]
    equal = all(
        old == new or cw.expand(new) == json.loads(old) for old, new in zip(*texts, strict=True)
    )
    return Example(title, "shrink_messages", _compact(messages), _compact(small), equal)


def examples() -> list[Example]:
    """Return the three examples."""
    return [
        _value("a tool result: 30 issues", issues()),
        _value("a table: 48 hours of weather", weather()),
        _messages("a chat with two tool results", chat()),
    ]


def measure(count: Callable[[str], int]) -> list[Saved]:
    """Count the tokens of the examples before and after."""
    return [Saved(one, count(one.before), count(one.after)) for one in examples()]
