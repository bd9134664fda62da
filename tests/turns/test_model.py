"""Numbered turns against a model: whatever the transport does, each request is answered once.

A state machine sends requests over a transport that loses turns and answers, delivers turns again
and late, and restarts both sides. It knows which answer belongs to which request. The requests of
some runs have no hash, so that only the numbers tell what was lost.
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import compactwire as cw
from compactwire.turns import Sender, SQLiteSessionStore, Turn
from tests.session.test_model import CHANGES, PARTS, STYLES, Change, Parts, Style, grown
from tests.strategies.profiles import PROFILE, examples
from tests.strategies.sessions import content_of, expected_content

ONLY_TALK: Parts = ([], None, None)
"""Parts without references: if these are unknown, the conversation is sent again as well."""


class Lost(Exception):
    """The transport failed."""


class Transport(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.context = ""
        self.delivered: list[Turn] = []
        self.copies: list[bytes] = []
        """Pickles of the sender that were made while a turn was under way."""
        self.answers: dict[tuple[int, bytes], str] = {}
        """The answer of each turn that was answered, by its number and digest."""
        self.count = 0

    # A machine whose rules are never run is not torn down, so `__init__` opens nothing.
    @initialize(checked=st.booleans())
    def start(self, checked: bool) -> None:
        self.checked = checked
        self.sender = self.new_sender(1)
        self.folder = tempfile.TemporaryDirectory()
        self.store = self.opened()

    def opened(self) -> SQLiteSessionStore:
        return SQLiteSessionStore(Path(self.folder.name) / "store.db", checked=self.checked)

    def new_sender(self, number: int) -> Sender:
        return Sender(cw.Session(checked=self.checked), number=number)

    def answer(self, turn: Turn, request: dict[str, Any] | None) -> str | bytes:
        """Delivers a turn; `request` is what it means, None if it may be outdated."""

        def respond(decoded: cw.Request) -> str:
            key = turn.number, turn.digest
            # A turn is answered again only if the store has forgotten the conversation.
            assert key not in self.answers
            if request is not None:
                assert content_of(decoded) == expected_content(**request)
            self.count += 1
            self.answers[key] = str(self.count)
            return self.answers[key]

        answer = self.store.answer("conversation", turn, respond)
        assert answer == self.answers[turn.number, turn.digest]
        return answer

    @rule(
        parts=PARTS,
        change=st.none() | CHANGES,
        style=STYLES,
        fates=st.lists(st.sampled_from(("lost", "answer lost", "both")), max_size=3),
        late=st.booleans(),
    )
    def send(
        self, parts: Parts, change: Change | None, style: Style, fates: list[str], late: bool
    ) -> None:
        """Sends a request, which fails as often as there are fates, and then arrives."""
        tools, system, args = parts
        request: dict[str, Any] = {"tool": tools, "system": system, "args": args, "context": None}
        if change is not None:
            self.context = request["context"] = grown(self.context, change)
        before = self.count

        def deliver(turn: Turn) -> str | bytes:
            fate = fates.pop() if fates else "arrives"
            self.delivered.append(turn)
            self.copies.append(pickle.dumps(self.sender))
            if fate == "lost":
                raise Lost
            answer = self.answer(turn, request)
            if fate == "both":
                assert self.answer(turn, request) == answer
            if fate != "arrives":
                raise Lost
            if late:
                assert self.answer(turn, request) == answer
            return answer

        for _ in range(10):
            try:
                answer = self.sender.send(deliver, **request, **style)
            except Lost:
                continue
            except cw.TurnConflict as error:
                # The sender is a copy that does not know of later turns.
                self.sender.go_on(error.last)
                continue
            assert answer == str(self.count)
            assert self.count == before + 1
            return
        raise AssertionError("the request was never answered")

    @rule(which=st.integers(0, 20))
    def deliver_an_old_turn_again(self, which: int) -> None:
        if not self.delivered:
            return
        turn = self.delivered[-1 - which % len(self.delivered)]
        kept = self.store.load("conversation")
        count = self.count
        try:
            self.answer(turn, None)
        except (cw.TurnConflict, cw.UnknownReference):
            assert self.store.load("conversation") == kept
        if kept is not None and turn.number <= kept.number:
            assert self.count == count

    @rule()
    def restart_the_server(self) -> None:
        self.store.close()
        self.store = self.opened()

    @rule()
    def move_the_sender(self) -> None:
        self.sender = pickle.loads(pickle.dumps(self.sender))

    @rule(which=st.integers(0, 3))
    def go_on_with_a_copy(self, which: int) -> None:
        if self.copies:
            self.sender = pickle.loads(self.copies[-1 - which % len(self.copies)])

    @rule()
    def restart_the_sender(self) -> None:
        # The store may have forgotten the conversation, while its turns are still under way.
        numbers = (turn.number for turn in self.delivered)
        self.sender = self.new_sender(1 + max(numbers, default=0))

    @rule()
    def forget_the_conversation(self) -> None:
        self.store.forget("conversation")
        self.answers.clear()

    @rule(which=st.integers(0, 20), changes=st.lists(CHANGES, min_size=1, max_size=3))
    def begin_again_with_an_old_turn(self, which: int, changes: list[Change]) -> None:
        """The store forgets while turns go on, and an old one arrives late."""
        style: Style = {"pack": False, "references": False}
        for change in changes:
            self.send(ONLY_TALK, change, style, [], late=False)
        self.forget_the_conversation()
        self.deliver_an_old_turn_again(which)
        self.send(ONLY_TALK, changes[0], style, [], late=False)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestTransport = Transport.TestCase
TestTransport.settings = settings(
    examples(0.2), stateful_step_count=20 if PROFILE == "quick" else 50
)
