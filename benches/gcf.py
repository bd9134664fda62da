"""GCF: speed against orjson, gcf-python and toons, and tokens against JSON.

    python -m benches gcf [--rows loads,dumps] [--rows flat,orders]

Every peer writes and reads the same values in the same run. orjson makes bytes: `dumps` to str is
compared with `orjson.dumps(...).decode()`, and to bytes with `orjson.dumps`. Each call reads a new
str or bytes, or writes a copy with new texts. Tokens are those of o200k_base, counted by
bpe-openai.
"""

from __future__ import annotations

import datetime
import json
import marshal
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import orjson
import toons

import gcf as gcf_python
from compactwire import gcf
from compactwire.cli._shell import token_counter

from .measure import Call
from .shapes import Shape, shapes
from .speed import Case, same

ORJSON, GCF_PYTHON, TOONS = "orjson", "gcf-python", "toons"
MARSHAL = "marshal.loads of the value"

# The targets: our time divided by orjson's.
DUMPS = {
    "500 flat rows": 1.2,
    "10,000 flat rows": 1.35,
    "500 x 10 ints": 1.3,
    "500 x 10 doubles of 16 digits": 1.5,
    "500 x 5 unique texts": 1.3,
    "500 x 30 mixed columns": 1.3,
    "500 nested orders": 1.35,
    "keyed map of 1,000": 1.15,
    "deep JSON, 100 levels": 2.0,
    "100 long texts": 2.0,
    "500 rows with datetimes": 1.3,
    "500 flat rows, an OrderedDict last": 1.3,
}
DUMPS_BYTES = {**DUMPS, "100 long texts": 1.2}
LOADS = {
    "500 flat rows": 0.75,
    "10,000 flat rows": 0.75,
    "500 x 10 ints": 0.75,
    "500 x 10 doubles of 16 digits": 1.0,
    "500 x 5 unique texts": 0.9,
    "500 x 30 mixed columns": 0.75,
    "500 nested orders": 0.85,
    "keyed map of 1,000": 0.9,
    "deep JSON, 100 levels": 1.1,
    "100 long texts": 0.6,
}
LOADS_COLLECTED = {**LOADS, "500 nested orders": 0.6}
# The shapes for which the older peers are measured, too.
OLDER = {
    "500 flat rows",
    "10,000 flat rows",
    "500 nested orders",
    "keyed map of 1,000",
    "deep JSON, 100 levels",
    "100 long texts",
}

to_bytes: Callable[..., bytes] | None = getattr(gcf, "dumps_bytes", None)


def plain(found: object) -> str:
    """Convert an object to JSON values, as a `default=` function."""
    if isinstance(found, datetime.datetime):
        return found.isoformat()
    raise TypeError(type(found).__name__)


class Texts:
    """A value as text in each format, created on first use."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.dates = shape.size == "500 rows with datetimes"

    def function(self, work: Callable[..., Any]) -> Callable[[Any], Any]:
        """Give a writer the option that the value needs."""
        return partial(work, default=plain) if self.dates else work

    @cached_property
    def orjson(self) -> Callable[[Any], bytes]:
        """The writer of orjson, with an option so that it, too, calls `default=` for datetimes."""
        if self.dates:
            return partial(orjson.dumps, default=plain, option=orjson.OPT_PASSTHROUGH_DATETIME)
        return orjson.dumps

    @cached_property
    def gcf(self) -> bytes:
        """Our text, checked: it reads back as the value, and converts from and to its JSON."""
        value = self.shape.value
        text: str = self.function(gcf.dumps)(value)
        read = orjson.loads(self.json)
        same(gcf.loads(text), read)
        same(gcf.from_json(self.json.decode()), text)
        same(orjson.loads(gcf.to_json(text)), read)
        if to_bytes:
            same(self.function(to_bytes)(value), text.encode())
        return text.encode()

    @cached_property
    def json(self) -> bytes:
        """The text of orjson."""
        return self.orjson(self.shape.value)


def cases(scale: int = 1) -> Iterator[Case]:
    """Every comparison."""
    for shape in shapes(scale):
        texts = Texts(shape)
        yield from writing(texts)
        if not shape.foreign:
            yield from reading(texts)
            yield bare(texts)
        if shape.size in OLDER:
            yield from older(texts)


def writing(texts: Texts) -> Iterator[Case]:
    """Write to str and to bytes, each compared with orjson's way to the same type."""
    size, fresh = texts.shape.size, texts.shape.fresh

    def calls(ours: Callable[..., Any], theirs: Callable[[Any], Any]) -> tuple[Call, Call]:
        same(bool(texts.gcf), expected=True)
        return Call(texts.function(ours), fresh), Call(theirs, fresh)

    def decoded(value: Any) -> str:
        return orjson_dumps(value).decode()

    orjson_dumps = texts.orjson
    yield Case("gcf.dumps", size, f"{ORJSON}, decoded", DUMPS.get(size),
               lambda: calls(gcf.dumps, decoded), collectors=(False, True))  # fmt: skip
    if work := to_bytes:
        yield Case("gcf.dumps_bytes", size, ORJSON, DUMPS_BYTES.get(size),
                   lambda: calls(work, orjson_dumps), collectors=(False, True))  # fmt: skip


