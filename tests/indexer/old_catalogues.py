"""Catalogues as earlier versions wrote them, and what was written: every version since is opened on them.

`python -m tests.indexer.old_catalogues` keeps a catalogue of the version that is checked out. It is run once,
before a step to a later version is added to `schemas/steps.py`.
"""

import lzma
import tempfile
from pathlib import Path
from typing import Final

from indexer.catalog.tables.cursors import ListProgress, StreamCursor
from indexer.catalog.tables.dead_letters import DeadLetter
from indexer.catalog.tables.images import ImageFact
from indexer.catalog.tables.waiting_commits import WaitingCommit
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.events import IdentityFact
from indexer.repo.changes import RepoHead
from schemas import data_folder
from schemas.ids import Handle, record_key
from tests import documents
from tests.indexer.changes import (
    account,
    album,
    comment,
    delete,
    did,
    instant,
    like,
    put,
    remove,
    rev,
    settings,
    uri,
    write,
)

FOLDER: Final = Path(__file__).parent / "catalogues"
RELAY: Final = "relay.example"


def path(version: int) -> Path:
    """The catalogue that this version of the tables left."""
    return FOLDER / f"version-{version}.duckdb.xz"


def unpack(version: int, folder: Path) -> None:
    """Put that catalogue into a data folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / data_folder.CATALOGUE).write_bytes(lzma.decompress(path(version).read_bytes()))


def fill(writer: Writer) -> None:
    """A row of every kind: live, invalid, deleted, hidden, removed, waiting, refused."""
    track, full = uri("ana", "track"), documents.full("track")
    del full["updatedAt"]  # for which the first of these versions had no column
    write(writer, put("ana", "track", at=1, document=full), put("ana", "profile", at=2))
    write(writer, put("ana", "track", 1, at=3, title=7), put("ana", "track", 2, at=4, title="Gone"))
    write(writer, album("ana", [track, uri("ana", "track", 2)], at=5), delete("ana", "track", 2, at=6))
    write(writer, like("ben", track, at=7), like("eve", track, at=8), comment("ben", track, at=9))
    write(writer, put("cleo", "track", at=10), account("cleo", "takendown", at=11))
    write(writer, put("dan", "track", at=12))
    remove(writer, "dan", at=13)
    writer.write(
        Batch(
            repos={
                did("ana"): RepoHead("active", rev(6), b"tree"),
                did("ben"): RepoHead("desynchronized", rev(9), b"tree", fetch=True, reason="a gap"),
            },
            waiting=[WaitingCommit(did("ben"), rev(14), instant(14), RELAY, 14, b"frame")],
            identities=[IdentityFact(did("ana"), Handle("ana.example"), "https://pds.example", "zKey")],
            images=[ImageFact("bafkreiimage", 640, 480)],
            dead_letters=[DeadLetter(instant(15), RELAY, 15, None, "not a frame", b"\x00")],
            listings=[ListProgress(RELAY, "fm.svc.track", None, instant(16))],
            plays={record_key(str(track)): 5},
            cursors={RELAY: StreamCursor(16, instant(16))},
        )
    )


def _keep() -> None:
    from schemas.steps import VERSION

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Writer.open(settings(folder)) as writer:
            fill(writer)
        file = path(VERSION)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(lzma.compress((folder / data_folder.CATALOGUE).read_bytes(), preset=9))
        print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    _keep()
