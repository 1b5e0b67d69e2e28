"""XRPC calls to an account's PDS: the answer, or the refusal as one of our errors."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from pydantic import BaseModel, ValidationError

from readapi.answers import JSON
from readapi.errors import (
    ApiError,
    PdsRefused,
    PdsUnavailable,
    ScopeUpgradeRequired,
    SessionExpired,
    TooLarge,
)
from readapi.oauth.client import ANSWER_SECONDS, OAuthClient
from readapi.oauth.errors import Unavailable, quote_upstream
from readapi.oauth.grant import Grant
from readapi.oauth.network import Body, Response
from readapi.pds.grants import Ended, Grants
from readapi.state.sign_in.grants import GrantId

Members = dict[str, Any]  # of a JSON object

NO_SENSE = "Your server sent an invalid answer; try again later."
PAGE = 100  # records per page of a list
_MOST_CURSOR_LETTERS = 1000
_SPENT_TOKEN = "invalid_token"  # noqa: S105  # a code of RFC 6750
_NO_SCOPE = ("ScopeMissingError", "insufficient_scope")
_TOO_LARGE = ("BlobTooLarge", "PayloadTooLarge")


class Swapped(Exception):
    """Another program wrote in between; nothing was changed."""


class Xrpc:
    """Calls bounded in time (by default ANSWER_SECONDS) and bytes (`oauth.client.ANSWER_BYTES`).

    All methods raise PdsUnavailable, PdsRefused, SessionExpired, ScopeUpgradeRequired, TooLarge and Swapped.
    """

    def __init__(self, grants: Grants, oauth: OAuthClient) -> None:
        self._grants = grants
        self._oauth = oauth

    async def ask(self, grant_id: GrantId, method: str, params: Mapping[str, str]) -> Members:
        """A query."""
        return await self._call(grant_id, "GET", f"{method}?{urlencode(params)}")

    async def tell(self, grant_id: GrantId, method: str, body: Members) -> Members:
        """A procedure that takes JSON."""
        return await self._call(grant_id, "POST", method, body=orjson.dumps(body), mime_type=JSON)

    async def send(
        self, grant_id: GrantId, method: str, body: Body, mime_type: str, timeout_seconds: float
    ) -> Members:
        """A procedure that takes a file."""
        return await self._call(
            grant_id, "POST", method, body=body, mime_type=mime_type, timeout_seconds=timeout_seconds
        )

    async def _call(
        self,
        grant_id: GrantId,
        verb: str,
        method: str,
        *,
        body: Body = None,
        mime_type: str | None = None,
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> Members:
        """One call; repeated once with a fresh token when the server rejects this one."""
        headers = {} if mime_type is None else {"Content-Type": mime_type}

        async def send(grant: Grant) -> Response:
            url = f"{grant.pds}/xrpc/{method}"
            return await self._oauth.request(
                grant, verb, url, headers=headers, body=body, timeout_seconds=timeout_seconds
            )

        try:
            grant = await self._grants.fresh(grant_id)
            response = await send(grant)
            if response.status == 401 and _read_problem(response).error == _SPENT_TOKEN:
                grant = await self._grants.fresh(grant_id, refused=grant.tokens.access_token)
                response = await send(grant)
        except Ended as error:
            raise SessionExpired(str(error)) from error
        except Unavailable as error:
            raise PdsUnavailable(error.sentence) from error
        if response.status != 200:
            raise _refusal(response)
        return _members(response)


def page_of(answer: Members) -> tuple[list[Any], str | None]:
    """The records on a page of a list, and the cursor of the next one, if any. Raises PdsUnavailable."""
    found, cursor = answer.get("records"), answer.get("cursor")
    if not isinstance(found, list) or len(found) > PAGE:
        raise PdsUnavailable(NO_SENSE)
    if not found or cursor is None:
        return found, None
    if not isinstance(cursor, str) or len(cursor) > _MOST_CURSOR_LETTERS:
        raise PdsUnavailable(NO_SENSE)
    return found, cursor


def _members(response: Response) -> Members:
    try:
        answer = orjson.loads(response.body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise PdsUnavailable(NO_SENSE)
    return answer


class _Problem(BaseModel):
    error: str = ""
    message: str = ""


def _read_problem(response: Response) -> _Problem:
    try:
        return _Problem.model_validate_json(response.body)
    except ValidationError:
        return _Problem()


def _refusal(response: Response) -> ApiError | Swapped:
    """The error that an unsuccessful answer means."""
    problem = _read_problem(response)
    upstream = quote_upstream(problem.error, problem.message)
    if problem.error == "InvalidSwap":
        return Swapped(upstream.message)
    if problem.error == _SPENT_TOKEN:
        return SessionExpired("Your server no longer accepts your authorization; sign in again.")
    if response.status == 403 and (
        problem.error in _NO_SCOPE or problem.message.startswith("Missing required scope")
    ):
        return ScopeUpgradeRequired()
    if response.status == 413 or problem.error in _TOO_LARGE:
        return TooLarge(TOO_LARGE)
    if response.status >= 500 and response.status != 501:
        return PdsUnavailable("Your server is unavailable at the moment; try again later.", upstream=upstream)
    said = upstream.message or upstream.error or f"status {response.status}"
    return PdsRefused(f"Your server refused the request: {said.rstrip('.')}.", upstream=upstream)


TOO_LARGE = "The file is larger than your server accepts."
