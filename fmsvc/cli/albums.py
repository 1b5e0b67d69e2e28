"""`fmsvc albums`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import AlbumId, ArchiveFile, Image, Limit, Settings, Yes, read_settings
from fmsvc.cli.confirm import confirm
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_albums(
    *,
    artist: Annotated[str | None, Parameter(help="Only those of this handle or DID.")] = None,
    limit: Limit = 20,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """List albums, of everyone or of one artist."""
    with service.open() as client:
        output.rows(client.albums.list(artist=artist, limit=limit), columns.ALBUMS)


def get(album_id: AlbumId, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show an album and its tracks."""
    with service.open() as client:
        album = client.albums.get(album_id)
    if output.json:
        output.item(album)
        return
    output.item(album.metadata, columns.ALBUM)
    output.rows(album.tracks, columns.TRACKS)


def create(
    title: str,
    *,
    description: str | None = None,
    publishing: Settings = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Create an album.

    Parameters
    ----------
    title
        Its title.
    """
    settings = None if publishing is None else read_settings(publishing)
    with service.open_signed_in() as client:
        made = client.albums.create(title, description=description, publishing=settings)
    output.item(made, columns.ALBUM)


def update(
    album_id: AlbumId,
    *,
    title: str | None = None,
    description: str | None = None,
    image: Image = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change an album's title, description or cover."""
    with service.open_signed_in() as client:
        if image is not None:
            found = client.albums.set_cover(album_id, image)
        if image is None or title is not None or description is not None:
            found = client.albums.update(album_id, title=title, description=description)
    output.item(found, columns.ALBUM)


def delete(
    album_id: AlbumId, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Delete an album; its tracks stay."""
    with service.open_signed_in() as client:
        title = client.albums.get(album_id).metadata.title
        confirm(f"Delete the album {title}?", yes)
        client.albums.delete(album_id)
    output.say(f"Deleted the album {title}.")


def download(
    album_id: AlbumId,
    *,
    to: ArchiveFile = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Download the tracks of an album as a ZIP."""
    with service.open() as client:
        album = client.albums.get(album_id).metadata.id  # its form is checked: it names the file
        path = client.albums.archive(str(album), to)
    output.item({"path": str(path), "bytes": path.stat().st_size})
