"""What everybody may see of the records, and how each transaction changes it: the change log's entries.

Published are tracks that `schemas.access` shows everybody in discovery, and lists and profiles, each while it
is live, not for adults, and its account not hidden; and likes and comments of published tracks. Where a track
or an account is hidden or deleted, what depends on it has no entries of its own; where it is shown, that is
shown after it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from indexer.catalog.database import LISTED, Database, join_keys, join_words
from indexer.catalog.hash_sets import HashSet
from indexer.catalog.projections import Applied, Row
from indexer.catalog.tables.accounts import Accounts
from indexer.catalog.tables.labels import LabelTable
from indexer.catalog.tables.records import RecordTable
from schemas.access import VISIBILITY, Access, may_see
from schemas.change_log import Entry, Operation
from schemas.collections import Collections
from schemas.ids import Did, Nsid, record_key

_IS_PUBLIC: Final = {
    visibility: may_see(Access(Did(""), visibility=visibility), None, "discovery")  # type: ignore[arg-type]
    for visibility in VISIBILITY
}
_SHOWN_VISIBILITIES: Final = ", ".join(f"'{name}'" for name, is_public in _IS_PUBLIC.items() if is_public)
_PUBLIC: Final = f"visibility in ({_SHOWN_VISIBILITIES})"
_UNPUBLISHED: Final = f"(state != 'live' or not {_PUBLIC} or key in (select key from adult_tracks))"
_REACTIONS: Final = ("like", "comment")
_FIELDS: Final = "key, uri, did, rkey, rev, cid"


class PublishedRecords:
    """Keeps in memory which tracks are stored and not published, and which have likes or comments."""

    def __init__(
        self,
        catalogue: Database,
        tracks: RecordTable,
        accounts: Accounts,
        labels: LabelTable,
        collections: Collections,
    ) -> None:
        self._catalogue = catalogue
        self._tracks = tracks
        self._accounts = accounts
        self._labels = labels
        self._collections = collections
        self.load()

    def load(self) -> None:
        """Load the memory from the table: at the start, and after a transaction was rolled back."""
        unseen = self._catalogue.hashes("tracks", "key", _UNPUBLISHED)
        self._unpublished: set[int] = set(unseen.tolist())
        self._about = HashSet(self._catalogue.hashes("track_counts", "subject_key"))

    def changed(self, applied: Iterable[Applied]) -> Iterator[Entry]:
        """The entries of changed tables. Statuses of accounts are those before the transaction."""
        tables = list(applied)
        appeared: set[int] = set()
        for table in tables:
            if table.projection.name == "track":
                appeared |= self._follow_tracks(table)
        known = self._about.known(appeared)
        for table in tables:
            if table.projection.name not in _REACTIONS:
                yield from self._of_table(table)
        told: set[int] = set()
        for table in tables:
            if table.projection.name in _REACTIONS:
                told |= table.after.keys()
                yield from self._of_reactions(table, appeared)
        yield from self._reactions_shown(known, told)

    def removed(self, dids: Collection[Did]) -> None:
        """Note accounts that are about to be removed with their tracks."""
        if dids:
            query = f"select key from tracks where did in {LISTED}"
            self._unpublished.update(key for (key,) in self._catalogue.rows(query, [join_words(dids)]))

    def shown_or_hidden(self, dids: Collection[Did]) -> Iterator[Entry]:
        """The entries of accounts that were shown or hidden just now."""
        hidden = [did for did in sorted(dids) if did in self._accounts.hidden]
        statuses = self._accounts.statuses(hidden)
        for did in hidden:
            yield _of_account("account", did, False, statuses[did])
        shown = sorted(set(dids) - set(hidden))
        yield from (_of_account("account", did, True, None) for did in shown)
        yield from self._all_shown(shown)

    def renamed(self, dids: Collection[Did]) -> Iterator[Entry]:
        """The entries of accounts with another handle, of those that are not hidden."""
        for did, handle in self._accounts.handles(did for did in dids if did not in self._accounts.hidden):
            yield _of_account("identity", did, handle)

    def _is_shown(self, row: Row) -> bool:
        """Whether a version of a track, list or profile is published."""
        return self._may_be_shown(row) and not self._labels.is_adult(row)

    def _was_shown(self, row: Row | None) -> bool:
        """Whether a version was published before the transaction."""
        return row is not None and self._may_be_shown(row) and not self._labels.was_adult(row)

    def _may_be_shown(self, row: Row) -> bool:
        return (
            row["state"] == "live"
            and row["did"] not in self._accounts.hidden
            and _IS_PUBLIC.get(row.get("visibility") or "public", False)
        )

    def _follow_tracks(self, table: Applied) -> set[int]:
        """Note which tracks are published now. Returns those that were not before."""
        appeared = set()
        for key, row in table.after.items():
            is_adult = self._labels.is_adult(row)
            if row["state"] == "live" and _IS_PUBLIC[row["visibility"]] and not is_adult:
                self._unpublished.discard(key)
            else:
                self._unpublished.add(key)
            if self._is_shown(row) and not self._was_shown(table.before.get(key)):
                appeared.add(key)
        return appeared

    def _of_table(self, table: Applied) -> Iterator[Entry]:
        collection = self._collections.of(table.projection.name)
        tags: dict[int, dict[str, None]] = {}
        for child in table.children("track_tags"):
            tags.setdefault(child["track_key"], {})[child["tag"]] = None
        items: dict[int, set[int]] = {}
        uris: dict[int, str] = {}
        for child in table.children_after.get("list_items", ()):
            items.setdefault(child["list_key"], set()).add(child["subject_key"])
            uris[child["subject_key"]] = child["subject_uri"]
        published = self._published_tracks(uris)
        for key, row in table.after.items():
            before = table.before.get(key)
            operation = _operation(before, row, self._was_shown(before), self._is_shown(row))
            if operation is not None:
                # A list may name tracks that are not public, or of hidden accounts: its record is not told.
                record = _block(table, key) if items.get(key, published) <= published else b""
                yield _entry(row, collection, operation, row["did"], tuple(tags.get(key, ())), record)

    def _of_reactions(self, table: Applied, appeared: set[int]) -> Iterator[Entry]:
        """Likes and comments. Where the track was hidden or deleted too, its own entry covers them."""
        collection, hidden = self._collections.of(table.projection.name), self._accounts.hidden
        subjects = {
            row["subject_key"]: row["subject_uri"]
            for rows in (table.before, table.after)
            for row in rows.values()
            if row.get("subject_key") is not None  # tombstones and invalid records name none
        }
        self._about.add(subjects.keys())
        published = self._published_tracks(subjects)
        published_before = published - appeared
        for key, row in table.after.items():
            if row["did"] in hidden:
                continue
            now = row["state"] == "live" and row["subject_key"] in published
            if (before := table.before.get(key)) is None:
                if now:  # most of all changes
                    yield _entry(
                        row, collection, "create", _did_of(row["subject_uri"]), record=_block(table, key)
                    )
                continue
            was = before["state"] == "live" and before["subject_key"] in published_before
            operation = _operation(before, row, was, now)
            if operation is not None:
                about = row if now else before
                artist, subject = _did_of(about["subject_uri"]), about["subject_key"]
                yield _entry(row, collection, operation, artist, record=_block(table, key), subject=subject)

    def _published(self, keys: Collection[int]) -> set[int]:
        """Those of these keys that are of a stored track that is not unpublished."""
        return {key for key in self._tracks.known(keys) if key not in self._unpublished}

    def _published_tracks(self, uris: Mapping[int, str]) -> set[int]:
        """Those of these tracks that are published. `uris`: by their keys."""
        hidden = self._accounts.hidden
        return {key for key in self._published(uris.keys()) if _did_of(uris[key]) not in hidden}

    def _reactions_shown(self, tracks: Collection[int], told: Collection[int]) -> Iterator[Entry]:
        """The likes and comments stored before these tracks were published, without those `told`."""
        if tracks:
            yield from self._found_reactions(f"subject_key in ({join_keys(tracks)})", (), told)

    def _all_shown(self, dids: Sequence[Did]) -> Iterator[Entry]:
        """Everything published of accounts that are shown again, and what others published about it."""
        if not dids:
            return
        words, mine = (join_words(dids),), f"did in {LISTED}"
        tracks = self._found(f"from listed_tracks where {mine}", words)
        keys = {row["key"] for row in tracks}
        tags = self._tags(keys)
        for row in tracks:
            yield _entry(row, self._collections.track, "show", row["did"], tags.get(row["key"], ()))
        for row in self._found(f"from listed_lists where {mine}", words):
            yield _entry(row, self._collections.list, "show", row["did"])
        for row in self._found(f"from profiles where state = 'live' and {mine}", words):
            yield _entry(row, self._collections.of("profile"), "show", row["did"])
        told = set()
        for entry in self._found_reactions(mine, words, ()):
            told.add(entry.key)
            yield entry
        yield from self._reactions_shown(self._about.known(keys), told)

    def _found_reactions(
        self, condition: str, words: Sequence[str], told: Collection[int]
    ) -> Iterator[Entry]:
        for name in _REACTIONS:
            query = f"from visible_{name}s where {condition}"
            rows = self._found(query, words, f"{_FIELDS}, subject_key, subject_uri")
            published = self._published_tracks({row["subject_key"]: row["subject_uri"] for row in rows})
            for row in rows:
                # The views follow the operator's takedowns earlier than the accounts in memory do.
                if row["did"] in self._accounts.hidden or row["key"] in told:
                    continue
                if row["subject_key"] in published:
                    artist = _did_of(row["subject_uri"])
                    yield _entry(row, self._collections.of(name), "show", artist)

    def _found(self, query: str, words: Sequence[str], fields: str = _FIELDS) -> list[Row]:
        names = fields.split(", ")
        rows = self._catalogue.rows(f"select {fields} {query} order by key", words)
        return [dict(zip(names, values, strict=True)) for values in rows]

    def _tags(self, keys: Collection[int]) -> dict[int, tuple[str, ...]]:
        query = (
            f"select track_key, list(tag) from track_tags where track_key in ({join_keys(keys)}) group by all"
        )
        return {key: tuple(tags) for key, tags in self._catalogue.rows(query)} if keys else {}


def _operation(before: Row | None, row: Row, was: bool, now: bool) -> Operation | None:
    """What happened to a record in the eyes of everybody; None: nothing."""
    if was and now:
        return None if before is not None and before["cid"] == row.get("cid") else "update"
    if now:
        return "create" if before is None or before["state"] in ("deleted", "invalid") else "show"
    if was:
        return "delete" if row["state"] == "deleted" else "hide"
    return None


def _of_account(operation: Operation, did: Did, *fields: str | bool | None) -> Entry:
    """The entry of an account: shown or hidden and with which status, or its new handle."""
    return Entry(operation, did, record_key(did), did, (), fields)


def _entry(
    row: Row,
    collection: Nsid,
    operation: Operation,
    artist: str,
    tags: Sequence[str] = (),
    record: bytes = b"",
    subject: int | None = None,
) -> Entry:
    """The entry of a record. What ceases to be published has neither its CID nor its content."""
    is_shown = operation not in ("delete", "hide")
    fields = (
        collection,
        row["rkey"],
        row["rev"],
        row["cid"] if is_shown else None,
        subject or row.get("subject_key"),
    )
    return Entry(operation, row["did"], row["key"], artist, tags, fields, record if is_shown else b"")


def _block(table: Applied, key: int) -> bytes:
    """The record as it was read; empty where the operator shows it again."""
    change = table.changes.get(key)
    return b"" if change is None else change.block or b""


def _did_of(uri: str) -> str:
    """The account of a record's at-uri, which was checked when the record was read."""
    return uri[5 : uri.index("/", 5)]
