"""Runs test vectors against this version: files of inputs with the exact outputs they must have.

The vectors are in ``tests/vectors`` of the repository, whose README says what each case is. A case
is known by its members, not by the name of its file, so that published sets in the same forms can
be run too. `deviations` lists where this package differs from a specification on purpose.

>>> from compactwire import conformance
>>> [each["id"] for each in conformance.deviations() if each["system"] == "sessions"][0]
'sessions-check'
"""

from __future__ import annotations

from ._deviations import deviations
from ._run import Outcome, Report, run

__all__ = ["Outcome", "Report", "deviations", "run"]
