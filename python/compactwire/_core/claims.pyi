"""Compression claims; import `compactwire.claims` instead."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict, final

from . import _Frozen, _Record

__all__ = [
    "Check",
    "ClaimReport",
    "Problem",
    "SigningKey",
    "build_bundle",
    "canonical_json",
    "estimate_tokens",
    "generate_key",
    "make_claim",
    "make_receipt",
    "make_trust_policy",
    "merkle_attestation",
    "merkle_root",
    "parse_json",
    "sign_receipt",
    "verify_claim",
    "verify_merkle_signature",
    "write_json",
    "write_receipt",
]

_Path = str | PathLike[str]
_Status = Literal["passed", "failed", "skipped"]

class _Item(TypedDict):
    kind: Literal["symbol", "section"]
    ref: str
    text: str

class _SlicedItem(_Item):
    slice: str | None

@final
class Check(_Record):
    """One check of a report."""

    def __new__(cls, id: str, status: str, text: str) -> Check: ...
    @property
    def id(self) -> str:
        """The section and line of the specification's checklist, such as "5.3.1"."""
    @property
    def status(self) -> _Status:
        """What became of it: "passed", "failed" or "skipped"."""
    @property
    def text(self) -> str:
        """What has to be so, in words."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Problem(_Record):
    """Why a claim was refused."""

    def __new__(
        cls, code: str, message: str, phase: str, path: str | None, check: str
    ) -> Problem: ...
    @property
    def code(self) -> str:
        """The specification's error code, such as "METRIC_MISMATCH"."""
    @property
    def message(self) -> str:
        """What is wrong, in one line."""
    @property
    def phase(self) -> str:
        """The specification's phase, such as "Metric"."""
    @property
    def path(self) -> str | None:
        """Which input, by its role: "claim.json", "receipts/...", an artifact; or None."""
    @property
    def check(self) -> str:
        """The id of the check that failed."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ClaimReport(_Frozen):
    """The verdict over a compression claim.

    True in a condition exactly when `ok` is. A function of the inputs and options alone: it holds
    no time, host or absolute path, and `to_json` gives the same bytes wherever it is made.

    Source: Compression Claims sections 5, 6 and 8.
    """

    @property
    def report_version(self) -> str:
        """The version of the form of `to_dict` and `to_json`."""
    @property
    def ok(self) -> bool:
        """Whether every check that applies has passed."""
    @property
    def exit_code(self) -> int:
        """0: verified. 1: the claim is not true. 2: bad input. 3: a bug in this program."""
    @property
    def error(self) -> Problem | None:
        """Why the claim is refused; None if it is not."""
    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in their order."""
    @property
    def bundle_id(self) -> str | None:
        """The id of the bundle, once it has been recomputed; None before."""
    @property
    def run_id(self) -> str | None:
        """The run of the bundle, once its id has been recomputed; None before."""
    @property
    def claim_hash(self) -> str | None:
        """The hash of the claim, once it has been recomputed; None before."""
    @property
    def receipt_count(self) -> int | None:
        """How many receipts the run has; None where nobody asked."""
    @property
    def merkle_root(self) -> str | None:
        """The Merkle root over the receipts, once their chain has been verified; None before."""
    @property
    def signature_scopes(self) -> list[list[Literal["spec", "reference"] | None]] | None:
        """What each signature of each receipt is over; None where nobody asked.

        "spec" or "reference", or None for one that did not count.
        """
    @property
    def computed(self) -> dict[str, int | float] | None:
        """What the artifacts give: tokens, bytes, `compression_ratio`; None until verified."""
    @property
    def unverified_claim_fields(self) -> list[str]:
        """Names of the claim's members that nothing can check, such as `notes`."""
    def to_dict(self) -> dict[str, Any]:
        """The report as JSON objects: dict, list, str, int, float, bool and None."""
    def to_json(self) -> bytes:
        """The report as canonical JSON with a line feed at its end."""
    def raise_for_error(self) -> None:
        """Raise if the claim was refused.

        Raises
        ------
        ClaimRejected
            `ok` is False; the exception has `code`, `phase`, `check`, `path` and `exit_code`.
        """
    def __bool__(self) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @classmethod
    def _restore(cls, json: bytes) -> ClaimReport: ...

