"""When an output of a peer counts in `benches.mcp`: only if the same data can be read from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import compactwire as cw
from benches.mcp_peers import NotRunError, gives_back, headroom, is_result, plain, relayed

ROWS = [{"id": n, "state": "open", "done": False} for n in range(40)]


def result(text: str, structured: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return made if structured is None else {**made, "structuredContent": structured}


BEFORE = plain(result(json.dumps(ROWS, indent=2), {"rows": ROWS}))


@pytest.mark.parametrize(
    ("after", "counts"),
    [
        (result(cw.shrink(ROWS).text), (True, True)),
        (result(json.dumps(ROWS), {"rows": ROWS}), (True, True)),
        (result(json.dumps(ROWS), {"rows": ROWS[1:]}), (True, False)),
        (result(json.dumps(ROWS[1:]), {"rows": ROWS}), (False, True)),
        (result(json.dumps(ROWS).replace("false", "0")), (False, False)),
        (result("40 rows, all of them open"), (False, False)),
        ({"content": []}, (False, False)),
    ],
)
def test_an_output_counts_where_the_data_comes_back(
    after: dict[str, Any], counts: tuple[bool, bool]
) -> None:
    assert gives_back(BEFORE, plain(after)) == counts


def test_a_text_that_is_not_json_counts_unchanged_only() -> None:
    prose = plain(result("The log says nothing."))
    assert gives_back(prose, prose) == (True, True)
    assert gives_back(prose, plain(result("The log…"))) == (False, False)


@pytest.mark.parametrize(("after", "counts"), [("[1, 0.5]", True), ("[true, 0.5]", False)])
def test_numbers_count_by_their_value(after: str, counts: bool) -> None:
    assert gives_back(plain(result("[1.0, 0.5]")), plain(result(after))) == (counts, counts)


def test_errors_are_no_results() -> None:
    assert is_result(result("a"))
    assert not is_result({**result("a"), "isError": True})
    assert not is_result("McpError")


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotRunError, match="gcf-proxy is not installed"):
        relayed(["gcf-proxy"], ["server"], lambda _: [])
    with pytest.raises(NotRunError, match="headroom-ai is not installed"):
        headroom([BEFORE])
