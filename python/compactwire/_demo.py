"""The output of ``compactwire demo``: round trips of sample messages.

The first table shows the tokens of what a language model reads. Then five messages of the kinds
that agents send are encoded and decoded in every response format. The table shows the size, the
tokens and the times of each, and whether the decoded message equals the original. The default
dictionary was not trained on these messages. The last table shows the same messages as a
conversation between two sessions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import compactwire as cw

from ._demo_session import turns
from ._demo_values import measure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

__all__ = ["FORMATS", "MESSAGES", "run"]

_Name = Literal["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]

FORMATS: tuple[_Name, ...] = get_args(_Name)

_PLAIN = ("verbose", "dsl")

SHORT = "The capital of Australia is Canberra, not Sydney."

CODE = """\
Here is a parser for durations such as `1h30m`, `45s` or `2d 4h`:

```python
import re
from datetime import timedelta

UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
PART = re.compile(r"\\s*(\\d+(?:\\.\\d+)?)([dhms])")


def parse_duration(text: str) -> timedelta:
    parts: dict[str, float] = {}
    position = 0
    while match := PART.match(text, position):
        number, unit = match.groups()
        if UNITS[unit] in parts:
            raise ValueError(f"{unit!r} appears twice in {text!r}")
        parts[UNITS[unit]] = float(number)
        position = match.end()
    if not parts or text[position:].strip():
        raise ValueError(f"not a duration: {text!r}")
    return timedelta(**parts)
```

- Each part is read from where the last one ended, so `1h?30m` is an error. `re.findall` would \
skip the `?`.
- Units may come in any order, but each only once.
- The number is a `float`, so `1.5h` works too.
"""

TOOL = """\
{"from":"Zürich HB","to":"Wien Hbf","date":"2026-03-14","class":2,"currency":"EUR","connections":[\
{"id":"c1","departure":"06:40","arrival":"14:30","duration_minutes":470,"changes":0,\
"trains":["RJX 161"],"price":64.9,"seats_left":31,"refundable":false},\
{"id":"c2","departure":"08:40","arrival":"16:30","duration_minutes":470,"changes":0,\
"trains":["RJX 163"],"price":79.9,"seats_left":8,"refundable":false},\
{"id":"c3","departure":"09:33","arrival":"18:30","duration_minutes":537,"changes":1,\
"trains":["EC 191","RJX 67"],"price":54.9,"seats_left":44,"refundable":true},\
{"id":"c4","departure":"10:40","arrival":"18:30","duration_minutes":470,"changes":0,\
"trains":["RJX 165"],"price":79.9,"seats_left":15,"refundable":false},\
{"id":"c5","departure":"12:40","arrival":"20:30","duration_minutes":470,"changes":0,\
"trains":["RJX 167"],"price":64.9,"seats_left":52,"refundable":false},\
{"id":"c6","departure":"13:33","arrival":"22:30","duration_minutes":537,"changes":1,\
"trains":["EC 195","RJX 765"],"price":49.9,"seats_left":60,"refundable":true},\
{"id":"c7","departure":"14:40","arrival":"22:30","duration_minutes":470,"changes":0,\
"trains":["RJX 169"],"price":59.9,"seats_left":27,"refundable":false},\
{"id":"c8","departure":"21:40","arrival":"07:54","duration_minutes":614,"changes":0,\
"trains":["NJ 467"],"price":89.9,"seats_left":3,"refundable":false}],\
"next_page":null,"warnings":["Engineering works between Buchs SG and Feldkirch: check the platform \
on the day of travel."]}"""

KOREAN = """\
집에서 와이파이가 자꾸 끊긴다면 먼저 어느 대역에 연결되어 있는지 확인해 보세요.

- **2.4GHz**는 멀리까지 닿고 벽을 잘 통과하지만, 이웃 공유기나 블루투스와 간섭이 많습니다.
- **5GHz**는 빠르고 간섭이 적은 대신, 벽을 두세 개만 지나도 신호가 크게 약해집니다.

공유기와 같은 방에서는 5GHz를, 멀리 떨어진 방에서는 2.4GHz를 쓰는 것이 좋습니다. 두 대역의 \
이름이 같으면 기기가 알아서 고르는데, 끊김이 계속되면 이름을 따로 나누어 직접 골라 보세요. \
그래도 나아지지 않으면 공유기를 바닥이나 텔레비전 뒤가 아닌, 집 가운데의 높은 곳으로 옮겨 보는 \
것이 가장 효과적입니다.
"""

EXPLANATION = """\
# How text gets smaller without losing a letter

