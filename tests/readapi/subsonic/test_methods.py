"""OpenSubsonic over real stores: every method of the table, in both forms, as the protocol describes them."""

import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from yarl import URL

from readapi.http.request.cookies import SESSION
from readapi.subsonic.methods import METHODS
from schemas.ids import checked_id
from tests.indexer.changes import album, did, put, uri
from tests.readapi.audio.listening import Listening, listening
from tests.readapi.music import PUBLIC_TRACKS, UNLISTED, public_list_id

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMESPACE = "{http://subsonic.org/restapi}"
SONG = f"tr-{checked_id(str(uri('mara', 'track', 2)))}"
ALBUM = f"al-{public_list_id('mara', 1)}"
PLAYLIST = f"pl-{public_list_id('ben', 2)}"
MARA = f"ar-{did('mara')}"
SOUND = b"a recording of a hundred thousand bytes, or fewer"

# What each method needs to answer at all; those that write need a server, and are tested with one.
PARAMETERS: dict[str, dict[str, str]] = {
    "getUser": {"username": "ben.example"},
    "getArtist": {"id": MARA},
    "getAlbum": {"id": ALBUM},
    "getSong": {"id": SONG},
    "getMusicDirectory": {"id": MARA},
    "getArtistInfo": {"id": MARA},
    "getArtistInfo2": {"id": MARA},
    "getAlbumInfo": {"id": ALBUM},
    "getAlbumInfo2": {"id": ALBUM},
    "getAlbumList": {"type": "newest"},
    "getAlbumList2": {"type": "newest"},
    "getSongsByGenre": {"genre": "ambient"},
    "getTopSongs": {"artist": "Mara"},
    "getSimilarSongs": {"id": SONG},
    "getSimilarSongs2": {"id": ALBUM},
    "search2": {"query": "song"},
    "search3": {"query": "song"},
    "getPlaylist": {"id": PLAYLIST},
}
BYTES = {"stream", "download", "getCoverArt", "getAvatar"}
WRITING = {name for name, method in METHODS.items() if method.requires} | {"scrobble"}
READING = sorted(METHODS.keys() - BYTES - WRITING)


