"""The published conformance fixtures of GCF: those of the generic profile.

Every file of the set is read; other tests run those of the graph profile and of keyed sets.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from compactwire import gcf
from tests.vectors import load, published

FOLDER = published("gcf")
FILES = sorted(FOLDER.rglob("*.json"))
GENERIC = {"encode", "decode", "roundtrip", "roundtrip-wire", "error", "encode-error"}


def is_generic(path: Path) -> bool:
    fixture = load(path)
    graph = path.parent.name.startswith("graph-") or "profile=graph" in str(fixture.get("input"))
    return fixture["operation"] in GENERIC and not graph


CASES = [path for path in FILES if is_generic(path)]


def comparable(value: object) -> object:
    """A form in which values compare as in GCF: `True` is not `1`, `1.0` is."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {key: comparable(member) for key, member in value.items()}
    if isinstance(value, list):
        return [comparable(element) for element in value]
    return value


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_fixture_holds(path: Path) -> None:
    fixture = load(path)
    operation, given = fixture["operation"], fixture.get("input")
    if operation in ("encode", "roundtrip"):
        assert gcf.dumps(given) == fixture["expected"]
        assert gcf.from_json(json.dumps(given)) == fixture["expected"]
        decoded = gcf.loads(fixture["expected"])
        assert comparable(decoded) == comparable(given)
        assert comparable(json.loads(gcf.to_json(fixture["expected"]))) == comparable(given)
    elif operation == "decode":
        assert comparable(gcf.loads(given)) == comparable(fixture["expected"])
        assert comparable(gcf.loads(given.encode())) == comparable(fixture["expected"])
    elif operation == "roundtrip-wire":
        assert gcf.dumps(gcf.loads(given)) == fixture["expected"]
    elif operation == "encode-error":
        with pytest.raises(gcf.GcfError, match=fixture["expectedError"]):
            gcf.dumps(given)
    else:
        data = base64.b64decode(fixture["inputBase64"]) if "inputBase64" in fixture else given
        with pytest.raises(gcf.GcfError) as caught:
            gcf.loads(data)
        expected = fixture["expectedError"]
        assert caught.value.code == expected or expected in str(caught.value)


def test_every_generic_fixture_is_there() -> None:
    assert len(FILES) == 183
    assert len(CASES) == 146