Lossless compression looks like magic, because the result is smaller and yet nothing is missing. \
The explanation is that ordinary text says most things more often than it has to. A compressor \
finds what a reader could have predicted and writes only the rest. There are three sources of \
savings, and nearly every format in use today combines them.

## 1. Repetition: point back instead of writing again

In 1977 a simple idea changed the field: if a piece of text has occurred before, do not write it \
again, but write *how far back* it is and *how long* it is. Take this sentence:

> the cat sat on the mat, and the cat slept

When the encoder reaches the second `the cat s`, it can write the pair `(28, 9)`: go back 28 \
characters and copy nine. The decoder has already produced that part, so it can simply copy it. No \
table has to be sent, because the text itself is the table.

How well this works depends on the **window**, the amount of past text that a pair may reach:

| format | window | typical use |
|---|---|---|
| DEFLATE (gzip, zlib, PNG) | 32 KB | web pages, archives, images |
| zstd | up to many MB, by level | logs, databases, packages |
| LZ4 | 64 KB | whatever must be very fast |

A larger window finds more repetitions, at the price of memory on both sides. For a chat message \
of two kilobytes the window is irrelevant, since the whole message fits into all of them.

## 2. Frequency: short codes for what is common

After step 1 there is still a stream of letters, distances and lengths. Some are far more common \
than others: in English prose `e` is more than a hundred times as frequent as `z`. If \
every letter costs eight bits, the rare ones are as cheap as the common ones, which is wasteful.

**Huffman coding** gives each symbol a code whose length follows from its frequency:

1. Count how often every symbol occurs.
2. Join the two rarest into one node whose count is their sum.
3. Repeat until a single tree is left.
4. The path from the root to a symbol, left `0` and right `1`, is its code.

Here is the whole algorithm in Python:

```python
import heapq
from collections import Counter
from itertools import count

def huffman(text: str) -> dict[str, str]:
    order = count()  # breaks ties, so that nodes are never compared
    heap = [(n, next(order), {symbol: ""}) for symbol, n in Counter(text).items()]
    heapq.heapify(heap)
    while len(heap) > 1:
        n1, _, left = heapq.heappop(heap)
        n2, _, right = heapq.heappop(heap)
        node = {s: "0" + code for s, code in left.items()}
        node |= {s: "1" + code for s, code in right.items()}
        heapq.heappush(heap, (n1 + n2, next(order), node))
    return heap[0][2]
```

The weakness of Huffman coding is that a code has a whole number of bits. A symbol that makes up \
90% of the text contains only 0.15 bits of information, but costs at least one. **Arithmetic \
coding** and its faster relative, **asymmetric numeral systems** (ANS), do not have this limit. \
zstd uses ANS for the distances and lengths and Huffman for the letters, which is a compromise \
between size and speed.

## 3. Knowledge: what both sides had before

The first two steps learn everything from the message itself. That is a problem when the message \
is short: at the beginning there is nothing to point back to, and the frequencies have not been \
learned yet. A message of 200 bytes often *grows*, because the header of the format is larger than \
the savings.

