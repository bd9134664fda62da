"""Prints the figures of some modules of this package: `python -m tests.scaling gcf`."""

from __future__ import annotations

import sys
from importlib import import_module

from .harness import counter, peak, steep

for subject in sys.argv[1:]:
    cases = import_module(f"tests.scaling.{subject}").CASES
    print(f"{subject}: steepness by {counter()} (1 is linear, 4 quadratic); memory by input")
    for case, steepness in steep(subject, cases):
        size, used = peak(case)
        memory = f"{used / 2**20:8.1f} MiB for {size / 1024:8.1f} KiB, {used / size:8.1f} times"
        print(f"  {case.name:<50}{steepness:8.2f}  {memory}", flush=True)
