"""Made-up words in natural proportions: few are common, most are rare, some have accents, some are CJK."""

import random
from itertools import accumulate
from typing import Final

WORDS: Final = 9_000
TAGS: Final = 600
_SYLLABLES: Final = [consonant + vowel for consonant in "bdfghklmnprstvwz" for vowel in "aeiou"]
_ACCENTED: Final = str.maketrans("aeiou", "áéíöü")
_CJK: Final = (
    "夜空東京星海風花月雪雨春夏秋冬山川森光影夢歌声音楽心愛恋涙笑朝昼夕暮遠近道町橋駅電車窓部屋手紙時間記憶永遠自由世界未来過去水火土金木"
    "青赤白黒緑紫銀鉄石砂波島湖泉雲霧虹雷嵐氷炎鳥魚猫犬馬龍虎蝶桜梅竹松葉根枝実種서울바람하늘사랑노래"
)


class Words:
    """Draws names and sentences from one vocabulary; the same seed draws the same."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        vocabulary = random.Random(1)
        self._words = list(dict.fromkeys(_word(vocabulary) for _ in range(WORDS)))
        self._weights = list(accumulate(1 / (rank + 8) ** 0.9 for rank in range(len(self._words))))
        self._tags = [f"{_word(vocabulary)}{rank:03d}" for rank in range(TAGS)]
        self._tag_weights = list(accumulate(1 / (rank + 2) for rank in range(TAGS)))

    def sentence(self, least: int, most: int) -> str:
        """So many words."""
        count = self._rng.randint(least, most)
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))

    def title(self) -> str:
        """A title: one in fifteen is written without spaces, in CJK."""
        if self._rng.random() < 1 / 15:
            return "".join(self._rng.choices(_CJK, k=self._rng.randint(2, 6)))
        return self.sentence(1, 4).title()

    def name(self) -> str:
        """What somebody is called."""
        return self.sentence(1, 2).title()

    def tags(self) -> list[str]:
        """Up to four different tags."""
        count = self._rng.choice((0, 0, 1, 2, 3, 4))
        return list(dict.fromkeys(self._rng.choices(self._tags, cum_weights=self._tag_weights, k=count)))


def _word(rng: random.Random) -> str:
    word = "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
    return word.translate(_ACCENTED) if rng.random() < 0.1 else word
