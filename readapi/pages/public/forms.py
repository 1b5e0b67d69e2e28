"""The forms of a track's page, and their translation into API requests. Pure."""

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from readapi.pages import text
from readapi.pds.repo import Value
from schemas.api.comments import NewComment
from schemas.api.playlists import NewPlaylist


class CommentForm(PageForm):
    """A comment at a moment, written as a player shows it (`1:07`) or in seconds."""

    text: str = ""
    moment: str = ""

    def said(self) -> Value:
        """What a comment's record says. Raises InvalidRequest."""
        seconds = text.parse_clock(self.moment or "0")
        if seconds is None:
            raise InvalidRequest.of_field("moment", "must be a time such as 1:07")
        wanted = self.fitted(NewComment, {"text": self.text, "timestamp_ms": seconds * 1000})
        return {"text": wanted.text, "timestampMs": wanted.timestamp_ms}


class PlaylistForm(PageForm):
    """A playlist's name, and whether the profile shows it."""

    name: str = ""
    show_on_profile: str | None = None

    def wanted(self) -> NewPlaylist:
        """Raises InvalidRequest."""
        shown = self.show_on_profile is not None
        return self.fitted(NewPlaylist, {"name": self.name, "show_on_profile": shown})


class PlaceForm(PageForm):
    """A track of a playlist by its at-uri; `before`: the one that it is moved to right before."""

    track: str = ""
    before: str = ""


class PlaylistChoice(PageForm):
    """The playlist to add a track to."""

    playlist_id: str = ""
