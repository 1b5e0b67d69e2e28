"""The heads of answers: constant headers, the answer's own, and Vary."""

import pytest

from readapi.answers import Answer
from readapi.http.response.headers import ANONYMOUS, Cors, Headers
from schemas.settings import Settings


@pytest.fixture
def heads() -> Headers:
    return Headers(Settings(), Cors(None))


def lines_of(heads: Headers, **own: str) -> list[str]:
    """The lines of the head of an answer with these headers."""
    answer = Answer(b"{}", headers={name.replace("_", "-"): value for name, value in own.items()})
    return heads.head(answer, 200, ANONYMOUS).decode().splitlines()


def test_an_answers_own_headers_join_the_constant_ones(heads: Headers) -> None:
    """Before Vary, the same each time."""
    usual = lines_of(heads)

    for moment in ("1", "2", "1"):
        assert lines_of(heads, X_As_Of=moment) == [*usual[:-1], f"X-As-Of: {moment}", usual[-1]]
    assert lines_of(heads) == usual


def test_an_answers_own_headers_override_the_constant_ones(heads: Headers) -> None:
    """Each is there once; what the answer varies by is added to what all vary by."""
    usual = lines_of(heads)

    changed = lines_of(heads, Server="other", Vary="Range")

    assert [line.partition(":")[0] for line in changed] == [line.partition(":")[0] for line in usual]
    assert "Server: other" in changed
    assert changed[-1] == f"{usual[-1]}, Range"


def test_a_header_with_a_line_break_is_refused(heads: Headers) -> None:
    """It would begin a header of its own."""
    with pytest.raises(ValueError, match="line break"):
        lines_of(heads, X_As_Of="1\r\nSet-Cookie: session=mine")
