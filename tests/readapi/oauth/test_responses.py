"""What servers answer is kept for the log, but for what nobody should read there."""

import contextlib

import orjson
from hypothesis import given
from hypothesis import strategies as st

from indexer.network.http.client import Reply
from readapi.oauth import responses
from readapi.oauth.errors import Unavailable
from readapi.oauth.responses import Granted

TOKEN = "ref-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"

JSON = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()


def test_a_server_that_repeats_a_secret_does_not_bring_it_into_the_log() -> None:
    """What it says otherwise is there, on one line, and not too long."""
    said = {"error": "invalid_grant", "error_description": f"Bad token {TOKEN}\n" + "again " * 1000}

    error = responses.read_refusal(Reply(400, {}, orjson.dumps(said)))

    assert str(error).startswith(f"{error.sentence} [400 'invalid_grant Bad token …")
    assert TOKEN not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 500


@given(st.integers(100, 599), st.binary() | st.from_type(dict[str, str]).map(orjson.dumps))
def test_whatever_a_server_answers_has_a_meaning(status: int, body: bytes) -> None:
    """One line for the log, and never more than a refusal."""
    error = responses.read_refusal(Reply(status, {}, body))

    assert str(error).isprintable()


@given(st.dictionaries(st.sampled_from(sorted(Granted.model_fields)), JSON).map(orjson.dumps))
def test_whatever_a_server_grants_is_tokens_or_nonsense(body: bytes) -> None:
    """Tokens that could go into a header, or an error."""
    with contextlib.suppress(Unavailable):
        granted = responses.read_answer(Granted, Reply(200, {}, body))

        assert granted.access_token.isascii()
        assert granted.access_token.isprintable()
