"""Accounts -> search documents of artists."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import duckdb
import orjson

from indexer.catalog.database import join_words
from indexer.search.documents import lists, tag
from indexer.search.documents.fields import (
    EPOCH,
    Documents,
    Fields,
    card_json,
    name_fields,
    of_kind,
    result_fields,
    term_fields,
    unless_hidden,
)
from indexer.search.documents.labels import Labels
from indexer.search.documents.lists import Item
from indexer.search.documents.people import Person
from indexer.search.documents.tag import TagCounts
from schemas.ids import record_id
from schemas.labels import label_members
from schemas.pictures import picture_of
from schemas.search_index import kind_id
from schemas.stored import Card

WORKS = """
    with works as materialized (
        select key, did
        from visible_tracks
        where visibility <> 'private' and did in (select unnest(string_split($dids, ' ')))
    ),
    counts as materialized (
        select subject_key, likes + plays as counted
        from track_counts
        where subject_key in (select key from works)
    )
    select did, sum(coalesce(counted, 0))::bigint
    from works left join counts on subject_key = key
    group by did
"""

LISTED = """
    select distinct did from lists where state = 'live' and did in (select unnest(string_split($dids, ' ')))
"""

PRESENT = """
    select did from tracks
    where state in ('live', 'withheld') and did in (select unnest(string_split($dids, ' ')))
    union select did from visible_likes where did in (select unnest(string_split($dids, ' ')))
    union select did from visible_comments where did in (select unnest(string_split($dids, ' ')))
"""


class Works(Protocol):
    """What visible accounts have published, what lists hold, and what tags are used for."""

    def popularity(self, dids: Collection[str]) -> dict[str, int]:
        """The sum of likes and plays of the public tracks of each of these accounts that has such tracks."""

    def present(self, dids: Collection[str]) -> set[str]:
        """Those of these accounts that have a track, a like or a comment."""

    def items(self, keys: Collection[int]) -> Mapping[int, Item]:
        """Those of these tracks that are shown at all, by key."""

    def tagged(self, names: Collection[str]) -> Iterable[tuple[str, TagCounts]]:
        """The counts of those of these tags that a listed track carries."""


class CataloguedWorks:
    """The same, read from the catalogue for many accounts at a time."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def popularity(self, dids: Collection[str]) -> dict[str, int]:
        return dict(self._con.execute(WORKS, {"dids": join_words(dids)}).fetchall())

    def present(self, dids: Collection[str]) -> set[str]:
        return {did for (did,) in self._con.execute(PRESENT, {"dids": join_words(dids)}).fetchall()}

    def items(self, keys: Collection[int]) -> Mapping[int, Item]:
        return lists.load_items(self._con, keys)

    def tagged(self, names: Collection[str]) -> Iterable[tuple[str, TagCounts]]:
        return tag.load_tags(self._con, names)


def load_artists(
    con: duckdb.DuckDBPyConnection, known: Mapping[str, Person], works: Works
) -> dict[str, int | None]:
    """The accounts that have a document, with their popularity; None: not found by a search.

    Accounts with public tracks, a list or a profile are found. Others have a document for their likes,
    comments or private tracks.
    """
    popular: dict[str, int | None] = dict(works.popularity(known.keys()))
    for (did,) in con.execute(LISTED, {"dids": join_words(known)}).fetchall():
        popular.setdefault(did, 0)
    for did, person in known.items():
        if person.indexed_at is not None:
            popular.setdefault(did, 0)
    others = known.keys() - popular.keys()
    return popular | dict.fromkeys(works.present(others) if others else ())


def artist_documents(person: Person, popular: int | None, labels: Labels) -> Documents:
    """The account's documents."""
    card = {
        "did": person.did,
        "handle": person.handle,
        "display_name": person.display_name,
        "bio": person.bio,
        "avatar_url": person.avatar_url,
        "support_url": person.support_url,
        "show_liked_on_profile": True,
        "created_at": person.created_at,
        "updated_at": person.updated_at,
        **label_members(labels.of(person.did)),
    }
    since, artist_id = min(person.created_at or EPOCH, person.indexed_at or EPOCH), record_id(person.did)
    name = {**name_fields("artist", f"artist:{person.did}", artist_id, since), "did": person.did}
    effect = labels.effect(person.did)
    shown = {
        **name,
        **of_kind("artist", unless_hidden(effect if popular is not None else "hidden")),
        "access": effect.encode(),
        "handle": person.known_handle.lower() if person.known_handle else "",
        "picture": picture_of(person.avatar_url) or "",
        "card": card_json(card),
    }
    if popular is None:
        return Documents(shown, None)
    return Documents(shown, _words_fields(name, card, popular, effect == "adult"))


def ranked_words(packed: bytes, recent: int, popular: int) -> Fields:
    """The searchable document of an artist of whom only the popularity has changed.

    `packed` and `recent`: the shown document as it is stored, and its sort key by time.
    """
    known = Card(memoryview(packed))
    artist_id = kind_id("artist", record_id(known.did))
    name = {"doc": known.doc, "id": artist_id, "recent": recent, "did": known.did}
    return _words_fields(name, orjson.loads(known.card), popular, known.is_adult)


def _words_fields(name: Fields, card: Mapping[str, Any], popular: int, is_adult: bool) -> Fields:
    """The searchable document's fields, from those that both documents share, and the card."""
    # For its names alone: it knows neither server nor picture.
    person = Person(card["did"], card["handle"], display_name=card["display_name"])
    hit = {
        "type": "artist",
        "did": person.did,
        "handle": person.handle,
        "display_name": person.name,
        "avatar_url": card["avatar_url"],
    }
    found = result_fields("artist", name, popular, record_id(person.did), hit, adult=is_adult)
    return found | term_fields(person.names, prose=card["bio"], scope="artist")
