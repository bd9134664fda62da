"""Values for the tests of GCF: shaped like data, with all content that is difficult to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from compactwire.gcf import GcfError

HARD_TEXTS = [
    *("", "-", "~", "^", "true", "null", "1", "-1.5e3", "01", "+1", "1_0", ".5", "NaN", "1.٥"),
    *("^{a}", "^{a", "a|b", "a,b", "x[1]: y", "[a]", '"', "\\", "\n", "\t\x01", " s", "s ", "a\r"),
    *("[][1]: a", "[a] [b] : c", "]:[", "[]]:", "x [3]"),
    *("#x", "# c", "##!", "@0 x", ".a", "=", "a:b", "{}", "b}", "x" * 40),
    *("\x85", "\u2028", "\xa0", "\ufeff", "é", "e\u0301", "|\u0301", "日本", "🚀"),
]
NAMES = ["a", "b", "c", "id", "key", "_key", "__key"]
HARD_NAMES = ["", "k v", "a.b", "n>m", "a>b", ">", "a>", "a>>b", "é", "0", "-", "@x", "a|b", '"']
NUMBERS = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
DOUBLES = [-0.0, 0.1 + 0.2, 1e-6, 9.999999e-7, 1e15, 2.0**53, 1e20, 1e21, 5e-324, 1.7e308]

texts = (
    st.sampled_from(HARD_TEXTS)
    | st.text(max_size=8)
    | st.text("abcdefghij", min_size=1, max_size=9)
)
numbers = (
    st.sampled_from(NUMBERS)
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from(DOUBLES)
    | st.floats(allow_nan=False, allow_infinity=False)
)
scalars = st.none() | st.booleans() | numbers | texts | st.integers(0, 9)
names = st.sampled_from(NAMES) | st.sampled_from(NAMES) | st.sampled_from(HARD_NAMES) | texts


# Lists of lists, mostly of one length.
matrices = st.integers(0, 3).flatmap(
    lambda width: st.lists(
        st.lists(scalars, min_size=width, max_size=width)
        | st.lists(scalars, min_size=width, max_size=width)
        | st.lists(scalars, max_size=3),
        max_size=3,
    )
)


@st.composite
def tables(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> Any:
    """Similar rows: each column has one kind of value, with exceptions."""
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    kinds = {name: draw(_column(inner)) for name in columns}
    usual = st.integers(0, 19)
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        row = {}
        for name, kind in kinds.items():
            chance = draw(usual)
            if chance == 0:
                continue
            row[name] = None if chance == 1 else draw(inner if chance == 2 else kind)
        rows.append(row)
    if not draw(st.booleans()):
        return rows
    keys = draw(st.lists(texts, min_size=len(rows), max_size=len(rows), unique=True))
    return dict(zip(keys, rows, strict=True))


def _column(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[st.SearchStrategy[Any]]:
    keys = st.lists(names, min_size=1, max_size=4, unique=True)
    alike = keys.map(lambda keys: st.fixed_dictionaries(dict.fromkeys(keys, scalars)))
    nested = st.tuples(keys, alike).map(
        lambda pair: st.fixed_dictionaries({**dict.fromkeys(pair[0], scalars), "in": pair[1]})
    )
    flat_arrays = alike.map(lambda kind: st.lists(kind, min_size=1, max_size=3))
    lists = st.lists(scalars, max_size=3)
    return st.sampled_from([scalars, inner, lists, lists, matrices]) | alike | nested | flat_arrays


@st.composite
def groupable(draw: st.DrawFn) -> tuple[list[dict[str, Any]], str, str]:
    """Rows of scalars, the name of their identity, and the name of a column that all rows have."""
    columns = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    key, group = draw(st.permutations(columns))[:2]
    identities = scalars.filter(lambda value: value is not None)
    keys = draw(st.lists(identities, min_size=1, max_size=8, unique_by=canonical))
    few = draw(st.lists(scalars, min_size=1, max_size=3))
    groups = draw(st.lists(st.sampled_from(few), min_size=len(keys), max_size=len(keys)))
    if draw(st.booleans()):
        groups.sort(key=canonical)
    kinds = {name: draw(st.sampled_from([scalars, st.just(draw(scalars))])) for name in columns}
    rows = []
    for identity, value in zip(keys, groups, strict=True):
        row = {}
        for name, kind in kinds.items():
            if name in (key, group):
                row[name] = identity if name == key else value
            elif draw(st.integers(0, 9)):
                row[name] = draw(kind)
        rows.append(row)
    return rows, key, group


def canonical(value: Any) -> str:
    """A text that two scalars share if GCF writes them alike."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return f"{type(value)} {value!r}"


values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(names, inner, max_size=4)
        | tables(inner)
        | matrices
    ),
    max_leaves=12,
)


def result_or_error(work: Callable[[], Any]) -> Any:
    """The outcome of a call: its result, or the error."""
    try:
        return work()
    except GcfError as error:
        return error


def same(left: Any, right: Any, *, order: bool = True) -> bool:
    """Whether two values are equal in type, order of members and numeric value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        if order and list(left) != list(right):
            return False
        return left.keys() == right.keys() and all(
            same(left[key], right[key], order=order) for key in left
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            same(a, b, order=order) for a, b in zip(left, right, strict=True)
        )
    return type(left) is type(right) and bool(left == right)


stream_names = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('-~^@#|,"a ')), max_size=5
)
stream_fields = stream_names.filter(lambda name: ">" not in name)


@st.composite
def streamed_documents(draw: st.DrawFn) -> dict[str, Any]:
    """What a `StreamEncoder` can write: a tuple is the columns and rows of a table."""
    value: dict[str, Any] = {}
    members = iter(draw(st.lists(stream_names, max_size=6, unique=True)))
    kinds = draw(st.lists(st.sampled_from(["kv", "list"]), max_size=3))
    kinds += draw(st.lists(st.sampled_from(["array", "map"]), max_size=3))
    for kind, name in zip(kinds, members, strict=False):
        columns = draw(st.lists(stream_fields, min_size=1, max_size=4, unique=True))
        row = st.fixed_dictionaries({}, optional=dict.fromkeys(columns, scalars))
        made: Any
        if kind == "kv":
            made = draw(scalars)
        elif kind == "list":
            made = draw(st.lists(scalars, max_size=4))
        elif kind == "array":
            made = (columns, draw(st.lists(row, max_size=4)))
        else:
            made = (columns, draw(st.dictionaries(stream_names, row, max_size=4)))
        value[name] = made
    return value
