"""Which state of the open data an Iceberg table holds, and which exports lead to the newest. Pure."""

from dataclasses import dataclass
from typing import Final, Self

from pyiceberg.table import Table

from schemas.api.exports import Export, Manifest

NUMBER: Final = "fmsvc.state"  # properties of a snapshot
SNAPSHOT_AT: Final = "fmsvc.snapshot-at"


@dataclass(frozen=True, slots=True)
class State:
    """A state's number, and its time: a service that lost its exports counts from 1 again."""

    number: int
    snapshot_at: str

    @classmethod
    def of(cls, export: Export) -> Self:
        """The state that an export leads to."""
        return cls(export.number, export.snapshot_at)

    @classmethod
    def of_table(cls, table: Table) -> Self | None:
        """The state of the newest snapshot; None: it is not one of ours, or there is none."""
        snapshot = table.current_snapshot()
        if snapshot is None or snapshot.summary is None:
            return None
        number, snapshot_at = snapshot.summary[NUMBER], snapshot.summary[SNAPSHOT_AT]
        return cls(int(number), snapshot_at) if number and snapshot_at else None

    @property
    def properties(self) -> dict[str, str]:
        """As a snapshot has them."""
        return {NUMBER: str(self.number), SNAPSHOT_AT: self.snapshot_at}


def list_missing(manifest: Manifest, held: State | None) -> list[Export]:
    """The exports that lead from a table's state to the newest, in order: changes, or all rows and changes.

    All rows, when the manifest does not know the state, or no longer has every change since.
    """
    made = manifest.exports
    if held is not None and held in map(State.of, made):
        changes = [export for export in made if export.kind == "changes" and export.number > held.number]
        if [export.number for export in changes] == list(range(held.number + 1, manifest.number + 1)):
            return changes
    full = manifest.newest_full
    if full is None:
        return []
    return [full, *(export for export in made if export.kind == "changes" and export.number > full.number)]
