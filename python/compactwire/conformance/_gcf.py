"""The vectors of GCF, generic profile: values, rows in groups, keyed sets."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from compactwire import gcf

from ..analysis.measured import same
from ._compare import equal, has_code

if TYPE_CHECKING:
    from collections.abc import Callable

Case = dict[str, Any]


def encode(case: Case) -> None:
    """A value and its text."""
    options = case.get("options", {})
    given, expected = case["input"], case["expected"]
    equal("the text of dumps", gcf.dumps(given, **options), expected)
    equal("the text of from_json", gcf.from_json(json.dumps(given), **options), expected)
    extensions = "list_columns" in options or "matrices" in options
    equal("the value read back", gcf.loads(expected, extensions=extensions), given, same)


def decode(case: Case) -> None:
    """A text and its value."""
    text, expected, options = case["input"], case["expected"], case.get("options", {})
    equal("the value", gcf.loads(text, **options), expected, same)
    through = json.loads(gcf.to_json(text, **options))
    equal("the value of to_json", through, expected, same)


def rewrite(case: Case) -> None:
    """A text, read and written again."""
    equal("the text", gcf.dumps(gcf.loads(case["input"])), case["expected"])


def refused_text(case: Case) -> None:
    """A text that is not GCF."""
    data = base64.b64decode(case["inputBase64"]) if "inputBase64" in case else case["input"]
    options = case.get("options", {})
    code = case["expectedError"]
    has_code("reading", lambda: gcf.loads(data, **options), gcf.GcfError, code)


def refused_value(case: Case) -> None:
    """A value that GCF cannot write."""
    has_code("writing", lambda: gcf.dumps(case["input"]), gcf.GcfError, case["expectedError"])


def grouped(case: Case) -> None:
    """Rows and their text in groups."""
    options = {name: case[name] for name in ("key", "group", "reorder") if name in case}
    text = gcf.dumps_grouped(case["input"], **options)
    equal("the text", text, case["expected"])
    expected = case.get("decoded", case["input"])
    equal("the value read back", gcf.loads(text), expected, same)


def refused_groups(case: Case) -> None:
    """Rows that groups would change."""
    has_code(
        "writing",
        lambda: gcf.dumps_grouped(case["input"], key=case["key"], group=case["group"]),
        gcf.GcfError,
        case["expectedError"],
    )


def keyed_set(given: Case) -> gcf.KeyedSet:
    """The keyed set of a vector."""
    return gcf.KeyedSet(
        given["rows"], key=given["key"], fields=given["fields"], name=given.get("name", "rows")
    )


def root(case: Case) -> None:
    """A keyed set and its pack root."""
    equal("the pack root", keyed_set(case["input"]).root, case["expected"])


def delta_of(given: Case, new_root: str) -> gcf.KeyedDelta:
    """The delta of keyed sets of a vector."""
    return gcf.KeyedDelta(
        key=given["key"],
        fields=given.get("fields", ()),
        base_root=given["baseRoot"],
        new_root=new_root,
        added=given.get("added", ()),
        changed=given.get("changed", ()),
        removed=given.get("removed", ()),
    )


def keyed_delta(case: Case) -> None:
    """A delta of keyed sets and its text."""
    given = case["input"]
    sizes = (given["deltaTokens"], given["fullTokens"]) if "fullTokens" in given else None
    text = delta_of(given, given["newRoot"]).encode(tool=given.get("tool", ""), sizes=sizes)
    equal("the text", text, case["expected"])


def applied(case: Case) -> None:
    """A delta that is applied to a keyed set, or refused."""
    given = case["input"]
    base = keyed_set(given["base"])
    delta = delta_of(given["delta"], given["expectedNewRoot"])
    _received(case, lambda: base.apply(delta))


def received(case: Case) -> None:
    """The text of a delta that is applied to a keyed set, or refused."""
    given = case["input"]
    base = keyed_set(given["base"])
    _received(case, lambda: gcf.receive_keyed(given["wire"], base))


def _received(case: Case, call: Callable[[], gcf.KeyedSet]) -> None:
    if "expectedError" in case:
        has_code("applying", call, gcf.GcfError, case["expectedError"])
    else:
        equal("the pack root after the delta", call().root, case["expected"])


def refused_delta(case: Case) -> None:
    """A text that is not a delta of keyed sets."""
    code = case["expectedError"]
    has_code("reading", lambda: gcf.read_keyed_delta(case["input"]), gcf.GcfError, code)


def producer(case: Case) -> None:
    """What a producer sends for each update."""
    given, expected = case["input"], case["expected"]
    policy = given["policy"]
    by_size = policy["mode"] == "sizeGuard"
    sender = gcf.KeyedProducer(
        keyed_set(given["base"]),
        tool=given["tool"],
        fixed_n=None if by_size else policy["n"],
        size_guard=by_size,
    )
    equal("the first text", sender.full(), expected["initialFull"])
    pairs = zip(given["updates"], expected["emissions"], strict=True)
    for number, (update, emission) in enumerate(pairs, 1):
        sent = sender.push(keyed_set(update))
        equal(f"update {number}", sent, (emission["wire"], emission["isFull"]))


def two_sets(case: Case) -> None:
    """Two keyed sets, their texts, and the delta between them."""
    base, new = keyed_set(case["base"]), keyed_set(case["new"])
    for side, each in (("base", base), ("new", new)):
        equal(f"the pack root of {side}", each.root, case[f"{side}_root"])
        equal(f"the text of {side}", each.encode(tool=case["tool"]), case[f"{side}_full"])
    delta = base.delta(new)
    text = delta.encode(tool=case["tool"]) if delta else None
    equal("the delta", text, case["expected"])
    for name in ("added", "changed", "removed"):
        equal(f"what is {name}", getattr(delta, name), case[name])
    equal("the set after the delta", gcf.receive_keyed(case["expected"], base), new)
    kept = gcf.KeyedSnapshots()
    answer = ""
    for each, known in ((base, None), (new, base.root)):
        answer = kept.respond(each, known, tool=case["tool"], count_tokens=_bytes_of)
    equal("whether the delta is worth it", answer == case["expected"], case["worth_it"])


def _bytes_of(text: str) -> int:
    return len(text.encode())


CHECKS: dict[str, Callable[[Case], None]] = {
    "decode": decode,
    "encode": encode,
    "encode-error": refused_value,
    "encode-grouped": grouped,
    "encode-grouped-error": refused_groups,
    "error": refused_text,
    "generic-delta": keyed_delta,
    "generic-delta-decode": received,
    "generic-delta-session": producer,
    "generic-delta-verify": applied,
    "generic-pack-root": root,
    "keyed-delta-error": refused_delta,
    "roundtrip": encode,
    "roundtrip-wire": rewrite,
}
