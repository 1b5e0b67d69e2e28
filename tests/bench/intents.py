"""What people type who have a song in mind: one function for each way to get it nearly right. Pure.

Each takes the song and a random generator, and returns the text; None where the song does not lend itself.
"""

import random
from collections.abc import Callable
from typing import Final

from schemas import search_text
from tests.bench.songs import Song

Intent = Callable[[Song, random.Random], str | None]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_LONG: Final = 8


def exact(song: Song, dice: random.Random) -> str | None:
    return song.title


def prefix(song: Song, dice: random.Random) -> str | None:
    return song.title[: max(5, len(song.title) * 3 // 4)] if len(song.title) > 6 and spaced(song) else None


def out_of_order(song: Song, dice: random.Random) -> str | None:
    words = song.words
    return " ".join(words[1:] + words[:1]) if spaced(song) and len(words) > 1 else None


def accents(song: Song, dice: random.Random) -> str | None:
    plain = search_text.fold_text(song.title)
    return plain if spaced(song) and plain != song.title.lower() else None


def unspaced(song: Song, dice: random.Random) -> str | None:
    return None if spaced(song) else song.title


def part_of_unspaced(song: Song, dice: random.Random) -> str | None:
    """Four letters out of more."""
    if spaced(song) or " " in song.title or len(song.title) < 6:
        return None
    return song.title[1:5]


def artist_and_title(song: Song, dice: random.Random) -> str | None:
    return f"{song.artist} {song.title}"


def artist_dash_title(song: Song, dice: random.Random) -> str | None:
    return f"{song.artist} – {song.title}"


def title_by_artist(song: Song, dice: random.Random) -> str | None:
    return f"{song.title} by {song.artist}"


def word_too_many(song: Song, dice: random.Random) -> str | None:
    more = dice.choice(
        ("official audio", "official video", "lyrics", "feat. Nobody Known", "ft. Someone", "remix")
    )
    return f"{song.title} {more}" if len(song.title) > 5 else None


def artist_title_and_more(song: Song, dice: random.Random) -> str | None:
    return f"{song.artist} - {song.title} {dice.choice(('(Official Video)', '[Lyrics]', 'official audio'))}"


def one_typo(song: Song, dice: random.Random) -> str | None:
    return _with_typos(song, dice, words=1, least=5)


def two_typos_in_two_words(song: Song, dice: random.Random) -> str | None:
    return _with_typos(song, dice, words=2, least=5)


def two_typos_in_one_word(song: Song, dice: random.Random) -> str | None:
    long = [word for word in song.words if len(word) >= _LONG and word.isalpha()]
    if not long or not spaced(song):
        return None
    wrong = dice.choice(long)
    half = len(wrong) // 2
    return song.title.replace(wrong, mistyped(wrong[:half], dice) + mistyped(wrong[half:], dice))


def typo_in_unfinished_word(song: Song, dice: random.Random) -> str | None:
    *words, last = song.words
    if not spaced(song) or len(last) < 7 or not last.isalpha():
        return None
    return " ".join([*words, mistyped(last[: len(last) - 2], dice)])


def typo_before_unfinished_word(song: Song, dice: random.Random) -> str | None:
    *words, last = song.words
    wrong = [word for word in words if len(word) > 4 and word.isalpha()]
    if not spaced(song) or not wrong or len(last) < 5:
        return None
    chosen = dice.choice(wrong)
    return " ".join([*(mistyped(word, dice) if word == chosen else word for word in words), last[:-2]])


def artist_with_typo_and_title(song: Song, dice: random.Random) -> str | None:
    long = [word for word in song.artist.split() if len(word) > 4]
    if not long or not spaced(song):
        return None
    wrong = dice.choice(long)
    return f"{song.artist.replace(wrong, mistyped(wrong, dice))} {song.title}"


def wrong_word_among_four(song: Song, dice: random.Random) -> str | None:
    words = [word for word in song.words if word.isalpha()]
    if not spaced(song) or len(words) < 4:
        return None
    words = words[:4]
    words[dice.randrange(4)] = "".join(dice.choices(_LETTERS, k=dice.randint(4, 8)))
    return " ".join(words)


def middle_of_word(song: Song, dice: random.Random) -> str | None:
    """A long word without its first and last letters; of a title of several words the others too."""
    long = [word for word in song.words if len(word) >= _LONG and word.isalpha()]
    if not long or not spaced(song):
        return None
    wrong = dice.choice(long)
    return " ".join(word[2:-1] if word == wrong else word for word in song.words)


def joined(song: Song, dice: random.Random) -> str | None:
    return (
        "".join(song.words) if spaced(song) and len(song.words) == 2 and song.title.count("(") == 0 else None
    )


def split(song: Song, dice: random.Random) -> str | None:
    """A title of one word, as two."""
    if not spaced(song) or len(song.words) > 1 or len(song.title) < 7:
        return None
    at = dice.randrange(3, len(song.title) - 2)
    return f"{song.title[:at]} {song.title[at:]}"


def plural(song: Song, dice: random.Random) -> str | None:
    if not spaced(song) or not song.title.isascii() or len(song.words[-1]) < 4 or ")" in song.title:
        return None
    return f"{song.title}s"


STRICT: Final[dict[str, Intent]] = {
    "exact": exact,
    "prefix": prefix,
    "words out of order": out_of_order,
    "without accents": accents,
    "CJK": unspaced,
    "part of CJK": part_of_unspaced,
    "artist and title": artist_and_title,
    "one typo": one_typo,
}
FORGIVING: Final[dict[str, Intent]] = {
    "title by artist": title_by_artist,
    "a word too many": word_too_many,
    "artist, title and more": artist_title_and_more,
    "two typos in two words": two_typos_in_two_words,
    "two typos in one word": two_typos_in_one_word,
    "typo in the unfinished word": typo_in_unfinished_word,
    "typo before the unfinished word": typo_before_unfinished_word,
    "wrong word among four": wrong_word_among_four,
    "middle of a word": middle_of_word,
    "words joined": joined,
    "word split": split,
    "plural": plural,
    "artist – title": artist_dash_title,
    "artist with a typo and title": artist_with_typo_and_title,
}
ALL: Final = STRICT | FORGIVING


def mistyped(word: str, dice: random.Random) -> str:
    """A letter too many, too few, another one, or two that changed places; never the word itself."""
    while True:
        at, letter = dice.randrange(len(word)), dice.choice(_LETTERS)
        wrong = dice.choice(
            (
                word[:at] + letter + word[at:],
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
            )
        )
        if search_text.fold_text(wrong) != search_text.fold_text(word):
            return wrong


def spaced(song: Song) -> bool:
    """Whether the title has no run of a script without spaces."""
    return not any(search_text.is_unspaced(run) for run in search_text.split_runs(song.title))


def _with_typos(song: Song, dice: random.Random, words: int, least: int) -> str | None:
    long = list(dict.fromkeys(word for word in song.words if len(word) >= least and word.isalpha()))
    if not spaced(song) or len(long) < words:
        return None
    wrong = dice.sample(long, words)
    return " ".join(mistyped(word, dice) if word in wrong else word for word in song.words)
