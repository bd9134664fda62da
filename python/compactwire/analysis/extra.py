"""The libraries of the extra ``analysis``: loaded when they are needed, missed by name."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def need(module: str, package: str) -> Any:
    """Import a module of the extra.

    Parameters
    ----------
    module : str
        What to import.
    package : str
        What installs it.

    Raises
    ------
    ImportError
        It is not installed; the message says which extra has it.
    """
    try:
        with warnings.catch_warnings():
            # What a library says of its own code is for those who write it.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise  # It is installed, and something that it needs itself is not.
        raise ImportError(
            f"compactwire.analysis needs {package}: pip install 'compactwire[analysis]'",
            name=error.name,
        ) from error
