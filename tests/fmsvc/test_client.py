"""The client against a scripted server: what it sends, what it makes of answers, what it refuses."""

import hashlib
import json
import subprocess
import sys
from base64 import b32encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import fmsvc
from docs.generate_sync import generate
from fmsvc import AsyncClient, Client
from fmsvc.errors import make_refusal

TRACK = {
    "id": 7,
    "title": "../Harbour",
    "file_id": "x",
    "file_type": "mp3",
    "atproto_record_uri": "at://a/b/c",
}
Answer = httpx2.Response | Exception


def client(*answers: Answer, **options: Any) -> tuple[Client, list[httpx2.Request]]:
    """A client whose requests get these answers in turn, and the requests."""
    asked: list[httpx2.Request] = []
    waiting = iter(answers)

    def answer(request: httpx2.Request) -> httpx2.Response:
        request.read()
        asked.append(request)
        found = next(waiting)
        if isinstance(found, Exception):
            raise found
        return found

    made = Client(
        api_url="https://api.test",
        transport=httpx2.MockTransport(answer),
        **{"token": "secret-token", **options},
    )
    return made, asked


def ok(body: Any, **headers: str) -> httpx2.Response:
    return httpx2.Response(200, json=body, headers=headers)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmsvc._sync.http.backoff", lambda _attempt: 0.0)
    monkeypatch.setattr("fmsvc._sync.transfers.backoff", lambda _attempt: 0.0)
    monkeypatch.setattr("fmsvc.answers.backoff", lambda _attempt: 0.0)


def test_the_synchronous_half_is_generated_from_the_other(tmp_path: Path):
    generate(tmp_path / "made")
    made = {path.name: path.read_text() for path in (tmp_path / "made").glob("*.py")}
    kept = {path.name: path.read_text() for path in Path("fmsvc/_sync").glob("*.py")}
    assert kept == made, "run make sdk"


def test_importing_the_package_imports_no_dependency():
    late = "{'httpx2', 'pydantic', 'rich', 'keyring', 'mcp'}"
    program = f"import sys, fmsvc; print(sorted({late} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_lists_go_from_page_to_page_up_to_the_limit():
    first = {"tracks": [TRACK, TRACK], "next_cursor": "more"}
    made, asked = client(ok(first), ok({"tracks": [TRACK, TRACK], "next_cursor": "again"}))

    assert len(made.tracks.list(limit=3)) == 3
    assert [request.url.params.get("cursor") for request in asked] == [None, "more"]


def test_pages_that_go_in_circles_end_in_an_error():
    page = {"tracks": [TRACK], "next_cursor": "same"}
    made, _ = client(ok(page), ok(page))
    with pytest.raises(fmsvc.AnswerError):
        list(made.tracks.iterate())


@pytest.mark.parametrize("status", [429, 503])
def test_reads_are_retried_and_writes_are_not(status: int):
    busy = httpx2.Response(
        status, json={"detail": "rate_limited", "message": "Later."}, headers={"Retry-After": "0"}
    )
    made, asked = client(busy, httpx2.ConnectError("gone"), ok(TRACK))
    assert made.tracks.get(7).id == 7
    assert len(asked) == 3

    made, asked = client(busy)
    with pytest.raises(fmsvc.RefusedError) as refused:
        made.tracks.like(7)
    assert (refused.value.status, refused.value.code, len(asked)) == (status, "rate_limited", 1)


def test_a_write_with_an_idempotency_key_is_retried_with_the_same_key():
    job = {"job_id": "j", "status": "pending"}
    made, asked = client(httpx2.ReadError("gone"), httpx2.Response(202, json=job))
    made.publishing.set(7, None, idempotency_key="k")
    assert [request.headers["Idempotency-Key"] for request in asked] == ["k", "k"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, text="<html>", headers={"Content-Type": "text/html"}),
        httpx2.Response(200, content=b'{"id": 7', headers={"Content-Type": "application/json"}),
        ok([]),
        ok({"id": 7}),
        httpx2.Response(200, content=b"[" * 100_000, headers={"Content-Type": "application/json"}),
    ],
)
def test_an_answer_that_is_not_as_described_is_a_typed_error(answer: httpx2.Response):
    made, _ = client(answer)
    with pytest.raises(fmsvc.AnswerError) as raised:
        made.tracks.get(7)
    assert isinstance(raised.value, ValueError)


