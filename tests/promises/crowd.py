"""Accounts that write much of what may not be shown, put straight into the stores of a worker."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from indexer.events import IdentityFact
from indexer.search.documents.fields import Fields, open_card, result_fields, term_fields
from readapi.state.db.tables import shown_on_profile
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State, open_state
from schemas.ids import Handle, list_id, record_key
from schemas.labels import label_members
from schemas.records import MAX_ITEMS
from schemas.search_index import KINDS, kind_id, popular_key, recent_key
from tests.indexer.changes import did, put, uri
from tests.readapi.music import Music, playing
from tests.readapi.pages.examples import track
from tests.readapi.state.people import grant

HOSTILE = did("mallory")
HANDLE = "mallory.example"
SAME_TIME = 1_700_000_000_000
WHEN = "2026-03-01T00:00:00Z"
MANY_NAMES = 2000
UNLABELLED = label_members(())
_LIKED = orjson.dumps({"did": HOSTILE, "liked_at": WHEN, "rkeys": ["x"]})


@asynccontextmanager
async def crowded(folder: Path, rows: int) -> AsyncIterator[Music]:
    """A worker over a little music and, of each thing that a listing goes through, so many rows."""
    async with playing(folder, response_cache_bytes=0) as music:
        profile = put("mallory", "profile", at=50, displayName="Mallory")
        music.write(profile, identities=(IdentityFact(HOSTILE, HANDLE, "https://pds.example"),))
        _write(music, rows)
        await _hide(music, rows)
        music.stores.index.refresh()
        yield music


async def session(music: Music) -> str:
    """The id of a session of the account that wrote it all."""
    async with open_state(music.settings) as state:
        return await state.sessions.begin(await _account(state))


async def developer_token(music: Music) -> str:
    """A developer token of the same account."""
    async with open_state(music.settings) as state:
        token, _ = await state.developer_tokens.create(await _account(state), "player")
        return token


async def _account(state: State) -> Account:
    return Account(HOSTILE, Handle(HANDLE), await state.grants.add(grant(HOSTILE)))


def playlist_uri(number: int) -> str:
    return str(uri("mallory", "list", number))


def _write(music: Music, rows: int) -> None:
    catalog, words, social = music._index._folders
    catalog.add(_tracks(rows))
    catalog.add(_playlists(rows))
    catalog.add([_album()])
    words.add(_named_alike(MANY_NAMES))
    social.add(_likes_of_nothing(rows))
    social.add(_likes_of_one(rows))
    for folder in (catalog, words, social):
        folder.commit(folder.watermark)


async def _hide(music: Music, rows: int) -> None:
    """Its owner chose to show none of these playlists."""
    async with open_state(music.settings) as state, state.database.writing() as connection:
        chosen = [{"subject": playlist_uri(number), "shown": False} for number in range(rows)]
        await connection.execute(shown_on_profile.insert(), chosen)


def _likes_of_nothing(rows: int) -> Iterator[Fields]:
    """Half of them at one instant: equal sort keys. The oldest is of a track that anybody may see."""
    oldest = {"subject": record_key(str(uri("mara", "track", 3))), "id": 1, "recent": recent_key(1, 1)}
    yield {"doc": "like:n0", "kind": "like", "did": HOSTILE, "card": _LIKED, **oldest}
    for number in range(1, rows):
        like_id = _hash(f"nothing {number}") >> 11
        key = recent_key(SAME_TIME + (number if number % 2 else 0), like_id if number % 2 else 0)
        fields = {"did": HOSTILE, "subject": _hash(f"gone {number}") - 2**63, "id": like_id, "recent": key}
        yield {"doc": f"like:n{number}", "kind": "like", "card": _LIKED, **fields}


def _likes_of_one(rows: int) -> Iterator[Fields]:
    """By as many people, all at one instant."""
    liked = {"subject": record_key(str(uri("mara", "track", 2))), "recent": recent_key(SAME_TIME, 0)}
    for number in range(rows):
        who = f"did:plc:{number:024d}"
        card = orjson.dumps({"did": who, "liked_at": "2026-03-01T00:00:00Z", "rkeys": ["x"]})
        yield {"doc": f"like:o{number}", "kind": "like", "did": who, "id": number, "card": card, **liked}


def _tracks(rows: int) -> Iterator[Fields]:
    """Private ones, of which nobody else may know."""
    told = track(title="Hidden", artist="Mallory", tags=["Ambient"]).model_dump(mode="json")
    for name in ("is_liked", "gated", "downloadable"):  # these depend on who asks
        del told[name]
    card, access = orjson.dumps(told)[:-1], b"owner off private"
    for number in range(rows):
        track_id = _hash(f"track {number}") >> 11
        yield {
            "doc": f"track:{number}",
            "kind": "track",
            "did": HOSTILE,
            "key": number,
            "id": kind_id("track", track_id),
            "recent": recent_key(SAME_TIME + number, track_id),
            "popular": popular_key(0, track_id),
            "card": card,
            "access": access,
        }


def _album() -> Fields:
    """As full as one can be."""
    at = str(uri("mallory", "list", 0))
    told = {
        "id": str(list_id(at)),
        "uri": at,
        "title": "Everything",
        "slug": "everything",
        "description": None,
    }
    told |= {"artist": "Mallory", "artist_handle": HANDLE, "artist_did": HOSTILE, "track_count": 0}
    return {
        "doc": "list:album",
        "kind": "album",
        "place": ["album@discovery"],
        "did": HOSTILE,
        "handle": HANDLE,
        "slug": "everything",
        "id": kind_id("album", 1),
        "recent": recent_key(SAME_TIME, 1),
        "items": orjson.dumps(list(range(MAX_ITEMS))),
        "card": orjson.dumps({**told, "total_plays": 0, "image_url": None, "created_at": WHEN, **UNLABELLED}),
    }


def _named_alike(rows: int) -> Iterator[Fields]:
    """Things that a search finds equally well, some by their whole name and some by its words alone."""
    for number in range(rows):
        kind = KINDS[number % len(KINDS)]
        public_id = _hash(f"alike {number}") >> 11
        name = {
            "doc": f"alike:{number}",
            "id": kind_id(kind, public_id),
            "recent": recent_key(SAME_TIME, public_id),
        }
        hit = {"type": kind, "title": "common", "id": public_id if kind == "track" else str(public_id)}
        hit |= {"did": HOSTILE, "handle": HANDLE, "display_name": "common", "avatar_url": None}
        alike = "common thing" if number % 3 else "a thing in common"
        yield {**result_fields(kind, name, 0, public_id, hit), **term_fields([alike]), "card": open_card(hit)}


def _playlists(rows: int) -> Iterator[Fields]:
    for number in range(rows):
        at = playlist_uri(number)
        public_id = _hash(at) >> 11
        card = {"id": str(list_id(at)), "name": "Hidden", "show_on_profile": True, "atproto_record_uri": at}
        card |= {"owner_did": HOSTILE, "owner_handle": HANDLE, "owner_display_name": "Mallory"}
        card |= {"track_count": 0, "image_url": None, "created_at": WHEN, **UNLABELLED}
        yield {
            "doc": f"list:{number}",
            "kind": "playlist",
            "place": ["playlist@discovery"],
            "did": HOSTILE,
            "id": kind_id("playlist", public_id),
            "recent": recent_key(SAME_TIME + number, public_id),
            "card": orjson.dumps(card),
        }


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
