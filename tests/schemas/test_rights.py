"""Rights metadata: shares never add up to more than the whole."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.rights import Rights


def party(mechanical: Any, performance: Any) -> dict[str, Any]:
    """A party with two shares."""
    return {"name": "Ada", "mechanicalShare": mechanical, "performanceShare": performance}


@pytest.mark.parametrize("shares", [[], [(10_000, 10_000)], [(3333, 0), (3333, 10_000), (3334, 0)], [(1, 0)]])
def test_shares_up_to_the_whole_are_read(shares: list[tuple[int, int]]) -> None:
    """Less is fine: not everybody is known."""
    rights = Rights.model_validate({"parties": [party(*pair) for pair in shares]})

    assert rights.parties is not None
    assert [(one.mechanical_share, one.performance_share) for one in rights.parties] == shares


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ([(10_000, 0), (1, 0)], "mechanicalShare must not add up to more than 10000"),
        ([(0, 5001), (0, 5000)], "performanceShare must not add up to more than 10000"),
        ([(10_001, 0)], "less than or equal to 10000"),
        ([(-1, 0)], "greater than or equal to 0"),
        ([(5000.0, 0)], "valid integer"),
        ([("5000", 0)], "valid integer"),
        ([(True, 0)], "valid integer"),
        ([(0, 0)] * 101, "must not hold more than 100 items"),
    ],
)
def test_shares_beyond_the_whole_are_refused(shares: list[tuple[Any, Any]], reason: str) -> None:
    """Each kind for itself, in whole basis points."""
    with pytest.raises(ValidationError, match=reason):
        Rights.model_validate({"parties": [party(*pair) for pair in shares]})


def test_every_field_is_optional() -> None:
    """Rights may say as little as they like."""
    assert Rights.model_validate({}) == Rights()
