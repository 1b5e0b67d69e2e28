"""What the API is asked: addresses drawn from the catalogue itself, many of each kind."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import duckdb

from schemas import data_folder
from schemas.ids import list_id
from tests.bench.worst import WorstQuestions

DRAWN: Final = 20_000  # different addresses of a kind, where the catalogue has so many
TRACK: Final = "GET /tracks/{id}"
SEARCH: Final = "GET /search/"
LISTS: Final = (
    "GET /tracks/, newest 50",
    "GET /tracks/ of a tag or an artist, up to 50",
    "GET /tracks/tags/{name}, up to 50",
    "GET /lists/playlists/{id}",
    "GET /tracks/top",
    "GET /tracks/tags",
    "GET /stats",
    "GET /oembed",
    "GET /tracks/ of an artist, up to 50",
)
NEWEST, OF_EITHER, OF_TAG, PLAYLISTS, TOP, TAGS, STATS, OEMBED, OF_ARTIST = LISTS
CLASSES: Final = ("one word", "two words", "prefix", "typo", "CJK")
PERIODS: Final = ("all_time", "month", "week", "day")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class Questions:
    """Paths by kind of question; the same catalogue gives the same ones."""

    def __init__(self, data_dir: Path, base_url: str) -> None:
        self._rng = random.Random(2)
        self._base_url = base_url
        snapshot = (data_dir / data_folder.NEWEST_SNAPSHOT).resolve()
        with duckdb.connect(snapshot, read_only=True) as con:
            tracks = con.execute(
                "select id, title, did from visible_tracks where visibility = 'public' order by id"
            ).fetchall()
            used = con.execute(
                "select distinct tag from track_tags join visible_tracks on key = track_key "
                "where visibility = 'public' order by tag"
            ).fetchall()
            self._tags = [tag for (tag,) in used]
            self._playlists = [
                uri
                for (uri,) in con.execute(
                    "select uri from visible_lists where list_type = 'playlist' order by uri"
                ).fetchall()
            ]
        self._ids = [track_id for track_id, _, _ in tracks]
        self._titles = [title for _, title, _ in tracks]
        self._artists = sorted({did for _, _, did in tracks})

    def kinds(self) -> dict[str, list[str]]:
        """The rows of the benchmark."""
        lists = (
            ["/tracks/?limit=50"],
            self._lists(),
            self._by_tag(),
            self._whole_playlists(),
            self._top(),
            self._tag_counts(),
            ["/stats"],
            self._oembed(),
            self._by_artist(len(self._tags)),
        )
        return {TRACK: self._tracks(), SEARCH: mixed(self.searches()), **dict(zip(LISTS, lists, strict=True))}

    def _tracks(self) -> list[str]:
        """Every public track, in no order."""
        return self._shuffled([f"/tracks/{track_id}" for track_id in self._ids])

    def _lists(self) -> list[str]:
        """Pages of up to fifty tracks: by artist, by tag, both ways of sorting."""
        by_tag = [
            _path("/tracks/", tags=tag, sort=sort, limit=50)
            for tag in self._tags
            for sort in ("recent", "popular")
        ]
        return self._shuffled([*by_tag, *self._by_artist(len(by_tag))])

    def _by_artist(self, count: int) -> list[str]:
        """The newest of so many artists."""
        return [_path("/tracks/", artist_did=did, limit=50) for did in self._some(self._artists, count)]

    def _by_tag(self) -> list[str]:
        """The newest of every tag."""
        return self._shuffled([f"/tracks/tags/{quote(tag)}?limit=50" for tag in self._tags])

    def _whole_playlists(self) -> list[str]:
        """All playlists, whole."""
        return self._shuffled([f"/lists/playlists/{list_id(uri)}" for uri in self._playlists])

    def _top(self) -> list[str]:
        """All periods, all lengths."""
        asked = [
            _path("/tracks/top", period=period, limit=limit) for period in PERIODS for limit in range(1, 51)
        ]
        return self._shuffled(asked)

    def _tag_counts(self) -> list[str]:
        """Beginnings of tags, and the most used."""
        begins = sorted({tag[:length] for tag in self._tags for length in (1, 2, 3)})
        return ["/tracks/tags", *(_path("/tracks/tags", q=begin) for begin in self._shuffled(begins))]

    def _oembed(self) -> list[str]:
        """Every public track's player."""
        pages = [f"{self._base_url}/track/{track_id}" for track_id in self._ids]
        return self._shuffled([_path("/oembed", url=page) for page in pages])

    def searches(self, wanted: Sequence[str] = CLASSES) -> dict[str, list[str]]:
        """Queries by class, as many different ones of each as titles give."""
        titles = [title for title in self._titles if title.isascii() or " " in title]
        words = sorted({word.lower() for title in titles for word in title.split() if len(word) > 3})
        pairs = [" ".join(title.lower().split()[:2]) for title in titles if title.count(" ") > 0]
        unspaced = sorted(
            {
                title[at : at + 2]
                for title in self._titles
                if " " not in title and not title.isascii()
                for at in range(max(len(title) - 1, 1))
            }
        )
        classes: Mapping[str, tuple[list[str], Callable[[str], str]]] = {
            "one word": (words, str),
            "two words": (sorted(set(pairs)), str),
            "prefix": (words, lambda word: word[: self._rng.randint(2, len(word) - 1)]),
            "typo": ([word for word in words if len(word) > 4], self._mistyped),
            "CJK": ([text for text in unspaced if len(text) > 1], str),
        }
        return {
            name: [_path("/search/", q=change(text)) for text in self._some(texts)]
            for name, (texts, change) in classes.items()
            if name in wanted
        }

    def worst_searches(self, data_dir: Path) -> dict[str, list[str]]:
        """The searches that cost most, by class."""
        return WorstQuestions(self._titles, self._tags).classes(data_dir, self._base_url)

    def _mistyped(self, word: str) -> str:
        at = self._rng.randrange(1, len(word))
        return word[:at] + self._rng.choice(_LETTERS) + word[at + 1 :]

    def _some(self, items: list[str], count: int = DRAWN) -> list[str]:
        return self._rng.sample(items, min(count, len(items)))

    def _shuffled(self, items: list[str]) -> list[str]:
        return self._some(items, len(items))


def _path(path: str, **asked: str | int) -> str:
    return f"{path}?{urlencode(asked, quote_via=quote)}"


def mixed(classes: Mapping[str, list[str]]) -> list[str]:
    """One of each class in turn, for as long as all have any."""
    return list(chain.from_iterable(zip(*classes.values(), strict=False)))
