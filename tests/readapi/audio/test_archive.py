"""An album's archive holds what this viewer may keep, and names the rest."""

import contextlib
import io
import os
import re
import zipfile
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from readapi.state.publishing.preferences import Preferences
from tests.indexer.changes import album, did, put, uri
from tests.readapi.audio.listening import OPEN, Listening, listening
from tests.readapi.music import public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

LARGE = os.urandom(3_000_000)
SECRET = b"the secret recording"
ARCHIVE = f"/albums/{public_list_id('mara', 9)}/archive"
ADULT = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "porn"}]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(
    kept_in: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Listening]:
    """A worker with an album: open, for supporters, for nobody, not to be found, gone, private."""
    async with listening(tmp_path_factory.mktemp("stage"), **kept_in) as stage:
        private = OPEN | {"visibility": "private", "listening": "space"}
        held = [uri("mara", "track", number) for number in range(50, 56)]
        await stage.music.add(
            await stage.song(LARGE, "mara", 50, title="A/B: ../large"),
            await stage.song(b"for supporters", "mara", 51, access=OPEN | {"downloads": "supporters"}),
            await stage.song(SECRET, "mara", 52, access=OPEN | {"downloads": "off"}),
            await stage.song(b"unlisted", "mara", 53, access=OPEN | {"visibility": "unlisted"}),
            await stage.song(b"private", "mara", 54, access=private, title="Nobody knows"),
            put("mara", "track", 55, at=2000, title="Silent"),
            album("mara", held, 9, at=2001, name="Harbour"),
        )
        stage.let_support("ida", "mara")
        yield stage


async def archive(stage: Listening, person: str | None = None) -> zipfile.ZipFile:
    """The album, as somebody gets it."""
    headers = await stage.as_(person) if person else {}
    async with stage.music.client.get(stage.music.address + ARCHIVE, headers=headers) as answer:
        assert answer.status == 200
        assert answer.content_type == "application/zip"
        named = "attachment; filename=\"Mara - Harbour.zip\"; filename*=UTF-8''Mara%20-%20Harbour.zip"
        assert answer.headers["Content-Disposition"] == named
        assert answer.headers["Cache-Control"] == "private, no-cache"
        found = zipfile.ZipFile(io.BytesIO(await answer.read()))
    assert found.testzip() is None
    return found


@pytest.mark.slow
async def test_a_stranger_gets_what_is_open(stage: Listening) -> None:
    """In order, under safe names; of what is private not even the name."""
    found = await archive(stage)

    assert found.namelist() == ["01 Mara - A B .. large.flac", "04 Mara - Track 53.flac", "Left out.txt"]
    assert found.read("01 Mara - A B .. large.flac") == LARGE
    assert found.read("Left out.txt").decode().splitlines() == [
        "02 Mara - Track 51.flac: Only supporters of the artist can download. Sign in first.",
        "03 Mara - Track 52.flac: The artist does not offer this recording for download.",
        "05 Mara - Silent.mp3: This track has no recording.",
    ]


@pytest.mark.slow
async def test_a_playlist_holds_what_everybody_may_meet(stage: Listening) -> None:
    """Of another's unlisted and private tracks not even the names."""
    held = [uri("mara", "track", number) for number in range(50, 56)]
    await stage.music.add(album("ben", held, 12, at=2002, name="Evening", listType="playlist"))
    path = f"/lists/playlists/{public_list_id('ben', 12)}/archive"
    async with stage.music.client.get(stage.music.address + path) as answer:
        named = answer.headers["Content-Disposition"]
        found = zipfile.ZipFile(io.BytesIO(await answer.read()))

    assert named.endswith("Evening.zip")
    assert found.namelist() == ["01 Mara - A B .. large.flac", "Left out.txt"]
    left_out = found.read("Left out.txt").decode()
    assert [line[:2] for line in left_out.splitlines()] == ["02", "03", "04"]
    assert "Track 53" not in left_out
    assert (await stage.music.get("/lists/playlists/none/archive")).status == 404


async def test_a_supporter_gets_what_is_for_supporters_too(stage: Listening) -> None:
    """And nothing more."""
    found = await archive(stage, "ida")

    assert [name[:2] for name in found.namelist()] == ["01", "02", "04", "Le"]
    assert found.read("02 Mara - Track 51.flac") == b"for supporters"


async def test_the_artist_gets_everything(stage: Listening) -> None:
    """The private recording as well."""
    found = await archive(stage, "mara")

    assert [name[:2] for name in found.namelist()] == ["01", "02", "03", "04", "05", "Le"]
    assert found.read("03 Mara - Track 52.flac") == SECRET
    assert "Silent" in found.read("Left out.txt").decode()


async def test_somebody_who_goes_away_stops_the_work(stage: Listening) -> None:
    """What was open for them is closed."""
    assert await stage.left_open_by_leaving(ARCHIVE, 5) <= 2


