"""Likes: one for each person and track, however often they press the button."""

from readapi import times
from readapi.pds import Author
from readapi.queries import social, tracks
from readapi.search import Index
from readapi.writing import Writing
from schemas.ids import Rkey, derived_tid
from schemas.stored import Card


async def like(writing: Writing, index: Index, author: Author, track: Card) -> None:
    """Like a track, unless they do already; also with a record that another program wrote."""
    if social.like_rkeys(index, author.did, track.key):
        return
    collection, subject = writing.collections.like, tracks.strong_ref(track)
    liked = {"$type": collection, "subject": subject, "createdAt": times.render(times.now())}
    await writing.edit(author, collection, _rkey(subject["uri"]), lambda found: found, absent=liked)


async def unlike(writing: Writing, index: Index, author: Author, track: Card) -> None:
    """Take back every like of a track, whatever program wrote it."""
    ours = _rkey(tracks.strong_ref(track)["uri"])
    rkeys = {ours, *social.like_rkeys(index, author.did, track.key)}
    await writing.delete(author, writing.collections.like, *sorted(map(Rkey, rkeys)))


def _rkey(track_uri: str) -> Rkey:
    return Rkey(derived_tid(f"like {track_uri}"))
