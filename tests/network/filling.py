"""Fills a network with music: signs people up and lets each publish, like, comment and make lists."""

import asyncio
import colorsys
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.collections import Collections
from schemas.ids import Tid, tid_at
from tests.network import media
from tests.network.music import Person, Reaction, Song, people, reactions
from tests.network.pds import Account, Json, Pds, Ref, Write

COLLECTIONS = Collections()
AT_ONCE = 6  # a PDS is one thread; more only makes it queue
OLDEST = timedelta(days=60)
_ANY_CID = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454"


@dataclass(slots=True)
class Filled:
    """What an index of the network must come to show."""

    accounts: list[Account] = field(default_factory=list)
    records: int = 0
    tracks: dict[str, str] = field(default_factory=dict)  # uri -> title, of all that anybody may see
    unlisted: set[str] = field(default_factory=set)
    albums: dict[str, str] = field(default_factory=dict)  # uri -> name
    playlists: dict[str, str] = field(default_factory=dict)
    likes: set[tuple[str, str]] = field(default_factory=set)  # who, of which track
    comments: dict[str, str] = field(default_factory=dict)  # uri -> of which track


@dataclass(frozen=True, slots=True)
class Clock:
    """When things were made: spread over two months that end at `now`, the same way every time."""

    now: datetime

    def moment(self, *seed: object) -> datetime:
        return self.now - OLDEST * random.Random(repr(seed)).random() ** 2 - timedelta(minutes=1)


async def fill(pds: Pds, count: int, now: datetime | None = None) -> Filled:
    """Write everything; when this returns, the server has answered every write."""
    clock = Clock(now or datetime.now(UTC))
    everybody, filled, gate = people(count), Filled(), asyncio.Semaphore(AT_ONCE)

    async def sign_up(person: Person) -> Account:
        async with gate:
            return await pds.create_account(person.handle)

    filled.accounts = await asyncio.gather(*(sign_up(person) for person in everybody))

    async def release(number: int) -> list[Ref]:
        async with gate:
            return await _Artist(number, everybody[number], clock, filled).publish()

    songs = await asyncio.gather(*(release(number) for number in range(count)))

    async def react(number: int, mine: list[Reaction]) -> None:
        async with gate:
            await _react(filled, everybody[number], filled.accounts[number], mine, songs, clock)

    by_person: dict[int, list[Reaction]] = {number: [] for number in range(count)}
    for reaction in reactions(everybody):
        by_person[reaction.person].append(reaction)
    await asyncio.gather(*(react(number, mine) for number, mine in by_person.items()))
    await _oddities(filled, songs, clock)
    return filled


@dataclass(slots=True)
class _Artist:
    """One person at work. Restricted tracks get no file: their sound is not for the network."""

    number: int
    person: Person
    clock: Clock
    filled: Filled

    @property
    def account(self) -> Account:
        return self.filled.accounts[self.number]

    async def publish(self) -> list[Ref]:
        """Upload the files, then the profile and tracks in one commit, then the album that holds them."""
        image = await self.account.upload_blob(self._picture(), "image/png")
        sounds = [await self._sound(song) for song in self.person.songs]
        writes = [
            self._track(place, song, image, sound)
            for place, (song, sound) in enumerate(zip(self.person.songs, sounds, strict=True))
        ]
        profile = [] if self.person.display_name is None else [self._profile(image)]
        refs = await self.account.apply_writes(*writes, *profile)
        tracks = refs[: len(writes)]
        self.filled.records += len(refs) + 1
        for song, ref in zip(self.person.songs, tracks, strict=True):
            self._expect(song, ref)
        album = await self.account.create_record(COLLECTIONS.list, self._album(tracks, image))
        self.filled.albums[album.uri] = self.person.album
        return tracks

    def _expect(self, song: Song, ref: Ref) -> None:
        if song.private:
            return
        self.filled.tracks[ref.uri] = song.title
        if song.access and song.access["visibility"] == "unlisted":
            self.filled.unlisted.add(ref.uri)

    async def _sound(self, song: Song) -> Json | None:
        if song.sound != "blob":
            return None
        return await self.account.upload_blob(media.tone(song.seconds, song.hertz), "audio/wav")

    def _picture(self) -> bytes:
        hue = self.number * 0.381966 % 1
        dark, light = (
            tuple(round(255 * part) for part in colorsys.hls_to_rgb(hue, lightness, 0.55))
            for lightness in (0.25, 0.65)
        )
        return media.cover(
            *self.person.cover_size, (dark[0], dark[1], dark[2]), (light[0], light[1], light[2])
        )

    def _track(self, place: int, song: Song, image: Json, sound: Json | None) -> Write:
        made = self.clock.moment("track", self.number, place)
        optional: dict[str, Any] = {
            "audioBlob": sound,
            "audioUrl": "https://audio.invalid/elsewhere.wav" if song.sound == "address" else None,
            "album": song.album,
            "description": song.description,
            "tags": list(song.tags) or None,
            "features": [{"did": self.filled.accounts[guest].did} for guest in song.guests] or None,
            "image": image if place % 2 == 0 else None,
            "access": song.access,
            **song.extra,
        }
        record = {
            "title": song.title,
            "artist": self.person.display_name or self.person.handle,
            "fileType": "wav",
            "duration": song.seconds,
            "createdAt": _text(made),
            **{name: value for name, value in optional.items() if value is not None},
        }
        return Write("create", COLLECTIONS.track, tid_at(made, self.number), record)

    def _profile(self, image: Json) -> Write:
        record = {
            "displayName": self.person.display_name,
            "bio": self.person.bio,
            "avatar": image,
            "supportUrl": f"https://support.invalid/{self.person.handle}",
            "createdAt": _text(self.clock.now - OLDEST),
        }
        return Write("create", COLLECTIONS.profile, "self", record)

    def _album(self, tracks: list[Ref], image: Json) -> Json:
        """All but the single and what is private; some albums are held together by name alone."""
        on_it = [
            ref for song, ref in zip(self.person.songs[:-1], tracks[:-1], strict=True) if not song.private
        ]
        return {
            "name": self.person.album,
            "listType": "album",
            "items": [{"subject": ref.strong} for ref in on_it] if self.person.album_holds_songs else [],
            "image": image,
            "createdAt": _text(self.clock.moment("album", self.number)),
        }


