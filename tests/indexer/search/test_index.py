"""The search index follows the catalogue: nothing skipped, nothing left over, whatever was killed when."""

import itertools
import os
import random
import threading
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import orjson
import pytest
import tantivy

import indexer.search.index
from indexer.catalog.tables.cursors import StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.faults import StoreError
from indexer.search.documents import artist
from indexer.search.folder import IndexFolder
from indexer.search.index import STEP_ENTRIES, SearchIndex
from indexer.search.rebuild import rebuild_index
from indexer.search.render import Rendering
from schemas import data_folder, search_index
from schemas.ids import record_id, record_key
from schemas.labels import Label
from schemas.search_index import COUNT_SHIFT
from schemas.stored import Stored
from tests.features.indexing.test_crash import SOURCE, event
from tests.indexer.changes import (
    START,
    account,
    album,
    comment,
    delete,
    did,
    instant,
    like,
    put,
    settings,
    uri,
    write,
)
from tests.indexer.killing import killed

KILLS = int(os.environ.get("SEARCH_KILLS", "8"))
BASE = "https://music.example"

ORDERS = ("popular", "recent", "size")  # numbers by which a search orders what it finds

# What is stored of a document, and the numbers by which a search orders it.
Contents = dict[str, Any]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SearchIndex]:
    """An empty search index beside the test's catalogue."""
    opened = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
    yield opened
    opened.close()


def caught_up(index: SearchIndex, writer: Writer) -> int:
    """Follow to the end."""
    with writer.reader() as con:
        while index.follow(con) < writer.op:
            pass
    return index.watermark


def contents(folder: Path) -> Contents:
    """Everything that an index stores, by document; without the watermark."""
    found: Contents = {}
    for name, schema in search_index.search_schemas().items():
        index = tantivy.Index(schema, str(folder / name))
        searcher = index.searcher()
        addresses = [address for _, address in searcher.search(tantivy.Query.all_query(), 100_000).hits]
        stored = [Stored(memoryview(searcher.doc(address)[search_index.STORED][0])) for address in addresses]
        documents: Contents = {document.doc: document for document in stored}
        assert len(documents) == len(stored), "one document per name"
        if name == search_index.WORDS_FOLDER:
            documents = {f"words {doc}": document for doc, document in documents.items()}
            for field in ORDERS:
                values = searcher.fast_field_values(field, addresses)
                found |= {f"{field} {doc}": value for doc, value in zip(documents, values, strict=True)}
        found |= documents
    return {doc: content for doc, content in found.items() if not doc.endswith(search_index.CURSOR)}


def kinds(found: Contents) -> list[str]:
    """What documents are of, in the order of their names."""
    return [name.partition(":")[0] for name in sorted(found) if name.partition(" ")[0] not in ORDERS]


def versions(found: Contents) -> dict[str, str]:
    """The version of each track that can be found, by uri."""
    tracks = [
        orjson.loads(document.card + b"}") for doc, document in found.items() if doc.startswith("track:")
    ]
    return {track["uri"]: track["cid"] for track in tracks}


def test_what_is_written_can_be_found_and_what_is_deleted_cannot(writer, index, tmp_path):
    """Every kind of document comes, changes and goes with its record."""
    track = uri("ana", "track")
    write(
        writer, put("ana", "track", at=1, tags=["dub"]), album("ana", [track], at=2), like("ben", track, at=3)
    )
    write(writer, comment("ben", track, at=4))
    caught_up(index, writer)
    names = kinds(contents(tmp_path / data_folder.SEARCH))

    write(writer, delete("ana", "track", at=5), delete("ana", "list", at=6), delete("ben", "like", at=7))
    caught_up(index, writer)
    left = kinds(contents(tmp_path / data_folder.SEARCH))

    assert names == [
        "artist", "artist", "comment", "like", "list", "tag", "track",
        "words artist", "words list", "words tag", "words track",
    ]  # fmt: skip
    assert left == ["artist", "comment"]


