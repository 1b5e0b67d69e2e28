"""No control of the Portal is dropped in silence: its change counts, or is refused with a sentence."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
import pytest_asyncio

from schemas.collections import Collections
from tests.features.pages.plain_browser import PlainBrowser
from tests.network.media import tone
from tests.network.pds import Account
from tests.network.person import Person
from tests.network.testnet import Testnet
from tests.readapi.studio import Studio

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.network]

NUMBERS = itertools.count(1)
TRACK = Collections().track
LOOKS = 150  # a tenth of a second apart, for the index to show a change
ONCE = "replace_overrides"  # is about one change of an album's tracks, and not kept
TEXTS = {
    "support_url": "https://example.com/changed",
    "isrc": "USRC17607840",
    "iswc": "T-034.524.680-1",
    "owner_did": "did:plc:abcdefghijklmnopqrstuvwx",
    "parties": "Ada; 50; 50",
    "tags": "changed",
}


@dataclass
class Form:
    """What a browser would send of a form as it stands, and what could be chosen instead."""

    action: str
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)  # other values that can be chosen
    texts: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)

    def changes(self) -> list[tuple[str, str | None]]:
        """Each control with another value; None: a box that is not ticked any more."""
        texts = [(name, TEXTS.get(name, f"Changed {name}")) for name in self.texts]
        chosen = [(name, value) for name, values in self.choices.items() for value in values]
        boxes = [(name, None if name in self.values else "on") for name in self.boxes]
        return [*texts, *chosen, *boxes]


class Forms(HTMLParser):
    """The forms of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._area: str | None = None
        self._select: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        told = dict(attrs)
        name, value = told.get("name") or "", told.get("value") or ""
        if tag == "form":
            self.found.append(Form(told["action"]))
        elif tag == "input" and name:
            self._input(self.found[-1], told, name, value)
        elif tag == "textarea" and name:
            self._area = name
            self.found[-1].texts.append(name)
            self.found[-1].values[name] = ""
        elif tag == "select":
            self._select = name
            self.found[-1].choices[name] = []
        elif tag == "option" and self._select is not None:
            self._choice(self.found[-1], self._select, value, "selected" in told)

    def _input(self, form: Form, told: dict[str, Any], name: str, value: str) -> None:
        match told.get("type", "text"):
            case "radio" if "disabled" not in told:
                self._choice(form, name, value, "checked" in told)
            case "checkbox":
                form.boxes.append(name)
                if "checked" in told:
                    form.values[name] = "on"
            case "hidden":
                form.values[name] = value
            case "text" | "url":
                form.values[name] = value
                form.texts.append(name)

    @staticmethod
    def _choice(form: Form, name: str, value: str, is_chosen: bool) -> None:
        if is_chosen:
            form.values[name] = value
        else:
            form.choices.setdefault(name, []).append(value)

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.found[-1].values[self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        self._area = None if tag == "textarea" else self._area
        self._select = None if tag == "select" else self._select


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def plain(shared_net: Testnet, studio: Studio) -> AsyncIterator[PlainBrowser]:
    """An artist at a browser that shows nothing."""
    person = Person(await shared_net.pds[0].create_account(f"controls-{next(NUMBERS)}.test"))
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        browser = await PlainBrowser(person, studio.door.address, client).signed_in()
        await browser.led("/portal/profile", display_name="Controlled", bio="Bio")
        yield browser


async def form_of(plain: PlainBrowser, page: str, action: str) -> Form:
    return next(form for form in Forms(await plain.text(page)).found if form.action == action)


async def silent(plain: PlainBrowser, page: str, action: str) -> list[tuple[str, str | None]]:
    """The changes that were neither shown afterwards nor refused with a sentence at a field."""
    dropped = []
    for name, value in (await form_of(plain, page, action)).changes():
        if name == ONCE:
            continue
        before = await form_of(plain, page, action)
        sent = {**before.values, name: value}
        members = {field: text for field, text in sent.items() if text is not None}
        async with plain.post(action, **members) as answer:
            body, status = await answer.text(), answer.status
            led = answer.headers.get("Location", "")
        if status == 303 and "/jobs/" in led:
            assert await plain.shows(led, "changed"), (name, value)
        is_told = status in (409, 422) and 'class="error"' in body
        if not is_told and not (status == 303 and await shown(plain, page, action, name, value)):
            dropped.append((name, value))
    return dropped


async def shown(plain: PlainBrowser, page: str, action: str, name: str, value: str | None) -> bool:
    """Does the form hold the change by now, or soon?"""
    for _ in range(LOOKS):
        if (await form_of(plain, page, action)).values.get(name) == value:
            return True
        await asyncio.sleep(0.1)
    return False


async def test_each_control_of_the_portals_defaults_and_profile_counts(plain: PlainBrowser) -> None:
    """The profile, the Portal template and rights metadata."""
    assert await silent(plain, "/portal/profile", "/portal/profile") == []
    for action in ("/portal/rights", "/portal/template"):
        assert await silent(plain, "/portal/defaults", action) == [], action


async def test_each_control_of_an_albums_page_counts(plain: PlainBrowser) -> None:
    """What is told of it, and its template; that box about its tracks is of one change and not kept."""
    album = (await plain.sent("/portal/albums", title="Controls", description="Told")).partition("?")[0]
    assert await plain.shows(album, "Controls")

    assert await silent(plain, album, album) == []
    assert await silent(plain, album, f"{album}/publishing") == []


@pytest.mark.slow
async def test_each_control_of_a_tracks_page_counts(plain: PlainBrowser) -> None:
    """What is told of it, its album, and who may listen."""
    album = await plain.sent("/portal/albums", title="A Shelf")
    assert await plain.shows(album, "A Shelf")
    upload = await plain.sent("/portal/uploads", file=tone(1, 330), title="Controlled Song", image=b"")
    assert await plain.shows(upload, "Manage the track")
    [track] = re.findall(r"/portal/tracks/\d+", await plain.text(upload))
    TEXTS["features"] = plain.person.account.handle

    assert await silent(plain, track, track) == []
    assert await silent(plain, track, f"{track}/publishing") == []


async def test_saving_a_track_leaves_what_its_form_cannot_hold(plain: PlainBrowser) -> None:
    """Another program's tag with a comma, and its name of an album without a list, stay until edited."""
    account = plain.person.account
    told = {"album": "Unlisted Album", "tags": ["drum, bass", "dub"], "description": "One\n\nTwo"}
    required = {"artist": "Controlled", "fileType": "mp3", "createdAt": "2026-01-02T03:04:05.000Z"}
    record = {"$type": TRACK, "title": "Foreign", **required, **told}
    ref = await account.create_record(TRACK, record)
    by_uri = f"/tracks/by-uri?uri={quote(ref.uri, safe='')}"
    assert await plain.shows(by_uri, "Foreign")
    page = f"/portal/tracks/{(await plain.json(by_uri))['id']}"

    form = await form_of(plain, page, page)
    refused, body = await plain.refused(page, **{**form.values, "title": ""})
    [again] = [one for one in Forms(body).found if one.action == page]
    await plain.sent(page, **{**again.values, "title": "Renamed"})
    renamed = await record_of(account, ref.uri)
    assert await plain.shows(page, "Renamed")
    await plain.sent(page, **{**(await form_of(plain, page, page)).values, "tags": "dub"})

    assert form.values["tags"] == "drum, bass, dub"
    assert refused == 422
    assert renamed == record | {"title": "Renamed"}
    assert await record_of(account, ref.uri) == renamed | {"tags": ["dub"]}


async def record_of(account: Account, uri: str) -> dict[str, Any]:
    """A record as its account's own server has it, without the instant of its last change."""
    did, collection, rkey = uri.removeprefix("at://").split("/")
    where = {"repo": did, "collection": collection, "rkey": rkey}
    value = (await account.pds.get("com.atproto.repo.getRecord", account.login, **where))["value"]
    return {name: one for name, one in value.items() if name != "updatedAt"}
