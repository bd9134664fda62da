"""GCF: JSON-like values and graphs as text for language models.

Source: GCF 3.6; wire codecs.
"""

from ._bridge import SQLiteStore, from_context_block
from ._core.gcf import (
    KeyedDelta,
    KeyedProducer,
    KeyedSet,
    KeyedSnapshots,
    StreamEncoder,
    dump,
    dumps,
    dumps_bytes,
    dumps_grouped,
    from_json,
    iter_rows,
    load,
    loads,
    read_keyed,
    read_keyed_delta,
    receive_keyed,
    to_json,
)
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
    "PRIMER",
    "Components",
    "DeltaPayload",
    "Edge",
    "GcfError",
    "GraphStreamEncoder",
    "KeyedDelta",
    "KeyedProducer",
    "KeyedSet",
    "KeyedSnapshots",
    "Location",
    "Payload",
    "SQLiteStore",
    "StreamEncoder",
    "Symbol",
    "Unchanged",
    "apply_delta",
    "count_tokens",
    "decode",
    "diff",
    "dump",
    "dumps",
    "dumps_bytes",
    "dumps_grouped",
    "encode",
    "encode_delta",
    "encode_unchanged",
    "from_context_block",
    "from_json",
    "iter_rows",
    "load",
    "loads",
    "pack_root",
    "read_keyed",
    "read_keyed_delta",
    "receive_keyed",
    "respond",
    "snapshot",
    "to_json",
]

PRIMER = """\
Some data is written in GCF, a short form of JSON:
- `key=value` is a member of an object. `## key` begins an object; its members are indented.
- `## key [2]{id,name}` begins an array of 2 objects with the members id and name. Each line below
  is one object: its values in this order, with `|` between them. `{id,state=open}`: state is open
  in every object. `{"user>name"}`: name is a member of the object user.
- `key[3]: a,b,c` is an array of 3 values. `{id,tags[]}`: each value of tags is such an array.
- `{id,@n} group=id`: the id is written once, as `id=7 [2]`, above the 2 lines that have it.
- `## key [2:]{key,x}` is an object of 2 objects: the first value of each line is the key.
- `-` is null, `~` a member that is missing, `^` a value that follows below, after `.key`.
- Quotes are as in JSON: "12" is a string, 12 is a number.
"""