async def _react(
    filled: Filled,
    person: Person,
    account: Account,
    mine: list[Reaction],
    songs: list[list[Ref]],
    clock: Clock,
) -> None:
    """Everything one person thinks of other people's tracks, in one commit."""
    writes, subjects = [], []
    for reaction in mine:
        subject = songs[reaction.owner][reaction.song]
        made = clock.moment("like", reaction)
        subjects.append(subject)
        writes.append(_like(subject, made))
        if reaction.comment is not None:
            remark = {
                "subject": subject.strong,
                "text": reaction.comment,
                "timestampMs": round(reaction.at_seconds * 1000),
                "createdAt": _text(made),
            }
            writes.append(Write("create", COLLECTIONS.comment, tid_at(made), remark))
    if person.playlist is not None:
        made = clock.moment("playlist", account.handle)
        playlist = {
            "name": person.playlist,
            "listType": "playlist",
            "items": [{"subject": subject.strong} for subject in subjects],
            "createdAt": _text(made),
        }
        writes.append(Write("create", COLLECTIONS.list, tid_at(made), playlist))
    for write, ref in zip(writes, await account.apply_writes(*writes), strict=True):
        filled.records += 1
        _expect(filled, account, write, ref)


def _expect(filled: Filled, account: Account, write: Write, ref: Ref) -> None:
    assert write.record is not None
    if write.collection == COLLECTIONS.like:
        filled.likes.add((account.did, write.record["subject"]["uri"]))
    elif write.collection == COLLECTIONS.comment:
        filled.comments[ref.uri] = write.record["subject"]["uri"]
    else:
        filled.playlists[ref.uri] = write.record["name"]


async def _oddities(filled: Filled, songs: list[list[Ref]], clock: Clock) -> None:
    """What a tidy application would not write, and what people do after they have published."""
    first, second, third, *_ = filled.accounts
    early_key = tid_at(clock.moment("early"), 1)
    early = Ref(f"at://{first.did}/{COLLECTIONS.track}/{early_key}", _ANY_CID)
    await _create(filled, second, _like(early, clock.now))
    filled.likes.add((second.did, early.uri))
    await _publish(filled, first, "Liked Before It Was There", clock, early_key)

    foreign = await _publish(filled, second, "Only What Is Required", clock)
    await _create(filled, second, _like(songs[0][0], clock.moment("again")))
    await _create(filled, second, _like(songs[0][0], clock.moment("and again")))
    filled.likes.add((second.did, songs[0][0].uri))
    await _create(filled, third, Write("create", COLLECTIONS.track, tid_at(clock.now, 7), {"title": 7}))

    regretted = await _publish(filled, third, "Deleted Again", clock)
    await third.delete_record(COLLECTIONS.track, regretted.rkey)
    del filled.tracks[regretted.uri]

    record = _minimal("Renamed Since", clock.moment("renamed"))
    await second.put_record(
        COLLECTIONS.track, foreign.rkey, {**record, "description": "It had another name."}
    )
    filled.tracks[foreign.uri] = "Renamed Since"
    await third.change_handle(f"new-{third.handle}")
    await _leave(filled, first.pds, clock)


async def _leave(filled: Filled, pds: Pds, clock: Clock) -> None:
    """Somebody publishes, likes, and closes the account: nothing of it is to be seen."""
    gone = await pds.create_account("gone-again.test")
    track = await gone.create_record(COLLECTIONS.track, _minimal("By Somebody Who Left", clock.now))
    like = _like(Ref(next(iter(filled.tracks)), track.cid), clock.now)
    await _create(filled, gone, like)
    filled.records += 1
    await gone.deactivate()


async def _publish(
    filled: Filled, account: Account, title: str, clock: Clock, rkey: Tid | None = None
) -> Ref:
    made = clock.moment(title)
    key = rkey or tid_at(made, 2)
    ref = await _create(filled, account, Write("create", COLLECTIONS.track, key, _minimal(title, made)))
    filled.tracks[ref.uri] = title
    return ref


async def _create(filled: Filled, account: Account, write: Write) -> Ref:
    filled.records += 1
    (ref,) = await account.apply_writes(write)
    return ref


def _minimal(title: str, made: datetime) -> Json:
    """A track as another application may write it: the required fields and no other."""
    return {"title": title, "artist": "Somebody Else's App", "fileType": "mp3", "createdAt": _text(made)}


def _like(subject: Ref, made: datetime) -> Write:
    record = {"subject": subject.strong, "createdAt": _text(made)}
    return Write("create", COLLECTIONS.like, tid_at(made), record)


def _text(instant: datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
