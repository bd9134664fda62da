"""Adapters for agent frameworks: tool results are shrunk before a model sees them.

Each module imports the framework that it is named after. All adapters take the same options, which
are keyword-only:

- `include`, `exclude`: patterns of tool names, as in `fnmatch`; case counts. `exclude` wins. Its
  default has the usual names of tools that read files, which models must see byte for byte to edit
  them. For the same reason, a call with an argument that ends like the name of a JSON file is left
  as it is.
- `on_saving`: called with a `compactwire.savings.Saving` for each text, also if nothing was saved,
  in the thread that does the work. An exception that it raises is not caught.
- `formats`, `tokenizer`, `extensions`, `min_saving`, `min_tokens`, `max_size`, `max_depth`: as in
  `compactwire.shrink`.

Source: an extension of this package.
"""

from .._tools import VERBATIM

__all__ = ["VERBATIM"]
