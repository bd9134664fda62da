"""A reader of the GCF generic profile: slow, simple, written from the specification.

It reads the well-formed text that encoders write, and refuses some invalid text: enough to decide
the meaning of a text without compactwire.

Source: GCF 3.6 sections 2 to 8; the forms beyond it as `docs/gcf.md` defines them.
"""

from __future__ import annotations

import json
import re
from typing import Any

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
COUNT = re.compile(r"\[(0|[1-9][0-9]*|\?)(:?)\]")
ROW_ID = re.compile(r"\A@[0-9]+ ")
ITEM = re.compile(r"@[0-9]+ (=|\{\}|\[)")
ELEMENT = re.compile(r'[ \t]*"(?:[^"\\]|\\.)*"[ \t]*(?![^,|])|[^,|]*')

ABSENT, MARKER, LIST = object(), object(), object()


def loads(text: str, *, extensions: bool = False) -> Any:
    head, *rest = text.split("\n")
    if head.split(" ")[:2] != ["GCF", "profile=generic"]:
        raise ValueError(head)
    keyed_set = {"pack_root", "key"} <= {pair.split("=")[0] for pair in head.split(" ")[2:]}
    return _Reader(rest, keyed_set, extensions).root()


def scalar(token: str) -> Any:
    token = token.strip(" \t")
    if token.startswith('"'):
        return json.loads(token)
    words = {"-": None, "true": True, "false": False, "~": ABSENT, "^": MARKER}
    if token in words:
        return words[token]
    if NUMBER.fullmatch(token):
        return float(token) + 0.0 if set(token) & set(".eE") else int(token)
    return token


def split(text: str, delimiter: str) -> list[str]:
    """Split at delimiters outside quotes; a quote opens a token, or a name of a schema."""
    parts, at = [], 0
    while True:
        start = at
        schema = re.match(r'[ \t]*\^\{("(?:[^"\\]|\\.)*"|[^"|}])*\}', text[at:])
        quoted = re.match(r"[ \t]*" + QUOTED.pattern, text[at:])
        if (schema and delimiter == "|") or quoted:
            at += (quoted or schema).end()  # type: ignore[union-attr]
        stop = text.find(delimiter, at)
        if stop < 0:
            return [*parts, text[start:]]
        parts.append(text[start:stop])
        at = stop + 1


def split_row(text: str, declared: list[tuple[str, bool, Any]]) -> list[Any]:
    """Split a row; the cell of a list column is a list of its elements."""
    kinds = [kind for _, _, kind in declared if kind in (MARKER, LIST)]
    cells: list[Any] = []
    while True:
        if len(cells) < len(kinds) and kinds[len(cells)] is LIST:
            elements, end = [], -1
            while end < 0 or text[end : end + 1] == ",":
                found = ELEMENT.match(text, end + 1)
                assert found is not None
                elements.append(found[0])
                end = found.end()
            cells.append(elements)
        else:
            cells.append(split(text, "|")[0])
            end = len(cells[-1])
        if end == len(text):
            return cells
        text = text[end + 1 :]


def list_of(elements: list[str]) -> Any:
    """The value of a cell of a list column."""
    if len(elements) == 1 and elements[0].strip(" \t") in ("", "-", "~"):
        return {"": [], "-": None, "~": ABSENT}[elements[0].strip(" \t")]
    found = [scalar(element) for element in elements]
    assert not any(element is ABSENT or element is MARKER for element in found)
    assert not any(re.fullmatch(r"[ \t]*\^\{.*\}[ \t]*", element) for element in elements)
    return found


def key(text: str) -> tuple[str, str]:
    """The key at the start of a text, and the rest of the text."""
    quoted, bare = QUOTED.match(text), BARE_KEY.match(text)
    if quoted:
        return json.loads(quoted[0]), text[quoted.end() :]
    if not bare:
        raise ValueError(text)
    return bare[0], text[bare.end() :]


def fields(text: str, *, lists: bool = False) -> tuple[list[tuple[str, bool, Any]], str, list[str]]:
    """Read `{a,"b>c",d=1,e[]}`: names, whether they are paths, and the constant or kind of cell;
    the rest of the text; and the names after `@`.
    """
    found: list[tuple[str, bool, Any]] = []
    identities = []
    rest = text
    while rest[:1] in ("{", ","):
        if rest[1] == "@":
            identities.append(key(rest[2:])[0])
            rest = rest[0] + rest[2:]
        quoted = rest[1] == '"'
        name, rest = key(rest[1:])
        constant: Any = MARKER
        if rest.startswith("[]"):
            assert lists
            assert ">" not in name
            assert name not in identities
            assert rest[2] != "="
            constant, rest = LIST, rest[2:]
        if rest[0] == "=":
            value = QUOTED.match(rest[1:]) or re.match(r"[^,}]*", rest[1:])
            assert value is not None
            constant, rest = scalar(value[0]), rest[1 + value.end() :]
        segments = name.split(">")
        found.append((name, quoted and len(segments) > 1 and all(segments), constant))
    return found, rest[1:], identities


