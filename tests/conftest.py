"""Settings of all tests: the profile of Hypothesis, time limits, and worker processes.

`python -m pytest` runs one worker per core. A run of a single file or test stays in one process,
because the workers take longer to start than most files take to run. `-n 0` asks for one process
explicitly, as debuggers need it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.strategies.profiles import PROFILE

LONG_TIMEOUT_SECONDS = 6 * 60 * 60


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process for a single file; None leaves the number to pytest-xdist."""
    paths = [argument.split("::")[0] for argument in config.args]
    return 0 if len(paths) == 1 and Path(paths[0]).is_file() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROFILE != "quick":
        for item in items:
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_SECONDS))
