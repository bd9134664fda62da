"""Graph payloads as text, deltas and GCB: slow, simple, written from the specification alone.

A payload is a dict of the fields of the wire codecs: symbols are dicts, edges tuples of source,
target, type and status. An invalid text raises `Invalid` with the code and the line.

Source: GCF 3.6 sections 3, 8 to 11 and 16; wire codecs, "Binary Wire Layout".
"""

from __future__ import annotations

import hashlib
import re
import struct
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any


def words_of(text: str) -> list[str]:
    return text.split()


KINDS = words_of(
    "function:fn interface:iface route_handler:route external:ext package:pkg service:svc"
)
SHORT = dict(pair.split(":") for pair in KINDS)
LONG = {short: long for long, short in SHORT.items()}
GROUPS = ["targets", "related", "extended"]
DELTA = ["removed", "added", "edges_removed", "edges_added", "loc"]
SCORE = re.compile(r"-?[0-9]+\.[0-9]{2}")
DIGITS = re.compile(r"[0-9]+")
COUNT = re.compile(r"\[(0|[1-9][0-9]*|\?)\]")
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}

Payload = dict[str, Any]


class Invalid(Exception):
    def __init__(self, code: str, line: int) -> None:
        super().__init__(f"{code} in line {line}")
        self.code, self.line = code, line


def score_text(score: float) -> str:
    text = str(Decimal(score).quantize(Decimal("0.01"), ROUND_HALF_EVEN))
    return "-0.00" if text == "0.00" and str(score).startswith("-") else text


def node(number: int, symbol: dict[str, Any]) -> str:
    kind = SHORT.get(symbol["kind"], symbol["kind"])
    score = score_text(symbol["score"])
    return f"@{number} {kind} {symbol['qualified_name']} {score} {symbol['provenance']}"


def group_of(distance: int) -> str:
    return GROUPS[distance] if distance < 3 else f"distance_{distance}"


def quoted(text: str) -> str:
    short = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escaped = "".join(
        short.get(c) or (f"\\{c}" if c in '"\\' else c if c >= " " else f"\\u{ord(c):04x}")
        for c in text
    )
    return f'"{escaped}"'


def locations(located: list[tuple[int, tuple[Any, ...]]]) -> list[str]:
    lines = [f"## loc [{len(located)}]"] if located else []
    for number, (file, *numbers) in sorted(located):
        bare = file and all("!" <= c <= "~" for c in file) and not file.startswith('"')
        words = [f"@{number}", file if bare else quoted(file), *map(str, numbers)]
        lines.append(" ".join(words))
    return lines


def encode(payload: Payload) -> str:
    """Write a payload that the profile can carry."""
    symbols = sorted(payload["symbols"], key=lambda s: (s["distance"], -s["score"]))
    ids = {symbol["qualified_name"]: i for i, symbol in enumerate(symbols)}
    edges = [
        (ids[source], ids[target], kind, "" if status == "unchanged" else status)
        for source, target, kind, status in payload["edges"]
    ]
    header = ["GCF profile=graph"]
    fields = [("tool", "tool"), ("budget", "token_budget"), ("tokens", "tokens_used")]
    header += [f"{name}={payload[field]}" for name, field in fields if payload[field]]
    header.append(f"symbols={len(symbols)}")
    if edges:
        header.append(f"edges={len(edges)}")
    if payload["pack_root"]:
        header.append(f"pack_root={payload['pack_root']}")
    lines = [" ".join(header)]
    distance = None
    for i, symbol in enumerate(symbols):
        if symbol["distance"] != distance:
            distance = symbol["distance"]
            lines.append(f"## {group_of(distance)}")
        lines.append(node(i, symbol))
    if edges:
        lines.append(f"## edges [{len(edges)}]")
        for source, target, kind, status in sorted(
            edges, key=lambda e: (e[0], e[1], e[2].encode())
        ):
            lines.append(f"@{target}<@{source} {kind} {status}".rstrip(" "))
    lines += locations([(i, s["location"]) for i, s in enumerate(symbols) if s["location"]])
    return "\n".join(lines) + "\n"