The remedy is a **dictionary**: a piece of typical text that both sides have before the first \
message. The encoder may point back into it as if it had just been sent. Phrases such as \
`"status": "ok"` or ```` ```python ```` are then found at once, even in the very first line.

A dictionary has conditions that are easy to forget:

- Both sides need *exactly* the same one, so it carries an id that the message repeats.
- It should be trained on messages like those to come. A dictionary of log lines does little for \
prose.
- It ages. When the messages change, train a new one and keep the old one for old messages.

| message | alone | with a dictionary |
|---|---|---|
| 100 bytes | usually larger than before | often half |
| 1 KB | two thirds | about half |
| 100 KB | a quarter | hardly any difference |

The numbers are rough and depend on the text, but the pattern is always the same: a dictionary is \
worth most where the message has had the least time to teach the decoder anything, and it fades as \
the message grows.

## What it cannot do

No lossless method shrinks *every* input. There are more files of 1,001 bytes than of all shorter \
lengths together, so a method that made each of them shorter would have to turn two different \
files into the same one, and could not tell them apart again. What makes compression useful is \
that the inputs which people actually produce are a tiny and very regular part of all the possible \
ones.

In practice this means three things:

1. **Do not compress twice.** Photos, videos and encrypted data have no regularity left.
2. **Compress before encrypting,** never after, and beware of mixing secrets with text that an \
attacker controls: the size then leaks information about the secret.
3. **Limit what you unpack.** A few hundred bytes can expand to gigabytes. A decoder that takes \
input from strangers needs an upper bound that it checks *before* it asks for memory.

## In one sentence

Point back to what was already said, spend few bits on what is common, and agree beforehand on \
what is typical: everything else is engineering. If you would like, I can go through how zstd \
arranges these three steps inside one frame, byte by byte.
"""


class Message(NamedTuple):
    """A response and its title."""

    title: str
    response: cw.Response


MESSAGES = (
    Message("Short answer", cw.Response(SHORT, model="CH", tokens=12)),
    Message("Code in Markdown", cw.Response(CODE, model="C45", tokens=303)),
    Message("JSON of a tool", cw.Response(TOOL, model="G4", tokens=640)),
    Message("Korean answer", cw.Response(KOREAN, model="G5", tokens=268)),
    Message("Long explanation", cw.Response(EXPLANATION, model="C45", tokens=1504)),
)


class _Tokens(NamedTuple):
    """Counts tokens with a tokenizer, or estimates those of plain text."""

    exact: Callable[[str], int] | None

    def of(self, text: str, *, plain: bool = True) -> int | None:
        if self.exact:
            return self.exact(text)
        return cw.estimate_tokens(text) if plain else None


class _Row(NamedTuple):
    format: _Name
    size: int
    tokens: int | None
    encode_us: float
    decode_us: float
    equal: bool


@dataclass(frozen=True)
class _Result:
    message: Message
    chosen: cw.Format
    auto: int
    smallest: int
    rows: list[_Row]

    @property
    def verbose(self) -> int:
        return next(row.size for row in self.rows if row.format == "verbose")

    @property
    def differing(self) -> list[str]:
        return [f"{self.message.title} as {row.format}" for row in self.rows if not row.equal]


def _microseconds(call: Callable[[], object]) -> float:
    """Return the median time of a call; the first call is a warm-up and does not count."""
    call()
    times: list[int] = []
    until = perf_counter_ns() + 8_000_000
    while len(times) < 5 or (len(times) < 201 and perf_counter_ns() < until):
        start = perf_counter_ns()
        call()
        times.append(perf_counter_ns() - start)
    return median(times) / 1000


def _round_trip(response: cw.Response, name: _Name, count: _Tokens) -> _Row:
    encode = partial(cw.encode, response, format=name)
    wire = encode()
    decode = partial(cw.decode, wire)
    try:
        equal = decode() == response
    except cw.CompactWireError:
        equal = False
    # The time to decode a wrong message is not shown.
    decode_us = _microseconds(decode) if equal else nan
    tokens = count.of(wire, plain=name in _PLAIN)
    return _Row(name, len(wire.encode()), tokens, _microseconds(encode), decode_us, equal)


def _measure(message: Message, count: _Tokens) -> _Result:
    auto = cw.encode(message.response)
    return _Result(
        message,
        chosen=cw.detect(auto),
        auto=len(auto.encode()),
        smallest=len(cw.encode(message.response, format="smallest").encode()),
        rows=[_round_trip(message.response, name, count) for name in FORMATS],
    )


# How many lines of GCF are shown.
_SHOWN = 4

_BOLD, _DIM, _RED, _GREEN = "1", "2", "1;31", "32"


@dataclass(frozen=True)
class _Look:
    """The colours and characters that the output can show."""

    colour: bool
    unicode: bool

    @classmethod
    def of(cls, out: TextIO) -> _Look:
        terminal = out.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        utf8 = (out.encoding or "").lower().replace("-", "") == "utf8"
        return cls(colour=terminal and not plain, unicode=terminal and utf8)

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.colour else text

    def time(self, us: float) -> str:
        number = "-" if isnan(us) else f"{us:.1f}"
        return f"{number:>8} {'µs' if self.unicode else 'us'}"

    def bar(self, share: float, width: int = 12) -> str:
        if share > 1:
            return ("█" if self.unicode else "#") * (width - 1) + ("▶" if self.unicode else "+")
        if not self.unicode:
            return ("#" * round(share * width)).ljust(width)
        full, eighths = divmod(round(share * width * 8), 8)
        return ("█" * full + " ▏▎▍▌▋▊▉"[eighths])[:width].ljust(width)


def _heading(look: _Look, result: _Result) -> list[str]:
    """Return the title of a message, and the names of the columns of its rows."""
    size = len(result.message.response.result.encode())
    facts = f", {size:,} bytes; encode chooses {result.chosen}"
    columns = (
        f"  {'format':<11}{'bytes':>7} {'of JSON':>8} {'tokens':>20} {'encode':>11} {'decode':>11}"
    )
    return [look.paint(_BOLD, result.message.title) + facts, look.paint(_DIM, columns)]


def _line(look: _Look, row: _Row, result: _Result) -> str:
    share = row.size / result.verbose
    size = f"{row.format:<11}{row.size:>7,} {share:>8.1%}"
    if row.size == result.smallest:
        size = look.paint(_BOLD, size)
    bar = look.paint(_GREEN if share < 1 else _DIM, look.bar(share))
    tokens = f"{'-' if row.tokens is None else format(row.tokens, ','):>7}"
    times = f"{look.time(row.encode_us)} {look.time(row.decode_us)}"
    return f"  {size} {bar} {tokens} {times}  {_mark(look, row.equal)}"


def _summary(look: _Look, results: list[_Result]) -> str:
    trips = sum(len(result.rows) for result in results)
    if differing := [name for result in results for name in result.differing]:
        text = f"{len(differing)} of {trips} round trips differ: {', '.join(differing)}."
        return look.paint(_RED, text)
    verbose, auto, smallest = (
        sum(getattr(result, size) for result in results) for size in ("verbose", "auto", "smallest")
    )
    sizes = f"auto {auto / verbose:.1%}, smallest {smallest / verbose:.1%}"
    equal = look.paint(_BOLD, f"{trips} round trips, all equal.")
    return f"{equal} Verbose JSON {verbose:,} bytes: {sizes}."


def _conversation(look: _Look) -> tuple[list[str], bool]:
    """Return the lines of the second table, and whether a decoded request differs."""
    found = turns([message.response.result for message in MESSAGES])
    title = look.paint(_BOLD, "The same five as a conversation")
    labels = f"{'as JSON':>8} {'session':>8} {'packed':>8} {'of JSON':>7}"
    lines = [title + look.paint(_DIM, f", in bytes    {labels}")]
    for number, turn in enumerate(found, 1):
        plain, frames, packed = turn.sizes
        share = packed / plain
        sizes = f"{plain:>8,} {frames:>8,} {packed:>8,}"
        bar = look.paint(_GREEN, look.bar(share))
        lines.append(f"  turn {number:<38}{sizes} {share:>7.1%} {bar}  {_mark(look, turn.equal)}")
    plain, frames, packed = map(sum, zip(*(turn.sizes for turn in found), strict=True))
    saved = f"session {1 - frames / plain:.1%}, packed {1 - packed / plain:.1%}"
    lines.append(f"Sent again each time {plain:,} bytes. Saved: {saved}.")
    return lines, not all(turn.equal for turn in found)


def _for_models(look: _Look, count: _Tokens) -> tuple[list[str], bool]:
    """Return the lines of the first table, and whether a text that was read back differs."""
    saved = measure(count.exact or cw.estimate_tokens)
    title = look.paint(_BOLD, "What a language model reads")
    unit = "tokens" if count.exact else "tokens, estimated"
    lines = [title + look.paint(_DIM, f", {unit:<24} {'JSON':>4} {'GCF':>6} {'of JSON':>7}")]
    for example, before, after in saved:
        share = after / before
        bar = look.paint(_GREEN, look.bar(share))
        lines.append(
            f"  {example.title:<30} {example.call:<16} {before:>8,} {after:>6,} {share:>7.1%} {bar}"
            f"  {_mark(look, example.equal)}"
        )
    lines.append(look.paint(_DIM, "  the issues as GCF:"))
    shown = saved[0].example.after.splitlines()[:_SHOWN]
    lines += [f"    {line if len(line) <= 76 else line[:73] + '...'}" for line in shown]
    return lines, not all(each.example.equal for each in saved)


def _mark(look: _Look, equal: bool) -> str:
    good, bad = ("✓", "✗ differs") if look.unicode else ("ok", "DIFFERS")
    return look.paint(_GREEN, good) if equal else look.paint(_RED, bad)


def run(out: TextIO, count: Callable[[str], int] | None = None) -> int:
    """Print the tables; return 1 if a decoded message differs from the original, else 0.

    `count` counts tokens; without it, those of plain text are estimated.
    """
    look, tokens = _Look.of(out), _Tokens(count)
    lines, unlike = _for_models(look, tokens)
    print("\n".join([*lines, ""]), file=out, flush=True)
    results: list[_Result] = []
    for message in MESSAGES:
        result = _measure(message, tokens)
        rows = (_line(look, row, result) for row in result.rows)
        lines = [*_heading(look, result), *rows, ""]
        print("\n".join(lines), file=out, flush=True)
        results.append(result)
    print(_summary(look, results), file=out)
    conversation, differs = _conversation(look)
    print("", *conversation, sep="\n", file=out)
    return 1 if unlike or differs or any(result.differing for result in results) else 0
