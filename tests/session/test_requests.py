"""`Request` as a value: equality, hash, repr, copy, replace, match."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest

import compactwire as cw
from tests.strategies.sessions import SEARCH, SEARCH_ID, SEARCH_JSON, id_of


def test_a_request_is_a_value() -> None:
    request = cw.Request(SEARCH, "sys", {"b": 1, "a": [2.0, None, "é"]}, "con")
    for same in (
        cw.Request(tool=SEARCH, system="sys", args={"a": [2.0, None, "é"], "b": 1}, context="con"),
        pickle.loads(pickle.dumps(request)),
        copy.copy(request),
        copy.deepcopy(request),
        eval(repr(request), {"Request": cw.Request}),
        cw.Session().decode_request(
            [
                "TOOL|def|" + SEARCH_JSON,
                "SYS|full|sys",
                f"REQ|1|{SEARCH_ID}|{id_of('s', 'sys')}"
                '|{"b":1,"a":[2e0 ,null,"\\u00e9"]}|D|F|con',
            ]
        ),
    ):
        assert same == request
        assert hash(same) == hash(request)
    assert repr(request) == (
        f"Request(tool={SEARCH!r}, system='sys', args={{'a': [2.0, None, 'é'], 'b': 1}}, "
        "context='con')"
    )
    assert repr(cw.Request()) == "Request()"


def test_requests_differ_where_their_json_differs() -> None:
    requests = [
        cw.Request(),
        cw.Request(args=0),
        cw.Request(args=0.0),
        cw.Request(args=-0.0),
        cw.Request(args=False),
        cw.Request(args=""),
        cw.Request(args=[]),
        cw.Request(args={}),
        cw.Request({}),
        cw.Request([{}, {}]),
        cw.Request(system=""),
        cw.Request(context=""),
        cw.Request(system="a", context="b"),
        cw.Request(system="b", context="a"),
        cw.Request([{"a": 1}, {"b": 1}]),
        cw.Request([{"b": 1}, {"a": 1}]),
    ]
    for one, other in itertools.combinations(requests, 2):
        assert one != other
    assert len(set(requests)) == len(requests)
    assert cw.Request() != "Request()"


def test_a_request_is_immutable() -> None:
    args = {"list": [1]}
    request = cw.Request([SEARCH, SEARCH], args=args)
    args["list"].append(2)
    request.args["list"].append(3)
    request.tools[0]["name"] = "other"
    request.tool.clear()
    assert request == cw.Request([SEARCH, SEARCH], args={"list": [1]})
    with pytest.raises(AttributeError):
        request.system = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        request.other = "x"  # type: ignore[attr-defined]


def test_a_request_can_be_replaced_and_matched() -> None:
    request = cw.Request(SEARCH, "sys", 1, "con")
    assert request.__replace__() == request
    assert request.__replace__(args=[2], system=None) == cw.Request(SEARCH, None, [2], "con")
    with pytest.raises(TypeError):
        request.__replace__(other=1)
    match request:
        case cw.Request(tool, system, args, context):
            assert (tool, system, args, context) == (SEARCH, "sys", 1, "con")
