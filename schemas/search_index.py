"""The Tantivy indexes: fields, tokenizers and sort keys, shared by the indexer and the API.

`catalog` has a document per visible track, artist, album, playlist and tag, to show. `words` has one for
each of them, to search: apart, because a like changes the former and hardly ever the latter, and words cost
most. `social` has a document per like and comment.
Text is normalised by `schemas.search_text` before it gets here, so the tokenizers only split it.
"""

from pathlib import Path
from typing import Literal

import tantivy

Kind = Literal["track", "artist", "album", "playlist", "tag"]

VERSION = 16  # raise it when a field, a card or the folding of text changes: older indexes are made anew
VERSION_FILE = (
    "version"  # in each index's folder, in digits; indexes without it are older than all that have it
)
FRESH_SUFFIX = ".new"  # of the folder in which an index is made anew, beside the one in use
PROGRESS_FILE = "progress"  # in that folder: a sentence with how far it is
CURSOR = "__cursor__"  # the document that holds the watermark: `id` is the last outbox op, `card` says it too
CATALOG_FOLDER = "catalog"
WORDS_FOLDER = "words"
SOCIAL_FOLDER = "social"

STORED = "stored"  # the one field that is only stored; see schemas.stored
# Readers map the files and take documents out of them as they lie there: larger blocks make a shorter list.
STORE_SETTINGS = {"docstore_compression": "none", "docstore_blocksize": 1 << 16}
WORDS = "words"
STARTS = "starts"
KINDS: tuple[Kind, ...] = ("track", "artist", "album", "playlist", "tag")
OTHER = "other"  # a `kind` in `words` of everything but tracks: there are few of them
ADULT = "adult"  # a `kind` in `words` of what is for adults
WHOLE = "="  # before the rest of a whole name
BETWEEN_NAMES = "|"  # a word of no name, so that no phrase goes on from one name to the next
Scope = Literal["artist", "album", "tag"]  # of the names that one of a document's words can come from
START_LETTERS = 16  # longest beginning that is a term of its own; longer ones walk the term dictionary

_LETTER_BITS = 8
MOST_LETTERS = (1 << _LETTER_BITS) - 1  # that are counted
_MILLISECOND_BITS = 41  # up to the year 2039
_COUNT_BITS = 31
_ID_BITS = 53
KIND_SPAN = 1 << _ID_BITS  # of the catalog's `id`: the numbers of one kind
COUNT_SHIFT = 64 - _COUNT_BITS  # of a popular_key, to get the count back


def search_schemas() -> dict[str, tantivy.Schema]:
    """The folder of each index, and its fields."""
    return {CATALOG_FOLDER: catalog_schema(), WORDS_FOLDER: words_schema(), SOCIAL_FOLDER: social_schema()}


def catalog_schema() -> tantivy.Schema:
    """Fields of tracks, artists, albums, playlists and tags."""
    builder = tantivy.SchemaBuilder()
    # `file`: the file_id of a track's audio. `picture`: the CID of the picture that the record names.
    # `place`: a `place_term` for each place where a stranger may meet it; see schemas.access.
    _add_raw(
        builder, "doc", "did", "kind", "place", "uuid", "uri", "file", "picture", "handle", "slug", "tag"
    )
    builder.add_integer_field("key", indexed=True, fast=True)
    _add_numbers(builder, "id", "recent", "popular")
    builder.add_unsigned_field("plays", fast=True)  # of a track, for the sums that tags show
    builder.add_bytes_field(STORED, stored=True)
    return builder.build()


def words_schema() -> tantivy.Schema:
    """Fields for searching all kinds. The stored card is the search result."""
    builder = tantivy.SchemaBuilder()
    _add_raw(builder, "doc", "did", "kind", "tag", "heat")  # `heat`: see `heats`
    _add_numbers(builder, "id", "recent", "popular")
    builder.add_unsigned_field(
        "size", fast=True
    )  # of the name, the first if there are several: see `name_size`
    _add_text(builder)
    builder.add_bytes_field(STORED, stored=True)
    return builder.build()


def _add_raw(builder: tantivy.SchemaBuilder, *names: str) -> None:
    for name in names:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")


def _add_numbers(builder: tantivy.SchemaBuilder, *names: str) -> None:
    # Sort keys are indexed too: a page from the middle of a long list costs no walk over the whole column.
    for name in names:
        builder.add_unsigned_field(name, indexed=True, fast=True)