def test_a_hidden_account_takes_everything_with_it_and_brings_it_back(writer, index, tmp_path):
    """Its tracks, its likes in others' counts, its tags."""
    write(writer, put("ana", "track", at=1, tags=["dub"]), like("ben", uri("ana", "track"), at=2))
    caught_up(index, writer)
    before = contents(tmp_path / data_folder.SEARCH)

    write(writer, account("ana", "takendown", at=3))
    caught_up(index, writer)
    hidden = contents(tmp_path / data_folder.SEARCH)
    write(writer, account("ana", "active", at=4))
    caught_up(index, writer)

    assert kinds(hidden) == ["artist", "like"]
    assert contents(tmp_path / data_folder.SEARCH) == before


@pytest.mark.parametrize("value", ["rock", "!hide"])
@pytest.mark.slow
def test_a_change_of_labels_reaches_every_document_that_tells_it(writer, index, tmp_path, value):
    """Of an account or one of its records: the documents are those of a rebuild until it is negated."""
    track, again = uri("ana", "track"), tmp_path / "again" / data_folder.SEARCH
    held = album("ana", [track], at=2), album("ana", [track], 1, at=3, listType="playlist")
    write(writer, put("ana", "track", at=1, tags=["dub"]), *held, comment("ana", track, at=4))
    caught_up(index, writer)
    before = contents(tmp_path / data_folder.SEARCH)

    for subject in (did("ana"), track, *(change.uri for change in held), uri("ana", "comment")):
        label = Label(did("labeler"), str(subject), None, value, instant(5))
        writer.write(Batch(labels=[label]))
        caught_up(index, writer)
        with writer.reader() as con:
            rebuild_index(con, again, BASE, lambda done, total: None)
        assert contents(tmp_path / data_folder.SEARCH) == contents(again) != before
        writer.write(Batch(labels=[label._replace(negated=True)]))
        caught_up(index, writer)
        assert contents(tmp_path / data_folder.SEARCH) == before


@pytest.mark.parametrize("step", [1, STEP_ENTRIES])
@pytest.mark.slow
def test_lists_follow_what_becomes_of_their_tracks(writer, index, tmp_path, step):
    """Also where a step ends within a transaction: the documents are those of a rebuild after each change."""
    again, number = tmp_path / "again" / data_folder.SEARCH, itertools.count(10)
    held = [*(uri("ana", "track", n) for n in range(5)), uri("ben", "track"), uri("ben", "list", 9)]
    private = {"visibility": "private", "listening": "public", "downloads": "open"}
    write(writer, *(put("ana", "track", n, at=1) for n in range(5)), put("ben", "track", at=1))
    write(writer, album("ana", held, at=2), album("ben", held, 9, at=3, listType="playlist"))
    index.step_entries = step
    changes: list[Batch] = [
        Batch(plays={record_key(str(held[0])): 3}),
        Batch(changes=[put("ana", "track", 1, at=next(number), access=private)]),
        Batch(
            changes=[put("ana", "track", 2, at=next(number), access={**private, "visibility": "unlisted"})]
        ),
        Batch(labels=[Label(did("labeler"), str(held[3]), None, "nudity", instant(next(number)))]),
        Batch(labels=[Label(did("labeler"), str(held[4]), None, "!hide", instant(next(number)))]),
        Batch(labels=[Label(did("labeler"), did("ben"), None, "nudity", instant(next(number)))]),
        Batch(changes=[delete("ana", "track", 0, at=next(number)), put("ana", "track", 1, at=next(number))]),
        Batch(changes=[put("ana", "profile", at=next(number), displayName="Ana of the hills")]),
        Batch(
            changes=[
                album("ana", held, at=next(number), name="The list first"),
                put("ana", "track", 1, at=next(number), access=private),
            ]
        ),
        Batch(accounts=[account("ben", "deactivated", at=next(number))]),
        Batch(accounts=[account("ben", "active", at=next(number))]),
    ]

    cards = set()
    for change in changes:
        writer.write(change)
        caught_up(index, writer)
        with writer.reader() as con:
            rebuild_index(con, again, BASE, lambda done, total: None)
        found = contents(tmp_path / data_folder.SEARCH)
        assert found == contents(again)
        cards.add(found[f"list:{record_key(str(uri('ana', 'list')))}"].card)

    assert len(cards) >= 6


