"""`compactwire._threads`: work of a task that is cancelled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from compactwire._threads import LONG, run, run_or_leave


def test_a_cancelled_task_waits_only_for_work_that_changes_something() -> None:
    begun, end, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        end.wait(30)
        done.set()
        return "done"

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run_or_leave(LONG, work), 0.1)
        assert begun.is_set()
        assert not done.is_set()
        asyncio.get_running_loop().call_later(0.2, end.set)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run(LONG, work), 0.1)
        assert done.is_set()
        assert await run_or_leave(LONG, work) == await run_or_leave(1, work) == "done"

    asyncio.run(cancelled())
