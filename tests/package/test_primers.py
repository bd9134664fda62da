"""What the primers for models say, and the questions about data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benches import comprehension
from compactwire import cad, gcf
from compactwire.analysis import count_tokens

# For each line of the primer: what it quotes, in a text, and the value.
GCF: list[tuple[tuple[str, ...], str, Any]] = [
    (("key=value", "## key"), "key=value\n## key2\n  a=1", {"key": "value", "key2": {"a": 1}}),
    (
        ("## key [2]{id,name}", "|"),
        "## key [2]{id,name}\n1|a\n2|b",
        {"key": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]},
    ),
    (("{id,state=open}",), "## [1]{id,state=open}\n1", [{"id": 1, "state": "open"}]),
    (('{"user>name"}',), '## [1]{"user>name"}\na', [{"user": {"name": "a"}}]),
    (("key[3]: a,b,c",), "key[3]: a,b,c", {"key": ["a", "b", "c"]}),
    (("{id,tags[]}",), "## [1]{id,tags[]}\n1|a,b", [{"id": 1, "tags": ["a", "b"]}]),
    (
        ("{id,@n} group=id", "id=7 [2]"),
        "## [2]{id,@n} group=id\nid=7 [2]\n1\n2",
        [{"id": 7, "n": 1}, {"id": 7, "n": 2}],
    ),
    (
        ("## key [2:]{key,x}",),
        "## key [2:]{key,x}\na|1\nb|2",
        {"key": {"a": {"x": 1}, "b": {"x": 2}}},
    ),
    (
        ("-", "~", "^", ".key"),
        "## [1]{a,b,key}\n@0 -|~|^\n.key [1]: 5",
        [{"a": None, "key": [5]}],
    ),
    (('"12" is a string, 12 is a number',), '## [1]{a,b}\n"12"|12', [{"a": "12", "b": 12}]),
]

# Every operation of the primer for CAD.
PART = """\
C 50 30 5
Y 5 10
S 4
K 3 2 6
T 1 25 15 0
U 0 2
D 5 4
I 6 3
R 7 0 0 90
X 8 1 1 2
LP 9 1 0 0 2 60
CP 10 0 0 0 0 0 1 3 360
SK 0 0 0 1 0 0 0 1 0
L 0 0 4 0
L 4 0 4 4
A 4 4 0 0 2 2 1
END
E 12 0 0 5
V 12 0 0 0 0 1 0 90
SH 13 1
"""


@pytest.mark.parametrize(("quoted", "text", "value"), GCF)
def test_what_the_primer_says_of_gcf_is_so(quoted: tuple[str, ...], text: str, value: Any) -> None:
    assert gcf.loads(f"GCF profile=generic\n{text}\n", extensions=True) == value
    assert all(one in gcf.PRIMER for one in quoted)


def test_the_primer_says_nothing_else_of_gcf() -> None:
    known = {one for quoted, _, _ in GCF for one in quoted}
    assert set(re.findall("`([^`]+)`", gcf.PRIMER)) <= known


def test_the_primer_of_cad_has_every_operation() -> None:
    document = cad.from_compact(PART)
    codes = {line.split()[0] for line in PART.splitlines()}
    assert {one.split()[0] for one in re.findall("`([^`]+)`", cad.PRIMER)} == codes | {"ROOT"}
    assert [root["root"] for root in document["roots"]] == [len(document["nodes"]) - 1]
    roots = cad.from_compact(f"# vcad 0.2\n{PART}ROOT 3 default")["roots"]
    assert [root["root"] for root in roots] == [3]


def test_the_primers_are_short() -> None:
    assert count_tokens(gcf.PRIMER) < 280
    assert count_tokens(cad.PRIMER) < 280


def test_the_questions_are_scored(tmp_path: Path) -> None:
    count = comprehension.write(tmp_path)
    assert count > 100
    expected = tmp_path / "expected.jsonl"
    scores = comprehension.score(tmp_path, expected)
    assert sum(asked for *_, asked in scores.values()) == 2 * count
    assert all(right == answered == asked > 30 for right, answered, asked in scores.values())
    lines = [json.loads(line) for line in expected.read_text(encoding="utf-8").splitlines()]
    wrong = [{**line, "answer": f"not {line['answer']}"} for line in lines if "gcf" in line["id"]]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(one) + "\n" for one in wrong), encoding="utf-8")
    scores = comprehension.score(tmp_path, answers)
    assert all(right == 0 for right, *_ in scores.values())
    assert scores["gcf cell"][1] == scores["gcf cell"][2]
    assert scores["json cell"][1] == 0