@pytest.mark.parametrize("step", [1, STEP_ENTRIES])
@pytest.mark.slow
def test_a_list_where_a_track_belongs_stops_nothing(writer, index, tmp_path, step):
    """Any account can like a list or put one into an album: the documents are those of a rebuild."""
    again, playlist = tmp_path / "again" / data_folder.SEARCH, uri("ana", "list")
    write(writer, put("ana", "track", at=1, tags=["dub"]), put("ben", "track", at=1, tags=["dub"]))
    write(writer, album("ana", [uri("ana", "track")], at=2, listType="playlist"))
    caught_up(index, writer)
    index.step_entries = step
    changes = [
        Batch(changes=[like("ben", playlist, at=3)]),
        Batch(changes=[comment("ben", playlist, at=4)]),
        Batch(plays={record_key(str(playlist)): 3}),
        Batch(changes=[album("ben", [playlist, uri("ben", "track")], at=5)]),
        Batch(changes=[album("ben", [playlist], at=6), put("ben", "track", at=6, tags=["dub", "ska"])]),
        Batch(changes=[like("ana", uri("ben", "list"), at=7), delete("ana", "list", at=7)]),
        Batch(changes=[album("ana", [playlist], at=8, listType="playlist"), delete("ben", "like", at=8)]),
    ]

    for change in changes:
        writer.write(change)
        caught_up(index, writer)
        with writer.reader() as con:
            rebuild_index(con, again, BASE, lambda done, total: None)
        assert contents(tmp_path / data_folder.SEARCH) == contents(again)


def test_likes_move_the_count_on_a_card_and_how_popular_a_search_finds_it(writer, index, tmp_path):
    """The artist, too, is as popular as the tracks together."""
    tracks = [uri("ana", "track", number) for number in (1, 2)]
    write(writer, *(put("ana", "track", number, at=1) for number in (1, 2)))
    caught_up(index, writer)

    told = []
    for fan in range(6):
        write(writer, *(like(f"fan {fan}", track, number, at=fan + 2) for number, track in enumerate(tracks)))
        caught_up(index, writer)
        found = contents(tmp_path / data_folder.SEARCH)
        track, artist = f"track:{record_key(str(tracks[0]))}", f"artist:{tracks[0].did}"
        card = orjson.loads(found[track].card + b"}")
        popular = (found[f"popular words {name}"] >> COUNT_SHIFT for name in (track, artist))
        told.append((card["like_count"], *popular))

    assert told == [(1, 1, 2), (2, 2, 4), (3, 3, 4), (4, 4, 8), (5, 4, 8), (6, 4, 8)]


def test_artists_of_the_same_id_keep_their_own_names(writer, index, tmp_path, monkeypatch):
    """An id has 53 bits of a hash: an artist's new popularity never puts another's name into a search."""
    for module in (indexer.search.index, artist):
        monkeypatch.setattr(
            module, "record_id", lambda name: 7 if name.startswith("did:") else record_id(name)
        )
    people, tracks = ("ana", "ben"), [uri(person, "track") for person in ("ana", "ben")]
    write(writer, *(put(person, "profile", at=1, displayName=f"DJ {person}") for person in people))
    write(writer, *(put(person, "track", at=2) for person in people))
    caught_up(index, writer)

    for at in range(3, 6):
        write(writer, *(like(f"fan {at}", track, number, at=at) for number, track in enumerate(tracks)))
        caught_up(index, writer)

    found = contents(tmp_path / data_folder.SEARCH)
    cards = [found[f"words artist:{did(person)}"].card for person in people]
    assert [orjson.loads(card + b"}")["display_name"] for card in cards] == ["DJ ana", "DJ ben"]


def test_long_outboxes_are_followed_in_steps(writer, index):
    """Each step is committed, and a later start goes on from there."""
    write(writer, *(put("ana", "track", n, at=n, tags=[f"tag {n}"]) for n in range(20)))
    index.step_entries = 15

    marks = []
    with writer.reader() as con:
        while not marks or marks[-1] < writer.op:
            marks.append(index.follow(con))
        marks.append(index.follow(con))

    assert marks[:2] == [15, 30]
    assert marks[-1] == marks[-2] == writer.op == index.watermark


