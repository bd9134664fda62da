"""Graph payloads."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from compactwire import gcf
from tests.reference import graph as reference

WORDS = st.text(string.ascii_letters + string.digits + "._<>@-", min_size=1, max_size=12)
KINDS = st.sampled_from(["function", "type", "interface", "route_handler", "external", "widget"])
HUNDREDTHS = st.integers(-200, 200).map(lambda hundredths: hundredths / 100)
SCORES = st.one_of(
    HUNDREDTHS,
    st.floats(-1e6, 1e6),
    st.sampled_from([0.125, 0.375, -0.004, 0.005, 1e15]),
)
NUMBERS = st.integers(1, 2**31)
FILES = st.sampled_from(["a.py", "a b.py", "é.py", '"x"', "", "a\\\t\n\x01\u2028.py", "😀"])
ENDS = st.none() | st.tuples(NUMBERS, NUMBERS)
PLAIN_KINDS = ["function", "type", "method", "interface", "route_handler", "widget"]
PLAIN_WORDS = st.text(string.ascii_letters + string.digits + "._<>#@$-", min_size=1, max_size=12)


@st.composite
def payloads(draw: st.DrawFn, *, located: bool = True, exact: bool = False) -> gcf.Payload:
    """Payloads with locations and every status; `exact` scores have two decimals."""
    names = draw(st.lists(WORDS, max_size=8, unique=True))
    symbols = []
    for name in names:
        location = None
        if located and draw(st.booleans()):
            end = draw(ENDS) or ()
            location = gcf.Location(draw(FILES), draw(NUMBERS), draw(NUMBERS), *end)
        symbols.append(
            gcf.Symbol(
                name,
                draw(KINDS),
                draw(HUNDREDTHS if exact else SCORES),
                draw(st.sampled_from(["lsp_resolved", "x"])),
                draw(st.integers(0, 4)),
                location=location,
            )
        )
    ends = st.tuples(
        st.sampled_from(names or [""]),
        st.sampled_from(names or [""]),
        st.sampled_from(["calls", "a", "z"]),
    )
    found = draw(st.lists(ends, max_size=8, unique=True)) if names else []
    statuses = st.sampled_from(["", "added", "removed", "unchanged"])
    edges = [gcf.Edge(*edge, draw(statuses)) for edge in found]
    root = draw(st.sampled_from(["", "sha256:x"]))
    counts = st.integers(0, 2**63 - 1)
    return gcf.Payload("tool", draw(counts), draw(counts), root, symbols, edges)


@st.composite
def plain_payloads(draw: st.DrawFn, *, names: st.SearchStrategy[str] = PLAIN_WORDS) -> gcf.Payload:
    """Payloads that the text holds whole: scores of two decimals, no location, one kind of edge."""
    chosen = draw(st.lists(names, max_size=8, unique=True))
    symbols = [
        gcf.Symbol(
            name,
            draw(st.sampled_from(PLAIN_KINDS)),
            draw(HUNDREDTHS),
            draw(st.sampled_from(["lsp_resolved", "ast_inferred"])),
            draw(st.integers(0, 4)),
        )
        for name in chosen
    ]
    ends = st.tuples(st.sampled_from(chosen), st.sampled_from(chosen)) if chosen else st.nothing()
    pairs = draw(st.lists(ends, max_size=8, unique=True)) if chosen else []
    edges = [gcf.Edge(source, target, "calls") for source, target in pairs]
    return gcf.Payload("t", draw(st.integers(0, 99)), 0, "", symbols, edges)


@st.composite
def carried(draw: st.DrawFn) -> gcf.Payload:
    """A payload that GCB can carry."""
    names = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), unique=True))
    short = st.integers(-99999, 99999).map(lambda number: number / 1000)
    symbols = [
        gcf.Symbol(
            name,
            draw(st.sampled_from(["", *reference.GCB_KINDS])),
            draw(short),
            draw(st.sampled_from(["", *reference.GCB_PROVENANCES])),
            draw(st.integers(0, 255)),
            draw(st.text(st.characters(exclude_categories=["Cs"]))),
            gcf.Components(*(draw(short) for _ in range(4))),
        )
        for name in names
    ]
    edge = st.builds(
        gcf.Edge,
        st.sampled_from(names or [""]),
        st.sampled_from(names or [""]),
        st.sampled_from(["", *reference.GCB_EDGES]),
        st.sampled_from(["", *reference.GCB_STATUSES]),
    )
    edges = draw(st.lists(edge, max_size=5)) if names else []
    counts = st.integers(0, 2**63 - 1)
    return gcf.Payload(draw(WORDS), draw(counts), draw(counts), "", symbols, edges)


@st.composite
def graphs(draw: st.DrawFn) -> gcf.Payload:
    """Few names and kinds, so that they repeat."""
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True))
    symbols = [
        gcf.Symbol(
            name,
            draw(st.sampled_from(["function", "type"])),
            draw(st.sampled_from([0.25, 0.5, 1.0])),
            "lsp",
            draw(st.integers(0, 2)),
        )
        for name in names
    ]
    ends = st.sampled_from(names)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=3, unique=True))
    return gcf.Payload("t", symbols=symbols, edges=[gcf.Edge(a, b, "calls") for a, b in pairs])
