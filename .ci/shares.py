"""Prints what the code of the extension module consists of, part by part.

    export CARGO_PROFILE_RELEASE_STRIP=none
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS=-Csymbol-mangling-version=v0
    cargo build --release --package compactwire-python
    python .ci/shares.py target/release/libcompactwire_python.so

A function belongs to the first part that its name mentions, so that one of a library that was
compiled for our types counts as ours, and where the compiler has put it into its caller, to the
caller. Needs `nm` of the GNU binutils. RUSTFLAGS would replace the flags of .cargo/config.toml.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

# The parts, and what the names of their functions contain; the first that matches counts.
PARTS = {
    "binding to Python": r"\bcompactwire_python\b|\bpyo3",
    "columns of Arrow": r"\bcompactwire::arrow\b|\barrow_|\bchrono::|\bhalf::",
    "GCF: values, graphs, wire codecs": r"\bcompactwire::(gcf|wire)\b",
    "messages and sessions": (
        r"\bcompactwire::(compact|session|msgpack|base85|compression)\b|\brmp"
    ),
    "CAD": r"\bcompactwire::cad\b",
    "claims, with Ed25519 and SHA-256": (
        r"\bcompactwire::claims\b|25519|\bsha2::|\bserde|\bdigest::"
    ),
    "shrink": r"\bcompactwire::shrink\b",
    "JSON, text and memory": r"\bcompactwire::",
    "zstd and zlib": (
        r"^(ZSTD|HUF|FSE|HIST|ZDICT|COVER|FASTCOVER|POOL|XXH|ERR|divsuf|ss_|tr)|zlib|zstd|flate2"
    ),
}
REST = "Rust's standard library and other crates"


def shares(library: str) -> Counter[str]:
    """Return the bytes of code of each part."""
    command = ["nm", "--demangle", "--print-size", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    found: Counter[str] = Counter()
    for line in lines:
        symbol = re.fullmatch(r"[0-9a-f]+ ([0-9a-f]+) [tTwW] (.+)", line)
        if symbol:
            parts = (part for part, pattern in PARTS.items() if re.search(pattern, symbol[2]))
            found[next(parts, REST)] += int(symbol[1], 16)
    if not found:
        sys.exit(
            f"{library}: no names of functions: build it with CARGO_PROFILE_RELEASE_STRIP=none"
        )
    return found


def main() -> None:
    """Print a table of Markdown."""
    found = shares(sys.argv[1])
    print("| part | bytes of code | share |\n|---|---:|---:|")
    for part, size in found.most_common():
        print(f"| {part} | {size:,} | {size / found.total():.0%} |")


if __name__ == "__main__":
    main()
