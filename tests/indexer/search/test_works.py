"""What the search index knows of artists, lists and tags is what the catalogue says, whatever came before."""

import os
import random
from pathlib import Path

import pytest

from indexer.catalog.writing.batch import Batch
from indexer.events import Account, IdentityFact
from indexer.repo.changes import RecordChange
from indexer.search.index import STEP_ENTRIES, SearchIndex
from indexer.search.rebuild import rebuild_index
from schemas import data_folder
from schemas.ids import record_key
from schemas.labels import Label
from schemas.search_index import COUNT_SHIFT
from tests import documents
from tests.indexer.changes import account, album, comment, delete, did, instant, like, put, uri, write
from tests.indexer.search.test_index import BASE, caught_up, contents

STEPS = int(os.environ.get("WORKS_STEPS", "50"))
COMPARED_AFTER = 25  # steps
ARTISTS = ["ana", "ben", "cyd", "dee"]
FANS = ["eva", "fay", "gus", "hal"]  # who have a like or a comment, or nothing at all
VISIBILITIES = ["public", "public", "unlisted", "private"]


def random_change(dice: random.Random, at: int) -> RecordChange | Account:
    person, number = dice.choice(ARTISTS), dice.randrange(3)
    # Any record may name a list where a track belongs.
    subject = uri(dice.choice(ARTISTS), dice.choice(["track"] * 4 + ["list"]), number)
    match dice.choice("ttlllcdddapssFFFF"):
        case "t":
            access = {"listening": "public", "downloads": "open", "visibility": dice.choice(VISIBILITIES)}
            return put(person, "track", number, at=at, tags=dice.sample("xyz", 2), access=access)
        case "l":
            return like(person, subject, dice.randrange(9), at=at)
        case "c":
            return comment(person, subject, number, at=at)
        case "s":
            kind = dice.choice(["album", "playlist"])
            held = [
                uri(dice.choice(ARTISTS), dice.choice(["track"] * 4 + ["list"]), dice.randrange(3))
                for _ in range(dice.randrange(6))
            ]
            return album(person, held, number, at=at, name=f"{kind} {at}", listType=kind)
        case "p":
            return put(person, "profile", at=at, displayName=f"{person} {at}")
        case "a":
            return account(person, dice.choice(["takendown", "active", "active"]), at=at)
        case "F":
            fan, kind = dice.choice(FANS), dice.choice(["like", "comment"])
            written = put(fan, kind, at=at, subject=documents.strong_ref(str(subject)))
            return dice.choice([written, delete(fan, kind, at=at)])
        case _:
            return delete(person, dice.choice(["track", "like", "like", "comment", "list"]), number, at=at)


def random_facts(dice: random.Random, at: int) -> Batch:
    """Now and then plays of a track, a label of it or of its artist, or an artist's new handle or server."""
    track = uri(dice.choice(ARTISTS), dice.choice(["track"] * 4 + ["list"]), dice.randrange(3))
    match dice.choice("pli    "):
        case "p":
            return Batch(plays={record_key(str(track)): at})
        case "l":
            subject, value = dice.choice([(track, "porn"), (track, "!hide"), (track.did, "porn")])
            said = Label(did("labeler"), str(subject), None, value, instant(at), None, dice.random() < 0.7)
            return Batch(labels=[said])
        case "i":
            pds = f"https://pds{at % 2}.example"
            return Batch(identities=[IdentityFact(track.did, f"{dice.choice('xyz')}.example", pds)])
        case _:
            return Batch()


@pytest.mark.parametrize(("seed", "entries"), [(0, STEP_ENTRIES), (1, STEP_ENTRIES), (2, 3)])
@pytest.mark.slow
def test_random_histories_leave_what_a_rebuild_makes(writer, tmp_path: Path, seed: int, entries: int) -> None:
    """A step reads artists, lists' tracks and the counts of tags from the index itself, a rebuild does not.

    However many entries of the outbox a step takes: a transaction's may be the work of several.
    """
    dice = random.Random(seed)
    index = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
    index.step_entries = entries
    popular: set[int] = set()
    with writer.reader() as con:
        for step in range(1, STEPS + 1):
            write(writer, *(random_change(dice, step) for _ in range(dice.randint(1, 6))))
            writer.write(random_facts(dice, step))
            if dice.random() < 0.7:
                index.follow(con)
            if step % COMPARED_AFTER == 0:
                caught_up(index, writer)
                followed = contents(tmp_path / data_folder.SEARCH)
                rebuild_index(con, tmp_path / "again" / data_folder.SEARCH, BASE, lambda done, total: None)
                assert followed == contents(tmp_path / "again" / data_folder.SEARCH)
                popular |= {key for name, key in followed.items() if "popular words artist" in name}
    index.close()

    assert len({key >> COUNT_SHIFT for key in popular}) > 2, "some artists are more popular than others"


@pytest.mark.parametrize("entries", range(1, 7))
@pytest.mark.slow
def test_an_account_keeps_its_document_while_a_comment_replaces_another(
    writer, tmp_path: Path, entries: int
) -> None:
    track = uri("ana", "track")
    write(writer, put("ana", "track", at=1), comment("eva", track, 0, at=2), put("eva", "profile", at=3))
    index = SearchIndex.open(tmp_path / data_folder.SEARCH, BASE)
    caught_up(index, writer)
    index.step_entries = entries
    write(writer, delete("eva", "profile", at=4))
    write(writer, delete("eva", "comment", 0, at=5), comment("eva", track, 1, at=6))
    caught_up(index, writer)
    index.close()

    assert any("artist:" + did("eva") in name for name in contents(tmp_path / data_folder.SEARCH))
