"""What every route promises: one error shape, request ids, safe headers, HEAD, ETags, CORS."""

import hashlib
import itertools
import re
from fnmatch import fnmatch

import orjson
import pytest
import pytest_asyncio

from readapi.answers import HTML, JSON
from readapi.http.admission import SAFE_METHODS
from readapi.http.endpoint import Endpoint
from readapi.http.openapi.document import api_endpoints
from readapi.pages.assets import Assets
from readapi.pictures import cache as pictures
from readapi.processes.app import all_endpoints
from schemas import data_folder
from schemas.errors import ErrorBody
from schemas.settings import Settings
from tests.indexer.changes import did, uri
from tests.readapi.audio.listening import listening
from tests.readapi.music import PICTURE, public_list_id, track_id

pytestmark = pytest.mark.asyncio(loop_scope="module")


def is_public_read(endpoint: Endpoint) -> bool:
    """Anybody may ask, and nothing comes of it."""
    return "HEAD" in endpoint.methods and not endpoint.needs.signed_in and not is_own(endpoint)


def is_own(endpoint: Endpoint) -> bool:
    """A page of somebody's own, which leads others to sign in."""
    return endpoint.method == "GET" and HTML in endpoint.media_types and endpoint.redirects is not None


ALL = all_endpoints()
FOR_MODERATORS = "/admin"  # whose pages do not exist for others: tests/features/operating/test_admin.py
READ_BY_ALL = [one for one in ALL if not (one.method == "GET" and one.path.startswith(FOR_MODERATORS))]
OWN = {endpoint.path: endpoint for endpoint in READ_BY_ALL if is_own(endpoint)}
ENDPOINTS = {
    endpoint.path: endpoint
    for endpoint in READ_BY_ALL
    if is_public_read(endpoint) and not endpoint.is_page_beside_json
}
OF_PLAYERS = "/rest/{method}"  # OpenSubsonic: its refusals are looked at in tests/readapi/subsonic
DEEDS = {
    f"{endpoint.method} {endpoint.path}": endpoint
    for endpoint in ALL
    if not is_public_read(endpoint) and not is_own(endpoint) and endpoint.path != OF_PLAYERS
}
FOR_SOMEBODY = [name for name, endpoint in DEEDS.items() if endpoint.needs.signed_in]
CHANGES = [name for name, endpoint in DEEDS.items() if endpoint.method not in SAFE_METHODS]
READS = [path for path, endpoint in ENDPOINTS.items() if not endpoint.operational]
# Nobody knows their hashes and lengths before.
MADE_AS_SENT = ("/albums/{album_id}/archive", "/lists/playlists/{playlist_id}/archive")
RECORDING = b"a recording"
NAMES = {
    "track_id": str(track_id("mara", 50)),
    "file_id": hashlib.sha256(RECORDING).hexdigest(),
    "name": "ambient",
    "handle": "mara.example",
    "artist": "mara.example",
    "slug": "first-light",
    "album_id": public_list_id("mara", 1),
    "playlist_id": public_list_id("ben", 2),
    "did": did("ben"),
    "token_id": "0" * 32,
    "webhook_id": "0" * 32,
    "user": did("ben"),
    "album_or_artist": "mara.example",
    "comment_id": "1",
    "number": "1",
    "upload_id": "0" * 32,
    "job_id": "0" * 32,
    "revision_id": "1",
    "part": "0",
    "seed": "0" * 32,
    "form": "xml",
    "uri": str(uri("mara", "track", 1)),
    "cid": PICTURE["ref"].encode(),
    "side": "96",
}
QUERIES = {
    "/search/": "?q=song",
    "/search/suggest": "?q=song",
    "/tracks/by-uri": f"?uri={uri('mara', 'track', 1)}",
    "/lists/playlists/by-uri": f"?uri={uri('ben', 'list', 2)}",
    **{
        f"/xrpc/fm.svc.{name}": f"?track={NAMES['track_id']}"
        for name in ("getTrack", "getLikes", "getComments")
    },
    "/xrpc/fm.svc.searchTracks": "?q=song",
    "/xrpc/parts.page.mention.search": f"?search=song&service={uri('mara', 'track', 1)}",
    "/xrpc/fm.svc.getArtist": f"?artist={NAMES['artist']}",
    "/xrpc/fm.svc.getAlbum": f"?album={NAMES['album_id']}",
    "/xrpc/fm.svc.getPlaylist": f"?playlist={NAMES['playlist_id']}",
}
OF_OTHER_PROTOCOLS = {"POST /mcp"}  # whose refusals are that protocol's
SIGNING_OUT = {"POST /auth/logout", "POST /settings/sign-out"}  # read nothing, and are done for nobody too
ASKING_NOTHING = {"GET /playing-now", "GET /1/validate-token"}  # whatever is sent to them
HOSTILE = ["%00", "%FF%FE", "..%2F..%2Fetc", "%E2%80%AE", "'%22%3Cscript%3E", "-1", "1e999", "x" * 2000]
HOSTILE_BODIES = [b"{", b"[]", b'"x"', b"\xff\xfe", b"null", b"{}"]
FORM = "application/x-www-form-urlencoded"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def staged_music(tmp_path_factory):
    folder, texts = tmp_path_factory.mktemp("music"), tmp_path_factory.mktemp("texts")
    for name in ("terms", "privacy"):
        (texts / f"{name}.txt").write_text("Be kind.")
    settings = {"upload_rate_limit": "999999/minute", "sql": True}
    settings |= {"texts_dir": texts, "contact": "operator@music.example"}
    async with listening(folder, web_url="https://app.example", **settings) as stage:
        await stage.publish(RECORDING, "mara", 50)
        stage.music.export()
        keep_picture(stage.music.settings)
        yield stage.music


