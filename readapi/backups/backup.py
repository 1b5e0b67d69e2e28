"""THE ORDER of a backup.

1. The catalogue: it may be older than the rest, since the indexer fetches later records from the network.
2. The files of the audio store, so that none is lost that is deleted or moved from now on.
3. The state database, as it is at one instant.
4. The files that were added meanwhile. If a file is missing that the state database refers to, because it was
   moved between two listings, steps 3 and 4 are repeated.
5. The hashes of everything. Only then the folder gets its name.
"""

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Final

import structlog

from readapi.audio.store import AudioStore
from readapi.backups import folder, state_copy
from readapi.backups.audio_copy import AudioCopy
from readapi.backups.folder import BackupError
from readapi.backups.manifest import FORMAT, AudioPart, Catalogue, Manifest, StateDatabase
from readapi.state.db import encryption
from readapi.state.db.database import utc_now
from schemas import datetimes
from schemas.settings import Settings

TRIES: Final = 3  # after which a missing file counts as missing from the store itself

CopyCatalogue = Callable[[Settings, Path], Catalogue | None]

log = structlog.get_logger()


async def make_backup(settings: Settings, target: Path, copy_catalogue: CopyCatalogue) -> Manifest:
    """Back everything up into a new folder. Raises BackupError; then there is no such folder."""
    made_at = datetimes.render(utc_now())
    with folder.make_folder(target) as partial:
        catalogue = copy_catalogue(settings, partial / folder.CATALOGUE)
        state, audio, sums = await _state_and_audio(settings, partial)
        if catalogue is None and state is None:
            raise BackupError(f"There is nothing to back up in {settings.data_dir}; set FMSVC_DATA_DIR.")
        if (key := settings.data_dir / encryption.KEY_FILE).exists():
            folder.copy_file(key, partial / folder.KEY)
        manifest = Manifest(
            format=FORMAT,
            fmsvc=metadata.version("fmsvc-server"),
            made_at=made_at,
            catalogue=catalogue,
            state=state,
            audio=audio,
            keys=encryption.key_names(settings),
        )
        folder.seal_folder(partial, manifest, sums)
    return manifest


async def _state_and_audio(
    settings: Settings, partial: Path
) -> tuple[StateDatabase | None, AudioPart, dict[str, str]]:
    files = AudioCopy(settings, AudioStore.of(settings), partial)
    await files.fill()
    for attempt in range(1, TRIES + 1):
        copied = await state_copy.copy_state(settings, partial)
        if copied is None:
            return None, files.keep(None), {}
        state, named = copied
        await files.fill()
        missing = files.missing(named)
        if not missing:
            break
        log.info(
            "files of the audio store are missing", attempt=attempt, files=len(missing), first=missing[0]
        )
    return state, files.keep(named), files.sums()
