"""`fmsvc tracks`: list, show, like, change and delete."""

import json
from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import Features, Image, Limit, Ref, Yes, read_features, read_ref, split_tags
from fmsvc.cli.confirm import confirm
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_public(
    *,
    limit: Limit = 20,
    artist: Annotated[str | None, Parameter(help="Only those of this DID.")] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """List public tracks, the newest first."""
    with service.open() as client:
        output.rows(client.tracks.list(limit=limit, artist_did=artist), columns.TRACKS)


def get(ref: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show a track."""
    with service.open() as client:
        output.item(client.tracks.get(read_ref(ref)), columns.TRACK)


def list_own(*, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List your tracks."""
    with service.open_signed_in() as client:
        output.rows(client.tracks.my(limit=limit), columns.OWN_TRACKS)


def list_liked(*, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List the tracks that you like."""
    with service.open_signed_in() as client:
        output.rows(client.tracks.liked(limit=limit), columns.TRACKS)


def like(ref: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Like a track."""
    with service.open_signed_in() as client:
        client.tracks.like(read_ref(ref))
    output.say(f"You like the track {ref}.")


def unlike(ref: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Take back your like of a track."""
    with service.open_signed_in() as client:
        client.tracks.unlike(read_ref(ref))
    output.say(f"You no longer like the track {ref}.")


def list_likers(
    ref: Ref, *, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """List the accounts that like a track."""
    with service.open() as client:
        names = ("did", "handle", "display_name", "liked_at")
        output.rows(client.tracks.likers(read_ref(ref), limit=limit), names)


def update(
    ref: Ref,
    *,
    title: str | None = None,
    album: Annotated[str | None, Parameter(help="The album's title; '' for none.")] = None,
    tags: Annotated[str | None, Parameter(help="All tags, with commas between; '' for none.")] = None,
    features: Features = None,
    description: Annotated[str | None, Parameter(help="Notes on the track; '' for none.")] = None,
    image: Image = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change your track's metadata."""
    from fmsvc.models import TrackPatch

    patch = TrackPatch(
        title=title,
        album=album,
        tags=None if tags is None else split_tags(tags),
        features=None if features is None else json.dumps(read_features(features)),
        description=description,
        image=image,
    )
    with service.open_signed_in() as client:
        output.item(client.tracks.update(read_ref(ref), patch), columns.TRACK)


def delete(ref: Ref, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Delete your track."""
    with service.open_signed_in() as client:
        track = client.tracks.get(read_ref(ref))
        confirm(f"Delete the track {track.title}?", yes)
        client.tracks.delete(track.id)
    output.say(f"Deleted the track {track.title}.")


def list_revisions(ref: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List earlier versions of your track's audio, newest first."""
    with service.open_signed_in() as client:
        output.rows(client.tracks.revisions(read_ref(ref)), columns.REVISIONS)


def restore_revision(
    ref: Ref, revision_id: int, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Restore an earlier version of your track's audio.

    The present audio becomes a revision, which is shown.

    Parameters
    ----------
    revision_id
        The revision's id.
    """
    with service.open_signed_in() as client:
        confirm(f"Restore revision {revision_id} of the track {ref}?", yes)
        output.item(client.tracks.restore_revision(read_ref(ref), revision_id), columns.REVISIONS)
