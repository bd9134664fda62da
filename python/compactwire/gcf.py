"""GCF: any JSON-like value, and graphs, as the text that language models read best.

Source: GCF 3.6; wire codecs.
"""

from ._bridge import SQLiteStore, from_context_block
from ._core.gcf import dump, dumps, from_json, load, loads, to_json
from ._core.graph import (
    Components,
    DeltaPayload,
    Edge,
    GraphStreamEncoder,
    Location,
    Payload,
    Symbol,
    Unchanged,
    apply_delta,
    count_tokens,
    decode,
    diff,
    encode,
    encode_delta,
    encode_unchanged,
    pack_root,
    respond,
    snapshot,
)
from .errors import GcfError

__all__ = [
    "Components",
    "DeltaPayload",
    "Edge",
    "GcfError",
    "GraphStreamEncoder",
    "Location",
    "Payload",
    "SQLiteStore",
    "Symbol",
    "Unchanged",
    "apply_delta",
    "count_tokens",
    "decode",
    "diff",
    "dump",
    "dumps",
    "encode",
    "encode_delta",
    "encode_unchanged",
    "from_context_block",
    "from_json",
    "load",
    "loads",
    "pack_root",
    "respond",
    "snapshot",
    "to_json",
]
