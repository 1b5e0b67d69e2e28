"""`fmsvc publishing`: who may listen, download and find."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

from cyclopts import Parameter

from fmsvc.cli import columns, exit_codes
from fmsvc.cli.arguments import Ref, Settings, read_ref, read_settings
from fmsvc.cli.jobs import follow
from fmsvc.cli.output import PLAIN, Output, as_members, find_member, print_error
from fmsvc.cli.service import THE_SERVICE, Service
from fmsvc.errors import FmsvcError

if TYPE_CHECKING:
    from fmsvc.models import PublishingDefaults

_NAMES = ("access.listening", "access.downloads", "access.visibility", "attach_rights")


def show(ref: Ref, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show who may listen to your track."""
    with service.open_signed_in() as client:
        output.item(client.publishing.show(read_ref(ref)), _NAMES)


def set_settings(
    ref: Ref,
    publishing: Settings = None,
    *,
    inherit: Annotated[
        bool, Parameter(negative="", show_default=False, help="Take the album's or account's settings.")
    ] = False,
    album: Annotated[bool, Parameter(negative="", show_default=False, help="REF is an album's id.")] = False,
    replace_overrides: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, help="With --album: also tracks with settings of their own."
        ),
    ] = False,
    wait: Annotated[bool, Parameter(negative="", show_default=False, help="Wait until it is done.")] = False,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> int:
    """Change who may listen to your track or album.

    Shows the job that does so; `fmsvc jobs watch` waits for it.
    """
    settings = _wanted(publishing, inherit)
    key = str(uuid4())
    with service.open_signed_in() as client:
        if album:
            job = client.publishing.set_album(
                ref, settings, replace_overrides=replace_overrides, idempotency_key=key
            )
        else:
            job = client.publishing.set(read_ref(ref), settings, idempotency_key=key)
        if wait:
            return follow(client, job.job_id, output)
    output.item(job, columns.JOB)
    return exit_codes.OK


def dry_run(ref: Ref, publishing: Settings, *, service: Service = THE_SERVICE, output: Output = PLAIN) -> int:
    """Show what a change would do, and change nothing.

    Exits with 5 when the service would refuse the change.
    """
    settings = _wanted(publishing, inherit=False)
    assert settings is not None
    with service.open_signed_in() as client:
        found = client.publishing.dry_run(read_ref(ref), settings)
    if output.json:
        output.item(found)
    else:
        rows = [_compare(name, as_members(found)) for name in _NAMES]
        output.rows(rows, ("setting", "now", "then"))
    for problem in found.problems:
        print_error(problem)
    return exit_codes.FORBIDDEN if found.problems else exit_codes.OK


def list_choices(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List the audiences that you may choose."""
    with service.open_signed_in() as client:
        found = client.capabilities()
    rows = [
        {"setting": setting, "audience": name, "available": one.available, "reason": one.reason}
        for setting, choices in (("listening", found.audiences), ("downloads", found.downloads))
        for name, one in choices.items()
    ]
    output.rows(rows, ("setting", "audience", "available", "reason"))


def _wanted(publishing: str | None, inherit: bool) -> "PublishingDefaults | None":
    if (publishing is None) != inherit:
        raise FmsvcError("Give publishing settings, or --inherit.", code="usage")
    return None if publishing is None else read_settings(publishing)


def _compare(name: str, found: dict[str, Any]) -> dict[str, Any]:
    current, wanted = found["current"] or {}, found["wanted"]
    return {"setting": name, "now": find_member(current, name), "then": find_member(wanted, name)}
