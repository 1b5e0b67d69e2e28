"""Refusals of the API as errors that a model can act on: what happened, and what to do next."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError

from fmsvc.mcp.api import ApiError, caller

Given = ParamSpec("Given")
Told = TypeVar("Told")

_SCOPE = (
    "The token lacks a permission: the user makes a new developer token on the settings page and grants it."
)
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
        except ApiError as error:
            raise ToolError(explain(error)) from error

    return work


def explain(error: ApiError) -> str:
    """The refusal, its code and request id, and the next step."""
    known = f" ({error.code}" + (f", request {error.request_id})" if error.request_id else ")")
    return f"{error.message}{known} {next_step(error)}".rstrip()


def next_step(error: ApiError) -> str:
    """What a model should do about it."""
    if error.code == "not_authenticated":
        return caller().how_to_sign_in
    if error.code == "rate_limited":
        return f"Wait {error.wait_seconds or 'some'} seconds before the next call, and ask for larger pages."
    return _NEXT.get(error.code, "Tell the user.")
