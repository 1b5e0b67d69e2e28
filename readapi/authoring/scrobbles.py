"""Scrobbles: plays told to the scrobbling service that somebody uses, as records of theirs."""

from datetime import datetime
from typing import Any

from readapi import times
from readapi.pds import Author, Create
from readapi.writing import Writing
from schemas.collections import SCROBBLE
from schemas.ids import Rkey, record_key, tid_at


async def scrobble(writing: Writing, author: Author, track: dict[str, Any], played_at: datetime) -> None:
    """Tell of one play of a track, given as its card. The same play makes the same record."""
    value = {
        "$type": SCROBBLE,
        "trackName": track["title"],
        "artists": [{"artistName": track["artist"], "artistDid": track["artist_did"]}],
        "originUri": track["uri"],
        "playedTime": times.render(played_at),
        "submissionClientAgent": "fmsvc",
    }
    if track["duration"] is not None:
        value["duration"] = track["duration"]
    if track["album"] is not None:
        value["releaseName"] = track["album"]["title"]
    rkey = Rkey(tid_at(played_at, record_key(track["uri"])))
    await writing.commit(author, Create(SCROBBLE, rkey, value))
