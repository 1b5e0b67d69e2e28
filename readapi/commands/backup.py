"""`backup` and `restore`: copies all the service's data into a folder, and restores it from there."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from indexer import backup as catalogue
from readapi.backups import backup as backups
from readapi.backups import restore as restores
from readapi.backups.folder import BackupError
from readapi.backups.manifest import Catalogue, Manifest, StreamPosition
from readapi.commands import index_errors, state_errors
from readapi.commands.progress import Progress
from readapi.commands.start import FAILED, begin, stop
from readapi.state.db.encryption import Undecryptable
from readapi.state.publishing.audio_stores import KEPT
from schemas.settings import Settings

Answer = TypeVar("Answer")


class Catalogues:
    """The indexer's part of restoring."""

    def is_newer(self, tables: int) -> bool:
        """Whether tables of this version need a newer version of this program."""
        return catalogue.is_newer(tables)

    def restore(self, source: Path, settings: Settings) -> None:
        """Copy a catalogue into a data folder that has none, and build its search index."""
        with Progress("making the search index", "documents") as progress:
            catalogue.restore_catalogue(source, settings, progress)


def backup(folder: Path) -> None:
    """Copy all the service's data into a new folder, while it runs.

    Keep the backup as safe as the service: it contains `secret.key`, which decrypts its secrets.

    Parameters
    ----------
    folder
        It must not exist, and appears only when the backup is complete.
    """
    settings = begin("backup")
    made = _explained(lambda: asyncio.run(backups.make_backup(settings, folder, _copy)))
    print("\n".join([f"{folder} holds a backup:", *_parts(made)]))


def restore(folder: Path) -> None:
    """Restore the data folder from a backup, with a new search index. The service must not be running.

    Parameters
    ----------
    folder
        The backup. Every byte of it is checked before anything is written.
    """
    settings = begin("restore", restores=True)
    with Progress("checking", "files") as progress:
        restored = _explained(
            lambda: asyncio.run(restores.restore_backup(settings, folder, Catalogues(), progress))
        )
    print("\n".join([f"{settings.data_dir} was restored:", *_parts(restored)]))
    if restored.audio.kind == "s3":
        missing = _explained(lambda: asyncio.run(restores.missing_in_bucket(settings, folder)))
        print(f"Of the {restored.audio.files:,} files in the bucket {missing:,} are missing now.")
    if restored.audio.store_id is not None:
        print(KEPT)


def _copy(settings: Settings, target: Path) -> Catalogue | None:
    copied = catalogue.copy_catalogue(settings, target)
    if copied is None:
        return None
    cursors = {source: StreamPosition(seq=seq, event_time=at) for source, (seq, at) in copied.cursors.items()}
    return Catalogue(tables=copied.tables, bytes=target.stat().st_size, cursors=cursors)


def _parts(manifest: Manifest) -> list[str]:
    """The contents of a backup, one line each."""
    lines = []
    if manifest.catalogue is not None:
        lines.append(f"catalogue: {manifest.catalogue.bytes:,} bytes")
        lines += [
            f"  {source}: up to {position.seq} ({position.event_time or 'no time'})"
            for source, position in manifest.catalogue.cursors.items()
        ]
    if manifest.state is not None:
        lines.append(f"state database ({manifest.state.kind}): {manifest.state.bytes:,} bytes")
    audio = manifest.audio
    where = "copied" if audio.kind == "folder" else f"listed, not copied: back up {audio.address} by itself"
    lines.append(f"audio store: {audio.files:,} files, {audio.bytes:,} bytes, {where}")
    if audio.missing:
        lines.append(f"  {audio.missing:,} files that the state database needs are not in the store.")
    return lines


def _explained(work: Callable[[], Answer]) -> Answer:
    try:
        return index_errors.explained(lambda: state_errors.explained(work))
    except (BackupError, Undecryptable) as error:
        stop(FAILED, str(error))
    except OSError as error:
        stop(FAILED, f"{error.filename or 'A file'} cannot be read or written ({error.strerror}).")
