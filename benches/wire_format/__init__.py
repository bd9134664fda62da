"""Measures the size of graph payloads in each codec, in deltas and in conversations.

python -m benches.wire_format [--quick]
"""
