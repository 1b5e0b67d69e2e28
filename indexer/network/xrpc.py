"""XRPC queries to other servers: URLs, JSON answers, and error names. https://atproto.com/specs/xrpc"""

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from indexer.network.http.client import Answered, Client, OutboundError

GONE: Final = {
    "RepoNotFound": "deleted",
    "RepoTakendown": "takendown",
    "RepoSuspended": "suspended",
    "RepoDeactivated": "deactivated",
}

_ERROR = re.compile(rb'"error"\s*:\s*"(\w{1,64})"')
_LACKING = (404, 405, 501)


class BadAnswer(OutboundError):
    """A 200 answer without the method's fields."""


class RepoGone(Exception):
    """The PDS does not serve the repo: a state of the account, not an error. `status` names it."""

    def __init__(self, status: str, witness: str = "the server") -> None:
        super().__init__(f"{witness} says that the repo is {status}")
        self.status = status


def query_url(host: str, method: str, **params: str | int | Sequence[str]) -> str:
    """The URL of a query; a sequence becomes a repeated parameter."""
    return f"{host}/xrpc/{method}?{urlencode(params, doseq=True)}"


async def run_query(
    client: Client, host: str, method: str, max_bytes: int, timeout_seconds: float, **params: str | int
) -> dict[str, Any]:
    """Run a query; returns its JSON object. Raises OutboundError."""
    body = await client.fetch(query_url(host, method, **params), max_bytes, timeout_seconds)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadAnswer("the answer is not JSON") from None
    if not isinstance(answer, dict):
        raise BadAnswer("the answer is not a JSON object")
    return answer


def error_name(refusal: Answered) -> str:
    """The error name in a refusal's body; empty when it has none."""
    found = _ERROR.search(refusal.body)
    return found[1].decode() if found else ""


def gone_state(refusal: Answered) -> RepoGone | None:
    """The account's state that a refusal names; None for any other refusal."""
    status = GONE.get(error_name(refusal))
    return None if status is None else RepoGone(status)


def is_lacking(refusal: Answered) -> bool:
    """True when the server lacks the method. Some proxy unknown methods, and then demand authentication."""
    return refusal.status in _LACKING or error_name(refusal) in ("MethodNotImplemented", "AuthMissing")
