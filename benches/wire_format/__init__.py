"""What graph payloads cost in each codec, in deltas and in conversations; and that they survive.

python -m benches.wire_format [--quick]
"""
