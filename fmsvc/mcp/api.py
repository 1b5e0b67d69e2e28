"""The API as the caller of a tool asks it: JSON in and out, refusals as exceptions, answers bounded."""

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2

from fmsvc._async.http import read_bounded
from fmsvc.addresses import path_of
from fmsvc.errors import AnswerError, ConfigurationError

MOST_BYTES: Final = 8 << 20  # of one answer
TIMEOUT_SECONDS: Final = 30.0
Value = str | int | None  # of a query parameter; None leaves it out
Connect = Callable[
    [Any], "Api"
]  # the HTTP request that a message came with, or None -> the API for its sender


class ApiError(Exception):
    """The API refused, or could not be asked.

    `status` 0: no answer. `code`: `detail` of the API's errors; `unavailable` without an answer.
    """

    def __init__(
        self, status: int, code: str, message: str, request_id: str | None = None, wait: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.request_id = status, code, message, request_id
        self.wait_seconds = wait


@dataclass(frozen=True, slots=True)
class Api:
    """Asks as one caller. `address` is the one that people use: links to pages begin with it.

    `how_to_sign_in`: a sentence for models whose caller brought no token.
    """

    http: httpx2.AsyncClient
    address: str
    how_to_sign_in: str
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    async def get(self, *path: object, **query: Value) -> dict[str, Any]:
        """A JSON object. `path`: its segments, escaped here. Raises ApiError."""
        return _object(await self.ask("GET", path, query))

    async def list(self, *path: object, **query: Value) -> list[Any]:
        """A JSON list. Raises ApiError."""
        found = await self.ask("GET", path, query)
        return found if isinstance(found, list) else []

    async def send(
        self, method: str, *path: object, sent: object = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """What a change is answered with. Raises ApiError."""
        return _object(await self.ask(method, path, {}, sent, headers))

    async def ask(
        self,
        method: str,
        path: tuple[object, ...],
        query: Mapping[str, Value],
        sent: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """One request, never redirected: whatever an answer says, no other address is asked."""
        try:
            address = path_of(*path)
        except ConfigurationError as error:
            raise ApiError(400, "invalid_request", error.message) from error
        request = self.http.build_request(
            method,
            address,
            params={name: value for name, value in query.items() if value is not None},
            json=sent,
            headers={**self.headers, **self._credential(), **(headers or {})},
        )
        try:
            answer = await self.http.send(request, stream=True, follow_redirects=False)
            try:
                content = await read_bounded(answer, MOST_BYTES)
            finally:
                await answer.aclose()
        except AnswerError as error:
            raise ApiError(answer.status_code, "unavailable", "The API's answer is too long.") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            message = f"The API does not answer ({type(error).__name__})."
            raise ApiError(0, "unavailable", message) from error
        return _understood(answer, content)

    def _credential(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}


CALLER: ContextVar[Api] = ContextVar("the API, as the sender of the message that is being answered asks it")


def caller() -> Api:
    """The API for whoever called the tool that runs."""
    return CALLER.get()


def _understood(answer: httpx2.Response, content: bytes) -> Any:
    """The JSON of a success. Raises ApiError for anything else."""
    try:
        told = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        told = None
    if answer.is_success and told is not None:
        return told
    error = told if isinstance(told, dict) else {}
    message = str(error.get("message", f"The API answered with status {answer.status_code} and no JSON."))
    faults = [f"{one.get('field')}: {one.get('message')}" for one in error.get("errors") or ()]
    raise ApiError(
        answer.status_code,
        str(error.get("detail", "unavailable")),
        " ".join([message, *faults]),
        answer.headers.get("X-Request-Id"),
        answer.headers.get("Retry-After"),
    )


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