class Player:
    """A music player with somebody's API key."""

    def __init__(self, stage: Listening, key: str) -> None:
        self.stage, self.key = stage, key

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The content of a successful answer."""
        told = await self.answer(method, **parameters)
        assert told["status"] == "ok", told
        return told

    async def failure(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The error of a refusal."""
        told = await self.answer(method, **parameters)
        assert told["status"] == "failed", told
        return dict(told["error"])

    async def answer(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer as JSON, without its envelope."""
        sent = {"apiKey": self.key, "f": "json", "c": "tests", "v": "1.16.1", **parameters}
        asked = urlencode({name: one for name, one in sent.items() if one is not None}, doseq=True)
        reply = await self.stage.music.get(f"/rest/{method}?{asked}")
        assert reply.status == 200
        return dict(reply.json["subsonic-response"])

    async def xml(self, method: str, **parameters: str) -> ET.Element:
        asked = urlencode({"apiKey": self.key, **parameters})
        reply = await self.stage.music.get(f"/rest/{method}.view?{asked}")
        assert (reply.status, reply.headers["Content-Type"]) == (200, "text/xml; charset=utf-8")
        return ET.fromstring(reply.json)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    """A worker with one more recording, which is on no album and has a hostile title."""
    async with listening(tmp_path_factory.mktemp("stage")) as opened:
        await opened.publish(SOUND, "ida", 70, title="\u202eA <b>&\x07", tags=["odd"], duration=3)
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ben(stage: Listening) -> Player:
    return Player(stage, await stage.developer_token("ben"))


@pytest.mark.parametrize("method", READING)
async def test_every_method_answers_the_same_as_xml_and_as_json(ben: Player, method: str):
    """As attributes and elements, and as members; with the envelope of the protocol."""
    told = await ben.ask(method, **PARAMETERS.get(method, {}))
    root = await ben.xml(method, **PARAMETERS.get(method, {}))

    assert (told["version"], told["type"], told["openSubsonic"]) == ("1.16.1", "fmsvc", True)
    assert (root.tag, root.get("status")) == (f"{NAMESPACE}subsonic-response", "ok")
    if method != "getRandomSongs" and "ndexes" not in method:
        assert as_json(root, told) == told


def as_json(element: ET.Element, like: Any) -> Any:
    """An element in the shape of what JSON has."""
    if isinstance(like, dict):
        return {name: _member(element, name, one) for name, one in like.items()}
    text = element.text or ""
    return int(text) if isinstance(like, int) else text


def _member(element: ET.Element, name: str, like: Any) -> Any:
    if isinstance(like, list):
        found = element.findall(NAMESPACE + name)
        assert len(found) == len(like), name
        return [as_json(one, wanted) for one, wanted in zip(found, like, strict=True)]
    child = element.find(NAMESPACE + name)
    if child is not None:
        return as_json(child, like)
    text = element.text or "" if name == "value" else element.get(name)
    if isinstance(like, bool):
        return text == "true"
    return int(text or "") if isinstance(like, int) else text


async def test_the_extensions_need_no_key(stage: Listening):
    """Players ask for them before they know how to sign in."""
    told = (await stage.music.get("/rest/getOpenSubsonicExtensions?f=json")).json["subsonic-response"]

    assert {one["name"] for one in told["openSubsonicExtensions"]} == {"apiKeyAuthentication", "formPost"}


@pytest.mark.parametrize(
    ("credentials", "number", "said"),
    [
        ({"u": "ben", "p": "secret"}, 42, "passwords"),
        ({"u": "ben", "t": "abc", "s": "def"}, 41, "Token and salt"),
        ({"u": "ben"}, 10, "apiKey"),
        ({}, 10, "apiKey"),
        ({"apiKey": "fmsvc_nobodys", "u": "ben"}, 43, "must not be sent"),
        ({"apiKey": "fmsvc_nobodys"}, 44, "developer token"),
        ({"apiKey": "nobodys"}, 44, "developer token"),
    ],
)
async def test_every_other_credential_is_refused_with_its_number_and_the_way_to_a_key(
    ben: Player, credentials: dict[str, str], number: int, said: str
):
    """The numbers of the extension `apiKeyAuthentication`."""
    error = await ben.failure("ping", **{"apiKey": None, **credentials})

    assert error["code"] == number
    assert said in error["message"]
    assert error.get("helpUrl") == (None if number == 43 else f"{ben.stage.music.address}/settings")


async def test_neither_a_session_nor_a_cookie_nor_a_header_is_a_key(ben: Player):
    """So no page of another site can ask in the name of somebody who is signed in."""
    login = await ben.stage.as_("ben")
    session = login["Authorization"].removeprefix("Bearer ")

    as_key = await ben.failure("ping", apiKey=session)
    by_header = await ben.stage.music.get("/rest/tokenInfo?f=json", **login)
    by_cookie = await ben.stage.music.get("/rest/tokenInfo?f=json", Cookie=f"{SESSION}={session}")

    assert as_key["code"] == 44
    for reply in (by_header, by_cookie):
        assert reply.json["subsonic-response"]["error"]["code"] == 10


@pytest.mark.parametrize(
    "path", ["/rest/tokenInfo", "/%72est/tokenInfo", "//rest/tokenInfo", "/./rest/tokenInfo"]
)
async def test_no_spelling_of_the_path_lets_a_session_in(ben: Player, path: str):
    """Beside a key that is nobody's, in whatever way the address of a method can be written."""
    session = (await ben.stage.as_("ben"))["Authorization"].removeprefix("Bearer ")
    for headers in ({"Cookie": f"{SESSION}={session}"}, {"Authorization": f"Bearer {session}"}):
        for query in ("", "&apiKey=fmsvc_nobodys"):
            url = URL(f"{ben.stage.music.address}{path}?f=json{query}", encoded=True)
            async with ben.stage.music.client.get(url, headers=headers) as reply:
                told = await reply.text()

            assert "ben.example" not in told
            assert '"code":10' in told or '"code":44' in told or reply.status == 404


async def test_parameters_come_in_a_form_too(ben: Player):
    """The extension `formPost`; also from pages of other sites, whose players have a key as any other."""
    body = urlencode({"apiKey": ben.key, "f": "json", "id": SONG}).encode()
    kind = {"Content_Type": "application/x-www-form-urlencoded", "Origin": "https://player.example"}

    reply = await ben.stage.music.send("POST", "/rest/getSong.view", body, **kind)
    as_json = await ben.stage.music.send(
        "POST", f"/rest/ping?f=json&apiKey={ben.key}", b"{}", Content_Type="application/json"
    )

    assert reply.json["subsonic-response"]["song"]["title"] == "Song 2"
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "application/x-www-form-urlencoded" in as_json.json["subsonic-response"]["error"]["message"]


@pytest.mark.parametrize(
    ("method", "parameters", "number"),
    [
        ("getSong", {}, 10),
        ("getSong", {"id": "nothing"}, 70),
        ("getSong", {"id": "tr-1"}, 70),
        ("getSong", {"id": ALBUM}, 70),
        ("getAlbum", {"id": "al-nothing"}, 70),
        ("getArtist", {"id": "ar-did:plc:nobody"}, 70),
        ("getAlbumList2", {"type": "loudest"}, 0),
        ("getUser", {"username": "mara.example"}, 50),
        ("createPlaylist", {"name": "Mine"}, 50),
        ("star", {"albumId": ALBUM}, 0),
        ("jukeboxControl", {}, 0),
        ("ping", {"f": "jsonp", "callback": "run"}, 0),
    ],
)
async def test_what_cannot_be_done_is_told_by_its_number(
    ben: Player, method: str, parameters: dict[str, str], number: int
):
    """With a sentence."""
    error = await ben.failure(method, **parameters)

    assert error["code"] == number
    assert error["message"].endswith(".")


async def test_one_comes_from_artists_to_albums_to_songs(ben: Player):
    """Tracks on no album are on one more, so that everything is reached."""
    letters = (await ben.ask("getArtists"))["artists"]["index"]
    artists = {artist["name"]: artist for letter in letters for artist in letter["artist"]}
    albums = (await ben.ask("getArtist", id=artists["Mara"]["id"]))["artist"]["album"]
    songs = {album["name"]: (await ben.ask("getAlbum", id=album["id"]))["album"]["song"] for album in albums}

    assert {letter["name"] for letter in letters} >= {"M", "B"}
    assert artists["Mara"]["albumCount"] == 1
    assert [song["title"] for song in songs["First Light"]] == ["Song 3", "Song 1", "Song 10"]
    assert [song["track"] for song in songs["First Light"]] == [1, 2, 3]
    assert len(songs["Singles"]) == PUBLIC_TRACKS - 2 + 1  # and that for supporters
    for song in songs["Singles"]:
        assert (song["albumId"], song["album"]) == (f"si-{did('mara')}", "Singles")


async def test_a_song_says_what_it_is(ben: Player):
    """And never more of its text than XML can carry."""
    song = (await ben.ask("getSong", id=SONG))["song"]
    odd = f"tr-{checked_id(str(uri('ida', 'track', 70)))}"
    hostile = (await ben.xml("getSong", id=odd)).find(f"{NAMESPACE}song")

    assert (
        song
        | {
            "id": SONG,
            "isDir": False,
            "title": "Song 2",
            "artist": "Mara",
            "artistId": MARA,
            "duration": 60,
            "genre": "ambient",
            "starred": song["starred"],
        }
        == song
    )
    assert hostile is not None
    assert (hostile.get("title"), hostile.get("contentType"), hostile.get("suffix")) == (
        "A <b>&",
        "audio/flac",
        "flac",
    )


async def test_an_empty_search_lists_everything_in_pages(ben: Player):
    """Players copy the catalogue so; quotation marks are no words."""
    met: list[str] = []
    for query, offset in (("", 0), ('""', 4), ("", 8), ("", 12)):
        asked = {"query": query, "songCount": 4, "songOffset": offset, "albumCount": 0, "artistCount": 0}
        met += [song["title"] for song in (await ben.ask("search3", **asked))["searchResult3"]["song"]]
    beyond = await ben.ask("search3", query="", songOffset=10_001, albumOffset=10_001, artistOffset=10_001)

    assert len(met) == len(set(met)) == PUBLIC_TRACKS + 3  # Ben's, Ida's, and that for supporters
    assert beyond["searchResult3"] == {"artist": [], "album": [], "song": []}


async def test_words_find_artists_albums_and_songs(ben: Player):
    """As the search of the API does, each kind by its own page."""
    found = (await ben.ask("search3", query="song 2*"))["searchResult3"]
    second = (await ben.ask("search3", query="song", songCount=2, songOffset=2))["searchResult3"]["song"]
    album = (await ben.ask("search2", query="light"))["searchResult2"]["album"]

    assert found["song"][0]["title"] == "Song 2"
    assert len(second) == 2
    assert [(one["title"], one["isDir"]) for one in album] == [("First Light", True)]


async def test_lists_are_what_their_names_say(ben: Player):
    """Newest, of a tag, of a year, random, most popular, liked."""
    newest = (await ben.ask("getAlbumList2", type="newest"))["albumList2"]["album"]
    played = (await ben.ask("getAlbumList2", type="frequent"))["albumList2"]["album"]
    year = newest[0]["year"]
    of_year = await ben.ask("getAlbumList2", type="byYear", fromYear=year, toYear=year)
    earlier = await ben.ask("getAlbumList2", type="byYear", fromYear=1980, toYear=1990)
    tagged = (await ben.ask("getSongsByGenre", genre="Ambient", count=500))["songsByGenre"]["song"]
    some = (await ben.ask("getRandomSongs", size=5))["randomSongs"]["song"]
    odd = (await ben.ask("getRandomSongs", genre="odd", fromYear=1971))["randomSongs"]["song"]
    top = (await ben.ask("getTopSongs", artist="mara.example", count=1))["topSongs"]["song"]
    liked = (await ben.ask("getStarred2"))["starred2"]["song"]

    assert [one["name"] for one in newest] == [one["name"] for one in played] == ["First Light"]
    assert len(of_year["albumList2"]["album"]) == 1
    assert earlier["albumList2"]["album"] == []
    assert len(tagged) == PUBLIC_TRACKS + 2  # Ben's, and that for supporters
    assert len({song["id"] for song in some}) == 5
    assert len(odd) == 1
    assert [song["title"] for song in top] == ["Song 2"]
    assert [(song["title"], song["starred"][-1]) for song in liked] == [("Song 2", "Z")]


async def test_a_recording_is_played_whole_and_in_parts(ben: Player):
    """Ranges are what seeking needs."""
    song = f"tr-{checked_id(str(uri('ida', 'track', 70)))}"
    path = f"/rest/stream?apiKey={ben.key}&id={song}"

    whole = await ben.stage.music.get(path)
    part = await ben.stage.music.get(path, Range="bytes=2-10")
    saved = await ben.stage.music.get(path.replace("stream", "download"))

    assert (whole.status, whole.json.encode()) == (200, SOUND)
    assert whole.headers["Content-Type"] == "audio/flac"
    assert whole.headers["Cache-Control"].startswith("private")
    assert (part.status, part.json.encode()) == (206, SOUND[2:11])
    assert saved.headers["Content-Disposition"].startswith("attachment")


async def test_a_recording_elsewhere_is_reached_without_the_key(ben: Player):
    """By way of a public address: the next server may be told the address before, which has the key in it."""
    where = {"audioUrl": "https://elsewhere.example/a.mp3", "fileType": "mp3", "title": "Elsewhere"}
    await ben.stage.music.add(put("ida", "track", 71, at=5000, **where))
    checked = checked_id(str(uri("ida", "track", 71)))

    url = f"{ben.stage.music.address}/rest/stream?apiKey={ben.key}&id=tr-{checked}"
    async with ben.stage.music.client.get(url, allow_redirects=False) as reply:
        led = reply.headers["Location"]

    assert led == f"{ben.stage.music.address}/tracks/{checked}/stream"


async def test_too_many_requests_are_refused_in_the_form_that_was_asked_for(
    tmp_path_factory: pytest.TempPathFactory,
):
    """For the account, wherever it asks from, with the status and header that say how long to wait."""
    async with listening(tmp_path_factory.mktemp("limited"), rate_limit="3/minute") as stage:
        key = await stage.developer_token("ben")
        for _ in range(3):
            assert (await stage.music.get(f"/rest/ping?apiKey={key}")).status == 200
        refused = await stage.music.get(f"/rest/ping?apiKey={key}&f=json")
        as_xml = await stage.music.get(f"/rest/ping?apiKey={key}")
        another = await stage.music.get("/rest/getOpenSubsonicExtensions")

    assert refused.status == as_xml.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert refused.json["subsonic-response"]["error"]["code"] == 0
    assert ET.fromstring(as_xml.json).get("status") == "failed"
    assert another.status == 200


async def test_what_is_no_request_for_a_method_keeps_its_status(ben: Player):
    """A method of HTTP that is not taken, a path below one, a NUL character; all in the protocol's form."""
    music = ben.stage.music
    replies = [
        await music.send("PUT", f"/rest/ping?f=json&apiKey={ben.key}"),
        await music.get(f"/rest/ping/beyond?f=json&apiKey={ben.key}"),
        await music.get(f"/rest/ping?f=json&apiKey={ben.key}&c=%00"),
    ]
    preflight = await music.send("OPTIONS", "/rest/ping", Origin="https://player.example")

    assert [reply.status for reply in replies] == [405, 404, 422]
    assert replies[0].headers["Allow"] == "GET,POST"
    assert {reply.json["subsonic-response"]["status"] for reply in replies} == {"failed"}
    assert preflight.status == 204


async def test_what_is_unlisted_is_on_its_album_alone(ben: Player):
    """As for the rest of the API; what is private is nowhere."""
    everything = (await ben.ask("search3", query="", songCount=500))["searchResult3"]["song"]

    titles = {song["title"] for song in everything}
    assert f"Song {UNLISTED}" not in titles
    assert (await ben.ask("getPlaylist", id=PLAYLIST))["playlist"]["songCount"] == 2


async def test_a_new_album_appears_at_once(ben: Player):
    """The answers are not kept in any cache."""
    before = (await ben.ask("getAlbumList2", type="newest"))["albumList2"]["album"]
    await ben.stage.music.add(album("ida", [uri("ida", "track", 70)], 72, at=6000, name="Odd"))
    after = (await ben.ask("getAlbumList2", type="newest"))["albumList2"]["album"]

    assert len(after) == len(before) + 1
