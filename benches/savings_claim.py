"""The first table of the README as a compression claim that anybody can verify.

    python -m benches.savings_claim               # checks the claim and the pages
    python -m benches.savings_claim --write KEY   # makes it anew, with a key of `claim key`

The folder `benches/savings` has a bundle with the texts of every row, before and after, a receipt,
its signatures, and the trust policy with the public key. The check verifies all of it with the
strictest options, measures the texts in the bundle again, and compares every cell on the pages.

The signature proves that the texts are those which the holder of the key has signed. It does not
prove who that is: the policy with the public key lies beside the claim.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import compactwire as cw
from compactwire import claims
from compactwire.errors import ClaimRejected

from .first_screen import PAGES, Figure, Texts, rows, updated

FOLDER = Path(__file__).parent / "savings"
VALIDATOR = "compactwire"


class ClaimError(Exception):
    """The claim does not verify, or a page differs from it."""


def write(folder: Path, key: claims.SigningKey) -> None:
    """Make the claim anew."""
    items = [
        {
            "kind": "section",
            "ref": f"row-{number}",
            "text": json.dumps(row._asdict(), ensure_ascii=False, indent=1),
        }
        for number, row in enumerate(rows(), 1)
    ]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    manifest = claims.build_bundle(folder / "bundle", "savings", "readme", "first-table", items)
    receipt = claims.sign_receipt(claims.make_receipt(manifest), key, VALIDATOR)
    claims.write_receipt(folder / "receipts", receipt)
    claim = claims.make_claim(manifest, folder / "bundle", notes="the first table of the README")
    policy = claims.make_trust_policy(
        [
            {
                "validator_id": VALIDATOR,
                "public_key": key.public_key,
                "schemes": ["ed25519"],
                "scope": ["RECEIPT", "MERKLE"],
                "enabled": True,
            }
        ]
    )
    attestation = claims.merkle_attestation([receipt], key, VALIDATOR)
    files = {"claim": claim, "policy": policy, "merkle_attestation": attestation}
    for name, value in files.items():
        claims.write_json(folder / f"{name}.json", value)


def check(folder: Path, pages: tuple[Path, ...]) -> list[Figure]:
    """Verify the claim, measure its texts again, and compare the pages.

    Raises
    ------
    ClaimError
        It says what differs.
    """
    report = cw.verify_claim(
        folder / "bundle",
        folder / "receipts",
        folder / "claim.json",
        trust_policy=folder / "policy.json",
        merkle_attestation=folder / "merkle_attestation.json",
        strict=True,
    )
    try:
        report.raise_for_error()
    except ClaimRejected as error:
        raise ClaimError(f"the claim does not verify: {error}") from None
    found = [row.figure() for row in signed(folder)]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if updated(text, found) != text:
            raise ClaimError(f"the table of {page.name} differs from the signed texts")
    return found


def signed(folder: Path) -> list[Texts]:
    """Read the texts of each row from the bundle, in the order of the table."""
    manifest = json.loads((folder / "bundle" / "bundle.json").read_bytes())
    paths = {one["ref"]: folder / "bundle" / one["path"] for one in manifest["artifacts"]}
    return [Texts(**json.loads(paths[ref].read_bytes())) for ref in sorted(paths)]


def main() -> None:
    """Check the claim, or make it anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", metavar="KEY", help="make the claim anew, with this secret key")
    args = parser.parse_args()
    if args.write:
        write(FOLDER, claims.SigningKey.load(args.write))
    try:
        found = check(FOLDER, PAGES)
    except ClaimError as error:
        sys.exit(f"{error}; after a change of the examples, make the claim anew with --write KEY")
    for row in found:
        print(f"{row.title}: {row.before:,} to {row.after:,} {row.unit}, {row.saved} saved")
    print("verified: signed texts, and the table of", " and ".join(one.name for one in PAGES))


if __name__ == "__main__":
    main()