@pytest.mark.slow
async def test_what_changes_while_it_is_sent_is_no_longer_given(stage: Listening) -> None:
    """A track that may not be kept any more is named only; one that may not be known of is not."""
    await stage.publish(LARGE * 8, "mara", 60)  # more than fits between here and there
    for number in (61, 62, 63):
        await stage.publish(b"recording %d" % number, "mara", number)
    held = [uri("mara", "track", number) for number in range(60, 64)]
    await stage.music.add(album("mara", held, 10, at=3000, name="Changing"))
    path = f"/albums/{public_list_id('mara', 10)}/archive"

    async with stage.music.client.get(stage.music.address + path) as answer:
        begun = await answer.content.readexactly(1000)
        off, private = OPEN | {"downloads": "off"}, OPEN | {"visibility": "private", "listening": "owner"}
        await stage.music.add(
            put("mara", "track", 61, at=4001, title="Closed", fileType="flac", access=off),
            put("mara", "track", 62, at=4002, title="Hidden", fileType="flac", access=private),
        )
        found = zipfile.ZipFile(io.BytesIO(begun + await answer.read()))

    assert [name[:2] for name in found.namelist()] == ["01", "04", "Le"]
    assert found.read("Left out.txt").decode().splitlines() == [
        "02 Mara - Closed.flac: The artist does not offer this recording for download.",
    ]


@pytest.mark.slow
async def test_an_archive_copies_nothing_to_this_machine(stage: Listening) -> None:
    """However slowly it is taken, and wherever the originals are: pieces of the current one are in memory."""
    await stage.publish(LARGE * 8, "mara", 70)  # more than fits between here and there
    await stage.music.add(album("mara", [uri("mara", "track", 70)], 11, at=5000, name="Slow"))
    path = f"/albums/{public_list_id('mara', 11)}/archive"

    async with stage.music.client.get(stage.music.address + path) as answer:
        begun = await answer.content.readexactly(1_000_000)
        copies = [name for name in open_files() if "fmsvc-" in name]
        found = zipfile.ZipFile(io.BytesIO(begun + await answer.read()))

    assert copies == []
    assert found.read(found.namelist()[0]) == LARGE * 8


def open_files() -> list[str]:
    """The files that this process has open: the worker is in it."""
    names = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/self/fd/{number}"))
    return names


async def test_an_album_that_is_not_there_has_no_archive(stage: Listening) -> None:
    """As everywhere."""
    assert (await stage.music.get("/albums/none/archive")).status == 404


@pytest.mark.slow
async def test_what_is_for_adults_is_there_where_it_is_asked_for(stage: Listening) -> None:
    """Pages ask for it where they show it: to accounts that chose so."""
    await stage.publish(b"for everybody", "mara", 80)
    await stage.publish(b"for adults", "mara", 81, labels=ADULT)
    held = [uri("mara", "track", number) for number in (80, 81)]
    await stage.music.add(
        album("mara", held, 13, at=6000, name="Late"),
        album("ben", held, 14, at=6001, name="Night", listType="playlist"),
    )
    await stage.state.preferences.change(did("ida"), lambda _: Preferences(show_adult=True))
    for page in ("/u/mara.example/album/late", f"/playlist/{public_list_id('ben', 14)}"):
        (plain, _), (chosen, count) = await offered(stage, page), await offered(stage, page, "ida")

        assert await names(stage, plain) == ["01 Mara - Track 80.flac"]
        assert await names(stage, chosen) == ["01 Mara - Track 80.flac", "02 Mara - Track 81.flac"]
        assert count is None


@pytest.mark.slow
async def test_a_recording_elsewhere_does_not_count_for_the_button(stage: Listening) -> None:
    """No archive has it."""
    await stage.publish(b"recording", "mara", 90)
    await stage.music.add(
        put("mara", "track", 91, at=7000, title="Afar", audioUrl="https://audio.example/a.mp3", access=OPEN),
        album("mara", [uri("mara", "track", number) for number in (90, 91)], 15, at=7001, name="Near"),
        album("mara", [uri("mara", "track", 91)], 16, at=7002, name="Far"),
    )
    address, count = await offered(stage, "/u/mara.example/album/near")
    alone = await stage.music.get("/u/mara.example/album/far", Accept="text/html")

    assert await names(stage, address) == ["01 Mara - Track 90.flac", "Left out.txt"]
    assert count == "1 of 2 tracks"
    assert "Afar" in alone.json
    assert "Download as ZIP" not in alone.json


async def test_names_are_in_the_order_of_a_long_list(stage: Listening) -> None:
    """Also where they are sorted as texts."""
    numbers = range(200, 300)
    await stage.music.add(
        *(put("mara", "track", number, at=8000, access=OPEN) for number in numbers),
        album("mara", [uri("mara", "track", number) for number in numbers], 17, at=8001, name="Long"),
    )
    path = f"/albums/{public_list_id('mara', 17)}/archive"
    async with stage.music.client.get(stage.music.address + path) as answer:
        left_out = zipfile.ZipFile(io.BytesIO(await answer.read())).read("Left out.txt").decode().splitlines()

    assert [line[:4] for line in left_out] == [f"{number:03} " for number in range(1, 101)]


async def offered(stage: Listening, page: str, person: str | None = None) -> tuple[str, str | None]:
    """The archive that a page links to, and how many of the tracks it says are in there."""
    headers = await stage.as_(person) if person else {}
    text = (await stage.music.get(page, Accept="text/html", **headers)).json
    link = r'href="([^"]+/archive[^"]*)">Download as ZIP</a>(?: <p class="facts">([^<]+)</p>)?'
    [(address, count)] = re.findall(link, text)
    return address, count or None


async def names(stage: Listening, address: str) -> list[str]:
    """The files of an archive."""
    async with stage.music.client.get(address) as answer:
        return zipfile.ZipFile(io.BytesIO(await answer.read())).namelist()
