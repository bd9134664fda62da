"""`compare_sessions`: measures a conversation sent in full each time, and as changes only."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compactwire import CompactWireError, OptionError, Session, UnsupportedValue

from .candidates import Reader, compact, without_options
from .extra import need
from .measured import same
from .progress import Show, watched
from .timing import ROUNDS, Timing, Work, once, timing
from .tokens import Counter, counter, name_of

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = ("tool", "system", "args", "context")
_PROMPTS = {"system", "developer"}
_TYPES = {
    "turn": "int64",
    "format": "str",
    "reader": "str",
    "bytes": "int64",
    "tokens": "int64",
    "bytes_vs_json": "float64",
    "tokens_vs_json": "float64",
    **{
        f"{way}_seconds{part}": "float64"
        for way in ("encode", "decode")
        for part in ("", "_low", "_high")
    },
    "round_trip": "bool",
}

Turn = dict[str, Any]


def compare_sessions(
    conversation: Iterable[Mapping[str, Any]],
    /,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    tokenizer: str | Counter = "o200k_base",
    progress: bool | Show | None = None,
) -> pd.DataFrame:
    """Measure a conversation turn by turn: sent in full each time, and through a `Session`.

    Parameters
    ----------
    conversation : iterable of Mapping
        Chat messages, each with "role" and "content" (other members are sent, too). There is a
        request before each message of the assistant, and one at the end; system messages at the
        beginning are the prompt. Or the requests themselves: the arguments of
        `Session.encode_request` by name ("tool", "system", "args", "context").
    tools : sequence of Mapping
        The definitions of tools that are part of every request, for chat messages.
    tokenizer : str or callable
        As in `compare`.
    progress : bool or callable, optional
        As in `compare`; it is called once per turn.

    Returns
    -------
    DataFrame
        Three rows per turn. ``format`` is "json" (the whole request as compact JSON), "session"
        (the frames of a session: text) or "packed" (the same compressed: for programs). ``bytes``
        are UTF-8, ``total_bytes`` and ``total_tokens`` are those of all turns so far,
        ``bytes_vs_json`` and ``tokens_vs_json`` are relative to the JSON of the same turn. Times
        are in seconds, as in `compare`. ``round_trip`` is whether a peer decoded an equal request.

    Raises
    ------
    TypeError, CompactWireError
        `conversation` is not a conversation; the message names the invalid item.
    ImportError
        The extra ``analysis`` is not installed.

    Examples
    --------
    >>> talk = [{"role": "user", "content": "Who wrote Solaris?"},
    ...         {"role": "assistant", "content": "Stanislaw Lem."},
    ...         {"role": "user", "content": "When?"}]
    >>> frame = compare_sessions(talk)
    >>> frame[frame.format == "session"][["turn", "bytes", "round_trip"]]
       turn  bytes  round_trip
    1     1     79        True
    4     2    114        True
    """
    pandas = need("pandas", "pandas")
    count = counter(tokenizer)
    if not isinstance(conversation, Iterable):
        found = type(conversation).__name__
        raise TypeError(f"conversation must be a list of messages or requests, not {found}")
    requests = _requests(list(conversation), _definitions("tools", tools))
    session, packed = _Pair(pack=False), _Pair(pack=True)
    rows: list[dict[str, Any]] = []
    for number, turn in enumerate(watched(requests, progress, "turns"), 1):
        # The sessions come first: they refuse values that are no JSON with errors that name them.
        try:
            frames, bundle = session.send(turn), packed.send(turn)
        except UnsupportedValue as error:
            raise without_options(error) from None
        found = [
            _row(number, "json", "model", _plainly(turn), count),
            _row(number, "session", "model", frames, count),
            _row(number, "packed", "program", bundle, count),
        ]
        for row in found:
            row["bytes_vs_json"] = row["bytes"] / found[0]["bytes"]
            row["tokens_vs_json"] = row["tokens"] / max(1, found[0]["tokens"])
        rows += found
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES)
    for place, unit in enumerate(("bytes", "tokens")):
        totals = frame.groupby("format")[unit].cumsum()
        frame.insert(frame.columns.get_loc("tokens") + 1 + place, f"total_{unit}", totals)
    frame.attrs["tokenizer"] = name_of(tokenizer)
    return frame


@dataclass(frozen=True)
class _Sent:
    """One turn in one format: the messages, whether the decoded request is equal, and the times."""

    texts: list[str]
    whole: bool
    encode: Timing
    decode: Timing


def _plainly(turn: Turn) -> _Sent:
    """Send the full request as JSON."""
    text = compact(turn)
    plain = json.loads(text)
    return _Sent(
        [text],
        same(plain, turn),
        _clock([lambda: compact(plain)] * ROUNDS),
        _clock([lambda: json.loads(text)] * ROUNDS),
    )


class _Pair:
    """The sessions of both ends. Calls that change a session are timed on copies."""

    def __init__(self, *, pack: bool) -> None:
        self.pack = pack
        self.ours, self.theirs = Session(), Session()

    def send(self, turn: Turn) -> _Sent:
        """Send the changes only."""
        writers = [copy.copy(self.ours) for _ in range(ROUNDS)]
        readers = [copy.copy(self.theirs) for _ in range(ROUNDS)]
        frames = self.ours.encode_request(**turn, pack=self.pack)
        request = self.theirs.decode_request(frames)
        found = {name: getattr(request, "tools" if name == "tool" else name) for name in turn}
        return _Sent(
            [frames] if isinstance(frames, str) else frames,
            all(same(found[name], turn[name]) for name in turn),
            _clock([_writing(session, turn, self.pack) for session in writers]),
            _clock([_reading(session, frames) for session in readers]),
        )


def _writing(session: Session, turn: Turn, pack: bool) -> Work:
    return lambda: session.encode_request(**turn, pack=pack)


def _reading(session: Session, frames: str | list[str]) -> Work:
    return lambda: session.decode_request(frames)


def _clock(works: Sequence[Work]) -> Timing:
    return timing([once(work, 1) for work in works])


def _row(number: int, name: str, reader: Reader, sent: _Sent, count: Counter) -> dict[str, Any]:
    row: dict[str, Any] = {
        "turn": number,
        "format": name,
        "reader": reader,
        "bytes": sum(len(text.encode()) for text in sent.texts),
        "tokens": sum(map(count, sent.texts)),
        "round_trip": sent.whole,
    }
    for way, found in (("encode", sent.encode), ("decode", sent.decode)):
        row[f"{way}_seconds"] = found.median
        row[f"{way}_seconds_low"] = found.low
        row[f"{way}_seconds_high"] = found.high
    return row


def _requests(items: list[Any], tools: list[Any]) -> list[Turn]:
    """Return each request as the arguments of a session."""
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            found = type(item).__name__
            raise TypeError(f"conversation[{place}] must be a message or a request, not {found}")
    if not items:
        raise CompactWireError("the conversation is empty: pass messages or requests")
    if all("role" in item for item in items):
        return list(_of_messages(items, tools))
    if tools:
        message = "tools is for chat messages; in requests, pass the tools as 'tool'"
        raise OptionError(message, option="tools")
    return [_of_request(place, item) for place, item in enumerate(items)]


def _of_request(place: int, item: Mapping[str, Any]) -> Turn:
    foreign = [name for name in item if name not in _FIELDS]
    if foreign:
        raise CompactWireError(
            f"item {place} has the member {foreign[0]!r}: a message has 'role' and"
            f" 'content', a request {', '.join(_FIELDS)}"
        )
    turn = {name: item[name] for name in _FIELDS if item.get(name) is not None}
    if "tool" in turn:
        turn["tool"] = _definitions(f"'tool' of item {place}", turn["tool"])
    return turn


def _definitions(what: str, tools: Any) -> list[dict[str, Any]]:
    found = [tools] if isinstance(tools, Mapping) else tools
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise TypeError(f"{what} is a {type(tools).__name__}, not a definition or a list of them")
    listed = list(found)
    for tool in listed:
        if not isinstance(tool, Mapping):
            raise TypeError(f"{what} has a {type(tool).__name__}: a definition must be a dict")
    return [dict(tool) for tool in listed]


def _of_messages(messages: list[Any], tools: list[Any]) -> Iterator[Turn]:
    prompts = list(itertools.takewhile(lambda item: item["role"] in _PROMPTS, messages))
    same_for_all: Turn = {}
    if tools:
        same_for_all["tool"] = tools
    if prompts:
        same_for_all["system"] = "\n\n".join(_prompt(item) for item in prompts)
    talk = messages[len(prompts) :]
    for place, message in enumerate(talk):
        if message["role"] == "assistant" and place:
            yield _so_far(same_for_all, talk[:place])
    if not talk or talk[-1]["role"] != "assistant":
        yield _so_far(same_for_all, talk)


def _so_far(same_for_all: Turn, talk: list[Any]) -> Turn:
    return {**same_for_all, "messages": [*map(dict, talk)]}


def _prompt(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else compact(content)
