"""Catalogue, search index and snapshot of a size: built once through the real writer, then kept."""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from yarl import URL

from indexer.catalog.published.snapshots import Snapshots, copy_file
from indexer.catalog.tables.cursors import ListProgress, StreamCursor
from indexer.catalog.writing.batch import Batch
from indexer.catalog.writing.writer import Writer
from indexer.repo import verify
from indexer.repo.changes import RepoHead
from indexer.search.rebuild import rebuild_index
from schemas import data_folder
from schemas.ids import tid_at
from schemas.settings import Settings
from tests.bench.corpus import Corpus, Size

BUILD: Final = Path(__file__).parents[2] / "build"
# Top tracks of the last day are empty in a catalogue that has stood too long.
FRESH: Final = timedelta(hours=12)
ROWS: Final = 20_000  # in a transaction, when all that counts is to be done soon
BASE_URL: Final = "http://127.0.0.1:8000"
NOBODY_IS_REFUSED: Final = "1000000000/second"
_MADE: Final = "made.json"
# Where every repo stands: nothing but further commits is to be asked of a network that is made up.
IN_STEP: Final = RepoHead("active", tid_at(datetime(2026, 1, 1, tzinfo=UTC)), verify.EMPTY_TREE)

Item = TypeVar("Item")


def settings_of(folder: Path, **fields: Any) -> Settings:
    """The defaults, but for where the data is and that nobody is refused for asking often."""
    return Settings(data_dir=folder, rate_limit=NOBODY_IS_REFUSED, **fields)


def prepared(size: Size, build: Path = BUILD) -> Path:
    """The folder of this size's stores. Builds them when they are missing, old or of another schema."""
    folder = build / f"bench-{size}"
    if _is_usable(folder):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    started = time.monotonic()
    now = datetime.now(UTC)
    _fill(settings_of(folder), Corpus(size, now))
    made = {"at": now.isoformat(), "seconds": round(time.monotonic() - started, 1)}
    (folder / _MADE).write_text(json.dumps(made))
    return folder


def copied(folder: Path, target: Path, relay: str) -> Path:
    """A copy to write in: the catalogue and the search index, without snapshots. It follows this relay."""
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns("snapshots", "*.lock", "*.sock")
    shutil.copytree(folder, target, ignore=ignored, copy_function=_copy)
    settings, now = settings_of(target, relay=relay), datetime.now(UTC)
    with Writer.open(settings) as writer:
        # Else the relay would be asked for lists, and the servers of everybody for what they have.
        read = [ListProgress(settings.relay_url, name, None, now) for name in settings.collections.all]
        writer.write(Batch(listings=read, cursors={str(URL(relay).origin()): StreamCursor(0, now)}))
    return target


def _copy(source: str, target: str) -> None:
    """Copy a file, whose blocks are shared where the file system can: a large catalogue takes 16 GB."""
    with open(source, "rb") as file:
        copy_file(file.fileno(), Path(target))
    shutil.copystat(source, target)


def _is_usable(folder: Path) -> bool:
    made = folder / _MADE
    if not made.exists():
        return False
    built_at = datetime.fromisoformat(json.loads(made.read_text())["at"])
    sources = [Path(__file__).parents[2] / name for name in ("indexer", "schemas", "tests/bench")]
    written = (path for source in sources for path in source.rglob("*") if path.suffix in (".py", ".sql"))
    newest = max(path.stat().st_mtime for path in written)
    return datetime.now(UTC) - built_at < FRESH and made.stat().st_mtime > newest


def _fill(settings: Settings, corpus: Corpus) -> None:
    writer = Writer.open(settings)
    try:
        for batch in _batches(corpus):
            writer.prune(writer.write(batch).op)
            # As often as a service does: the next one would begin with merging what was left half full.
            writer.checkpoint()
            _say(f"{len(batch)} written")
        writer.write(Batch(repos=dict.fromkeys(writer.tracked, IN_STEP)))
        rebuild_index(writer.reader(), settings.data_dir / data_folder.SEARCH, settings.base_url, _progress)
        Snapshots(settings, writer).publish()
    finally:
        writer.close()


def _batches(corpus: Corpus) -> Iterator[Batch]:
    for images in _chunks(corpus.images()):
        yield Batch(images=images)
    for records in (corpus.profiles(), corpus.tracks(), corpus.lists(), corpus.comments(), corpus.likes()):
        for changes in _chunks(records):
            yield Batch(changes=changes)
    # Last, because accounts that never wrote anything are nobody's business.
    for identities in _chunks(corpus.identities()):
        yield Batch(identities=identities)


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, ROWS)):
        yield chunk


def _progress(done: int, total: int) -> None:
    _say(f"{done} of {total} in the search index")


def _say(what: str) -> None:
    print(f"building: {what}", file=sys.stderr)
