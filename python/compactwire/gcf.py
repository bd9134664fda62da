"""GCF: any JSON-like value as the text that language models read best at the fewest tokens.

Source: GCF 3.6.
"""

from ._core.gcf import (
    KeyedDelta,
    KeyedProducer,
    KeyedSet,
    KeyedSnapshots,
    StreamEncoder,
    dump,
    dumps,
    from_json,
    load,
    loads,
    read_keyed,
    read_keyed_delta,
    receive_keyed,
    to_json,
)
from .errors import GcfError

__all__ = [
    "GcfError",
    "KeyedDelta",
    "KeyedProducer",
    "KeyedSet",
    "KeyedSnapshots",
    "StreamEncoder",
    "dump",
    "dumps",
    "from_json",
    "load",
    "loads",
    "read_keyed",
    "read_keyed_delta",
    "receive_keyed",
    "to_json",
]
