"""Relevance of searches at 20,000 tracks, class by class of what people type. SEED asks other questions."""

import os
from collections.abc import Iterator

import pytest

from tests.bench import intents, relevance
from tests.bench.songs import Songs
from tests.readapi.indexed import Indexed

TRACKS = 20_000
# The least success@10 and mean reciprocal rank of each class.
ENOUGH = {
    "exact": (0.98, 0.98),
    "prefix": (0.98, 0.98),
    "words out of order": (0.98, 0.97),
    "without accents": (0.98, 0.98),
    "CJK": (1.0, 0.98),
    "part of CJK": (1.0, 0.98),
    "artist and title": (0.98, 0.98),
    "one typo": (0.98, 0.97),
    "title by artist": (0.97, 0.97),
    "a word too many": (0.97, 0.96),
    "artist, title and more": (0.97, 0.96),
    "two typos in two words": (0.95, 0.94),
    "two typos in one word": (0.95, 0.93),
    "typo in the unfinished word": (0.96, 0.93),
    "typo before the unfinished word": (0.98, 0.95),
    "wrong word among four": (0.95, 0.94),
    "middle of a word": (0.95, 0.93),
    "words joined": (0.98, 0.97),
    "word split": (0.98, 0.97),
    "plural": (0.98, 0.98),
    "artist – title": (0.98, 0.97),
    "artist with a typo and title": (0.98, 0.97),
}


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Indexed, Songs]]:
    """The songs, and the index that holds them."""
    made = Songs(TRACKS)
    index = made.index(tmp_path_factory.mktemp("relevance"))
    yield index, made
    index.close()


@pytest.mark.parametrize("name", ENOUGH)
@pytest.mark.slow
def test_people_find_the_song_they_mean(
    songs: tuple[Indexed, Songs], capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Among the first ten results, and mostly first."""
    index, made = songs
    seed = os.environ.get("SEED", "asked")

    ((_, score),) = relevance.measured(index, made, {name: intents.ALL[name]}, seed=seed)

    with capsys.disabled():
        print(f"\n{name:32} success@10 {score.success:.3f}, MRR {score.reciprocal_rank:.3f}", end=" ")
    assert score.success >= ENOUGH[name][0]
    assert score.reciprocal_rank >= ENOUGH[name][1]
