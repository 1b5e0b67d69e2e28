"""Comments: what somebody says at a moment of a track."""

from typing import Any

from readapi import times
from readapi.errors import Conflict, InvalidRequest
from readapi.pds import Author, Create, Record, Value
from readapi.queries import social, tracks
from readapi.search import Index
from readapi.state.locks import Locks
from readapi.writing import Writing, new_rkey
from schemas.stored import Card


async def comment(
    writing: Writing, locks: Locks, index: Index, author: Author, track: Card, said: Value, most: int
) -> Record:
    """Write a comment: `said` is its text and moment.

    Raises Conflict when there are `most` of theirs, and InvalidRequest for a moment after the track's end.
    """
    _check_moment(track, said["timestampMs"])
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


async def reword(
    writing: Writing, index: Index, author: Author, known: dict[str, Any], said: Value
) -> Record:
    """Change what a comment says, or its moment. Raises InvalidRequest for one after the track's end."""

    def change(found: Value) -> Value:
        track = index.track_at(found["subject"]["uri"])
        if track is not None and "timestampMs" in said:
            _check_moment(track, said["timestampMs"])
        return {**found, **said, "updatedAt": times.render(times.now())}

    uri = social.uri_of(known)
    return await writing.edit(author, uri.collection, uri.rkey, change)


def _check_moment(track: Card, timestamp_ms: int) -> None:
    """A duration is in whole seconds, so that the recording may end up to a second later."""
    duration = tracks.told(track)["duration"]
    if duration is not None and timestamp_ms > (duration + 1) * 1000:
        raise InvalidRequest.of_field(
            "timestamp_ms", f"must not be after the track's end, {duration} seconds"
        )
