"""Playlists."""

import builtins
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fmsvc._sync.http import Http
from fmsvc._sync.tracks import Tracks
from fmsvc._sync.transfers import fetch_file
from fmsvc.answers import parse_model
from fmsvc.errors import ConfigurationError
from fmsvc.files import place_file
from fmsvc.models import Playlist, PlaylistRecommendations, PlaylistWithTracks, Track, TrackRef


class Playlists:
    """Playlists; an id is a UUID."""

    def __init__(self, http: Http, tracks: Tracks) -> None:
        self._http, self._tracks = http, tracks

    def list(self) -> builtins.list[Playlist]:
        """The account's own playlists, newest first. Needs a token."""
        return [playlist for playlist in self.iterate()]

    def iterate(self) -> Iterator[Playlist]:
        """The same, page after page."""
        return self._http.linked_pages(Playlist, "lists", "playlists", signed_in=True)

    def get(self, playlist: str, *, adult: bool = False) -> PlaylistWithTracks:
        """A playlist and its tracks, by id. `adult`: also the tracks for adults."""
        query = {"adult": adult or None}
        return self._http.get(PlaylistWithTracks, "lists", "playlists", playlist, query=query)

    def get_by_uri(self, uri: str, *, adult: bool = False) -> PlaylistWithTracks:
        """The same, by the at-uri of its record."""
        query = {"uri": uri, "adult": adult or None}
        return self._http.get(PlaylistWithTracks, "lists", "playlists", "by-uri", query=query)

    def by_artist(self, artist: str) -> builtins.list[Playlist]:
        """The playlists that a DID shows on its profile."""
        return [playlist for playlist in self.iterate_by_artist(artist)]

    def iterate_by_artist(self, artist: str) -> Iterator[Playlist]:
        """The same, page after page."""
        return self._http.linked_pages(Playlist, "lists", "playlists", "by-artist", artist)

    def archive(self, playlist: str, output: Path | str | None = None, *, timeout: float = 300.0) -> Path:
        """Download the ZIP of the tracks that the account may download; returns its path.

        `output` is a file, which is replaced, or a folder, in which `playlist-ID.zip` is.
        """
        path = place_file(output, f"playlist-{playlist}.zip")
        return fetch_file(self._http, ("lists", "playlists", playlist, "archive"), path, timeout=timeout)

    def create(self, name: str) -> Playlist:
        """Make a playlist. Needs a token."""
        found = self._http.ask("POST", "lists", "playlists", sent={"name": name}, signed_in=True)
        return parse_model(Playlist, found)

    def add_track(self, playlist: str, track: TrackRef) -> Playlist:
        """Put a track at the end. Needs a token."""
        added = self._with_record(track)
        sent = {"track_uri": added.atproto_uri, "track_cid": added.atproto_cid}
        path = ("lists", "playlists", playlist, "tracks")
        return parse_model(Playlist, self._http.ask("POST", *path, sent=sent, signed_in=True))

    def remove_track(self, playlist: str, track: TrackRef) -> Playlist:
        """Take a track out. Needs a token."""
        uri = (self._with_record(track)).atproto_uri
        path = ("lists", "playlists", playlist, "tracks", uri)
        return parse_model(Playlist, self._http.ask("DELETE", *path, signed_in=True))

    def update(
        self, playlist: str, *, name: str | None = None, show_on_profile: bool | None = None
    ) -> Playlist:
        """Change name or listing; None stays. Needs a token."""
        changes = {"name": name, "show_on_profile": show_on_profile}
        sent = {key: value for key, value in changes.items() if value is not None}
        path = ("lists", "playlists", playlist)
        return parse_model(Playlist, self._http.ask("PATCH", *path, sent=sent, signed_in=True))

    def reorder(self, playlist: str, items: builtins.list[dict[str, Any]]) -> Playlist:
        """Give a playlist's tracks, each `{"uri": …, "cid": …}`, in their new order. Needs a token."""
        path = ("lists", "playlists", playlist, "reorder")
        found = self._http.ask("PUT", *path, sent={"items": items}, signed_in=True)
        return parse_model(Playlist, found)

    def delete(self, playlist: str) -> None:
        """Delete a playlist. Needs a token."""
        self._http.ask("DELETE", "lists", "playlists", playlist, signed_in=True)

    def recommendations(self, playlist: str, *, limit: int = 3) -> PlaylistRecommendations:
        """Tracks that would go with a playlist of the account. Needs a token."""
        path = ("lists", "playlists", playlist, "recommendations")
        return self._http.get(PlaylistRecommendations, *path, query={"limit": limit}, signed_in=True)

    def _with_record(self, track: TrackRef) -> Track:
        found = self._tracks.get(track)
        if not found.atproto_uri or not found.atproto_cid:
            raise ConfigurationError(f"The track {track} has no record.")
        return found
