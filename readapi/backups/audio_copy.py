"""Copies the audio store into a backup, by hard links where possible.

Files in the store are never changed in place, so a link is as good as a copy, and costs nothing.
"""

import errno
import os
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from readapi.audio.store import AudioStore
from readapi.backups import folder
from readapi.backups.manifest import AudioPart
from readapi.backups.named import ReferencedFiles
from readapi.state.publishing.file_keys import FOLDERS, ORIGINALS, file_in
from schemas.settings import Settings

UNFINISHED: Final = ".part"  # suffix of files that are being written to the store
NO_LINKS: Final = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)


class AudioCopy:
    """Can be filled repeatedly: a file stays in the copy even if the store deletes it meanwhile."""

    def __init__(self, settings: Settings, store: AudioStore, target: Path) -> None:
        self._address = _address(settings)
        self._store = store
        self._target = target
        self._found: dict[str, int] = {}

    async def fill(self) -> None:
        """Copy the files of the store that are not in the backup yet."""
        for name in FOLDERS:
            async for file in self._store.keys(name):
                new = file.key not in self._found and not file.key.endswith(UNFINISHED)
                if new and self._taken(file.key):
                    self._found[file.key] = file.size

    def missing(self, named: ReferencedFiles) -> list[str]:
        """The files that the state database refers to and the backup lacks."""
        return named.missing(self._found.keys())

    def keep(self, named: ReferencedFiles | None) -> AudioPart:
        """Remove files that the state database does not refer to; returns a summary of the rest."""
        for key in [key for key in self._found if named is None or not named.speaks_of(key)]:
            del self._found[key]
            if self._address is None:
                (self._target / folder.AUDIO / key).unlink()
        if self._address is not None:
            lines = [f"{size} {key}\n" for key, size in sorted(self._found.items())]
            (self._target / folder.LISTING).write_text("".join(lines))
        return AudioPart(
            kind="folder" if self._address is None else "s3",
            address=self._address,
            store_id=None if named is None else named.store_id,
            files=len(self._found),
            bytes=sum(self._found.values()),
            missing=0 if named is None else len(self.missing(named)),
        )

    def sums(self) -> dict[str, str]:
        """Hashes that need not be computed: an original is named by its hash."""
        if self._address is not None:
            return {}
        originals = [key for key in self._found if key.startswith(f"{ORIGINALS}/")]
        return {f"{folder.AUDIO}/{key}": file_in(key) for key in originals}

    def _taken(self, key: str) -> bool:
        """Copy a file; False if it was moved or deleted meanwhile."""
        source, target = self._store.path(key), self._target / folder.AUDIO / key
        if source is None:
            return True
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _link(source, target)
        except FileNotFoundError:
            return False
        return True


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        folder.copy_file(source, target)


def _address(settings: Settings) -> str | None:
    """The bucket's address without credentials; None for a folder."""
    url = settings.audio_url or ""
    parts = urlsplit(url)
    return f"s3://{parts.netloc}{parts.path}" if parts.scheme == "s3" else None
