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

    def likes(self, artist: str, *, limit: int = 50, adult: bool = False) -> builtins.list[Track]:
        """The tracks that an account likes, if it shows them. `adult`: also those for adults."""
        return [track for track in self.iterate_likes(artist, limit=limit, adult=adult)]

    def iterate_likes(self, artist: str, *, limit: int | None = None, adult: bool = False) -> Iterator[Track]:
        """The same, page after page."""
        query = {"adult": adult or None}
        return self._http.pages(Track, "tracks", "users", artist, "likes", limit=limit, query=query)
