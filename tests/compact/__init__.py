"""Compact Protocol: responses, dictionaries, deltas, tool calls."""
