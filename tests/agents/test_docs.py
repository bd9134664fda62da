"""The examples that need a framework run as they are."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents import needed

PAGES = Path(__file__).parents[2] / "docs" / "frameworks"


def ran(page: str) -> dict[str, Any]:
    """The names that the first example of a page defines; each of the others runs by itself."""
    path = PAGES / f"{page}.md"
    examples = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    defined: list[dict[str, Any]] = [{"__name__": page} for _ in examples]
    for code, names in zip(examples, defined, strict=True):
        exec(compile(code, str(path), "exec"), names)
    return defined[0]


@pytest.mark.parametrize(
    ("page", "module"),
    [("langchain", "langchain"), ("pydantic-ai", "pydantic_ai"), ("fastmcp", "fastmcp")],
)
def test_the_example_of_a_framework_runs_and_saves(page: str, module: str) -> None:
    needed(module)
    savings = ran(page)["savings"]
    assert savings.by_tool["list_tasks"].saved > 0


def test_the_example_of_the_openai_agents_sdk_runs_and_saves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    needed("agents")
    from tests.agents.test_openai_agents import Fake

    names = ran("openai-agents")
    # In place of a model that one pays for.
    names["agent"].model = Fake(tool="list_tasks")
    names["config"].tracing_disabled = True
    asyncio.run(names["main"]())
    assert names["savings"].by_tool["list_tasks"].saved > 0
    assert capsys.readouterr().out.startswith("done\n")


def test_the_example_of_an_asynchronous_server_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needed("httpx")
    needed("starlette")
    page = (PAGES.parent / "sessions.md").read_text(encoding="utf-8")
    fenced = r"^```python asgi_turns.py\n(.*?)^```$.*?^It prints:\n\n```\n(.*?)^```$"
    found = re.search(fenced, page, re.DOTALL | re.MULTILINE)
    assert found
    monkeypatch.chdir(tmp_path)
    for _ in range(2):  # The second run finds the database of the first.
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(found[1], "asgi_turns.py", "exec"), names)
        names["store"].close()
        assert capsys.readouterr().out == found[2]
