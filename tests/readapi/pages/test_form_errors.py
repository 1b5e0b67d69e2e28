"""A form that was refused comes back as it was typed, each fault at its field."""

import pytest

from readapi.errors import Conflict, InvalidRequest
from readapi.http.request.headers import Accept
from readapi.pages import form_errors
from readapi.pages.form_errors import FRESH
from readapi.pages.portal.forms import AlbumForm
from schemas.errors import FieldError

BROWSER = Accept("text/html,*/*")
TYPED = AlbumForm(title="Low Tide")


def test_a_fresh_form_holds_what_is_saved():
    """And an empty text where nothing is."""
    assert FRESH.value("details", "title", "Saved") == "Saved"
    assert FRESH.value("details", "title") == ""
    assert FRESH.error("details", "title") is None


def test_a_refused_form_holds_what_was_typed():
    """Also where it was emptied; the other forms of the page hold what is saved."""
    tried = form_errors.form_errors("details", TYPED, Conflict("Taken."), BROWSER, at="title")

    assert tried.value("details", "title", "Saved") == "Low Tide"
    assert tried.value("details", "description", "Saved") == ""
    assert tried.value("album", "title", "Saved") == "Saved"
    assert (tried.error("details", "title"), tried.error("album", "title")) == ("Taken.", None)


@pytest.mark.parametrize(
    ("field", "at"),
    [
        ("title", "title"),
        ("tags.0", "tags"),
        ("access.listening", "listening"),
        ("settings.access.visibility", "visibility"),
        ("publishing.attach_rights", "attach_rights"),
        ("access", "access"),
    ],
)
def test_a_fault_stands_at_the_field_that_the_page_has(field, at):
    """Whatever the API's shape calls it."""
    tried = form_errors.form_errors("details", TYPED, InvalidRequest.of_field(field, "does not fit"), BROWSER)

    assert tried.error("details", at) == "does not fit"


def test_the_note_tells_every_fault():
    """Also one whose field the page does not have."""
    errors = [FieldError(field="title", message="is empty."), FieldError(field="rights", message="are none")]

    tried = form_errors.form_errors("details", TYPED, InvalidRequest(errors=errors), BROWSER)

    assert tried.note.sentence == "Nothing was changed. title: is empty. rights: are none."
    assert tried.note.is_bad


def test_a_program_gets_the_refusal_itself():
    """It looks at no page."""
    with pytest.raises(Conflict):
        form_errors.form_errors("details", TYPED, Conflict(), Accept("application/json"))
