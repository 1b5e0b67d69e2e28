"""A record type that is added by the steps of CONTRIBUTING.md, and by nothing else, is indexed in full."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from indexer import operations
from indexer.catalog import projections, schema
from indexer.catalog.projections import Applied, Documents, Projection, Row
from schemas import steps
from schemas.datetimes import to_utc
from schemas.fields import Datetime, Shape, StrongRef
from schemas.ids import AtUri, record_key
from schemas.settings import Settings
from tests import documents
from tests.indexer import empty_catalogues
from tests.indexer.running import Running, following, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

TRACK, REPOST = "fm.svc.track", "fm.svc.repost"


class Repost(Shape):
    """One person recommends one track: the model of the second step."""

    subject: StrongRef
    created_at: Datetime


TABLE = """
create table if not exists reposts (
    key bigint not null, uri varchar not null, did varchar not null, rkey varchar not null,
    rev varchar not null, cid varchar, indexed_at timestamp not null, state varchar not null,
    verified varchar not null, verified_at timestamp not null,
    subject_key bigint, created_at timestamp
);
"""


def columns(repost: Repost, uri: AtUri) -> Row:
    """The repost's row: the projection of the fourth step begins here."""
    return {"subject_key": record_key(repost.subject.uri), "created_at": to_utc(repost.created_at)}


def mark_stale(applied: Applied, documents: Documents) -> None:
    """The tracks, as if their documents showed who recommends them."""
    documents.keyed("track", (row["subject_key"] for row in applied.versions()))


projection = Projection(
    name="repost",
    table="reposts",
    model=Repost,
    columns=columns,
    remembered=("subject_key",),
    mark_stale=mark_stale,
)


@pytest.fixture(autouse=True)
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The table, its step and the projection, beside a catalogue that was made before them."""
    empty_catalogues.begin(tmp_path)
    tables, version = schema._tables_sql() + TABLE, steps.VERSION + 1
    monkeypatch.setattr(schema, "_tables_sql", lambda: tables)
    monkeypatch.setattr(steps, "STEPS", {**steps.STEPS, version: ()})
    monkeypatch.setattr(steps, "VERSION", version)
    monkeypatch.setattr(projections, "ALL", (*projections.ALL, projection))
    schema._expected.cache_clear()
    yield
    schema._expected.cache_clear()


def forged(world: ForgedNetwork, seed: str) -> ForgedRepo:
    """An account's repo, which the network knows."""
    repo = ForgedRepo(seed=seed, start=datetime.now(UTC) - timedelta(minutes=30))
    world.add(repo)
    return repo


def repost(subject: dict[str, str], **fields: Any) -> documents.Document:
    return {"$type": REPOST, "subject": subject, "createdAt": documents.DATETIME} | fields


def stored(indexer: Running) -> list[tuple[Any, ...]]:
    return indexer.rows("select uri, state, verified, subject_key from reposts order by rkey")


def marked(indexer: Running, key: int) -> int:
    """How many transactions have made this track's document stale so far."""
    [(count,)] = indexer.rows(f"select count(*) from outbox where kind = 'track' and key = {key}")
    return int(count)


async def test_a_record_of_it_is_stored_deleted_and_removed_with_its_account(
    impatient_settings: Settings, forged_network: ForgedNetwork
) -> None:
    """From signed commits, with search documents made stale each time; a record that breaks it is hidden."""
    artist, fan = forged(forged_network, "artist"), forged(forged_network, "fan")
    track = artist.create(TRACK, documents.least("track"))
    key = record_key(track.uri)
    async with Relay([artist.commit_frame(1)]) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(1)
        first = fan.create(REPOST, repost(track.ref))
        broken = fan.create(REPOST, repost(track.ref, createdAt="yesterday"))
        marks = [marked(indexer, key)]
        await relay.send(fan.commit_frame(2))
        await indexer.reach(2)

        marks.append(marked(indexer, key))
        assert stored(indexer) == [
            (first.uri, "live", "commit", key),
            (broken.uri, "invalid", "commit", None),
        ]
        assert indexer.rows("select uri from invalid_records") == [(broken.uri,)]

        fan.delete(REPOST, first.rkey)
        fan.delete(REPOST, broken.rkey)
        second = fan.create(REPOST, repost(track.ref))
        await relay.send(fan.commit_frame(3))
        await indexer.reach(3)

        marks.append(marked(indexer, key))
        assert [(uri, state) for uri, state, *_ in stored(indexer)] == [
            (first.uri, "deleted"),
            (broken.uri, "deleted"),
            (second.uri, "live"),
        ]
        assert marks == [marks[0], marks[0] + 1, marks[0] + 2]

        forged_network.status[fan.did] = "deleted"
        await relay.send(fan.account_frame(4, "deleted", time=datetime.now(UTC)))
        await until(lambda: stored(indexer) == [])
        await indexer.reach(4, in_step=False)
        assert indexer.rows("select count(*) from tracks where state = 'live'") == [(1,)]

    assert operations.check_stores(impatient_settings).problems == ()


async def test_a_repo_that_is_fetched_brings_it_and_the_index_is_rebuilt(
    impatient_settings: Settings, forged_network: ForgedNetwork
) -> None:
    """What the stream did not show is in the repo; an index made anew agrees with the catalogue."""
    repo = forged(forged_network, "fetched")
    track = repo.create(TRACK, documents.least("track"))
    made = repo.create(REPOST, repost(track.ref))
    repo.commit_frame(1)
    repo.create(TRACK, documents.least("track"))
    async with Relay([repo.commit_frame(2)]) as relay, following(impatient_settings, relay) as indexer:
        await indexer.reach(2)

        assert stored(indexer) == [(made.uri, "live", "repo", record_key(track.uri))]

    operations.rebuild_search(impatient_settings, lambda done, total: None)
    report = operations.check_stores(impatient_settings)

    assert report.counts["reposts"] == 1
    assert report.problems == ()
