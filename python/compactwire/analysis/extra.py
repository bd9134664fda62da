"""Imports the libraries of an extra on first use, and names a missing one."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any


def need(
    module: str, package: str, extra: str = "analysis", user: str = "compactwire.analysis"
) -> Any:
    """Import a module that an extra installs.

    Parameters
    ----------
    module : str
        The name of the module.
    package : str
        The name of the package that contains it.
    extra, user : str
        The extra, and what needs it, for the message.

    Raises
    ------
    ImportError
        It is not installed; the message names the extra to install.
    """
    try:
        if module in sys.modules:
            # Another thread may have set filters, which `catch_warnings` would undo.
            return import_module(module)
        with warnings.catch_warnings():
            # Warnings of a library about its own code do not concern the caller.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != module.split(".")[0]:
            raise  # The library is installed, but one of its own dependencies is not.
        raise ImportError(
            f"{user} needs {package}: pip install 'compactwire[{extra}]'",
            name=error.name,
        ) from error