def _add_text(builder: tantivy.SchemaBuilder) -> None:
    """`exact`: whole names without spaces. `title`: a name's words. `names`: those and others'.

    `text`: all words, those of the description too. `*_starts`: the beginnings of words and names, for
    searching while a query is typed. `near`: what is left of words and whole names without any one of their
    letters; two that share such a rest are a typo apart. Long words of own names have the rests without two
    letters as well. `ends`: what the words of own names end with. `scoped`: words with the kind of name that
    they are from, see `scoped_word`, and how many words and letters the name has, see `word_count` and
    `letter_count`.
    Nothing private has any of these.
    """
    builder.add_text_field("exact", tokenizer_name="raw", index_option="basic")
    for name in ("exact_starts", "title_starts", "names_starts"):
        builder.add_text_field(name, tokenizer_name=STARTS, index_option="basic")
    for name in ("title", "near", "text", "ends", "scoped"):
        builder.add_text_field(name, tokenizer_name=WORDS, index_option="basic")
    builder.add_text_field("names", tokenizer_name=WORDS, index_option="position")


def social_schema() -> tantivy.Schema:
    """Fields of likes and comments: the account (`did`), the track (`subject`, its key), and the time."""
    builder = tantivy.SchemaBuilder()
    _add_raw(builder, "doc", "did", "kind")
    builder.add_integer_field("subject", indexed=True, fast=True)
    _add_numbers(builder, "id", "recent", "at")
    builder.add_bytes_field(STORED, stored=True)
    return builder.build()


def scoped_word(scope: Scope, word: str) -> str:
    """The term for a word of an artist's or album's name, or of a tag."""
    return f"{scope}:{word}"


def word_count(count: int) -> str:
    """The term for a name of so many words; of several names, the first one is counted."""
    return f"#{count}"


def letter_count(count: int) -> str:
    """The term for a name of so many letters, spaces and signs not counted."""
    return f"~{min(count, MOST_LETTERS)}"


def name_size(words: int, letters: int) -> int:
    """Both counts in one number."""
    return words << _LETTER_BITS | min(letters, MOST_LETTERS)


def split_size(size: int) -> tuple[int, int]:
    """The words and the letters of a `name_size`."""
    return size >> _LETTER_BITS, size & MOST_LETTERS


def heats(count: int) -> list[str]:
    """The terms of a document that is counted so often: each power of two, from 1 on, that it reaches.

    What is popular is found by these without a look at everything else.
    """
    return [str(power) for power in range(count.bit_length())]


def place_term(kind: Kind, place: str, *, adult: bool) -> str:
    """The term of what strangers meet in a place; `adult`: only if they ask for what is for adults."""
    return f"{kind}@{place}+{ADULT}" if adult else f"{kind}@{place}"


def version_in(folder: Path) -> int:
    """The version of the index in a folder. Raises ValueError when its file holds none, or OSError."""
    try:
        text = (folder / VERSION_FILE).read_text()
    except FileNotFoundError:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{text[:20]!r} is no version of an index")
    return int(text)


def register_tokenizers(index: tantivy.Index) -> None:
    """Register our tokenizers with an index. Tantivy does not store them: call this after each opening."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    starts = tantivy.Tokenizer.ngram(min_gram=1, max_gram=START_LETTERS, prefix_only=True)
    index.register_tokenizer(WORDS, words)
    index.register_tokenizer(STARTS, tantivy.TextAnalyzerBuilder(starts).build())


def is_panic(error: BaseException) -> bool:
    """Whether Tantivy panicked, as it does on damaged files. Its exception has no importable class."""
    return type(error).__name__ == "PanicException"


def kind_id(kind: Kind, record_id: int) -> int:
    """The catalog's `id`: the public id, and above it the kind, so that one number says both."""
    return KINDS.index(kind) << _ID_BITS | record_id


def kind_of(number: int) -> Kind:
    """The kind in a `kind_id`."""
    return KINDS[number >> _ID_BITS]


def recent_key(milliseconds: int, record_id: int) -> int:
    """A key that sorts by time, then by id. Times before 1970 and after 2039 are clamped."""
    time = min(max(milliseconds, 0), (1 << _MILLISECOND_BITS) - 1)
    id_bits = 64 - _MILLISECOND_BITS
    return time << id_bits | record_id >> (_ID_BITS - id_bits)


def round_count(count: int) -> int:
    """A count as `words` stores it: exact up to 4, then the power of two below it.

    It ranks equally good matches, and rarely changes.
    """
    return count if count < 4 else 1 << count.bit_length() - 1


def popular_key(count: int, record_id: int) -> int:
    """A key that sorts by a count, then by id."""
    id_bits = 64 - _COUNT_BITS
    return min(max(count, 0), (1 << _COUNT_BITS) - 1) << id_bits | record_id >> (_ID_BITS - id_bits)
