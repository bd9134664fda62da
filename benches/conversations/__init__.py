"""Conversations of agents, turn by turn, for the bench of sessions.

Each JSON file is one conversation, stored as the changes of each turn: entries that are appended to
the transcript, an earlier entry that is replaced, or one that is inserted. The loader returns the
requests that an agent makes: on every turn all tools, the system prompt, the arguments of the call
and the transcript so far. Services, people and incidents are invented.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = ("ten_turns", "coding", "chat")

Entry = tuple[str, str]


@dataclass(frozen=True)
class Turn:
    """One request. `change` says what happened to the context since the turn before."""

    tools: list[dict[str, Any]]
    system: str
    args: Any
    context: str
    change: str

    def plain(self) -> str:
        """Return the request as compact JSON, as it is sent without a session."""
        fields = {
            "tools": self.tools,
            "system": self.system,
            "args": self.args,
            "context": self.context,
        }
        return compact(fields)


@dataclass(frozen=True)
class Conversation:
    """A whole conversation; every turn carries the same tools and the same prompt."""

    name: str
    about: str
    tools: list[dict[str, Any]]
    system: str
    turns: list[Turn]


def compact(value: object) -> str:
    """Write JSON without spaces and without escapes that UTF-8 does not need."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@cache
def load(name: str) -> Conversation:
    """Read one of `NAMES`."""
    stored = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    tools, system = stored["tools"], _text(stored["system"])
    entries: list[Entry] = []
    turns: list[Turn] = []
    for step in stored["turns"]:
        previous = turns[-1].args if turns else None
        entries += [_entry(role, text, previous) for role, text in step["append"]]
        change = _revise(entries, step)
        context = "\n\n".join(f"[{heading}]\n{text}" for heading, text in entries) + "\n"
        turns.append(Turn(tools, system, step["args"], context, change))
    return Conversation(name, stored["about"], tools, system, turns)


def _entry(role: str, text: str | list[str], previous: Any) -> Entry:
    """Head the result of a tool with the call it answers: the arguments of the turn before."""
    heading = f"result of {compact(previous)}" if role == "result" else role
    return heading, _text(text)


def _revise(entries: list[Entry], step: dict[str, Any]) -> str:
    """Apply the change of an earlier entry, if this turn has one."""
    if edit := step.get("replace"):
        heading, _ = entries[edit["entry"]]
        entries[edit["entry"]] = heading, _text(edit["text"])
        return "edit"
    if new := step.get("insert"):
        entries.insert(new["before"], (new["role"], _text(new["text"])))
        return "insert"
    return "append"


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "\n".join(lines)
