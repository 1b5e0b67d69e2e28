"""The data folder of a machine that follows: a folder for each indexer, and links to the shown one."""

import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Final

from indexer.faults import StoreError
from schemas import data_folder

REPLICAS: Final = "replicas"
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

    def remove_all_but(self, nodes: Collection[str]) -> None:
        """Remove the files of indexers that are gone, unless they are shown."""
        for folder in (self._data_dir / REPLICAS).iterdir():
            if folder.name not in nodes and folder.name != self.shown:
                shutil.rmtree(folder, ignore_errors=True)
