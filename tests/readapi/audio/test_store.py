"""The audio store keeps files, the same in a folder and on S3."""

import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from readapi.audio.store import PART_BYTES, AudioStore, AudioStoreError
from schemas.settings import Settings

KEY = "originals/" + "ab" * 32


def file(folder: Path, content: bytes) -> Path:
    """A file to be handed over."""
    path = folder / "sent"
    path.write_bytes(content)
    return path


def answering(handler: Handler) -> web.Application:
    """A server that answers everything so."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    return app


async def read(store: AudioStore, key: str, start: int, stop: int) -> bytes:
    """That part of a file."""
    return b"".join([piece async for piece in store.read(key, start, stop)])


async def test_a_file_is_taken_over(store: AudioStore, tmp_path: Path) -> None:
    """It is in the store then, and nowhere else."""
    sent = file(tmp_path, b"sound")

    await store.put(KEY, sent)

    assert await store.size(KEY) == 5
    assert await read(store, KEY, 0, 5) == b"sound"
    assert not sent.exists()


async def test_any_part_can_be_read(store: AudioStore, tmp_path: Path) -> None:
    """From one byte up to another."""
    await store.put(KEY, file(tmp_path, b"0123456789"))

    assert await read(store, KEY, 3, 7) == b"3456"
    assert await read(store, KEY, 9, 10) == b"9"
    assert await read(store, KEY, 4, 4) == b""


async def test_a_store_that_refuses_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Whatever is asked of it, so that work on it is tried again; the library's own errors go no further."""

    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(status=403, text="<Error><Code>AccessDenied</Code></Error>")

    async with TestServer(answering(refuse)) as server:
        url = (
            f"s3://bucket?region=us-east-1&endpoint={server.make_url('')}&access_key_id=a&secret_access_key=b"
        )
        refused = AudioStore.of(Settings(data_dir=tmp_path, audio_url=url))
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: refused.put(KEY, file(tmp_path, b"sound")),
            lambda: refused.write(KEY, b"short"),
            lambda: refused.content(KEY),
            lambda: refused.move(KEY, "originals/other"),
            lambda: refused.delete(KEY),
            lambda: refused.size(KEY),
            lambda: read(refused, KEY, 0, 5),
            lambda: refused.local(KEY).__aenter__(),
            lambda: anext(refused.keys("originals")),
        ]
        for ask in asked:
            with pytest.raises(AudioStoreError):
                await ask()


async def test_long_files_go_in_parts(store: AudioStore, tmp_path: Path) -> None:
    """And come back as they were."""
    content = os.urandom(PART_BYTES + 5)
    await store.put(KEY, file(tmp_path, content))

    assert await read(store, KEY, 0, len(content)) == content


async def test_what_is_put_twice_is_the_second(store: AudioStore, tmp_path: Path) -> None:
    """A file replaces the one before it."""
    await store.put(KEY, file(tmp_path, b"first"))
    await store.put(KEY, file(tmp_path, b"the second"))

    assert await read(store, KEY, 0, 10) == b"the second"


async def test_a_file_can_be_put_under_another_key(store: AudioStore, tmp_path: Path) -> None:
    """Without leaving the store; one that is not there cannot."""
    await store.put("incoming/1/audio", file(tmp_path, b"sound"))

    await store.move("incoming/1/audio", KEY)

    assert await read(store, KEY, 0, 5) == b"sound"
    assert await store.size("incoming/1/audio") is None
    with pytest.raises(FileNotFoundError):
        await store.move("incoming/1/audio", KEY)


async def test_what_cannot_be_moved_stays_where_it_was(tmp_path: Path) -> None:
    """It may be the only copy there is."""
    store = AudioStore.of(Settings(data_dir=tmp_path / "data"))
    await store.put("incoming/1/audio", file(tmp_path, b"the only copy"))
    in_the_way = store.path(KEY)
    assert in_the_way is not None
    in_the_way.mkdir(parents=True)

    with pytest.raises(OSError):
        await store.move("incoming/1/audio", KEY)
    with pytest.raises(OSError):
        await store.put(KEY, file(tmp_path, b"another"))

    assert await read(store, "incoming/1/audio", 0, 20) == b"the only copy"
    assert (tmp_path / "sent").read_bytes() == b"another"


async def test_a_file_is_taken_over_from_another_disk(tmp_path: Path) -> None:
    """Nothing half lies in the store, and nothing where it was."""
    store = AudioStore.of(Settings(data_dir=tmp_path / "data"))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        sent = file(Path(elsewhere), b"sound")
        await store.put(KEY, sent)
        assert not sent.exists()

    assert [found.key async for found in store.keys("originals")] == [KEY]
    assert await read(store, KEY, 0, 5) == b"sound"


async def test_what_is_deleted_is_gone(store: AudioStore, tmp_path: Path) -> None:
    """Deleting it again changes nothing."""
    await store.put(KEY, file(tmp_path, b"sound"))

    await store.delete(KEY)
    await store.delete(KEY)

    assert await store.size(KEY) is None
    with pytest.raises(FileNotFoundError):
        await read(store, KEY, 0, 5)


async def test_a_file_can_be_had_on_this_machine(store: AudioStore, tmp_path: Path) -> None:
    """For programs that read files; as long as they need it."""
    await store.put(KEY, file(tmp_path, b"sound"))

    async with store.local(KEY) as path:
        assert path.read_bytes() == b"sound"
    assert await store.size(KEY) == 5


async def test_a_file_that_is_not_there_cannot_be_had(store: AudioStore) -> None:
    """It is said, not made up."""
    with pytest.raises(FileNotFoundError):
        async with store.local(KEY):
            pass


async def test_what_is_there_is_listed(store: AudioStore, tmp_path: Path) -> None:
    """By the folder that it is in."""
    await store.put("originals/a", file(tmp_path, b"1"))
    await store.put("originals/b", file(tmp_path, b"22"))
    await store.put("incoming/c/audio", file(tmp_path, b"333"))

    found = [(kept.key, kept.size) async for kept in store.keys("originals")]

    assert sorted(found) == [("originals/a", 1), ("originals/b", 2)]


async def test_an_empty_store_lists_nothing(store: AudioStore) -> None:
    """Rather than failing."""
    assert [kept async for kept in store.keys("originals")] == []


async def test_the_folder_of_an_upload_goes_with_its_last_file(tmp_path: Path) -> None:
    """Whether that was moved or deleted; the folder of all uploads stays."""
    store = AudioStore.of(Settings(data_dir=tmp_path))
    for name in ("audio", "image"):
        await store.put(f"incoming/upload/{name}", file(tmp_path, b"sent"))

    await store.move("incoming/upload/audio", KEY)
    held = sorted(path.name for path in (tmp_path / "audio" / "incoming").rglob("*"))
    await store.delete("incoming/upload/image")

    assert held == ["image", "upload"]
    assert list((tmp_path / "audio" / "incoming").iterdir()) == []
    assert await store.size(KEY) == 4