def keep_picture(settings: Settings) -> None:
    """As if a size of the picture had been made: nobody's server can be asked here."""
    folder = settings.data_dir / pictures.FOLDER
    folder.mkdir()
    (folder / f"{NAMES['cid']}-96.webp").write_bytes(b"RIFF")


def address(path: str, music) -> str:
    """An address of the route that answers with something."""
    names = dict(NAMES)
    if path == "/static/{name}":
        names["name"] = Assets()["player.css"].rpartition("/")[2]
    if path == "/exports/{export}/{file}":
        [newest] = (music.settings.data_dir / data_folder.EXPORTS).glob("*-full-*")
        names |= {"export": newest.name, "file": "tracks.parquet"}
    if path == "/oembed":
        return f"/oembed?url={music.address}/track/{names['track_id']}"
    return re.sub(r"{(\w+)[^}]*}", lambda match: names[match[1]], path) + QUERIES.get(path, "")


def hostile(endpoint: Endpoint, name: str) -> str:
    """The route with this in place of every name, and as every query parameter."""
    query = "&".join(
        f"{parameter.name}={name}"
        for parameter in endpoint.signature.parameters
        if parameter.place == "query"
    )
    return re.sub(r"{(\w+)[^}]*}", name, endpoint.path) + ("?" + query if query else "")


def check_headers(reply):
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", reply.headers["X-Request-Id"])
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Referrer-Policy"]
    assert reply.headers["Content-Security-Policy"]
    assert reply.headers["Cache-Control"]
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert reply.headers["Server"] == "fmsvc"


def code_of(reply):
    """The code of a refusal, also of one as XRPC has it."""
    names = {"AuthenticationRequired": "not_authenticated", "ForeignOrigin": "foreign_origin"}
    return names[reply.json["error"]] if "error" in reply.json else reply.json["detail"]


def check_refusal(reply):
    if "error" in reply.json:  # as XRPC has it
        assert reply.json.keys() == {"error", "message"}
    else:
        ErrorBody.model_validate(reply.json)
    assert reply.json["message"].endswith(".")
    assert reply.headers["Content-Type"] == JSON
    assert reply.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_every_route_answers_with_what_every_answer_carries(staged_music, path):
    """Headers, and the media type that the route declares."""
    reply = await staged_music.get(address(path, staged_music))

    check_headers(reply)
    assert reply.status == 200
    declared = [media_type.partition(";")[0] for media_type in ENDPOINTS[path].media_types]
    told = reply.headers["Content-Type"].partition(";")[0]
    assert any(fnmatch(told, media_type) for media_type in declared)


