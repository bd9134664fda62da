"""Work that several threads do at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

THREADS = 8


def in_threads(work: Callable[[int], object]) -> list[Any]:
    """The result of `work` for each thread's number; all threads begin at the same moment."""
    barrier = threading.Barrier(THREADS)
    results: list[Any] = [None] * THREADS

    def body(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