@final
class SigningKey:
    """A secret Ed25519 key, for signing.

    The secret is wiped when the object goes, and given away by `seed` and `save` only: not by
    `repr`, not in errors, and the object cannot be pickled or copied.

    Parameters
    ----------
    seed : bytes
        The 32 bytes that the key is made of. The caller's own copy is the caller's to wipe.

    Raises
    ------
    TypeError, ValueError
        It is not bytes, or not 32 of them.
    """

    def __new__(cls, seed: bytes | bytearray | memoryview, /) -> SigningKey: ...
    @classmethod
    def load(cls, path: _Path, /) -> SigningKey:
        """Read a key from a file that `save` or `compactwire claim key` has written.

        It must be a regular file, of which no more than 256 bytes are read. Its secret is never an
        object of Python.

        Parameters
        ----------
        path : str or path-like
            A file of 64 hexadecimal digits, with white space around them or without.

        Raises
        ------
        EncodeError
            It is something else; the message shows nothing of it.
        OSError
            It cannot be read.
        """
    def save(self, path: _Path, /) -> None:
        """Write the key to a new file, which on Unix its owner alone may read.

        Parameters
        ----------
        path : str or path-like
            The file. One that is there is never replaced: it may be the only copy of another key.

        Raises
        ------
        OSError
            There is a file of this name, or it cannot be written.
        """
    @property
    def public_key(self) -> str:
        """The key by which others verify: 64 hexadecimal digits."""
    def seed(self) -> bytes:
        """The secret: 32 bytes, which Python keeps until nobody holds them and does not wipe."""

def verify_claim(
    bundle: _Path,
    receipts: _Path | None,
    claim: _Path,
    *,
    trust_policy: _Path | None = None,
    merkle_attestation: _Path | None = None,
    require_verify_chain: bool = True,
    require_attestation: bool = False,
    strict_trust: bool = False,
    strict_identity: bool = False,
    require_merkle_attestation: bool = False,
    receipt_quorum: int | None = None,
    accept_reference_scope: bool = True,
    bind_receipts: bool = True,
    require_canonical: bool = False,
    limits: Mapping[str, int] = {},
    progress: Callable[[str, int, int], object] | None = None,
) -> ClaimReport:
    """Verify a compression claim: recompute it from its artifacts, receipts and signatures.

    Deterministic, offline, bounded and fail-closed: the report is `ok` only if every check that
    applies has passed. Bad input files never raise.

    Parameters
    ----------
    bundle : str or path-like
        The folder that holds `bundle.json` and `artifacts/`.
    receipts : str or path-like, optional
        The folder of the receipts, `<run_id>_*.json`.
    claim : str or path-like
        The claim, a JSON file.
    trust_policy : str or path-like, optional
        Whose signatures count, a JSON file.
    merkle_attestation : str or path-like, optional
        A signature over all receipts, a JSON file.
    require_verify_chain : bool
        The chain of receipts must verify. Every requirement below includes it.
    require_attestation : bool
        Every receipt must carry a valid signature.
    strict_trust : bool
        Every signature must be of an enabled validator of the trust policy, within its scope.
    strict_identity : bool
        Its build must be that of the trust policy, too.
    require_merkle_attestation : bool
        The Merkle attestation must verify.
    receipt_quorum : int, optional
        How many signatures of each receipt must be good, 1 or more; without it, all.
    accept_reference_scope : bool
        Accept signatures that include `receipt_hash`, which some signers write.
    bind_receipts : bool
        The chain must be about this bundle.
    require_canonical : bool
        Every JSON file must be its canonical form, to the byte.
    limits : Mapping of str to int
        What the inputs may cost: `max_json_bytes` (16 MiB), `max_receipt_bytes` (1 MiB),
        `max_depth` (128), `max_int_digits` (4300), `max_steps` and `max_artifacts`
        (100,000), `max_artifact_bytes` (64 MiB), `max_total_bytes` (1 GiB), `max_receipts`
        (200,000).
    progress : callable, optional
        Is called now and then with "receipts" or "artifacts", how many are done and how many there
        are. What it raises ends the verification.

    Returns
    -------
    ClaimReport
        The verdict: true in a condition only if the claim is.

    Raises
    ------
    TypeError, ValueError
        An option has the wrong type, does not exist or is out of range.

    Source: Compression Claims sections 3 to 8.
    """

def generate_key() -> SigningKey:
    """Make a new secret key from the system's randomness."""

