"""Which search documents a transaction makes stale: gathered on the way, written once each at its end."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from indexer import projections
from indexer.catalogue import LISTED, Catalogue, keys, listed
from indexer.counters import Moved
from indexer.projections import Row
from indexer.rows import Applied
from schemas.ids import Did
from schemas.search_index import rounded


class Stale:
    """The documents of one transaction. Marking too many costs time; marking too few leaves wrong answers."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._documents: dict[tuple[str, int | None, str | None], None] = {}
        self._by_type: dict[str, Callable[[Applied], None]] = {
            "track": self._tracks,
            "like": self._likes,
            "comment": self._comments,
            "list": self._lists,
            "profile": self._profiles,
        }

    def rows(self, first_op: int) -> list[dict[str, Any]]:
        """The outbox's rows, numbered from `first_op`."""
        return [
            {"op": op, "kind": kind, "key": key, "name": name}
            for op, (kind, key, name) in enumerate(self._documents, first_op)
        ]

    def changed(self, applied: Applied) -> None:
        """What the changed rows of one table touch."""
        self._by_type[applied.projection.name](applied)

    def renamed(self, dids: Collection[Did]) -> None:
        """Everything that shows an account's name, picture or server."""
        if not dids:
            return
        self._named("artist", dids)
        mine = f"where did in {LISTED}"
        self._found("track", f"select key from tracks {mine}", dids)
        self._found("list", f"select key from lists {mine}", dids)
        self._found("track", f"select distinct track_key from track_features {mine}", dids)
        self._found(
            "list",
            f"select distinct list_key from list_items where subject_key in (select key from tracks {mine})",
            dids,
        )

    def shown_or_hidden(self, dids: Collection[Did]) -> None:
        """Everything that an account's being visible decides about."""
        if not dids:
            return
        self.renamed(dids)
        mine = f"where did in {LISTED} and state = 'live'"
        self._found("like", f"select distinct pair from likes {mine}", dids)
        self._found("comment", f"select key from comments {mine}", dids)
        tags = f"select distinct tag from track_tags where track_key in (select key from tracks {mine})"
        self._named("tag", [tag for (tag,) in self._catalogue.rows(tags, [listed(dids)])])

    def measured(self, cids: Collection[str]) -> None:
        """Tracks and lists that show an image."""
        if not cids:
            return
        self._found("track", f"select key from tracks where image_cid in {LISTED}", cids)
        self._found("list", f"select key from lists where image_cid in {LISTED}", cids)

    def counted(self, moved: Iterable[Moved]) -> None:
        """Tracks whose counts changed: their cards, and what they are found by if a search knows of it."""
        for subject, before, after in moved:
            self.keyed("count" if rounded(before) == rounded(after) else "track", [subject])

    def played(self, tracks: Collection[int]) -> None:
        """Albums and tags of which the plays are told, besides the tracks' own."""
        if not tracks:
            return
        these = keys(tracks)
        self._found("list", f"select distinct list_key from list_items where subject_key in ({these})")
        tags = f"select distinct tag from track_tags where track_key in ({these})"
        self._named("tag", [tag for (tag,) in self._catalogue.rows(tags)])
        artists = f"select distinct did from tracks where album is not null and key in ({these})"
        self._albums_of({Did(did) for (did,) in self._catalogue.rows(artists)})

    def stray(self) -> None:
        """What shows rows that belong to no record."""
        strays = dict(projections.strays())
        tags = self._catalogue.rows(f"select distinct tag from track_tags where {strays['track_tags']}")
        self._named("tag", [tag for (tag,) in tags])
        self._found("track", f"select distinct subject_key from list_items where {strays['list_items']}")

    def keyed(self, kind: str, numbers: Iterable[int]) -> None:
        """Mark documents that are known by a number."""
        self._documents.update(((kind, number, None), None) for number in numbers)

    def _named(self, kind: str, names: Iterable[str]) -> None:
        self._documents.update(((kind, None, name), None) for name in names)

    def _found(self, kind: str, query: str, words: Collection[str] = ()) -> None:
        found = self._catalogue.rows(query, [listed(words)] if words else [])
        self.keyed(kind, (number for (number,) in found))

    def _tracks(self, applied: Applied) -> None:
        rows = self._written(applied)
        self.keyed("track", (row["key"] for row in rows))
        self.keyed("track", applied.moved)
        self._named("tag", (row["tag"] for row in applied.children("track_tags")))
        if rows:
            held = keys({row["key"] for row in rows})
            self._found("list", f"select distinct list_key from list_items where subject_key in ({held})")
        # A track belongs to an album by naming it, too.
        self._albums_of({row["did"] for row in rows if row["album"] is not None})

    def _written(self, applied: Applied) -> list[Row]:
        """Every version, of which the artist's document may tell."""
        rows = list(applied.versions())
        self._named("artist", {row["did"] for row in rows})
        return rows

    def _reacted(self, applied: Applied) -> None:
        """Of likes and comments the person's document tells nothing; but it comes and goes with them."""
        before, after = (
            {key for key, row in rows.items() if row["state"] == "live"}
            for rows in (applied.before, applied.after)
        )
        self._named("person", {applied.after[key]["did"] for key in after - before})
        self._named("artist", {applied.before[key]["did"] for key in before - after})

    def _likes(self, applied: Applied) -> None:
        self._reacted(applied)
        self.keyed("like", (row["pair"] for row in applied.versions()))

    def _comments(self, applied: Applied) -> None:
        self._reacted(applied)
        self.keyed("comment", (row["key"] for row in applied.versions()))
        self.keyed("comment", applied.moved)

    def _lists(self, applied: Applied) -> None:
        rows = self._written(applied)
        self.keyed("list", (row["key"] for row in rows))
        album_rows = [row for row in rows if row["list_type"] == "album"]
        changed, held = {row["key"] for row in album_rows}, applied.children("list_items")
        self.keyed("track", (item["subject_key"] for item in held if item["list_key"] in changed))
        # One album more or less can change the slugs of the artist's others, and cards carry slugs.
        artists = {row["did"] for row in album_rows}
        self._albums_of(artists)
        if artists:
            mine = f"did in {LISTED}"
            self._found("track", f"select key from tracks where album is not null and {mine}", artists)
            albums = f"select key from lists where list_type = 'album' and {mine}"
            items = f"select distinct subject_key from list_items where list_key in ({albums})"
            self._found("track", items, artists)

    def _profiles(self, applied: Applied) -> None:
        self.renamed({row["did"] for row in self._written(applied)})

    def _albums_of(self, artists: Collection[Did]) -> None:
        if artists:
            mine = f"did in {LISTED}"
            self._found("list", f"select key from lists where list_type = 'album' and {mine}", artists)
