"""`target="vcad"`: text that the public program reads as the same document, or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire import cad
from tests.reference import cad as reference
from tests.strategies.cad import documents
from tests.strategies.documents import exact

CODES: Any = [
    "assembly", "ids", "materials", "names", "ops", "part_materials", "roots", "scene",
    "segments", "unknown", "version", "visibility",
]  # fmt: skip


CALLS: list[Callable[..., Any]] = [cad.to_compact, cad.losses]


def read_by_both(text: str) -> Any:
    """The document of a text, which both readers must understand alike."""
    ours = cad.from_compact(text)
    assert exact(cad.canonical(reference.read_as_vcad(text))) == exact(ours)
    return ours


def without_names(document: Any) -> Any:
    for node in document["nodes"].values():
        node["name"] = None
    return document


@given(documents(), st.booleans())
def test_text_for_vcad_is_the_same_document_or_refused(document: Any, names: bool) -> None:
    try:
        text = cad.to_compact(document, target="vcad", names=names)
    except cad.DocumentError as error:
        assert "vcad" in error.message  # noqa: PT017
        return
    expected = reference.renumbered(cad.canonical(document))
    if not names:
        expected = without_names(expected)
    assert exact(read_by_both(text)) == exact(expected)
    assert set(cad.losses(document, target="vcad")) <= {"ids"} | ({"names"} - {names and "names"})


@given(documents())
def test_lossy_text_for_vcad_is_read_alike_and_listed(document: Any) -> None:
    try:
        text = cad.to_compact(document, target="vcad", lossy=True)
    except cad.DocumentError as error:
        with pytest.raises(cad.DocumentError) as caught:
            cad.losses(document, target="vcad")
        assert vars(caught.value) == vars(error)  # noqa: PT017
        return
    again = read_by_both(text)
    lost = cad.losses(document, target="vcad")
    assert (set(lost) <= {"ids"}) == (
        exact(again) == exact(reference.renumbered(cad.canonical(document)))
    )
    # Nothing but the id changes when the text is written again.
    assert cad.to_compact(again, target="vcad") == text


@given(documents(), st.sets(st.sampled_from(CODES)))
def test_only_the_losses_that_are_allowed_happen(document: Any, allowed: set[Any]) -> None:
    try:
        text = cad.to_compact(document, target="vcad", lossy=sorted(allowed))
    except cad.DocumentError:
        return
    lost = set(cad.losses(document, target="vcad"))
    assert lost <= allowed | {"ids"}
    assert text == cad.to_compact(document, target="vcad", lossy=True)
    for code in sorted(lost - {"ids"}):
        with pytest.raises(cad.DocumentError):
            cad.to_compact(document, target="vcad", lossy=sorted(lost - {code}))


def test_options_of_a_target_are_checked() -> None:
    document: Any = {"nodes": {}}
    for options, message in (
        ({"target": "x"}, 'unknown target "x"'),
        ({"target": "vcad", "dialect": "0.1"}, 'target "vcad" is written in dialect 0.2'),
        ({"target": "vcad", "dialect": "0.3"}, "dialect must be"),
    ):
        for call in CALLS:
            with pytest.raises(ValueError, match=message):
                call(document, **options)
    for options, message in (
        (
            {"target": "vcad", "unknown": "keep"},
            'unknown="keep" needs dialect 0.2 without a target',
        ),
        ({"target": "vcad", "lossy": ["x"]}, 'unknown loss code "x"'),
        ({"target": "vcad", "lossy": ["root_material"]}, 'unknown loss code "root_material"'),
    ):
        with pytest.raises(ValueError, match=message):
            cad.to_compact(document, **options)
    for lossy in ("segments", None, 1, [1]):
        with pytest.raises(TypeError, match="lossy must be a bool, or a list of loss codes"):
            cad.to_compact(document, target="vcad", lossy=lossy)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="lossy must be a bool, unless there is a target"):
        cad.to_compact(document, lossy=["ops"])
    assert cad.to_compact(document, "0.2", target="vcad", lossy=[]) == "# vcad 0.2"


def test_a_document_with_a_cycle_has_no_text() -> None:
    op = {"type": "Shell", "thickness": 1}
    nodes = {"1": {"op": {**op, "child": 2}}, "2": {"op": {**op, "child": 1}}}
    for call in (cad.to_compact, cad.losses):
        with pytest.raises(cad.DocumentError, match="node 1: cycle 1 -> 2 -> 1"):
            call({"nodes": nodes, "version": "9"}, target="vcad")


def test_the_first_refusal_is_the_first_in_the_text() -> None:
    document: Any = {
        "version": "9",
        "nodes": {"0": {"name": "\n", "op": {"type": "Sphere", "radius": 1, "segments": 3}}},
        "part_materials": {"a": "b"},
        "roots": [{"root": 0, "material": "m", "visible": True}],
        "joints": [],
        "scene": {"lights": []},
    }
    found = []
    for allowed in range(8):
        codes = ["version", "part_materials", "segments", "names", "visibility", "assembly"]
        try:
            cad.to_compact(document, target="vcad", lossy=codes[:allowed])
        except cad.DocumentError as error:
            found.append(f"{error.path}: {error.message}")
    assert found == [
        "document: version cannot be written for vcad",
        "document: part_materials cannot be written for vcad",
        "node 0: segments cannot be written for vcad",
        "node 0: name cannot be written for vcad (line break)",
        "roots[0]: visible true cannot be written for vcad",
        "document: empty joints cannot be written for vcad",
        "scene: empty lights cannot be written for vcad",
        "scene: empty lights cannot be written for vcad",
    ]


def test_a_large_document_is_written_for_vcad() -> None:
    text = "# vcad 0.2\nS 1 8\n" + "".join(f"T {i} 0 0 1\n" for i in range(100_000))
    document = cad.from_compact(text)
    written = cad.to_compact(document, target="vcad", lossy=["segments"])
    assert written.count("\n") == 100_003
    assert cad.losses(json.dumps(document), target="vcad") == ["segments"]


def test_a_list_of_losses_may_overstate_its_length() -> None:
    class Long(list[str]):
        def __len__(self) -> int:
            return 10**12

    document = cad.from_compact("# vcad 0.2\nM steel 0.5 0.5 0.5 1 0.2\nC 50 30 5\nROOT 0 steel")
    text = cad.to_compact(document, target="vcad", lossy=Long(["segments"]))
    assert text == cad.to_compact(document, target="vcad", lossy=["segments"])
