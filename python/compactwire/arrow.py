"""The functions for messages, GCF and CAD on columns of Apache Arrow: one call for all rows.

A column is any object with `__arrow_c_stream__` or `__arrow_c_array__`: an array or table of
pyarrow, Polars, pandas, DuckDB, nanoarrow and others, none of which this module imports. A result
equals that of a loop over the rows. The rows are processed on several threads.

Source: the Arrow PyCapsule interface.
"""

from ._core.arrow import (
    Column,
    cad_from_binary,
    cad_from_compact,
    cad_to_binary,
    cad_to_compact,
    count_tokens,
    decode,
    detect,
    encode,
    gcf_from_json,
    gcf_loads,
    gcf_to_json,
    inspect,
)

__all__ = [
    "Column",
    "cad_from_binary",
    "cad_from_compact",
    "cad_to_binary",
    "cad_to_compact",
    "count_tokens",
    "decode",
    "detect",
    "encode",
    "gcf_from_json",
    "gcf_loads",
    "gcf_to_json",
    "inspect",
]
