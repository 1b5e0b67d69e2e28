"""Artists and their profiles."""

import builtins
from collections.abc import Iterator

from fmsvc._sync.http import Http
from fmsvc.answers import parse_model
from fmsvc.models import ArtistProfile, ArtistProfilePatch, Track


class Artists:
    """Profiles."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def me(self) -> ArtistProfile:
        """The account's own profile. Needs a token."""
        return self._http.get(ArtistProfile, "artists", "me", signed_in=True)

    def get(self, artist: str) -> ArtistProfile:
        """The profile of a handle or DID."""
        return self._http.get(ArtistProfile, "artists", artist)

    def update(self, patch: ArtistProfilePatch) -> ArtistProfile:
        """Change the account's own profile. Needs a token."""
        sent = patch.model_dump(exclude_none=True)
        return parse_model(ArtistProfile, self._http.ask("PUT", "artists", "me", sent=sent, signed_in=True))

    def likes(self, artist: str, *, limit: int = 50) -> builtins.list[Track]:
        """The tracks that an account likes, if it shows them."""
        return [track for track in self.iterate_likes(artist, limit=limit)]

    def iterate_likes(self, artist: str, *, limit: int | None = None) -> Iterator[Track]:
        """The same, page after page."""
        return self._http.pages(Track, "tracks", "users", artist, "likes", limit=limit)
