"""What people write in scenarios."""

from typing import Any

from tests.network.pds import Account, Json, Ref
from tests.promises.scenarios.truth import COLLECTIONS

MADE = "2026-01-02T03:04:05Z"
ANY_CID = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454"
ELSEWHERE = "net.example.thing"


def track(title: str, **optional: Any) -> Json:
    return {"title": title, "artist": "An Artist", "fileType": "mp3", "createdAt": MADE, **optional}


def like(subject: Ref) -> Json:
    return {"subject": subject.strong, "createdAt": MADE}


def comment(subject: Ref, text: str) -> Json:
    return {"subject": subject.strong, "text": text, "timestampMs": 1500, "createdAt": MADE}


def playlist(name: str, *subjects: Ref) -> Json:
    items = [{"subject": subject.strong} for subject in subjects]
    return {"name": name, "listType": "playlist", "items": items, "createdAt": MADE}


def album(name: str, *subjects: Ref) -> Json:
    return playlist(name, *subjects) | {"listType": "album"}


def profile(name: str) -> Json:
    return {"displayName": name, "createdAt": MADE}


async def publish(account: Account, title: str) -> Ref:
    """A new track of theirs."""
    return await account.create_record(COLLECTIONS.track, track(title))


async def everything(account: Account) -> Ref:
    """One record of each collection; the track is returned."""
    song = await publish(account, "One Of Each")
    await account.create_record(COLLECTIONS.like, like(song))
    await account.create_record(COLLECTIONS.comment, comment(song, "my own"))
    await account.create_record(COLLECTIONS.list, playlist("Mine", song))
    await account.put_record(COLLECTIONS.profile, "self", profile("Somebody"))
    return song
