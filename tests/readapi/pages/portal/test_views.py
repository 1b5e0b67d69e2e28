"""What the Portal's pages are given."""

from readapi.pages.form_errors import FRESH
from readapi.pages.portal import views
from readapi.pages.portal.permissions import Permissions
from readapi.pages.portal.views import Publisher
from readapi.pages.urls import Addresses
from tests.readapi.pages.examples import track


def test_a_track_stays_on_its_album_though_that_is_not_among_those_listed():
    """An artist may have more albums than the form lists; saving another field must not take it off."""
    album = {"id": "b6dabdcf-4172-589a-974f-dde783da4d86", "title": "Far Down", "slug": "far-down"}
    on_it = track(album={**album, "image_url": None})
    who = Publisher(None, None, Permissions((), scrobbling=False), {})  # type: ignore[arg-type]

    view = views.of_track(who, on_it, [], [], None, FRESH, Addresses("https://example.com"))

    assert view["album_options"] == [("", "None", ""), ("Far Down", "Far Down", "")]
