"""The change to a result, rule by rule: the text, the structured content, the record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire.mcp import _project
from compactwire.mcp._project import Change, Projector
from compactwire.mcp._same import as_hosts_write, carries
from compactwire.mcp._schemas import slim
from compactwire.savings import Saving

ROWS: list[dict[str, Any]] = [{"id": n, "state": "open", "kind": "task"} for n in range(40)]
TEXT = json.dumps(ROWS, indent=2)
SHORT = cw.shrink(TEXT).text

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.integers(-9, 9).map(float)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


def project(
    texts: list[str | None], content: Any = None, kept: str = "", **options: Any
) -> tuple[Change, Saving]:
    records: list[Saving] = []
    projector = Projector("mcp", on_saving=records.append, **options)
    given = None if content is None else json.dumps(content)
    change = projector.result("rows", kept, texts, given)
    (record,) = records
    return change, record


def test_a_text_that_is_json_is_shrunk() -> None:
    change, record = project([TEXT])
    assert change == Change({0: SHORT})
    assert (record.tool, record.format, record.reason) == ("rows", "gcf", "")
    assert record.before > record.after == cw.estimate_tokens(SHORT)


def test_blocks_that_are_no_text_and_prose_stay() -> None:
    change, record = project([None, "a sentence", TEXT])
    assert change == Change({2: SHORT})
    change, record = project(["a sentence"])
    assert (change, record.format, record.reason) == (Change(), "text", "not-json")
    change, record = project([None])
    assert (change, record.reason, record.before) == (Change(), "no-text", 0)


@pytest.mark.parametrize("structured", [{"result": ROWS}, {"rows": ROWS}, ROWS])
def test_structured_content_goes_where_the_text_says_the_same(structured: Any) -> None:
    change, record = project([TEXT], structured)
    assert change == Change({0: SHORT}, drop=True)
    assert record.dropped
    assert record.structured == cw.estimate_tokens(json.dumps(structured, separators=(",", ":")))
    change, record = project([TEXT], structured, structured="keep")
    assert change == Change({0: SHORT})
    assert not record.dropped


def test_structured_content_that_wraps_the_text_itself_goes() -> None:
    text = "def f(x):\n    return x + 1\n\n" * 20
    assert project([text], {"content": text})[0] == Change(drop=True)
    assert project([text], {"content": text + "!"})[1].reason == "differs"


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        (["40 rows"], {"result": ROWS}),
        ([TEXT], {"result": ROWS, "total": 40}),
        ([TEXT, TEXT], {"result": ROWS}),
        (["[true]"], {"result": [1]}),
        (["{}"], {"a": 1}),
        (['{"a":1,"a":2}'], {"a": 2}),
        (["[" * 200_000 + "]" * 200_000], {"a": 2}),
        ([None], {"a": 1}),
        # Beside an image or a resource, which the structured content does not have.
        ([TEXT, None], {"result": ROWS}),
        ([None, TEXT], ROWS),
    ],
)
def test_structured_content_that_says_more_stays(texts: Any, structured: Any) -> None:
    change, _ = project(texts, structured)
    assert not change.drop
    assert change.added is None


def test_a_document_stays_to_the_byte_but_its_copy_goes() -> None:
    compact = json.dumps(ROWS, separators=(",", ":"))
    change, record = project([compact], {"content": compact}, kept="document")
    assert change == Change(drop=True)
    assert record.format == "text"
    # As structured content it costs less than the indented text: both stay.
    change, record = project([TEXT], {"result": ROWS}, kept="document")
    assert (change, record.reason) == (Change(), "document")


def test_a_result_without_blocks_gets_its_structured_content_as_text() -> None:
    change, record = project([], {"result": ROWS})
    assert change.drop
    assert change.added == cw.shrink(json.dumps({"result": ROWS})).text
    assert record.after < (record.structured or 0)
    # A host that shows the text had none, and saves nothing.
    assert record.before == 0
    assert project([], {"result": ROWS}, structured="keep")[0] == Change()
    assert project([], {"result": ROWS}, kept="excluded")[0] == Change()


@given(VALUES, st.sampled_from([None, 1, 4]), st.booleans(), st.sampled_from(["", "excluded"]))
def test_no_host_pays_more(value: Any, indent: Any, wrapped: bool, kept: str) -> None:
    text = json.dumps(value, indent=indent)
    structured = {"result": value} if wrapped else value
    if not isinstance(structured, dict):
        structured = None
    change, record = project([text], structured, kept)
    left = change.texts.get(0, text)
    assert cw.estimate_tokens(left) <= cw.estimate_tokens(text)
    if change.drop:
        for written in as_hosts_write(json.dumps(structured)):
            assert cw.estimate_tokens(left) <= cw.estimate_tokens(written)
        assert carries(text, json.dumps(structured))
    if kept:
        assert left == text
    if left != text:
        assert cw.expand(left) == value
    assert record.after == cw.estimate_tokens(left)


def test_the_cheapest_form_is_taken_where_the_margin_would_keep_the_copy() -> None:
    rows = [{"é": n} for n in range(14)]
    text = json.dumps(rows, separators=(",", ":"))
    assert cw.shrink(text, min_tokens=200).reason == "no-gain"
    change, record = project([text], {"r": rows}, min_tokens=200)
    assert change == Change({0: cw.shrink(text, min_tokens=0).text}, drop=True)
    assert record.format == "gcf"


def test_an_estimate_leaves_a_margin_that_a_count_does_not_need() -> None:
    words = "a long sentence of many words that no form makes any shorter " * 4
    rows = [{"id": n, "text": f"{n} {words}"} for n in range(6)] + [{"id": 6, "text": "é" * 3}]
    text = json.dumps(rows, separators=(",", ":"))
    assert cw.shrink(text).reason == "no-gain"
    assert project([text], {"r": rows})[0] == Change()
    change, _ = project([text], {"r": rows}, tokenizer=cw.estimate_tokens)
    assert change == Change({0: cw.shrink(text, min_saving=0.0, min_tokens=0).text}, drop=True)


def test_the_estimate_of_escapes_has_a_margin() -> None:
    value = {"a": "\ufeff\ufeffx word", "list": [1, 2, "\ufeff"]}
    text = json.dumps(value, separators=(",", ":"))
    shown = json.dumps({"r": value}, separators=(",", ":"), ensure_ascii=False)
    # By o200k_base, the text has 22 tokens, and the structured content 18.
    assert cw.estimate_tokens(text) <= cw.estimate_tokens(shown)
    assert project([text], {"r": value})[0] == Change()
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert project([plain], {"r": value})[0] == Change(drop=True)


def test_a_text_that_the_server_has_shrunk_is_what_is_left() -> None:
    change, record = project([SHORT], {"r": ROWS})
    assert change == Change(drop=True)
    assert record.before == record.after == cw.estimate_tokens(SHORT)
    assert (record.reason, record.dropped) == ("", True)
    # An estimate leaves the margin that it leaves where the relay writes the text.
    rows = [{"id": n, "text": f"{n} {'a long word ' * 4}"} for n in range(3)]
    text = cw.shrink(json.dumps(rows), min_saving=0.0, min_tokens=0).text
    assert text.startswith("GCF profile=generic")
    assert cw.estimate_tokens(text) < cw.estimate_tokens(json.dumps(rows, separators=(",", ":")))
    assert project([text], {"r": rows})[0] == Change()


def test_structured_content_costs_what_a_host_in_javascript_shows() -> None:
    weather = {"temperature": 22.0, "wind": 7.0, "humidity": 65.0}
    text = json.dumps(weather, separators=(",", ":"))
    change, record = project([text], weather)
    assert change == Change()
    assert record.structured == cw.estimate_tokens('{"temperature":22,"wind":7,"humidity":65}')
    assert project([text], {"r": {**weather, "wind": 7.5}})[0] == Change()
    weather = {"temperature": 22.5, "wind": 7.25, "humidity": 0.65}
    assert project([json.dumps(weather)], weather)[0].drop


@pytest.mark.parametrize(
    ("python", "script"),
    [
        ("1.0", "1"),
        ("-0.0", "0"),
        ("0", None),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("123456789012345680001", "123456789012345680000"),
        ("9007199254740993", "9007199254740992"),
        ("1000000000000000000000000000000", "1e+30"),
        ("1e-6", "0.000001"),
        ("-1.25e-7", "-1.25e-7"),
        ("1.5", None),
        ("1" + "0" * 400, "null"),
        ('"1.0 \\\\\\" 2.0"', None),
    ],
)
def test_numbers_are_written_as_javascript_does(python: str, script: str | None) -> None:
    written = as_hosts_write(f"[{python}]")
    if script is None:
        assert len(written) == 1
    else:
        assert written[-1] == f"[{script}]"
    assert as_hosts_write("[1e400]") == []


@pytest.mark.parametrize("cell", [r'"\ud83d"', "1e400"])
@pytest.mark.parametrize("has_text", [False, True])
def test_escapes_in_structured_content_do_not_count(cell: str, *, has_text: bool) -> None:
    """A host writes the characters themselves, and may write null for the number."""
    assert as_hosts_write(r'["\ud83d", "\u4e2d"]') == [r'["\ud83d","中"]']
    structured = f'{{"rows":{json.dumps(["中文字符"] * 50)},"x":{cell}}}'
    texts = [structured] if has_text else []
    change = Projector("mcp", tokenizer=len).result("", "", texts, structured)
    shown = "".join(change.texts.values()) + (change.added or "")
    assert not change.drop or 0 < len(shown) < 400


def test_a_result_that_is_too_long_stays_whole_and_is_recorded_whole() -> None:
    long = "[" + "1," * 3_000_000 + "1]"
    change, record = project([long, TEXT], {"r": ROWS})
    assert (change, record.reason) == (Change(), "size")
    assert record.before == record.after == cw.estimate_tokens(long) + cw.estimate_tokens(TEXT)
    assert record.structured is not None


def test_a_result_that_takes_too_long_is_recorded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_project, "_SECONDS", -1.0)
    change, record = project([TEXT, None, TEXT], {"r": ROWS})
    assert (change, record.reason) == (Change(), "time")
    assert record.before == record.after == 2 * cw.estimate_tokens(TEXT)
    assert record.structured == cw.estimate_tokens(json.dumps({"r": ROWS}))


def test_structured_content_beyond_a_megabyte_stays_and_the_text_is_shrunk() -> None:
    rows = ROWS * 800
    change, record = project([json.dumps(rows)], {"r": rows})
    assert (change.drop, record.format) == (False, "gcf")
    assert project([json.dumps(rows[:400])], {"r": rows[:400]})[0].drop


def test_structured_content_stays_for_a_reason_of_the_caller() -> None:
    records: list[Saving] = []
    projector = Projector("mcp", on_saving=records.append)
    structured = json.dumps({"r": ROWS})
    assert projector.result("rows", "", [TEXT], structured, "app") == Change({0: SHORT})
    assert projector.result("rows", "", ["40 rows"], structured, "app") == Change()
    assert projector.result("rows", "", [], structured, "app") == Change()
    assert [record.reason for record in records] == ["", "app", "app"]


def test_large_texts_and_large_structured_content_stay() -> None:
    assert project([TEXT], {"result": ROWS}, max_size=100)[0] == Change()
    assert project([TEXT], max_size=100)[1].reason == "size"


def test_an_invalid_option_is_refused_when_the_projector_is_made() -> None:
    with pytest.raises(cw.OptionError, match="structured must be 'keep' or 'drop', not 'x'"):
        Projector("mcp", structured="x")
    with pytest.raises(cw.OptionError, match="definitions"):
        Projector("mcp", definitions="")
    with pytest.raises(cw.OptionError):
        Projector("mcp", min_saving=2.0)
    with pytest.raises(TypeError, match="structured must be a str, not int"):
        Projector("mcp", structured=1)  # type: ignore[arg-type]  # The error is tested.
    for patterns in ("read_*", None, 1):
        with pytest.raises(TypeError, match="exclude must be a list of patterns, not "):
            Projector("mcp", exclude=patterns)  # type: ignore[arg-type]  # The error is tested.
    with pytest.raises(TypeError, match="formats must be an iterable of str, not NoneType"):
        Projector("mcp", formats=None)  # type: ignore[arg-type]  # The error is tested.


@pytest.mark.parametrize(
    ("text", "structured", "same"),
    [
        ("1.0", '{"result": 1}', True),
        ("1e400", '{"result": 1e400}', True),
        ("1e99999999999999999999", '{"result": 1e99999999999999999999}', False),
        ("0.1000000000000000055", '{"result": 0.1}', False),
        ("true", '{"result": 1}', False),
        ("null", '{"result": null}', True),
        ("NaN", '{"result": NaN}', False),
        ('{"b":[1,{}],"a":"x"}', '{"a":"x","b":[1,{}]}', True),
        ("5", '{"result": "5"}', True),
        ("[5]", '{"result": {"x": 5}}', False),
        ("[]", '{"result": {}}', False),
        ('{"a":1,"a":2}', '{"a":2}', False),
        (TEXT[:-1], json.dumps({"result": ROWS}), False),
        (SHORT, json.dumps({"result": ROWS}), True),
        (SHORT, json.dumps(ROWS), True),
        (SHORT, json.dumps({"result": ROWS[:-1]}), False),
        (SHORT[:-3], json.dumps({"result": ROWS}), False),
        ("GCF is a format", '{"result": "GCF is a format"}', True),
        ("GCF profile=generic\n## [999999999]{x=1}\n", "[]", False),
    ],
)
def test_a_text_carries_what_is_the_same_value(text: str, structured: str, same: bool) -> None:
    assert carries(text, structured) is same


def test_slim_definitions_lose_only_what_repeats_a_name() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "read_graphArguments",
        "properties": {
            "max_size": {"title": "Max Size", "type": "integer", "default": {"title": "Max Size"}},
            "title": {"title": "The title of the book", "type": "string"},
            "tags": {"items": {"properties": {"name": {"title": "Name", "enum": ["title"]}}}},
        },
        "$defs": {"Item": {"title": "Item", "anyOf": [{"title": "Item"}, True]}},
        "examples": [{"$schema": "x"}],
    }
    assert slim(schema) == {
        "title": "read_graphArguments",
        "properties": {
            "max_size": {"type": "integer", "default": {"title": "Max Size"}},
            "title": {"title": "The title of the book", "type": "string"},
            "tags": {"items": {"properties": {"name": {"enum": ["title"]}}}},
        },
        "$defs": {"Item": {"anyOf": [{"title": "Item"}, True]}},
        "examples": [{"$schema": "x"}],
    }
    assert slim(True) is True
