"""The benchmark runs, at a size of seconds: so that it is not found broken when it is needed."""

import shutil
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.bench import (
    api,
    backfill,
    live,
    memory,
    nodes,
    replication,
    results,
    stores,
    streaming,
    takedowns,
    verifying,
)
from tests.bench.api import BY_CPU
from tests.bench.corpus import Size
from tests.bench.machine import Held, Memory
from tests.bench.questions import Questions
from tests.bench.rows import Row
from tests.bench.run import Bench, Effort

TINY = Size(tracks=300, likes=1_500)
LITTLE = Effort(
    commits=60,
    load_seconds=1,
    turns=1,
    levels=(1,),
    found=3,
    asked=1,
    kinds=("GET /tracks/{id}",),
    zipped=("GET /tracks/, newest 50",),
    searches=("typo",),
    worst_searches=("one letter",),
)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose stores are built once for all tests here."""
    return tmp_path_factory.mktemp("build")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_figures_come_with_references(build: Path) -> None:
    """Routes have both ratios and a curve, and the page tells of them."""
    bench = Bench(TINY, build, LITTLE)

    rows = {row.name: row for row in bench.rows(("commits", "api", "memory"))}

    assert rows["commits of ours, relay to DuckDB and Tantivy, one core"].value > 0
    assert rows["memory of the indexer"].value > 10
    assert rows["memory of a worker"].value > 10
    assert rows["memory of the reader of snapshots"].value > 10
    assert len(rows["GET /tracks/{id}"].ratio_to) == 3
    assert rows[f"{api.REFERENCE}, by its CPU time"].value > 0
    assert "GET /search/ typo, no response cache" in rows
    assert "GET /search/ one letter, no response cache" in rows
    assert "GET /tracks/, newest 50, no response cache, gzip" in rows
    assert [len(curve) for curve in bench.curves.values()] == [1, 1]
    kept = {"size": TINY.as_json(), "rows": [row.as_json() for row in rows.values()]}
    assert "| GET /tracks/{id}, no response cache | ≥ 0.7 × |" in "\n".join(results.page(kept))


def test_another_size_is_told_by_how_much_dearer_it_is() -> None:
    def measured(size: Size, per_second: float, ratio: float, milliseconds: float) -> dict[str, Any]:
        rows = (
            Row("asked", per_second, "requests/s", {BY_CPU: ratio}),
            Row("done", per_second, "commits/s"),
            Row("slow", milliseconds, "ms"),
        )
        machine = {"measured": "2026-01-01", "speed": "10 million steps", "file system": "xfs"}
        return {"machine": machine, "size": size.as_json(), "rows": [row.as_json() for row in rows]}

    kept = measured(Size(100_000, 1_000_000), 100, 0.3, 6)
    kept[results.OTHER_SIZE] = measured(Size(1_000_000, 10_000_000), 50, 0.1, 9)
    page = "\n".join(results.page(kept))
    assert "## With 1,000,000 tracks and 10,000,000 likes" in page
    assert "Measured 2026-01-01 on xfs at 10 million steps." in page
    assert "| asked | 50 | requests/s | 3.00 |" in page
    assert "| done | 50 | commits/s | 2.00 |" in page
    assert "| slow | 9 | ms | 1.50 |" in page


def test_memory_grows_with_the_catalogue_but_not_what_has_a_bound() -> None:
    """Of 110 MB at a tenth of the full size 10 are the catalogue's; the load adds 90, DuckDB 64 at most."""
    empty, before, after = (Memory(private, private, private) for private in (100.0, 110.0, 200.0))

    *_, row = memory.rows(
        memory.WORKER, Held(before), Held(after), empty, Size(100_000, 1_000_000), limit=64.0
    )

    assert row.name == memory.at_full_size(memory.WORKER)
    assert row.value == 100 + 10 * 10 + 90 + 64


def test_every_check_of_a_commit_has_a_cost() -> None:
    """And all of them together come to a throughput; so do labels, with keys of each curve."""
    rows = {row.name: row.value for row in verifying.rows(count=3, rounds=1)}

    assert rows[verifying.NAME] > 0
    assert len(rows) == len(verifying.CHECKS) + 2 + len(verifying.CURVES)


@pytest.mark.slow
def test_recordings_are_sent_beside_a_reference(tmp_path: Path) -> None:
    """A whole one, and the beginning of parts."""
    little = streaming.Effort(file_bytes=8 << 20, turns=1, starts=100)

    whole, start = streaming.rows(little, tmp_path)

    assert whole.ratio_to[streaming.REFERENCE] > 0
    assert start.value > 0


@pytest.mark.slow
def test_a_whole_service_obeys_a_takedown(tmp_path: Path) -> None:
    """Every sending on three workers is cut; the indexer follows, and the statistics leave the track out."""
    little = takedowns.Effort(listeners=9, lookers=3)

    sent, counted = takedowns.rows(little, tmp_path)

    assert counted.value > 0
    assert sent.value < 60_000


@pytest.mark.slow
def test_a_machine_follows_an_indexer(build: Path) -> None:
    """Late by something, for some bytes."""
    data_dir = stores.prepared(TINY, build)

    rows = list(replication.rows(data_dir, build / "scratch", commits=2))

    assert len(rows) == 6
    assert all(row.value > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("wrk") and shutil.which("nginx")), reason="no wrk, or no nginx")
def test_nodes_serve_behind_a_proxy(build: Path) -> None:
    """One alone, and three together."""
    one, three = Bench(TINY, build, LITTLE).rows(("nodes",))

    assert one.value > 0
    assert set(three.ratio_to) == {nodes.ONE, nodes.BY_CPU}


@pytest.mark.slow
def test_many_clients_are_told_of_a_change(tmp_path: Path) -> None:
    """All of them, of each."""
    cost, delay = live.rows(live.Effort(clients=20, changes=2), tmp_path)

    assert cost.value >= 0
    assert delay.value > 0


@pytest.mark.slow
def test_repos_are_fetched(build: Path) -> None:
    """By both ways, and through the whole indexer."""
    little = backfill.Effort(
        repos=2, records=20, of_others=30, large=50, huge_records=5_000, huge_filling=5_000
    )

    rows = {row.name: row for row in backfill.rows(little, build / "scratch")}

    assert rows.pop(backfill.MEMORY).value < backfill.FLAT_MEGABYTES
    assert all(row.value > 0 for row in rows.values())


@pytest.mark.slow
def test_every_question_has_an_answer(build: Path) -> None:
    """The addresses that the load is made of are good ones."""
    folder = stores.prepared(TINY, build)
    questions = Questions(folder, stores.BASE_URL)
    kinds = questions.kinds() | questions.worst_searches(folder)

    scratch = build / "scratch"
    with api.reader_of(folder, scratch), api.worker_of(folder, scratch) as worker:
        found = {_status(worker.url + path) for paths in kinds.values() for path in paths[:20]}

    assert found == {200}


@pytest.mark.slow
def test_a_commit_is_found(build: Path) -> None:
    """Within the patience of the measurement."""
    rows = list(Bench(TINY, build, LITTLE).rows(("freshness",)))

    assert [row.unit for row in rows] == ["ms"] * 8


@pytest.mark.slow
def test_the_open_data_has_a_cost(build: Path) -> None:
    """Of exports, of each statement, of a series."""
    rows = list(Bench(TINY, build, LITTLE).rows(("data",)))

    assert [row.unit for row in rows] == ["rows per CPU second", "CPU seconds", "ms", "ms", "ms", "ms"]
    assert all(row.value > 0 for row in rows)


def _status(url: str) -> int:
    with urllib.request.urlopen(url) as response:
        return int(response.status)
