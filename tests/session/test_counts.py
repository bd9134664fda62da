"""`Session.stats`: counts of messages and bytes."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import compactwire as cw
from tests.strategies import messages
from tests.strategies.profiles import examples
from tests.strategies.sessions import JSON, SEARCH, TOOLS, pair, plain_json


@examples(0.3)
@given(st.lists(st.tuples(TOOLS, JSON, messages.TEXTS, messages.TEXTS, st.booleans()), max_size=4))
def test_counts_equal_the_frames_and_compact_json(requests: Any) -> None:
    ours, theirs = pair()
    plain = sent = 0
    for tool, args, system, context, pack in requests:
        request = {"tool": [tool, SEARCH], "args": args, "system": system, "context": context}
        for left_out in ("", "tool", "system", "context"):
            part = {name: value for name, value in request.items() if name != left_out}
            frames: Any = ours.encode_request(**part, pack=pack)
            theirs.decode_request(frames)
            sent += len(frames) if pack else sum(len(frame.encode()) for frame in frames)
            plain += len(plain_json(**part))
    count = 4 * len(requests)
    assert ours.stats == cw.SessionStats(messages=count, bytes_out=sent, plain_bytes=plain)
    assert theirs.stats == cw.SessionStats(messages=count, bytes_in=sent, plain_bytes=plain)
    assert ours.stats.savings == (1 - sent / plain if plain else 0.0)


def test_counts_are_values() -> None:
    counts = cw.SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)
    assert counts == cw.SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)
    assert counts != cw.SessionStats(messages=2)
    assert len({counts, pickle.loads(pickle.dumps(counts)), copy.copy(counts)}) == 1
    assert counts.savings == 0.9
    assert repr(counts) == ("SessionStats(messages=2, bytes_out=30, bytes_in=10, plain_bytes=400)")
    assert repr(cw.Session()) == "<Session: 0 messages, 0 bytes out, 0 in, 0.0% saved>"


def test_a_failure_is_not_counted() -> None:
    session = cw.Session()
    with pytest.raises(cw.UnknownReference):
        session.decode_request("REQ|1|t_00000000||{}")
    with pytest.raises(cw.EncodeError):
        session.encode_request(args=math.nan)
    assert session.stats == cw.SessionStats()
