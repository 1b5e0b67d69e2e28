"""Random histories of accounts, whose records and labels come, change and go, who leave, and change access.

Each notes what everybody may see of its tracks, by `schemas/access.py` and `schemas/label_policy.py` alone.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Final

from indexer.catalog.writing.batch import Batch, ResyncResult
from indexer.repo import signing_keys
from indexer.repo.changes import RecordChange
from indexer.repo.extract import Fetched
from schemas.access import DOWNLOADS, LISTENING, VISIBILITY, Access, may_download, may_see
from schemas.label_policy import EFFECTS, effect_of
from schemas.labels import Label
from tests.indexer.changes import account, album, comment, delete, did, instant, like, put, rev, uri
from tests.network.forge import SigningKey

STATES: Final = 5
_NAMES: Final = ("ana", "ben", "cleo")
_KINDS: Final = (
    "track",
    "track",
    "track",
    "list",
    "like",
    "comment",
    "profile",
    "gone",
    "away",
    "fetched",
    "label",
)
_HEARD_BY: Final = tuple(who for who in LISTENING if who != "space")  # whose tracks no public record holds
_KEY: Final = signing_keys.parse_key(SigningKey("history").multibase)
_ADULT: Final = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "porn"}]}


class History:
    """The history of a seed, of accounts that no other history has."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._people = tuple(f"{name} of history {seed}" for name in _NAMES)
        self._second = 0
        self._tracks: dict[tuple[str, int], Access] = {}
        self._known: set[str] = set()  # events of accounts without records are ignored
        self._statuses: dict[str, str] = {}
        self._labels: defaultdict[str, set[str]] = defaultdict(set)  # values, by the track or account
        self._refused: set[str] = set()  # accounts whose servers say that they are deleted

    @property
    def dids(self) -> set[str]:
        """Its accounts."""
        return {did(person) for person in self._people}

    def downloadable(self) -> dict[str, bool]:
        """The tracks that everybody may see in discovery: may everybody download them?"""
        return {
            str(uri(person, "track", number)): may_download(access, None)
            for (person, number), access in self._labelled()
            if self._is_there(person) and may_see(access, None, "discovery")
        }

    def proceed(self) -> list[Batch]:
        """Go on to the next state. Returns the transactions that lead to it."""
        return [batch for _ in range(self._dice.randrange(2, 25)) for batch in self._step()]

    def _step(self) -> Iterator[Batch]:
        dice = self._dice
        self._second += 1
        at, person, number = self._second, dice.choice(self._people), dice.randrange(4)
        subject = uri(dice.choice(self._people), "track", dice.randrange(4))
        kind = dice.choice(_KINDS)
        if kind == "away":
            yield from self._leave(person, at)
            return
        if kind == "fetched":
            yield from self._return(person, at)
            return
        if kind == "label":
            yield self._label(dice.choice((str(subject), str(subject), str(subject), did(person))), at)
            return
        self._known.add(person)
        match kind:
            case "track":
                change = self._track(person, number, at)
            case "list":
                items = [uri(dice.choice(self._people), "track", n) for n in range(dice.randrange(4))]
                change = album(person, items, number, at=at)
            case "like":
                change = like(person, subject, number, at=at)
            case "comment":
                change = comment(person, subject, number, at=at, text=dice.choice("xyz"))
            case "profile":
                change = put(person, kind, at=at, displayName=dice.choice("pqr"))
            case _:
                what = dice.choice(("track", "list", "like", "comment"))
                change = delete(person, what, number, at=at)
                if what == "track":
                    self._tracks.pop((person, number), None)
        yield Batch(changes=[change])

    def _track(self, person: str, number: int, at: int) -> RecordChange:
        dice = self._dice
        listening, downloads = dice.choice(_HEARD_BY), dice.choice(DOWNLOADS)
        visibility = dice.choice(("public", "public", *VISIBILITY))
        is_adult = dice.random() < 0.1
        self._tracks[person, number] = Access(
            did(person), listening, downloads, visibility, labelled="adult" if is_adult else "none"
        )
        fields = {"labels": _ADULT} if is_adult else {}
        return put(
            person,
            "track",
            number,
            at=at,
            title=dice.choice("abc"),
            audioUrl=f"https://music.example/{number}.mp3",
            access={"listening": listening, "downloads": downloads, "visibility": visibility},
            tags=dice.sample(("jazz", "noise", "folk"), dice.randrange(3)),
            **fields,
        )

    def _label(self, subject: str, at: int) -> Batch:
        """A labeler says something of a track or an account, or takes it back."""
        value, values = self._dice.choice(("!hide", "nudity")), self._labels[subject]
        values ^= {value}
        label = Label(did("labeler"), subject, None, value, instant(at), negated=value not in values)
        return Batch(labels=[label])

    def _labelled(self) -> Iterator[tuple[tuple[str, int], Access]]:
        """The tracks, with what follows from all labels."""
        for (person, number), access in self._tracks.items():
            about = (str(uri(person, "track", number)), did(person))
            effects = [effect_of(self._labels[subject]) for subject in about]
            yield (
                (person, number),
                replace(access, labelled=max(access.labelled, *effects, key=EFFECTS.index)),
            )

    def _leave(self, person: str, at: int) -> Iterator[Batch]:
        """An account is active or suspended; once in ten times, its repository is removed."""
        status = self._dice.choice(("active", "active", "suspended"))
        yield Batch(accounts=[account(person, status, at=at)])
        if person in self._known:
            self._statuses[person] = status
        if self._dice.random() < 0.1:
            self._second += 1
            event = account(person, "deleted", at=self._second)
            yield Batch(accounts=[event], refusals={did(person): "deleted"})
            if person in self._known:
                self._statuses[person] = "deleted"
                self._refused.add(person)
                self._forget_tracks(person)

    def _return(self, person: str, at: int) -> Iterator[Batch]:
        """An account's repository is fetched, also of one that was removed: it has only a few tracks."""
        if person not in self._known:
            return
        self._forget_tracks(person)
        tracks = [self._track(person, number, at) for number in range(self._dice.randrange(3))]
        records = {(one.collection, one.rkey): (one.cid, one.block) for one in tracks}
        fetched = Fetched(did(person), rev(at), b"a tree", records)  # type: ignore[arg-type]
        yield Batch(resyncs=[ResyncResult(did(person), _KEY, fetched)])
        self._refused.discard(person)
        if self._statuses.get(person) == "deleted":
            self._statuses[person] = "active"

    def _is_there(self, person: str) -> bool:
        return person not in self._refused and self._statuses.get(person, "active") == "active"

    def _forget_tracks(self, person: str) -> None:
        self._tracks = {track: access for track, access in self._tracks.items() if track[0] != person}


def proceed_together(histories: Sequence[History]) -> Iterator[Batch]:
    """Go on to the next state of all. Each transaction holds one step of each history that has one left."""
    for batches in zip_longest(*(history.proceed() for history in histories)):
        held = [batch for batch in batches if batch is not None]
        yield Batch(
            changes=[change for batch in held for change in batch.changes],
            accounts=[event for batch in held for event in batch.accounts],
            labels=[label for batch in held for label in batch.labels],
            resyncs=[resync for batch in held for resync in batch.resyncs],
            refusals={who: refusal for batch in held for who, refusal in batch.refusals.items()},
        )
