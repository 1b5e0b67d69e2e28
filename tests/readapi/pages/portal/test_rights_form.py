"""What the form of rights metadata says is what is saved, and the other way round."""

import pytest

from readapi.errors import InvalidRequest
from readapi.pages.portal.rights_form import RightsForm, rights_values
from schemas.rights import Ownership

WHOLE = Ownership.model_validate(
    {
        "masterOwner": {"name": "Ada Records", "did": "did:web:ada.example"},
        "parties": [
            {
                "name": "Ada",
                "mechanicalShare": 5000,
                "performanceShare": 3333,
                "role": "Composer",
                "society": "SUISA",
                "ipi": "00052210040",
                "did": "did:web:ada.example",
            },
            {"name": "Ben", "mechanicalShare": 0, "performanceShare": 10, "society": "GEMA"},
        ],
    }
)


@pytest.mark.parametrize(
    "rights",
    [
        WHOLE,
        WHOLE.model_copy(update={"master_owner": None}),
        WHOLE.model_copy(update={"parties": None}),
        None,
    ],
)
def test_what_is_saved_comes_back_from_the_form(rights: Ownership | None) -> None:
    """However much of it there is."""
    assert RightsForm(**rights_values(rights)).wanted() == rights


def test_parties_are_lines_with_shares_in_percent() -> None:
    assert rights_values(WHOLE)["parties"].splitlines() == [
        "Ada; 50; 33.33; Composer; SUISA; 00052210040; did:web:ada.example",
        "Ben; 0; 0.1; ; GEMA",
    ]


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"parties": "Ada"}, "parties"),
        ({"parties": "Ada; 50"}, "parties"),
        ({"parties": "Ada; half; half"}, "parties"),
        ({"parties": "Ada; 33.333; 0"}, "parties"),
        ({"parties": "Ada; -1; 0"}, "parties"),
        ({"parties": "Ada; 1e9; NaN"}, "parties"),
        ({"parties": "Ada; 60; 0\nBen; 60; 0"}, "parties"),
        ({"parties": "; 50; 50"}, "parties.0.name"),
        ({"owner_did": "did:web:ada.example"}, "masterOwner.name"),
        ({"owner": "Ada", "owner_did": "@ada"}, "masterOwner.did"),
        ({"owner": "x" * 3000}, "masterOwner.name"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(typed: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        RightsForm(**typed).wanted()

    assert [error.field.startswith(field) for error in refused.value.errors] == [True]
