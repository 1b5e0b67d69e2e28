"""Recall: of 10,000 tracks in several scripts, people find the one they mean among the first ten results.

SEED repeats another run.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from indexer.search.documents.people import Person
from tests.readapi.indexed import Indexed, person, track_documents

TRACKS = 10_000
QUERIES = 200  # of each class
ENOUGH = 0.95
ENOUGH_WITH_TYPOS = 0.9

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ONSETS = [*"bcdfghjklmnprstvwzñçø", "br", "ch", "cl", "dr", "fl", "gr", "kl", "pr", "sch", "sh", "st", "tr"]
VOWELS = [*"aeiouaeiouáéíóúäöüåê", "ai", "ou", "ei"]
ENDS = ["", "", "", "n", "r", "s", "l", "m", "ng", "nd", "st", "ß"]
KANJI = "夜東京雨星空海夢花月風雪光影愛歌心春夏秋冬朝夕山川石火水木金土日時人生道旅家町駅電車音楽声"
KANA = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろアイウエオカキクケ"
)
HANGUL = "서울의밤하늘바람사랑노래별빛나무강물소리꿈길눈비봄여름가을겨울"


@dataclass(frozen=True, slots=True)
class Song:
    """A track that somebody may look for."""

    title: str
    artist: str


def word(dice: random.Random) -> str:
    syllables = (dice.choice(ONSETS) + dice.choice(VOWELS) for _ in range(dice.choice((1, 2, 2, 3))))
    return "".join(syllables) + dice.choice(ENDS)


def unspaced(dice: random.Random) -> str:
    letters = dice.choice((KANJI, KANJI + KANA, HANGUL))
    return "".join(dice.choices(letters, k=dice.randint(3, 8)))


def title(dice: random.Random, words: list[str]) -> str:
    """One to four words, common and rare; one in six in a script without spaces or mixed with it."""
    latin = " ".join(dice.choice(words[: dice.choice((300, len(words)))]) for _ in range(dice.randint(1, 4)))
    kind = dice.randrange(12)
    if kind == 0:
        return unspaced(dice)
    return f"{unspaced(dice)} {latin}" if kind == 1 else latin.title()


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Indexed, list[Song]]]:
    """The index, and what is in it."""
    dice = random.Random(os.environ.get("SEED", "recall"))
    words = sorted({word(dice) for _ in range(9000)})
    artists = [
        person(f"p{n}", " ".join(dice.sample(words, dice.randint(1, 2))).title()) for n in range(TRACKS // 10)
    ]
    index = Indexed(tmp_path_factory.mktemp("recall"))
    known: list[Song] = []

    def document(number: int, owner: Person) -> object:
        known.append(Song(title(dice, words), owner.name))
        likes = int(dice.paretovariate(0.8)) - 1
        return track_documents(number, known[-1].title, owner, likes=likes, tags=[dice.choice(words)])

    index.write(document(number, dice.choice(artists)) for number in range(TRACKS))
    yield index, known
    index.close()


def whole_title(song: Song, dice: random.Random) -> str:
    return song.title


def without_accents(song: Song, dice: random.Random) -> str:
    return song.title.lower().translate(str.maketrans("áéíóúäöüåêñçø", "aeiouaouaenco"))


def prefix(song: Song, dice: random.Random) -> str:
    return song.title[: max(5, len(song.title) * 3 // 4)]


def typo(song: Song, dice: random.Random) -> str:
    """A letter too many, too few, another one, or two that changed places."""
    text, at = song.title, dice.randrange(len(song.title))
    letter = dice.choice(KANJI if text[at] in KANJI + KANA else LETTERS)
    return dice.choice(
        (
            text[:at] + letter + text[at:],
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at + 1 : at + 2] + text[at] + text[at + 2 :],
        )
    )


def out_of_order(song: Song, dice: random.Random) -> str:
    words = song.title.split()
    return " ".join(words[1:] + words[:1])


def artist_and_word(song: Song, dice: random.Random) -> str:
    return f"{song.artist} {max(song.title.split(), key=len)}"


@pytest.mark.parametrize(
    ("ask", "least", "enough"),
    [
        (whole_title, 2, ENOUGH),
        (without_accents, 2, ENOUGH),
        (prefix, 5, ENOUGH),
        (typo, 5, ENOUGH_WITH_TYPOS),
        (out_of_order, 2, ENOUGH),
        (artist_and_word, 2, ENOUGH),
    ],
)
@pytest.mark.slow
def test_people_find_the_track_they_mean(
    songs: tuple[Indexed, list[Song]],
    capsys: pytest.CaptureFixture[str],
    ask: Callable[[Song, random.Random], str],
    least: int,
    enough: float,
) -> None:
    """Among the first ten; another track of the same title will do, as long as that is all one asked for."""
    index, known = songs
    dice = random.Random(ask.__name__)
    wanted = dice.sample([song for song in known if len(song.title) >= least], QUERIES)

    found = 0
    for song in wanted:
        results = index.results(ask(song, dice)[:100], limit=10, kinds=("track",))
        found += song in [Song(result["title"], result["artist_display_name"]) for result in results] or (
            ask is not artist_and_word and song.title in [result["title"] for result in results]
        )

    with capsys.disabled():
        print(f"\nsuccess@10 {ask.__name__:16} {found / QUERIES:.3f}", end=" ")
    assert found / QUERIES >= enough


def test_an_exact_title_is_the_first_result(songs: tuple[Indexed, list[Song]]) -> None:
    """However popular the others are."""
    index, known = songs
    wanted = random.Random(1).sample(known, QUERIES)

    first = [index.titles(song.title, limit=1) for song in wanted]

    same = sum(found == [song.title] for found, song in zip(first, wanted, strict=True))
    assert same / QUERIES >= ENOUGH
