"""The deviations from the specifications: data, and the pages that show them."""

from __future__ import annotations

import re

import pytest

from compactwire.conformance import deviations
from tests.package.deviations import MARKED, PAGES, ROOT, rendered


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_the_deviations_of_the_data(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert rendered(page) == page


def test_every_system_of_the_data_has_a_table() -> None:
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in PAGES)
    shown = [found[1] for found in re.findall(MARKED, text, flags=re.S)]
    assert sorted(shown) == sorted({each["system"] for each in deviations()})


def test_a_deviation_has_its_members_and_an_id_of_its_own() -> None:
    for each in deviations():
        assert each.keys() == {"id", "system", "against", "case", "theirs", "ours"}
        assert each["id"].startswith(each["system"] + "-")
        assert each["theirs"]
        assert each["ours"]
    ids = [each["id"] for each in deviations()]
    assert len(ids) == len(set(ids))
