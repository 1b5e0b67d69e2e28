"""The data folder of a machine that follows: a folder for each indexer, and links to the shown one."""

import os
import shutil
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Final

from indexer.faults import StoreError
from schemas import data_folder

REPLICAS: Final = "replicas"
ASIDE: Final = "replicas.gone"
SHOWN: Final = "replica"
LINKED: Final = (data_folder.SEARCH, data_folder.SNAPSHOTS, data_folder.EXPORTS, data_folder.CHANGES)


class Layout:
    """One data folder. `prepare` it first."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def prepare(self) -> None:
        """Make the folder and its links. Raises StoreError when an indexer's own files are there."""
        try:
            (self._data_dir / REPLICAS).mkdir(parents=True, exist_ok=True)
            for name in LINKED:
                path = self._data_dir / name
                if not path.is_symlink():
                    path.symlink_to(f"{SHOWN}/{name}")
        except FileExistsError as error:
            raise StoreError(
                f"{self._data_dir} has an index of its own; follow another in an empty FMSVC_DATA_DIR."
            ) from error
        except OSError as error:
            raise StoreError(
                f"{self._data_dir} cannot be written ({error.strerror}); choose another FMSVC_DATA_DIR."
            ) from error

    def folder(self, node: str) -> Path:
        """The folder of an indexer's files."""
        return self._data_dir / REPLICAS / node

    @property
    def shown(self) -> str | None:
        """The indexer whose files are shown; None before the first."""
        try:
            return Path(os.readlink(self._data_dir / SHOWN)).name
        except OSError:
            return None

    def show(self, node: str) -> None:
        """Show the files of this indexer, in one step."""
        if self.shown == node:
            return
        partial = self._data_dir / f"{SHOWN}.partial"
        partial.unlink(missing_ok=True)
        partial.symlink_to(f"{REPLICAS}/{node}")
        partial.replace(self._data_dir / SHOWN)

    def all_but(self, nodes: Collection[str]) -> list[str]:
        """The other indexers that have a folder here and are not shown."""
        here = (folder.name for folder in (self._data_dir / REPLICAS).iterdir())
        return [name for name in here if name not in nodes and name != self.shown]

    def put_aside(self, node: str) -> None:
        """Free the folder of an indexer for new files; `remove_aside` removes the old ones."""
        aside = self._data_dir / ASIDE
        aside.mkdir(exist_ok=True)
        self.folder(node).rename(aside / f"{node}.{uuid.uuid4().hex}")

    def remove_aside(self) -> None:
        """Remove what was put aside, also before a restart."""
        shutil.rmtree(self._data_dir / ASIDE, ignore_errors=True)
