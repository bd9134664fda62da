r"""CAD IR: vcad documents as JSON, compact text and bytes.

Lengths are in mm and angles in degrees, except `twist_angle`, which is in radians.

>>> from compactwire import cad
>>> document = cad.from_compact("C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2")
>>> document["nodes"]["3"]["op"]
{'type': 'Difference', 'left': 0, 'right': 2}
>>> cad.to_compact(document)
'C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2'

Source: CAD IR. Dialect 0.2 is that of the public program vcad; `docs/cad.md` lists the differences.
"""

from __future__ import annotations

from . import _core
from ._cad_preview import Preview, preview
from ._cad_tool import TOOL, create_cad_compact
from .errors import BinaryError, CompactParseError, DocumentError

__all__ = [
    "PRIMER",
    "TOOL",
    "BinaryError",
    "CompactIterator",
    "CompactParseError",
    "DocumentError",
    "Preview",
    "canonical",
    "check",
    "create_cad_compact",
    "dumps",
    "from_binary",
    "from_compact",
    "from_hybrid",
    "iter_compact",
    "load",
    "loads",
    "losses",
    "preview",
    "to_binary",
    "to_compact",
    "to_hybrid",
]

PRIMER = """\
Some parts are written as CAD compact text. Each line is an operation and makes a node; nodes are
numbered from 0, and other lines name them by number. Lengths are in mm, angles in degrees.
- `C w h d` box from the origin, `Y r h` cylinder along z, `S r` sphere, `K r1 r2 h` cone
- `U a b` union, `D a b` a minus b, `I a b` intersection
- `T n x y z` moves node n, `R n x y z` rotates it about x, y, z, `X n x y z` scales it
- `LP n dx dy dz count spacing` repeats it in a line,
  `CP n ox oy oz ax ay az count angle` around an axis
- `SK` to `END` a sketch of lines `L` and arcs `A`; `E n x y z` extrudes it,
  `V n ox oy oz ax ay az angle` revolves it
- `SH n t` hollows node n out, with walls of thickness t
The last node is the part, unless lines `ROOT n material` name others.
"""

_cad = _core.cad

CompactIterator = _cad.CompactIterator
canonical = _cad.canonical
check = _cad.check
dumps = _cad.dumps
from_binary = _cad.from_binary
from_compact = _cad.from_compact
from_hybrid = _cad.from_hybrid
iter_compact = _cad.iter_compact
load = _cad.load
loads = _cad.loads
losses = _cad.losses
to_binary = _cad.to_binary
to_compact = _cad.to_compact
to_hybrid = _cad.to_hybrid
