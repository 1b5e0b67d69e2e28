"""A mend compares what was fetched with what is stored and replays what waited, in one transaction."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from cbrrr import decode_dag_cbor

from indexer.catalog.tables.waiting_commits import WaitingCommit
from indexer.catalog.writing.batch import Batch, BatchResult, ResyncResult
from indexer.catalog.writing.writer import Writer
from indexer.events import Commit
from indexer.repo import signing_keys
from indexer.repo.changes import RecordChange, RepoHead, changes_of
from indexer.repo.extract import Fetched
from indexer.stream.decode import decode_frame
from schemas.collections import Collections
from schemas.ids import Cid, Did, Nsid, Rkey, Tid, tid_at, tid_time
from tests import documents
from tests.network.forge import ForgedRepo, SigningKey

TRACK = "fm.svc.track"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
OURS = Collections().all


def track(title: str) -> dict[str, object]:
    return documents.least("track") | {"title": title}


@pytest.fixture
def repo() -> ForgedRepo:
    return ForgedRepo(seed="mended")


def commits(repo: ForgedRepo, *titles: str, first: int = 1) -> list[bytes]:
    """A commit for each new track."""
    made = []
    for seq, title in enumerate(titles, first):
        repo.create(TRACK, track(title))
        made.append(repo.commit_frame(seq))
    return made


def waiting(*frames: bytes) -> list[WaitingCommit]:
    return [
        WaitingCommit(event.did, event.rev, NOW, "relay", event.seq, raw)
        for raw in frames
        for event in decode_frame(raw, OURS, (), NOW)
        if isinstance(event, Commit)
    ]


def fetched(repo: ForgedRepo) -> Fetched:
    """The whole of a repo, as it is now."""
    records = {}
    for path in repo.paths:
        collection, rkey = path.split("/")
        cid, block = repo.record(path)
        records[Nsid(collection), Rkey(rkey)] = (Cid(cid), block)
    rev = Tid(repo.rev or "")
    return Fetched(Did(repo.did), rev, _tree(repo), records)


def _tree(repo: ForgedRepo) -> bytes:
    return bytes(decode_dag_cbor(repo.commit_block)["data"])


def mend(writer: Writer, repo: ForgedRepo, *frames: bytes, **fields: object) -> BatchResult:
    """Write these waiting commits and a resync result."""
    asked = ResyncResult(Did(repo.did), signing_keys.parse_key(repo.key.multibase), **fields)  # type: ignore[arg-type]
    return writer.write(Batch(waiting=waiting(*frames), resyncs=[asked]))


def titles(writer: Writer) -> list[tuple[str, str]]:
    rows: Iterable[tuple[str, str]] = (
        writer.reader()
        .execute("select title, verified from tracks where state = 'live' order by title")
        .fetchall()
    )
    return list(rows)


def left(writer: Writer) -> int:
    return int(writer.reader().execute("select count(*) from waiting_commits").fetchall()[0][0])


def test_commits_from_an_empty_repo_on_need_no_fetch(writer: Writer, repo: ForgedRepo) -> None:
    frames = commits(repo, "a", "b", "c")

    written = mend(writer, repo, *frames)

    assert written.resynced[Did(repo.did)] == RepoHead("active", Tid(repo.rev or ""), _tree(repo))
    assert titles(writer) == [("a", "commit"), ("b", "commit"), ("c", "commit")]
    assert left(writer) == 0


def test_they_may_come_in_any_order_and_twice(writer: Writer, repo: ForgedRepo) -> None:
    frames = commits(repo, "a", "b", "c")

    mend(writer, repo, frames[2], frames[0], frames[1], frames[0])

    assert [title for title, _ in titles(writer)] == ["a", "b", "c"]


def test_a_hole_leaves_what_comes_after_it_waiting(writer: Writer, repo: ForgedRepo) -> None:
    first, _, third, fourth = commits(repo, "a", "b", "c", "d")

    written = mend(writer, repo, first, third, fourth)

    mark = written.resynced[Did(repo.did)]
    assert (mark.state, mark.fetch) == ("desynchronized", True)
    assert titles(writer) == [("a", "commit")]
    assert left(writer) == 2


def test_a_fetch_fills_the_hole(writer: Writer, repo: ForgedRepo) -> None:
    first, _ = commits(repo, "a", "b")
    whole = fetched(repo)
    (third,) = commits(repo, "c", first=3)

    written = mend(writer, repo, first, third, fetched=whole)

    assert written.resynced[Did(repo.did)].state == "active"
    assert titles(writer) == [("a", "repo"), ("b", "repo"), ("c", "commit")]
    assert left(writer) == 0


def test_a_fetch_takes_out_what_is_gone_and_leaves_what_is_the_same(writer: Writer, repo: ForgedRepo) -> None:
    gone, _, changed = (repo.create(TRACK, track(title)) for title in ("gone", "same", "before"))
    mend(writer, repo, repo.commit_frame(1))
    repo.delete(TRACK, gone.rkey)
    repo.update(TRACK, changed.rkey, track("after"))
    repo.create(TRACK, track("new"))
    repo.commit_frame(2)

    mend(writer, repo, fetched=fetched(repo))

    assert titles(writer) == [("after", "repo"), ("new", "repo"), ("same", "commit")]
    assert writer.reader().execute("select uri from tracks where state = 'deleted'").fetchall() == [
        (gone.uri,)
    ]


def test_a_fetch_upgrades_what_was_taken_on_a_hosts_word(writer: Writer, repo: ForgedRepo) -> None:
    made = repo.create(TRACK, track("heard"))
    repo.commit_frame(1)
    block = repo.record(f"{TRACK}/{made.rkey}")[1]
    rev = Tid(repo.rev or "")
    heard = RecordChange(
        Did(repo.did), Nsid(TRACK), Rkey(made.rkey), rev, "create", Cid(made.cid), block, "unverified"
    )
    writer.write(Batch(changes=[heard]))
    assert titles(writer) == [("heard", "unverified")]

    mend(writer, repo, fetched=fetched(repo))

    assert titles(writer) == [("heard", "repo")]


def test_what_a_fetch_is_older_than_stays(writer: Writer, repo: ForgedRepo) -> None:
    """A record that a nudge brought in since is not deleted by a fetch that began before."""
    frames = commits(repo, "a")
    before = fetched(repo)
    frames += commits(repo, "b", first=2)
    mend(writer, repo, *frames)

    mend(writer, repo, fetched=before)

    assert [title for title, _ in titles(writer)] == ["a", "b"]


def test_a_forged_commit_among_them_is_kept_as_a_dead_letter(writer: Writer, repo: ForgedRepo) -> None:
    frames = commits(repo, "a")
    honest, repo.key = repo.key, SigningKey("thief")
    forged = commits(repo, "forged", first=2)
    repo.key = honest

    written = mend(writer, repo, *frames, *forged)

    assert written.resynced[Did(repo.did)].fetch
    assert titles(writer) == [("a", "commit")]
    assert writer.reader().execute("select seq, raw from dead_letters").fetchall() == [(2, forged[0])]
    assert left(writer) == 0


def test_when_a_repo_cannot_be_fetched_what_is_proven_by_itself_is_shown(
    writer: Writer, repo: ForgedRepo
) -> None:
    _, second, _, fourth = commits(repo, "a", "b", "c", "d")

    written = mend(writer, repo, second, fourth, loose=True)

    assert written.resynced[Did(repo.did)].state == "error"
    assert titles(writer) == [("b", "commit"), ("d", "commit")]


def test_a_mend_that_fails_leaves_everything_waiting(
    writer: Writer, repo: ForgedRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = commits(repo, "a", "b")
    writer.write(Batch(waiting=waiting(*frames), repos={Did(repo.did): RepoHead("pending")}))
    with monkeypatch.context() as patched:
        patched.setattr("indexer.catalog.tables.cursors.Cursors.move", _fail)
        with pytest.raises(RuntimeError):
            mend(writer, repo)
    assert left(writer) == 2

    assert mend(writer, repo).resynced[Did(repo.did)].state == "active"
    assert left(writer) == 0


def _fail(*_: object) -> None:
    raise RuntimeError("on purpose")


def test_what_is_applied_in_the_same_batch_is_compared_too(writer: Writer, repo: ForgedRepo) -> None:
    """A record that a commit of this batch creates and the fetched repo no longer holds."""
    mend(writer, repo, *commits(repo, "a"))
    made = repo.create(TRACK, track("b"))
    [commit] = [
        event for event in decode_frame(repo.commit_frame(2), OURS, (), NOW) if isinstance(event, Commit)
    ]
    repo.delete(TRACK, made.rkey)
    repo.commit_frame(3)
    asked = ResyncResult(Did(repo.did), signing_keys.parse_key(repo.key.multibase), fetched(repo))

    writer.write(Batch(changes=changes_of(commit, OURS), resyncs=[asked]))

    assert [title for title, _ in titles(writer)] == ["a"]


def test_a_server_that_shows_an_older_state_is_not_followed(writer: Writer, repo: ForgedRepo) -> None:
    commits(repo, "a")
    backup = fetched(repo)
    commits(repo, "b", first=2)
    mend(writer, repo, fetched=fetched(repo))

    written = mend(writer, repo, fetched=backup)

    assert written.resynced[Did(repo.did)].state == "desynchronized"
    assert [title for title, _ in titles(writer)] == ["a", "b"]


@pytest.mark.parametrize("lie", ["create", "delete"])
def test_a_hosts_word_does_not_outlast_the_repo_itself(writer: Writer, repo: ForgedRepo, lie: str) -> None:
    """Whatever rev it claims."""
    commits(repo, "a")
    whole = fetched(repo)
    [((collection, rkey), (cid, block))] = whole.records.items()
    ahead = tid_at(tid_time(Tid(repo.rev or "")) + timedelta(minutes=4))
    invented = RecordChange(whole.did, collection, Rkey("3jzfcijpj2z2a"), ahead, "create", cid, block)
    denied = RecordChange(whole.did, collection, rkey, ahead, "delete", None, None)
    writer.write(Batch(changes=[invented if lie == "create" else denied]))

    mend(writer, repo, fetched=whole)

    live = writer.reader().execute("select rkey from tracks where state = 'live'").fetchall()
    assert live == [(rkey,)]


def test_a_repo_whose_commits_are_crowded_out_is_fetched(writer: Writer, repo: ForgedRepo) -> None:
    """And it is the largest that has to go, whoever came first."""
    writer._holdings.waiting._limit_bytes = 20_000
    did = Did(repo.did)
    writer.write(Batch(waiting=waiting(*commits(repo, "a")), repos={did: RepoHead("pending")}))
    flood = ForgedRepo(seed="flood")

    written = writer.write(
        Batch(
            waiting=waiting(*commits(flood, *"bcdefghijklmnopqrstu")),
            repos={Did(flood.did): RepoHead("pending")},
        )
    )

    assert written.doubtful == (Did(flood.did),)
    assert left(writer) == 1
    fetch = {stored.did: stored.mark.fetch for stored in writer.repos()}
    assert fetch == {did: False, Did(flood.did): True}