def root(payload: Payload) -> str:
    """The pack root (gcf-pack-root-v1); scores have two decimals."""

    def short(symbol: dict[str, Any]) -> str:
        return SHORT.get(symbol["kind"], symbol["kind"])

    kinds = {symbol["qualified_name"]: short(symbol) for symbol in payload["symbols"]}
    symbols = []
    for s in payload["symbols"]:
        score = f"{s['score']:g}" if s["score"] else "0"
        record = ("S", short(s), s["qualified_name"], score, s["provenance"], str(s["distance"]))
        symbols.append("\t".join(record).encode() + b"\n")
    edges = [
        "\t".join(("E", kinds[source], source, kinds[target], target, kind)).encode() + b"\n"
        for source, target, kind, _ in payload["edges"]
    ]
    return "sha256:" + hashlib.sha256(b"".join(sorted(symbols) + sorted(edges))).hexdigest()


def encode_delta(base: Payload, new: Payload, tool: str) -> str:
    """Write the delta between two snapshots."""

    def carried(payload: Payload) -> dict[tuple[str, str], tuple[float, str, int]]:
        return {
            (s["kind"], s["qualified_name"]): (s["score"], s["provenance"], s["distance"])
            for s in payload["symbols"]
        }

    def changed(one: Payload, other: Payload) -> list[dict[str, Any]]:
        there, here = carried(other), carried(one)
        keys = [(s["kind"], s["qualified_name"]) for s in one["symbols"]]
        return [
            symbol
            for key, symbol in zip(keys, one["symbols"], strict=True)
            if there.get(key) != here[key]
        ]

    def edges(one: Payload, other: Payload) -> list[str]:
        there = {edge[:3] for edge in other["edges"]}
        return [f"{s} -> {t} {kind}" for s, t, kind, _ in one["edges"] if (s, t, kind) not in there]

    lines = [
        f"GCF profile=graph tool={tool} delta=true base_root={root(base)} new_root={root(new)}"
    ]
    removed = [
        f"{SHORT.get(s['kind'], s['kind'])} {s['qualified_name']}" for s in changed(base, new)
    ]
    added = changed(new, base)
    for name, items in [
        ("removed", removed),
        ("added", [f"{node(i, symbol)} {symbol['distance']}" for i, symbol in enumerate(added)]),
        ("edges_removed", edges(base, new)),
        ("edges_added", edges(new, base)),
    ]:
        if items:
            lines += [f"## {name}", *items]
    lines += locations([(i, s["location"]) for i, s in enumerate(added) if s["location"]])
    return "\n".join(lines) + "\n"


