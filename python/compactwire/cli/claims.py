"""``claim``: makes the files that ``verify`` verifies."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import compactwire as cw

from .. import claims
from ._shell import OK, add_command, input_path, stdout, tell, utf8, without_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._shell import Commands

# How much of a file is read, in bytes: the limits of a verification for JSON and for an artifact.
_MAX_JSON, _MAX_RECEIPT, _MAX_TEXT = 16 << 20, 1 << 20, 64 << 20

_MERKLE = "merkle_attestation.json"

# How the names of temporary folders begin.
_TEMPORARY = ".compactwire-"

# The beginning of a secret key file of any version.
_SECRET = "compactwire-secret-key-"


def _run_key(args: argparse.Namespace) -> int:
    if args.from_hex is None:
        key = claims.generate_key()
    else:
        key = _read_key(claims.SigningKey.load_hex, args.from_hex)
    key.save(args.output)
    stdout().write(key.public_key + "\n")
    if args.from_hex is not None:
        tell(
            "compare this public key with the one that you published; if it differs,"
            f" {args.from_hex} was not a secret key: remove {args.output}"
        )
    return OK


def _run_new(args: argparse.Namespace) -> int:
    items: list[dict[str, str | None]] = [
        {"kind": "section", "ref": Path(path).as_posix(), "text": _text(path)}
        for path in args.files
    ]
    items += [{"kind": "symbol", "ref": ref, "text": _text(path)} for ref, path in args.symbol]
    ids = (args.run_id, args.job_id, args.message_id)
    with _new_folder(Path(args.output)) as out:
        manifest = claims.build_bundle(out / "bundle", *ids, items)
        claims.write_receipt(out / "receipts", claims.make_receipt(manifest))
        claim = claims.make_claim(manifest, out / "bundle", notes=args.notes)
        claims.write_json(out / "claim.json", claim)
    metrics = claim["reported_metrics"]
    tokens = f"{metrics['compressed_tokens']:,} of {metrics['uncompressed_tokens']:,} tokens"
    tell(f"{args.output}: {tokens}")
    return OK


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder. Without an error, its content moves to `out`, new or empty."""
    # Imported here because it takes as long to import as all other modules of a command.
    import tempfile

    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    out.mkdir(parents=True, exist_ok=True)
    if names := sorted(entry.name for entry in out.iterdir()):
        raise FileExistsError(errno.EEXIST, _not_empty(names), str(out))
    try:
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=out) as temporary:
            yield Path(temporary)
            _move_all(Path(temporary), out)
    except BaseException as error:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError) and str(error.filename).startswith(str(out / _TEMPORARY)):
            # In the temporary folder, which is gone.
            error.filename = str(out)
        raise


def _not_empty(names: list[str]) -> str:
    """What a folder holds, and what to do. A run that is killed cannot remove its work."""
    unfinished = [name for name in names if name.startswith(_TEMPORARY)]
    if not unfinished:
        return "the folder is not empty; name a new folder, or empty this one"
    return (
        f"the folder is not empty: {unfinished[0]} is the unfinished work of another run, and "
        "holds nothing but copies; if that run has ended, remove it, or name a new folder"
    )


def _move_all(source: Path, out: Path) -> None:
    """Move everything in `source` to `out`, or nothing: a part would look like a whole claim."""
    moved: list[Path] = []
    try:
        for entry in sorted(source.iterdir()):
            # The entry is noted before the move, because Ctrl-C may interrupt right after it.
            moved.append(entry)
            entry.rename(out / entry.name)
    except BaseException:
        for entry in moved:
            with contextlib.suppress(OSError):
                (out / entry.name).rename(entry)
        raise


def _text(path: str) -> str:
    with _open(Path(path), 0) as file:
        # The file is read as bytes: reading text would change line ends.
        data = file.read(_MAX_TEXT + 1)
    if len(data) > _MAX_TEXT:
        raise ValueError(f"{path}: larger than {_MAX_TEXT:,} bytes, the limit for an artifact")
    return utf8(data, path)


