"""The geometry of documents: solids evaluated by manifold3d."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from compactwire import CompactWireError, cad
from tests.vectors import PUBLISHED, load

manifold3d = pytest.importorskip(
    "manifold3d", reason="NO GEOMETRY: pip install 'compactwire[notebook]'; nothing was evaluated"
)
pytest.importorskip("matplotlib", reason="NO PICTURES: pip install 'compactwire[notebook]'")

from compactwire._cad_bounds import MAX_TRIANGLES  # noqa: E402
from compactwire._cad_preview import _Shapes, solids  # noqa: E402 - imports numpy when it is called

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


def test_an_edge_is_painted_after_the_faces_that_touch_it() -> None:
    import numpy as np

    holes = [f"Y 4 12\nT {3 * n + 1} {15 + 22 * n} 15 -1\nD {3 * n} {3 * n + 2}" for n in range(4)]
    ((solid, color),), _ = solids(cad.from_compact("\n".join(["C 120 30 8", *holes])))
    shapes = _Shapes(np, -55.0, 28.0)
    shapes.add(solid, color, MAX_TRIANGLES)
    painted = [shapes.polygons[at].round(6).tolist() for at in shapes.order()]
    last = {tuple(point): at for at, one in enumerate(painted) if len(one) == 3 for point in one}
    edges = [(at, points) for at, points in enumerate(painted) if len(points) == 2]
    assert len(edges) > 100
    assert [at for at, points in edges if any(last[tuple(point)] > at for point in points)] == []


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


SQUARE = "SK 0 0 0 1 0 0 0 1 0\nL 0 0 2 0\nL 2 0 2 1\nL 2 1 0 1\nL 0 1 0 0\nEND\n"
DOUBLED = "".join(f"U {i} {i}\n" for i in range(60))
POINTS = [(100 * math.cos(i / 800), 100 * math.sin(i / 800)) for i in range(5000)]
CORNERS = zip(POINTS, POINTS[1:] + POINTS[:1], strict=True)
LINES = "".join(f"L {a:.6f} {b:.6f} {c:.6f} {d:.6f}\n" for (a, b), (c, d) in CORNERS)
RING = f"SK 0 0 0 1 0 0 0 1 0\n{LINES}END\n"
BARS = "C 1 600 1\nLP 0 1 0 0 300 2\nC 600 1 1\nLP 2 0 1 0 300 2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S 1e308", "node 0: too large to draw: the number 1e[+]308, more than 1,000,000,000"),
        ("C 1 1 1\nX 0 1e308 1 1", "node 1: .* the number"),
        ("C 1 1 1\nX 0 1e9 1 1\nX 1 1e9 1 1", "node 2: .* it reaches 1e[+]18 from the origin"),
        ("C 1 1 1\n" + "R 0 10 20 30\nT 1 1e9 0 0\nT 2 1e9 0 0", "node 2: .* reaches"),
        (SQUARE + "E 0 0 0 2e9", "node 1: .* the number"),
        ("S 1 1000000", "node 0: .* 500,003,000,004 triangles, more than 200,000"),
        ("Y 1 1 1000000000", "node 0: .* 4,000,000,000 triangles"),
        ("C 1 1 1\n" + "LP {} 1 0 0 1000 2\n" * 3, "node 2: .* 12,000,000 triangles"),
        ("C 1 1 1\n" + "CP {} 0 0 0 0 0 1 1000 9\n" * 2, "node 1: .* steps up to here"),
        ("C 1 1 1\n" + DOUBLED, "node 9: .* steps up to here, more than 1,000,000"),
        ("# vcad 0.2 x1\nEMPTY\n" + DOUBLED, "node 1[0-9]: .* steps"),
        (
            "C 1 1 1\n" + "".join(f"T {2 * i} 9 0 0\nU {2 * i} {2 * i + 1}\n" for i in range(60)),
            "s",
        ),
        (BARS + "I 1 3", "node 4: .* steps"),
        ("S 5\n" + "".join(f"SH {i} 1\n" for i in range(9)), "node 3: .* steps"),
        ("# vcad 0.2\n" + SQUARE + "E 0 0 0 5 twist=1e9", "node 1: .* triangles"),
        # 20 slices of 5000 points, also towards a smaller end.
        ("# vcad 0.2\n" + RING + "E 0 0 0 5 taper=0.5", "node 1: .* 230,012 triangles"),
        ("# vcad 0.2\n" + "S 1\nROOT 0 m\n" + "ROOT 0 m\n" * 99, "roots.89.: .* triangles"),
    ],
)
def test_a_picture_that_costs_too_much_is_refused_before_it_is_made(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        text = text.replace("P {}", f"P {number}", 1)
    # Without the limits, these documents would end or block this process.
    monkeypatch.setattr("compactwire._cad_preview._Evaluator.solid", pytest.fail)
    with pytest.raises(cad.DocumentError, match=message) as error:
        cad.preview(text)
    assert error.value.path.split()[0].split("[")[0] in ("node", "roots")


def test_a_picture_has_a_limit_of_pixels_and_of_triangles_after_operations() -> None:
    for size in ({"width": 10**6, "height": 10**6}, {"width": 0}, {"height": -1}):
        with pytest.raises(CompactWireError, match=r"width and height: .* expected 1 to 16777216"):
            cad.preview("S 1", **size)
    with pytest.raises(CompactWireError, match="azimuth"):
        cad.preview("S 1", azimuth=float("nan"))
    with pytest.raises(cad.DocumentError, match=r"roots\[0\]: .* triangles"):
        cad.preview(BARS.replace("300", "120").replace("600", "240") + "U 1 3")


def test_a_picture_of_common_size_is_drawn() -> None:
    chain = "".join(
        f"C 1 1 1\nT {3 * i + 1} {2 * i} 3 0\nU {3 * i} {3 * i + 2}\n" for i in range(200)
    )
    holes = "C 90 90 2\nY 1 2\nLP 1 1 0 0 20 4\nLP 2 0 1 0 20 4\nD 0 3"
    for text in ("C 1 1 1\n" + chain, holes, "S 10\nC 20 20 20\nU 0 1\nSH 2 1"):
        assert cad.preview(text, width=64, height=64).data


@pytest.mark.parametrize(
    "text",
    [
        "K 5e-324 0.1 1 3\nC 1 1 1\nU 0 1",
        "K 0.1 5e-324 1 3",
        '# vcad 0.2 x1\nTX 0 0 0 1 0 0 0 1 0 5 " " "font"\nE 0 0 0 1',
        "# vcad 0.2\n" + SQUARE + "E 0 0 0 1 taper=5e-324",
        "C 1 1 1\nX 0 5e-324 1 1",
    ],
)
def test_a_picture_of_degenerate_shapes_is_drawn(text: str) -> None:
    ((solid, _),), _ = solids(cad.from_compact(text))
    assert solid.status() == manifold3d.Error.NoError
    assert cad.preview(text, width=64, height=64).data


@pytest.mark.parametrize("color", ["204 204 204", "-1 0.5 0.5", "1e300 -1e300 0"])
def test_a_color_beyond_its_range_is_drawn_as_the_nearest(color: str) -> None:
    text = f"# vcad 0.2\nM paint {color} 0 0.5\nC 1 2 3\nROOT 0 paint"
    nearest = cad.from_compact(text)
    nearest["materials"]["paint"]["color"] = [
        min(max(float(part), 0.0), 4.0) for part in color.split()
    ]
    picture = cad.preview(text, width=64, height=64)
    assert picture.data == cad.preview(nearest, width=64, height=64).data


def test_large_letters_have_no_more_points_than_small_ones() -> None:
    def text(height: float) -> Any:
        lines = ["# vcad 0.2 x1", f'TX 0 0 0 1 0 0 0 1 0 {height} "@8" "font"', "E 0 0 0 1"]
        return solids(cad.from_compact("\n".join(lines)))[0][0][0]

    small, large = text(100), text(1e8)
    assert large.num_tri() == small.num_tri()
    assert large.volume() == pytest.approx(small.volume() * 1e12, rel=1e-6)


def test_drawn_triangles_are_limited_where_pieces_are_made() -> None:
    import numpy as np

    from compactwire._cad_preview import _mesh

    ((solid, _),), _ = solids(cad.from_compact("C 9 9 0.01\nLP 0 0 0 1 90 0.1"))
    for most in (5_000, 50_000):
        assert len(_mesh(np, solid, most)[0]) <= most


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
