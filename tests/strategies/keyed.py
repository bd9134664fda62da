"""Keyed sets for tests."""

from __future__ import annotations

from hypothesis import strategies as st

from compactwire import gcf

FIELDS = ["id", "a b", "Ω"]
texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('-~^@#|,".0a ')), max_size=6
)
cells = st.one_of(
    st.none(),
    st.booleans(),
    # Beyond 2^53 gcf-python rounds integers.
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
identities = st.one_of(st.integers(0, 9), st.integers(0, 9).map(str), texts)


@st.composite
def keyed_sets(draw: st.DrawFn) -> gcf.KeyedSet:
    """Sets with the columns `FIELDS`."""
    ids = draw(st.lists(identities, max_size=8, unique_by=lambda one: (type(one), one)))
    rows = [{"id": one, "a b": draw(cells), "Ω": draw(cells)} for one in ids]
    return gcf.KeyedSet(rows, key="id", fields=FIELDS)
