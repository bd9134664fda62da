"""The conformance suite of the Model Context Protocol gives the same outcome through the relay."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents import needed
from tests.agents.http_front import front

needed("mcp")

from tests.agents.mcp_servers import ROOT, over_http

CLIENT = Path(__file__).with_name("conformance_client.py")
RELAY = [sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger"]
SCENARIOS = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, *sys.path])}

# These check the HTTP transport, which is that of the program in front of the relay.
OF_HTTP = {"dns-rebinding-protection", "server-sse-multiple-streams", "server-sse-polling"}


def suite(*arguments: str, folder: Path) -> dict[str, Any]:
    """Run the suite; for each scenario its checks and their outcomes."""
    program = shutil.which("conformance")
    if program is None:
        pytest.skip("NOT RUN: @modelcontextprotocol/conformance is not installed")
    made = subprocess.run(
        [program, *arguments, "--output-dir", str(folder)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=240,
        check=False,
    )
    if "SyntaxError" in made.stderr:
        pytest.skip("NOT RUN: @modelcontextprotocol/conformance needs a newer Node.js")
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*/checks.json")):
        scenario = path.parent.name.split("-20")[0]  # The time follows.
        checks = json.loads(path.read_text())
        found[scenario] = [(one["id"], one["status"]) for one in checks if one["status"] != "INFO"]
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_client_through_the_relay_conforms(scenario: str, tmp_path: Path) -> None:
    outcomes = []
    for way in ("direct", "relayed"):
        command = shlex.join([sys.executable, str(CLIENT), way])
        arguments = ["client", "--scenario", scenario, "--command", command]
        outcomes.append(suite(*arguments, folder=tmp_path / way))
    assert outcomes[0] == outcomes[1]
    (checks,) = outcomes[1].values()
    assert {status for _, status in checks} == {"SUCCESS"}


def everything() -> str:
    program = shutil.which("mcp-server-everything")
    if program is None:
        pytest.skip("NOT RUN: mcp-server-everything is not installed")
    return program


def outcome(command: list[str], folder: Path) -> dict[str, Any]:
    with front(command) as url:
        found = suite("server", "--url", url, folder=folder)
    return {name: checks for name, checks in found.items() if name not in OF_HTTP}


def test_a_server_through_the_relay_conforms_as_it_does_alone(tmp_path: Path) -> None:
    program = everything()
    alone = outcome([program], tmp_path / "alone")
    assert sum(status == "SUCCESS" for checks in alone.values() for _, status in checks) > 5
    assert outcome([*RELAY, "--", program], tmp_path / "relayed") == alone


def test_a_server_over_http_through_the_relay_conforms_as_it_does_alone(tmp_path: Path) -> None:
    program = everything()
    alone = outcome([program], tmp_path / "alone")
    with over_http("mcp-server-everything") as url:
        assert outcome([*RELAY, url], tmp_path / "relayed") == alone
