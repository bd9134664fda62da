"""Records of what shrinking saved, and which results of tools are left as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import compactwire as cw
from compactwire import savings as _savings
from compactwire._tools import ConversationShrinker, ToolShrinker, names_document
from compactwire.errors import OptionError
from compactwire.savings import Saving, Savings, Total

ROWS = json.dumps([{"id": i, "state": "open", "kind": "task"} for i in range(30)], indent=2)


def saving(**fields: Any) -> Saving:
    given = {"source": "mcp", "tool": "t", "format": "gcf", "before": 10, "after": 4}
    return Saving(**(given | fields))


def test_sums_are_kept_by_tool() -> None:
    savings = Savings()
    savings(saving())
    savings(saving(after=10, format="text", reason="no-gain"))
    savings(saving(tool="u", before=1, after=1, format="text", reason="not-json"))
    assert savings.by_tool["t"] == Total(
        calls=2,
        before=20,
        after=14,
        structured_before=20,
        structured_after=14,
        reasons={"no-gain": 1},
        exact=False,
    )
    assert savings.total.saved == 6
    assert savings.total.reasons == {"no-gain": 1, "not-json": 1}
    for copied in savings.by_tool.values():
        copied.reasons.clear()
    assert savings.total.reasons == {"no-gain": 1, "not-json": 1}
    assert repr(savings) == "<Savings: 3 calls, 21 before, 15 after>"


def test_a_host_that_shows_structured_content_has_sums_of_its_own() -> None:
    savings = Savings()
    savings(saving(structured=8, dropped=True))
    savings(saving(structured=8))
    savings(saving())
    assert (savings.total.structured_before, savings.total.structured_after) == (26, 16)


def test_tokens_and_bytes_are_not_added_up() -> None:
    savings = Savings()
    savings(saving(source="http", tool="request", format="session", unit="bytes", before=5_000))
    assert str(savings).splitlines() == [
        "tool            calls   before    after",
        "request, bytes      1    5,000        4",
        "all, bytes          1    5,000        4",
    ]
    savings(saving(tool="request", exact=True))
    assert (savings.total.before, savings.in_bytes["request"].before) == (10, 5_000)
    assert str(savings).splitlines()[1:3] == [
        "request             1       10        4",
        "all                 1       10        4",
    ]
    with pytest.raises(OptionError, match="unit must be 'tokens' or 'bytes', not 'words'"):
        savings(saving(unit="words"))


@pytest.mark.parametrize(
    ("exact", "word"), [((True, True), "counted"), ((True, False), "estimated")]
)
def test_a_table_says_whether_tokens_were_counted(exact: tuple[bool, ...], word: str) -> None:
    savings = Savings()
    for one in exact:
        savings(saving(exact=one))
    assert str(savings).endswith(f"Tokens are {word}.")


def test_names_beyond_a_thousand_are_summed() -> None:
    savings = Savings()
    for number in range(1_500):
        savings(saving(tool=str(number)))
    assert len(savings.by_tool) == 1_001
    assert savings.by_tool["(others)"].calls == 500
    assert savings.total.calls == 1_500


def test_a_table_shows_names_of_servers_in_one_line() -> None:
    savings = Savings()
    savings(saving(tool="a\x1b[2J\nb" + "x" * 1_000_000))
    assert len(str(savings).splitlines()) == 4
    assert max(map(len, savings.by_tool)) < 200
    assert "a\\x1b[2J\\nb" in str(savings)
    assert len(str(savings)) < 1_000


def test_threads_lose_no_record() -> None:
    savings = Savings()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: savings(saving()), range(2_000)))
    assert savings.total.calls == 2_000


def test_each_text_is_reported() -> None:
    records: list[Saving] = []
    tools = ToolShrinker("langchain", on_saving=records.append)
    assert tools.text("list", {}, ROWS) == cw.shrink(ROWS).text
    assert tools.text("list", {}, "a text") == "a text"
    assert [(one.source, one.tool, one.format, one.reason) for one in records] == [
        ("langchain", "list", "gcf", ""),
        ("langchain", "list", "text", "not-json"),
    ]
    assert records[0].before == cw.shrink(ROWS).tokens_before
    assert records[0].saved == cw.shrink(ROWS).saved


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("read_text_file", {}, "excluded"),
        ("get_file_contents", {}, "excluded"),
        ("view", {}, "excluded"),
        ("viewer", {}, ""),
        ("fs_read", {}, "excluded"),
        ("fs_cat", {}, "excluded"),
        ("mcp__fs__read", {}, "excluded"),
        ("table_view", {}, ""),
        ("thread", {}, ""),
        ("show", {"path": "a.JSON"}, "document"),
        ("show", {"paths": [{"name": "b.ipynb"}]}, "document"),
        ("show", {"path": "a.txt"}, ""),
        ("show", "a.geojson", "document"),
    ],
)
def test_files_are_left_as_they_are(tool: str, arguments: object, reason: str) -> None:
    records: list[Saving] = []
    text = ToolShrinker("mcp", on_saving=records.append).text(tool, arguments, ROWS)
    assert (text is ROWS) == bool(reason)
    assert [one.reason for one in records] == [reason]
    if reason:
        assert records[0].before == records[0].after == cw.shrink(ROWS).tokens_before


@pytest.mark.parametrize(
    "argument",
    [
        "cat a.json | head",
        "cat 'x/A.JSON'",
        "https://host/a.json?raw=1",
        "a.json#L10",
        "a.jsonl:3",
        "a.json.bak",
        "jq . package-lock.json>b",
        "Pipfile.lock",
        "tiles.topojson",
        ".eslintrc",
        ".json",
    ],
)
def test_the_name_of_a_json_file_may_stand_anywhere(argument: str) -> None:
    assert names_document({"command": argument})


@pytest.mark.parametrize(
    "argument",
    ["json", "a.jsonx", "a.json_old", "await r.json()", "rows.map(f)", "a.locked", "x.maps"],
)
def test_other_words_are_no_name_of_a_json_file(argument: str) -> None:
    assert not names_document({"code": argument})


def test_arguments_are_searched_to_a_depth_of_four() -> None:
    assert names_document([[[["a.json"]]]])
    assert not names_document([[[[["a.json"]]]]])
    endless: list[Any] = []
    endless.append(endless)
    assert not names_document(endless)


def test_include_and_exclude_choose_tools() -> None:
    tools = ToolShrinker("mcp", include=("list_*",), exclude=("*_raw",))
    assert tools.text("list_rows", {}, ROWS) != ROWS
    assert tools.text("list_rows_raw", {}, ROWS) is ROWS
    assert tools.text("rows", {}, ROWS) is ROWS
    assert ToolShrinker("mcp", exclude=()).text("read_file", {}, ROWS) != ROWS


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"include": "*"}, TypeError),
        ({"exclude": (1,)}, TypeError),
        ({"on_saving": 1}, TypeError),
        ({"tokenizer": "unknown"}, ValueError),
        ({"formats": ("xml",)}, ValueError),
    ],
)
def test_options_are_checked_at_once(
    options: dict[str, Any], error: Callable[[], Exception]
) -> None:
    with pytest.raises(error):  # type: ignore[call-overload]
        ToolShrinker("mcp", **options)


def test_an_error_of_the_hook_is_not_hidden() -> None:
    def full(_: Saving) -> None:
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        ToolShrinker("mcp", on_saving=full).text("list", {}, ROWS)


def test_the_memory_of_a_conversation_is_bounded() -> None:
    savings = Savings()
    texts = ConversationShrinker(ToolShrinker("openai-agents", on_saving=savings))
    long = json.dumps([{"id": n, "state": "open"} for n in range(10_000)])
    for number in range(5_000):
        texts.text(f"c{number}", "excluded", "t", "[1]", new=True)
    for _ in range(3):
        assert texts.text("long", "", "t", long, new=True) == cw.shrink(long).text
    assert savings.by_tool["t"].calls == 5_001
    assert len(texts._reported) == 4_096
    assert len(texts._kept) == 0  # Long texts are not kept.


def test_the_memory_of_remembered_texts_is_bounded() -> None:
    texts = ConversationShrinker(ToolShrinker("openai-agents"))
    for number in range(300):
        wide = json.dumps([{"id": number, "text": "\U0001f600" * 60_000}], ensure_ascii=False)
        assert texts.text("c", "", "t", wide, new=True) == cw.shrink(wide).text
    assert sum(kept.size for kept in texts._kept) <= 32 << 20
    assert len(texts._kept) > 40


class Folded(str):
    """A text that is compared without regard to case."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str(self).lower() == str(other).lower()

    __hash__ = None  # type: ignore[assignment]


def test_texts_that_say_they_are_equal_are_not_taken_for_each_other() -> None:
    texts = ConversationShrinker(ToolShrinker("pydantic-ai", on_saving=Savings()))
    for text in (ROWS, ROWS.upper().replace("NULL", "null"), "prose", "PROSE"):
        folded = Folded(text)
        made = texts.text("c", "", "t", folded, new=True)
        assert (
            made is folded
            if cw.shrink(text).format == "text"
            else str(made) == cw.shrink(text).text
        )


def test_a_record_that_cannot_be_added_leaves_no_row() -> None:
    savings = Savings()
    with pytest.raises(TypeError):
        savings(saving(before=None))
    assert savings.by_tool == {}


def test_a_record_that_is_added_while_another_one_is_added_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    savings, record = Savings(), saving()
    add, nested = _savings.add, [record, record]

    def interrupted(totals: Any) -> Any:
        total = add(totals)
        if nested:
            # As a handler of a signal does; it also shows the sums.
            savings(nested.pop())
            assert str(savings)
        return total

    monkeypatch.setattr(_savings, "add", interrupted)
    savings(record)
    monkeypatch.undo()
    assert savings.total.calls == 3
