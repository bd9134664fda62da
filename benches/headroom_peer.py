"""Calls headroom-ai for texts of tool results, in an environment that has it.

Reads a list of lists of texts as JSON; writes, for each text, what headroom passes to the model and
the value that its reader gives, None if it gives none.

The options are those with which it changes the most without losing rows: no message is protected
for being recent, and there is no least size.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from headroom import compress, expand_compacted, is_compacted


def shortened(text: str) -> str:
    """Return the text of a tool message after `compress`."""
    call = {"id": "c1", "type": "function", "function": {"name": "call", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]
    made = compress(messages, model="gpt-4o", protect_recent=0, min_tokens_to_compress=0).messages
    return str(made[-1]["content"])


def read(text: str) -> Any:
    """Return the value of a text: JSON, or a block of headroom's own, also inside of JSON."""
    if is_compacted(text):
        return inside(expand_compacted(text))
    try:
        return inside(json.loads(text))
    except ValueError:
        return None


def inside(value: Any) -> Any:
    """Return the value with the blocks that stand in its texts as values."""
    if isinstance(value, dict):
        return {name: inside(member) for name, member in value.items()}
    if isinstance(value, list):
        return [inside(item) for item in value]
    if isinstance(value, str) and is_compacted(value):
        found = expand_compacted(value)
        return value if found is None else inside(found)
    return value


if __name__ == "__main__":
    given = json.load(sys.stdin)
    short = [[shortened(text) if text else "" for text in texts] for texts in given]
    print(json.dumps([[(text, read(text)) for text in texts] for texts in short]))
