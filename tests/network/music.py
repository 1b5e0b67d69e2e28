"""The music that a demo network is filled with: who there is, and what they publish. Always the same."""

import random
from dataclasses import dataclass, field
from typing import Any, Literal

Sound = Literal["blob", "address", "none"]

SONGS_EACH = 4

_FIRST = ("ada", "bela", "carmen", "dov", "elif", "femi", "greta", "hana", "ines", "jonas", "kofi", "lena")
_LAST = ("lind", "okoro", "sato", "moreau", "novak", "haddad", "rossi", "kim", "silva", "berg", "tanaka")
_NAMES = ("Ada Lind", "Bela Okoro", "佐藤カルメン", "Dov Moreau", "Elif Nováková", "فيمي حداد", "Greta Røssi")
_MOODS = (
    "Slow",
    "Paper",
    "Northern",
    "Electric",
    "Borrowed",
    "Quiet",
    "Copper",
    "Late",
    "Folded",
    "Salt",
    "Open",
)
_THINGS = (
    "Harbour",
    "Engines",
    "Letters",
    "Orchard",
    "Static",
    "Weather",
    "Staircase",
    "Lanterns",
    "Meridian",
)
_TITLES = (
    "Café del Mañana",
    "Ångström Lullaby",
    "Für die Nacht",
    "Žluťoučký kůň",
    "夜の海",
    "桜の雨と電車",
    "月光下的城市",
    "새벽의 노래",
    "أغنية الفجر",
    "שיר הלילה",
    "Белые ночи",
    "Θάλασσα και φως",
    "🌊 Wave / Particle",
    '<b>Bold</b> & "quoted"',
    "Don't; drop table tracks",
    "100% Cotton_Mix",
)
_TAGS = ("ambient", "techno", "field recording", "jazz", "電子音楽", "drum & bass", "lo/fi", "#Folk", "forró")
_REMARKS = ("This drop!", "The strings here…", "ここが好き", "Which synth is this?", "جميل", "goosebumps <3")
_NOBODY = "did:plc:nobody234567nobody234567"


@dataclass(frozen=True, slots=True)
class Song:
    """One track to publish. `access` is the record's own; None leaves it out."""

    title: str
    hertz: int
    seconds: int
    tags: tuple[str, ...] = ()
    album: str | None = None
    description: str | None = None
    access: dict[str, str] | None = None
    sound: Sound = "blob"
    guests: tuple[int, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        return self.access is not None and self.access["visibility"] == "private"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account; no display name means that they wrote no profile."""

    handle: str
    display_name: str | None
    bio: str | None
    cover_size: tuple[int, int]
    songs: tuple[Song, ...]
    album: str
    album_holds_songs: bool
    playlist: str | None


@dataclass(frozen=True, slots=True)
class Reaction:
    """What one person does with one song: numbers of the people and of the song."""

    person: int
    owner: int
    song: int
    comment: str | None = None
    at_seconds: float = 0.0


def people(count: int) -> tuple[Person, ...]:
    """The artists. The same count gives the same artists."""
    return tuple(_person(number, count) for number in range(count))


def reactions(everybody: tuple[Person, ...], each: int = 7) -> tuple[Reaction, ...]:
    """Likes, and a comment with every third, each for another song of somebody else that is not private."""
    dice = random.Random(2)
    choices = [
        (owner, song)
        for owner, person in enumerate(everybody)
        for song, content in enumerate(person.songs)
        if not content.private
    ]
    made = []
    for person in range(len(everybody)):
        others = [choice for choice in choices if choice[0] != person]
        for place, (owner, song) in enumerate(dice.sample(others, min(each, len(others)))):
            comment = _REMARKS[(person + place) % len(_REMARKS)] if place % 3 == 0 else None
            made.append(Reaction(person, owner, song, comment, dice.uniform(0, 2)))
    return tuple(made)


def _person(number: int, count: int) -> Person:
    dice = random.Random(1000 + number)
    first, last = _FIRST[number % len(_FIRST)], _LAST[number % len(_LAST)]
    plain = f"{first.title()} {last.title()}"
    album = f"{dice.choice(_MOODS)} {dice.choice(_THINGS)}"
    holds_songs = number % 3 != 2
    songs = tuple(_song(number, place, count, album, holds_songs) for place in range(SONGS_EACH))
    return Person(
        handle=f"{first}-{last}.test",
        display_name=None if number % 11 == 10 else _NAMES[number] if number < len(_NAMES) else plain,
        bio=f"{plain} makes {dice.choice(_TAGS).lstrip('#')} and {dice.choice(_TAGS).lstrip('#')}.",
        cover_size=dice.choice([(300, 300), (640, 360), (240, 400), (96, 96)]),
        songs=songs,
        album=album,
        album_holds_songs=holds_songs,
        playlist=f"{plain}'s {dice.choice(_MOODS).lower()} hours" if number % 2 == 0 else None,
    )


def _song(number: int, place: int, count: int, album: str, album_holds_songs: bool) -> Song:
    """The last song of everybody is a single; some audiences are restricted, and then no sound is public."""
    dice = random.Random(1000 * number + place)
    serial = number * SONGS_EACH + place
    access, sound = _audience(serial)
    return Song(
        title=_TITLES[serial // 2] if serial % 2 and serial // 2 < len(_TITLES) else _plain_title(serial),
        hertz=110 + 10 * (serial % 89),
        seconds=2 + serial % 2,
        tags=tuple(dice.sample(_TAGS, serial % 4)),
        album=album if place < SONGS_EACH - 1 and not album_holds_songs else None,
        description=f"Recorded in one take, number {serial}." if serial % 3 == 0 else None,
        access=access,
        sound=sound,
        guests=((number + 1) % count, (number + 2) % count)[: 1 + serial % 2] if serial % 7 == 3 else (),
        extra=_extra(serial),
    )


def _plain_title(serial: int) -> str:
    mood, thing = _MOODS[serial % len(_MOODS)], _THINGS[serial % len(_THINGS)]
    return f"{mood} {thing} No. {serial + 1}" if serial >= len(_MOODS) * len(_THINGS) else f"{mood} {thing}"


def _audience(serial: int) -> tuple[dict[str, str] | None, Sound]:
    match serial % 30:
        case 5:
            return {"listening": "supporters", "downloads": "supporters", "visibility": "public"}, "none"
        case 11:
            return {"listening": "signed_in", "downloads": "off", "visibility": "public"}, "none"
        case 17:
            return {"listening": "public", "downloads": "ask", "visibility": "unlisted"}, "blob"
        case 23:
            return {"listening": "space", "downloads": "off", "visibility": "private"}, "none"
        case 29:
            return None, "address"
        case _ if serial % 2:
            return {"listening": "public", "downloads": "open", "visibility": "public"}, "blob"
    return None, "blob"


def _extra(serial: int) -> dict[str, Any]:
    """Rarer fields of a track record."""
    if serial % 13 == 4:
        return {"labels": {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "explicit"}]}}
    if serial % 13 == 9:
        return {
            "policyOrigin": "track",
            "rights": {
                "isrc": f"ZZ-FMS-26-{serial:05}",
                "masterOwner": {"name": "Nobody Records", "did": _NOBODY},
                "parties": [
                    {
                        "name": "Ada Lind",
                        "role": "composer",
                        "mechanicalShare": 7500,
                        "performanceShare": 5000,
                    }
                ],
            },
        }
    return {}