def test_a_refusal_says_status_code_message_and_request_id():
    body = {"detail": "scope_upgrade_required", "message": "Sign in anew."}
    made, _ = client(httpx2.Response(403, json=body, headers={"X-Request-ID": "r1"}))
    with pytest.raises(fmsvc.SetupRequiredError) as raised:
        made.tracks.like(7)
    error = raised.value
    assert isinstance(error, ValueError)
    assert (error.status, error.code, error.message, error.request_id) == (
        403,
        "scope_upgrade_required",
        "Sign in anew.",
        "r1",
    )


def test_the_token_reaches_no_other_origin_and_no_repr(tmp_path: Path):
    elsewhere = httpx2.Response(302, headers={"Location": "https://pds.test/blob"})
    made, asked = client(ok(TRACK), elsewhere, httpx2.Response(200, content=b"sound"))

    made.tracks.download(7, tmp_path / "a.mp3")

    assert ["Authorization" in request.headers for request in asked] == [True, True, False]
    assert "secret-token" not in repr(made) + repr(vars(made))


def test_a_redirect_to_plain_http_is_refused(tmp_path: Path):
    made, _ = client(ok(TRACK), httpx2.Response(302, headers={"Location": "http://pds.test/blob"}))
    with pytest.raises(fmsvc.AnswerError):
        made.tracks.download(7, tmp_path)
    assert list(tmp_path.iterdir()) == []


class Broken(httpx2.SyncByteStream):
    """A body that breaks off."""

    def __iter__(self) -> Iterator[bytes]:
        yield b"so"
        raise httpx2.ReadError("gone")


def broken() -> httpx2.Response:
    return httpx2.Response(200, stream=Broken(), headers={"ETag": '"e"', "Content-Length": "5"})


def test_a_download_that_broke_off_is_resumed_and_keeps_to_its_folder(tmp_path: Path):
    file_id = "b" + b32encode(
        b"\x01\x55\x12\x20" + hashlib.sha256(b"sound").digest()
    ).decode().lower().rstrip("=")
    rest = httpx2.Response(206, content=b"und", headers={"Content-Range": "bytes 2-4/5"})
    made, asked = client(ok({**TRACK, "file_id": file_id}), broken(), rest)

    path = made.tracks.download(7, tmp_path)

    assert (path, path.read_bytes()) == (tmp_path / "Harbour.mp3", b"sound")
    assert asked[-1].headers["Range"] == "bytes=2-"


@pytest.mark.parametrize("last", [broken, lambda: httpx2.Response(200, content=b"other")])
def test_no_half_or_other_file_is_left(tmp_path: Path, last: Callable[[], httpx2.Response]):
    file_id = "b" + b32encode(
        b"\x01\x55\x12\x20" + hashlib.sha256(b"sound").digest()
    ).decode().lower().rstrip("=")
    made, _ = client(ok({**TRACK, "file_id": file_id}), last(), max_retries=0)
    with pytest.raises((fmsvc.UnreachableError, fmsvc.ProofError)):
        made.tracks.download(7, tmp_path)
    assert list(tmp_path.iterdir()) == []


def events(*states: dict[str, Any]) -> httpx2.Response:
    text = "".join(
        f"id: {n}\ndata: {json.dumps({'upload_id': 'u', **one})}\n\n" for n, one in enumerate(states, 1)
    )
    return httpx2.Response(200, content=text.encode(), headers={"Content-Type": "text/event-stream"})


