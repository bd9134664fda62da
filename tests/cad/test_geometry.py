"""The geometry of documents: solids evaluated by manifold3d."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compactwire import cad
from tests.vectors import PUBLISHED, load

manifold3d = pytest.importorskip(
    "manifold3d", reason="NO GEOMETRY: pip install 'compactwire[notebook]'; nothing was evaluated"
)
pytest.importorskip("matplotlib", reason="NO PICTURES: pip install 'compactwire[notebook]'")

from compactwire._cad_preview import solids  # noqa: E402 - imports numpy when it is called

REAL = PUBLISHED / "cad" / "real"


def inside() -> list[Any]:
    if not REAL.is_dir():
        return []
    manifest = load(REAL / "MANIFEST.json")["documents"]
    return [entry for entry in manifest if entry["in_model"]]


def measures(document: Any) -> list[Any]:
    """Volume, area and bounding box of each part."""
    parts, _ = solids(document)
    return [
        (solid.volume(), solid.surface_area(), *solid.bounding_box())
        for solid, _ in parts
    ]  # fmt: skip


def close(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(
        one == pytest.approx(other, rel=1e-9, abs=1e-9)
        for one, other in zip(left, right, strict=True)
    )


@pytest.mark.skipif(not inside(), reason=f"NO REAL DOCUMENTS: {REAL} is absent")
@pytest.mark.parametrize("entry", inside(), ids=lambda entry: entry["name"])
def test_a_real_document_has_the_same_shape_after_every_trip(entry: Any) -> None:
    document = load(REAL / entry["name"])
    before = measures(document)
    assert close(measures(cad.from_compact(cad.to_compact(document, "0.2"))), before)
    assert close(measures(cad.from_binary(cad.to_binary(document))), before)
    assert close(measures(cad.from_hybrid(cad.to_hybrid(document))), before)
    if entry["dialect_0_1"] == "ok":
        again = measures(cad.from_compact(cad.to_compact(document)))
        shown = document["roots"][0].get("visible", True) is not False
        assert close(again, before) or not shown


def volume(text: str) -> float:
    (part,) = measures(cad.from_compact(text))
    return float(part[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C 2 3 4", 24),
        ("C 2 3 4\nX 0 2 2 2", 192),
        ("C 2 2 2\nT 0 1 0 0\nU 0 1", 12),
        ("C 2 2 2\nT 0 1 0 0\nD 0 1", 4),
        ("C 2 2 2\nT 0 1 0 0\nI 0 1", 4),
        ("Y 1 2 4", 4),
        ("K 1 0 3 4", 2),
        ("K 0 1 3 4", 2),
        ("C 1 1 1\nLP 0 2 0 0 3 4", 3),
        ("C 1 1 1\nCP 0 -5 0 0 0 0 1 6 360", 6),
        ("SK 0 0 0 1 0 0 0 1 0\nL 0 0 2 0\nL 2 0 2 1\nL 2 1 0 1\nL 0 1 0 0\nEND\nE 0 0 0 5", 10),
        ("SK 0 0 0 1 0 0 0 0 1\nL 0 0 2 0\nL 2 0 2 1\nL 2 1 0 1\nL 0 1 0 0\nEND\nE 0 0 5 0", 10),
        ("# vcad 0.2 x1\nC 3 1 1\nEMPTY\nU 0 1", 3),
    ],
)
def test_an_operation_has_the_expected_volume(text: str, expected: float) -> None:
    assert volume(text) == pytest.approx(expected, rel=1e-6)


def test_round_shapes_are_round() -> None:
    assert volume("S 1 256") == pytest.approx(4.18879, rel=0.01)
    arc = "SK 0 0 0 1 0 0 0 1 0\nA 1 0 -1 0 0 0 1\nA -1 0 1 0 0 0 1\nEND\nE 0 0 0 1"
    assert volume(arc) == pytest.approx(3.14159, rel=0.01)
    ring = "SK 2 0 0 1 0 0 0 0 1\nL 0 0 1 0\nL 1 0 1 1\nL 1 1 0 1\nL 0 1 0 0\nEND\n"
    assert volume(ring + "V 0 0 0 0 0 0 1 360") == pytest.approx(15.708, rel=0.01)


def test_rotation_is_about_x_then_y_then_z() -> None:
    ((_, _, *box),) = measures(cad.from_compact("C 1 2 3\nR 0 90 0 90"))
    assert box == pytest.approx([0, 0, 0, 3, 1, 2], abs=1e-6)


def test_a_picture_shows_the_part(tmp_path: Path) -> None:
    import io

    from matplotlib import image

    text = "C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2"
    picture = cad.preview(text, width=320, height=240)
    assert picture.kind == "png"
    assert picture.notes == []
    assert picture._repr_png_() == picture.data
    assert picture._repr_svg_() is None
    pixels = image.imread(io.BytesIO(picture.data))
    assert pixels.shape[:2] == (240, 320)
    painted = (pixels[:, :, :3].min(axis=2) < 0.99).mean()
    assert 0.1 < painted < 0.7
    # White shows through the hole.
    assert cad.preview(text, width=320, height=240).data == picture.data
    assert cad.preview("C 50 30 5", width=320, height=240).data != picture.data
    picture.save(tmp_path / "part.png")
    assert (tmp_path / "part.png").read_bytes() == picture.data
    drawing = cad.preview(cad.from_compact(text), kind="svg")
    assert (drawing._repr_svg_() or "").startswith("<?xml")
    assert drawing._repr_png_() is None


def test_a_picture_names_what_it_does_not_show() -> None:
    text = '# vcad 0.2 x1\nC 9 9 9\nFI 0 1\nSTEP "a.step"\nU 1 2\nROOT 3 m'
    picture = cad.preview(text)
    assert picture.notes == [
        "node 2: 'a.step' is not drawn",
        "node 1: Fillet is drawn with sharp edges",
    ]
    assert "2: 'a.step'" in repr(picture)
    assert cad.preview("# vcad 0.2").data
    with pytest.raises(ValueError, match="kind must be"):
        cad.preview("S 1", kind="gif")  # type: ignore[arg-type]
    with pytest.raises(cad.CompactParseError):
        cad.preview("Q")
