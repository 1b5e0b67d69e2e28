"""A template is whole: what it says of rights is what the record has."""

import pytest

from readapi.publishing.access.change_track import with_template
from schemas.publishing import OPEN, Template
from schemas.rights import Rights

ON_RECORD = {"isrc": "USRC17607839", "mood": "blue"}
SAVED = Rights(iswc="T-034.524.680-1")


@pytest.mark.parametrize(
    ("attach", "before", "saved", "after"),
    [
        (True, ON_RECORD, SAVED, ON_RECORD),
        (True, ON_RECORD, None, ON_RECORD),
        (True, None, SAVED, {"iswc": "T-034.524.680-1"}),
        (False, ON_RECORD, SAVED, None),
        (False, None, SAVED, None),
    ],
)
def test_rights_are_attached_kept_or_taken_off(attach, before, saved, after):
    """Kept as they are, with what we do not know; everything else of the record stays in any case."""
    value = {"title": "Song", "rights": before} if before else {"title": "Song"}

    told = with_template(value, Template(access=OPEN, attach_rights=attach), "track", saved)

    assert told.get("rights") == after
    assert (told["title"], told["access"]) == ("Song", OPEN.model_dump())
