"""`fmsvc tags`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import Limit
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_tags(
    *,
    q: Annotated[str | None, Parameter(name="--q", help="Only those that begin so.")] = None,
    limit: Limit = 20,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """List tags, the most used first."""
    with service.open() as client:
        output.rows(client.tags.list(q=q, limit=limit), ("name", "track_count", "total_plays"))


def list_tracks(
    name: str, *, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """List the tracks that carry a tag.

    Parameters
    ----------
    name
        The tag.
    """
    with service.open() as client:
        output.rows(client.tags.tracks(name, limit=limit), columns.TRACKS)