@pytest.mark.parametrize("path", [path for path in READS if path not in MADE_AS_SENT])
async def test_every_read_can_be_asked_whether_it_changed(staged_music, path):
    """An ETag, a Cache-Control that caches may use, and 304 for who has the answer."""
    first = await staged_music.get(address(path, staged_music))
    again = await staged_music.get(address(path, staged_music), If_None_Match=first.headers["ETag"])

    assert first.headers["Cache-Control"].startswith("public, max-age=")
    assert (again.status, again.json) == (304, "")
    assert again.headers["ETag"] == first.headers["ETag"]
    check_headers(again)


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_every_route_answers_head(staged_music, path):
    """As GET, without the body."""
    got = await staged_music.get(address(path, staged_music))
    headed = await staged_music.send("HEAD", address(path, staged_music))

    assert (headed.status, headed.json) == (got.status, "")
    if path not in ("/metrics", "/ready", *MADE_AS_SENT):
        assert headed.headers["Content-Length"] == got.headers["Content-Length"]


@pytest.mark.parametrize("path", sorted({endpoint.path for endpoint in ALL} - {OF_PLAYERS}))
async def test_every_path_names_the_methods_that_it_takes(staged_music, path):
    """In `Allow`, and no method of another path whose pattern fits its address too; others are refused."""
    taken = {method for endpoint in ALL if endpoint.path == path for method in endpoint.methods}
    place = address(path, staged_music)
    asked = await staged_music.send("OPTIONS", place)

    assert (asked.status, set(asked.headers["Allow"].split(", "))) == (204, {"OPTIONS", *taken})
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - taken:
        reply = await staged_music.send(method, place)

        named = reply.json["error"] if path.startswith("/xrpc/") else reply.json["detail"]
        assert (reply.status, named.lower().replace("_", "")) == (405, "methodnotallowed"), method
        assert set(reply.headers["Allow"].split(",")) == taken
        check_headers(reply)
        check_refusal(reply)


async def test_albums_may_be_called_like_parts_of_albums(staged_music):
    """An artist's address and a title lead to the album, whatever the title."""
    for slug in ("cover", "archive", "publishing"):
        reply = await staged_music.get(f"/albums/mara.example/{slug}")

        assert (reply.status, reply.json["message"]) == (404, "There is no such album.")


@pytest.mark.parametrize("path", ENDPOINTS)
async def test_every_route_may_be_read_by_any_page(staged_music, path):
    """Preflights of strangers allow reading without credentials; of the web application, with them."""
    asking = {"Access_Control_Request_Method": "GET"}
    stranger = await staged_music.send(
        "OPTIONS", address(path, staged_music), Origin="https://x.example", **asking
    )
    ours = await staged_music.send(
        "OPTIONS", address(path, staged_music), Origin="https://app.example", **asking
    )

    assert (stranger.status, ours.status) == (204, 204)
    assert stranger.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert "Access-Control-Allow-Credentials" not in stranger.headers
    assert ours.headers["Access-Control-Allow-Origin"] == "https://app.example"
    assert ours.headers["Access-Control-Allow-Credentials"] == "true"


@pytest.mark.parametrize("path", READS)
async def test_every_route_survives_whatever_is_put_in_it(staged_music, path):
    """An answer or a refusal in the one shape, never a failure."""
    for name in HOSTILE:
        reply = await staged_music.get(hostile(ENDPOINTS[path], name))

        assert reply.status < 500 or (path, reply.status) == ("/oembed", 501), name
        check_headers(reply)
        if reply.status >= 400:
            check_refusal(reply)


@pytest.mark.parametrize("name", FOR_SOMEBODY)
async def test_every_route_for_somebody_refuses_nobody(staged_music, name):
    """And whoever brings what is no session: 401, and how to do better."""
    endpoint = DEEDS[name]
    for credential in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer fmsvc_x"}):
        reply = await staged_music.send(endpoint.method, address(endpoint.path, staged_music), **credential)

        assert (reply.status, code_of(reply)) == (401, "not_authenticated")
        assert reply.headers["WWW-Authenticate"] == "Bearer"
        check_headers(reply)
        check_refusal(reply)