def decode(text: str) -> tuple[str, Payload]:
    """Read a text: its kind (payload, delta or unchanged) and its content."""
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text: str) -> None:
        *ended, last = text.split("\n")
        self.all = [line.removesuffix("\r") for line in ended] + ([last] if last else [])
        self.at = 0
        self.symbols: dict[int, dict[str, Any]] = {}
        self.edges: list[tuple[str, ...]] = []
        self.removed: list[tuple[str, str]] = []
        self.removed_edges: list[tuple[str, ...]] = []
        self.section: Any = 0
        self.due: tuple[int, int] | None = None
        self.seen = 0

    def fail(self, code: str, line: int | None = None) -> Invalid:
        return Invalid(code, self.at if line is None else line)

    def require(self, condition: object, code: str) -> None:
        if not condition:
            raise self.fail(code)

    def lines(self) -> Any:
        """Each significant line, without trailing blanks."""
        for number, line in enumerate(self.all[1:], 2):
            self.at = number
            text = line.lstrip(" \t")
            if not text or text.startswith("# "):
                continue
            blanks = line[: len(line) - len(text)]
            self.require("\t" not in blanks, "tab_indentation")
            self.require(not blanks, "invalid_indent")
            yield text.rstrip(" \t")

    def pairs(self, words: list[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for word in words:
            self.require("=" in word, "malformed_header_field")
            name, value = word.split("=", 1)
            self.require(name not in found, "duplicate_header_field")
            found[name] = value
        return found

    def whole(self) -> tuple[str, Payload]:
        self.at = 1
        first = self.all[0] if self.all else ""
        words = [word for word in first.split(" ") if word]
        self.require(words[:1] == ["GCF"] and first.startswith("GCF"), "missing_header")
        header = self.pairs(words[1:])
        self.require(next(iter(header), "") == "profile" and header["profile"], "missing_profile")
        self.require(header["profile"] in ("generic", "graph"), "unknown_profile")
        self.require(header["profile"] == "graph", "wrong_profile")
        delta, unchanged = (header.get(name) == "true" for name in ("delta", "unchanged"))
        self.require(not (delta and unchanged), "malformed_delta")
        counts = {"symbols"} if unchanged else {"tokens"} if delta else {"tokens", "budget"}
        if delta:
            self.require(header.get("base_root") and header.get("new_root"), "malformed_delta")
        for name in counts:
            value = header.get(name) or "0"
            good = DIGITS.fullmatch(value) and int(value) < 2**63
            self.require(good, "malformed_header_field")
        if unchanged:
            for _ in self.lines():
                raise self.fail("trailing_characters")
        elif delta:
            self.delta()
        else:
            self.body()
        found: Payload = {
            "tool": header.get("tool", ""),
            "tokens_used": int(header.get("tokens") or 0),
            "token_budget": int(header.get("budget") or 0),
            "pack_root": header.get("pack_root", ""),
            "symbols": list(self.symbols.values()),
            "edges": self.edges,
        }
        if delta:
            found |= {name: header[name] for name in ("base_root", "new_root")}
            found |= {"removed": self.removed, "removed_edges": self.removed_edges}
        return "delta" if delta else "unchanged" if unchanged else "payload", found

    def body(self) -> None:
        ended = False
        for line in self.lines():
            self.require(not ended, "trailing_characters")
            if line.startswith("##! "):
                self.trailer([word for word in line.split(" ") if word][1:])
                ended = True
            elif line.startswith("## "):
                self.group(self.name(line[3:]))
            elif self.section != "unknown":
                self.seen += 1
                if self.section == "edges":
                    self.edge([word for word in line.split(" ") if word])
                elif self.section == "loc":
                    self.location(line)
                else:
                    self.node([word for word in line.split(" ") if word], self.section)
        self.close()

    def name(self, header: str) -> str:
        """End the previous section, and read name and count of the next."""
        self.close()
        words = header.lstrip(" \t")
        name, _, rest = words.partition(" ")
        rest = rest.lstrip(" \t")
        if not rest.startswith("["):
            return words if rest else name
        count = COUNT.fullmatch(rest)
        if not count:
            raise self.fail("invalid_count")
        self.due = None if count[1] == "?" else (int(count[1]), self.at)
        return name

    def close(self) -> None:
        if self.due and self.due[0] != self.seen:
            raise self.fail("count_mismatch", self.due[1])
        self.due, self.seen = None, 0

    def group(self, name: str) -> None:
        numbered = re.fullmatch(r"distance_([0-9]+)", name)
        if name in GROUPS:
            self.section = GROUPS.index(name)
        elif name in ("edges", "loc"):
            self.section = name
        elif numbered:
            self.require(int(numbered[1]) < 2**63, "out_of_range")
            self.section = int(numbered[1])
        else:
            self.section, self.due = "unknown", None

    def trailer(self, words: list[str]) -> None:
        self.require(words[:1] == ["summary"], "invalid_line")
        fields = self.pairs(words[1:])
        for name, value in fields.items():
            found = {"symbols": len(self.symbols), "edges": len(self.edges)}.get(name)
            good = DIGITS.fullmatch(value) and int(value) == found
            self.require(found is None or good, "count_mismatch")

    def id(self, digits: str) -> int:
        self.require(DIGITS.fullmatch(digits), "invalid_symbol_id")
        return int(digits)

    def new_id(self, digits: str) -> int:
        number = self.id(digits)
        self.require(number < 2**64 and number not in self.symbols, "invalid_symbol_id")
        return number

    def score(self, word: str) -> float:
        self.require(SCORE.fullmatch(word), "invalid_score")
        value = float(word)
        self.require(abs(value) != float("inf"), "out_of_range")
        return value

    def node(self, words: list[str], distance: int) -> None:
        self.require(words[0].startswith("@"), "invalid_node_line")
        if words[1:] == ["#", "previously", "transmitted"]:
            self.new_id(words[0][1:])
            raise self.fail("unknown_session_reference")
        self.require(len(words) == 5, "invalid_node_line")
        self.declare(words, distance)

    def declare(self, words: list[str], distance: int) -> None:
        number = self.new_id(words[0][1:])
        self.symbols[number] = {
            "qualified_name": words[2],
            "kind": LONG.get(words[1], words[1]),
            "score": self.score(words[3]),
            "provenance": words[4],
            "distance": distance,
            "location": None,
        }

    def edge(self, words: list[str]) -> None:
        self.require("<" in words[0] and len(words) in (2, 3), "invalid_edge_syntax")
        ends = []
        for word in words[0].split("<", 1):
            self.require(word.startswith("@"), "invalid_edge_syntax")
            number = self.id(word[1:])
            self.require(number in self.symbols, "unknown_edge_reference")
            ends.append(self.symbols[number]["qualified_name"])
        self.edges.append((ends[1], ends[0], words[1], words[2] if len(words) == 3 else ""))

    def location(self, line: str) -> None:
        first, _, rest = line.partition(" ")
        self.require(first.startswith("@"), "invalid_loc_line")
        number = self.id(first[1:])
        self.require(number in self.symbols, "unknown_loc_reference")
        rest = rest.lstrip(" ")
        if rest.startswith('"'):
            file, rest = self.quoted(rest)
        else:
            file, space, rest = rest.partition(" ")
            self.require(file and all("!" <= c <= "~" for c in file), "invalid_loc_line")
            rest = space + rest
        words = [word for word in rest.split(" ") if word]
        self.require(rest.startswith(" ") and len(words) in (2, 4), "invalid_loc_line")
        good = (DIGITS.fullmatch(word) and 0 < int(word) < 2**64 for word in words)
        self.require(all(good), "invalid_loc_line")
        self.require(self.symbols[number]["location"] is None, "invalid_loc_line")
        self.symbols[number]["location"] = (file, *map(int, words))

    def quoted(self, text: str) -> tuple[str, str]:
        out, at = "", 1
        while True:
            self.require(at < len(text), "unterminated_quote")
            char = text[at]
            self.require(char >= " ", "invalid_escape")
            if char == '"':
                return out, text[at + 1 :]
            if char != "\\":
                out, at = out + char, at + 1
                continue
            self.require(at + 1 < len(text), "unterminated_quote")
            if text[at + 1] in ESCAPES:
                out, at = out + ESCAPES[text[at + 1]], at + 2
                continue
            unit = self.unit(text, at)
            at += 6
            if 0xD800 <= unit < 0xDC00:
                self.require(text[at : at + 2] == "\\u", "invalid_surrogate")
                low = self.unit(text, at)
                self.require(0xDC00 <= low < 0xE000, "invalid_surrogate")
                unit, at = 0x10000 + (unit - 0xD800) * 0x400 + low - 0xDC00, at + 6
            self.require(not 0xD800 <= unit < 0xE000, "invalid_surrogate")
            out += chr(unit)

    def unit(self, text: str, at: int) -> int:
        digits = re.fullmatch(r"\\u([0-9a-fA-F]{4})", text[at : at + 6])
        if not digits:
            raise self.fail("invalid_escape")
        return int(digits[1], 16)

    def delta(self) -> None:
        begun: list[str] = []
        for line in self.lines():
            if line.startswith("## "):
                name = self.name(line[3:])
                self.require(name in DELTA and name not in begun, "malformed_delta")
                begun.append(name)
                continue
            self.require(begun, "malformed_delta")
            self.seen += 1
            words = [word for word in line.split(" ") if word]
            if begun[-1] == "removed":
                self.require(len(words) == 2, "malformed_delta")
                self.removed.append((LONG.get(words[0], words[0]), words[1]))
            elif begun[-1] == "added":
                good = len(words) == 6 and words[0].startswith("@")
                self.require(good and DIGITS.fullmatch(words[5]), "malformed_delta")
                self.require(int(words[5]) < 2**63, "malformed_delta")
                self.declare(words[:5], int(words[5]))
            elif begun[-1] == "loc":
                self.location(line)
            else:
                self.require(len(words) == 4 and words[1] == "->", "malformed_delta")
                edges = self.edges if begun[-1] == "edges_added" else self.removed_edges
                edges.append((words[0], words[2], words[3], ""))
        self.close()


GCB_KINDS = words_of("""
    function type method interface var const resource table class selector field route_handler
    external file package service env_var process
""")
GCB_PROVENANCES = words_of("""
    ast_inferred ast_resolved lsp_resolved otel_trace scip_resolved runtime_observed structural
""")
GCB_EDGES = words_of("""
    calls imports implements references handles_route depends_on deploys exposes configures extends
    overrides decorates throws owned_by authored_by tests runtime_calls runtime_rpc runtime_produces
    runtime_consumes contains member_of documents consumes_endpoint implements_rpc consumes_rpc
    gated_by_flag deployed_by tested_by publishes subscribes connects_to similar_to co_tested_with
    type_hint_of accesses_field reads_env executes_process
""")
GCB_STATUSES = ["added", "removed"]


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def encode_gcb(payload: Payload) -> bytes:
    """Write a payload that the layout can carry."""

    def text(value: str) -> bytes:
        return varint(len(value.encode())) + value.encode()

    def word(table: list[str], value: str) -> bytes:
        return bytes([table.index(value) + 1 if value else 0])

    places = {symbol["qualified_name"]: i for i, symbol in enumerate(payload["symbols"])}
    out = [b"GCB1\x01", text(payload["tool"])]
    counts = [payload["tokens_used"], payload["token_budget"]]
    out += map(varint, [*counts, len(payload["symbols"]), len(payload["edges"])])
    for s in payload["symbols"]:
        out += [
            text(s["qualified_name"]),
            word(GCB_KINDS, s["kind"]),
            struct.pack("<f", s["score"]),
        ]
        out += [word(GCB_PROVENANCES, s["provenance"]), bytes([s["distance"]])]
        out += [text(s["signature"]), struct.pack("<4f", *s["components"])]
    for source, target, kind, status in payload["edges"]:
        out += [varint(places[source]), varint(places[target]), word(GCB_EDGES, kind)]
        out.append(word(GCB_STATUSES, "" if status == "unchanged" else status))
    return b"".join(out)


def decode_gcb(data: bytes) -> Payload:
    """Read well-formed bytes; numbers are the widened binary32."""
    at = 5
    assert data[:at] == b"GCB1\x01"

    def take(count: int) -> bytes:
        nonlocal at
        assert at + count <= len(data)
        at += count
        return data[at - count : at]

    def number() -> int:
        byte = take(1)[0]
        return byte if byte < 0x80 else (byte & 0x7F) | number() << 7

    def text() -> str:
        return take(number()).decode()

    def word(table: list[str]) -> str:
        return ["", *table][take(1)[0]]

    tool, used, budget, symbol_count, edge_count = text(), *(number() for _ in range(4))
    symbols = [
        {
            "qualified_name": text(),
            "kind": word(GCB_KINDS),
            "score": struct.unpack("<f", take(4))[0],
            "provenance": word(GCB_PROVENANCES),
            "distance": take(1)[0],
            "signature": text(),
            "components": struct.unpack("<4f", take(16)),
        }
        for _ in range(symbol_count)
    ]
    names = [symbol["qualified_name"] for symbol in symbols]
    edges = [
        (names[number()], names[number()], word(GCB_EDGES), word(GCB_STATUSES))
        for _ in range(edge_count)
    ]
    assert at == len(data)
    fields = {"tool": tool, "tokens_used": used, "token_budget": budget, "pack_root": ""}
    return {**fields, "symbols": symbols, "edges": edges}
