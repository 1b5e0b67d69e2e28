"""Labels in answers: what follows from them, who is told of them, and whose a request asks for."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from readapi.pages.public import reactions
from readapi.state.publishing.preferences import Preferences
from schemas.ids import Did
from schemas.labels import Label
from schemas.service_identity import service_did
from tests.indexer.changes import album, comment, did, put, uri
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

ONE, OTHER = Did("did:plc:oneoneoneoneoneoneoneone"), Did("did:plc:twotwotwotwotwotwotwotwo")
START = datetime(2026, 1, 1, tzinfo=UTC)
TRACK, HIDDEN, SELF = (uri("mara", "track", number) for number in (1, 2, 50))
OWN = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "nudity"}, {"val": "!hide"}]}


def label(source: str, subject: object, value: str) -> Label:
    return Label(source, str(subject), None, value, START)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker whose operator names two labelers; both have said something."""
    folder: Path = tmp_path_factory.mktemp("stage")
    async with listening(folder, labelers=(ONE, OTHER)) as stage:
        await stage.music.add(put("mara", "track", 50, at=50, title="Song Fifty", labels=OWN))
        await stage.music.label(
            label(ONE, TRACK, "porn"),
            label(OTHER, TRACK, "rock"),
            label(ONE, HIDDEN, "copyright"),
            label(OTHER, did("ben"), "!hide"),
            label(OTHER, did("ida"), "spam"),
        )
        yield stage


def told(track: dict[str, object]) -> tuple[object, set[object]]:
    """The labels of a track or an artist, and their sources."""
    details = track["label_details"]
    assert isinstance(details, list)
    return track["labels"], {detail["src"] for detail in details}


async def test_a_track_tells_its_labels_and_who_gave_them(stage: Listening) -> None:
    track = (await stage.music.get(f"/tracks/{track_id('mara', 1)}")).json
    own = (await stage.music.get(f"/tracks/{track_id('mara', 50)}")).json
    artist = (await stage.music.get(f"/artists/{did('ida')}")).json

    assert told(track) == (["porn", "rock"], {ONE, OTHER})
    assert told(own) == (["nudity", "!hide"], {did("mara")})
    assert told(artist) == (["spam"], {OTHER})


async def test_a_page_shows_labels_with_a_notice(stage: Listening) -> None:
    page = (await stage.music.get(f"/track/{track_id('mara', 1)}", Accept="text/html")).json
    assert '<span class="label">porn</span>' in page
    assert "Labels say that this is for adults." in page


async def test_its_artist_meets_what_labels_hide_and_is_told_why(stage: Listening) -> None:
    """A record of theirs; and all their records where their account is hidden."""
    hidden, of_ben = f"/tracks/{track_id('mara', 2)}", f"/tracks/{track_id('ben', 30)}"
    mara, ben = await stage.as_("mara"), await stage.as_("ben")

    for path, login, value in ((hidden, mara, "copyright"), (of_ben, ben, "!hide")):
        assert (await stage.music.get(path)).status == 404
        seen = await stage.music.get(path, **login)
        assert seen.status == 200
        assert value in seen.json["labels"]
    assert (await stage.music.get(hidden, **ben)).status == 404
    page = await stage.music.get(f"/track/{track_id('mara', 2)}", Accept="text/html", **mara)
    assert "Labels hide this from everybody but you." in page.json
    mine = (await stage.music.get("/tracks/me?limit=100", **ben)).json["tracks"]
    assert track_id("ben", 30) in {track["id"] for track in mine}
    assert (await stage.music.get(f"/artists/{did('ben')}")).status == 404


async def test_a_request_chooses_whose_labels_it_is_told(stage: Listening) -> None:
    """Records' labels of themselves always; what follows from labels is the same for everybody."""
    service = service_did(stage.music.address)
    path, listed = f"/tracks/{track_id('mara', 1)}", "/tracks/?limit=100&adult=true"
    for accepted, expected, content in (
        (None, ["porn", "rock"], f"{ONE};redact,{OTHER};redact,{service};redact"),
        (f"{OTHER};redact, did:plc:stranger", ["rock"], f"{OTHER};redact"),
        (f"{ONE},{service}", ["porn"], f"{ONE};redact,{service};redact"),
        ("", [], ""),
    ):
        asked = {} if accepted is None else {"atproto_accept_labelers": accepted}
        for _ in range(2):  # the second answer is the cached one
            reply = await stage.music.get(path, **asked)
            assert (reply.json["labels"], reply.headers["atproto-content-labelers"]) == (expected, content)
            assert "atproto-accept-labelers" in reply.headers["Vary"]
        tracks = {track["id"]: track for track in (await stage.music.get(listed, **asked)).json["tracks"]}
        assert tracks[track_id("mara", 1)]["labels"] == expected
        assert tracks[track_id("mara", 50)]["labels"] == ["nudity", "!hide"]
        assert track_id("mara", 2) not in tracks
        plain = (await stage.music.get("/tracks/?limit=100", **asked)).json["tracks"]
        assert not {track_id("mara", 1), track_id("mara", 50)} & {track["id"] for track in plain}


