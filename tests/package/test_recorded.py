"""The bytes of every wire format are those of the record in the repository."""

from __future__ import annotations

import pytest

import compactwire as cw
from tests.package import recorded
from tests.vectors import load

RECORD = load(recorded.RECORD)
HINT = {
    "compressed": "; after an update of zlib-rs or zstd other bytes are right, and the record is "
    "written anew (python -m tests.package.recorded)"
}


def differences(group: str, expected: dict[str, str]) -> list[str]:
    """The cases of a group that are missing, new, or different."""
    found = recorded.entries(group)
    return [
        f"{name}: recorded {expected.get(name)!r:.200}, now {found.get(name)!r:.200}"
        for name in {**expected, **found}
        if found.get(name) != expected.get(name)
    ]


def test_the_record_has_every_group() -> None:
    assert RECORD.keys() == recorded.GROUPS.keys()
    assert recorded.RECORD.stat().st_size < 300_000


@pytest.mark.parametrize("group", recorded.GROUPS)
def test_output_is_the_recorded_one(group: str) -> None:
    changed = differences(group, RECORD[group])
    assert not changed, "\n".join(changed[:10]) + HINT.get(group, "")


@pytest.mark.parametrize("name", ["0.0 verbose 2", "8.1 base85 4"])
def test_a_changed_byte_is_reported(name: str) -> None:
    output = dict(recorded.responses())[name]
    assert isinstance(output, str)
    changed = output[:-1] + chr(ord(output[-1]) ^ 1)
    assert differences("responses", {**RECORD["responses"], name: recorded.entry(changed)}) == [
        f"{name}: recorded {recorded.entry(changed)!r}, now {recorded.entry(output)!r}"
    ]


def test_a_recorded_compressed_response_decodes() -> None:
    checked = 0
    for name, response in recorded.compressed_inputs():
        for key, wire in RECORD["compressed"].items():
            if key.startswith(name) and not wire.startswith("sha256:"):
                assert cw.decode(wire) == response
                checked += 1
    assert checked > 15
