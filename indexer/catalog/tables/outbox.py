"""The outbox: collects the search documents that a transaction makes stale, for the search index."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from indexer.catalog import projections
from indexer.catalog.database import LISTED, Database, join_keys, join_words
from indexer.catalog.projections import Applied, Row
from indexer.catalog.tables.track_counts import Moved
from schemas.ids import Did
from schemas.search_index import round_count

_TURNS: Final = {"list": 1, "artist": 2, "person": 2, "tag": 2}
NO_RECORD: Final = ""  # of a like that has no live record any more


def pack_like(row: Row) -> str:
    """A like's only live record, as the outbox has it: account, subject's key, time in UTC and record key."""
    since = min(row["created_at"], row["indexed_at"])
    return f"{row['did']} {row['subject_key']} {since.isoformat()} {row['rkey']}"


def unpack_like(record: str) -> tuple[str, int, datetime, str]:
    """The inverse of `pack_like`."""
    did, subject, since, rkey = record.split(" ")
    return did, int(subject), datetime.fromisoformat(since), rkey


class Stale:
    """The documents of one transaction. Marking too many costs time; marking too few leaves wrong answers."""

    def __init__(self, catalogue: Database) -> None:
        self._catalogue = catalogue
        self._likes: dict[int, str | None] = {}
        self._documents: dict[tuple[str, int | None, str | None], None] = {}

    def rows(self, first_op: int) -> list[dict[str, Any]]:
        """The outbox's rows, numbered from `first_op`.

        Lists come after tracks, and artists and tags last, since their documents count what those of others
        show: a step that ends within a transaction has replaced these by then. Of two rows of a like the last
        holds, so what is to be looked up comes after what is known.
        """
        likes = [("like", pair, record) for pair, record in self._likes.items()]
        others = sorted(self._documents, key=lambda document: _TURNS.get(document[0], 0))
        return [
            {"op": op, "kind": kind, "key": key, "name": name}
            for op, (kind, key, name) in enumerate([*likes, *others], first_op)
        ]

    def changed(self, applied: Applied) -> None:
        """Mark the documents that the changed rows of one table appear in."""
        applied.projection.mark_stale(applied, self)

    def liked(self, applied: Applied, live: Mapping[int, int]) -> None:
        """Mark changed likes. `live`: how many live records each pair has.

        Most have one, which this transaction has in its hands: its document needs no look-up.
        """
        rows = {row["pair"]: row for row in applied.after.values() if row["state"] == "live"}
        for pair, count in live.items():
            if count == 0:
                self._likes[pair] = NO_RECORD
            else:
                self._likes[pair] = pack_like(rows[pair]) if count == 1 and pair in rows else None

    def renamed(self, dids: Collection[Did]) -> None:
        """Mark all documents that show an account's name, picture or PDS."""
        if dids:
            self._named_in(dids)

    def _named_in(self, dids: Collection[Did]) -> list[int]:
        """Mark what shows the names of these accounts. Returns the keys of their tracks."""
        self.named("artist", dids)
        mine = f"where did in {LISTED}"
        tracks = self._found("track", f"select key from tracks {mine}", dids)
        self._found("list", f"select key from lists {mine}", dids)
        self._found("track", f"select distinct track_key from track_features {mine}", dids)
        return tracks

    def labelled(self, dids: Collection[Did]) -> None:
        """Mark all documents that tell an account's labels. Comments have them joined when read."""
        if not dids:
            return
        self.named("artist", dids)
        for kind, table in (("track", "tracks"), ("list", "lists")):
            self._found(kind, f"select key from {table} where did in {LISTED}", dids)

    def shown_or_hidden(self, dids: Collection[Did]) -> None:
        """Mark all documents that depend on an account's visibility."""
        if not dids:
            return
        self.lists_with(self._named_in(dids))
        mine = f"where did in {LISTED} and state = 'live'"
        for projection in projections.ALL:
            if projection.own_document is not None:
                kind, column = projection.own_document
                self._found(kind, f"select distinct {column} from {projection.table} {mine}", dids)
        tags = f"select distinct tag from track_tags where track_key in (select key from tracks {mine})"
        self.named("tag", [tag for (tag,) in self._catalogue.rows(tags, [join_words(dids)])])

    def measured(self, cids: Collection[str]) -> None:
        """Mark the tracks and lists that show an image."""
        if not cids:
            return
        self._found("track", f"select key from tracks where image_cid in {LISTED}", cids)
        self._found("list", f"select key from lists where image_cid in {LISTED}", cids)

    def counted(self, moved: Iterable[Moved]) -> None:
        """Mark tracks with changed counts, of which few change the track's rank in searches too."""
        for subject, before, after in moved:
            if round_count(before) == round_count(after):
                self.keyed("count", [subject])
            elif ("track", subject, None) not in self._documents:
                self.keyed("rank", [subject])

    def played(self, tracks: Collection[int]) -> None:
        """Mark the lists and tags that show the sum of these tracks' plays."""
        if not tracks:
            return
        these = join_keys(tracks)
        self._found("list", f"select distinct list_key from list_items where subject_key in ({these})")
        tags = f"select distinct tag from track_tags where track_key in ({these})"
        self.named("tag", [tag for (tag,) in self._catalogue.rows(tags)])
        artists = f"select distinct did from tracks where album is not null and key in ({these})"
        self.albums_of({Did(did) for (did,) in self._catalogue.rows(artists)})

    def stray(self) -> None:
        """Mark documents that show child rows that belong to no record."""
        strays = dict(projections.find_strays())
        tags = self._catalogue.rows(f"select distinct tag from track_tags where {strays['track_tags']}")
        self.named("tag", [tag for (tag,) in tags])
        self._found("track", f"select distinct subject_key from list_items where {strays['list_items']}")

    def keyed(self, kind: str, numbers: Iterable[int]) -> None:
        """Mark documents that are known by a number."""
        self._documents.update(((kind, number, None), None) for number in numbers)

    def named(self, kind: str, names: Iterable[str]) -> None:
        """Mark documents that are known by a name."""
        self._documents.update(((kind, None, name), None) for name in names)

    def _found(self, kind: str, query: str, words: Collection[str] = ()) -> list[int]:
        """Mark what a query finds. Returns the numbers."""
        found = [number for (number,) in self._catalogue.rows(query, [join_words(words)] if words else [])]
        self.keyed(kind, found)
        return found

    def written(self, applied: Applied) -> list[Row]:
        """All versions of the changed rows; marks their artists."""
        rows = list(applied.versions())
        self.named("artist", {row["did"] for row in rows})
        return rows

    def reacted(self, applied: Applied) -> None:
        """Mark accounts whose first like or comment came, or whose last one went: it makes a document due.

        One that takes the place of another is both: a step may end between their two documents.
        """
        own_document = applied.projection.own_document
        assert own_document is not None
        _, name = own_document
        before, after = (
            {(row["did"], row[name]) for row in rows.values() if row["state"] == "live"}
            for rows in (applied.before, applied.after)
        )
        self.named("person", {did for did, _ in after - before})
        self.named("artist", {did for did, _ in before - after})

    def lists_with(self, tracks: Collection[int]) -> None:
        """Mark the lists that hold these tracks."""
        if tracks:
            held = join_keys(tracks)
            self._found("list", f"select distinct list_key from list_items where subject_key in ({held})")

    def albums_of(self, artists: Collection[Did]) -> None:
        """Mark all albums of these artists."""
        if artists:
            mine = f"did in {LISTED}"
            self._found("list", f"select key from lists where list_type = 'album' and {mine}", artists)

    def album_tracks_of(self, artists: Collection[Did]) -> None:
        """Mark all tracks on albums of these artists, by the albums' lists or by their own word."""
        if artists:
            mine = f"did in {LISTED}"
            self._found("track", f"select key from tracks where album is not null and {mine}", artists)
            albums = f"select key from lists where list_type = 'album' and {mine}"
            items = f"select distinct subject_key from list_items where list_key in ({albums})"
            self._found("track", items, artists)
