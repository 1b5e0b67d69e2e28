"""Readiness: whether answers are fresh enough to serve, and if not, why."""

from typing import Final

from readapi.index.indexer_client import IndexerStatus
from readapi.index.lookups import Index
from readapi.index.snapshots.interface import ABSENT, Snapshots, age_seconds
from readapi.state.publishing.audio_stores import KEPT
from readapi.state.state import State
from schemas import datetimes
from schemas.api.health import (
    AudioStoreState,
    IndexerState,
    IndexState,
    Readiness,
    SnapshotState,
    SourceState,
    StateState,
)
from schemas.errors import Code

CLOCK_SECONDS: Final = 60.0  # from then on a clock decides about records: revs may lie 5 minutes ahead


async def report_readiness(
    index: Index, catalog: Snapshots, indexer: IndexerStatus, state: State, most_lag_seconds: float
) -> Readiness:
    """The readiness report. `reasons` is empty when ready."""
    reasons = _reasons(index, catalog, indexer, most_lag_seconds)
    is_state_reachable = await state.is_reachable()
    if not is_state_reachable:
        reasons.append("The state database does not answer.")
    source = indexer.source
    age = age_seconds(catalog.as_of)
    states = Readiness(
        ready=not reasons,
        reasons=reasons,
        warnings=[*_warnings(indexer), *_snapshot_warnings(catalog)],
        index=IndexState(open=index.is_open, generation=index.generation, documents=index.documents),
        lag_seconds=indexer.lag_seconds,
        snapshot=SnapshotState(
            as_of=datetimes.render(catalog.as_of) if catalog.as_of else None,
            age_seconds=None if age is None else round(age, 3),
        ),
        source=None if source is None else SourceState(**source.model_dump()),
        indexer=IndexerState(reachable=indexer.reachable),
        state=StateState(reachable=is_state_reachable),
        audio_store=await report_audio_store(state) if is_state_reachable else None,
    )
    if not reasons:
        return states
    return states.model_copy(update={"detail": Code.INDEX_NOT_READY, "message": " ".join(reasons)})


def _warnings(indexer: IndexerStatus) -> list[str]:
    offset = indexer.clock_offset_seconds
    if offset is None or abs(offset) < CLOCK_SECONDS:
        return indexer.warnings
    way = "behind" if offset > 0 else "ahead of"
    clock = f"The indexer's clock is {abs(offset):.0f} s {way} those of other hosts; set it right."
    return [*indexer.warnings, clock]


def _snapshot_warnings(catalog: Snapshots) -> list[str]:
    """No reason to send clients elsewhere: all is answered but statistics that are not remembered."""
    return [] if catalog.as_of is None or catalog.trouble is None else [catalog.trouble]


async def report_audio_store(state: State) -> AudioStoreState:
    """The audio store's state as the job worker last found it."""
    known, released = await state.audio_store.find(), await state.stored_files.count()
    warnings = [] if known.refusal is None else [known.refusal]
    if known.restored_at is not None:
        warnings.append(f"{KEPT} That was at {datetimes.render(known.restored_at)}.")
    return AudioStoreState(
        deleting=known.refusal is None, warnings=warnings, released=released, orphans=known.orphans
    )


def _reasons(index: Index, catalog: Snapshots, indexer: IndexerStatus, most_lag_seconds: float) -> list[str]:
    reasons = []
    if not index.is_open:
        reasons.append(index.absence)
    if catalog.as_of is None:
        reasons.append(catalog.trouble or ABSENT)
    if not indexer.reachable:
        reasons.append("The indexer does not answer.")
    lag, source = indexer.lag_seconds, indexer.source
    if lag is None or lag > most_lag_seconds:
        if source is not None and not source.connected:
            reasons.append(source.error or f"{source.name} cannot be reached; no reason is known.")
        reasons.append(
            "How far the index is behind is not known."
            if lag is None
            else f"The index is {lag:.0f} s behind, more than the {most_lag_seconds:.0f} s allowed."
        )
    return reasons
