"""`check`: all errors of a compact text, each reported once, with suggestions."""

from __future__ import annotations

import pytest

from compactwire import cad
from tests.strategies.documents import SKETCH


def test_check_returns_all_errors() -> None:
    text = "C 1 2\ncube 1 2 3\n$a = Y 1\nT $a 1 2 3\nU 0 1\nD 4 9\nfoo\nSH 6 x\n"
    errors = cad.check(text)
    assert [(error.line, error.message) for error in errors] == [
        (1, "C expects 3 args, got 2"),
        (2, "unknown opcode cube"),
        (3, "Y expects 2 or 3 args, got 1"),
        (6, "node 9 referenced but only 5 nodes defined"),
        (7, "unknown opcode foo"),
        (8, 'invalid number "x"'),
    ]
    assert [error.suggestion for error in errors] == [None, "C", None, None, None, None]
    assert len(cad.check("Q\n" * 1000)) == 100
    assert len(cad.check("Q\n" * 1000, limit=3)) == 3
    assert cad.check("Q", limit=0) == []
    assert len(cad.check("Q\n" * 1000, limit=2**70)) == 1000
    with pytest.raises(ValueError, match="must be 0 or more"):
        cad.check("Q", limit=-1)


def test_a_sketch_without_end_is_one_error() -> None:
    text = "SK 0 0 0 1 0 0 0 1 0\nL 0 0 1 0\nl 0 0 1 1\nE 0 0 0 5\nC 1 1 1\n"
    assert [(error.line, error.message) for error in cad.check(text)] == [
        (3, "expected L, A or END in sketch, got l"),
        (4, "expected L, A or END in sketch, got E"),
    ]
    assert [error.suggestion for error in cad.check(text)] == ["L", None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The END follows: the sketch goes on.
        (SKETCH + "L 0 0 1 0\nC 1 1 1\nL 1 0 1 1\nL 1 1 0 0\nEND\nE 0 0 0 5\nT 1 0 0 0",
         [(3, "expected L, A or END in sketch, got C")]),
        (SKETCH + "XF /a 1\nL 0 0 1 0\nEND\nE 0 0 0 5",
         [(2, "expected L, A or END in sketch, got XF")]),
        (SKETCH + "$a = C 1 1 1\nEND\nT $a 0 0 0",
         [(2, "expected L, A or END in sketch, got $a")]),
        # It belongs to another sketch: an END is missing.
        (SKETCH + "L 0 0 1 0\nE 0 0 0 5\n" + SKETCH + "END\nE 2 0 0 5",
         [(3, "expected L, A or END in sketch, got E")]),
        (SKETCH + SKETCH + "END\nE 1 0 0 5",
         [(2, "expected L, A or END in sketch, got SK")]),
        ("$a C 1 1 1\nT $a 0 0 0", [(1, "expected = after $a")]),
        ("$a= C 1 1 1\nT $a 0 0 0", [(1, 'invalid name "$a="')]),
        ("$a =C 1 1 1\nT $a 0 0 0", [(1, "expected = after $a")]),
        ("$a=C 1 1 1\nT $a 0 0 0", [(1, 'invalid name "$a=C"')]),
        ("$a = 5\nT $a 0 0 0", [(1, "unknown opcode 5")]),
    ],
)  # fmt: skip
def test_an_error_is_reported_once(text: str, expected: list[tuple[int, str]]) -> None:
    errors = cad.check(text, dialect="0.2" if "XF" in text else "auto")
    assert [(error.line, error.message) for error in errors] == expected


def test_check_finds_all_dangling_pointers() -> None:
    text = "# vcad 0.2\nXF /a/b 1\nXF /c 1\nXF /d/e 1\n"
    assert [(error.line, error.message) for error in cad.check(text)] == [
        (2, 'pointer "/a/b" does not match the document'),
        (4, 'pointer "/d/e" does not match the document'),
    ]
    assert len(cad.check(text, limit=1)) == 1


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [("c 1 2 3", "C"), ("C50 30 5", "C"), ("cube(1,2,3)", "C"), ("Translate 0 1 2 3", "T"),
     ("lp 0", "LP"), ("CYL 1 2", "Y"), ("@mat a", "@MAT"), ("Q 1", None), ("// note", None)],
)  # fmt: skip
def test_an_unknown_opcode_has_a_suggestion(line: str, suggestion: str | None) -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact(line)
    assert caught.value.suggestion == suggestion
