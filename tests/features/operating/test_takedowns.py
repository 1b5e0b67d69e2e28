"""What the operator takes down is nowhere within a second: not in answers, not in sound under way."""

import asyncio
import contextlib
import hashlib
import socket
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from readapi.audio.blob_cache import cid_of
from readapi.state.state import open_state
from readapi.state.takedown_decisions import NotDecided
from schemas.ids import checked_id
from schemas.takedowns import Action
from tests.indexer.changes import album, comment, did, like, uri
from tests.indexer.running import until
from tests.postgres import new_database
from tests.promises.test_conventions import READS, address
from tests.readapi.audio.bucket import bucket_url
from tests.readapi.audio.conftest import BUCKETS
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACK, FAN = uri("mara", "track", 50), uri("ida", "comment", 60)
TITLE = "Song Fifty"
RECORDING = b"a recording"
LONG = bytes(range(256)) * 100_000  # more than the kernel keeps of a sending
LONG_TRACK = uri("mara", "track", 51)
ARCHIVE = f"/albums/{public_list_id('mara', 9)}/archive"
TRACE = (str(TRACK), TITLE, str(track_id("mara", 50)), checked_id(str(TRACK)))
BROWSER = {"Accept": "text/html"}
# The artist's server of these tests has no picture to send: tests/readapi/pictures takes pictures down.
PICTURES = "/img/{cid}/{side}.webp"
OUR_SECOND = 1.0
WORKERS = 3


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["here", "elsewhere"])
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Listening]:
    """A worker with two recordings, one of them long, on an album; the other liked and spoken of.

    Its state is an SQLite file and its audio in a folder; then in PostgreSQL and in a bucket.
    """
    where = {}
    if request.param == "elsewhere":
        where["state_url"] = await new_database(request.getfixturevalue("postgres"), uuid.uuid4().hex)
        where["audio_url"] = bucket_url(request.getfixturevalue("s3"), f"bucket-{next(BUCKETS)}")
    async with listening(tmp_path_factory.mktemp("stage"), web_url=None, sql=True, **where) as stage:
        music = stage.music
        await music.add(
            await stage.song(RECORDING, "mara", 50, title=TITLE, tags=["ambient"]),
            await stage.song(LONG, "mara", 51),
            like("ben", TRACK, 50, at=2000),
            comment("ida", TRACK, 60, at=2001, timestampMs=1, text="a remark"),
            album("mara", [TRACK, LONG_TRACK], 9, at=2002, name="Harbour"),
            album("ben", [TRACK], 2, at=2003, name="Evening", listType="playlist"),
        )
        music.export()
        yield stage


@contextlib.asynccontextmanager
async def taken_down(stage: Listening, *subjects: object) -> AsyncIterator[None]:
    """Take these down, and wait as long as it may take; restore them after the block."""
    await decide(stage, "takedown", *subjects)
    try:
        yield
    finally:
        await decide(stage, "restore", *subjects)


async def decide(stage: Listening, action: Action, *subjects: object) -> None:
    """Add decisions, and wait until the worker has read them."""
    decisions = stage.state.takedown_decisions
    for subject in subjects:
        last = await decisions.decide(str(subject), action, "Reported as copied.", "operator")
    await until(lambda: stage.music.stores.takedowns.number == last.number)


async def traces(stage: Listening, *, as_page: bool = False) -> set[str]:
    """The reads with a trace of the track in their answers."""
    found = set()
    for path in READS:
        if path == PICTURES:
            continue
        headers = BROWSER if as_page else {}
        reply = await stage.music.get(address(path, stage.music), **headers)
        assert reply.status < 500, (path, reply.json)
        if any(trace in str(reply.json) for trace in TRACE):
            found.add(path)
    return found


