"""The examples in the docstrings of the analysis run as shown."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        *("", ".advice", ".candidates", ".comparison", ".corpus", ".rows", ".samples", ".sources"),
        *(".summary", ".tokens", ".turns"),
    ],
)
def test_docstring_examples_give_the_output_shown(module: str) -> None:
    result = doctest.testmod(importlib.import_module("compactwire.analysis" + module))
    assert result.attempted >= 1
    assert result.failed == 0
