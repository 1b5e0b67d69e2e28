"""A catalogue of songs to search in: names in several languages and scripts, words in natural proportions.

The same seed makes the same songs. Common words are real ones, rare words are made up of syllables.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from indexer.search.documents.fields import Documents
from indexer.search.documents.people import Person
from tests.readapi.indexed import Indexed, artist_documents, person, tag_documents, track_documents

# The words that most titles are made of, by language; then the beginnings, vowels and ends of syllables.
_COMMON: Final = {
    "english": "the of in my you love night a to me and for heart on time dance dream light all no one home "
    "blue fire rain summer moon sky river gold way life down never wild city young ghost girl boy "
    "black water sun star road stay lost back world feel run letter morning winter little golden "
    "silver broken ocean shadow mountain paper glass stone garden window electric midnight forever "
    "yesterday satellite",
    "spanish": "de la el corazón amor noche mi luna vida sin tu sol quiero canción para mar cielo bailar "
    "camino fuego lluvia sueño mañana corazon ojos tiempo ciudad flor año niña",
    "french": "la le de nuit été mon amour les jour rêve soleil sous ciel mer rue cœur chanson forêt étoile "
    "lumière hiver français garçon être",
    "german": "der die das nacht und ich liebe herz für mädchen straße sonne über träume licht regen stadt "
    "himmel grün schön größe zurück",
    "russian": "в на ночь любовь моя сердце ты снег город небо звезда дорога весна дождь песня солнце "
    "утро вода",
}
_SYLLABLES: Final = {
    "english": (
        "b br c ch cl d f g gr h j k l m n p r s sh st t th tr v w",
        "a e i o u ea oo",
        "- - n r st ck ng l t",
    ),
    "spanish": ("b c d f g j l ll m n ñ p r s t v", "a e i o u á é í ó ia ue", "- - - n s"),
    "french": ("b c ch d f g j l m n p qu r s t v", "a e é è i o ou eau u ê", "- - t s r"),
    "german": ("b d f g h k l m n pf r s sch st t w z", "a e i o u ä ö ü ei au", "n r t ß lt ch"),
    "russian": ("б в г д ж з к л м н п р с т ч ш", "а е и о у ы я", "- - к н т й"),
}
_NO_END: Final = "-"
_UNSPACED: Final = (
    "夜東京雨星空海夢花月風雪光影愛歌心春夏秋冬朝夕山川石火水木金土日時人生道旅家町駅電車音楽声猫犬鳥魚森",
    "夜東京雨星空海夢花月のはをにがでもあいうかきくさしすたつなまりるれアイスンドルロ",
    "서울의밤하늘바람사랑노래별빛나무강물소리꿈길눈비봄여름가을겨울",
)
_LANGUAGES: Final = (
    ("english",) * 10 + ("spanish",) * 4 + ("french",) * 3 + ("german",) * 3 + ("russian",) * 2
)
_RARE: Final = 4000  # made-up words of each language
_TAGS: Final = 300


@dataclass(frozen=True, slots=True)
class Song:
    """A track as people know it."""

    title: str
    artist: str
    album: str | None

    @property
    def words(self) -> list[str]:
        return self.title.split()


class Songs:
    """The songs of so many artists, and the index that holds them."""

    def __init__(self, tracks: int, seed: int | str = "songs") -> None:
        self._dice = random.Random(seed)
        self._words = {language: self._vocabulary(language) for language in _COMMON}
        self._weights = {
            language: list(accumulate(1 / (rank + 3) ** 0.95 for rank in range(len(words))))
            for language, words in self._words.items()
        }
        self._tags = [self._word("english") for _ in range(_TAGS)]
        self._artists = [self._artist(number) for number in range(max(tracks // 6, 1))]
        self.all: list[Song] = []
        self._tracks = tracks

    def index(self, folder: Path) -> Indexed:
        """Write all songs, artists and tags into an index in this folder."""
        index = Indexed(folder)
        documents = self._documents()
        index.write(documents)
        return index

    def _documents(self) -> Iterator[Documents]:
        for number in range(self._tracks):
            owner, language, albums = self._artists[int(len(self._artists) * self._dice.random() ** 2)]
            album = self._dice.choice(albums) if albums and self._dice.random() < 0.6 else None
            song = Song(self._title(language), owner.name, album)
            self.all.append(song)
            yield track_documents(
                number,
                song.title,
                owner,
                album=album,
                likes=int(self._dice.paretovariate(0.8)) - 1,
                tags=self._dice.sample(
                    self._tags[: self._dice.choice((20, _TAGS))], self._dice.randint(0, 3)
                ),
                description=self._sentence(language, 12) if self._dice.random() < 0.2 else None,
            )
        yield from (artist_documents(owner, 1) for owner, _, _ in self._artists)
        yield from (tag_documents(name) for name in self._tags)

    def _artist(self, number: int) -> tuple[Person, str, list[str]]:
        """A person, their language, and their albums."""
        dice, language = self._dice, self._dice.choice(_LANGUAGES)
        name = " ".join(self._word(language) for _ in range(dice.choice((1, 2, 2, 2, 3)))).title()
        if dice.random() < 0.2:
            name = f"The {name}"
        albums = [
            self._sentence(language, dice.randint(1, 3)).title() for _ in range(dice.choice((0, 0, 1, 2)))
        ]
        return person(f"p{number}", name), language, albums

    def _title(self, language: str) -> str:
        dice = self._dice
        kind = dice.random()
        if kind < 0.06:
            return self._unspaced()
        title = self._sentence(language, dice.choice((1, 2, 2, 3, 3, 4, 5))).title()
        if kind < 0.09:
            return f"{self._unspaced()} {title}"
        if kind < 0.12:
            return f"{title} ({self._word(language).title()} Remix)"
        return title

    def _unspaced(self) -> str:
        return "".join(self._dice.choices(self._dice.choice(_UNSPACED), k=self._dice.randint(3, 8)))

    def _sentence(self, language: str, count: int) -> str:
        """Words of a language, each once."""
        drawn = self._dice.choices(self._words[language], cum_weights=self._weights[language], k=count)
        return " ".join(dict.fromkeys(drawn))

    def _vocabulary(self, language: str) -> list[str]:
        made = (self._word(language) for _ in range(_RARE))
        return list(dict.fromkeys([*_COMMON[language].split(), *made]))

    def _word(self, language: str) -> str:
        onsets, vowels, ends = (letters.split() for letters in _SYLLABLES[language])
        dice = self._dice
        count = dice.choice((1, 2, 2, 2, 3, 3, 4))
        return "".join(dice.choice(onsets) + dice.choice(vowels) for _ in range(count)) + dice.choice(
            ends
        ).strip(_NO_END)
