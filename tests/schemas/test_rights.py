"""Rights metadata: shares never add up to more than the whole."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.rights import Rights, SentRights


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


@pytest.mark.parametrize(
    "told",
    [
        {"ISRC": "USRC17607839"},
        {"masterOwner": {"name": "Ada", "DID": "did:plc:asdf123"}},
        {"parties": [party(1, 1) | {"share": 1}]},
    ],
)
def test_a_misspelt_member_is_refused_only_when_it_is_sent_to_us(told: dict[str, Any]) -> None:
    """Records of the network may have members of later versions."""
    Rights.model_validate(told)

    with pytest.raises(ValidationError, match="Extra inputs"):
        SentRights.model_validate(told)


@pytest.mark.parametrize("told", [{}, {"isrc": "", "iswc": ""}, {"parties": []}])
def test_rights_that_say_nothing_are_empty(told: dict[str, Any]) -> None:
    """Whatever members they have; one word is enough."""
    assert SentRights.model_validate(told).is_empty
    assert not SentRights.model_validate(told | {"isrc": "USRC17607839"}).is_empty
