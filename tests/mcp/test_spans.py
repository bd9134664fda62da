"""Parts of a JSON text: what is replaced, and that nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire.mcp._spans import Edit, apply, elements, members, removal, skip_space, value_at

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4)
SPACES = st.sampled_from(["", " ", "\n\t", "\r\n  "])


@given(OBJECTS, st.sampled_from([None, 1]), SPACES)
def test_members_are_found_with_their_values(value: Any, indent: Any, space: str) -> None:
    text = space + json.dumps(value, indent=indent) + space
    found = members(text, skip_space(text, 0))
    assert {key: json.loads(text[span.value : span.end]) for key, span in found.items()} == value
    assert {key: value_at(text, span.value) for key, span in found.items()} == value


@given(st.lists(VALUES, max_size=4), st.sampled_from([None, 1]))
def test_elements_are_found_with_their_values(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    assert [json.loads(text[span.start : span.end]) for span in elements(text, 0)] == value


@given(OBJECTS, st.sampled_from([None, 1]), st.data())
def test_removing_a_member_leaves_the_others(value: Any, indent: Any, data: st.DataObject) -> None:
    text = json.dumps(value, indent=indent)
    key = data.draw(st.sampled_from(sorted(value)))
    left = apply(text, [removal(members(text, 0), key)])
    assert json.loads(left) == {name: one for name, one in value.items() if name != key}


def test_a_duplicate_key_is_refused() -> None:
    with pytest.raises(ValueError, match="duplicate key 'a'"):
        members('{"a": 1, "a": 2}', 0)


def test_edits_apply_in_any_order() -> None:
    assert apply("abcdef", [Edit(4, 5, "E"), Edit(0, 2), Edit(2, 3, "CC")]) == "CCdEf"
