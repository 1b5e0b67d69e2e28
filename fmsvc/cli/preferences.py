"""`fmsvc preferences`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli.arguments import Settings, read_settings
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service

_NAMES = ("publishing_defaults", "scrobbling", "rights", "show_playing")


def show(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show your preferences."""
    with service.open_signed_in() as client:
        output.item(client.preferences.get(), _NAMES)


def update(
    *,
    publishing: Settings = None,
    scrobbling: Annotated[bool | None, Parameter(help="Write a record of each track that you play.")] = None,
    show_playing: Annotated[bool | None, Parameter(help="Show others what you are listening to.")] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change your preferences."""
    settings = None if publishing is None else read_settings(publishing)
    with service.open_signed_in() as client:
        changed = client.preferences.update(
            publishing=settings, scrobbling=scrobbling, show_playing=show_playing
        )
        output.item(changed, _NAMES)
