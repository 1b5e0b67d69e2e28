"""What people go on to do in a network that exists: their commits, one after another."""

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Final

import duckdb
import libipld

from schemas import data_folder
from tests.bench.corpus import COLLECTIONS
from tests.bench.records import Document, Records, Subject
from tests.bench.stores import IN_STEP
from tests.network.forge import ForgedRepo

PEOPLE: Final = 200
REMEMBERED: Final = 50  # of each person's own records, to be changed or taken back
# Of a thousand commits: mostly likes, as in the catalogue; some of everything else.
_SHARES: Final = {
    "like": 760,
    "track": 80,
    "comment": 60,
    "unlike": 60,
    "retitle": 20,
    "playlist": 10,
    "rename": 5,
    "withdraw": 5,
}


class Activity:
    """Draws commits by people of a catalogue, signed and with their proofs; the same seed draws the same."""

    def __init__(self, data_dir: Path, seed: int = 3) -> None:
        self._records = Records(seed)
        self._rng = self._records.rng
        dids, self._subjects = _of(data_dir)
        some = self._rng.sample(dids, min(PEOPLE, len(dids)))
        self._people = [_Person(_repo(did)) for did in some]
        self._names = list(_SHARES)
        self._weights = list(accumulate(_SHARES.values()))

    def commit(self, seq: int, at: datetime | None = None) -> bytes:
        """The frame of somebody's next commit. `at`: when it happens; else right after their last."""
        person = self._rng.choice(self._people)
        (what,) = self._rng.choices(self._names, cum_weights=self._weights)
        self._stage(person, what, at or person.repo.now)
        return person.repo.commit_frame(seq, at)

    def track(self, seq: int, title: str) -> bytes:
        """The frame of a commit, now, of a public track with this title by one of them, who keeps it."""
        at = datetime.now(UTC)
        person = self._rng.choice(self._people)
        document = self._track(at) | {"title": title}
        document.pop("access", None)
        person.write(COLLECTIONS.track, document)
        return person.repo.commit_frame(seq, at)

    def like(self, seq: int, subject: Subject) -> bytes:
        """The frame of a commit, now, in which one of them likes this track, and goes on to."""
        at = datetime.now(UTC)
        person = self._rng.choice(self._people)
        person.write(COLLECTIONS.like, self._records.like(at, subject))
        return person.repo.commit_frame(seq, at)

    def any_like(self, seq: int) -> bytes:
        """The frame of a commit in which one of them likes a track that many like."""
        person = self._rng.choice(self._people)
        person.write(COLLECTIONS.like, self._records.like(person.repo.now, self._subject()))
        return person.repo.commit_frame(seq)

    @property
    def unpopular(self) -> Sequence[Subject]:
        """The later half of the tracks, those with the fewest likes last."""
        return self._subjects[len(self._subjects) // 2 :]

    def _stage(self, person: "_Person", what: str, at: datetime) -> None:
        records, subject = self._records, self._subject()
        match what:
            case "unlike" if person.likes:
                person.repo.delete(COLLECTIONS.like, person.likes.popleft())
            case "withdraw" if person.tracks:
                person.repo.delete(COLLECTIONS.track, person.tracks.popleft())
            case "retitle" if person.tracks:
                person.change(COLLECTIONS.track, self._rng.choice(person.tracks), self._track(at))
            case "rename":
                person.change(COLLECTIONS.profile, "self", records.profile(at))
            case "track":
                person.write(COLLECTIONS.track, self._track(at), person.tracks)
            case "comment":
                person.write(COLLECTIONS.comment, records.comment(at, subject))
            case "playlist":
                items = [self._subject() for _ in range(self._rng.randint(5, 40))]
                title = records.words.title()
                person.write(COLLECTIONS.list, records.collection(at, "playlist", title, items))
            case _:
                person.write(COLLECTIONS.like, records.like(at, subject), person.likes)

    def _track(self, at: datetime) -> Document:
        return self._records.track(at, self._records.words.name(), None, None)

    def _subject(self) -> Subject:
        return self._subjects[int(len(self._subjects) * self._rng.random() ** 3)]


class _Person:
    """Somebody's repo, and the keys of what they wrote last."""

    def __init__(self, repo: ForgedRepo) -> None:
        self.repo = repo
        self.likes: deque[str] = deque(maxlen=REMEMBERED)
        self.tracks: deque[str] = deque(maxlen=REMEMBERED)

    def write(self, collection: str, document: Document, keys: deque[str] | None = None) -> None:
        written = self.repo.create(collection, _block(collection, document))
        if keys is not None:
            keys.append(written.rkey)

    def change(self, collection: str, rkey: str, document: Document) -> None:
        self.repo.update(collection, rkey, _block(collection, document))


def _repo(did: str) -> ForgedRepo:
    """Somebody's, as far as the catalogue knows it."""
    repo = ForgedRepo(did, seed=did, start=datetime.now(UTC))
    repo.rev = IN_STEP.rev
    return repo


def _of(data_dir: Path) -> tuple[Sequence[str], Sequence[Subject]]:
    """Who has tracks in a catalogue, and the tracks, those with most likes first."""
    snapshot = (data_dir / data_folder.NEWEST_SNAPSHOT).resolve()
    with duckdb.connect(snapshot, read_only=True) as con:
        dids = con.execute("select distinct did from visible_tracks order by did").fetchall()
        subjects = con.execute(
            "select uri, cid from visible_tracks left join track_counts on subject_key = key "
            "order by likes desc nulls last, uri"
        ).fetchall()
    return [did for (did,) in dids], [Subject(*subject) for subject in subjects]


def _block(collection: str, document: Document) -> bytes:
    block: bytes = libipld.encode_dag_cbor({"$type": collection, **document})
    return block
