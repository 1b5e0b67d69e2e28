"""Everything a network of a given size ever wrote, in the order of time: what the benchmarks' stores hold."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import libipld

from indexer.catalog.tables.images import ImageFact
from indexer.events import IdentityFact
from indexer.repo import car
from indexer.repo.changes import RecordChange
from schemas.collections import Collections
from schemas.ids import Cid, Did, Nsid, Rkey, tid_at
from tests.bench.records import Document, Records, Subject, image_cid
from tests.network import forge

YEARS: Final = timedelta(days=2 * 365)
PDS: Final = "https://pds.example"
COLLECTIONS: Final = Collections("fm.svc")
ALBUM_ARTISTS: Final = 0.15  # of all artists put their tracks into albums
SINGLES: Final = 0.2  # of an album artist's tracks belong to none


@dataclass(frozen=True, slots=True)
class Size:
    """How large a network is; what is not given keeps the proportions of real ones."""

    tracks: int
    likes: int

    @property
    def artists(self) -> int:
        return max(self.tracks // 5, 1)

    @property
    def accounts(self) -> int:
        """Artists, and half as many again who only listen."""
        return self.artists * 5 // 2

    @property
    def lists(self) -> int:
        return max(self.tracks // 10, 1)

    @property
    def comments(self) -> int:
        return self.tracks // 2

    def as_json(self) -> dict[str, int]:
        names = ("tracks", "likes", "comments", "lists", "accounts")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return f"{self.tracks}-{self.likes}"


class Corpus:
    """Consume in this order: images, profiles, tracks, lists, comments, likes, identities."""

    def __init__(self, size: Size, now: datetime, seed: int = 1) -> None:
        self._size = size
        self._begin, self._span = now - YEARS, YEARS
        self._records = Records(seed)
        self._rng = self._records.rng
        self._dids = [Did(forge.did_of(f"bench {number}")) for number in range(size.accounts)]
        self._subjects: list[Subject] = []
        self._by_album: dict[tuple[int, str], list[Subject]] = defaultdict(list)

    def identities(self) -> Iterator[IdentityFact]:
        for number, did in enumerate(self._dids):
            word = self._records.words.sentence(1, 1).encode("ascii", "ignore").decode() or "x"
            yield IdentityFact(did, f"{word}{number}.people.example", PDS, forge.SigningKey(did).multibase)

    def images(self) -> Iterator[ImageFact]:
        for artist in range(self._size.artists):
            yield ImageFact(image_cid(_picture(artist)), 1500, 1500)

    def profiles(self) -> Iterator[RecordChange]:
        """Every artist has one, and one listener in three."""
        for number, did in enumerate(self._dids):
            if number < self._size.artists or number % 3 == 0:
                at = self._time(number, self._size.accounts)
                yield change(did, COLLECTIONS.profile, at, self._records.profile(at), "self")

    def tracks(self) -> Iterator[RecordChange]:
        for number in range(self._size.tracks):
            at = self._time(number, self._size.tracks)
            artist = int(self._size.artists * self._rng.random() ** 2)
            album = self._album(artist)
            image = _picture(artist) if self._rng.random() < 0.6 else None
            document = self._records.track(at, f"Artist {artist}", album, image)
            made = change(self._dids[artist], COLLECTIONS.track, at, document)
            subject = Subject(str(made.uri), made.cid or "")
            self._subjects.append(subject)
            if album is not None:
                self._by_album[artist, album].append(subject)
            yield made

    def lists(self) -> Iterator[RecordChange]:
        """Three albums for every two playlists."""
        albums = list(self._by_album.items())
        self._rng.shuffle(albums)
        for number in range(self._size.lists):
            at = self._time(number, self._size.lists)
            if number % 5 < 3 and albums:
                (artist, name), items = albums.pop()
                owner, kind = self._dids[artist], "album"
            else:
                owner, kind, name = self._rng.choice(self._dids), "playlist", self._records.words.title()
                items = [self._popular() for _ in range(self._rng.randint(5, 40))]
            document = self._records.collection(at, kind, name, items)
            yield change(owner, COLLECTIONS.list, at, document)

    def comments(self) -> Iterator[RecordChange]:
        yield from self._remarks(self._size.comments, COLLECTIONS.comment, self._records.comment)

    def likes(self) -> Iterator[RecordChange]:
        yield from self._remarks(self._size.likes, COLLECTIONS.like, self._records.like)

    def _remarks(self, count: int, collection: Nsid, draw: Any) -> Iterator[RecordChange]:
        for number in range(count):
            at = self._time(number, count)
            who = self._rng.choice(self._dids)
            yield change(who, collection, at, draw(at, self._popular()))

    def _album(self, artist: int) -> str | None:
        if artist >= self._size.artists * ALBUM_ARTISTS or self._rng.random() < SINGLES:
            return None
        return f"Album {self._rng.randint(1, 2)} of {artist}"

    def _popular(self) -> Subject:
        """A track; the most popular of a hundred thousand is met in one of fifty draws."""
        rank = int(len(self._subjects) * self._rng.random() ** 3)
        return self._subjects[rank * 7919 % len(self._subjects)]

    def _time(self, number: int, count: int) -> datetime:
        """The instant of one of so many events, which come ever faster."""
        share: float = ((number + 1) / (count + 1)) ** 0.6
        return self._begin + self._span * share


def change(
    did: Did, collection: Nsid, at: datetime, document: Document, rkey: str | None = None
) -> RecordChange:
    """A record as the pipeline hands it to the writer."""
    block = libipld.encode_dag_cbor({"$type": collection, **document})
    cid = Cid(libipld.encode_multibase("b", car.cid_of(block)))
    rev = tid_at(at)
    return RecordChange(did, collection, Rkey(rkey or rev), rev, "create", cid, block)


def _picture(artist: int) -> str:
    return f"picture of {artist}"