async def test_no_read_has_a_trace_of_a_record_that_was_taken_down(stage: Listening) -> None:
    """Before the indexer knows of it, from the index; after that, from the catalogue and exports too."""
    before = await traces(stage) | await traces(stage, as_page=True)
    async with taken_down(stage, TRACK):
        at_once = await traces(stage) | await traces(stage, as_page=True)
        await stage.music.take_down(TRACK)
        stage.music.export()
        indexed = await traces(stage) | await traces(stage, as_page=True)
    await stage.music.take_down()
    after = await traces(stage) | await traces(stage, as_page=True)

    of_the_catalogue = {path for path in before if "sitemap" in path or "exports" in path}
    assert {"/tracks/{track_id}", "/tracks/", "/search/", "/track/{track_id}", "/oembed"} <= before
    assert at_once <= of_the_catalogue
    assert indexed == set()
    assert after == before


async def test_an_account_is_gone_with_all_that_it_wrote(stage: Listening) -> None:
    """Its tracks, its page, its remarks on others' tracks."""
    ida, ben = did("ida"), did("ben")
    async with taken_down(stage, ida, ben):
        said = (await stage.music.get(f"/tracks/{track_id('mara', 50)}/comments")).json["comments"]
        likers = (await stage.music.get(f"/tracks/{track_id('mara', 50)}/likes")).json["users"]
        page = (await stage.music.get(f"/artists/{ben}")).status
        track = (await stage.music.get(f"/tracks/{track_id('ben', 30)}")).status
        found = (await stage.music.get("/search/?q=full")).json["results"]

    assert (said, page, track) == ([], 404, 404)
    assert ben not in {user["did"] for user in likers}
    assert not any(str(uri("ben", "track", 30)) in str(result) for result in found)
    assert (await stage.music.get(f"/artists/{ben}")).status == 200


async def test_a_comment_can_be_taken_down_alone(stage: Listening) -> None:
    path = f"/tracks/{track_id('mara', 50)}/comments"
    async with taken_down(stage, FAN):
        hidden = (await stage.music.get(path)).json["comments"]
    assert hidden == []
    assert [remark["text"] for remark in (await stage.music.get(path)).json["comments"]] == ["a remark"]


async def test_a_like_can_be_taken_down_alone(stage: Listening) -> None:
    path = f"/tracks/{track_id('mara', 50)}/likes"
    async with taken_down(stage, uri("ben", "like", 50)):
        hidden = (await stage.music.get(path)).json["users"]
    assert hidden == []
    assert [user["did"] for user in (await stage.music.get(path)).json["users"]] == [did("ben")]


async def test_a_profile_can_be_taken_down_alone(stage: Listening) -> None:
    """At once its account is not shown at all; then without it."""
    profile = f"at://{did('mara')}/fm.svc.actor.profile/self"
    async with taken_down(stage, profile):
        at_once = await stage.music.get(f"/artists/{did('mara')}")
        found = (await stage.music.get("/search/?q=mara&type=artists")).json["results"]
        await stage.music.take_down(profile)
        indexed = (await stage.music.get(f"/artists/{did('mara')}")).json
        found_then = (await stage.music.get("/search/?q=mara&type=artists")).json["results"]
    await stage.music.take_down()

    assert (at_once.status, found) == (404, [])
    assert (indexed["display_name"], indexed["bio"], indexed["avatar_url"]) == (None, None, None)
    assert [one["display_name"] for one in found_then] == ["mara.example"]
    assert (await stage.music.get(f"/artists/{did('mara')}")).json["bio"] == "Songs"


async def test_a_recording_is_not_sent_for_any_track_that_names_it(stage: Listening) -> None:
    """By its CID; the track stays, and its artist does not get it either."""
    login = await stage.as_("mara")
    number, file_id = track_id("mara", 50), hashlib.sha256(RECORDING).hexdigest()
    async with taken_down(stage, cid_of(file_id)):
        track = await stage.music.get(f"/tracks/{number}")
        replies = [
            await stage.music.get(path, **headers)
            for path in (f"/tracks/{number}/stream", f"/tracks/{number}/download", f"/audio/{file_id}")
            for headers in ({}, login)
        ]

    assert track.status == 200
    assert {reply.status for reply in replies} == {404}
    assert "taken down" in replies[0].json["message"]
    assert (await stage.music.get(f"/tracks/{number}/stream")).status == 200


