"""THE ORDER of restoring a backup: everything is checked, assembled in a separate folder, and then moved.

Until that is complete, the folder `.restoring` is in the data folder, and no other command runs.
"""

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import orjson

from readapi.audio.store import AudioStore
from readapi.backups import folder, state_copy, state_move
from readapi.backups.folder import BackupError, Progress
from readapi.backups.manifest import Manifest
from readapi.data_folder import RESTORING, is_used
from readapi.state.db import encryption
from readapi.state.db.migrate import NEWEST
from readapi.state.publishing.file_keys import FOLDERS, IDENTITY
from schemas import data_folder
from schemas.settings import Settings

# The files and folders that a restore creates in the data folder.
OURS: Final = {
    folder.AUDIO,
    data_folder.CATALOGUE,
    data_folder.CATALOGUE_LOG,
    data_folder.SEARCH,
    data_folder.STATE,
    encryption.KEY_FILE,
}


class Catalogues(Protocol):
    """The indexer's operations on catalogues."""

    def is_newer(self, tables: int) -> bool:
        """Whether tables of this version need a newer version of this program."""

    def restore(self, source: Path, settings: Settings) -> None:
        """Copy a catalogue into a data folder that has none, and build its search index."""


async def restore_backup(
    settings: Settings, backup: Path, catalogues: Catalogues, checked: Progress
) -> Manifest:
    """Restore a data folder from a backup. Raises BackupError, for a damaged backup before any write."""
    _require_empty(settings.data_dir)
    manifest = folder.check_folder(backup, checked)
    if manifest.catalogue is not None and catalogues.is_newer(manifest.catalogue.tables):
        raise BackupError(f"A newer version made {backup}; use that one.")
    await _require_fit(settings, backup, manifest)
    with _begun(settings.data_dir) as fresh:
        beside = settings.model_copy(update={"data_dir": fresh})
        if (backup / folder.KEY).exists():
            folder.copy_file(backup / folder.KEY, fresh / encryption.KEY_FILE)
        if manifest.catalogue is not None:
            catalogues.restore(backup / folder.CATALOGUE, beside)
        await _restore_audio(beside, backup, manifest)
        if manifest.state is not None:
            await _restore_state(settings, backup, manifest.state.kind, fresh)
        _finish(settings.data_dir, fresh)
    return manifest


async def _restore_state(settings: Settings, backup: Path, kind: str, fresh: Path) -> None:
    if kind == "postgresql":
        await state_copy.restore_dump(settings, backup)
        return
    state_copy.restore_file(backup, fresh)
    if settings.state_url is not None:
        await state_move.move_state(settings, fresh)


async def missing_in_bucket(settings: Settings, backup: Path) -> int:
    """The number of files in the backup's listing that the bucket no longer has."""
    lines = (backup / folder.LISTING).read_text().splitlines()
    listed = {line.partition(" ")[2] for line in lines}
    store = AudioStore.of(settings)
    for name in FOLDERS:
        async for file in store.keys(name):
            listed.discard(file.key)
    return len(listed)


def _require_empty(data_dir: Path) -> None:
    if is_used(data_dir):
        raise BackupError(f"The service is running on {data_dir}; stop it first.")
    there = {path.name for path in data_dir.iterdir()} if data_dir.exists() else set()
    if RESTORING in there:
        there -= OURS | {RESTORING}  # left by an interrupted restore
    if there - {"lost+found"}:
        raise BackupError(f"{data_dir} is not empty; move what is in it away, or set FMSVC_DATA_DIR.")


async def _require_fit(settings: Settings, backup: Path, manifest: Manifest) -> None:
    """Raise BackupError if these settings, or this version, cannot use the backup."""
    state = manifest.state
    if state is not None:
        if state.kind == "postgresql" and settings.state_url is None:
            raise BackupError(f"The state database of {backup} was in PostgreSQL; set FMSVC_STATE_URL.")
        if state.revision > NEWEST:
            raise BackupError(f"A newer version made {backup}; use that one.")
        if settings.state_url is not None:
            await state_copy.require_empty(settings, state.kind)
    held = {*encryption.key_names(settings), *_own_key(backup)}
    if lacking := [name for name in manifest.keys if name not in held]:
        raise BackupError(
            f"Secrets in {backup} were encrypted with keys that are not here ({', '.join(lacking)}); "
            "set FMSVC_SECRET_KEYS as it was."
        )
    await _require_store(settings, manifest)


async def _require_store(settings: Settings, manifest: Manifest) -> None:
    """Raise BackupError if an existing store is not the one that the backup was made of."""
    is_bucket = (settings.audio_url or "").startswith("s3://")
    if manifest.audio.kind == "s3" and not is_bucket:
        raise BackupError(f"The audio was in {manifest.audio.address}; set FMSVC_AUDIO_URL to that.")
    if not settings.audio_url:
        return  # in the data folder, which is empty
    store = AudioStore.of(settings)
    found = await store.content(IDENTITY)
    is_other = found is not None and orjson.loads(found).get("store_id") != manifest.audio.store_id
    if is_other or (found is None and await _holds_files(store)):
        raise BackupError("FMSVC_AUDIO_URL names the audio store of another service; name an empty one.")


async def _holds_files(store: AudioStore) -> bool:
    for name in FOLDERS:
        async for _ in store.keys(name):
            return True
    return False


def _own_key(backup: Path) -> tuple[str, ...]:
    """The id of the key in the backup, if it has one."""
    return encryption.key_names(Settings(data_dir=backup))


@contextmanager
def _begun(data_dir: Path) -> Iterator[Path]:
    """An empty folder, locked for this process, without what an interrupted restore left."""
    with folder.lock_folder(data_dir, f"Another restore into {data_dir} is under way."):
        fresh = data_dir / RESTORING
        for left in [data_dir / name for name in (*OURS, RESTORING) if fresh.exists()]:
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        fresh.mkdir(mode=0o700)
        folder.sync_to_disk(data_dir)
        yield fresh


async def _restore_audio(settings: Settings, backup: Path, manifest: Manifest) -> None:
    """Copy the missing files, and mark the store as ahead of the database, as after any restore."""
    store = AudioStore.of(settings)
    source, arriving = backup / folder.AUDIO, settings.data_dir / "arriving"
    for key in sorted(folder.list_files(source)) if source.exists() else []:
        if await store.size(key) is None:
            folder.copy_file(source / key, arriving)
            await store.put(key, arriving)
    if manifest.audio.store_id is not None and await store.content(IDENTITY) is None:
        identity = {"store_id": manifest.audio.store_id, "edition": uuid.uuid4().hex}
        await store.write(IDENTITY, orjson.dumps(identity))


def _finish(data_dir: Path, fresh: Path) -> None:
    """Move everything into the data folder, and remove `.restoring`."""
    folder.sync_tree(fresh)
    for path in fresh.iterdir():
        path.rename(data_dir / path.name)
    folder.sync_to_disk(data_dir)
    fresh.rmdir()
    folder.sync_to_disk(data_dir)
