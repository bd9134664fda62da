"""Work that takes long leaves the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_LONG = 1 << 17
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


async def run(
    size: int,
    work: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """The result of some work on a body of this size, in a thread if it is large.

    If the task is cancelled, the work is done to its end first: it changes a session.
    """
    if size < _LONG:
        return work(*arguments, **named)
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # Another library runs the event loop.
        return work(*arguments, **named)
    task = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **named))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()
        raise
