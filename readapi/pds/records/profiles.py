"""Writes artist profiles, and reads what their owners chose to show."""

from collections.abc import Mapping
from typing import Final

from pydantic.alias_generators import to_camel

from readapi.errors import NotFound
from readapi.pds.repo import Author, Record, Value
from readapi.pds.writing import Writing
from readapi.state.publishing.profile_visibility import ProfileVisibility
from schemas import datetimes
from schemas.access import Viewer
from schemas.api.artists import ProfileChange
from schemas.collections import Collections
from schemas.ids import AtUri, Did, Rkey

RKEY = Rkey("self")
_NO_PICTURES: Final[Mapping[str, Value | None]] = {}


def profile_uri(collections: Collections, did: Did) -> str:
    """The at-uri of an account's profile, under which its choices are stored."""
    return str(AtUri(did, collections.profile, RKEY))


async def shows_likes(showing: ProfileVisibility, collections: Collections, did: Did) -> bool:
    """Likes are public records, so a profile shows them unless its owner turns that off."""
    return await showing.of(profile_uri(collections, did)) is not False


async def require_likes(
    showing: ProfileVisibility, collections: Collections, did: Did, viewer: Viewer | None
) -> None:
    """Raise NotFound where the viewer may not see which tracks the account likes."""
    is_own = viewer is not None and viewer.did == did
    if not is_own and not await shows_likes(showing, collections, did):
        raise NotFound("This account does not show its likes.")


async def put_profile(
    writing: Writing, author: Author, sent: ProfileChange, pictures: Mapping[str, Value | None] = _NO_PICTURES
) -> Record:
    """Write the given texts and pictures, blobs by their members; empty ones are removed."""
    collection, now = writing.collections.profile, datetimes.render(datetimes.now())
    texts = sent.model_dump(exclude_unset=True, exclude={"show_liked_on_profile"})
    chosen = {to_camel(name): text for name, text in texts.items()} | dict(pictures)

    def change(found: Value) -> Value:
        changed = {**found, **chosen, "updatedAt": now}
        return {name: value for name, value in changed.items() if value not in (None, "")}

    new = {"$type": collection, "createdAt": now}
    return await writing.edit(author, collection, RKEY, change, absent=new)
