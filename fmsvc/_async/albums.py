"""Albums."""

import builtins
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fmsvc._async.http import Http
from fmsvc._async.transfers import fetch_file
from fmsvc.answers import parse_model
from fmsvc.files import open_file, place_file
from fmsvc.models import AlbumMetadata, AlbumSummary, AlbumWithTracks, PublishingDefaults


class Albums:
    """Albums; an id is a UUID."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def list(
        self, *, artist: str | None = None, limit: int = 50, adult: bool = False
    ) -> builtins.list[AlbumSummary]:
        """All public albums, or those of an artist by handle or DID. `adult`: also those for adults."""
        return [album async for album in self.iterate(artist=artist, limit=limit, adult=adult)]

    def iterate(
        self, *, artist: str | None = None, limit: int | None = None, adult: bool = False
    ) -> AsyncIterator[AlbumSummary]:
        """The same, page after page."""
        query = {"adult": adult or None}
        return self._http.pages(AlbumSummary, "albums", "albums", artist or "", limit=limit, query=query)

    async def get(self, album: str, *, adult: bool = False) -> AlbumWithTracks:
        """An album and its tracks, by id. `adult`: also the tracks for adults."""
        query = {"adult": adult or None}
        return await self._http.get(AlbumWithTracks, "albums", "by-id", album, query=query)

    async def get_by_slug(self, artist: str, slug: str, *, adult: bool = False) -> AlbumWithTracks:
        """The same, by the artist's handle or DID and the album's slug."""
        return await self._http.get(AlbumWithTracks, "albums", artist, slug, query={"adult": adult or None})

    async def create(
        self, title: str, *, description: str | None = None, publishing: PublishingDefaults | None = None
    ) -> AlbumMetadata:
        """Make an album. Needs a token."""
        sent: dict[str, Any] = {"title": title, "description": description}
        if publishing is not None:
            sent["publishing_defaults"] = publishing.model_dump()
        return parse_model(
            AlbumMetadata, await self._http.ask("POST", "albums", "", sent=sent, signed_in=True)
        )

    async def update(
        self, album: str, *, title: str | None = None, description: str | None = None
    ) -> AlbumMetadata:
        """Change title or description; None stays. Needs a token."""
        changes = {"title": title, "description": description}
        sent = {name: value for name, value in changes.items() if value is not None}
        return parse_model(
            AlbumMetadata, await self._http.ask("PATCH", "albums", album, sent=sent, signed_in=True)
        )

    async def set_cover(self, album: str, image: Path | str) -> AlbumMetadata:
        """Give an album a picture. Raises MissingFileError."""
        with open_file(image) as file:
            files = {"image": (Path(image).name, file)}
            found = await self._http.ask("POST", "albums", album, "cover", files=files, signed_in=True)
        return parse_model(AlbumMetadata, found)

    async def delete(self, album: str) -> None:
        """Delete an album; its tracks stay. Needs a token."""
        await self._http.ask("DELETE", "albums", album, signed_in=True)

    async def archive(self, album: str, output: Path | str | None = None, *, timeout: float = 300.0) -> Path:
        """Download the ZIP of the tracks that the account may download; returns its path.

        `output` is a file, which is replaced, or a folder, in which `album-ID.zip` is.
        """
        path = place_file(output, f"album-{album}.zip")
        return await fetch_file(self._http, ("albums", album, "archive"), path, timeout=timeout)
