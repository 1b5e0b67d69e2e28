"""Every refusal has one shape: a code for programs, a sentence for people, and the fields at fault."""

import json
from typing import Any

import pytest

from readapi import errors
from readapi.errors import (
    ApiError,
    IndexNotReady,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    PdsRefused,
    RangeNotSatisfiable,
    RateLimited,
)
from schemas.errors import Code, Upstream

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ApiError) and kind is not ApiError
]


def body(error: ApiError) -> dict[str, Any]:
    answer = error.answer()
    return dict(json.loads(answer.body))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_refusal_is_a_status_a_code_and_a_sentence(kind: type[ApiError]) -> None:
    """Of the closed list of codes; a person can read the sentence as it is."""
    error = kind(100) if kind is RangeNotSatisfiable else kind()
    answer = error.answer()

    assert 400 <= answer.status < 600
    assert body(error) == {"detail": Code(kind.code).value, "message": kind.sentence}
    assert kind.sentence[0].isupper()
    assert kind.sentence.endswith(".")


def test_a_message_of_its_own_replaces_the_sentence() -> None:
    """The code stays: programs depend on it."""
    assert body(NotFound("This track is gone.")) == {"detail": "not_found", "message": "This track is gone."}


def test_a_field_at_fault_is_named() -> None:
    refused = InvalidRequest.of_field("title", "is required")

    assert body(refused)["errors"] == [{"field": "title", "message": "is required"}]


def test_the_words_of_the_accounts_server_are_passed_on_apart_from_ours() -> None:
    """So that a client never takes them for this service's."""
    said = Upstream(error="InvalidSwap", message="Record was at another CID")

    assert body(PdsRefused(upstream=said)) == {
        "detail": "pds_refused",
        "message": PdsRefused.sentence,
        "upstream": said.model_dump(),
    }


@pytest.mark.parametrize(
    ("error", "name", "value"),
    [
        (NotAuthenticated(), "WWW-Authenticate", "Bearer"),
        (RangeNotSatisfiable(100), "Content-Range", "bytes */100"),
        (IndexNotReady(retry_seconds=7), "Retry-After", "7"),
    ],
)
def test_what_http_wants_of_a_status_stands_in_its_headers(error: ApiError, name: str, value: str) -> None:
    assert error.answer().headers[name] == value


@pytest.mark.parametrize(("seconds", "said"), [(1, "in 1 second."), (30, "in 30 seconds.")])
def test_a_limit_says_when_it_has_room_again(seconds: int, said: str) -> None:
    assert RateLimited.ending_in(seconds).message.endswith(said)
