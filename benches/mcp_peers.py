"""Peers of the relay: the results of tools as they rewrite them, and whether they can be read back.

A peer counts in a row only where its output gives back the same data. For texts that are not JSON
this is the text itself. For JSON it is the value, as the peer's own reader gives it, or ours.

gcf-proxy is a relay, too. headroom-ai is called for each text, by `benches/headroom_peer.py` in the
environment that the command `headroom` belongs to.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compactwire as cw

SECONDS = 300
Result = dict[str, Any]


class NotRunError(Exception):
    """A peer is not installed, or did not answer; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Output:
    """A result as a peer has rewritten it.

    Attributes
    ----------
    texts : list of str
        The texts of the result.
    structured : str or None
        The structured content as the host passes it to a model.
    read, structured_read : list
        The value of each text, and of the structured content, as the peer's reader gives them; None
        if it reads none.
    """

    texts: list[str]
    structured: str | None
    read: list[Any]
    structured_read: Any


def texts_of(result: Result) -> list[str]:
    """Return the texts of a result."""
    return [block["text"] for block in result["content"] if block["type"] == "text"]


def structured_of(result: Result) -> str | None:
    """Return the structured content as compact JSON, or None."""
    structured = result.get("structuredContent")
    if structured is None:
        return None
    return json.dumps(structured, ensure_ascii=False, separators=(",", ":"))


def plain(result: Result) -> Output:
    """Return a result as it is, with the values that our reader gives."""
    texts = texts_of(result)
    values = [value_of(text) for text in texts]
    return Output(texts, structured_of(result), values, result.get("structuredContent"))


def value_of(text: str) -> Any:
    """Return the value of JSON or GCF, None if the text is neither."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    for read in (cw.expand, _gcf_python):
        try:
            value = read(text)
        except (ValueError, ImportError):
            continue
        if value != text:
            return value
    return None


def _gcf_python(text: str) -> Any:
    import gcf

    return gcf.decode_generic(text)


def gives_back(before: Output, after: Output) -> tuple[bool, bool]:
    """Whether the texts of `after`, and its structured content, have the data of `before`.

    Structured content that was left out has to be in the texts.
    """
    texts = len(before.texts) == len(after.texts) and all(
        old == new or (value is not None and _same(value, other))
        for old, new, value, other in zip(
            before.texts, after.texts, before.read, after.read, strict=True
        )
    )
    if after.structured is None:
        return texts, texts
    return texts, _same(before.structured_read, after.structured_read)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal: 1 is 1.0 but not true, members may be in any order."""
    return _spelled(one) == _spelled(other)


def _spelled(value: Any) -> str:
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    """Return the value with 1 for 1.0: JSON has one kind of number, and JavaScript writes 1."""
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


Transcript = Callable[[list[str]], list[Any]]


def relayed(relay: Sequence[str], server: list[str], transcript: Transcript) -> list[Output | None]:
    """Return the result of each call through a relay, None for errors."""
    if shutil.which(relay[0]) is None:
        raise NotRunError(f"{relay[0]} is not installed")
    try:
        said = transcript([*relay, *server])
    except (OSError, BaseExceptionGroup) as error:
        raise NotRunError(f"{relay[0]} in front of {Path(server[0]).name}: {error}") from error
    return [plain(one) if is_result(one) else None for one in said]


def is_result(said: Any) -> bool:
    """Whether an answer is the result of a tool, and not an error."""
    return isinstance(said, dict) and "content" in said and not said.get("isError")


def headroom(before: Sequence[Output | None]) -> list[Output | None]:
    """Return each result with its texts and structured content rewritten by headroom-ai."""
    program = shutil.which("headroom")
    if program is None:
        raise NotRunError("headroom-ai is not installed")
    given = [[*one.texts, one.structured or ""] if one else [] for one in before]
    child = subprocess.run(
        [
            str(Path(program).resolve().parent / "python"),
            "-P",  # Beside the script is a module `http`.
            str(Path(__file__).parent / "headroom_peer.py"),
        ],
        input=json.dumps(given),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    if child.returncode:
        raise NotRunError(f"headroom-ai: {child.stderr.strip().splitlines()[-1:]}")
    made = json.loads(child.stdout.splitlines()[-1])
    return [
        Output(
            [text for text, _ in found[:-1]],
            found[-1][0] if one.structured is not None else None,
            [value for _, value in found[:-1]],
            found[-1][1],
        )
        if one
        else None
        for one, found in zip(before, made, strict=True)
    ]
