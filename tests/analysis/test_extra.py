"""Without the optional packages the analysis names them; importing it loads none."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("pandas", "analysis.compare('x')"),
        ("pandas", "analysis.report(None)"),
        ("pyarrow bpe_openai", "analysis.measure([])"),
        ("pyarrow", "analysis.merge([])"),
        ("pyarrow", "analysis.sample([], 1)"),
        ("pandas", "analysis.compare_sessions([{'role': 'user', 'content': 'x'}])"),
        ("matplotlib", "analysis.plot(analysis.compare('x', seconds=0))"),
    ],
)
def test_a_missing_extra_is_named_in_the_error(module: str, call: str) -> None:
    code = f"import sys; sys.modules.update(dict.fromkeys({module.split()}))\n"
    code += f"from compactwire import analysis\n{call}"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert child.stderr.splitlines()[-1].startswith("ImportError: compactwire.analysis needs ")
    assert "pip install 'compactwire[analysis]'" in child.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "call",
    [
        "compactwire.shrink('x', tokenizer='o200k_base')",
        "analysis.count_tokens('x')",
        "analysis.measure([])",
    ],
)
def test_a_missing_tokenizer_names_an_extra_that_installs_nothing_else(call: str) -> None:
    code = "import sys; sys.modules['bpe_openai'] = None\nimport compactwire\n"
    code += f"from compactwire import analysis\n{call}"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    said = "ImportError: counting tokens needs bpe-openai: pip install 'compactwire[tokens]'"
    assert child.stderr.splitlines()[-1] == said


def test_importing_the_analysis_loads_no_optional_package() -> None:
    code = "import sys, compactwire.analysis as _\n"
    code += "print({'pandas', 'matplotlib', 'bpe_openai', 'pyarrow'} & {*sys.modules})"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert child.stdout == "set()\n"
