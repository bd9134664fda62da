"""Profiles of Hypothesis: how many examples each property runs.

    HYPOTHESIS_PROFILE=long python -m pytest tests/compact/test_differential.py

runs 10^5 examples of each property, new ones in every run. The default, `quick`, runs the same 300
examples every time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

UNHELPFUL = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "quick",
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=UNHELPFUL,
)
settings.register_profile(
    "long", settings.get_profile("quick"), max_examples=100_000, derandomize=False
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)


def examples(part: float) -> settings:
    """A part of the profile's examples, for properties that are slow or narrow."""
    profile = settings.get_profile(settings.get_current_profile_name())
    return settings(max_examples=max(20, int(profile.max_examples * part)))
