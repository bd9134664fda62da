"""Profiles of Hypothesis, and fixtures that several files share.

    HYPOTHESIS_PROFILE=long pytest tests/test_differential.py

runs 10^5 examples of the main properties; the default, `quick`, is for every day.
"""

from __future__ import annotations

import os

import compactwire as cw
import pytest
from hypothesis import HealthCheck, settings

SLOW_BUT_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "quick", max_examples=200, deadline=None, suppress_health_check=SLOW_BUT_FINE
)
settings.register_profile(
    "long", max_examples=100_000, deadline=None, suppress_health_check=SLOW_BUT_FINE
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)

LONG_TIMEOUT_SECONDS = 6 * 60 * 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROFILE != "quick":
        for item in items:
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_SECONDS))


@pytest.fixture(scope="session")
def default_dictionary() -> cw.Dictionary:
    return cw.Dictionary.default()
