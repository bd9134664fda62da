"""The conformance vectors of the Compact Protocol, by the product and by the reference.

Every file is read, and every case in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from tests import reference as ref
from tests.vectors import OWN, load

FOLDER = OWN / "compact"

Case = dict[str, Any]


def check_response(case: Case) -> None:
    assert case.keys() <= {"wire", "format", "response", "encode"}
    wire, response = case["wire"], cw.Response(**case["response"])
    decoded = cw.decode(wire)
    assert decoded == response
    assert decoded.format == cw.detect(wire) == case["format"]
    assert cw.inspect(wire).response == response
    if "encode" in case:
        assert cw.encode(response, format=case["format"], **case["encode"]) == wire


def check_response_by_reference(case: Case) -> None:
    wire, response = case["wire"], ref.Response(**case["response"])
    decoded = ref.decode(wire)
    assert decoded == response
    assert decoded.format == ref.detect(wire) == case["format"]
    if "encode" in case:
        assert ref.encode(response, format=case["format"], **case["encode"]) == wire


def check_bad_response(case: Case) -> None:
    assert case.keys() == {"wire", "error"}
    with pytest.raises(getattr(cw, case["error"])) as caught:
        cw.decode(case["wire"])
    assert type(caught.value).__name__ == case["error"]
    raw = cw.decode(case["wire"], fallback=True)
    assert (raw, raw.format) == (cw.Response(case["wire"]), "raw")


def check_bad_response_by_reference(case: Case) -> None:
    with pytest.raises(ref.DecodeError) as caught:
        ref.decode(case["wire"])
    assert caught.value.kind == case["error"]


def check_delta(case: Case) -> None:
    assert case.keys() == {"content", "delta", "result"}
    content, delta, result = case["content"], case["delta"], case["result"]
    assert cw.apply_delta(content, delta) == result
    assert cw.DeltaStream(content).apply(delta) == result
    assert cw.apply_delta(content, cw.encode_delta(content, result)) == result


def check_delta_by_reference(case: Case) -> None:
    assert ref.apply_delta(case["content"], case["delta"]) == case["result"]


def check_bad_delta(case: Case) -> None:
    assert case.keys() == {"content", "delta"}
    with pytest.raises(cw.DecodeError):
        cw.apply_delta(case["content"], case["delta"])


def check_bad_delta_by_reference(case: Case) -> None:
    with pytest.raises(ref.DecodeError):
        ref.apply_delta(case["content"], case["delta"])


def check_base85(case: Case) -> None:
    assert case.keys() == {"bytes", "text"}
    data = bytes.fromhex(case["bytes"])
    assert cw.encode_base85(data) == case["text"]
    assert cw.decode_base85(case["text"]) == data


def check_base85_by_reference(case: Case) -> None:
    data = bytes.fromhex(case["bytes"])
    assert ref.encode_base85(data) == case["text"]
    assert ref.decode_base85(case["text"]) == data


CHECKS: dict[str, tuple[Callable[[Case], None], Callable[[Case], None]]] = {
    "bad_deltas.json": (check_bad_delta, check_bad_delta_by_reference),
    "bad_responses.json": (check_bad_response, check_bad_response_by_reference),
    "base85.json": (check_base85, check_base85_by_reference),
    "deltas.json": (check_delta, check_delta_by_reference),
    "responses.json": (check_response, check_response_by_reference),
}
FILES = sorted(
    path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if not path.is_dir()
)
CASES: dict[str, list[Case]] = {name: load(FOLDER / name) for name in FILES if name in CHECKS}
ALL = [
    pytest.param(name, case, id=f"{name.removesuffix('.json')}-{number}")
    for name, cases in CASES.items()
    for number, case in enumerate(cases)
]


def test_every_file_is_read_and_none_is_missing() -> None:
    assert sorted(CHECKS) == FILES


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_no_file_is_empty(name: str) -> None:
    assert len(CASES[name]) > 0


@pytest.mark.parametrize(("name", "case"), ALL)
def test_the_product_agrees(name: str, case: Case) -> None:
    CHECKS[name][0](case)


@pytest.mark.parametrize(("name", "case"), ALL)
def test_the_reference_agrees(name: str, case: Case) -> None:
    CHECKS[name][1](case)
