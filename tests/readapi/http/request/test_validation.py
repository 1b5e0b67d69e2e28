"""What does not fit is told by the path of its field, in words that need no knowledge of our tools."""

from collections.abc import Mapping

import pytest
from pydantic import BaseModel, ValidationError

from readapi.http.request import validation
from schemas.api.artists import ProfileChange
from schemas.api.playlists import Order
from schemas.api.publishing import ChosenPreferences, NewAudio, NewTrack
from schemas.api.tracks import TrackChange
from tests.documents import TRACK_URI

ACCESS = {"listening": "public", "downloads": "open", "visibility": "public"}
TEMPLATE = {"access": ACCESS, "attach_rights": False}
PREFERENCES = {"publishing_defaults": TEMPLATE, "scrobbling": False}
WEB_ADDRESS = "must be a web address that begins with https:// or http://"


def told(shape: type[BaseModel], sent: Mapping[str, object]) -> list[tuple[str, str]]:
    """Each fault as field and sentence."""
    with pytest.raises(ValidationError) as refused:
        shape.model_validate(sent)
    return [(fault.field, fault.message) for fault in validation.field_errors(refused.value)]


@pytest.mark.parametrize(
    ("shape", "sent", "field", "message"),
    [
        (ProfileChange, {"support_url": "x"}, "support_url", WEB_ADDRESS),
        (ProfileChange, {"support_url": 5}, "support_url", "must be text"),
        (ProfileChange, {"show_liked_on_profile": "so"}, "show_liked_on_profile", "must be true or false"),
        (NewAudio, {"file": "text"}, "file", "must be a file, sent as multipart/form-data"),
        (NewAudio, {}, "file", "must be given"),
        (TrackChange, {"image": "text"}, "image", "must be a file, sent as multipart/form-data"),
        (TrackChange, {"tags": "{}"}, "tags", "must be a list"),
        (TrackChange, {"tags": "sea"}, "tags", "must be JSON"),
        (TrackChange, {"tags": ["x"] * 11}, "tags", "must not hold more than 10 items"),
        (TrackChange, {"artist": "Ada"}, "artist", "is not known here"),
        (Order, {"items": [{"uri": TRACK_URI}]}, "items.0.cid", "must be given"),
        (Order, {"items": [7]}, "items.0", "must be an object"),
        (ChosenPreferences, PREFERENCES | {"rights": {"a": 1}}, "rights.a", "is not known here"),
        (ChosenPreferences, PREFERENCES | {"rights": {"parties": 1}}, "rights.parties", "must be an array"),
        (
            ChosenPreferences,
            PREFERENCES | {"publishing_defaults": TEMPLATE | {"access": ACCESS | {"downloads": "no"}}},
            "publishing_defaults.access.downloads",
            "must be 'open', 'ask', 'supporters' or 'off'",
        ),
    ],
)
def test_a_fault_is_a_path_and_a_plain_sentence(
    shape: type[BaseModel], sent: Mapping[str, object], field: str, message: str
) -> None:
    """One for each field, whatever stands in its place."""
    assert told(shape, sent) == [(field, message)]


def test_a_regular_expression_is_not_shown() -> None:
    """It is for machines; they find it in the description."""
    found = dict(told(NewTrack, {"album_id": "seven"}))

    assert found["album_id"] == "has an invalid format"
