"""The command ``compactwire conformance``, and `compactwire.conformance`."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import conformance
from compactwire.cli import main
from compactwire.conformance import _run
from tests.vectors import OWN, load, load_lines, published

Captured = pytest.CaptureFixture[str]


def test_our_own_vectors_hold_and_each_is_read() -> None:
    report = conformance.run(OWN)
    assert report.failed == []
    assert report.ok
    assert {name: count for name, count, _ in report.systems()} == {
        "cad": 447,
        "claims": 619,
        "compact": 293,
        "gcf": 209,
        "graph": 56,
    }
    # The outputs of fixed inputs: `tests.package.recorded` makes the inputs.
    assert report.unread == ["kept/0.1.0.json", "recorded.json"]


@pytest.mark.parametrize("name", ["gcf", "gcf-published", "gcf-extra", "gcb"])
def test_published_vectors_hold(name: str) -> None:
    report = conformance.run(published(name))
    assert report.failed == []
    assert report.unread == []
    assert report.ok


def first(path: str, **members: Any) -> dict[str, Any]:
    """The first case of a file with these members."""
    content = load_lines(OWN / path) if path.endswith("l") else load(OWN / path)
    cases = content if isinstance(content, list) else [content]
    return next(each for each in cases if members.items() <= each.items())


PUBLISHED = "gcf/published"
# A case, the member to change, and what the difference is about.
CHANGED: list[tuple[dict[str, Any], str, Any, str]] = [
    (first("compact/responses.json"), "wire", "RES|ERR|X5|254|", "the decoded response"),
    (first("compact/responses.json"), "format", "zlib", "the format of the decoded response"),
    (first("compact/bad_responses.json"), "error", "MissingField", "the error"),
    (first("compact/bad_responses.json"), "wire", "RES|OK||0|x", "decoding: expected Comp"),
    (first("compact/deltas.json"), "result", "§", "the applied delta"),
    (first("compact/bad_deltas.json"), "delta", "D|+|x", "applying: expected DecodeError"),
    (first("compact/base85.json"), "text", "00001", "the text"),
    (first(f"{PUBLISHED}/constants-write.json"), "expected", "GCF", "the text of dumps"),
    (first(f"{PUBLISHED}/constants-read.json"), "expected", [True], "the value"),
    (first(f"{PUBLISHED}/constants-errors.json"), "expectedError", "§", "reading: expected the"),
    (first(f"{PUBLISHED}/groups-write.json"), "expected", "GCF", "the text"),
    (first("gcf/generic-delta/01_add_change_remove.json"), "expected", "GCF", "the delta"),
    (first("gcf/generic-delta/01_add_change_remove.json"), "base_root", "x", "the pack root of"),
    (first("graph/delta/01_add_one_symbol.json"), "new_root", "x", "the pack root of new"),
    (first("wire/010_empty_payload.json"), "gcb_hex", "47", "the bytes"),
    (first("wire/lossy/010_unknown_kind.json"), "expected_error", "§", "writing: expected the"),
    (first("wire/malformed/016_truncated_edge.json"), "expected_error", "§", "the error"),
    (first("cad/read-0.1-valid.json"), "compact", "S 77", "the document"),
    (first("cad/read-0.1-invalid.json"), "compact", "S 77", "reading: expected CompactParse"),
    (first("cad/write.json"), "compact", "S 77", "the text"),
    (first("cad/target.json", error=None), "losses", ["§"], "the losses"),
    (first("cad/hybrid.json"), "document", first("cad/write.json")["document"], "the document"),
    (first("cad/binary.json"), "hex", "00", ""),
    (first("cad/numbers.json"), "text", "7.5", "the bits"),
    (first("claims/canonical.json"), "out", "§", "the canonical form"),
    (first("claims/merkle.json"), "root", "§", "the Merkle root"),
    (first("claims/tokens.json"), "tokens", 77, "the estimate"),
    (first("claims/cases.jsonl"), "inputs", {}, "raised KeyError"),
]


@pytest.mark.parametrize(
    ("case", "member", "value", "difference"), CHANGED, ids=range(len(CHANGED))
)
def test_a_vector_that_does_not_hold_is_named_with_what_differs(
    case: dict[str, Any], member: str, value: Any, difference: str, tmp_path: Path
) -> None:
    assert member in case
    (tmp_path / "some.json").write_text(json.dumps([case, {**case, member: value}]))
    report = conformance.run(tmp_path)
    assert len(report.outcomes) == 2
    (failed,) = report.failed
    assert failed.vector.startswith("some.json#1")
    assert failed.difference.startswith(difference)


def test_too_little_memory_is_no_failed_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(*_: object, **__: object) -> object:
        raise MemoryError

    for path in ("compact/responses.json", "compact/bad_responses.json"):
        (tmp_path / "some.json").write_text(json.dumps([first(path)]))
        with monkeypatch.context() as patch:
            patch.setattr(cw, "decode", decode)
            with pytest.raises(MemoryError):
                conformance.run(tmp_path)


def test_a_report_of_a_claim_that_differs_is_found(tmp_path: Path) -> None:
    case = first("claims/cases.jsonl")
    for member, value, difference in (
        ("code", "§", "the code of the error: expected '§'"),
        ("checks", "p", "the checks: "),
        ("exit_code", 0, "exit_code: "),
    ):
        changed = {**case, "expected": {**case["expected"], member: value}}
        (tmp_path / "one.json").write_text(json.dumps(changed))
        (failed,) = conformance.run(tmp_path).failed
        assert failed.vector == "one.json"
        assert failed.difference.startswith(difference)


@pytest.mark.parametrize("name", ["../out.txt", "a/../../out.txt", "/out.txt", "..\\out.txt"])
def test_a_vector_writes_no_file_outside_of_its_folder(name: str, tmp_path: Path) -> None:
    case = first("claims/cases.jsonl")
    for changed in ({"files": {name: "x"}}, {"links": {name: "x"}}):
        (tmp_path / "one.json").write_text(json.dumps({**case, **changed}))
        (failed,) = conformance.run(tmp_path).failed
        assert "leads out of the folder of the case" in failed.difference


def test_a_case_of_claims_may_be_a_folder(tmp_path: Path) -> None:
    case = first("claims/cases.jsonl", name="ok_single_section")
    for name, content in case.pop("files").items():
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, newline="")
    (tmp_path / "one" / "case.json").write_text(json.dumps(case))
    report = conformance.run(tmp_path)
    assert [(each.vector, each.ok) for each in report.outcomes] == [("one/case.json", True)]
    assert report.unread == []


def test_files_and_cases_that_are_no_vectors_are_listed(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('[{"a": 1}, 2, {"operation": "none"}]')
    (tmp_path / "part.vcad").write_text("{}")
    (tmp_path / "README.md").write_text("# Vectors")
    report = conformance.run(tmp_path)
    assert report.unread == ["other.json#0", "other.json#1", "other.json#2", "part.vcad"]
    assert not report.ok


def test_the_command_prints_what_differs_and_sums(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps([{"bytes": "00", "text": "00"}, {"bytes": "00", "text": "01"}, {}])
    )
    assert main(["conformance", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "a.json#1: the text: expected '1', found '0' from character 1 on",
        "compact        2 vectors      1 failed",
        "not read: 1 of no known form (a.json#2)",
    ]
    assert main(["conformance", "--json", str(tmp_path)]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "version": cw.__version__,
        "ok": False,
        "passed": 1,
        "failed": [
            {
                "vector": "a.json#1",
                "system": "compact",
                "difference": "the text: expected '1', found '0' from character 1 on",
            }
        ],
        "unread": ["a.json#2"],
        "systems": {"compact": {"vectors": 2, "failed": 1}},
    }


def test_vectors_that_hold_have_exit_code_0(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "a.jsonl").write_text('{"bytes": "00", "text": "00"}\n')
    assert main(["conformance", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "compact        1 vectors      0 failed\n"


def test_an_empty_folder_is_no_success(tmp_path: Path, capsys: Captured) -> None:
    assert main(["conformance", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"compactwire: no vectors in {tmp_path}\n"


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_not_json_is_an_error(
    content: bytes, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    assert main(["conformance", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(
        f"compactwire: error: {tmp_path / 'bad.json'}: not JSON: "
    )
    (tmp_path / "bad.json").rename(tmp_path / "bad.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(b"{}\n\n" + content)
    assert main(["conformance", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    file = tmp_path / "bad.jsonl"
    assert error.startswith(f"compactwire: error: {file}, line 3: not JSON: ")


def test_errors_of_arguments(tmp_path: Path, capsys: Captured) -> None:
    assert main(["conformance", str(tmp_path / "none")]) == 1
    assert "no folder" in capsys.readouterr().err
    (tmp_path / "a.json").write_text("[]" + " " * 99)
    assert main(["conformance", str(tmp_path), "--max-input", "9"]) == 1
    assert "a.json: larger than 9 bytes" in capsys.readouterr().err
    assert main(["conformance"]) == 2
    assert main(["conformance", "--deviations", str(tmp_path)]) == 2
    assert "give a folder of vectors, or --deviations" in capsys.readouterr().err


def test_deviations_are_printed_as_json(capsys: Captured) -> None:
    assert main(["conformance", "--deviations"]) == 0
    assert json.loads(capsys.readouterr().out) == conformance.deviations() != []


@pytest.mark.parametrize("module", [conformance, _run])
def test_examples_give_the_output_shown(module: Any) -> None:
    result = doctest.testmod(module)
    assert result.attempted >= 2
    assert result.failed == 0