def _run_sign(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    key = _key(args.key)
    with _locked(folder / "receipts"):
        return _sign_all(folder, key, args)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait for other writers of the receipts, whose signatures this one would replace.

    Where a system or file system cannot lock a folder, do nothing.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    file = None
    try:
        with contextlib.suppress(OSError):  # The error about the content of the folder says more.
            file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        if file is not None:
            os.close(file)


def _sign_all(folder: Path, key: claims.SigningKey, args: argparse.Namespace) -> int:
    found = sorted(_receipts(folder), key=lambda entry: int(entry[1]["receipt_index"]))
    names = (args.validator_id, args.build_id)
    # Everything is created, and thereby checked, before anything is written. Signatures that are
    # replaced need not be valid.
    signed = [(path, _sign(path, receipt, key, args)) for path, receipt in found]
    with _naming([path for path, _ in signed]):
        merkle = claims.merkle_attestation([receipt for _, receipt in signed], key, *names)
    # The Merkle attestation is written first: writing it may fail, and it does not depend on the
    # signatures of the receipts.
    kept = _keep(folder / _MERKLE, merkle, args)
    if not kept:
        claims.write_json(folder / _MERKLE, merkle)
    for path, receipt in signed:
        claims.write_json(path, receipt)
    root = "; the Merkle attestation is kept" if kept else ""
    tell(f"receipts signed by {key.public_key}: {len(signed):,}{root}")
    return OK


@contextlib.contextmanager
def _naming(paths: list[Path]) -> Iterator[None]:
    """Name the file in an error about a receipt, or about one of a chain."""
    try:
        yield
    except cw.ClaimRejected as error:
        named = re.fullmatch(r"(?:receipt|chain\[(\d+)\])(?:#(.*))?", error.path or "")
        if named is None:
            raise
        place = f" ({named[2]})" if named[2] else ""
        path = paths[int(named[1] or 0)]
        raise ValueError(f"{path}: {error.code}: {error.message}{place}") from error


def _sign(
    path: Path, receipt: dict[str, Any], key: claims.SigningKey, args: argparse.Namespace
) -> dict[str, Any]:
    options = {"add": args.add, "replace": args.replace}
    names = (args.validator_id, args.build_id, args.scope)
    try:
        with _naming([path]):
            signed = claims.sign_receipt(receipt, key, *names, **options)
    except cw.EncodeError as error:
        message = error.message.removeprefix("receipt: ")
        for name in options:
            message = message.replace(f"({name})", f"(--{name})")
        raise ValueError(f"{path}: {message}") from None
    _check_size(path, signed)
    return signed


def _receipts(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """Return the receipts of the run with their paths; they may have any names."""
    run_id = str(_load(folder / "bundle" / "bundle.json").get("run_id"))
    receipts = folder / "receipts"
    if receipts.is_symlink():
        raise ValueError(f"{receipts}: this is a link; name the folder that it links to")
    found = [
        (path, _load(path))
        for path in sorted(receipts.iterdir())
        if path.name.startswith(f"{run_id}_") and path.name.endswith(".json")
    ]
    of_run = [(path, receipt) for path, receipt in found if receipt.get("run_id") == run_id]
    for path, receipt in of_run:
        if type(receipt.get("receipt_index")) is not int:
            raise ValueError(f"{path}: the receipt has no receipt_index, which gives the order")
    return of_run


def _check_size(path: Path, receipt: dict[str, Any]) -> None:
    size = len(claims.canonical_json(receipt)) + 1
    if size > _MAX_RECEIPT:
        message = (
            f"signed, it has {size:,} bytes, but a verification reads {_MAX_RECEIPT:,} at most"
        )
        raise ValueError(f"{path}: {message}")


def _keep(path: Path, merkle: dict[str, Any], args: argparse.Namespace) -> bool:
    """Whether to keep an existing attestation; an error if it may be neither kept nor replaced."""
    if not (path.exists() or path.is_symlink()):
        return False
    there = _load(path)
    if there == merkle:
        return False
    if args.add and there.get("merkle_root") == merkle["merkle_root"]:
        if not claims.verify_merkle_signature(there):
            raise ValueError(f"{path}: its signature is invalid; remove it, or use --replace only")
        return True
    if args.replace:
        return False
    if args.add:
        raise ValueError(f"{path}: the attestation signs other receipts; replace it (--replace)")
    raise ValueError(f"{path}: the file exists; keep it (--add), or replace it (--replace)")


def _open(path: Path, flags: int) -> BinaryIO:
    """Open a regular file. A FIFO would wait for a writer, and a device may have no end."""
    flags |= sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY"))
    try:
        descriptor = os.open(path, os.O_RDONLY | flags)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise ValueError(f"{path}: this is a link; name the file that it links to") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{path}: not a regular file")
    return os.fdopen(descriptor, "rb")


def _load(path: Path) -> dict[str, Any]:
    # Only the content of the folder is signed: a link must not lead outside.
    with _open(path, getattr(os, "O_NOFOLLOW", 0)) as file:
        data = file.read(_MAX_JSON + 1)
    if len(data) > _MAX_JSON:
        raise ValueError(f"{path}: larger than {_MAX_JSON:,} bytes")
    try:
        value = claims.parse_json(data)
    except cw.CompactWireError as error:
        raise ValueError(f"{path}: {error}") from error
    if isinstance(value, dict):
        return value
    raise ValueError(f"{path}: not a JSON object")


def _key(path: str) -> claims.SigningKey:
    return _read_key(claims.SigningKey.load, path)


def _read_key(load: Callable[[str], claims.SigningKey], path: str) -> claims.SigningKey:
    try:
        return load(path)
    except cw.EncodeError as error:
        message = error.message.removeprefix("path: ")
        raise ValueError(f"{without_keys(path)}: {message}") from None


def _run_trust(args: argparse.Namespace) -> int:
    entries = []
    for name, public_key in args.validators:
        entry = {
            "validator_id": name,
            "public_key": public_key,
            "schemes": ["ed25519"],
            "scope": args.scope or ["RECEIPT", "MERKLE"],
            "enabled": True,
        }
        entries.append(entry | ({"build_id": args.build_id} if args.build_id else {}))
    policy = claims.make_trust_policy(entries)
    # The policy decides whose claims are accepted: keys of another one are not lost by accident.
    if not args.replace and os.path.lexists(args.output):
        raise ValueError(f"{args.output}: the file exists; replace it (--replace)")
    claims.write_json(args.output, policy)
    return OK


def add(commands: Commands) -> None:
    """Add the commands."""
    parser = commands.add_parser(
        "claim", help="make bundles, receipts, signatures and claims", description="Make a claim."
    )
    inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_key(inner)
    _add_new(inner)
    _add_sign(inner)
    _add_trust(inner)


def _add_key(commands: Commands) -> None:
    about = "make a secret key and print the public one"
    parser = add_command(commands, "key", _run_key, about, "compactwire claim key -o mine.key")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="for the secret")
    parser.add_argument(
        "--from-hex",
        metavar="OLD",
        help="convert a secret key of 64 bare hexadecimal digits, as earlier versions wrote it",
    )


def _add_new(commands: Commands) -> None:
    about = "make a bundle of files, its receipt and a claim about it"
    example = "compactwire claim new intro.md --symbol @math:add=add.py --run-id run-1 -o out"
    parser = add_command(commands, "new", _run_new, about, example)
    section = "a section: its path is its name"
    parser.add_argument("files", nargs="*", type=input_path, metavar="FILE", help=section)
    parser.add_argument(
        "--symbol",
        action="append",
        type=_symbol,
        default=[],
        metavar="REF=FILE",
        help="a symbol, whose REF begins with @ (repeatable)",
    )
    parser.add_argument(
        "--run-id", required=True, metavar="ID", help="the name of the run, also in its receipts"
    )
    parser.add_argument("--job-id", default="job", metavar="ID", help="default: %(default)s")
    parser.add_argument(
        "--message-id", default="message", metavar="ID", help="default: %(default)s"
    )
    parser.add_argument("--notes", help="free text; not verified")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="a folder, new or empty"
    )