def build_bundle(
    out_dir: _Path,
    run_id: str,
    job_id: str,
    message_id: str,
    items: Iterable[_Item | _SlicedItem | Mapping[str, str | None]],
) -> dict[str, Any]:
    r"""Write a bundle: the texts as artifacts, and the manifest `bundle.json`.

    All of it is written, or nothing: an empty folder stays empty where an error is raised, and
    one that was made is removed. No link inside the folder is followed.

    Parameters
    ----------
    out_dir : str or path-like
        The folder, made if it is not there; one that is there must be empty.
    run_id, job_id, message_id : str
        What the bundle belongs to. The names of the receipts begin with `run_id`, of 1 to 200
        characters without "/", "\\" and NUL.
    items : iterable of Mapping
        Each with "kind" ("symbol" or "section"), "ref", "text" and perhaps "slice" (str or None).
        Line ends of the text become LF, and a last one is added. A symbol costs tokens only if
        its "ref" begins with "@".

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    EncodeError, TypeError
        Two items are the same, or an argument is not like that.
    ClaimRejected
        No verification would accept it: a slice of everything, an absolute path.
    OSError
        The folder is not empty (FileExistsError), or a file cannot be written.

    Source: Compression Claims sections 2 and 3.
    """

def make_receipt(manifest: dict[str, Any], parent: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make the receipt of a run of a bundle's steps.

    Parameters
    ----------
    manifest : dict
        The manifest of the bundle.
    parent : dict, optional
        The receipt before it; the first has none.

    Returns
    -------
    dict
        The receipt, not signed.

    Raises
    ------
    ClaimRejected
        The manifest or the parent would not verify, or the parent is of another run.
    EncodeError, TypeError
        An argument is no value of JSON, or the parent has no number to count on from.

    Source: Compression Claims section 3.5.
    """

def sign_receipt(
    receipt: dict[str, Any],
    key: SigningKey | bytes | bytearray | memoryview,
    validator_id: str | None = None,
    build_id: str | None = None,
    scope: Literal["spec", "reference"] = "spec",
    *,
    add: bool = False,
) -> dict[str, Any]:
    """Sign a receipt; its `receipt_hash` stays as it is.

    A receipt holds one signature in `attestation`, or several in `attestations`, each by another
    key: see `add`.

    Parameters
    ----------
    receipt : dict
        The receipt.
    key : SigningKey or bytes
        The key, or the 32 bytes of its seed.
    validator_id : str, optional
        By which name the trust policy knows the key.
    build_id : str, optional
        What signed: "git:" and 7 to 40, or "file:" and 16 to 64 hexadecimal digits.
    scope : {"spec", "reference"}
        The bytes that are signed: without `receipt_hash` (the specification) or with it.
    add : bool
        Keep the signatures of other keys, which must be good, for `receipt_quorum`. Without it, a
        signature takes the place of the one that is there.

    Returns
    -------
    dict
        The receipt with its attestation, or with all of them in their order.

    Raises
    ------
    ClaimRejected
        The receipt, a name or a signature that stays would not verify.
    EncodeError, TypeError, ValueError
        Several signatures would be lost without `add`, or an argument is not like that.

    Source: Compression Claims section 3.3.
    """

def write_receipt(folder: _Path, receipt: dict[str, Any]) -> str:
    """Write a receipt under the name by which it is found, `<run_id>_<receipt_index>.json`.

    Parameters
    ----------
    folder : str or path-like
        The folder of the receipts, made if it is not there. A receipt that has this name already
        is replaced as a whole; a link is not followed.
    receipt : dict
        The receipt.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    ClaimRejected, EncodeError, TypeError
        It, or a signature of it, would not verify, or it has no number.
    OSError
        It cannot be written, or something else than a regular file is in the way.

    Source: Compression Claims section 2.3.
    """

def merkle_attestation(
    chain: Iterable[dict[str, Any]],
    key: SigningKey | bytes | bytearray | memoryview,
    validator_id: str | None = None,
    build_id: str | None = None,
) -> dict[str, Any]:
    """Sign the Merkle root over a chain of receipts.

    Parameters
    ----------
    chain : iterable of dict
        All receipts of one run, in their order.
    key, validator_id, build_id
        As in `sign_receipt`.

    Returns
    -------
    dict
        The Merkle attestation.

    Raises
    ------
    ClaimRejected
        A receipt would not verify, comes twice or does not follow the one before it; `path` says
        which, such as "chain[2]#/parent_receipt_hash".
    EncodeError, TypeError, ValueError
        There is none, or an argument is not like that.

    Source: Compression Claims section 3.6.
    """

def verify_merkle_signature(attestation: dict[str, Any], /) -> bool:
    """Say whether a Merkle attestation is signed by the key that it names.

    Whose key that is, and whether its root is that of any receipts, `verify_claim` says.

    Parameters
    ----------
    attestation : dict
        The Merkle attestation.

    Returns
    -------
    bool
        Whether its signature is good.

    Raises
    ------
    ClaimRejected, EncodeError, TypeError
        It is no Merkle attestation.

    Source: Compression Claims section 3.6.
    """

def merkle_root(hashes: Iterable[str], /) -> str:
    """Compute the Merkle root over receipt hashes.

    Parameters
    ----------
    hashes : iterable of str
        Each 64 lower-case hexadecimal digits, in the order of the chain.

    Returns
    -------
    str
        The root: 64 lower-case hexadecimal digits.

    Raises
    ------
    TypeError, ValueError
        One is no hash, or there is none.

    Source: Compression Claims section 3.6.
    """

def make_claim(
    manifest: dict[str, Any],
    bundle_dir: _Path,
    components: Mapping[str, bool] | None = None,
    notes: str | None = None,
) -> dict[str, Any]:
    """Claim what the artifacts of a bundle give.

    Parameters
    ----------
    manifest : dict
        The manifest.
    bundle_dir : str or path-like
        The folder of the bundle, whose manifest and artifacts are read and checked.
    components : Mapping of str to bool, optional
        Which of "vector_db_only", "symbol_lang", "f3" and "cas" the claim is about; all but "f3"
        unless given.
    notes : str, optional
        Anything; nobody verifies it.

    Returns
    -------
    dict
        The claim.

    Raises
    ------
    ClaimRejected
        The folder holds another bundle than the manifest's, or no claim about it can be true.
    EncodeError, TypeError
        An argument is not like that.

    Source: Compression Claims section 2.
    """

def make_trust_policy(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Make a trust policy: whose signatures count.

    Parameters
    ----------
    entries : iterable of dict
        Each with "validator_id", "public_key" (64 hexadecimal digits), "schemes" (a list with
        "ed25519"), "scope" (of "RECEIPT" and "MERKLE"), "enabled" and perhaps "build_id".

    Returns
    -------
    dict
        The policy.

    Raises
    ------
    ClaimRejected
        An entry is not like that, or an id or a key comes twice.
    EncodeError, TypeError
        An entry is no value of JSON.

    Source: Compression Claims section 3.4.
    """

def write_json(path: _Path, value: object, /) -> None:
    """Write a value as a file of canonical JSON, with the line feed at its end.

    Parameters
    ----------
    path : str or path-like
        The file. A regular file that is there is replaced as a whole; a link is not followed.
    value : dict
        A claim, a trust policy, a Merkle attestation. Whether it would verify is not asked.

    Raises
    ------
    EncodeError, TypeError
        `parse_json` could not read it back.
    OSError
        It cannot be written, or something else than a regular file is in the way.

    Source: Compression Claims section 3.1.
    """

def canonical_json(value: object, /) -> bytes:
    """Write a value as canonical JSON, without a line feed.

    Parameters
    ----------
    value : object
        What `json.dumps` takes, with `str` keys.

    Returns
    -------
    bytes
        Those of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.

    Raises
    ------
    EncodeError, TypeError
        It has no JSON.

    Source: Compression Claims section 3.1.
    """

def parse_json(data: str | bytes | bytearray | memoryview, /) -> Any:
    """Read JSON as strictly as the verification does.

    Parameters
    ----------
    data : bytes or str
        One JSON document without duplicate members, lone surrogates, NaN, numbers beyond a double,
        a byte order mark; nested at most 128 deep, integers of at most 4300 digits.

    Returns
    -------
    object
        Its value.

    Raises
    ------
    EncodeError
        It is not like that; the message says where.

    Source: Compression Claims section 3.1.
    """

def estimate_tokens(size: int, /) -> int:
    """Say how many tokens a text of so many UTF-8 bytes is taken for: a quarter, half to even.

    Parameters
    ----------
    size : int
        In bytes, from 0 to 2^63 - 1.

    Raises
    ------
    EncodeError, TypeError
        It is out of this range, or no int.

    Source: Compression Claims section 7.1.
    """
