"""`fmsvc playlists`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import ArchiveFile, PlaylistId, Ref, Yes, read_ref
from fmsvc.cli.confirm import confirm
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_own(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List your playlists."""
    with service.open_signed_in() as client:
        output.rows(client.playlists.list(), columns.PLAYLISTS)


def list_by_artist(artist: str, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List the playlists that a DID shows on its profile.

    Parameters
    ----------
    artist
        The account's DID.
    """
    with service.open() as client:
        output.rows(client.playlists.by_artist(artist), columns.PLAYLISTS)


def get(playlist_id: PlaylistId, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show a playlist and its tracks."""
    with service.open() as client:
        playlist = client.playlists.get(playlist_id)
    output.item(playlist, columns.PLAYLIST)
    if not output.json:
        output.rows(playlist.tracks, columns.TRACKS)


def download(
    playlist_id: PlaylistId,
    *,
    to: ArchiveFile = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Download the tracks of a playlist as a ZIP."""
    with service.open() as client:
        playlist = client.playlists.get(playlist_id).id  # its form is checked: it names the file
        path = client.playlists.archive(str(playlist), to)
    output.item({"path": str(path), "bytes": path.stat().st_size})


def create(name: str, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Create a playlist.

    Parameters
    ----------
    name
        Its name.
    """
    with service.open_signed_in() as client:
        output.item(client.playlists.create(name), columns.PLAYLIST)


def add_track(
    playlist_id: PlaylistId, track: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Add a track at the end of a playlist."""
    with service.open_signed_in() as client:
        output.item(client.playlists.add_track(playlist_id, read_ref(track)), columns.PLAYLIST)


def remove_track(
    playlist_id: PlaylistId, track: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Remove a track from a playlist."""
    with service.open_signed_in() as client:
        output.item(client.playlists.remove_track(playlist_id, read_ref(track)), columns.PLAYLIST)


def update(
    playlist_id: PlaylistId,
    *,
    name: str | None = None,
    show_on_profile: Annotated[bool | None, Parameter(help="Show it on your profile.")] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change a playlist's name, or whether your profile shows it."""
    with service.open_signed_in() as client:
        found = client.playlists.update(playlist_id, name=name, show_on_profile=show_on_profile)
        output.item(found, columns.PLAYLIST)


def delete(
    playlist_id: PlaylistId, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Delete a playlist; its tracks stay."""
    with service.open_signed_in() as client:
        playlist = client.playlists.get(playlist_id)
        confirm(f"Delete the playlist {playlist.name}?", yes)
        client.playlists.delete(playlist_id)
    output.say(f"Deleted the playlist {playlist.name}.")


def list_recommendations(
    playlist_id: PlaylistId,
    *,
    limit: Annotated[int, Parameter(help="The most to list.")] = 3,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """List tracks that would go with your playlist."""
    with service.open_signed_in() as client:
        found = client.playlists.recommendations(playlist_id, limit=limit)
    output.rows(found.tracks, ("id", "title", "artist_display_name"))
