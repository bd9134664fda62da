"""GCF: values, rows, keyed sets, and streams of rows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from compactwire import gcf

from .harness import TEXT, Case

HEAD = "GCF profile=generic\n"


def lines(*parts: str) -> str:
    return HEAD + "".join(part + "\n" for part in parts)


# Texts, by the parameter that grows


def rows(count: int) -> str:
    return lines(f"## [{count}]{{a,b,c}}", *(f"{n}|x{n}|true" for n in range(count)))


def columns(count: int) -> str:
    names = ",".join(f"c{n}" for n in range(count))
    return lines(f"## [2]{{{names}}}", *["|".join(["1"] * count)] * 2)


def keyed_rows(count: int) -> str:
    return lines(f"## [{count}:]{{key,a}}", *(f"k{n}|{n}" for n in range(count)))


def members(count: int) -> str:
    return lines(*(f"m{n}={n}" for n in range(count)))


def sections(count: int) -> str:
    return lines(*(f"## s{n}\n  a={n}" for n in range(count)))


def tables(count: int) -> str:
    return lines(*(f"## t{n} [2]{{a,b}}\n1|2\n3|4" for n in range(count)))


def deferred_tables(count: int) -> str:
    body = (f"## t{n} [?]{{a}}\n1" for n in range(count))
    return lines(*body, "##! summary counts=" + ",".join(["1"] * count))


def elements(count: int) -> str:
    return lines(f"## [{count}]", *(f"@{n} ={n}" for n in range(count)))


def long_list(count: int) -> str:
    return lines(f"## [{count}]: " + ",".join(["x"] * count))


def depth(count: int) -> str:
    levels = [f"{'  ' * level}## a" for level in range(100)]
    return lines(f"## [{count}]", *("\n".join([f"@{n} {{}}", *levels[1:]]) for n in range(count)))


def attachments_of_rows(count: int) -> str:
    body = (f"@{n} ^|{n}\n.a {{}}\n    x={n}" for n in range(count))
    return lines(f"## [{count}]{{a,b}}", *body)


def attachments_of_a_row(count: int) -> str:
    names = ",".join(f"c{n}" for n in range(count))
    row = "@0 " + "|".join(["^"] * count)
    return lines(f"## [1]{{{names}}}", row, *(f".c{n} [0]" for n in range(count)))


def attachments_in_reverse(count: int) -> str:
    names = ",".join(f"c{n}" for n in range(count))
    row = "@0 " + "|".join(["^"] * count)
    return lines(f"## [1]{{{names}}}", row, *(f".c{n} [0]" for n in reversed(range(count))))


def undeclared_fields(count: int) -> str:
    return lines("## [1]{a}", "@0 1", *(f'."a>{n}" =1' for n in range(count)))


def inline_schemas(count: int) -> str:
    body = (f"@{n} ^{{a,b,c}}\n1|2|3" for n in range(count))
    return lines(f"## [{count}]{{o}}", *body)


def inline_columns(count: int) -> str:
    names = ",".join(f"c{n}" for n in range(count))
    row = "@0 " + "|".join(["^{a,b,c}"] * count)
    return lines(f"## [1]{{{names}}}", row, *["1|2|3"] * count)


def shared_schemas(count: int) -> str:
    first = "@0 ^\n.a [1]{x,y}\n    1|2"
    body = (f"@{n} ^\n.a [1]\n    1|2" for n in range(1, count))
    return lines(f"## [{count}]{{a}}", first, *body)


def groups(count: int) -> str:
    body = (f"g=v{n} [1]\n{n}|x" for n in range(count))
    return lines(f"## [{count}]{{@id,g,v}} group=g", *body)


def rows_of_a_group(count: int) -> str:
    rows = (f"k{n}|x" for n in range(count))
    return lines(f"## [{count}]{{@id,g,u=kg,v}} group=g", f"g=a [{count}]", *rows)


def columns_of_a_group(count: int) -> str:
    names = ",".join(f"c{n}" for n in range(count))
    return lines(f"## [1]{{@id,g,{names}}} group=g", "g=a [1]", "|".join(["1"] * (count + 1)))


def grouped_tables(count: int) -> str:
    return lines(*(f"## t{n} [1]{{@id,g}} group=g\ng=a [1]\n1" for n in range(count)))


def escapes(count: int) -> str:
    return lines('a="' + "\\n" * count + '"')


def comments(count: int) -> str:
    return lines(*["# comment"] * count, "a=1")


def path_columns(count: int) -> str:
    names = ",".join(f'"a>c{n}"' for n in range(count))
    return lines(f"## [1]{{{names}}}", "|".join(["1"] * count))


def short_paths(count: int) -> str:
    names = ",".join(f'"c{n}>x"' for n in range(count))
    return lines(f"## [1]{{{names}}}", "|".join(["1"] * count))


def long_paths(count: int) -> str:
    """Paths that share no name, so that each of their names is a node."""
    names = ",".join(f'"c{n}{">x" * 100}"' for n in range(count))
    return lines(f"## [1]{{{names}}}", "|".join(["1"] * count))


def absent_paths(count: int) -> str:
    """A row with one leaf of many, at the end of a deep path."""
    names = ",".join(f'"{">".join("a" * 40)}>c{n}"' for n in range(count))
    return lines(f"## [2]{{{names}}}", *["|".join(["~"] * (count - 1) + ["1"])] * 2)


TEXTS: dict[str, tuple[Callable[[int], str], int, int]] = {
    "rows": (rows, 100, 40_000),
    "columns": (columns, 200, 50_000),
    "keyed rows": (keyed_rows, 200, 50_000),
    "members": (members, 200, 50_000),
    "sections": (sections, 100, 40_000),
    "tables": (tables, 100, 40_000),
    "deferred tables": (deferred_tables, 100, 40_000),
    "elements": (elements, 200, 60_000),
    "list": (long_list, 500, 400_000),
    "depth": (depth, 2, 60),
    "attachments of rows": (attachments_of_rows, 100, 40_000),
    "attachments of a row": (attachments_of_a_row, 100, 40_000),
    "attachments in reverse": (attachments_in_reverse, 100, 40_000),
    "undeclared fields": (undeclared_fields, 100, 50_000),
    "inline schemas": (inline_schemas, 100, 40_000),
    "inline columns": (inline_columns, 100, 40_000),
    "shared schemas": (shared_schemas, 100, 40_000),
    "groups": (groups, 100, 40_000),
    "rows of a group": (rows_of_a_group, 100, 60_000),
    "columns of a group": (columns_of_a_group, 200, 50_000),
    "grouped tables": (grouped_tables, 100, 20_000),
    "escapes": (escapes, 1000, 400_000),
    "comments": (comments, 200, 80_000),
    "path columns": (path_columns, 200, 60_000),
    "short paths": (short_paths, 200, 60_000),
    "long paths": (long_paths, 10, 3_000),
    "absent paths": (absent_paths, 50, 8_000),
}

# A line takes more than a text of many lines.
LINES = {"long paths": 64 + TEXT}

# Texts with a large expansion


def constants(count: int) -> str:
    names = ",".join(f"c{n}=1" for n in range(count))
    return lines(f"## [{count}]{{a,{names}}}", *["1"] * count)


def long_constant(count: int) -> str:
    return lines(f"## [{count}]{{a,b={'x' * 5 * count}}}", *["1"] * count)


def long_name(count: int) -> str:
    return lines(f"## [{count}]{{{'a' * 5 * count}}}", *["1"] * count)


def long_group(count: int) -> str:
    return lines(
        f"## [{count}]{{@a,b}} group=b", f"b={'x' * 5 * count} [{count}]", *map(str, range(count))
    )


def deep_path(count: int) -> str:
    return lines(f'## [{count}]{{"{">".join("a" * 126)}"}}', *["1"] * count)


def deferred_constants(count: int) -> str:
    return constants(count).replace(f"[{count}]", "[?]")


def constant_attachments(count: int) -> str:
    names = ",".join(f"c{n}=1" for n in range(count))
    first = f"@0 ^\n.a [1]{{a,{names}}}\n    1"
    body = (f"@{n} ^\n.a [1]\n    1" for n in range(1, count))
    return lines(f"## [{count}]{{a}}", first, *body)


IMPLIED: dict[str, Callable[[int], str]] = {
    "constants": constants,
    "long constant": long_constant,
    "long name": long_name,
    "long group": long_group,
    "deep path": deep_path,
    "deferred constants": deferred_constants,
    "constant attachments": constant_attachments,
}

# Values, by the parameter that grows


def value_rows(count: int) -> Any:
    return [{"a": n, "b": "x", "c": None} for n in range(count)]


def value_columns(count: int) -> Any:
    return [{f"c{n}": n for n in range(count)}] * 2


def value_members(count: int) -> Any:
    return {f"m{n}": [n] for n in range(count)}


def value_objects(count: int) -> Any:
    return [{"a": n, "b": {"c": n, "d": {"e": None if n % 2 else 1}}} for n in range(count)]


def value_lists(count: int) -> Any:
    return [{"a": [{"b": n, "c": [n]}]} for n in range(count)]


def value_depth(count: int) -> Any:
    deep: Any = 0
    for level in range(100):
        deep = {"a": deep} if level % 2 else [deep]
    return [deep] * count


def value_keyed(count: int) -> Any:
    return {f"k{n}": {"a": n, "b": n} for n in range(count)}


def value_groups(count: int) -> Any:
    return [{"id": n, "a": "long text" * (n // 4 % 2), "b": n // 4} for n in range(count)]


def value_group_columns(count: int) -> Any:
    return [{"id": n, **{f"c{i}": "long text" * (n // 4) for i in range(count)}} for n in range(8)]


def group_values(value: Any) -> str:
    return gcf.dumps(value, group_values=True)


def dumps_grouped(value: Any) -> str:
    return gcf.dumps_grouped(value, "id", "b", reorder=True)


def unlike_rows(count: int) -> Any:
    return [{f"c{n}": n} for n in range(count)]


def unlike_members(count: int) -> Any:
    return {f"k{n}": {f"c{n}": n} for n in range(count)}


def one_wide_row(count: int) -> Any:
    return [{f"c{n}": n for n in range(count)}, *[{"a": 1}] * count]


def one_wide_object(count: int) -> Any:
    return [{"a": 1, "o": {f"c{n}": n for n in range(count)}}, *[{"a": 1}] * count]


def long_path_names(count: int) -> Any:
    return [{"a" * 10 * count: {f"c{n}": n for n in range(count)}}]


def unlike_attachments(count: int) -> Any:
    return [{"a": unlike_rows(count)}, {"a": unlike_members(count)}]


UNLIKE: dict[str, Callable[[int], Any]] = {
    "rows": unlike_rows,
    "members": unlike_members,
    "one wide row": one_wide_row,
    "one wide object": one_wide_object,
    "long path names": long_path_names,
    "attachments": unlike_attachments,
}

VALUES: dict[str, tuple[Callable[[int], Any], int, int]] = {
    "rows": (value_rows, 100, 30_000),
    "columns": (value_columns, 100, 30_000),
    "members": (value_members, 200, 40_000),
    "objects": (value_objects, 100, 20_000),
    "lists": (value_lists, 100, 30_000),
    "depth": (value_depth, 4, 1_000),
    "keyed maps": (value_keyed, 100, 30_000),
    **{f"unlike, {name}": (make, 200, 10_000) for name, make in UNLIKE.items()},
}


def iter_rows(text: str, max_expansion: int = 1 << 28) -> None:
    for _ in gcf.iter_rows(io.StringIO(text), max_expansion=max_expansion):
        pass


def without_expansion(read: Callable[..., object]) -> Callable[[str], object]:
    return lambda text: read(text, max_expansion=0)


def keyed_set(count: int) -> str:
    table = [{"id": n, "a": f"x{n}"} for n in range(count)]
    return gcf.KeyedSet(table, key="id").encode()


def wide_keyed_set(count: int) -> str:
    table = [{f"c{n}": n for n in range(count)}]
    return gcf.KeyedSet(table, key="c0").encode()


def long_keyed_names(rows: range) -> gcf.KeyedSet:
    name = "x" * 13_000
    return gcf.KeyedSet([{name: n} for n in rows], key=name)


def long_names_size(rows: range) -> int:
    """The bytes of the rows, without the long name, which they share as one object."""
    return 30 * len(rows)


def stream_rows(count: int) -> str:
    pieces: list[str] = []
    stream = gcf.StreamEncoder(pieces.append)
    stream.begin_array("a", ["x", "y"])
    for n in range(count):
        stream.row([n, "z"])
    stream.close()
    return "".join(pieces)


def stream_tables(count: int) -> str:
    pieces: list[str] = []
    stream = gcf.StreamEncoder(pieces.append)
    for n in range(count):
        stream.begin_keyed_map(f"t{n}", ["x"])
        stream.row(["k", n])
        stream.end()
    stream.close()
    return "".join(pieces)


def numbers(count: int) -> Any:
    return list(range(count))


def dumped(make: Callable[[int], Any]) -> Callable[[int], str]:
    return lambda count: json.dumps(make(count))


CASES = [
    *(
        case
        for name, (make, size, large) in TEXTS.items()
        for case in (
            Case(f"loads, {name}", gcf.loads, make, size, large),
            Case(f"to_json, {name}", gcf.to_json, make, size, large, LINES.get(name, TEXT)),
            Case(f"iter_rows, {name}", iter_rows, make, size, large),
        )
    ),
    *(
        case
        for name, (make, size, large) in VALUES.items()
        for case in (
            Case(f"dumps, {name}", gcf.dumps, make, size, large, TEXT),
            Case(f"from_json, {name}", gcf.from_json, dumped(make), size, large, TEXT),
        )
    ),
    *(
        Case(f"{read.__name__}, {name} refused", without_expansion(read), make, 200, 2_000, TEXT)
        for name, make in IMPLIED.items()
        for read in (gcf.loads, gcf.to_json)
    ),
    Case("group_values, rows", group_values, value_groups, 100, 20_000, TEXT),
    Case("group_values, columns", group_values, value_group_columns, 20, 4_000, TEXT),
    Case("dumps_grouped, rows", dumps_grouped, value_groups, 100, 20_000, TEXT),
    Case("read_keyed, rows", gcf.read_keyed, keyed_set, 100, 40_000),
    Case(
        "KeyedSet, rows of a long name",
        long_keyed_names,
        range,
        400,
        20_000,
        size_of=long_names_size,
    ),
    Case("read_keyed, columns", gcf.read_keyed, wide_keyed_set, 200, 50_000),
    Case("StreamEncoder, rows", lambda n: stream_rows(len(n)), numbers, 100, 100_000),
    Case("StreamEncoder, tables", lambda n: stream_tables(len(n)), numbers, 100, 40_000),
]
