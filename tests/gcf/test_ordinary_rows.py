"""Rows have a fast path; a row that ends in a carriage return is read by the general reader.

So the same text with lines that end in CR LF is read by the other path, and has the same value or
the same error. `src/gcf/generic/ordinary.rs` tests the paths with more texts.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire import gcf
from tests.strategies.gcf import result_or_error, same, tables, values
from tests.vectors import OWN, PUBLISHED, load

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "GCF profile=generic\n"


def outcome(text: str) -> Any:
    """The value of a text, or the code, line and column of its error."""
    found = result_or_error(lambda: gcf.loads(text))
    if isinstance(found, gcf.GcfError):
        return ("error", found.code, found.line, found.column)
    assert same(json.loads(gcf.to_json(text)), found)
    return found


def assert_read_alike(text: str) -> None:
    fast, general = outcome(text), outcome(text.replace("\n", "\r\n"))
    if isinstance(fast, tuple):
        # Within an unterminated string, the carriage return is one more character.
        assert isinstance(general, tuple)
        assert fast[2] == general[2]
    else:
        assert same(fast, general)


def texts_of(value: Any) -> list[str]:
    """All strings in a vector that are texts of the generic profile."""
    if isinstance(value, str):
        return [value] if value.startswith("GCF profile=generic") else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for each in inner for text in texts_of(each)]


def vectors() -> list[str]:
    files = sorted((OWN / "gcf").rglob("*.json")) + sorted((PUBLISHED / "gcf").rglob("*.json"))
    return sorted({text for path in files for text in texts_of(load(path))})


def test_vectors_are_read_alike_by_both_paths() -> None:
    found = [text for text in vectors() if "\r" not in text]
    assert len(found) > 30
    for text in found:
        assert_read_alike(text)


@given(values | tables(values))
def test_values_are_read_alike_by_both_paths(value: Any) -> None:
    text = gcf.dumps(value)
    assert same(gcf.loads(text), gcf.loads(text.encode()))
    assert_read_alike(text)


ROWS = [
    *("1|ann|^|x\n  .items [2]{n,s}\n    1|a\n    2|b\n", "2|Köln|^|-\n  .items [0]:\n"),
    *("3|-|^|true\n  .items [1]\n    3|c\n", '4|"a|b\\n"|^|~\n  .items [1]: 5\n', "5|x|0.25|y\n"),
]
DECLARED = '[5]{id,"name",items,"p>q"}\n'


@given(
    st.permutations(ROWS),
    st.integers(0, 4),
    st.sampled_from(
        ["~", " ", "\t", '"', "\\u00e9", "|", "^", "^{a}", "-", "\n", "# ", "@", ".", "1"]
    ),
    st.integers(0, 40),
)
def test_a_changed_row_is_read_alike_by_both_paths(
    rows: list[str], at: int, piece: str, place: int
) -> None:
    numbered = [f"@{index} {row}" for index, row in enumerate(rows)]
    row = numbered[at]
    place = min(place, len(row))
    for changed in (row, row[:place] + piece + row[place:], row[:place] + row[place + 1 :]):
        lines = [*numbered[:at], changed, *numbered[at + 1 :]]
        assert_read_alike(f"{HEADER}## {DECLARED}{''.join(lines)}")


@pytest.mark.parametrize("columns", [*range(1, 40), 300])
def test_a_row_is_a_plain_dict_of_its_own(columns: int) -> None:
    rows = [{f"c{i}": i for i in range(columns)} for _ in range(3)]
    first, second, third = gcf.loads(gcf.dumps(rows))
    first["c0"] = first["new"] = "changed"
    del second["c0"]
    assert third == rows[2]
    assert list(third) == list(rows[2])
    assert third["c" + str(columns - 1)] == columns - 1
    assert "new" not in third
    assert type(third) is dict


def test_a_duplicate_key_is_found_in_every_object() -> None:
    keyed = HEADER + "## [3:]{key,a,b}\nx|1|2\ny|1|2\n?|1|2\n"
    assert len(gcf.loads(keyed)) == 3
    for key in ("x", '"x"', "y "):
        with pytest.raises(gcf.GcfError, match="duplicate member key"):
            gcf.loads(keyed.replace("?", key))
    with pytest.raises(gcf.GcfError, match="duplicate member"):
        gcf.loads(HEADER + "a=1\nb=2\na=3\n")


def error_of(read: Callable[[str], Any], text: str) -> Any:
    found = result_or_error(lambda: read(text))
    return found.args if isinstance(found, gcf.GcfError) else None


KEYED = "## [?:]{key,a,b}\n" + "".join(f"{key}|1|{key}x\n" for key in "klmnop") + "##! counts=6\n"


@given(
    st.sampled_from([KEYED, "## [2]{id}\n@0 1\n  .sub {}\n    u=1\n    v=2\n    w=3\n@1 5\n"])
    | values.map(lambda value: gcf.dumps(value).removeprefix(HEADER)),
    st.data(),
)
def test_repeated_lines_are_the_same_error_for_every_reader(body: str, data: st.DataObject) -> None:
    """`loads` finds a repeated key when it has the value, other readers when they have the key."""
    lines = body.splitlines(keepends=True) or ["a=1\n"]
    for _ in range(data.draw(st.integers(1, 2))):
        line = data.draw(st.sampled_from(lines))
        line += data.draw(st.sampled_from(["", "", "|", " ", "\\"]))
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    text = HEADER + "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    assert error_of(gcf.loads, text) == error_of(gcf.to_json, text)


@pytest.mark.parametrize(
    "value", ["3", "-", "[1]: x", "[0]:", '"a', "99999999999999999999", "[2]: x", "~"]
)
def test_a_repeated_key_comes_before_an_error_in_its_value(value: str) -> None:
    member = f"a{value}" if value.startswith("[") else f"a={value}"
    with pytest.raises(gcf.GcfError) as caught:
        gcf.loads(f"{HEADER}## s\n  a=1\n  b=2\n  {member}\n")
    assert (caught.value.code, caught.value.line) == ("duplicate_key", 5)


@pytest.mark.parametrize("below", ["", "    a=1\n", "    a=1\n    a=2\n", "      a=1\n", "\t"])
def test_a_repeated_key_comes_before_an_error_below_it(below: str) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.loads(f"{HEADER}## s\n  ## a\n    b=2\n  c=1\n  ## a\n{below}")
    assert (caught.value.code, caught.value.line) == ("duplicate_key", 6)
    keyed = "## [2:]{key,v}\nx|^\n"
    with pytest.raises(gcf.GcfError) as caught:
        gcf.loads(f"{HEADER}{keyed.replace('^', '1')}x|2\n{below}")
    assert (caught.value.code, caught.value.line) == ("duplicate_member_key", 4)


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="each call has its own keys then"
)
def test_short_keys_of_the_last_texts_are_kept() -> None:
    def keys(text: str) -> list[str]:
        return list(gcf.loads(HEADER + text))

    first, second = keys("kept_key=1\nkept_key_of_16_b=2\n"), keys("kept_key=3\n")
    assert first == ["kept_key", "kept_key_of_16_b"]
    assert first[0] is second[0]
    # Kept objects are few, whatever was read.
    count = sys.getallocatedblocks()
    for at in range(0, 20_000, 1000):
        assert len(keys("".join(f"k{i}=-\n" for i in range(at, at + 1000)))) == 1000
    assert sys.getallocatedblocks() - count < 3000


def test_the_collector_is_as_before_after_every_outcome() -> None:
    rows = [{"id": i, "tags": [i]} for i in range(5000)]
    text = gcf.dumps(rows)
    for prepare, expected in ((gc.enable, True), (gc.disable, False)):
        try:
            prepare()
            assert gcf.loads(text) == rows
            assert gc.isenabled() is expected
            with pytest.raises(gcf.GcfError):
                gcf.loads(text[:-20])
            assert gc.isenabled() is expected
        finally:
            gc.enable()


def test_no_thread_sees_the_collector_disabled() -> None:
    text = gcf.dumps([{"id": i, "tags": [i]} for i in range(5000)])
    seen: set[bool] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(gc.isenabled())

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(20):
        gcf.loads(text)
    done.set()
    thread.join()
    assert seen == {True}


@pytest.mark.parametrize("shift", range(16))
@pytest.mark.parametrize("text", ["ä\n", "ä|ü", "€", "😀\t"], ids=ascii)
def test_rows_of_any_length_are_read(shift: int, text: str) -> None:
    """Memory is requested for a part of the text at a time, and a row may end beyond it."""
    lengths = [shift, 4096, 1, 8000, 70_000, 0, 300_000]
    value = [{"a": text * length, "b": length, "c": text} for length in lengths]
    assert gcf.loads(gcf.dumps(value)) == value
    assert json.loads(gcf.to_json(gcf.dumps(value))) == value
