"""All measurements in their order: read this first."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench import (
    api,
    attacks,
    backfill,
    commits,
    decoding,
    freshness,
    live,
    machine,
    memory,
    nodes,
    open_data,
    relevance,
    replication,
    sessions,
    stores,
    streaming,
    takedowns,
    verifying,
    worst,
)
from tests.bench.corpus import Size
from tests.bench.load import LEVELS, Loader
from tests.bench.machine import Held, Memory
from tests.bench.memory import Idle
from tests.bench.questions import CLASSES, LISTS, NEWEST, OF_TAG, PLAYLISTS, SEARCH, TRACK, Questions
from tests.bench.rows import Row

SECTIONS: Final = (
    "stream",
    "verify",
    "commits",
    "backfill",
    "api",
    "memory",
    "recordings",
    "takedowns",
    "live",
    "freshness",
    "attacks",
    "relevance",
    "data",
    "replication",
    "nodes",
)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much of everything."""

    frames: int = 200_000
    rounds: int = 5
    verified: int = 100
    commits: int = 20_000
    fetched: backfill.Effort = field(default_factory=backfill.Effort)
    load_seconds: float = 3.0
    recordings: streaming.Effort = field(default_factory=streaming.Effort)
    taken_down: takedowns.Effort = field(default_factory=takedowns.Effort)
    lively: live.Effort = field(default_factory=live.Effort)
    attacked: attacks.Effort = field(default_factory=attacks.Effort)
    turns: int = 3
    levels: tuple[int, ...] = LEVELS
    found: int = 100
    asked: int = 21
    followed: int = 100
    kinds: tuple[str, ...] = (TRACK, SEARCH, *LISTS)
    zipped: tuple[str, ...] = (NEWEST, OF_TAG, PLAYLISTS)
    searches: tuple[str, ...] = CLASSES
    worst_searches: tuple[str, ...] = worst.CLASSES


@dataclass(slots=True)
class Bench:
    """One run. `rows` yields each figure when it is known; `curves` are there afterwards."""

    size: Size
    build: Path = stores.BUILD
    effort: Effort = field(default_factory=Effort)
    curves: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def rows(self, sections: tuple[str, ...] = SECTIONS) -> Iterator[Row]:
        """Measure what is asked for."""
        data_dir = stores.prepared(self.size, self.build)
        scratch = self.build / "scratch"
        idle = memory.of_empty(scratch) if {"commits", "memory"} & set(sections) else None
        if "stream" in sections:
            yield from decoding.rows(self.effort.frames, self.effort.rounds)
        if "verify" in sections:
            yield from verifying.rows(self.effort.verified)
        if "commits" in sections and idle:
            yield from self._commits(data_dir, scratch, idle.indexer)
        if "backfill" in sections:
            yield from backfill.rows(self.effort.fetched, scratch)
        if "api" in sections:
            yield from self._api(data_dir, scratch)
        if "memory" in sections and idle:
            yield from self._memory(data_dir, scratch, idle)
        if "recordings" in sections:
            yield from streaming.rows(self.effort.recordings, scratch)
        if "takedowns" in sections:
            yield from takedowns.rows(self.effort.taken_down, scratch)
        if "live" in sections:
            yield from live.rows(self.effort.lively, scratch)
        if "freshness" in sections:
            yield from freshness.rows(data_dir, scratch, self.effort.found)
        if "attacks" in sections:
            yield from attacks.rows(self.effort.attacked, scratch)
        if "relevance" in sections:
            yield from relevance.rows(self.size.tracks, self.build / "relevance")
        if "data" in sections:
            yield from open_data.rows(data_dir, scratch, self.effort.asked)
        if "replication" in sections:
            yield from replication.rows(data_dir, scratch, self.effort.followed)
        if "nodes" in sections:
            yield from self._nodes(data_dir, scratch)

    def _commits(self, data_dir: Path, scratch: Path, idle: Memory) -> Iterator[Row]:
        run = commits.measured(data_dir, scratch, self.effort.commits)
        yield from commits.rows(run, self.effort.commits)
        yield commits.like_row(data_dir, scratch, self.effort.commits // 2)
        yield from memory.rows(
            memory.INDEXER, run.before, run.after, idle, self.size, limit=memory.DUCKDB_LIMIT
        )

    def _nodes(self, data_dir: Path, scratch: Path) -> Iterator[Row]:
        _, core = machine.cores()
        loader = Loader(core, self.effort.load_seconds, scratch / "paths")
        every = Questions(data_dir, stores.BASE_URL).kinds()
        kinds = {name: every[name] for name in (SEARCH, TRACK) if name in self.effort.kinds}
        yield from nodes.rows(data_dir, scratch, loader, kinds, self.effort.turns)

    def _memory(self, data_dir: Path, scratch: Path, idle: Idle) -> Iterator[Row]:
        """Of a worker that has answered many of each kind of question, and of the reader of snapshots."""
        _, core = machine.cores()
        loader = Loader(core, self.effort.load_seconds, scratch / "paths")
        kinds = Questions(data_dir, stores.BASE_URL).kinds()
        with api.reader_of(data_dir, scratch) as reader, api.worker_of(data_dir, scratch) as worker:
            before, started = Held(Memory.of(worker.pid)), Held(Memory.of(reader))
            for name in self.effort.kinds:
                loader.run(worker.url, loader.paths(kinds[name]), self.effort.levels[-1])
            after, asked = Held(Memory.of(worker.pid)), Held(Memory.of(reader))
        yield from memory.rows(memory.WORKER, before, after, idle.worker, self.size)
        yield from memory.measured(memory.READER, started, asked, idle.reader)

    def _api(self, data_dir: Path, scratch: Path) -> Iterator[Row]:
        _, core = machine.cores()
        loader = Loader(core, self.effort.load_seconds, scratch / "paths")
        questions = Questions(data_dir, stores.BASE_URL)
        with api.started(data_dir, loader, scratch) as bench:
            every = questions.kinds()
            kinds = {name: every[name] for name in self.effort.kinds}
            yield from bench.rows(kinds, self.effort.turns)
            yield from bench.zipped({name: every[name] for name in self.effort.zipped}, self.effort.turns)
            yield from bench.with_session(sessions.begun(data_dir), self.effort.turns)
            yield from bench.searches(questions.searches(self.effort.searches), self.effort.turns)
            dearest = questions.worst_searches(data_dir)
            dearest = {name: dearest[name] for name in self.effort.worst_searches}
            yield from bench.searches(dearest, self.effort.turns)
            curves = bench.curves(kinds, self.effort.levels)
        self.curves = {name: [asdict(load) for load in loads] for name, loads in curves.items()}
