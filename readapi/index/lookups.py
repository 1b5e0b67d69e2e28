"""Look-ups in the search index, each in some tens of microseconds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import orjson
from tantivy import DocAddress, FieldType, Query

from readapi.index.folder import IndexFolder, State, match_all, match_any
from readapi.index.folders import IndexFolders
from readapi.index.paging import MANY, Listing, Page, Placed, Position, Row, Spans, batch_sizes, sift_page
from readapi.index.takedowns import StandingTakedowns
from schemas.access import Place, Viewer
from schemas.ids import ID_BITS, normalise_tag, record_key
from schemas.recent import Recent
from schemas.search_index import Kind, kind_id, place_term
from schemas.stored import Card, Stored, card_of

Sort = Literal["recent", "popular"]
MOST_OF_A_FILE = 20
MOST_LIKED = 5000  # newest likes of one account, among which visible ones are counted
MOST_REMEMBERED = 10_000  # tracks, and accounts whose likes are counted, that are remembered
MOST_PAGES = 500  # first pages that are remembered, of at most 100 cards each
MOST_ASKING = 3  # records with the same public id
MOST_ALIKE = 4  # documents that match what should name a single one
_BELOW_ID = 64 - ID_BITS  # bits of a key after those that are the public id


def _signed(key: int) -> int:
    return key - (1 << 64) if key >> 63 else key


@dataclass(slots=True)
class _Remembered:
    """Results of look-ups in one state of the indexes. A new state begins without any.

    Cards are read where the state's files have them, so that these stay open.
    """

    # How many public tracks an account likes.
    liked: Recent[str, int] = field(default_factory=lambda: Recent(MOST_REMEMBERED))
    tracks: dict[int, Card] = field(default_factory=dict)  # by the catalog's `id`
    # Of broad listings.
    first_pages: Recent[tuple[object, int], Page[Card]] = field(default_factory=lambda: Recent(MOST_PAGES))


class Like(NamedTuple):
    """A like of a track: the account, and the time as RFC 3339."""

    did: str
    liked_at: str


class Index(IndexFolders):
    """Look-ups in all indexes. Raises IndexNotReady while there is none.

    `base_url`: the prefix of this service's addresses. What is taken down is not found; counts include it
    until the indexer has hidden it, too.
    """

    def __init__(self, data_dir: Path, base_url: str, takedowns: StandingTakedowns | None = None) -> None:
        super().__init__(data_dir)
        self.takedowns = takedowns or StandingTakedowns()
        self._base_url = base_url
        self._spans: Spans = {}
        self._remembered = _Remembered()

    def track(self, track_id: int) -> Card | None:
        """The track with a public id."""
        return self._one(b"track:", self.catalog.term("id", kind_id("track", track_id)))

    def track_at(self, uri: str) -> Card | None:
        """The track with an at-uri."""
        return self._one(b"track:", self.catalog.term("uri", uri))

    def tracks_of(self, file_id: str) -> list[Card]:
        """Tracks whose audio is this file, at most MOST_OF_A_FILE."""
        return self._unpack(self.addresses(self.catalog.term("file", file_id), MOST_OF_A_FILE))

    def named_picture(self, cid: str, viewer: Viewer | None) -> list[Card]:
        """Records with this picture that a link may lead the viewer to: MOST_OF_A_FILE, the oldest first."""
        self.require()
        kinds: tuple[Kind, ...] = ("track", "album", "playlist", "artist")
        shown = match_any(*(self.visible(kind, "direct", viewer) for kind in kinds))
        query = match_all(self.catalog.term("picture", cid), shown)
        rows = Listing(self.catalog, query, "recent", rising=True).page(None, MOST_OF_A_FILE)
        return self.unpack(rows.items)

    def tracks(self, keys: Sequence[int]) -> list[Card]:
        """The tracks with these keys, in this order; those that are not there left out."""
        return self._many("key", keys)

    def tracks_by_id(self, track_ids: Sequence[int]) -> list[Card]:
        """The tracks with these public ids, in this order; those that are not there left out.

        They are remembered: many requests list the same ones.
        """
        self.require()
        known = self._remembered.tracks
        first = kind_id("track", 0)
        numbers = [first | track_id for track_id in track_ids]
        if unknown := [number for number in numbers if number not in known]:
            if len(known) > MOST_REMEMBERED:
                known.clear()
                unknown = numbers
            addresses = self.addresses(self.catalog.any_term("id", unknown), len(unknown))
            known.update(zip(self.catalog.numbers("id", addresses), self._stored(addresses), strict=True))
        return self._standing([known[number] for number in numbers if number in known])

    def tracks_asking_for(self, track_id: int, did: str) -> list[Card]:
        """A few of an account's tracks whose public id would be this one but for a collision."""
        self.require()
        low, high = (_signed(track_id << _BELOW_ID | rest) for rest in (0, (1 << _BELOW_ID) - 1))
        keys = Query.range_query(self.catalog.schema, "key", FieldType.Integer, low, high)
        mine = match_all(keys, self.catalog.term("did", did), self._kind("track"))
        return self._unpack(self.addresses(mine, MOST_ASKING))

    def artist(self, name: str) -> Card | None:
        """The account with a DID or a handle."""
        if name.startswith("did:"):
            return self._one(b"artist:", self.catalog.term("doc", f"artist:{name}"))
        return self._one(
            b"artist:", match_all(self.catalog.term("handle", name.lower()), self._kind("artist"))
        )

    def people(self, dids: Iterable[str]) -> dict[str, Card]:
        """The accounts with these DIDs, by DID."""
        names = [f"artist:{did}" for did in set(dids)]
        found = self._unpack(self.addresses(self.catalog.any_term("doc", names), len(names)))
        return {card.did: card for card in found}

    def find_list(self, kind: Literal["album", "playlist"], name: str) -> Card | None:
        """The album or playlist with a UUID or an at-uri."""
        field, value = ("uri", name) if name.startswith("at://") else ("uuid", name.lower())
        return self._one(b"list:", match_all(self.catalog.term(field, value), self._kind(kind)))

    def album(self, artist: str, slug: str) -> Card | None:
        """The album that an artist's address names. Artists go by handle or DID."""
        field, value = ("did", artist) if artist.startswith("did:") else ("handle", artist.lower())
        where = self.catalog.term(field, value), self.catalog.term("slug", slug)
        return self._one(b"list:", match_all(*where, self._kind("album")))

    def tag(self, name: str) -> Card | None:
        """The tag of this name, however it is spelt."""
        return self._one(b"tag:", self.catalog.term("doc", f"tag:{normalise_tag(name)}"))

    def track_page(
        self,
        place: Place,
        sort: Sort,
        after: Position | None,
        limit: int,
        *,
        artist_did: str | None = None,
        tags: Sequence[str] = (),
        viewer: Viewer | None = None,
        adult: bool = False,
    ) -> Page[Card]:
        """Tracks visible to this viewer in this place: of an artist, with any of these tags."""
        who = viewer.did if viewer else None
        name = (place, sort, tuple(tags), who, adult) if artist_did is None else None
        if known := self._first_page(name, after, limit):
            return known
        query = self._tracks(place, artist_did, tags, viewer, adult)
        broad = name is not None and self._is_broad(place, tags)
        return self._page(query, sort, after, limit, name if broad else None)

    def track_count(
        self,
        place: Place,
        *,
        artist_did: str | None = None,
        tags: Sequence[str] = (),
        viewer: Viewer | None = None,
    ) -> int:
        """How many tracks such a listing holds."""
        return self.catalog.count(self._tracks(place, artist_did, tags, viewer, adult=False))

    def list_page(
        self,
        kind: Literal["album", "playlist"],
        after: Position | None,
        limit: int,
        *,
        artist_did: str | None = None,
        adult: bool = False,
    ) -> Page[Card]:
        """Albums or playlists, newest first: all of them, or an artist's."""
        name = (kind, adult) if artist_did is None else None
        if known := self._first_page(name, after, limit):
            return known
        query = self.visible(kind, "discovery", None, adult=adult)
        if artist_did is not None:
            query = match_all(query, self.catalog.term("did", artist_did))
        return self._page(query, "recent", after, limit, name)

    def likers_page(self, track_key: int, after: Position | None, limit: int) -> Page[Like]:
        """Who liked a track, newest first."""
        page = Listing(self.social, self._about("like", track_key), "recent").page(after, limit)
        likes = [orjson.loads(card) for card in self._social_cards(page.items)]
        return Page([Like(like["did"], like["liked_at"]) for like in likes], page.after)

    def like_count(self, track_key: int) -> int:
        """How many accounts like a track."""
        return self.social.count(self._about("like", track_key))

    def comment_page(self, track_key: int, after: Position | None, limit: int) -> Page[bytes]:
        """Comments of a track by their moment, as JSON without their authors' names."""
        page = Listing(self.social, self._about("comment", track_key), "at", rising=True).page(after, limit)
        return Page(self._social_cards(page.items), page.after)

    def comment_id(self, uri: str) -> int | None:
        """The public id that a comment is shown with."""
        self.require()
        found = self.addresses(self.social.term("doc", f"comment:{record_key(uri)}"), 1, self.social)
        return next(iter(self.social.numbers("id", found)), None)

    def comment_count(self, track_key: int) -> int:
        """How many comments a track has."""
        return self.social.count(self._about("comment", track_key))

    def liked_page(self, did: str, after: Position | None, limit: int, *, adult: bool = False) -> Page[Card]:
        """Public tracks that an account likes, the last liked first."""
        shown = self.visible("track", "discovery", None, adult=adult)
        return sift_page(self.liked_walk(did, after, limit, shown), limit)

    def liked_walk(
        self, did: str, after: Position | None, first: int, shown: Query
    ) -> Iterator[Placed[Card]]:
        """An account's likes after a position, each with its track if that is among the `shown`."""
        rows = Listing(self.social, self.likes_of(did), "recent").walk(after, first)
        for size in batch_sizes(first + 1):
            chunk = list(islice(rows, size))
            if not chunk:
                return
            keys = self.social.numbers("subject", [row.address for row in chunk])
            cards = {card.key: card for card in self._among(keys, shown)}
            for row, key in zip(chunk, keys, strict=True):
                yield Placed(row.position, cards.get(key))

    def likes_of(self, did: str) -> Query:
        """The likes of an account."""
        self.require()
        return match_all(self.social.term("did", did), self.social.term("kind", "like"))

    def liked_among(self, did: str, keys: Sequence[int]) -> frozenset[int]:
        """Those of these tracks that an account likes."""
        if not keys:
            return frozenset()
        likes = match_all(self.likes_of(did), self.social.any_term("subject", list(keys)))
        found = self.addresses(likes, len(keys), self.social)
        return frozenset(self.social.numbers("subject", found))

    def liked_count(self, did: str) -> int:
        """How many public tracks an account likes, without those for adults."""
        liked = self._remembered.liked.find(did)
        if liked is None:
            liked = self.catalog.count(self.liked_by(did, self.visible("track", "discovery", None)))
            self._remembered.liked.keep(did, liked)
        return liked

    def liked_by(self, did: str, shown: Query) -> Query:
        """Those of the `shown` tracks that an account likes; only its newest MOST_LIKED likes count."""
        newest = self.social.search(self.likes_of(did), MOST_LIKED, by="recent").hits
        keys = set(self.social.numbers("subject", [address for _, address in newest]))
        return match_all(self.catalog.any_term("key", list(keys)), shown) if keys else Query.empty_query()

    def visible(self, kind: Kind, place: Place, viewer: Viewer | None, *, adult: bool = False) -> Query:
        """Documents visible to everyone in this place, and the viewer's own: see schemas.access."""
        strangers = self.catalog.term("place", place_term(kind, place, adult=False))
        if adult:
            asked = self.catalog.term("place", place_term(kind, place, adult=True))
            strangers = match_any(strangers, asked)
        if viewer is None:
            return strangers
        return match_any(strangers, match_all(self.catalog.term("did", viewer.did), self._kind(kind)))

    def hits(self, addresses: list[DocAddress]) -> list[bytes | None]:
        """Documents of the words index as search results; None for what is taken down."""
        found = self.words.stored(addresses)
        if self.takedowns.now.are_none:
            return [card_of(packed) for packed in found]
        return [None if self._is_taken_down(Stored(packed)) else card_of(packed) for packed in found]

    def cards(self, rows: Sequence[Row]) -> list[Card | None]:
        """The card of each row of the catalog index; None for what is taken down."""
        return self._cards([row.address for row in rows])

    def unpack(self, rows: Sequence[Row]) -> list[Card]:
        """The cards of rows of the catalog index; what is taken down is left out."""
        return self._unpack([row.address for row in rows])

    def _among(self, keys: Sequence[int], shown: Query) -> list[Card]:
        """Those of these tracks that are among the `shown`; the others are not read."""
        wanted = list(dict.fromkeys(keys))
        return self._unpack(
            self.addresses(match_all(self.catalog.any_term("key", wanted), shown), len(wanted))
        )

    def _first_page(self, name: object, after: Position | None, limit: int) -> Page[Card] | None:
        """The page, if it is the first one of a listing of many documents and remembered."""
        if name is None or after is not None:
            return None
        self.require()
        page = self._remembered.first_pages.find((name, limit))
        return page and Page(self._standing(page.items), page.after)

    def _page(self, query: Query, field: str, after: Position | None, limit: int, name: object) -> Page[Card]:
        """A page of a listing. `name`: of one of many documents; its first page is remembered."""
        self.require()
        spans = None if name is None else self._spans
        rows = Listing(self.catalog, query, field, spans=spans, name=name).page(after, limit)
        page = Page(self._stored([row.address for row in rows.items]), rows.after)
        if name is not None and after is None:
            self._remembered.first_pages.keep((name, limit), page)
        return Page(self._standing(page.items), page.after)

    def _show(self, found: Iterable[tuple[IndexFolder, State | None]]) -> None:
        super()._show(found)
        self._remembered = _Remembered()

    def _tracks(
        self,
        place: Place,
        artist_did: str | None,
        tags: Sequence[str],
        viewer: Viewer | None,
        adult: bool,
    ) -> Query:
        self.require()
        filters = [self.visible("track", place, viewer, adult=adult)]
        if artist_did is not None:
            filters.append(self.catalog.term("did", artist_did))
        if tags:
            filters.append(self.catalog.any_term("tag", [normalise_tag(tag) for tag in tags]))
        return match_all(*filters)

    def _is_broad(self, place: Place, tags: Sequence[str]) -> bool:
        """Whether most matches lie elsewhere in the order than the requested page."""
        searcher = self.require()
        if not tags:
            return searcher.doc_freq("place", place_term("track", place, adult=False)) > MANY
        matching = sum(searcher.doc_freq("tag", normalise_tag(tag)) for tag in tags)
        return matching > max(MANY, searcher.num_docs // 20)

    def _kind(self, kind: Kind) -> Query:
        return self.catalog.term("kind", kind)

    def _about(self, kind: str, track_key: int) -> Query:
        self.require()
        return match_all(self.social.term("subject", track_key), self.social.term("kind", kind))

    def _one(self, doc_prefix: bytes, query: Query) -> Card | None:
        self.require()
        for packed in self.catalog.first(query, MOST_ALIKE):
            card = Card(packed, self._base_url)
            if card.is_named(doc_prefix) and not self._is_taken_down(card):
                return card
        return None

    def _many(self, field: str, values: Sequence[int]) -> list[Card]:
        """The tracks that carry these numbers, in this order."""
        if not values:
            return []
        wanted = list(dict.fromkeys(values))
        addresses = self.addresses(self.catalog.any_term(field, wanted), len(wanted))
        numbers = self.catalog.numbers(field, addresses)
        cards = {
            number: card
            for number, card in zip(numbers, self._cards(addresses), strict=True)
            if card is not None and card.is_named(b"track:")
        }
        return [cards[value] for value in values if value in cards]

    def _unpack(self, addresses: list[DocAddress]) -> list[Card]:
        return self._standing(self._stored(addresses))

    def _stored(self, addresses: list[DocAddress]) -> list[Card]:
        base_url = self._base_url
        return [Card(packed, base_url) for packed in self.catalog.stored(addresses)]

    def _standing(self, cards: list[Card]) -> list[Card]:
        """These cards without those that are taken down."""
        if self.takedowns.now.are_none:
            return cards
        return [card for card in cards if not self._is_taken_down(card)]

    def _cards(self, addresses: list[DocAddress]) -> list[Card | None]:
        """The cards at these addresses; None for what is taken down."""
        cards = self._stored(addresses)
        if self.takedowns.now.are_none:
            return [*cards]
        return [None if self._is_taken_down(card) else card for card in cards]

    def _social_cards(self, rows: Iterable[Row]) -> list[bytes]:
        found = map(Stored, self.social.stored([row.address for row in rows]))
        return [stored.card for stored in found if not self._is_taken_down(stored)]

    def _is_taken_down(self, stored: Stored) -> bool:
        takedowns = self.takedowns.now
        if takedowns.are_none:
            return False
        doc, did = stored.doc, stored.did
        return takedowns.covers_document(doc, did) or takedowns.covers_card(doc, did, lambda: stored.card)
