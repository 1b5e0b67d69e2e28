"""`fmsvc comments`."""

from typing import Annotated

from cyclopts import Parameter

from fmsvc.cli import columns
from fmsvc.cli.arguments import Limit, Ref, Yes, read_ref
from fmsvc.cli.confirm import confirm
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_comments(
    ref: Ref, *, limit: Limit = 20, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """List the comments of a track by their moments."""
    with service.open() as client:
        output.rows(client.comments.list(read_ref(ref), limit=limit), columns.COMMENTS)


def add(
    ref: Ref,
    text: str,
    *,
    at: Annotated[int, Parameter(name="--at", help="The moment, in milliseconds.")] = 0,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Comment on a track.

    Parameters
    ----------
    text
        The comment.
    """
    with service.open_signed_in() as client:
        output.item(client.comments.add(read_ref(ref), text, timestamp_ms=at), columns.COMMENTS)


def update(
    comment_id: int,
    text: str | None = None,
    *,
    at: Annotated[int | None, Parameter(name="--at", help="The moment, in milliseconds.")] = None,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Change your comment.

    Parameters
    ----------
    comment_id
        The comment's id.
    text
        Its new text.
    """
    with service.open_signed_in() as client:
        output.item(client.comments.update(comment_id, text=text, timestamp_ms=at), columns.COMMENTS)


def delete(
    comment_id: int, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Delete your comment.

    Parameters
    ----------
    comment_id
        The comment's id.
    """
    with service.open_signed_in() as client:
        confirm(f"Delete the comment {comment_id}?", yes)
        client.comments.delete(comment_id)
    output.say(f"Deleted the comment {comment_id}.")