def reading(texts: Texts) -> Iterator[Case]:
    """Read from str and from bytes."""
    size = texts.shape.size
    for name, fresh in (("str", bytes.decode), ("bytes", renewed)):
        for collector, targets in ((False, LOADS), (True, LOADS_COLLECTED)):
            yield Case(
                f"gcf.loads of {name}", size, ORJSON, targets.get(size),
                lambda fresh=fresh: (
                    Call(gcf.loads, partial(fresh, texts.gcf), kept=True),
                    Call(orjson.loads, partial(fresh, texts.json), kept=True),
                ),
                collectors=(collector,),
            )  # fmt: skip


def bare(texts: Texts) -> Case:
    """Create the same objects from a form that leaves almost nothing to parse."""

    def calls() -> tuple[Call, Call]:
        # Keys and short texts are shared in the form, as they are in the value.
        form = marshal.dumps(orjson.loads(texts.json))
        same(marshal.loads(form), gcf.loads(texts.gcf))
        return (
            Call(gcf.loads, partial(bytes.decode, texts.gcf), kept=True),
            Call(marshal.loads, partial(renewed, form), kept=True),
        )

    return Case("gcf.loads of str", texts.shape.size, MARSHAL, None, calls)


def renewed(data: bytes) -> bytes:
    """Copy bytes."""
    return bytes(bytearray(data))


def older(texts: Texts) -> Iterator[Case]:
    """Write and read with the other packages: one of the same format, and one of TOON."""
    size, fresh = texts.shape.size, texts.shape.fresh
    peers: list[tuple[str, float, float, Callable[[Any], str], Callable[[str], Any]]] = [
        (GCF_PYTHON, 1 / 40, 1 / 20, gcf_python.encode_generic, gcf_python.decode_generic),
        (TOONS, 1, 1, toons.dumps, toons.loads),
    ]
    for peer, most_writing, most_reading, write, read in peers:

        def read_calls(
            write: Callable[[Any], str] = write, read: Callable[[str], Any] = read
        ) -> tuple[Call, Call]:
            theirs = write(texts.shape.value).encode()
            same(read(theirs.decode()), texts.shape.value)
            return (
                Call(gcf.loads, partial(bytes.decode, texts.gcf), kept=True),
                Call(read, partial(bytes.decode, theirs), kept=True),
            )

        yield Case("gcf.dumps", size, peer, most_writing,
                   lambda w=write: (Call(gcf.dumps, fresh), Call(w, fresh)))  # fmt: skip
        yield Case("gcf.loads of str", size, peer, most_reading, read_calls)


def tokens() -> list[list[str]]:
    """Bytes and tokens of each value in each form; empty if no tokenizer is installed."""
    count = token_counter()
    if count is None:
        return []
    rows = []
    for shape in shapes():
        if shape.size not in OLDER:
            continue
        value = shape.value
        compact = orjson.dumps(value).decode()
        forms = [
            json.dumps(value, indent=2, ensure_ascii=False),
            gcf.dumps(value),
            gcf.dumps(value, constant_columns=True),
            toons.dumps(value),
        ]
        base = count(compact)
        row = [
            shape.size, f"{len(compact.encode()):,}", f"{len(forms[1].encode()):,}", f"{base:,}",
        ]  # fmt: skip
        rows.append([*row, *(f"{found:,} ({found / base:.0%})" for found in map(count, forms))])
    return rows