def test_an_upload_reports_progress_and_waits_over_broken_events(tmp_path: Path):
    song = tmp_path / "song.mp3"
    song.write_bytes(b"a" * 300_000)
    seen: list[tuple[int, int]] = []
    working, done = {"status": "processing"}, {"status": "completed", "track_id": 9}
    accepted = httpx2.Response(202, json={"upload_id": "u", "status": "pending"})
    made, asked = client(accepted, events(working), ok({"upload_id": "u", **working}), events(done))

    result = made.tracks.upload(song, "Song", tags={"b", "a"}, on_progress=lambda *told: seen.append(told))

    assert (result.track_id, result.title) == (9, "Song")
    assert (300_000, 300_000) in seen
    assert asked[-1].headers["Last-Event-ID"] == "1"
    assert b'["a", "b"]' in asked[0].content


def test_an_upload_whose_answer_is_lost_is_sent_again_whole_with_the_same_key(tmp_path: Path):
    song = tmp_path / "song.mp3"
    song.write_bytes(b"sound")
    done = {"upload_id": "u", "status": "completed", "track_id": 9}
    made, asked = client(httpx2.ReadError("gone"), httpx2.Response(202, json=done), events(done))
    assert made.tracks.upload(song, "Song", image=song).track_id == 9
    first, again = asked[:2]
    assert first.headers["Idempotency-Key"] == again.headers["Idempotency-Key"] != ""
    assert first.content.count(b"sound") == again.content.count(b"sound") == 2


def test_playlists_go_from_page_to_page_by_the_link_header():
    playlist = {"id": "p", "name": "n", "owner_did": "did:web:a", "owner_handle": "a"}
    link = '<https://elsewhere.test/lists/playlists?cursor=more>; rel="next"'
    made, asked = client(ok([playlist], Link=link), ok([playlist]))
    assert len(made.playlists.list()) == 2
    assert [(request.url.host, request.url.params.get("cursor")) for request in asked] == [
        ("api.test", None),
        ("api.test", "more"),
    ]
    made, _ = client(ok([playlist], Link=link), ok([playlist], Link=link))
    with pytest.raises(fmsvc.AnswerError):
        made.playlists.by_artist("did:web:a")


def test_search_goes_from_page_to_page_up_to_the_limit():
    tag = {"type": "tag", "id": 1, "name": "sea", "track_count": 2, "relevance": 1.0}
    page = {"results": [tag, tag], "counts": {"tags": 9}}
    made, asked = client(ok({**page, "next_cursor": "more"}), ok({**page, "next_cursor": "again"}))
    assert len(list(made.discover.iterate("sea", limit=3))) == 3
    assert [request.url.params.get("limit") for request in asked] == ["3", "1"]


def test_a_missing_file_and_address_and_token_are_typed_errors(monkeypatch: pytest.MonkeyPatch):
    made, _ = client()
    with pytest.raises(FileNotFoundError):
        made.tracks.upload("/no/such/file.mp3", "Song")
    anonymous, _ = client(token="")
    with pytest.raises(ValueError, match="FMSVC_TOKEN"):
        anonymous.tracks.my()
    for name in ("FMSVC_API_URL", "FMSVC_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="FMSVC_API_URL"):
        Client()


async def test_the_asynchronous_client_does_the_same():
    def answer(request: httpx2.Request) -> httpx2.Response:
        return ok({"tracks": [TRACK], "next_cursor": None})

    transport = httpx2.MockTransport(answer)
    async with AsyncClient(api_url="https://api.test", token="", transport=transport) as made:
        assert [track.id async for track in made.tracks.iterate()] == [7]
        assert [track.id for track in await made.tracks.list()] == [7]


@pytest.mark.parametrize(
    ("message", "errors", "said"),
    [
        (
            "A parameter is invalid; see errors.",
            [{"field": "type", "message": "must be tracks or albums"}],
            "A parameter is invalid. type: must be tracks or albums",
        ),
        ("No account has this name.", [{"field": "handle", "message": "No account has this name."}], ""),
        ("It is too large.", "no list", ""),
    ],
)
def test_a_refusal_names_each_fault_once(message: str, errors: object, said: str):
    """The service's sentence refers to a list that a program's users do not see."""
    refusal = make_refusal(422, {"detail": "invalid_request", "message": message, "errors": errors}, None)

    assert str(refusal) == (said or message)
