"""Client and server over a network that fails in every way, against what plain HTTP would do.

The application sees a body that was sent, or nothing. A request that arrives is seen once, in at
most three attempts, and its answer is the application's.
"""

from __future__ import annotations

import contextlib

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule

from compactwire.errors import CompactWireError
from compactwire.http._client import Client
from compactwire.http._protocol import Lane
from compactwire.http._server import Server
from tests.http import Change, Lost, Sent, Wire, body, kept, nothing, options
from tests.strategies.profiles import PROFILE, examples

USERS = st.sampled_from(["one", "two"])
BODIES = st.builds(
    lambda turns, name, tail: body(turns, name) + tail.encode(),
    st.integers(0, 30),
    st.sampled_from(["a", "b", "c"]),
    st.text(max_size=5),
) | st.binary(max_size=600)
HEADERS = st.sampled_from(["compactwire", "content-encoding"])


class Patient(Client):
    """Refusals are the test: no number of them is too many."""

    def _switch_off(self, origin: str) -> None:
        pass


class Network(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[bytes] = []
        self.wire = Wire(answer=self.answer)
        self.late: list[tuple[Sent, bytes]] = []
        self.start_client()

    def answer(self, seen: bytes) -> bytes:
        self.answers.append(body(len(seen) % 40, "answer") + seen[-9:])
        return self.answers[-1]

    @rule()
    def start_client(self) -> None:
        # It accepts less than the server: answers between the two limits stay plain.
        self.wire.client = Patient(options(clock=lambda: 0.0, max_size=1_500))

    @rule()
    def start_server(self) -> None:
        self.wire.server = Server(options(max_size=4_000), 3)

    @rule(number=st.integers(0, 2), which=st.sampled_from(["requests", "answers", "both"]))
    def lose(self, number: int, which: str) -> None:
        """The server forgets a lane, or a part of it."""
        for session in kept(self.wire.server):
            lane = session.lanes[number]
            if which == "both":
                session.lanes[number] = Lane(seq=lane.seq)
            else:
                setattr(lane, which, None)

    @rule(content=BODIES, user=USERS, method=st.sampled_from(["POST", "PUT"]))
    def post(self, content: bytes, user: str, method: str) -> None:
        self.arrives(content, user, method=method)

    @rule(content=BODIES, user=USERS)
    def post_to_another_application(self, content: bytes, user: str) -> None:
        """It has another path of the same origin, and knows nothing of sessions."""
        server, self.wire.server = self.wire.server, None
        self.arrives(content, user, method="OTHER")
        self.wire.server = server

    @rule(content=BODIES, user=USERS, name=HEADERS)
    def post_without_a_header(self, content: bytes, user: str, name: str) -> None:
        def strip(sent: Sent) -> None:
            sent.headers = [pair for pair in sent.headers if pair[0] != name]

        self.arrives(content, user, strip)

    @rule(
        content=BODIES, user=USERS, old=st.sampled_from("0123456789;"), new=st.sampled_from("0129")
    )
    def post_with_another_header(self, content: bytes, user: str, old: str, new: str) -> None:
        """A lie in the numbers, once."""
        left = [1]

        def lie(sent: Sent) -> None:
            if left and sent.said.startswith("session="):
                left.pop()
                session, *rest = sent.said.split("; ")
                told = "; ".join([session, *(part.replace(old, new) for part in rest)])
                sent.headers = [
                    (name, told if name == "compactwire" else value) for name, value in sent.headers
                ]

        self.arrives(content, user, lie, may_fail=True)

    @rule(content=BODIES, user=USERS, at=st.integers(0, 99), byte=st.binary(max_size=2))
    def post_with_another_body(self, content: bytes, user: str, at: int, byte: bytes) -> None:
        """A coded body is changed, once."""
        left = [1]

        def change(sent: Sent) -> None:
            if left and "coded" in sent.said:
                left.pop()
                sent.body = sent.body[:at] + byte

        self.arrives(content, user, change)

    @rule(content=BODIES, user=USERS, arrived=st.booleans())
    def post_that_fails(self, content: bytes, user: str, arrived: bool) -> None:
        def fail(sent: Sent) -> None:
            self.late.append((sent, content))
            raise Lost

        seen = len(self.wire.seen)
        before, after = (nothing, fail) if arrived else (fail, nothing)
        try:
            self.wire.post(content, ("authorization", user), before=before, after=after)
        except Lost:
            assert set(self.wire.seen[seen:]) <= {content}

    @rule(content=BODIES, user=USERS, keep=st.integers(0, 60))
    def post_whose_answer_is_cut(self, content: bytes, user: str, keep: int) -> None:
        def cut(sent: Sent) -> None:
            if "coded" in sent.answered:
                sent.answer = sent.answer[:keep]

        seen = len(self.wire.seen)
        with contextlib.suppress(CompactWireError):
            assert self.wire.post(content, ("authorization", user), after=cut) == self.answers[-1]
        assert self.wire.seen[seen:] == [content]

    @rule()
    def deliver_late(self) -> None:
        """A request that failed arrives after all: as it was sent, or not at all."""
        for sent, content in self.late:
            seen = len(self.wire.seen)
            self.wire.deliver(sent)
            assert self.wire.seen[seen:] in ([], [content])
        self.late.clear()

    def arrives(
        self,
        content: bytes,
        user: str,
        before: Change = nothing,
        *,
        method: str = "POST",
        may_fail: bool = False,
    ) -> None:
        seen, sent = len(self.wire.seen), len(self.wire.sent)
        try:
            answer = self.wire.post(content, ("authorization", user), before=before, method=method)
            assert answer == self.answers[-1]
        except CompactWireError:
            # The server took the request for one of another lane, and answered there.
            assert may_fail
        assert self.wire.seen[seen:] == [content]
        assert len(self.wire.sent) - sent <= 3


TestNetwork = Network.TestCase
TestNetwork.settings = settings(examples(0.3), stateful_step_count=20 if PROFILE == "quick" else 50)
