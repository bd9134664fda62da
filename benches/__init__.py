"""What a caller in Python sees, measured against named peers in the same run.

`python -m benches` prints the tables and writes `benches/RESULTS.md` and
`benches/results/latest.json`; it needs the extra `bench`. With `--cargo` the benches of the core
run first. `--quick` shortens every measurement, writes nothing, and is what the tests run.
"""
