"""Queries to servers of the network (XRPC): addresses, JSON answers, and the names of refusals."""

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from indexer.outbound import Answered, Client, OutboundError

GONE: Final = {
    "RepoNotFound": "deleted",
    "RepoTakendown": "takendown",
    "RepoSuspended": "suspended",
    "RepoDeactivated": "deactivated",
}

_ERROR = re.compile(rb'"error"\s*:\s*"(\w{1,64})"')
_LACKING = (404, 405, 501)


class BadAnswer(OutboundError):
    """A 200 answer that is not what the method answers with."""


class RepoGone(Exception):
    """Nobody has the repo to show: a state of the account, not an error. `status` names it."""

    def __init__(self, status: str, witness: str = "the server") -> None:
        super().__init__(f"{witness} says that the repo is {status}")
        self.status = status


def address(host: str, method: str, **params: str | int | Sequence[str]) -> str:
    """The URL of a query; a sequence becomes a repeated parameter."""
    return f"{host}/xrpc/{method}?{urlencode(params, doseq=True)}"


async def query(
    client: Client, host: str, method: str, max_bytes: int, timeout_seconds: float, **params: str | int
) -> dict[str, Any]:
    """A JSON object. Raises OutboundError."""
    body = await client.fetch(address(host, method, **params), max_bytes, timeout_seconds)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadAnswer("the answer is not JSON") from None
    if not isinstance(answer, dict):
        raise BadAnswer("the answer is not a JSON object")
    return answer


def error_name(refusal: Answered) -> str:
    """What the server calls its refusal; empty when it does not say."""
    found = _ERROR.search(refusal.body)
    return found[1].decode() if found else ""


def gone(refusal: Answered) -> RepoGone | None:
    """The state that a refusal tells of, if it does."""
    status = GONE.get(error_name(refusal))
    return None if status is None else RepoGone(status)


def is_lacking(refusal: Answered) -> bool:
    """Does the server not have this method? Some proxy what they do not know, and ask who is asking."""
    return refusal.status in _LACKING or error_name(refusal) in ("MethodNotImplemented", "AuthMissing")
