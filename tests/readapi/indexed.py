"""Search indexes filled by hand: documents as the indexer makes them, without a catalogue behind them."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from indexer.search.documents import albums, artist, labels, people, tag, track
from indexer.search.documents.fields import Documents, Fields
from indexer.search.folder import IndexFolder
from readapi.index.lookups import Index
from readapi.index.search.execute import Found, Search, execute_search
from schemas import data_folder, search_index
from schemas.ids import record_id

BASE = "https://music.example"
START = datetime(2026, 3, 1)  # noqa: DTZ001  # as the catalogue keeps times: UTC without saying so


def person(name: str, display_name: str | None = None, **fields: Any) -> people.Person:
    """Somebody with a profile."""
    known = {"created_at": START, "indexed_at": START} | fields
    return people.Person(f"did:plc:{name}", f"{name}.example", "https://pds.example", display_name, **known)


def track_documents(number: int, title: str, owner: people.Person, **fields: Any) -> Documents:
    """The nth track, as it stands in the index."""
    uri = f"at://{owner.did}/fm.svc.track/{number}"
    row: dict[str, Any] = dict.fromkeys(track.TrackRow.__slots__) | {
        "key": number,
        "uri": uri,
        "did": owner.did,
        "id": record_id(uri),
        "title": title,
        "artist": owner.name,
        "file_type": "mp3",
        "rev": "3kznmn7xqxl22",
        "state": "live",
        "verified": "commit",
        "verified_at": START,
        "listening": "public",
        "downloads": "open",
        "visibility": "public",
    }
    row |= {name: START + timedelta(seconds=number) for name in ("created_at", "indexed_at", "since")}
    shelves = albums.AlbumsByArtist()
    return track.track_documents(
        track.TrackRow(**row | fields), {owner.did: owner}, shelves, labels.Labels(), BASE
    )


def artist_documents(owner: people.Person, popular: int = 0) -> Documents:
    """An artist, as they stand in the index."""
    return artist.artist_documents(owner, popular, labels.Labels())


def tag_documents(name: str, track_count: int = 1) -> Documents:
    """A tag, as it stands in the index."""
    return tag.tag_documents(name, tag.TagCounts(track_count, 0))


class Indexed:
    """The indexes: written here, read through the door that requests use."""

    def __init__(self, folder: Path) -> None:
        search = folder / data_folder.SEARCH
        self.catalog, self.words, self.social = (
            IndexFolder.open(search / name, schema) for name, schema in search_index.search_schemas().items()
        )
        self.index = Index(folder, BASE)
        self.write([])

    def write(self, catalog: Iterable[Documents], social: Iterable[Fields] = ()) -> None:
        """Put documents in, in place of those of the same name, and see them."""
        both = list(catalog)
        self._replace(self.catalog, [documents.shown for documents in both])
        self._replace(self.words, [documents.words for documents in both if documents.words])
        self._replace(self.social, list(social))
        self.index.refresh()

    def drop(self, *names: str) -> None:
        """Take documents out, and see that."""
        self.catalog.drop(names)
        self.words.drop(names)
        self.write([])

    @staticmethod
    def _replace(folder: IndexFolder, documents: list[Fields]) -> None:
        folder.drop(fields["doc"] for fields in documents)
        folder.add(documents)
        folder.commit(folder.watermark + 1)

    def titles(self, text: str, **asked: Any) -> list[str]:
        """What a search for tracks finds, in order."""
        return [result["title"] for result in self.results(text, kinds=("track",), **asked)]

    def results(self, text: str, limit: int = 50, **asked: Any) -> list[dict[str, Any]]:
        """What a search finds, in order."""
        found = execute_search(self.index, Search(text, **asked), None, limit)
        return [orjson.loads(result) for result in found.results]

    def pages(self, wanted: Search, limit: int = 50) -> Iterator[Found]:
        """All pages of a search, in order."""
        page = execute_search(self.index, wanted, None, limit)
        yield page
        while page.after is not None:
            page = execute_search(self.index, wanted, page.after, limit)
            yield page

    def close(self) -> None:
        for folder in (self.catalog, self.words, self.social):
            folder.close()
