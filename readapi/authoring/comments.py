"""Comments: what somebody says at a moment of a track."""

from typing import Any

from readapi import times
from readapi.errors import Conflict
from readapi.pds import Author, Create, Record, Value
from readapi.queries import social, tracks
from readapi.search import Index
from readapi.state.locks import Locks
from readapi.writing import Writing, new_rkey
from schemas.stored import Card


async def comment(
    writing: Writing, locks: Locks, index: Index, author: Author, track: Card, said: Value, most: int
) -> Record:
    """Write a comment: `said` is its text and moment. Raises Conflict when there are `most` of theirs."""
    collection = writing.collections.comment
    value = {"$type": collection, "subject": tracks.strong_ref(track), **said}
    value["createdAt"] = times.render(times.now())
    async with locks.holding(f"comments of {author.did}"):
        if social.comment_count(index, author.did, track.key) >= most:
            raise Conflict(
                f"You have written {most} comments on this track, which is as many as there may be."
            )
        [written] = await writing.commit(author, Create(collection, new_rkey(), value))
    assert written.cid is not None
    return Record(written.uri, written.cid, value)


async def reword(writing: Writing, author: Author, known: dict[str, Any], said: Value) -> Record:
    """Change what a comment says, or its moment."""

    def change(found: Value) -> Value:
        return {**found, **said, "updatedAt": times.render(times.now())}

    uri = social.uri_of(known)
    return await writing.edit(author, uri.collection, uri.rkey, change)
