"""GCF: any JSON-like value as the text that language models read best at the fewest tokens.

Source: GCF 3.6.
"""

from ._core.gcf import dump, dumps, from_json, load, loads, to_json
from .errors import GcfError

__all__ = ["GcfError", "dump", "dumps", "from_json", "load", "loads", "to_json"]
