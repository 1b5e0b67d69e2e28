"""The open data's manifest, and the files that it names."""

from pathlib import Path

import structlog
from pydantic import ValidationError

from readapi.errors import IndexNotReady, NotFound
from schemas import data_folder
from schemas.api.exports import ExportFile, IcebergTables, Manifest
from schemas.settings import Settings

log = structlog.get_logger()


class OpenData:
    """The folder `exports`, which the indexer writes. The manifest is read again when it is another file."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.data_dir / data_folder.EXPORTS
        self._path = settings.data_dir / data_folder.EXPORT_MANIFEST
        self._iceberg = settings.data_dir / data_folder.ICEBERG_TABLES
        self._has_iceberg = settings.iceberg
        self._manifest: Manifest | None = None
        self._files: dict[str, ExportFile] = {}
        self._read: tuple[int, int] | None = None

    @property
    def manifest(self) -> Manifest | None:
        """The newest manifest, with where the Iceberg tables are; None before the first export."""
        self._refresh()
        if self._manifest is None or not self._has_iceberg:
            return self._manifest
        return self._manifest.model_copy(update={"iceberg": self._read_iceberg()})

    def require_manifest(self) -> Manifest:
        """The newest manifest. Raises IndexNotReady before the first export."""
        if (manifest := self.manifest) is None:
            raise IndexNotReady("No export has been made yet.")
        return manifest

    def find(self, path: str) -> tuple[ExportFile, Path]:
        """A file that the manifest names, and where it is. Raises NotFound."""
        self._refresh()
        if path not in self._files:
            raise NotFound("There is no such export.")
        return self._files[path], self._folder / path

    def _refresh(self) -> None:
        try:
            found = self._path.stat()
        except OSError:
            return
        if (found.st_ino, found.st_mtime_ns) != self._read:
            self._read = found.st_ino, found.st_mtime_ns
            self._load()

    def _read_iceberg(self) -> IcebergTables | None:
        """None before the first run, and of a file that cannot be read."""
        try:
            return IcebergTables.model_validate_json(self._iceberg.read_bytes())
        except (OSError, ValidationError):
            return None

    def _load(self) -> None:
        try:
            self._manifest = Manifest.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError) as error:
            log.warning("the manifest of exports cannot be read", reason=str(error)[:200])
            return
        self._files = {file.path: file for export in self._manifest.exports for file in export.files}
