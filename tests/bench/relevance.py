"""How well searches find what was meant: success@10, mean reciprocal rank and CPU time per class of text."""

import random
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from readapi.index.search.execute import Search, execute_search
from schemas import search_text
from tests.bench import intents
from tests.bench.intents import Intent
from tests.bench.rows import Row, rounded
from tests.bench.songs import Song, Songs
from tests.readapi.indexed import Indexed

QUERIES: Final = 200  # of each class
SHOWN: Final = 10
_NAMING_ARTISTS: Final = {name for name in intents.ALL if "artist" in name}


@dataclass(frozen=True, slots=True)
class Score:
    """Of one class of queries: the share found among the first ten, the mean of 1/rank, CPU time of each."""

    success: float
    reciprocal_rank: float
    microseconds: float


def measured(
    index: Indexed,
    songs: Songs,
    classes: Mapping[str, Intent] = intents.ALL,
    queries: int = QUERIES,
    seed: int | str = "asked",
) -> Iterator[tuple[str, Score]]:
    """Each class and its score. Songs of another artist count where the query names no artist."""
    for name, intent in classes.items():
        asked = _asked(songs, intent, queries, random.Random(f"{seed} {name}"))
        ranks = []
        spent = 0.0
        for song, text in asked:
            wanted = Search(text[:100], kinds=("track",))
            started = time.process_time()
            found = execute_search(index.index, wanted, None, SHOWN)
            spent += time.process_time() - started
            ranks.append(_rank(song, found.results, by_artist=name in _NAMING_ARTISTS))
        count = max(len(ranks), 1)
        success = sum(rank > 0 for rank in ranks) / count
        reciprocal = sum(1 / rank for rank in ranks if rank) / count
        yield name, Score(success, reciprocal, spent / count * 1e6)


def rows(tracks: int, scratch: Path) -> Iterator[Row]:
    """The figures of every class at a size."""
    shutil.rmtree(scratch, ignore_errors=True)
    songs = Songs(tracks)
    index = songs.index(scratch)
    try:
        for name, score in measured(index, songs):
            yield Row(f"search, {name}, success@10", rounded(score.success), "share")
            yield Row(f"search, {name}, mean reciprocal rank", rounded(score.reciprocal_rank), "share")
            yield Row(f"search, {name}, CPU in process", rounded(score.microseconds), "µs")
    finally:
        index.close()
        shutil.rmtree(scratch, ignore_errors=True)


def _asked(songs: Songs, intent: Intent, count: int, dice: random.Random) -> list[tuple[Song, str]]:
    """Songs that lend themselves, and what is typed for each."""
    drawn = dice.sample(songs.all, len(songs.all))
    asked: list[tuple[Song, str]] = []
    for song in drawn:
        text = intent(song, dice)
        if text is not None:
            asked.append((song, text))
        if len(asked) == count:
            break
    return asked


def _rank(song: Song, results: list[bytes], *, by_artist: bool) -> int:
    """The place of the song among the results, from 1; 0: not there."""
    name = search_text.squeeze_name(song.title)
    for place, result in enumerate(map(orjson.loads, results), 1):
        same_artist = result["artist_display_name"] == song.artist
        if search_text.squeeze_name(result["title"]) == name and (same_artist or not by_artist):
            return place
    return 0
