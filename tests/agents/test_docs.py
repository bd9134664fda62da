"""The examples of `docs/frameworks.md` run as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agents import needed

PAGE = Path(__file__).parents[2] / "docs" / "frameworks.md"
EXAMPLES = [
    code
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if not code.startswith(">>>")
]


@pytest.mark.parametrize("module", ["langchain", "agents", "pydantic_ai"])
def test_the_example_of_a_framework_runs(module: str) -> None:
    needed(module)
    (code,) = [code for code in EXAMPLES if f"from {module}" in code]
    exec(compile(code, str(PAGE), "exec"), {"__name__": module})
