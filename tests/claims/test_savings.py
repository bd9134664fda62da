"""The claim about the first table of the README."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benches import first_screen, savings_claim


def changed(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the claim."""
    return Path(shutil.copytree(savings_claim.FOLDER, tmp_path / "savings"))


def test_the_claim_verifies_and_the_pages_show_its_figures() -> None:
    found = savings_claim.check(savings_claim.FOLDER, first_screen.PAGES)
    assert found == first_screen.figures()


def artifact(folder: Path) -> None:
    changed(next((folder / "bundle" / "artifacts").iterdir()), b"a", b"b")


def signature(folder: Path) -> None:
    receipt = next((folder / "receipts").iterdir())
    changed(receipt, b'"signature":"', b'"signature":"0')


def policy(folder: Path) -> None:
    changed(folder / "policy.json", b'"enabled":true', b'"enabled":false')


def metrics(folder: Path) -> None:
    changed(folder / "claim.json", b'"total_bytes":', b'"total_bytes":1')


def root(folder: Path) -> None:
    (folder / "merkle_attestation.json").unlink()


@pytest.mark.parametrize("change", [artifact, signature, policy, metrics, root])
def test_a_changed_claim_does_not_verify(change: Callable[[Path], None], folder: Path) -> None:
    change(folder)
    with pytest.raises(savings_claim.ClaimError, match="the claim does not verify: "):
        savings_claim.check(folder, ())


def test_a_page_with_another_figure_is_named(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    shutil.copy(first_screen.PAGES[0], page)
    savings_claim.check(folder, (page,))
    changed(page, b"| 2,316 |", b"| 2,317 |")
    with pytest.raises(savings_claim.ClaimError, match=r"the table of README\.md differs"):
        savings_claim.check(folder, (page,))
