"""Answers of the API: JSON, models and refusals from them, and how long to wait before the next attempt."""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from fmsvc.errors import AnswerError, UnreachableError, make_refusal

Model = TypeVar("Model", bound=BaseModel)

_MAX_WAIT_SECONDS = 60.0


def backoff(attempt: int) -> float:
    """Seconds before the next attempt, the first of which has the number 0."""
    return float(0.5 * 2**attempt * random.uniform(0.5, 1))  # noqa: S311  # no secret


def retry_wait(response: httpx2.Response, attempt: int) -> float | None:
    """Seconds that the service asks to wait, else those of `backoff`; None when longer than a minute."""
    found = response.headers.get("Retry-After", "")
    if found.isdecimal() and len(found) < 10:
        return float(found) if float(found) <= _MAX_WAIT_SECONDS else None
    try:
        seconds = (parsedate_to_datetime(found) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return backoff(attempt)
    return max(0.0, seconds) if seconds <= _MAX_WAIT_SECONDS else None


def make_unreachable(url: str, error: Exception) -> UnreachableError:
    """The exception for a request to this URL that brought no complete answer."""
    address = url.partition("?")[0]
    if isinstance(error, httpx2.ConnectError):
        return UnreachableError(f"{address} cannot be reached: no connection, or no such host.")
    if isinstance(error, httpx2.TimeoutException):
        return UnreachableError(f"{address} did not answer in time.")
    return UnreachableError(f"{address} gave no complete answer.")


def media_type(response: httpx2.Response) -> str:
    """The content type without its parameters."""
    return str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()


def parse_json(response: httpx2.Response, body: bytes) -> Any:
    """The JSON of a successful answer, None when it is empty. Raises RefusedError and AnswerError."""
    request_id = response.headers.get("X-Request-ID")
    found: Any = None
    try:
        if body and media_type(response).endswith("json"):
            found = json.loads(body)
        elif body and response.is_success:
            raise ValueError
    except (ValueError, RecursionError):
        if response.is_success:
            raise AnswerError(
                "The service did not answer with JSON.", status=response.status_code, request_id=request_id
            ) from None
    if not response.is_success:
        raise make_refusal(response.status_code, found, request_id, response.headers.get("Retry-After"))
    return found


def parse_model(model: type[Model], found: object, context: Mapping[str, str] | None = None) -> Model:
    """An answer's JSON as a model. `context`: for the model's validators. Raises AnswerError."""
    try:
        return model.model_validate(found, context=context)
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, one["loc"])) for one in error.errors()[:3])
        raise AnswerError(f"The service's answer is no {model.__name__}: {fields or 'no object'}.") from None


def members(page: object, member: str) -> list[Any]:
    """A list inside an answer. Raises AnswerError."""
    found = page.get(member) if isinstance(page, dict) else None
    if not isinstance(found, list):
        raise AnswerError(f"The service's answer has no {member}.")
    return found


def next_cursor(cursor: object, seen: set[str]) -> str | None:
    """The cursor of the next page, added to those seen; None after the last. Raises AnswerError."""
    if cursor is None:
        return None
    if not isinstance(cursor, str) or cursor in seen:
        raise AnswerError("The service's pages go in circles.")
    seen.add(cursor)
    return cursor


def parse_models(model: type[Model], found: object) -> list[Model]:
    """An answer that is a list. Raises AnswerError."""
    if not isinstance(found, list):
        raise AnswerError("The service's answer is no list.")
    return [parse_model(model, item) for item in found]


def parse_object(found: object) -> dict[str, Any]:
    """An answer that is a JSON object. Raises AnswerError."""
    if not isinstance(found, dict):
        raise AnswerError("The service's answer is no object.")
    return found
