"""A message of the host on its way to a server with a URL, and what is known of its answer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ._http_client import Interrupt
from ._messages import id_key
from ._retry import Retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._messages import Key

__all__ = ["Exchange", "cancelled_id"]


@dataclass(eq=False, slots=True)
class Exchange:
    """A message of the host, and what is known of its answer."""

    line: bytes
    message: Any
    # The ids of its requests that are not answered.
    left: set[Key]
    is_request: bool
    interrupt: Interrupt = field(default_factory=Interrupt)
    done: threading.Event = field(default_factory=threading.Event)
    retry: Retry = field(default_factory=Retry)
    cancelled: bool = False
    # Whether a message that was passed on may have been the answer, which cannot be known.
    unsure: bool = False
    last_event: str = ""

    @property
    def method(self) -> object:
        """The method; None for a batch or a response."""
        return self.message.get("method") if isinstance(self.message, dict) else None

    @property
    def is_open(self) -> bool:
        """Whether an answer is still due."""
        return bool(self.left) and not (self.cancelled or self.unsure)


def cancelled_id(message: dict[str, Any]) -> Key | None:
    """The id of the request that is cancelled."""
    params = message.get("params")
    return id_key(params.get("requestId")) if isinstance(params, dict) else None
