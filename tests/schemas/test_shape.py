"""What a request's members may be written as."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.api.shape import Asked
from schemas.publishing import DEFAULT, Template


class Wanted(Asked):
    """A number, and a truth that need not be given."""

    count: int = 0
    flag: bool | None = None


@pytest.mark.parametrize("sent", [{"count": "3", "flag": "true"}, {"count": 3, "flag": True}])
def test_a_form_says_in_texts_what_json_says_itself(sent: dict[str, Any]) -> None:
    """Both are read alike."""
    assert Wanted.model_validate(sent) == Wanted(count=3, flag=True)
    assert Wanted.model_validate({"flag": None}).flag is None


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({"count": False}, "int_type"),
        ({"count": True}, "int_type"),
        ({"flag": 0}, "bool_type"),
        ({"flag": 1.0}, "bool_type"),
    ],
)
def test_numbers_are_no_truths_nor_truths_numbers(sent: dict[str, Any], kind: str) -> None:
    """As in JSON itself."""
    with pytest.raises(ValidationError) as refused:
        Wanted.model_validate(sent)

    assert [error["type"] for error in refused.value.errors()] == [kind]


@pytest.mark.parametrize("attached", [0, 1, "true", None])
def test_a_template_attaches_rights_or_does_not(attached: object) -> None:
    """Nothing else stands for true or false."""
    with pytest.raises(ValidationError):
        Template.model_validate(DEFAULT.model_dump() | {"attach_rights": attached})
