"""Timed comments."""

import builtins
from collections.abc import Iterator

from fmsvc._sync.http import Http
from fmsvc._sync.tracks import Tracks
from fmsvc.answers import parse_model
from fmsvc.models import Comment, TrackRef


class Comments:
    """Comments on tracks; a moment is in milliseconds."""

    def __init__(self, http: Http, tracks: Tracks) -> None:
        self._http, self._tracks = http, tracks

    def list(self, track: TrackRef, *, limit: int = 50) -> builtins.list[Comment]:
        """The comments of a track by their moments."""
        return [comment for comment in self.iterate(track, limit=limit)]

    def iterate(self, track: TrackRef, *, limit: int | None = None) -> Iterator[Comment]:
        """The same, page after page."""
        track_id = self._tracks.id_of(track)
        path = ("tracks", track_id, "comments")
        for comment in self._http.pages(Comment, "comments", *path, limit=limit):
            yield comment

    def add(self, track: TrackRef, text: str, *, timestamp_ms: int = 0) -> Comment:
        """Comment at a moment. Needs a token."""
        path = ("tracks", self._tracks.id_of(track), "comments")
        sent = {"text": text, "timestamp_ms": timestamp_ms}
        return parse_model(Comment, self._http.ask("POST", *path, sent=sent, signed_in=True))

    def update(self, comment_id: int, *, text: str | None = None, timestamp_ms: int | None = None) -> Comment:
        """Change a comment of the account; None stays. Needs a token."""
        changes = {"text": text, "timestamp_ms": timestamp_ms}
        sent = {name: value for name, value in changes.items() if value is not None}
        path = ("tracks", "comments", comment_id)
        return parse_model(Comment, self._http.ask("PATCH", *path, sent=sent, signed_in=True))

    def delete(self, comment_id: int) -> None:
        """Delete a comment of the account. Needs a token."""
        self._http.ask("DELETE", "tracks", "comments", comment_id, signed_in=True)