@pytest.mark.parametrize("name", CHANGES)
async def test_nothing_is_changed_for_another_sites_page(staged_music, name):
    """With a cookie or without; nor where a browser names no origin but says that the page is another's."""
    endpoint = DEEDS[name]
    cookie = {"Cookie": "session_id=x"}
    foreign = [{"Origin": "https://x.example"}, {"Origin": "null"}]
    if endpoint.needs.from_any_page:
        foreign = [cookie | page for page in foreign]
    for headers in (*foreign, cookie | {"Sec-Fetch-Site": "cross-site"}):
        reply = await staged_music.send(endpoint.method, address(endpoint.path, staged_music), **headers)

        assert (reply.status, code_of(reply)) == (403, "foreign_origin")
        check_refusal(reply)


@pytest.mark.parametrize("name", sorted(DEEDS.keys() - SIGNING_OUT - ASKING_NOTHING - OF_OTHER_PROTOCOLS))
async def test_every_deed_survives_whatever_is_sent_to_it(staged_music, name):
    """As JSON, as a form, and as what nobody reads."""
    endpoint = DEEDS[name]
    for sent, kind in itertools.product(HOSTILE_BODIES, (JSON, FORM, "text/plain")):
        named = {"Content-Type": kind, "Accept": JSON}
        reply = await staged_music.send(endpoint.method, hostile(endpoint, "%00"), body=sent, **named)

        assert 400 <= reply.status < 500, (sent, kind, reply.json)
        check_headers(reply)
        check_refusal(reply)


@pytest.mark.parametrize("path", OWN)
async def test_pages_of_ones_own_are_kept_by_nobody(staged_music, path):
    """Whatever stands in their address: a page, or the way to one."""
    for name in ("x", *HOSTILE):
        reply = await staged_music.get(hostile(OWN[path], name), Accept="text/html")

        check_headers(reply)
        assert reply.status in ((422,) if name == "%00" else (200, 303)), name
        assert reply.headers["Cache-Control"] == "no-store"
        assert reply.headers.get("Location", "/login").startswith("/login")


async def test_the_limit_is_told_on_every_read(staged_music):
    """How much is left, before there is nothing left."""
    for path in READS:
        reply = await staged_music.get(address(path, staged_music))

        assert int(reply.headers["RateLimit-Limit"]) == 1_000_000
        assert int(reply.headers["RateLimit-Remaining"]) < 1_000_000
        assert 0 < int(reply.headers["RateLimit-Reset"]) <= 60


async def test_whatever_brings_a_file_for_its_own_sake_is_counted_as_an_upload(staged_music):
    """Under every spelling of an address; and nothing else is: a picture beside a title is a correction."""
    name = {"track_id": "at%3A%2F%2F" + did("mara") + "%2Ffm.svc.track%2Fx"}
    for endpoint in ALL:
        if endpoint.method == "GET":
            continue
        place = re.sub(r"{(\w+)[^}]*}", lambda match: name.get(match[1], "x"), endpoint.path)
        reply = await staged_music.send(endpoint.method, place)

        body = endpoint.signature.body
        members = {} if body is None else body[1].model_fields
        fields = {field for field, member in members.items() if not member.exclude}
        brings_files = bool({"file", "recordings"} & fields) or fields == {"image"}
        assert (reply.headers["RateLimit-Limit"] == "999999") is brings_files, place


async def test_a_browser_may_get_pages_but_programs_always_get_json(staged_music):
    """A refusal is a page only for who asks for HTML, and only where pages are."""
    page = await staged_music.get("/nowhere", Accept="text/html")
    program = await staged_music.get("/nowhere", Accept="*/*")
    of_the_api = await staged_music.get("/tracks/0", Accept="text/html")

    assert page.headers["Content-Type"] == HTML
    assert program.headers["Content-Type"] == of_the_api.headers["Content-Type"] == JSON


async def test_the_description_is_as_long_as_the_list_of_routes(staged_music):
    """Every route for programs is in `/openapi.json`, with every status that it can answer."""
    described = (await staged_music.get("/openapi.json")).json

    assert set(described["paths"]) == {endpoint.documented_path for endpoint in api_endpoints(ALL)}
    assert orjson.dumps(described).count(b'"404"') > 10