async def test_the_artist_alone_is_told_why(stage: Listening) -> None:
    """By every name of the track; others learn nothing, and nobody can change or hear it."""
    mara, ben = await stage.as_("mara"), await stage.as_("ben")
    number = track_id("mara", 50)
    async with taken_down(stage, TRACK):
        named = [f"/tracks/{number}", f"/tracks/by-uri?uri={TRACK}", f"/tracks/{number}/stream"]
        own = [await stage.music.get(path, **mara) for path in named]
        others = [await stage.music.get(path, **headers) for path in named for headers in ({}, ben)]
    async with taken_down(stage, did("mara")):
        of_account = await stage.music.get(f"/tracks/by-uri?uri={TRACK}", **mara)

    assert {reply.status for reply in (*own, *others, of_account)} == {404}
    for reply in (*own, of_account):
        assert reply.json["message"].endswith("Reported as copied.")
    assert not any("copied" in reply.json["message"] for reply in others)


async def begin(host: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request by a client that reads slowly."""
    ours = socket.socket()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    name, port = host.split(":")
    ours.connect((name, int(port)))
    reader, writer = await asyncio.open_connection(sock=ours, limit=64 << 10)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert (await reader.readexactly(100)).startswith(b"HTTP/1.1 200")
    # An archive leaves out a track that is taken down before its turn: the recording itself is under way.
    await reader.readexactly(32 << 10)
    return reader, writer


async def read_rest(reader: asyncio.StreamReader) -> int:
    """How many bytes still come until the connection ends."""
    count = 0
    with contextlib.suppress(ConnectionResetError):
        while piece := await reader.read(1 << 20):
            count += len(piece)
    return count


@pytest.mark.parametrize("subject", [LONG_TRACK, did("mara"), cid_of(hashlib.sha256(LONG).hexdigest())])
async def test_sendings_under_way_are_cut(stage: Listening, subject: object) -> None:
    """Of the track and of an archive with it, for clients that read and for those that wait; no other."""
    host = stage.music.address.removeprefix("http://")
    paths = [f"/tracks/{track_id('mara', 51)}/stream", ARCHIVE]
    sendings = [await begin(host, path) for path in paths * 2]
    other = asyncio.create_task(stage.music.get("/exports/"))

    async with taken_down(stage, subject):
        for reader, writer in sendings:
            async with asyncio.timeout(10):
                assert await read_rest(reader) < len(LONG) // 2
            writer.close()
        assert (await other).status == 200
    await until(lambda: (writer.transport.is_closing() for _, writer in sendings))


async def test_decisions_are_a_log_that_nothing_changes(stage: Listening) -> None:
    """Numbered without gaps however many processes decide; what changes nothing is refused."""
    decisions, subjects = stage.state.takedown_decisions, [did(f"person{number}") for number in range(8)]
    async with open_state(stage.music.settings) as other:
        await asyncio.gather(
            *(
                (decisions if number % 2 else other.takedown_decisions).decide(subject, "takedown", "x", "y")
                for number, subject in enumerate(subjects)
            )
        )
    with pytest.raises(NotDecided, match="already taken down"):
        await decisions.decide(subjects[0], "takedown", "again", "y")
    for subject in subjects:
        await decisions.decide(subject, "restore", "x", "y")
    with pytest.raises(NotDecided, match="not taken down"):
        await decisions.decide(subjects[0], "restore", "again", "y")

    numbers = [decision.number async for decision in decisions.log()]
    assert numbers == list(range(1, len(numbers) + 1))
    for statement in ("delete from takedown_decisions", "update takedown_decisions set reason = 'other'"):
        with pytest.raises(Exception, match="never changed or deleted"):
            async with stage.state.database.writing() as connection:
                await connection.exec_driver_sql(statement)
