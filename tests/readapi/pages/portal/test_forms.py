"""The Portal's forms, read as the API's own shapes."""

from pathlib import Path

import orjson
import pytest

from readapi.errors import InvalidRequest
from readapi.pages.portal.forms import (
    AudioForm,
    CoverForm,
    ProfileForm,
    TrackForm,
    UploadForm,
    read_shown_texts,
)
from schemas.api.publishing import NewTrack
from schemas.api.shape import Received
from schemas.api.tracks import TrackChange
from schemas.publishing import DEFAULT
from tests.readapi.pages.examples import track

SOUND = Received(Path("sound"), 9, "ab" * 32)
EMPTY = Received(Path("empty"), 0, "cd" * 32)
OPEN = {"listening": "public", "downloads": "open", "visibility": "public"}


def faults(form) -> list[str]:
    """The fields that do not fit."""
    with pytest.raises(InvalidRequest) as refused:
        form.wanted()
    return [error.field for error in refused.value.errors]


def test_an_empty_field_of_an_upload_says_nothing():
    """So the file, the album or the Portal template is asked instead."""
    wanted = UploadForm(
        file=SOUND, title=" ", album_id="", description="", tags=" , ", image=b"", listening=""
    ).wanted()

    assert wanted == NewTrack(file=SOUND)


def test_an_upload_goes_on_the_album_that_is_chosen():
    """An album, none, or what the file says: the last where nothing was chosen."""
    album_id = "8ba3f5a2-3b1c-5d6e-8f70-0123456789ab"

    chosen, none, of_file = (
        UploadForm(file=SOUND, album_id=choice).wanted() for choice in (album_id, "none", "")
    )

    assert (chosen.album, chosen.album_id) == (None, album_id)
    assert (none.album, none.album_id) == ("", None)
    assert (of_file.album, of_file.album_id) == (None, None)


@pytest.mark.parametrize("answered", [{"listening": "owner"}, {"downloads": "off"}, {"attach_rights": "on"}])
def test_an_answer_to_one_question_of_a_template_is_never_dropped(answered):
    """The upload has a template of its own then, which has to answer the other questions too."""
    left = {"listening": "", "downloads": "", "visibility": ""}

    assert UploadForm(file=SOUND, **left).wanted().publishing is None
    assert UploadForm(file=SOUND, **OPEN).wanted().publishing == DEFAULT
    unanswered = [f"access.{name}" for name in left if name not in answered]
    assert faults(UploadForm(file=SOUND, **left | answered)) == unanswered


def test_an_emptied_field_of_a_track_clears():
    """What a page shows is what is wanted; a picture is wanted only when one was chosen."""
    wanted = TrackForm(title="Song", tags="a, b ,", image=b"").wanted()

    assert (wanted.title, wanted.tags, wanted.features) == ("Song", ["a", "b"], [])
    assert (wanted.album, wanted.description) == ("", "")
    assert (wanted.image, wanted.remove_image) == (None, False)
    assert TrackForm(title="Song", remove_image="on", image=b"png").wanted().remove_image


SHOWN = {
    "title": "Song",
    "album": "",
    "description": "One\nTwo",
    "tags": "drum, bass, dub",
    "features": "ada.test",
    "isrc": "",
    "iswc": "",
}


def track_form(**edited: str) -> TrackForm:
    """The form as a browser sends it, with CRLF for line breaks."""
    typed = SHOWN | {"description": "One\r\nTwo"} | edited
    return TrackForm(**typed, shown=orjson.dumps(SHOWN).decode())


def test_what_was_not_edited_is_not_changed():
    """The tags may be two, of which one has a comma, and the album may be a name without a list."""
    assert track_form().wanted() == TrackChange()
    assert track_form(title="Tune").wanted() == TrackChange(title="Tune")


@pytest.mark.parametrize(
    ("field", "typed", "wanted"),
    [
        ("title", "Tune", "Tune"),
        ("album", "Shelf", "Shelf"),
        ("description", "One\r\n\r\nTwo", "One\r\n\r\nTwo"),
        ("description", "", ""),
        ("tags", "drum, bass", ["drum", "bass"]),
        ("tags", "", []),
        ("features", "", []),
        ("isrc", "USRC17607839", "USRC17607839"),
        ("iswc", "T-034.524.680-1", "T-034.524.680-1"),
    ],
)
def test_each_field_that_was_edited_is_changed(field, typed, wanted):
    assert track_form(**{field: typed}).wanted() == TrackChange(**{field: wanted})


@pytest.mark.parametrize("shown", ["", "{", "[]", "null", '{"title": 7}'])
def test_without_the_shown_texts_every_field_is_a_change(shown):
    """As a program sends the form; what is no such texts is none."""
    wanted = TrackForm(**SHOWN, shown=shown).wanted()

    assert wanted.title == "Song"
    assert (wanted.album, wanted.tags) == ("", ["drum", "bass", "dub"])


def test_the_shown_texts_of_a_track_are_those_of_its_fields():
    told = track(description="Told", tags=["a, b", "c"], rights={"isrc": "USRC17607839"})

    assert read_shown_texts(told) == {
        **dict.fromkeys(("album", "features", "iswc"), ""),
        "title": told.title,
        "description": "Told",
        "tags": "a, b, c",
        "isrc": "USRC17607839",
    }


def test_a_file_that_was_not_chosen_is_asked_for():
    """Browsers send an empty one."""
    assert faults(UploadForm(file=EMPTY)) == ["file"]
    with pytest.raises(InvalidRequest) as refused:
        AudioForm(file=EMPTY).wanted()
    assert refused.value.errors[0].message == "must be a file that is not empty"
    assert faults(AudioForm()) == ["file"]
    assert faults(CoverForm(image=b"")) == ["image"]


def test_the_values_of_a_form_are_its_texts():
    """Files cannot be put back into a page, and a box that is not ticked is not there."""
    assert UploadForm(file=SOUND, title="Song", image=b"png").values() == {"title": "Song"}


def test_an_address_of_another_scheme_is_no_support_link():
    """It is shown on public pages."""
    assert faults(ProfileForm(support_url="javascript:alert(1)"))[0].startswith("support_url")
