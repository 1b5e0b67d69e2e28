"""What servers answer is kept for the log, but for what nobody should read there."""

import orjson

from indexer.outbound import Reply
from readapi.oauth import answers

TOKEN = "ref-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"


def test_a_server_that_repeats_a_secret_does_not_bring_it_into_the_log() -> None:
    """What it says otherwise is there, on one line, and not too long."""
    said = {"error": "invalid_grant", "error_description": f"Bad token {TOKEN}\n" + "again " * 1000}

    error = answers.refusal(Reply(400, {}, orjson.dumps(said)))

    assert str(error).startswith(f"{error.sentence} [400 'invalid_grant Bad token …")
    assert TOKEN not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 500
