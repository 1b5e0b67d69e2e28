"""Refusals of the API as errors that a model can act on: what happened, and what to do next."""

import functools
import re
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from fmsvc.errors import ConfigurationError, FmsvcError, UnreachableError
from fmsvc.mcp.caller import caller
from fmsvc.mcp.text import clean

Given = ParamSpec("Given")
Told = TypeVar("Told")

_SCOPE = (
    "The token lacks a permission: the user makes a new developer token on the settings page and grants it."
)
_MOST_NAMED: Final = 5  # arguments of one call that a refusal names, and alternatives of one
# Where an argument may be of several types, pydantic names the type that was tried as if it were a part.
_ALTERNATIVE: Final = re.compile(r"(constrained|function)-.*|int|str")
_NEXT: Mapping[str, str] = MappingProxyType(
    {
        "not_found": "Check the id with `search` or a list; what the caller may not see looks like this too.",
        "invalid_request": "Correct the named arguments and call again.",
        "invalid_cursor": "Call again without a cursor, and page on from there.",
        "scope_upgrade_required": _SCOPE,
        "session_expired": _SCOPE.replace("lacks a permission", "has ended"),
        "artist_profile_required": "The user makes an artist profile first, on the page /portal.",
        "not_owner": "Only the owner may do this; do not try again with this account.",
        "support_required": "This is for supporters: tell the user, with the artist's support_url.",
        "audience_unavailable": "Choose another audience; publishing_capabilities lists which.",
        "space_refused": "The private Space refused, which is final: do not look for another way.",
        "conflict": "Read the present state again and decide anew.",
        "index_not_ready": "Wait a few seconds, then call again.",
        "state_unavailable": "Wait a few seconds, then call again.",
        "pds_unavailable": "The artist's own server does not answer: try again in some minutes.",
        "pds_refused": "The user's own server refused: tell the user what it said.",
        "unavailable": "Try again once; then tell the user that the service cannot be reached.",
        "internal": "Try once more; then tell the user the request id.",
    }
)


def explained(tool: Callable[Given, Awaitable[Told]]) -> Callable[Given, Awaitable[Told]]:
    """The tool, with refusals of the API raised as ToolError."""

    @functools.wraps(tool)
    async def work(*args: Given.args, **kwargs: Given.kwargs) -> Told:
        try:
            return await tool(*args, **kwargs)
        except FmsvcError as error:
            raise ToolError(explain(error)) from error

    return work


def explain(error: FmsvcError) -> str:
    """The refusal, its code and request id, and the next step."""
    code = find_code(error)
    known = f" ({code}" + (f", request {error.request_id})" if error.request_id else ")")
    said = "The API does not answer." if isinstance(error, UnreachableError) else clean(error.message)
    return f"{said}{known} {find_next_step(error, code)}".rstrip()


def explain_arguments(error: ValidationError) -> str:
    """Which arguments of a call the tool's schema refuses, and the next step."""
    refused: dict[str, list[str]] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        argument, *within = map(str, one["loc"] or ("arguments",))
        path = ".".join([argument, *(part for part in within if not _ALTERNATIVE.fullmatch(part))])
        refused.setdefault(clean(path)[:100], []).append(clean(one["msg"])[:200])
    named = [
        f"`{path}`: {', or: '.join(messages[:_MOST_NAMED])}."
        for path, messages in islice(refused.items(), _MOST_NAMED)
    ]
    return " ".join([*named, _NEXT["invalid_request"]])


def find_code(error: FmsvcError) -> str:
    """The code of the API's refusal, or the one that an error of the client amounts to."""
    if error.code is not None:
        return clean(error.code)[:100]
    if isinstance(error, ConfigurationError):
        return "invalid_request"
    return "unavailable"


def find_next_step(error: FmsvcError, code: str) -> str:
    """What a model should do about it."""
    if code == "not_authenticated":
        return caller().how_to_sign_in
    if code == "rate_limited":
        return f"Wait {error.retry_after or 'some'} seconds before the next call, and ask for larger pages."
    return _NEXT.get(code, "Tell the user.")
