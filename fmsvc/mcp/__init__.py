"""The MCP server: fmsvc's API as tools, resources and prompts for AI assistants. Needs the extra `mcp`.

Owns what models are told and offered. Every tool asks the API as its caller; the API decides what that may
see and do. Text of records is handed to models as data alone: never in descriptions, instructions or
prompts.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmsvc.mcp.server import build_server
    from fmsvc.mcp.stdio import run_stdio

__all__ = ["build_server", "run_stdio"]

_MODULES = {"build_server": "fmsvc.mcp.server", "run_stdio": "fmsvc.mcp.stdio"}


def __getattr__(name: str) -> Any:
    """Imports the server when it is used. Raises ImportError with a sentence where the extra is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("mcp", "mcp_types"):
            raise ImportError("The MCP server needs an extra: pip install 'fmsvc[mcp]'") from error
        raise