def test_an_index_that_does_not_change_is_not_committed(writer, index, tmp_path):
    """A comment changes nothing that a search for words finds; the catalog index has the watermark."""
    words, catalog = (
        tmp_path / data_folder.SEARCH / name / "meta.json"
        for name in (search_index.WORDS_FOLDER, search_index.CATALOG_FOLDER)
    )
    track = uri("ana", "track")
    write(writer, put("ana", "track", at=1), comment("ben", track, 1, at=2))
    caught_up(index, writer)
    before = words.read_bytes(), catalog.read_bytes()

    write(writer, comment("ben", track, 2, at=3))
    reached = caught_up(index, writer)

    assert words.read_bytes() == before[0]
    assert catalog.read_bytes() != before[1]
    assert reached == writer.op


def test_an_index_that_is_gone_is_made_again_while_the_outbox_is_whole(writer, tmp_path):
    """Once entries were pruned only a rebuild helps, and it is told."""
    write(writer, put("ana", "track", at=1))
    first = SearchIndex.open(tmp_path / "first", BASE)
    caught_up(first, writer)
    first.close()

    again = SearchIndex.open(tmp_path / "again", BASE)
    assert caught_up(again, writer) == writer.op
    again.close()
    writer.prune(writer.op)
    empty = SearchIndex.open(tmp_path / "empty", BASE)

    with writer.reader() as con, pytest.raises(StoreError, match="fmsvc-server rebuild"):
        empty.follow(con)
    empty.close()


def test_an_index_of_another_catalogue_is_refused(writer, index, tmp_path):
    """Its watermark lies beyond everything the catalogue knows."""
    write(writer, put("ana", "track", at=1))
    caught_up(index, writer)

    with Writer.open(settings(tmp_path / "other")) as other, other.reader() as con:
        index.close()
        reopened = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
        with pytest.raises(StoreError, match=r"another catalogue.*fmsvc-server rebuild"):
            reopened.follow(con)
        reopened.close()


def test_a_second_writer_is_refused(index, tmp_path):
    """With a sentence that says what to do."""
    with pytest.raises(StoreError, match="in use by another indexer; stop that one first"):
        SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)


def test_an_index_without_a_version_is_an_older_ones(tmp_path):
    """Its fields are others."""
    (tmp_path / data_folder.SEARCH / "catalog").mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("title")
    tantivy.Index(builder.build(), str(tmp_path / data_folder.SEARCH / "catalog"))

    with pytest.raises(StoreError, match=r"an older version .* rebuilds it when it starts"):
        SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)


@pytest.mark.parametrize("damage", ["meta.json", "segments"])
def test_damaged_files_are_refused_and_a_rebuild_mends_them(writer, index, tmp_path, damage):
    """The sentence names the command."""
    write(writer, put("ana", "track", at=1))
    caught_up(index, writer)
    sound = contents(tmp_path / data_folder.SEARCH)
    index.close()
    for file in (tmp_path / data_folder.SEARCH / "catalog").iterdir():
        if file.name == "meta.json" if damage == "meta.json" else file.suffix in (".store", ".term", ".fast"):
            file.unlink()  # a mapping of the old file stays whole: one that shrinks is a bus error
            file.write_bytes(b"damaged")

    with pytest.raises(StoreError, match="fmsvc-server rebuild"):
        SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
    with writer.reader() as con:
        rebuild_index(con, tmp_path / data_folder.SEARCH, BASE, lambda done, total: None)

    assert contents(tmp_path / data_folder.SEARCH) == sound


def test_a_rebuild_gives_the_same_answers(writer, index, tmp_path):
    """Document for document; following goes on where it was."""
    for number in range(1, 400, 40):
        write(writer, *(event(seq) for seq in range(number, number + 40)))
    caught_up(index, writer)
    index.close()
    followed = contents(tmp_path / data_folder.SEARCH)
    said: list[tuple[int, int]] = []

    with writer.reader() as con:
        rebuild_index(
            con, tmp_path / data_folder.SEARCH, BASE, lambda done, total: said.append((done, total))
        )
    rebuilt = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)

    assert contents(tmp_path / data_folder.SEARCH) == followed
    assert said[-1][0] == said[-1][1]
    assert rebuilt.watermark == writer.op
    rebuilt.close()


