"""The header `Compactwire`."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from compactwire.http._header import Header, read
from tests.strategies.profiles import examples

ID = "2PqAhi8volIPOXaQBiMhsA"
NUMBERS = st.integers(0, 10**15 - 1)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("offer", Header(offer=True)),
        (f"session={ID}; lane=0; seq=7", Header(session=ID, seq=7)),
        (f"session={ID};lane=3;\tseq=7; got=6", Header(session=ID, lane=3, seq=7, got=6)),
        ("seq=7; coded; new", Header(seq=7, coded=True, new=True)),
        ("refused=state", Header(refused="state")),
        ("offer; later=1", Header(offer=True)),
        ("", Header()),
    ],
)
def test_a_header_is_read(text: str, header: Header) -> None:
    assert read([text]) == header


@pytest.mark.parametrize(
    "text",
    [
        f"session={ID[1:]}; lane=0; seq=7",
        f"session={ID[1:]}=; lane=0; seq=7",
        f"session={ID}\n; lane=0; seq=7",
        "seq=-1",
        "seq=",
        "seq",
        "seq=1; seq=2",
        "seq=٣",
        "seq=1000000000000000",
        "offer=1",
        "refused=A",
        "offer" + ";" * 300,
    ],
)
def test_an_invalid_header_is_none(text: str) -> None:
    assert read([text]) is None


def test_two_headers_are_none() -> None:
    assert read([]) is None
    assert read(["offer", "offer"]) is None


@examples(0.5)
@given(st.builds(Header, session=st.just(ID), lane=NUMBERS, seq=NUMBERS, got=NUMBERS))
def test_a_written_header_is_read_back(header: Header) -> None:
    assert read([str(header)]) == header


@examples(0.5)
@given(st.text(st.sampled_from("session=offerlanqcdw0123; \t=") | st.characters(), max_size=99))
def test_any_text_is_a_header_or_none(text: str) -> None:
    found = read([text])
    assert found is None or isinstance(found, Header)
