"""A message of the host on its way to a server with a URL, and what is known of its answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ._http_client import Interrupt
from ._http_headers import version_of
from ._messages import SUBSCRIPTION
from ._retry import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._messages import Key

__all__ = ["Exchange"]


@dataclass(eq=False, slots=True)
class Exchange:
    """A message of the host, and what is known of its answer."""

    # Both are empty once the server has begun to answer; a message may be long, and stay open.
    line: bytes
    message: Any
    # The methods of its requests.
    asked: dict[Key, object]
    is_request: bool
    interrupt: Interrupt = field(default_factory=Interrupt)
    done: threading.Event = field(default_factory=threading.Event)
    retry: Retry = field(default_factory=Retry)
    cancelled: bool = False
    # Whether a message that was passed on may have been the answer, which cannot be known.
    unsure: bool = False
    last_event: str = ""
    # The ids of its requests that are not answered.
    left: set[Key] = field(init=False)
    # None for a batch or a response.
    method: object = field(init=False)
    # Whether it is a request of 2026-07-28 or later, which has no session.
    is_modern: bool = field(init=False)

    def __post_init__(self) -> None:
        self.left = set(self.asked)
        self.method = self.message.get("method") if isinstance(self.message, dict) else None
        self.is_modern = version_of(self.message) is not None

    @property
    def is_response(self) -> bool:
        """Whether it answers the server, alone or in a batch without requests."""
        return self.method is None and not self.is_request

    @property
    def is_open(self) -> bool:
        """Whether an answer is still due."""
        return bool(self.left) and not (self.cancelled or self.unsure)

    @property
    def is_subscription(self) -> bool:
        """Whether it lasts until the host or the server ends, so that no answer is due."""
        return self.method == SUBSCRIPTION