def work(folder: Path, last: int, at_work: Event | None = None) -> None:
    """What the indexer does: write a batch, follow, forget what was followed."""
    with Writer.open(settings(folder)) as writer:
        index = SearchIndex.open(folder / data_folder.SEARCH, BASE)
        done = writer.cursor(SOURCE) or 0
        with writer.reader() as con:
            for number in itertools.count():
                until = min(last, done + 1 + number * 7 % 60)
                changes = [event(seq) for seq in range(done + 1, until + 1)]
                writer.write(Batch(changes=changes, cursors={SOURCE: StreamCursor(until, START)}))
                done = until
                writer.prune(index.follow(con))
                if at_work is not None:
                    at_work.set()
                if done >= last and index.watermark >= writer.op:
                    break
        index.close()


@pytest.mark.slow
def test_kills_between_the_stores_lose_nothing(tmp_path: Path) -> None:
    """Afterwards every track that the catalogue shows is found in that version, and no other."""
    dice = random.Random(int(os.environ.get("SEARCH_SEED", "7")))
    for number in range(KILLS):
        killed(work, tmp_path, dice, number)

    with Writer.open(settings(tmp_path)) as writer:
        reached = writer.cursor(SOURCE) or 0
    work(tmp_path, reached + 150)

    with duckdb.connect(tmp_path / data_folder.CATALOGUE) as con:
        shown = dict(con.execute("select uri, cid from visible_tracks").fetchall())
        followed = contents(tmp_path / data_folder.SEARCH)
        rebuild_index(con, tmp_path / data_folder.SEARCH, BASE, lambda done, total: None)
    assert len(shown) > 20
    assert versions(followed) == shown
    assert contents(tmp_path / data_folder.SEARCH) == followed


class Noted(IndexFolder):
    """Notes which folder is committed on which thread."""

    commits: ClassVar[list[tuple[str, str]]] = []

    def commit(self, op: int) -> None:
        self.commits.append((self._path.name, threading.current_thread().name))
        super().commit(op)


def test_reactions_are_committed_beside_the_rest_and_the_catalog_index_last(
    writer: Writer, tmp_path: Path
) -> None:
    """So a step waits for two commits, not three; the watermark that counts is never ahead."""
    folders = [
        Noted.open(tmp_path / "noted" / name, schema)
        for name, schema in search_index.search_schemas().items()
    ]
    index = SearchIndex(folders, tmp_path / "noted", BASE)
    write(writer, put("ana", "track", at=1), like("ben", uri("ana", "track"), at=2))

    caught_up(index, writer)
    index.close()

    own = threading.current_thread().name
    threads = dict(Noted.commits)
    assert Noted.commits[-1] == (search_index.CATALOG_FOLDER, own)
    assert threads[search_index.WORDS_FOLDER] == own != threads[search_index.SOCIAL_FOLDER]


@pytest.mark.parametrize("is_small", [False, True])
def test_reactions_of_a_large_step_are_committed_after_the_rest_is_rendered(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    """Else readers would find likes long before the counts of their tracks."""
    begun: list[str] = []
    render, commit = Rendering.catalogue, SearchIndex._commit_reactions
    monkeypatch.setattr(Rendering, "catalogue", lambda *given: [begun.append("rendering"), render(*given)][1])
    monkeypatch.setattr(
        SearchIndex, "_commit_reactions", lambda *given: [begun.append("commit"), commit(*given)][1]
    )
    index = SearchIndex.open(tmp_path / "search", BASE)
    write(writer, put("ana", "track", at=1), like("ben", uri("ana", "track"), at=2))

    with writer.reader() as con:
        (entries,) = con.execute("select count(*) from outbox").fetchone()
        monkeypatch.setattr("indexer.search.index.BESIDE_ENTRIES", entries if is_small else entries - 1)
        index.follow(con)
    index.close()

    assert begun == (["commit", "rendering"] if is_small else ["rendering", "commit"])
