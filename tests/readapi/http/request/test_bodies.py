"""Bodies are read as JSON, as forms, and as forms with files where a file is wanted."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from pydantic import Field

from readapi.http.endpoint import Routes
from readapi.http.limits.body_pace import MOST_FORMS_OF_ONE, BodyIntake
from readapi.http.request.bodies import MOST_BYTES, MOST_PARTS
from readapi.http.request.incoming_file import CHUNK_BYTES
from readapi.http.request.page_forms import DRAINED_BYTES, KEPT_BYTES, PageForm
from schemas.api.shape import AskedInParts, AskedWithFile, File, Listed, Shape
from schemas.settings import Settings
from tests.readapi import site

LIMIT = 2000
PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
PARTS = "multipart/form-data; boundary=x"


class Form(AskedInParts):
    """A file and two texts."""

    file: File | None = None
    tags: Listed[str] = Field(default_factory=list)
    flag: bool = False


class Read(Shape):
    """What was understood."""

    bytes: int
    tags: list[str]
    flag: bool


class Recording(AskedWithFile):
    """A file that must be there."""

    file: File


class OfPage(PageForm):
    """A file with texts around it."""

    text: str = ""
    file: File = b""
    behind: str = ""


class Shown(Shape):
    """What a page would show again."""

    kept: int
    behind: str
    left_out: dict[str, str]


routes = Routes("test")


@routes.post("/read")
async def read(sent: Form) -> Read:
    """Tell what was sent."""
    return Read(bytes=len(sent.file or b""), tags=sent.tags, flag=sent.flag)


@routes.post("/record")
async def record(sent: Recording) -> Read:
    """Tell how long the file was."""
    return Read(bytes=len(sent.file), tags=[], flag=False)


@routes.post("/page")
async def page(sent: OfPage) -> Shown:
    """Tell what was kept."""
    left_out = {name: one.refusal.message for name, one in sent.left_out.items()}
    return Shown(kept=len(sent.text), behind=sent.behind, left_out=left_out)


async def ask(body: object, path: str = "/read", **headers: str) -> tuple[int, dict[str, object]]:
    settings = Settings(image_bytes=LIMIT)
    async with site.running(routes, {Settings: settings}, settings) as running:
        assert running.client is not None
        async with running.client.post(f"{running.address}{path}", data=body, headers=headers) as reply:
            return reply.status, await reply.json()


async def test_a_form_with_a_file_is_read() -> None:
    """Lists as JSON, choices as words, bytes as they are, NUL among them."""
    form = aiohttp.FormData({"tags": '["a", "b"]', "flag": "true"})
    form.add_field("file", b"\x00" * LIMIT, filename="../../etc/passwd")

    assert await ask(form) == (200, {"bytes": LIMIT, "tags": ["a", "b"], "flag": True})


@pytest.mark.parametrize(
    ("parts", "tags"),
    [
        (["a", "b"], ["a", "b"]),
        (["a"], ["a"]),
        (['["a", "b"]'], ["a", "b"]),
        (["[a]", "[b]"], ["[a]", "[b]"]),
        ([""], []),
    ],
)
@pytest.mark.parametrize("in_parts", [True, False])
async def test_a_form_gives_a_list_in_repeats_or_as_json(
    parts: list[str], tags: list[str], in_parts: bool
) -> None:
    """As generated clients send it, and as browsers' scripts do."""
    form = aiohttp.FormData([("tags", part) for part in parts], default_to_multipart=in_parts)

    assert await ask(form) == (200, {"bytes": 0, "tags": tags, "flag": False})


async def test_what_is_no_list_is_given_once() -> None:
    """And no more parts than there may be, though one list is in all of them."""
    twice = aiohttp.FormData([("flag", "true"), ("flag", "true")], default_to_multipart=True)
    many = aiohttp.FormData([("tags", "a")] * (MOST_PARTS + 1), default_to_multipart=True)

    status, refused = await ask(twice)
    assert (status, refused["errors"][0]["message"]) == (422, "must be given once")  # type: ignore[index]
    assert (await ask(many))[0] == 422


async def test_a_member_is_what_its_name_says() -> None:
    """A text is a text though it is sent as a file, NUL characters refused; a file needs no file name."""
    part = b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'
    file = part % (b"file", b"", b"\x00\x01")

    read = await ask(
        file + part % (b"tags", b'; filename="a"', b'["a"]') + b"--x--", **{"Content-Type": PARTS}
    )
    status, refused = await ask(
        part % (b"flag", b'; filename="a"', b"true\x00") + b"--x--", **{"Content-Type": PARTS}
    )

    assert read == (200, {"bytes": 2, "tags": ["a"], "flag": False})
    assert (status, refused["errors"][0]["field"]) == (422, "flag")  # type: ignore[index]
    assert "NUL" in refused["errors"][0]["message"]  # type: ignore[index]


