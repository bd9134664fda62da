"""Compression claims; import `compactwire.claims` instead."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, Never, TypedDict, final

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
    """One check of a report.

    Source: Compression Claims section 5.
    """

    def __new__(cls, id: str, status: str, text: str) -> Check: ...
    @property
    def id(self) -> str:
        """The section and line of the specification's checklist, such as "5.3.1"."""
    @property
    def status(self) -> _Status:
        """The result: "passed", "failed" or "skipped"."""
    @property
    def text(self) -> str:
        """The condition that the check requires, in words."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Problem(_Record):
    """The reason why a claim was rejected.

    Source: Compression Claims section 6.
    """

    def __new__(
        cls, code: str, message: str, phase: str, path: str | None, check: str
    ) -> Problem: ...
    @property
    def code(self) -> str:
        """The specification's error code, such as "METRIC_MISMATCH"."""
    @property
    def message(self) -> str:
        """The error message, one line."""
    @property
    def phase(self) -> str:
        """The specification's phase, such as "Metric"."""
    @property
    def path(self) -> str | None:
        """The input by its role: "claim.json", "receipts/...", an artifact; or None."""
    @property
    def check(self) -> str:
        """The id of the check that failed."""
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ClaimReport(_Frozen):
    """The result of verifying a compression claim.

    Its truth value is `ok`. The report depends only on the inputs and options: it contains no time,
    host or absolute path, and `to_json` returns the same bytes on every machine.

    Source: Compression Claims sections 5, 6 and 8.
    """

    @property
    def report_version(self) -> str:
        """The version of the structure of `to_dict` and `to_json`."""
    @property
    def ok(self) -> bool:
        """Whether every applicable check passed."""
    @property
    def exit_code(self) -> int:
        """0: verified. 1: the claim is not true. 2: invalid input. 3: a bug in this program."""
    @property
    def error(self) -> Problem | None:
        """The reason why the claim is rejected; None if it is not."""
    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks, in order."""
    @property
    def bundle_id(self) -> str | None:
        """The id of the bundle; None if it was not recomputed."""
    @property
    def run_id(self) -> str | None:
        """The run of the bundle; None if the id of the bundle was not recomputed."""
    @property
    def claim_hash(self) -> str | None:
        """The hash of the claim; None if it was not recomputed."""
    @property
    def receipt_count(self) -> int | None:
        """The number of receipts of the run; None if they were not checked."""
    @property
    def merkle_root(self) -> str | None:
        """The Merkle root over the receipts; None if their chain was not verified."""
    @property
    def signature_scopes(self) -> list[list[Literal["spec", "reference"] | None]] | None:
        """The scope of each signature of each receipt; None if signatures were not checked.

        "spec" or "reference", or None for a signature that was not counted.
        """
    @property
    def computed(self) -> dict[str, int | float] | None:
        """The metrics: tokens, bytes, `compression_ratio`; None if they were not verified."""
    @property
    def free_artifacts(self) -> int | None:
        """The number of artifacts that count no tokens after compression, but some before.

        Such an artifact is a symbol whose ref does not begin with "@", or has one or two bytes.
        `require_symbol_refs` refuses it. None if the metrics were not computed.
        """
    @property
    def repeated_artifacts(self) -> int | None:
        """The number of artifacts with the text of an earlier one; None if they were not compared.

        The metrics count a text twice if it is listed twice, even if it is sent once. Empty texts
        are not counted here.
        """
    @property
    def unverified_claim_fields(self) -> list[str]:
        """Names of the members of the claim that cannot be verified, such as `notes`."""
    def to_dict(self) -> dict[str, Any]:
        """Return the report as dict, list, str, int, float, bool and None."""
    def to_json(self) -> bytes:
        """Return the report as canonical JSON with a final line feed."""
    def raise_for_error(self) -> None:
        """Raise an exception if the claim was rejected.

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

    Create a key with `generate_key`, `load`, `load_hex`, `from_seed` or `from_hex`. The class
    itself cannot be called, because 32 bytes or 64 digits do not show whether they are secret.
    Never create a signing key from a public key: everyone who knows it could sign with it.

    The secret is wiped when the object is destroyed. Only `seed` and `save` reveal it: `repr` and
    errors do not, and the object cannot be pickled or copied.
    """

    def __new__(cls, *_args: Never, **_options: Never) -> SigningKey: ...
    @classmethod
    def from_seed(cls, seed: bytes | bytearray | memoryview, /) -> SigningKey:
        """Create the key of a secret seed.

        Parameters
        ----------
        seed : bytes
            32 secret random bytes, never a public key. The caller is responsible for wiping its own
            copy.

        Raises
        ------
        EncodeError
            The seed is not 32 bytes long.
        TypeError
            The seed is not bytes.
        """
    @classmethod
    def from_hex(cls, seed: str, /) -> SigningKey:
        """Create the key of a secret seed in hexadecimal digits.

        Parameters
        ----------
        seed : str
            64 hexadecimal digits, never a public key, optionally surrounded by white space. Python
            does not wipe the `str`.

        Raises
        ------
        EncodeError
            The text is not such a seed; the message shows nothing of it.
        TypeError
            It is not a str.
        """
    @classmethod
    def load_hex(cls, path: _Path, /) -> SigningKey:
        """Read a key from a file of 64 bare hexadecimal digits, as earlier versions wrote it.

        Such a file does not say that it is secret. Compare `public_key` with the one that you
        published, and convert the file with `save`.

        Parameters
        ----------
        path : str or path-like
            A regular file of 64 hexadecimal digits, optionally surrounded by white space.

        Raises
        ------
        EncodeError
            The file contains something else; the message shows nothing of it.
        OSError
            The file cannot be read.
        """
    @classmethod
    def load(cls, path: _Path, /) -> SigningKey:
        """Read a key from a file that `save` or `compactwire claim key` wrote.

        At most 256 bytes are read. The secret never becomes a Python object.

        Parameters
        ----------
        path : str or path-like
            A regular file of one line: "compactwire-secret-key-v1", the seed and the public key.

        Raises
        ------
        EncodeError
            The file contains something else, for example a public key or 64 bare digits; the
            message shows nothing of it.
        OSError
            The file cannot be read.
        """
    def save(self, path: _Path, /) -> None:
        """Write the key to a new file, which only its owner may read on Unix.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is never replaced: it may be the only copy of another key.

        Raises
        ------
        OSError
            The file exists, or it cannot be written.
        """
    @property
    def public_key(self) -> str:
        """The public key for verification: 64 hexadecimal digits."""
    def seed(self) -> bytes:
        """Return the 32 bytes of the secret, which Python does not wipe when it frees them."""

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
    require_symbol_refs: bool = False,
    strict: bool = False,
    limits: Mapping[str, int] = {},
    progress: Callable[[str, int, int], object] | None = None,
) -> ClaimReport:
    """Verify a compression claim by recomputing it from its artifacts, receipts and signatures.

    Verification is deterministic, offline, bounded and fail-closed: the report is `ok` only if
    every applicable check passed. Invalid input files do not raise.

    Parameters
    ----------
    bundle : str or path-like
        The folder with `bundle.json` and `artifacts/`.
    receipts : str or path-like, optional
        The folder with the receipts, `<run_id>_*.json`.
    claim : str or path-like
        The claim, a JSON file.
    trust_policy : str or path-like, optional
        The keys whose signatures are accepted, a JSON file.
    merkle_attestation : str or path-like, optional
        The signature over all receipts, a JSON file.
    require_verify_chain : bool
        Whether the chain of receipts must verify. Every requirement below implies this one.
    require_attestation : bool
        Whether every receipt must have a valid signature.
    strict_trust : bool
        Whether every signature must be by an enabled validator of the trust policy, within its
        scope.
    strict_identity : bool
        Whether the build of the signer must also be that of the trust policy.
    require_merkle_attestation : bool
        Whether the Merkle attestation must verify.
    receipt_quorum : int, optional
        The number of signatures of each receipt that must be valid, 1 or more; by default all.
    accept_reference_scope : bool
        Whether signatures over bytes that include `receipt_hash` are accepted; some signers write
        them.
    bind_receipts : bool
        Whether the chain of receipts must refer to this bundle.
    require_canonical : bool
        Whether every JSON file must be byte for byte in canonical form.
    require_symbol_refs : bool
        Whether every symbol must cost tokens: its ref begins with "@" and has at least three bytes,
        and no other symbol has the same ref and slice.
    strict : bool
        Whether to require all of the above. It needs a trust policy and a Merkle attestation.
    limits : Mapping of str to int
        Limits on the inputs, with their defaults: `max_json_bytes` (16 MiB), `max_receipt_bytes` (1
        MiB), `max_depth` (128), `max_int_digits` (4300), `max_steps` and `max_artifacts` (100,000),
        `max_artifact_bytes` (64 MiB), `max_total_bytes` (1 GiB), `max_receipts` (200,000).
    progress : callable, optional
        Called at intervals with "receipts" or "artifacts", the number processed and the total. An
        exception that it raises ends the verification.

    Returns
    -------
    ClaimReport
        The report; its truth value is whether the claim is verified.

    Raises
    ------
    TypeError, ValueError
        An option has the wrong type, is unknown or is out of range.
    MemoryError
        There is not enough memory, so there is no verdict.
    OSError
        Too many files are open, so there is no verdict.

    Source: Compression Claims sections 3 to 8.
    """

def generate_key() -> SigningKey:
    """Generate a secret key with the randomness of the operating system.

    Returns
    -------
    SigningKey
        A new Ed25519 key.

    Raises
    ------
    OSError
        The operating system has no randomness.

    Source: Compression Claims section 3.3.
    """

def build_bundle(
    out_dir: _Path,
    run_id: str,
    job_id: str,
    message_id: str,
    items: Iterable[_Item | _SlicedItem | Mapping[str, str | None]],
) -> dict[str, Any]:
    """Write a bundle: artifacts with the texts of the items, and the manifest `bundle.json`.

    The bundle is written completely or not at all: on an error, an existing folder stays empty and
    a new one is removed. Links inside the folder are not followed.

    Parameters
    ----------
    out_dir : str or path-like
        The folder. It is created if missing; an existing folder must be empty.
    run_id, job_id, message_id : str
        The ids of the run, job and message. `run_id` is the prefix of the names of receipts: 1 to
        200 characters without "/", backslash and NUL.
    items : iterable of Mapping
        Mappings with "kind" ("symbol" or "section"), "ref", "text" and optionally "slice" (str or
        None). Line ends of the text become LF, and a final LF is added. A symbol counts tokens only
        if its "ref" begins with "@".

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    EncodeError, TypeError
        Two items are identical, or an argument is invalid.
    ClaimRejected
        Verification would reject the bundle, for example for a slice that selects everything or an
        absolute path.
    OSError
        The folder is not empty (`FileExistsError`), or a file cannot be written.

    Source: Compression Claims sections 2 and 3.
    """

def make_receipt(manifest: dict[str, Any], parent: dict[str, Any] | None = None) -> dict[str, Any]:
    """Create the receipt for a run of the steps of a bundle.

    Parameters
    ----------
    manifest : dict
        The manifest of the bundle.
    parent : dict, optional
        The previous receipt; None for the first one.

    Returns
    -------
    dict
        The unsigned receipt.

    Raises
    ------
    ClaimRejected
        Verification would reject the manifest or the parent, or the parent belongs to another run.
    EncodeError, TypeError
        An argument has no JSON form, or the index of the parent has no successor.

    Source: Compression Claims section 3.5.
    """

def sign_receipt(
    receipt: dict[str, Any],
    key: SigningKey,
    validator_id: str | None = None,
    build_id: str | None = None,
    scope: Literal["spec", "reference"] = "spec",
    *,
    add: bool = False,
    replace: bool = False,
) -> dict[str, Any]:
    """Sign a receipt without changing its `receipt_hash`.

    A receipt has one signature in `attestation`, or several by different keys in `attestations`:
    see `add`.

    Parameters
    ----------
    receipt : dict
        The receipt.
    key : SigningKey
        The key.
    validator_id : str, optional
        The name of the key in the trust policy.
    build_id : str, optional
        The build of the signer: "git:" and 7 to 40, or "file:" and 16 to 64 hexadecimal digits.
    scope : {"spec", "reference"}
        The signed bytes: without `receipt_hash` (the specification) or with it.
    add : bool
        Whether to keep the signatures of other keys, which must be valid, for `receipt_quorum`.
    replace : bool
        Whether to replace existing signatures: with `add` those of this key, without it all.

    Returns
    -------
    dict
        The receipt with its attestation, or with all attestations in order.

    Raises
    ------
    ClaimRejected
        Verification would reject the receipt, a name, or a signature that is kept.
    EncodeError, TypeError, ValueError
        The receipt has a signature that `add` and `replace` allow neither to keep nor to replace;
        or an argument is invalid.

    Source: Compression Claims section 3.3.
    """

def write_receipt(folder: _Path, receipt: dict[str, Any], *, replace: bool = False) -> str:
    """Write a receipt to the file `<run_id>_<receipt_index>.json`.

    Parameters
    ----------
    folder : str or path-like
        The folder of the receipts, created if missing. An existing file is replaced atomically;
        links are not followed.
    receipt : dict
        The receipt.
    replace : bool
        Whether signatures of an existing file may be lost.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    ClaimRejected, EncodeError, TypeError
        Verification would reject the receipt or one of its signatures, or the receipt has no index.
    OSError
        The file cannot be written; the path exists and is not a regular file, or it has a signature
        that the receipt lacks, or cannot be read (`FileExistsError`).

    Source: Compression Claims section 2.3.
    """

def merkle_attestation(
    chain: Iterable[dict[str, Any]],
    key: SigningKey,
    validator_id: str | None = None,
    build_id: str | None = None,
) -> dict[str, Any]:
    """Sign the Merkle root over a chain of receipts.

    Parameters
    ----------
    chain : iterable of dict
        All receipts of one run, in order.
    key, validator_id, build_id
        As in `sign_receipt`.

    Returns
    -------
    dict
        The Merkle attestation.

    Raises
    ------
    ClaimRejected
        Verification would reject a receipt, or a receipt is a duplicate or does not follow the
        previous one; `path` says which, such as "chain[2]#/parent_receipt_hash".
    EncodeError, TypeError, ValueError
        The chain is empty, or an argument is invalid.

    Source: Compression Claims section 3.6.
    """

def verify_merkle_signature(attestation: dict[str, Any], /) -> bool:
    """Check whether a Merkle attestation is signed by the key that it names.

    Whether that key is trusted, and whether the root matches the receipts, is checked by
    `verify_claim`.

    Parameters
    ----------
    attestation : dict
        The Merkle attestation.

    Returns
    -------
    bool
        Whether the signature is valid.

    Raises
    ------
    ClaimRejected, EncodeError, TypeError
        The argument is not a Merkle attestation.

    Source: Compression Claims section 3.6.
    """

def merkle_root(hashes: Iterable[str], /) -> str:
    """Compute the Merkle root over receipt hashes.

    Parameters
    ----------
    hashes : iterable of str
        Hashes of 64 lower-case hexadecimal digits, in the order of the chain.

    Returns
    -------
    str
        The root: 64 lower-case hexadecimal digits.

    Raises
    ------
    EncodeError
        An element is not a hash, or there are no hashes.
    TypeError
        An element is not a str.

    Source: Compression Claims section 3.6.
    """

def make_claim(
    manifest: dict[str, Any],
    bundle_dir: _Path,
    components: Mapping[str, bool] | None = None,
    notes: str | None = None,
) -> dict[str, Any]:
    """Create a claim with the metrics of the artifacts of a bundle.

    Parameters
    ----------
    manifest : dict
        The manifest.
    bundle_dir : str or path-like
        The folder of the bundle. Its manifest and artifacts are read and checked.
    components : Mapping of str to bool, optional
        Which of "vector_db_only", "symbol_lang", "f3" and "cas" the claim covers; by default all
        except "f3".
    notes : str, optional
        Any text; it is not verified.

    Returns
    -------
    dict
        The claim.

    Raises
    ------
    ClaimRejected
        The folder contains another bundle than the manifest describes, or no claim about it can be
        true.
    EncodeError, TypeError
        An argument is invalid.

    Source: Compression Claims section 2.
    """

def make_trust_policy(entries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Create a trust policy: the list of keys whose signatures are accepted.

    Parameters
    ----------
    entries : iterable of dict
        Entries with "validator_id", "public_key" (64 hexadecimal digits), "schemes" (a list with
        "ed25519"), "scope" (a list of "RECEIPT" and "MERKLE"), "enabled" and optionally "build_id".

    Returns
    -------
    dict
        The policy.

    Raises
    ------
    ClaimRejected
        An entry is invalid, an id or key is a duplicate, or no signature verifies with a key.
    EncodeError, TypeError
        An entry has no JSON form.

    Source: Compression Claims section 3.4.
    """

