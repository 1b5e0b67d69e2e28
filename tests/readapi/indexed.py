"""Search indexes filled by hand: documents as the indexer makes them, without a catalogue behind them."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from indexer.cards import albums, artist, people, tag, track
from indexer.cards.fields import Fields
from indexer.index_folder import IndexFolder
from readapi.search import Index
from readapi.searching import Search, search
from schemas import search_index
from schemas.ids import record_id

BASE = "https://music.example"
START = datetime(2026, 3, 1)  # noqa: DTZ001  # as the catalogue keeps times: UTC without saying so


def person(name: str, display_name: str | None = None, **fields: Any) -> people.Person:
    """Somebody with a profile."""
    known = {"created_at": START, "indexed_at": START} | fields
    return people.Person(f"did:plc:{name}", f"{name}.example", "https://pds.example", display_name, **known)


def track_document(number: int, title: str, owner: people.Person, **fields: Any) -> Fields:
    """The nth track, as it stands in the index."""
    uri = f"at://{owner.did}/fm.svc.track/{number}"
    row: dict[str, Any] = dict.fromkeys(track.Row.__slots__) | {
        "key": number,
        "uri": uri,
        "did": owner.did,
        "id": record_id(uri),
        "title": title,
        "artist": owner.name,
        "file_type": "mp3",
        "rev": "3kznmn7xqxl22",
        "verified": "commit",
        "verified_at": START,
        "listening": "public",
        "downloads": "open",
        "visibility": "public",
    }
    row |= {name: START + timedelta(seconds=number) for name in ("created_at", "indexed_at", "since")}
    shelves = albums.Shelves()
    return track.document(track.Row(**row | fields), {owner.did: owner}, shelves, BASE)


def artist_document(owner: people.Person, popular: int = 0) -> Fields:
    """An artist, as they stand in the index."""
    return artist.document(owner, popular)


def tag_document(name: str, track_count: int = 1) -> Fields:
    """A tag, as it stands in the index."""
    return tag.document(name, track_count, 0)


class Indexed:
    """Both indexes: written here, read through the door that requests use."""

    def __init__(self, folder: Path) -> None:
        search = folder / "search"
        self.catalog = IndexFolder.open(search / "catalog", search_index.catalog_schema())
        self.social = IndexFolder.open(search / "social", search_index.social_schema())
        self.index = Index(folder)
        self.write([])

    def write(self, catalog: Iterable[Fields], social: Iterable[Fields] = ()) -> None:
        """Put documents in, in place of those of the same name, and see them."""
        for folder, documents in ((self.catalog, list(catalog)), (self.social, list(social))):
            folder.drop(fields["doc"] for fields in documents)
            folder.add(documents)
            folder.commit(folder.watermark + 1)
        self.index.refresh()

    def drop(self, *names: str) -> None:
        """Take documents out, and see that."""
        self.catalog.drop(names)
        self.write([])

    def titles(self, text: str, **asked: Any) -> list[str]:
        """What a search for tracks finds, in order."""
        return [result["title"] for result in self.results(text, kinds=("track",), **asked)]

    def results(self, text: str, limit: int = 50, **asked: Any) -> list[dict[str, Any]]:
        """What a search finds, in order."""
        found = search(self.index, Search(text, **asked), None, limit)
        return [orjson.loads(result) for result in found.results]

    def close(self) -> None:
        self.catalog.close()
        self.social.close()
