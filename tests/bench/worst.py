"""The searches that cost most: one letter, common words, deep pages, five filters, a hundred letters."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path
from string import ascii_lowercase
from typing import Final
from urllib.parse import quote, urlencode

from readapi.index import cursors
from readapi.index.lookups import Index
from readapi.index.search.execute import Search, execute_search
from readapi.index.search.parameters import ORDER
from schemas import search_text

CLASSES: Final = ("one letter", "common words", "deep pages", "five filters", "a hundred letters")
_COMMON: Final = 30  # words that most titles have
_PAGES: Final = 40  # that somebody follows
_PAGE: Final = 50
_LETTERS: Final = 100  # that a text may have
_ASKED: Final = 500  # of a class, where there are so many


class WorstQuestions:
    """Paths by class, from the titles of a catalogue; the same ones for the same titles."""

    def __init__(self, titles: Sequence[str], tags: Sequence[str]) -> None:
        self._titles, self._tags = titles, tags
        self._rng = random.Random(3)
        words = (word for title in titles for word in search_text.split_words(title))
        counted = Counter(word for word in words if not search_text.is_unspaced(word))
        self.common = [word for word, _ in counted.most_common(_COMMON)]

    def classes(self, data_dir: Path, base_url: str) -> dict[str, list[str]]:
        """The paths of each class. The index of the catalogue tells where its deep pages begin."""
        index = Index(data_dir, base_url)
        index.refresh()
        asked = (
            # A text has two characters at least; signs at its ends are no part of a word.
            [_path(q=f"{letter}.") for letter in ascii_lowercase],
            self._common_words(),
            list(self._deep_pages(index)),
            [self._filtered() for _ in range(_ASKED)],
            [_path(q=self._long_text()) for _ in range(_ASKED)],
        )
        return dict(zip(CLASSES, asked, strict=True))

    def _common_words(self) -> list[str]:
        pairs = [" ".join(pair) for pair in combinations(self.common, 2)]
        return [_path(q=text) for text in [*self.common, *pairs][:_ASKED]]

    def _deep_pages(self, index: Index) -> Iterator[str]:
        for word in self.common[: _ASKED // _PAGES]:
            wanted = Search(word, kinds=("track",))
            for after in islice(_ends(index, wanted), _PAGES):
                cursor = cursors.encode_cursor(ORDER, after)
                yield _path(q=word, type="tracks", limit=_PAGE, cursor=cursor)

    def _filtered(self) -> str:
        """A common word with a tag and four operators, which leave out little."""
        word, *others = self._rng.sample(self.common, 5)
        without = " ".join(f"-{other}" for other in others[:2])
        operators = f"{without} -artist:{others[2]} -album:{others[3]}"
        return _path(q=f"{word} {operators}"[:_LETTERS], tag=self._rng.choice(self._tags))

    def _long_text(self) -> str:
        text = " ".join(self._rng.choice(self._titles) for _ in range(_LETTERS))
        return text[:_LETTERS].strip()


def _ends(index: Index, wanted: Search) -> Iterator[str]:
    """Where each page of a search ends, but the last."""
    after = None
    while (after := execute_search(index, wanted, after, _PAGE).after) is not None:
        yield after


def _path(**asked: str | int) -> str:
    return f"/search/?{urlencode(asked, quote_via=quote)}"