def write_json(path: _Path, value: object, /) -> None:
    """Write a value to a file as canonical JSON with a final line feed.

    Parameters
    ----------
    path : str or path-like
        The file. An existing regular file is replaced atomically; links are not followed.
    value : dict
        A claim, a trust policy or a Merkle attestation. It is not verified.

    Raises
    ------
    UnsupportedValue
        The value has no JSON form that `parse_json` accepts.
    OSError
        The file cannot be written, or the path exists and is not a regular file.

    Source: Compression Claims section 3.1.
    """

def canonical_json(value: object, /) -> bytes:
    """Encode a value as canonical JSON, without a final line feed.

    Parameters
    ----------
    value : object
        A value that `json.dumps` accepts, with `str` keys.

    Returns
    -------
    bytes
        The same bytes as those of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.

    Raises
    ------
    UnsupportedValue
        The value has no JSON form.

    Source: Compression Claims section 3.1.
    """

def parse_json(data: str | bytes | bytearray | memoryview, /) -> Any:
    """Parse JSON as strictly as the verification does.

    Parameters
    ----------
    data : bytes or str
        A JSON document without duplicate members, lone surrogates, NaN, numbers beyond the range of
        doubles, or a byte order mark. Nesting is limited to 128 levels, integers to 4300 digits.

    Returns
    -------
    object
        The value of the document.

    Raises
    ------
    EncodeError
        The document is invalid; the message says where.

    Source: Compression Claims section 3.1.
    """

def estimate_tokens(size: int, /) -> int:
    """Estimate the number of tokens of a text: a quarter of its bytes, rounded half to even.

    `compactwire.estimate_tokens` is another estimate, which reads the text.

    Parameters
    ----------
    size : int
        The size of the text in UTF-8 bytes, from 0 to 2^63 - 1.

    Raises
    ------
    EncodeError, TypeError
        The size is out of this range, or not an int.

    Source: Compression Claims section 7.1.
    """
