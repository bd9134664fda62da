"""The figures of `benches/wire_format/` are those of its pages and of the record below."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.wire_format import cases, figures, pages, turns

PAGES = Path(pages.__file__).parent
OWN = figures.measured(cases.own())
PUBLISHED = cases.published()
needs_payloads = pytest.mark.skipif(
    PUBLISHED is None,
    reason=f"NO PUBLISHED PAYLOADS: {cases.PUBLISHED} has none, and no figure was compared",
)

# Expected figures by case: JSON and GCB in bytes, GCF 1.0 and GCF in bytes and tokens.
TABLE = {
    "01": (5823, 1347, 1354, 76.7, 1079, 233, 82.7, 1105, 242, 82.0),
    "02": (18780, 4132, 4902, 73.9, 3299, 649, 84.3, 3327, 658, 84.1),
    "03": (9205, 2056, 2412, 73.8, 1701, 334, 83.8, 1729, 343, 83.3),
    "04": (5447, 1223, 1395, 74.4, 983, 208, 83.0, 998, 214, 82.5),
    "05": (8406, 1868, 2039, 75.7, 1445, 295, 84.2, 1473, 304, 83.7),
    "06": (12814, 2782, 3828, 70.1, 2318, 423, 84.8, 2346, 432, 84.5),
}
MEDIANS, TOTALS = (74.1, 84.0, 83.5), (73.7, 84.0, 83.6)
SCORECARD = [(4153, 965), (13192, 2968), (6585, 1490), (3633, 835), (5371, 1206), (9368, 2078)]


def saved(case: figures.Case, form: str, unit: str) -> float:
    new, old = getattr(case.forms[form], unit), getattr(case.forms["JSON"], unit)
    return figures.saved(new, old)


def percent(share: float) -> float:
    return round(100 * share, 1)


FORMS = (("GCB", "bytes"), ("GCF 1.0", "tokens"), ("GCF", "tokens"))


@needs_payloads
def test_the_recorded_table_is_reproduced_to_the_decimal() -> None:
    assert PUBLISHED is not None
    measured = figures.measured(PUBLISHED)
    rows = {}
    for case in measured:
        row = [case.forms["JSON"].bytes, case.forms["JSON"].tokens, case.forms["GCB"].bytes]
        row.append(percent(saved(case, "GCB", "bytes")))
        for form in ("GCF 1.0", "GCF"):
            size = case.forms[form]
            row += [size.bytes, size.tokens, percent(saved(case, form, "tokens"))]
        rows[case.name] = tuple(row)
    assert rows == TABLE
    shares = [[saved(case, *form) for case in measured] for form in FORMS]
    assert tuple(percent(figures.middle(column)) for column in shares) == MEDIANS
    sums = [
        figures.saved(
            sum(getattr(case.forms[form], unit) for case in measured),
            sum(getattr(case.forms["JSON"], unit) for case in measured),
        )
        for form, unit in FORMS
    ]
    assert tuple(map(percent, sums)) == TOTALS
    cards = [case.forms["scorecard"] for case in measured]
    assert [(card.bytes, card.tokens) for card in cards] == SCORECARD


def test_a_requery_at_96_6_percent_overlap_saves_81_2_percent() -> None:
    for medium in (cases.own()["02"], *([PUBLISHED["02"]] if PUBLISHED else [])):
        first = turns.deltas(medium)[0]
        assert (percent(first.overlap), first.outcome) == (96.6, "delta")
        assert figures.saved(first.sent.tokens, first.full.tokens) >= 0.812


def test_repeated_calls_save_more_with_every_call() -> None:
    found = turns.conversations(cases.own())
    by_calls = {
        calls: [figures.saved(c.sent.tokens, c.whole.tokens) for c in found if c.calls == calls]
        for calls in (5, 10)
    }
    assert len(by_calls[5]) == len(by_calls[10]) == 8
    assert all(0.2 < five < ten for five, ten in zip(by_calls[5], by_calls[10], strict=True))


def test_own_payloads_are_those_of_the_scenarios() -> None:
    sizes = [(case.symbols, case.edges) for case in OWN]
    assert sizes == [(10, 8), (30, 25), (15, 12), (8, 8), (12, 12), (20, 15)]


def test_pages_quote_the_measured_figures() -> None:
    if figures.tokenizer() is None:
        pytest.skip("bpe-openai is not installed")
    card = (PAGES / "scorecard.md").read_text(encoding="utf-8")
    found = (PAGES / "FINDINGS.md").read_text(encoding="utf-8")
    if PUBLISHED is not None:
        assert card == pages.scorecard(figures.measured(PUBLISHED), OWN)
        assert found == pages.findings(PUBLISHED, cases.own())
    # Without the published payloads, our own figures are still compared with the pages.
    for page, written in (
        (pages.scorecard(None, OWN), card),
        (pages.findings(None, cases.own()), found),
    ):
        ours = [section for section in page.split("\n## ") if section.startswith("Our own")]
        assert ours
        assert all(section in written for section in ours)


def test_the_documentation_quotes_the_measured_figures() -> None:
    found = (PAGES / "FINDINGS.md").read_text(encoding="utf-8")
    page = " ".join((PAGES.parents[1] / "docs" / "graph.md").read_text(encoding="utf-8").split())
    published = found[: found.index("## Our own payloads")]
    medians = [line for line in published.splitlines() if line.startswith("| median")]
    bytes_, tokens, _ = (cell for cell in medians[0].replace("|", " ").split()[1:])
    o200k = medians[1].replace("|", " ").split()[1]
    for share, what in ((tokens, "fewer tokens"), (o200k, "fewer than"), (bytes_, "fewer bytes")):
        assert f"{share[:-1]} % {what}" in page


def test_a_missing_tokenizer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "tokenizer", lambda: None)
    monkeypatch.setattr(turns, "tokenizer", lambda: None)
    assert pages.NO_TOKENIZER in pages.findings(None, cases.own())
