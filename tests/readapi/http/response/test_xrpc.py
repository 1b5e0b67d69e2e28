"""Every refusal of the JSON API has a form in XRPC."""

import orjson
import pytest

from readapi.errors import RateLimited, refusal
from readapi.http.response.xrpc import convert_refusal
from schemas.errors import Code, FieldError


@pytest.mark.parametrize("code", Code)
def test_every_code_has_a_name(code):
    """In the spelling of XRPC, and a message."""
    answer = convert_refusal(refusal(403, code, "So it is."), known=True)
    told = orjson.loads(answer.body)

    assert answer.status == 403
    assert told.keys() == {"error", "message"}
    assert told["error"].isalpha()
    assert told["error"][0].isupper()
    assert told["message"] == "So it is."


def test_fields_at_fault_are_named_in_the_message():
    """As an invalid request, whose status XRPC knows."""
    wrong = [
        FieldError(field="limit", message="must be 1 or more"),
        FieldError(field="q", message="must be given"),
    ]

    answer = convert_refusal(refusal(422, Code.INVALID_REQUEST, "See errors.", wrong), known=True)

    assert answer.status == 400
    assert orjson.loads(answer.body) == {
        "error": "InvalidRequest",
        "message": "limit must be 1 or more; q must be given.",
    }


def test_a_limit_that_is_reached_is_told_as_one():
    """With the header that says how long to wait."""
    answer = convert_refusal(RateLimited("Wait.", headers={"Retry-After": "3"}).answer(), known=False)

    assert (answer.status, answer.headers["Retry-After"]) == (429, "3")
    assert orjson.loads(answer.body)["error"] == "RateLimitExceeded"
