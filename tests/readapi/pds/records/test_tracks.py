"""What is told of a track changes; the rest of the record does not."""

from readapi.pds.records import tracks
from schemas.ids import Did

RECORD = {"title": "One", "album": "A", "image": {}, "imageUrl": "https://x", "mood": "blue", "tags": []}


def test_empty_fields_go_and_others_stay() -> None:
    """Also such as were empty before, and were not named."""
    changed = tracks.set_fields(RECORD, {"title": "Two", "album": ""})

    assert changed == {"title": "Two", "image": {}, "imageUrl": "https://x", "mood": "blue", "tags": []}


def test_a_picture_goes_wherever_it_was() -> None:
    """Unless there is a new one."""
    without = tracks.set_fields(RECORD, {}, without_image=True)
    replaced = tracks.set_fields(RECORD, {"image": {"new": 1}}, without_image=True)

    assert not {"image", "imageUrl"} & without.keys()
    assert replaced == {**without, "image": {"new": 1}}


def test_features_keep_what_the_record_says_of_them() -> None:
    """Each artist once, in the order that is wanted."""
    found = {"features": [{"did": "did:plc:ana", "role": "voice"}]}

    wanted = [Did("did:plc:ben"), Did("did:plc:ana"), Did("did:plc:ben")]
    featured = [{"did": "did:plc:ben"}, {"did": "did:plc:ana", "role": "voice"}]
    assert tracks.make_features(found, wanted) == featured