def _symbol(text: str) -> tuple[str, str]:
    ref, mark, path = text.partition("=")
    if not (ref and mark and path):
        raise argparse.ArgumentTypeError(f"expected REF=FILE, not {text!r}")
    return ref, path


def _add_sign(commands: Commands) -> None:
    about = "check the chain of receipts that `claim new` made; sign each, and all together"
    example = "compactwire claim sign out --key mine.key --validator-id me"
    parser = add_command(commands, "sign", _run_sign, about, example)
    parser.add_argument("folder", metavar="FOLDER", help="with bundle/ and receipts/")
    parser.add_argument("--key", required=True, metavar="FILE", help="of `claim key`")
    parser.add_argument("--validator-id", metavar="ID", help="as the trust policy knows the key")
    parser.add_argument("--build-id", metavar="ID", help="git:... or file:...")
    parser.add_argument(
        "--scope",
        choices=("spec", "reference"),
        default="spec",
        help="what is signed: a receipt without its receipt_hash (spec) or with it (reference); "
        "default: %(default)s",
    )
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep the signatures of other keys, and their Merkle attestation",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace signatures: those of this key with --add, all of them without",
    )


def _add_trust(commands: Commands) -> None:
    about = "write a trust policy"
    example = "compactwire claim trust me=$(cat mine.pub) -o policy.json"
    parser = add_command(commands, "trust", _run_trust, about, example)
    parser.add_argument(
        "validators",
        nargs="+",
        type=_validator,
        metavar="ID=PUBLIC_KEY",
        help="a signer and its key, as `claim key` printed it",
    )
    parser.add_argument(
        "--build-id", metavar="ID", help="the build of all of them: git:... or file:..."
    )
    parser.add_argument(
        "--scope", action="append", choices=("RECEIPT", "MERKLE"), help="default: both"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--replace", action="store_true", help="replace an existing policy")


def _validator(text: str) -> tuple[str, str]:
    name, mark, public_key = text.rpartition("=")
    # A secret must not appear in a message, which may be logged.
    if _SECRET in text:
        raise argparse.ArgumentTypeError("this is a secret key; a trust policy has public keys")
    if not (name and mark and public_key):
        raise argparse.ArgumentTypeError(f"expected ID=PUBLIC_KEY, not {text!r}")
    return name, public_key
