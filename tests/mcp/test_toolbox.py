"""The tools of `compactwire mcp serve`, without the protocol."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims
from compactwire.cli import main
from compactwire.mcp import _toolbox
from compactwire.mcp._definitions import MAX_TEXT, TOOLS, ToolError
from compactwire.mcp._roots import MAX_FILE, Roots
from compactwire.mcp._toolbox import Toolbox

ROWS = [{"id": n, "state": "open", "kind": "task"} for n in range(40)]
TEXT = json.dumps(ROWS, indent=2)
PLATE = "C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.json").write_text(TEXT, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tools(folder: Path) -> Iterator[Toolbox]:
    roots = Roots([str(folder)])
    yield Toolbox(roots)
    roots.close()


def failed(tools: Toolbox, name: str, arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        tools.call(name, arguments)
    said = str(caught.value)
    assert "Traceback" not in said
    assert all(line.isprintable() for line in said.split("\n"))
    return said


def test_compress_and_expand_are_inverse(tools: Toolbox, folder: Path) -> None:
    assert tools.call("compress", {"text": TEXT}) == cw.shrink(TEXT).text
    assert tools.call("compress", {"path": "rows.json"}) == cw.shrink(TEXT).text
    said = tools.call("compress", {"path": "rows.json", "to": "rows.gcf"})
    shrunk = cw.shrink(TEXT)
    numbers = f"{shrunk.tokens_before:,} to {shrunk.tokens_after:,} tokens (estimated), format gcf"
    assert said == f"rows.gcf written from rows.json: {numbers}"
    assert (folder / "rows.gcf").read_text(encoding="utf-8") == shrunk.text
    assert json.loads(tools.call("expand", {"path": "rows.gcf"})) == ROWS
    assert json.loads(tools.call("expand", {"text": TEXT})) == ROWS
    said = tools.call("expand", {"path": "rows.gcf", "to": "again.json"})
    assert said.startswith("again.json written from rows.gcf: ")
    assert json.loads((folder / "again.json").read_text(encoding="utf-8")) == ROWS


def test_a_text_that_is_no_json_comes_back_as_it_is(tools: Toolbox, folder: Path) -> None:
    for text in ("hello\r\n", "\ufeff# A title", "", "\ufeff1"):
        assert tools.call("compress", {"text": text}) == text
    (folder / "a.txt").write_bytes("\ufeffa: ü\r\n".encode())
    said = tools.call("compress", {"path": "a.txt", "to": "b.txt"})
    assert said.endswith("format text; nothing was saved: the text is not JSON")
    assert (folder / "b.txt").read_bytes() == (folder / "a.txt").read_bytes()


def test_json_after_a_byte_order_mark_is_read(tools: Toolbox) -> None:
    assert tools.call("compress", {"text": "\ufeff" + TEXT}) == cw.shrink(TEXT).text
    assert json.loads(tools.call("expand", {"text": "\ufeff[1]"})) == [1]


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_json_lines_are_read_as_the_commands_read_them(
    mark: str, tools: Toolbox, folder: Path
) -> None:
    for name in ("a.jsonl", "A.NDJSON", "a.txt"):
        (folder / name).write_text(mark + LINES, encoding="utf-8")
    for given in ({"path": "a.jsonl"}, {"path": "A.NDJSON"}, {"path": "a.txt"}, {"text": LINES}):
        assert tools.call("compress", given) == cw.shrink(ROWS).text
        assert json.loads(tools.call("expand", given)) == ROWS
    said = tools.call("compress", {"path": "a.jsonl", "to": "a.gcf"})
    before, after = cw.estimate_tokens(LINES), cw.shrink(ROWS).tokens_after
    assert said.endswith(f": {before:,} to {after:,} tokens (estimated), format gcf")
    forms = tools.call("stats", {"path": "a.jsonl"}).split("\n")
    counts = [int(form.split()[-1]) for form in (forms[0], forms[2])]
    assert counts == [cw.estimate_tokens(mark + LINES), after]


def test_json_lines_that_are_shorter_than_gcf_stay_lines(tools: Toolbox, folder: Path) -> None:
    (folder / "one.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    assert tools.call("compress", {"path": "one.jsonl"}) == '{"a": 1}\n'
    said = tools.call("compress", {"path": "one.jsonl", "to": "one.txt"})
    assert said.endswith("format text; nothing was saved: no form is shorter")
    assert tools.call("expand", {"path": "one.jsonl"}) == '[{"a":1}]'
    assert tools.call("expand", {"text": "1\n\n2"}) == "[1,2]"


def test_lines_that_only_begin_as_json_lines_are_text(tools: Toolbox, folder: Path) -> None:
    text = LINES + "end of the log\n"
    assert tools.call("compress", {"text": text}) == text
    (folder / "a.jsonl").write_text(text, encoding="utf-8")
    for name, given in [("expand", {"text": text}), ("compress", {"path": "a.jsonl"})]:
        said = failed(tools, name, given)
        assert "(line 41, column 1)" in said
        assert said.startswith(f"{name}: {'a.jsonl' if 'path' in given else 'text'}: ")


def test_numbers_and_texts_keep_every_digit(tools: Toolbox) -> None:
    text = (
        '{"a": 0.10000000000000000555, "b": 12345678901234567890123, "c": "\\u00e9\\ud83d\\ude00"}'
    )
    compact = '{"a":0.10000000000000000555,"b":12345678901234567890123,"c":"\\u00e9\\ud83d\\ude00"}'
    assert tools.call("expand", {"text": text}) == compact


def test_stats_compares_the_forms(tools: Toolbox) -> None:
    said = tools.call("stats", {"path": "rows.json"})
    lines = [line.split() for line in said.split("\n")]
    assert [line[0] for line in lines] == ["as", "json", "gcf", "cheapest:"]
    numbers = [int(line[-1].replace(",", "")) for line in lines[:3]]
    assert numbers == [
        cw.estimate_tokens(one)
        for one in (TEXT, json.dumps(ROWS, separators=(",", ":")), cw.shrink(TEXT).text)
    ]
    assert lines[3][1] == "gcf,"
    # GCF has no such numbers: the core rewrites none of them.
    said = tools.call("stats", {"text": "[12345678901234567890123]"})
    assert "gcf      cannot hold this value" in said
    assert "cheapest: as it is (estimated tokens)" in said


@pytest.mark.parametrize("text", ['"a|b"', "1.50", " null\n", "\ufefftrue"])
def test_a_scalar_is_data(text: str, tools: Toolbox) -> None:
    assert tools.call("expand", {"text": text}) == text.strip("\ufeff \n")
    assert "cheapest: " in tools.call("stats", {"text": text})


@pytest.mark.parametrize("tool", ["expand", "stats"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,\n "b": }', "line 2, column 7"),
        ("hello", 'expected a JSON value, found "hello"'),
        ("", "text: "),
        ("[" * 100_000 + "]" * 100_000, "nested more than 256 levels deep"),
        ('{"a": 1, "a": 2}', "text: "),
        ('["\\ud800"]', "text: "),
        ("GCF profile=generic\n## [2]{id}\n1\n", "text: "),
        ("GCF profile=graph", "text: "),
        ("\0\x1b[2J\x07", "text: "),
    ],
)
def test_a_text_that_is_no_data_is_an_error_with_its_place(
    tool: str, text: str, message: str, tools: Toolbox
) -> None:
    said = failed(tools, tool, {"text": text})
    assert said.startswith(f"{tool}: text: ")
    assert message in said
    assert len(said) < 400


def test_a_text_that_causes_more_than_it_says_is_refused(tools: Toolbox) -> None:
    rows = "".join(f"{n}\n" for n in range(20_000))
    text = f"GCF profile=generic\n## [20000]{{id,state={'x' * 4000}}}\n{rows}"
    said = failed(tools, "expand", {"text": text, "to": "long.json"})
    assert said.startswith("expand: text: limit_exceeded: ")


def test_an_answer_is_bounded(tools: Toolbox, folder: Path) -> None:
    value = ["x" * 100] * 11_000
    (folder / "long.json").write_text(json.dumps(value), encoding="utf-8")
    for name in ("compress", "expand"):
        said = failed(tools, name, {"path": "long.json"})
        assert f"the limit is {MAX_TEXT:,}: name a file for it with `to`, or pass less" in said
    said = failed(tools, "compress", {"text": "x" * (MAX_TEXT + 1)})
    assert said == "compress: text: has 1,048,577 characters; the limit is 1,048,576: pass a `path`"
    assert tools.call("compress", {"text": "x" * MAX_TEXT})
    with (folder / "huge").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    assert "the limit is 16,777,216" in failed(tools, "compress", {"path": "huge"})


def test_a_binary_file_is_no_text(tools: Toolbox, folder: Path) -> None:
    (folder / "binary").write_bytes(b"ab\xff\0")
    for name in ("compress", "expand", "stats"):
        said = failed(tools, name, {"path": "binary"})
        assert said.startswith(f"{name}: path: binary: not UTF-8 from byte 2 on")


def test_only_files_of_data_are_written(tools: Toolbox, folder: Path) -> None:
    before = sorted(folder.iterdir())
    for name, arguments in (
        ("compress", {"text": "#!/bin/sh", "to": "run.sh"}),
        ("compress", {"text": "a", "to": ".json"}),
        ("expand", {"text": "[]", "to": "a.gcf"}),
        ("create_cad_compact", {"compact": "S 1", "to": "a.txt"}),
        ("cad_convert", {"path": "rows.json", "to": "a.txt"}),
        ("cad_convert", {"path": "rows.json", "to": "a.vcad"}),
        ("compress", {"text": "a", "to": "rows.json"}),
        ("compress", {"text": "a", "to": "../a.json"}),
    ):
        failed(tools, name, arguments)
    assert sorted(folder.iterdir()) == before
    assert (folder / "rows.json").read_text(encoding="utf-8") == TEXT


def test_a_part_is_made_and_converted_without_loss(tools: Toolbox, folder: Path) -> None:
    document = cad.from_compact(PLATE)
    said = tools.call("create_cad_compact", {"compact": PLATE})
    assert json.loads(said)["nodes"] == 4
    assert json.loads(tools.call("create_cad_compact", {"compact": PLATE, "format": "json"})) == (
        document
    )
    assert tools.call("create_cad_compact", {"compact": "S 1", "format": "vcad"}).startswith(
        "# vcad"
    )
    said = tools.call("create_cad_compact", {"compact": PLATE, "to": "plate.vcad"})
    first, summary = said.split("\n")
    assert first.startswith("plate.vcad written: JSON, 4 nodes, ")
    assert json.loads(summary)["ops"]["Difference"] == 1
    for old, new in (("vcad", "vcadb"), ("vcadb", "vcadc"), ("vcadc", "json")):
        tools.call("cad_convert", {"path": f"plate.{old}", "to": f"plate.{new}"})
    assert (folder / "plate.vcadc").read_text(encoding="utf-8") == PLATE + "\n"
    for suffix in ("vcad", "vcadb", "vcadc", "json"):
        assert cad.load(folder / f"plate.{suffix}") == document


def test_a_document_with_more_than_a_shape_is_written_whole(tools: Toolbox, folder: Path) -> None:
    document = cad.from_compact("S 1")
    document["nodes"]["0"]["name"] = "ball"
    (folder / "ball.vcad").write_text(cad.dumps(document), encoding="utf-8")
    said = tools.call("cad_convert", {"path": "ball.vcad", "to": "ball.vcadc"})
    assert "compact text 0.2" in said
    assert cad.load(folder / "ball.vcadc") == document


def test_errors_of_a_part_name_their_lines(tools: Toolbox) -> None:
    said = failed(tools, "create_cad_compact", {"compact": "S 1\nsphere 2\nT 9 0 0 0"})
    assert said.split("\n") == [
        "create_cad_compact: line 2: unknown opcode sphere in 'sphere 2' (did you mean S?)",
        "line 3: node 9 referenced but only 2 nodes defined in 'T 9 0 0 0'",
    ]
    said = failed(tools, "create_cad_compact", {"compact": "x\x1b\n" * 100_000})
    assert said.endswith("and 95 more")
    said = failed(tools, "create_cad_compact", {"compact": "S 1 8", "format": "vcad"})
    assert said == "create_cad_compact: node 0: segments cannot be written for vcad"


def test_a_cad_file_that_is_none_is_an_error(tools: Toolbox, folder: Path) -> None:
    for data in (b"\xff\xfe", b"{}", b"[" * 100_000, b"x\n" * 1000, b"VCDB\0\0"):
        (folder / "bad").write_bytes(data)
        said = failed(tools, "cad_convert", {"path": "bad", "to": "out.vcad"})
        assert said.startswith("cad_convert: path: bad: ")
    (folder / "bad").write_bytes(b"S 1\n" * (1 << 20))
    assert "the limit is 2,097,152" in failed(tools, "cad_convert", {"path": "bad", "to": "o.vcad"})
    assert not (folder / "out.vcad").exists()


def claimed(folder: Path) -> dict[str, str]:
    """The arguments of `verify_claim` for a claim that is true."""
    items = [
        {"kind": "section", "ref": "a.md", "text": "some text\n" * 20},
        {"kind": "symbol", "ref": "@abc", "text": "def a(): ...\n" * 20},
    ]
    manifest = claims.build_bundle(folder / "bundle", "run-1", "job-1", "message-1", items)
    claims.write_receipt(folder / "receipts", claims.make_receipt(manifest))
    claim = claims.make_claim(manifest, folder / "bundle", notes="by hand")
    claims.write_json(folder / "claim.json", claim)
    return {"bundle": "bundle", "receipts": "receipts", "claim": "claim.json"}


def test_a_claim_is_verified_with_what_was_not_checked(tools: Toolbox, folder: Path) -> None:
    given = claimed(folder)
    report = cw.verify_claim(folder / "bundle", folder / "receipts", folder / "claim.json")
    computed = report.computed or {}
    before, after = computed["uncompressed_tokens"], computed["compressed_tokens"]
    assert tools.call("verify_claim", given).split("\n") == [
        f"code 0: verified, {after:,} of {before:,} tokens, "
        f"ratio {computed['compression_ratio']:.4g}",
        "signatures: not checked; pass `policy`",
        "Merkle root: not attested, so the last receipts may be missing",
        "not verified: notes",
    ]
    for path in (folder / "bundle" / "artifacts").iterdir():
        path.write_text("other", encoding="utf-8")
    said = tools.call("verify_claim", given)
    assert said.startswith("code 1: refused at check ")
    (folder / "claim.json").write_text("{", encoding="utf-8")
    assert tools.call("verify_claim", given).startswith("code 2: refused at check ")


def test_a_trust_policy_is_applied(tools: Toolbox, folder: Path) -> None:
    given = {**claimed(folder), "policy": "policy.json"}
    key = claims.generate_key()
    entry = {
        "validator_id": "builder",
        "public_key": key.public_key,
        "schemes": ["ed25519"],
        "scope": ["RECEIPT"],
        "enabled": True,
    }
    claims.write_json(folder / "policy.json", claims.make_trust_policy([entry]))
    assert tools.call("verify_claim", given).startswith("code 1: refused at check 5.5")
    (path,) = (folder / "receipts").iterdir()
    signed = claims.sign_receipt(json.loads(path.read_bytes()), key, "builder")
    claims.write_receipt(folder / "receipts", signed, replace=True)
    said = tools.call("verify_claim", given)
    assert said.startswith("code 0: verified")
    assert "all receipts are signed by validators of the policy" in said
    (folder / "policy.json").write_text("{}", encoding="utf-8")
    assert tools.call("verify_claim", given).startswith("code 2: refused at check ")


def test_a_claim_outside_of_the_roots_is_not_read(tools: Toolbox, folder: Path) -> None:
    given = claimed(folder)
    for name in given:
        said = failed(tools, "verify_claim", {**given, name: "/etc"})
        assert said.startswith(f"verify_claim: {name}: /etc is not below a root")
    assert "bundle: claim.json: a part of the path" in failed(
        tools, "verify_claim", {**given, "bundle": "claim.json"}
    )
    assert "is a folder" in failed(tools, "verify_claim", {**given, "claim": "bundle"})


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("none", {}, "none: no such tool; there are compress, expand, stats, "),
        ("a\nb" * 100, {}, "no such tool"),
        ("compress", {}, "compress: give either `path` or `text`"),
        ("compress", {"text": "a", "path": "a"}, "give either `path` or `text`"),
        ("compress", {"text": None}, "give either `path` or `text`"),
        ("compress", {"text": 3}, "text: must be a string, not int"),
        ("compress", {"text": ["a"]}, "text: must be a string, not list"),
        ("compress", {"text": "a", "x\n": 1}, "unknown argument x\\n; there are path, text, to"),
        ("compress", {"text": "\ud800"}, "text: lone surrogate at character 0"),
        ("compress", ["a"], "the arguments must be an object"),
        ("cad_convert", {"path": "a"}, "the argument to is missing"),
        ("create_cad_compact", {"compact": "S 1", "format": "x"}, "must be one of summary, json"),
        ("create_cad_compact", {"compact": "S 1", "format": ["json"]}, "format: must be"),
    ],
)
def test_wrong_arguments_are_named(name: str, arguments: Any, message: str, tools: Toolbox) -> None:
    assert message in failed(tools, name, arguments)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "compress: not enough memory; pass less at once"),
        (RecursionError("deep"), "compress: not enough memory; pass less at once"),
        (OSError(5, "Input/output error", "a"), "Input/output error"),
        (LookupError("x\n"), "a bug of compactwire, please report: LookupError: x\\n"),
    ],
)
def test_an_exception_becomes_an_error_of_the_tool(
    error: BaseException, message: str, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(_toolbox, "shrink", broken)
    assert message in failed(tools, "compress", {"text": "a"})


def test_without_roots_the_tools_say_so(tools: Toolbox) -> None:
    without = Toolbox(Roots())
    assert without.call("compress", {"text": TEXT}) == cw.shrink(TEXT).text
    assert "runs without --root" in failed(without, "compress", {"path": "rows.json"})
    assert "runs without --root" in failed(without, "compress", {"text": TEXT, "to": "a.gcf"})
    for definition in without.definitions():
        assert definition["description"].endswith(" No --root: no files.")
    for definition in tools.definitions():
        assert "--root" not in definition["description"]


@pytest.mark.parametrize("roots", [True, False])
def test_the_definitions_are_short(roots: bool, tools: Toolbox) -> None:
    tokenizers = pytest.importorskip("bpe_openai")
    encoding = tokenizers.get_encoding("o200k_base")
    definitions = (tools if roots else Toolbox(Roots())).definitions()
    assert [one["name"] for one in definitions] == [
        *("compress", "expand", "stats", "create_cad_compact", "cad_convert", "verify_claim")
    ]
    text = json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))
    count = len(encoding.encode_ordinary(text))
    assert count < 700
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    assert not roots or f"definitions together take {count} tokens" in page


def test_the_description_of_the_cad_tool_has_every_opcode_and_an_example() -> None:
    (short,) = (one["description"] for one in TOOLS if one["name"] == "create_cad_compact")
    words = set(re.findall(r"\b[A-Z]+\b", cad.TOOL["description"])) - {"CAD", "E"}
    assert words <= set(re.findall(r"\b[A-Z]+\b", short))
    assert cad.create_cad_compact(short.split("hole:\n")[1])["ok"]


@pytest.mark.skipif(os.name != "posix", reason="NOT RUN: needs links")
def test_no_tool_writes_a_script_through_a_link(folder: Path) -> None:
    for name, target in (("a.txt", "run.sh"), ("a.json", "run.sh"), ("a.vcad", "Makefile")):
        (folder / name).symlink_to(target)
        (folder / target).write_text("mine", encoding="utf-8")
    tools = Toolbox(Roots([str(folder)], overwrite=True))
    for name, arguments in (
        ("compress", {"text": "a", "to": "a.txt"}),
        ("expand", {"text": "[1]", "to": "a.json"}),
        ("create_cad_compact", {"compact": PLATE, "to": "a.vcad"}),
    ):
        assert "is a link to a file that does not end in" in failed(tools, name, arguments)
    for target in ("run.sh", "Makefile"):
        assert (folder / target).read_text(encoding="utf-8") == "mine"


def test_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "compactwire.mcp._serve", raising=False)
    assert main(["mcp", "serve"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "compactwire: error: compactwire mcp serve needs the MCP SDK: "
        "pip install 'compactwire[mcp]'\n"
    )


def test_a_root_that_is_no_folder_is_an_error_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("none", "rows.json"):
        assert main(["mcp", "serve", "--root", str(folder / path)]) == 1
        assert str(folder / path) in capsys.readouterr().err
