"""The client of fmsvc: SDK, command line and MCP server. Imports nothing of the servers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmsvc._async.client import AsyncClient as AsyncClient
    from fmsvc._sync.client import Client as Client
    from fmsvc.errors import FmsvcError as FmsvcError
    from fmsvc.models import *  # noqa: F403

__version__ = "0.1.0"

_ERRORS = (
    "AnswerError",
    "ConfigurationError",
    "FmsvcError",
    "MissingFileError",
    "NotAuthenticatedError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProofError",
    "PublishingError",
    "RateLimitedError",
    "RefusedError",
    "SetupRequiredError",
    "UnavailableError",
    "UnreachableError",
)
_HOMES = {"Client": "fmsvc._sync.client", "AsyncClient": "fmsvc._async.client"}
# The names that plyrfm exports for the two clients.
_SAME = {"PlyrClient": "Client", "AsyncPlyrClient": "AsyncClient"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import fmsvc` is fast."""
    if name.startswith("_"):
        raise AttributeError(name)
    same = _SAME.get(name, name)
    home = _HOMES.get(same, "fmsvc.errors" if same in _ERRORS else "fmsvc.models")
    try:
        return getattr(import_module(home), same)
    except AttributeError:
        raise AttributeError(f"fmsvc has no {name}") from None