class _Reader:
    def __init__(self, lines: list[str], keyed_set: bool, extensions: bool) -> None:
        self.keyed_set, self.extensions = keyed_set, extensions
        kept = [line.removesuffix("\r") for line in lines]
        kept = [line for line in kept if line.strip(" \t") and not re.match(r"[ \t]*# ", line)]
        self.lines = [(len(line) - len(line.lstrip(" ")), line.lstrip(" ")) for line in kept]
        self.at = 0

    def peek(self) -> tuple[int, str]:
        return self.lines[self.at] if self.at < len(self.lines) else (-1, "")

    def next(self) -> str:
        self.at += 1
        return self.lines[self.at - 1][1]

    def root(self) -> Any:
        _, line = self.peek()
        if line.startswith("="):
            return scalar(self.next()[1:])
        if line.startswith("## ["):
            return self.block(self.next()[3:], 0, {})
        return self.members(0)

    def members(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.peek()[0] == depth and not self.peek()[1].startswith("##! "):
            line = self.next()
            section = line.startswith("## ")
            name, rest = key(line[3:] if section else line)
            assert name not in found
            if not section:
                found[name] = scalar(rest[1:]) if rest[0] == "=" else self.block(rest, depth, {})
            elif rest.strip():
                found[name] = self.block(rest.strip(), depth, {})
            else:
                found[name] = self.members(depth + 2)
        return found

    def block(self, text: str, depth: int, shared: dict[str, Any], name: str = "") -> Any:
        count = COUNT.match(text)
        assert count is not None
        rest = text[count.end() :]
        size = None if count[1] == "?" else int(count[1])
        if self.extensions and re.match(r"\{[ \t]*\[", rest):
            width = re.fullmatch(r"\{[ \t]*\[([1-9][0-9]*)\][ \t]*\}[ \t]*", rest)
            assert width is not None
            assert not count[2]
            return self.matrix(size, depth, int(width[1]))
        if rest.startswith("{"):
            declared, rest, identities = fields(rest, lists=self.extensions)
            if rest.strip(" \t"):
                assert not count[2]
                return self.groups(size, depth, declared, identities, rest)
            assert not identities or self.keyed_set
            if count[2]:
                assert declared[0][2] is MARKER
                return self.keyed(size, depth, declared[1:])
            shared.setdefault(name, declared)
            return self.rows(size, depth, declared)
        if rest.startswith(":"):
            elements = split(rest[1:].lstrip(" "), ",") if size != 0 else []
            assert size in (None, len(elements))
            return [scalar(element) for element in elements]
        if size != 0 and name in shared and not ITEM.match(self.peek()[1]):
            return self.rows(size, depth, shared[name])
        return self.items(size, depth)

    def items(self, size: int | None, depth: int) -> list[Any]:
        found: list[Any] = []
        while self.more(size, len(found), depth):
            line = self.next()
            prefix = f"@{len(found)} "
            assert line.startswith(prefix)
            form = line.removeprefix(prefix)
            if form.startswith("="):
                found.append(scalar(form[1:]))
            elif form.startswith("{}"):
                found.append(self.members(depth + 2))
            else:
                found.append(self.block(form, depth + 2, {}))
        assert size in (None, len(found))
        return found

    def matrix(self, size: int | None, depth: int, width: int) -> list[Any]:
        found: list[Any] = []
        while self.more(size, len(found), depth):
            assert self.peek()[0] == depth
            cells = split(self.next(), "|")
            assert len(cells) == width
            assert not any(re.fullmatch(r"[ \t]*\^\{.*\}[ \t]*", cell) for cell in cells)
            found.append([scalar(cell) for cell in cells])
            assert ABSENT not in found[-1]
            assert MARKER not in found[-1]
        assert size in (None, len(found))
        return found

    def more(self, size: int | None, found: int, depth: int) -> bool:
        indent, line = self.peek()
        ended = indent < depth or (indent == depth and line.startswith(("## ", "##!")))
        return (size is None or found < size) and not ended

    def rows(self, size: int | None, depth: int, declared: Any) -> list[Any]:
        found: list[Any] = []
        memory: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        while self.more(size, len(found), depth):
            cells = split_row(ROW_ID.sub("", self.next(), count=1), declared)
            found.append(self.row(cells, depth, declared, memory))
        assert size in (None, len(found))
        return found

    def groups(
        self, size: int | None, depth: int, declared: Any, identities: list[str], clause: str
    ) -> list[Any]:
        """Read the groups of a table; names with `>` are not paths."""
        group, end = key(clause.strip(" \t").removeprefix("group=").lstrip(" \t"))
        constant = {name: value for name, _, value in declared if value is not MARKER}
        names = [name for name, _, _ in declared]
        assert LIST not in constant.values()
        (identity,) = identities
        assert not end
        assert len(set(names)) == len(names)
        assert {group, identity} <= set(names) - set(constant)
        assert group != identity
        cells = [name for name in names if name != group and name not in constant]
        found: list[dict[str, Any]] = []
        values, seen = [], []
        while size is not None and len(found) < size:
            indent, line = self.peek()
            name, rest = key(line)
            value, _, count = rest.rstrip(" \t").removeprefix("=").rpartition(" [")
            assert indent == depth
            assert name == group
            assert value.strip(" \t")
            assert re.fullmatch(r"[1-9][0-9]*\]", count)
            assert len(found) + int(count[:-1]) <= size
            self.next()
            constant[group] = scalar(value)
            values.append(identified(constant[group]))
            for _ in range(int(count[:-1])):
                indent, line = self.peek()
                assert indent == depth
                row = dict(zip(cells, map(scalar, split(self.next(), "|")), strict=True)) | constant
                assert MARKER not in row.values()
                seen.append(identified(row[identity]))
                row = {name: row[name] for name in names}
                found.append({name: cell for name, cell in row.items() if cell is not ABSENT})
        assert len({*values}) == len(values)
        assert len({*seen}) == len(seen)
        return found

    def keyed(self, size: int | None, depth: int, declared: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        memory: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        while self.more(size, len(found), depth):
            line = ROW_ID.sub("", self.next(), count=1)
            first = split(line, "|")[0]
            cells = split_row(line[len(first) + 1 :], declared) if first != line else []
            first = first.strip(" \t")
            name = json.loads(first) if first.startswith('"') else first
            assert name not in found
            found[name] = self.row(cells, depth, declared, memory)
        assert size in (None, len(found))
        return found

    def row(self, cells: list[Any], depth: int, declared: Any, memory: Any) -> dict[str, Any]:
        assert len(cells) == sum(constant in (MARKER, LIST) for _, _, constant in declared)
        schemas, shared = memory
        values: dict[str, Any] = {}
        paths: dict[str, list[tuple[list[str], Any]]] = {}
        waiting = []
        remaining = iter(cells)
        for name, is_path, constant in declared:
            cell = next(remaining) if constant in (MARKER, LIST) else ""
            if constant is LIST:
                values[name] = list_of(cell)
                continue
            is_schema = cell.startswith("^{") and cell.endswith("}")
            if is_schema:
                schemas[name] = [field for field, _, _ in fields(cell[1:])[0]]
            value = constant if constant is not MARKER else scalar(cell)
            if is_path:
                first, *segments = name.split(">")
                paths.setdefault(first, []).append((segments, value))
                values.setdefault(first, ABSENT)
            elif value is MARKER or is_schema:
                waiting.append(name)
                values[name] = MARKER
            else:
                values[name] = value
        for first, leaves in paths.items():
            values[first] = joined(leaves)
        self.attached(depth, values, waiting, schemas, shared)
        assert not waiting
        return {name: value for name, value in values.items() if value is not ABSENT}

    def attached(self, depth: int, values: Any, waiting: Any, schemas: Any, shared: Any) -> None:
        while self.peek()[0] in (depth, depth + 2):
            line = self.peek()[1]
            if line.startswith("."):
                name, form = key(self.next()[1:])
                form = form.strip(" ")
                if name in waiting:
                    waiting.remove(name)
                if form.startswith("="):
                    values[name] = scalar(form[1:])
                elif form.startswith("{}"):
                    values[name] = self.members(depth + 4)
                else:
                    values[name] = self.block(form, depth + 4, shared, name)
                continue
            target = next((name for name in waiting if name in schemas), None)
            if target is None:
                return
            waiting.remove(target)
            names, cells = schemas[target], split(self.next(), "|")
            values[target] = dict(zip(names, map(scalar, cells), strict=True))


def identified(found: Any) -> Any:
    """A value that is equal for two scalars if their canonical texts are equal."""
    assert found is not ABSENT
    assert found is not MARKER
    if isinstance(found, float) and found.is_integer() and abs(found) < 2**53:
        found = int(found)
    return type(found), found


def joined(leaves: list[tuple[list[str], Any]]) -> Any:
    """The object of the cells of path columns."""
    if all(value is ABSENT for _, value in leaves):
        return ABSENT
    if all(value is None for _, value in leaves):
        return None
    found: dict[str, Any] = {}
    for segments, value in leaves:
        inner = found
        if value is not ABSENT:
            for segment in segments[:-1]:
                inner = inner.setdefault(segment, {})
            inner[segments[-1]] = value
    return found
