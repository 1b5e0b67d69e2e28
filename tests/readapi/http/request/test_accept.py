"""An Accept header says what somebody would rather have."""

import pytest

from readapi.http.request.headers import Accept

CAR, JSON = "application/vnd.ipld.car", "application/json"


@pytest.mark.parametrize(
    ("header", "prefers"),
    [
        ("application/vnd.ipld.car", True),
        ("APPLICATION/VND.IPLD.CAR; version=1", True),
        ("application/vnd.ipld.car, application/json;q=0.5", True),
        ("application/json, application/vnd.ipld.car;q=0.9", False),
        ("application/vnd.ipld.car, application/json", False),
        ("application/vnd.ipld.car;q=0", False),
        ("application/vnd.ipld.car;q=much", False),
        ("*/*", False),
        ("", False),
        (";,;=,", False),
    ],
)
def test_the_greater_weight_wins(header: str, prefers: bool) -> None:
    """One type before another; wildcards and what cannot be read count for nothing."""
    assert Accept(header).prefers(CAR, JSON) is prefers
