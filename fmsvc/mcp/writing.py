"""Tools that change something, offered only where the caller's token grants it.

A change of access is made in two calls: the first one tells what would change, and gives a confirmation;
only with that, and only while the track is as it was, the second one makes the change.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from fmsvc.answers import parse_object
from fmsvc.mcp import shapes
from fmsvc.mcp.caller import caller
from fmsvc.mcp.reading import TrackRef

_WORDS: Final = {
    "public": "everybody",
    "signed_in": "everybody who is signed in",
    "supporters": "supporters of the artist",
    "owner": "the artist alone",
    "space": "members of the private Space",
}
OPEN: Final = ("open", "ask")


async def like_track(
    track_id: TrackRef, like: Annotated[bool, Field(description="False takes the like back.")] = True
) -> shapes.Liked:
    """Like a track with the caller's account, or take that back. Likes are public. Ask the user first."""
    caller().need_token()
    found = await caller().http.ask("POST" if like else "DELETE", "tracks", track_id, "like")
    return caller().read(shapes.Liked, {"track_id": track_id, **parse_object(found)})


async def set_publishing(
    track_id: TrackRef,
    settings: shapes.Template,
    confirmation: Annotated[str | None, Field(max_length=64, description="From the dry run.")] = None,
) -> shapes.PublishingChange:
    """Change who may hear, download and find one of the caller's tracks.

    Without a confirmation nothing is changed: the answer tells what would be. Show that to the user, and
    only if they agree call again with the same settings and the confirmation.
    """
    caller().need_token()
    me = parse_object(await caller().http.ask("GET", "auth", "me"))
    track = await caller().get(shapes.TrackDetail, "tracks", track_id)
    if track.artist_did != me.get("did"):
        raise ToolError("This track belongs to another account: do not try again with this one.")
    change = shapes.PublishingChange(
        track_id=track_id,
        before=track.publishing,
        after=settings,
        changes=_changes(track.publishing, settings),
        warnings=_warnings(track.publishing, settings),
        status="dry run: nothing is changed yet",
    )
    expected = _confirmation(track, settings)
    if confirmation is None:
        await _check_available(settings)
        return change.model_copy(update={"confirmation": expected})
    if confirmation != expected:
        raise ToolError(
            "This confirmation is not for this change of the track as it is now. "
            "Call without a confirmation, show the answer to the user, and use its confirmation."
        )
    sent = {"settings": settings.model_dump()}
    path = ("tracks", track_id, "publishing")
    job = parse_object(await caller().http.ask("POST", *path, sent=sent, idempotency_key=expected))
    return change.model_copy(update={"job_id": job.get("job_id"), "status": str(job.get("status"))})


def _confirmation(track: shapes.TrackDetail, settings: shapes.Template) -> str:
    """Stands for one change of one version of a track. No secret: it shows that a dry run was made."""
    told = json.dumps([track.uri, track.cid, track.publishing.model_dump(), settings.model_dump()])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


async def _check_available(settings: shapes.Template) -> None:
    """Raises ToolError where the caller may not choose an audience."""
    may = await caller().get(shapes.Capabilities, "capabilities")
    for chosen, kinds in (
        (settings.access.listening, may.audiences),
        (settings.access.downloads, may.downloads),
    ):
        found = kinds.get(chosen)
        if found is None or not found.available:
            why = (found and found.reason) or "it is not available on this service"
            raise ToolError(f"`{chosen}` cannot be chosen: {why} publishing_capabilities lists what can.")


def _changes(before: shapes.Template, after: shapes.Template) -> list[str]:
    old, new = before.access, after.access
    told = []
    if old.listening != new.listening:
        told.append(f"Listening: {_WORDS[old.listening]} before, {_WORDS[new.listening]} after.")
    if old.downloads != new.downloads:
        told.append(f"Downloads of the original: {old.downloads} before, {new.downloads} after.")
    if old.visibility != new.visibility:
        told.append(f"Visibility: {old.visibility} before, {new.visibility} after.")
    if before.attach_rights != after.attach_rights:
        told.append(f"Rights metadata: {'attached' if after.attach_rights else 'not attached'} after.")
    return told or ["Nothing."]


def _warnings(before: shapes.Template, after: shapes.Template) -> list[str]:
    old, new = before.access, after.access
    told = []
    opens = new.downloads in OPEN and old.downloads not in OPEN
    if opens or (new.listening == "public" and old.listening != "public"):
        told.append("What becomes public can be copied at once, and copies cannot be recalled.")
    closes = old.downloads in OPEN and new.downloads not in OPEN
    if closes or (old.listening == "public" and new.listening != "public"):
        told.append("Copies that were made while it was public cannot be recalled.")
    if new.visibility == "private":
        told.append("Only the artist will find the track.")
    return told


# Which collection the caller's token must allow writing.
ALL: Final[dict[Callable[..., Awaitable[Any]], str]] = {like_track: "like", set_publishing: "track"}
