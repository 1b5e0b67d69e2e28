"""Writes likes, comments and scrobbles, and counts plays. An account has at most one like of a track."""

from datetime import datetime, timedelta
from typing import Any

import orjson
import structlog

from readapi.errors import ApiError, Conflict, InvalidRequest
from readapi.http.limits.clients import wider_network
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import social, tracks
from readapi.oauth import scopes
from readapi.pds.repo import Author, Create, Record, Value, WriteResult
from readapi.pds.writing import Writing, new_rkey
from readapi.state.db.locks import Locks
from readapi.state.publishing.play_counts import Play
from readapi.state.state import State
from schemas import datetimes
from schemas.collections import SCROBBLE, SCROBBLING
from schemas.ids import AtUri, Rkey, derived_tid, record_key, tid_at
from schemas.stored import Card

log = structlog.get_logger()


async def like_track(writing: Writing, index: Index, author: Author, track: Card) -> None:
    """Like a track, unless the account likes it already, be it by another program's record."""
    if social.like_rkeys(index, author.did, track.key):
        return
    collection, subject = writing.collections.like, tracks.strong_ref(track)
    liked = {"$type": collection, "subject": subject, "createdAt": datetimes.render(datetimes.now())}
    await writing.edit(author, collection, _rkey(subject["uri"]), lambda found: found, absent=liked)


async def unlike_track(writing: Writing, index: Index, author: Author, track: Card) -> None:
    """Delete all of the account's likes of a track, whichever program wrote them."""
    ours = _rkey(tracks.strong_ref(track)["uri"])
    rkeys = {ours, *social.like_rkeys(index, author.did, track.key)}
    await writing.delete(author, writing.collections.like, *sorted(map(Rkey, rkeys)))


def _rkey(track_uri: str) -> Rkey:
    return Rkey(derived_tid(f"like {track_uri}"))


async def write_comment(
    writing: Writing, locks: Locks, index: Index, author: Author, track: Card, said: Value, most: int
) -> Record:
    """Write a comment; `said` holds its text and moment.

    Raises Conflict when the account has written `most`, InvalidRequest for a moment after the track's end.
    """
    _check_moment(track, said["timestampMs"])
    collection = writing.collections.comment
    value = {"$type": collection, "subject": tracks.strong_ref(track), **said}
    value["createdAt"] = datetimes.render(datetimes.now())

    async def write() -> list[WriteResult]:
        if social.comment_count(index, author.did, track.key) >= most:
            raise Conflict(f"You have written {most} comments on this track, which is the limit.")
        return await writing.commit(author, Create(collection, new_rkey(), value))

    # Interrupted, it may be written all the same, and written twice by who tries again.
    [written] = await locks.finish(f"comments of {author.did}", write)
    assert written.cid is not None
    return Record(written.uri, written.cid, value)


async def change_comment(
    writing: Writing, index: Index, author: Author, known: dict[str, Any], said: Value
) -> Record:
    """Change a comment's text or moment. Raises InvalidRequest for a moment after the track's end."""

    def change(found: Value) -> Value:
        track = index.track_at(found["subject"]["uri"])
        if track is not None and "timestampMs" in said:
            _check_moment(track, said["timestampMs"])
        return {**found, **said, "updatedAt": datetimes.render(datetimes.now())}

    uri = social.comment_uri(known)
    return await writing.edit(author, uri.collection, uri.rkey, change)


def _check_moment(track: Card, timestamp_ms: int) -> None:
    """Refuse a moment after the end. Durations are whole seconds, so the end may be up to a second later."""
    duration = tracks.parse_card(track)["duration"]
    if duration is not None and timestamp_ms > (duration + 1) * 1000:
        raise InvalidRequest.of_field(
            "timestamp_ms", f"must not be after the track's end, {duration} seconds"
        )


async def count_play(
    writing: Writing, state: State, author: SignedIn | None, client: str, track: Card
) -> Play:
    """Count a play of a track that the listener may hear, and scrobble it if the account wants that.

    Only public tracks are scrobbled: the record is public. `client`: the listener's network address; empty
    where it is not known. A scrobble that fails is left out.
    """
    known = tracks.parse_card(track)
    play = await count_listen(state, author, client, track)
    if author is None or play.counted_at is None or not tracks.is_public(track):
        return play
    if await _scrobbles(writing, state, author):
        try:
            await write_scrobble(writing, author, known, play.counted_at)
        except ApiError as error:
            log.info("not scrobbled", reason=error.message)
    return play


async def count_listen(state: State, author: SignedIn | None, client: str, track: Card) -> Play:
    """The same without a scrobble."""
    known, did = tracks.parse_card(track), None if author is None else author.did
    state.activity.note("play", did, wider_network(client))
    return await state.plays.count(AtUri.parse(known["uri"]), did or client, known["duration"])


async def note_playing(state: State, author: SignedIn, track: Card) -> None:
    """Show others that an account is listening to a public track, if it chose so."""
    if not tracks.is_public(track) or not (await state.preferences.of(author.did)).show_playing:
        return
    known = tracks.parse_card(track)
    told = {"track_name": known["title"], "artist_name": known["artist"], "additional_info": {}}
    lasts = timedelta(seconds=known["duration"] or 0)
    await state.playing_now.put(author.did, author.handle, known["uri"], orjson.dumps(told).decode(), lasts)


async def _scrobbles(writing: Writing, state: State, author: SignedIn) -> bool:
    granted = scopes.covers(author.scopes, SCROBBLING, writing.collections)
    return granted and (await state.preferences.of(author.did)).scrobbling


async def write_scrobble(
    writing: Writing, author: Author, track: dict[str, Any], played_at: datetime
) -> None:
    """Write a scrobble of a track, given as its card. The same play always gets the same record."""
    value = {
        "$type": SCROBBLE,
        "trackName": track["title"],
        "artists": [{"artistName": track["artist"], "artistDid": track["artist_did"]}],
        "originUri": track["uri"],
        "playedTime": datetimes.render(played_at),
        "submissionClientAgent": "fmsvc",
    }
    if track["duration"] is not None:
        value["duration"] = track["duration"]
    if track["album"] is not None:
        value["releaseName"] = track["album"]["title"]
    rkey = Rkey(tid_at(played_at, record_key(track["uri"])))
    await writing.commit(author, Create(SCROBBLE, rkey, value))