@pytest.mark.parametrize("header", ["porn", "did:plc:a b", f"{ONE};hide", ",".join([ONE] * 21), "x" * 5000])
async def test_a_header_that_names_no_labelers_is_refused(stage: Listening, header: str) -> None:
    reply = await stage.music.get("/tracks/", atproto_accept_labelers=header)
    assert (reply.status, reply.json["detail"]) == (422, "invalid_request")


async def test_players_and_exports_leave_out_what_is_for_adults(stage: Listening) -> None:
    number = track_id("mara", 1)
    for path in (f"/embed/track/{number}", f"/oembed?url={stage.music.address}/track/{number}"):
        assert (await stage.music.get(path)).status == 404
    assert (await stage.music.get(f"/embed/track/{number}?adult=true")).status == 200


async def test_pages_show_what_is_for_adults_to_accounts_that_chose_so(
    stage: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every list that JSON has it in; to strangers, and to accounts that chose nothing, in none."""
    track, login = track_id("mara", 1), await stage.as_("ben")
    title = "Song One"
    monkeypatch.setattr(reactions, "_MOST_MORE", 50)
    other = f"/track/{track_id('mara', 9)}"  # which lists more by its artist
    pages = ("/new", "/search/?q=song&type=tracks", f"/u/{did('mara')}", other)
    await stage.music.add(put("mara", "track", 1, at=60, title=title))

    async def shown(**headers: str) -> list[bool]:
        found = [(await stage.music.get(path, Accept="text/html", **headers)) for path in pages]
        assert {answer.status for answer in found} == {200}
        return [f"/track/{track}" in answer.json for answer in found]

    before, stranger = await shown(**login), await shown()
    await stage.state.preferences.change(did("ben"), lambda _: Preferences(show_adult=True))
    chosen, others = await shown(**login), await shown()
    await stage.state.preferences.change(did("ben"), lambda _: Preferences())

    assert chosen == [True] * len(pages)
    assert before == stranger == others == [False] * len(pages)
    assert await shown(**login) == before


@pytest.mark.slow
async def test_lists_and_comments_tell_their_labels_and_those_of_their_accounts(stage: Listening) -> None:
    """Wherever they are shown; until a negation, and narrowed by what a request chooses."""
    music, track = stage.music, uri("mara", "track", 3)
    records = [uri("ida", "list", 60), uri("ida", "list", 61), uri("ida", "comment", 62)]
    await music.add(
        album("ida", [track], 60, at=70),
        album("ida", [track], 61, at=71, listType="playlist"),
        comment("ida", track, 62, at=72),
    )

    async def shown(accepted: str | None = None) -> list[tuple[object, set[object]]]:
        async def get(path: str) -> Any:
            asked = {} if accepted is None else {"atproto_accept_labelers": accepted}
            return (await music.get(path, **asked)).json

        return [
            told((await get(f"/albums/by-id/{public_list_id('ida', 60)}"))["metadata"]),
            told((await get(f"/albums/{did('ida')}"))["albums"][0]),
            told(await get(f"/lists/playlists/{public_list_id('ida', 61)}")),
            told((await get(f"/lists/playlists/by-artist/{did('ida')}"))[0]),
            told((await get(f"/tracks/{track_id('mara', 3)}/comments"))["comments"][0]),
            told((await get(f"/xrpc/fm.svc.getComments?track={track}"))["comments"][0]),
        ]

    fresh = await shown()
    await music.label(*(label(ONE, record, "rock") for record in records))
    labelled, ones, none = await shown(), await shown(ONE), await shown("")
    await music.label(label(ONE, did("ida"), "loud"))
    both = await shown()
    await music.label(*(label(ONE, subject, "rock")._replace(negated=True) for subject in records))
    await music.label(label(ONE, did("ida"), "loud")._replace(negated=True))

    assert fresh == await shown() == [(["spam"], {OTHER})] * 6
    assert labelled == [(["spam", "rock"], {OTHER, ONE})] * 6
    assert (ones, none) == ([(["rock"], {ONE})] * 6, [([], set())] * 6)
    assert both == [(["loud", "spam", "rock"], {OTHER, ONE})] * 6