async def test_the_same_without_a_file_may_be_json() -> None:
    """Where a text is no file."""
    assert await ask(b'{"tags": ["a"]}', **{"Content-Type": "application/json"}) == (
        200,
        {"bytes": 0, "tags": ["a"], "flag": False},
    )
    status, refused = await ask(b'{"file": "text"}', **{"Content-Type": "application/json"})
    assert (status, refused["errors"][0]["field"]) == (422, "file")  # type: ignore[index]


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
async def test_a_file_that_must_be_there_comes_in_a_form_with_parts(kind: str) -> None:
    """Nothing else carries it."""
    form = aiohttp.FormData()
    form.add_field("file", b"sound", filename="song")

    sent, _ = await ask(form, "/record")
    status, refused = await ask(b"{}", "/record", **{"Content-Type": kind})

    assert (sent, status, refused["detail"]) == (200, 415, "unsupported_media_type")
    assert refused["message"] == "This URL accepts multipart/form-data."


async def test_a_file_that_is_too_large_is_refused() -> None:
    """By one byte."""
    form = aiohttp.FormData()
    form.add_field("file", bytes(LIMIT + 1), filename="large")

    status, refused = await ask(form)

    assert (status, refused["detail"]) == (413, "too_large")


async def test_what_is_over_a_limit_of_a_pages_form_is_left_out() -> None:
    """And the rest is read, as long as it is not too far to it: then the whole form is refused."""
    form = aiohttp.FormData({"text": "a" * (MOST_BYTES + 1)})
    form.add_field("file", bytes(LIMIT + 1), filename="large")
    form.add_field("behind", "read")

    async def endless() -> AsyncIterator[bytes]:
        yield PART.replace(b'"a"', b'"file"').rstrip() + b"\r\n\r\n"
        for _ in range(DRAINED_BYTES // CHUNK_BYTES + 1):
            yield bytes(CHUNK_BYTES)

    status, told = await ask(form, "/page")
    refused = await ask(endless(), "/page", **{"Content-Type": PARTS})

    assert (status, told["behind"], told["kept"]) == (200, "read", KEPT_BYTES)
    assert told["left_out"] == {
        "text": "This is too long for a form; only the beginning was kept.",
        "file": "This file is larger than 2,000 bytes, the limit for this field.",
    }
    assert (refused[0], refused[1]["detail"]) == (413, "too_large")


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", PARTS])
async def test_a_body_that_comes_too_slowly_is_given_up(kind: str) -> None:
    """Now and then a byte is as slow as none: 408, on every route that takes a body."""

    async def trickle() -> AsyncIterator[bytes]:
        yield PART if kind == PARTS else b'{"tags": "'
        while True:
            await asyncio.sleep(0.02)
            yield b" "

    services = {Settings: Settings(), BodyIntake: BodyIntake(patience_seconds=0.2)}
    async with asyncio.timeout(20), site.running(routes, services) as running:
        assert running.client is not None
        headers = {"Content-Type": kind}
        async with running.client.post(f"{running.address}/read", data=trickle(), headers=headers) as reply:
            refused = await reply.json()

    assert (reply.status, refused["detail"]) == (408, "request_timeout")


async def test_few_forms_with_files_of_one_client_come_at_once() -> None:
    """They are in memory while they come."""
    sent = asyncio.Event()

    async def waiting() -> AsyncIterator[bytes]:
        yield PART
        await sent.wait()
        yield b"--x--"

    async def send(running: site.Site) -> int:
        assert running.client is not None
        headers = {"Content-Type": PARTS}
        async with running.client.post(f"{running.address}/read", data=waiting(), headers=headers) as reply:
            sent.set()
            return reply.status

    async with asyncio.timeout(20), site.running(routes, {Settings: Settings()}) as running:
        statuses = await asyncio.gather(*(send(running) for _ in range(MOST_FORMS_OF_ONE + 1)))

    assert sorted(statuses) == [200] * MOST_FORMS_OF_ONE + [429]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no parts at all",
        b"--x\r\n\r\nno name\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nnever ends',
        b"--x\r\nContent-Disposition: form-data; name=a\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n",
        b'--x\r\nContent-Disposition: form-data; name="tags"\r\n\r\n[\r\n--x--\r\n',
        PART * 80 + b"--x--\r\n",
        b"--x\r\n1.79--x--",
        b'--x\r\nContent-Dispos\xf7ition: form-data; name="tags"\r\n\r\n[]\r\n--x--\r\n',
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\x07"\r\n\r\n[]\r\n--x--\r\n',
        b'--x\r\nContent-Disposition: form-data; name="tags"\r\nX: '
        + b"y" * 9000
        + b"\r\n\r\n[]\r\n--x--\r\n",
        b"--x\r\n" + b"X: y\r\n" * 200 + b"\r\n[]\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\n' + b"u" * 99 + b"\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="_charset_"\r\n\r\n\xff\r\n--x--\r\n',
    ],
)
async def test_a_malformed_form_is_refused(body: bytes) -> None:
    """422, never a failure."""
    status, refused = await ask(body, **{"Content-Type": PARTS})

    assert (status, refused["detail"]) == (422, "invalid_request")
