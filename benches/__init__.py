"""Benchmarks of the Python functions against named peers that run in the same process.

`python -m benches` prints the tables and writes `benches/RESULTS.md` and
`benches/results/latest.json`; it needs the extra `bench`. With `--cargo` the benches of the core
run first. `--quick` shortens every measurement, writes nothing, and is what the tests run.
"""
