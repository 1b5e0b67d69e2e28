"""`fmsvc artists`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import Artist, Limit
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def me(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show your profile."""
    with service.open_signed_in() as client:
        output.item(client.artists.me(), columns.PROFILE)


def get(artist: Artist, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show the profile of a handle or DID."""
    with service.open() as client:
        output.item(client.artists.get(artist), columns.PROFILE)


def update(
    *,
    display_name: str | None = None,
    bio: Annotated[str | None, Parameter(help="About you; '' for nothing.")] = None,
    support_url: Annotated[str | None, Parameter(help="Where to support you; '' for nowhere.")] = None,
    show_liked_on_profile: Annotated[
        bool | None, Parameter(help="Let others see the tracks that you like.")
    ] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change your profile."""
    from fmsvc.models import ArtistProfilePatch

    patch = ArtistProfilePatch(
        display_name=display_name,
        bio=bio,
        support_url=support_url,
        show_liked_on_profile=show_liked_on_profile,
    )
    with service.open_signed_in() as client:
        output.item(client.artists.update(patch), columns.PROFILE)


def list_likes(
    artist: Artist, *, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """List the tracks that an account likes, where it shows them."""
    with service.open() as client:
        output.rows(client.artists.likes(artist, limit=limit), columns.TRACKS)
