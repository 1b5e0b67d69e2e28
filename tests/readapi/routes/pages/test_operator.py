"""The operator's own texts, the contact, and where they are told of."""

from datetime import timedelta
from pathlib import Path

import pytest

from readapi.oauth.metadata import ClientMetadata
from readapi.pages.public.operator import OperatorTexts
from readapi.pages.urls import Addresses
from schemas import datetimes
from schemas.settings import Settings, SettingsError
from tests.readapi.music import Music, playing

in_module = pytest.mark.asyncio(loop_scope="module")

BROWSER = {"Accept": "text/html"}
TERMS = (
    "# Terms <b>of use</b>\nBe kind.\n\nQuestions? See https://music.example/help or write.\r\n\r\nThe end."
)


@in_module
async def test_without_texts_there_is_a_page_about_the_service_alone(music: Music) -> None:
    """It is linked from every page; the others and security.txt are not there."""
    about = await music.get("/about", **BROWSER)
    home = (await music.get("/", **BROWSER)).json

    assert "belong to their authors" in about.json
    assert '<a href="/about">About</a>' in home
    assert '<a href="/terms">' not in home
    for path in ("/terms", "/privacy", "/.well-known/security.txt"):
        assert (await music.get(path, **BROWSER)).status == 404, path


@in_module
async def test_texts_of_the_operator_are_pages(tmp_path: Path) -> None:
    """As text: markup is shown as it is written, and addresses become links."""
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "terms.txt").write_text(TERMS)
    (texts / "about.txt").write_text("Run by Tide Records.")
    given = {"texts_dir": texts, "contact": "abuse@music.example"}
    async with playing(tmp_path / "data", **given) as music:
        terms = (await music.get("/terms", **BROWSER)).json
        about = (await music.get("/about", **BROWSER)).json
        privacy = (await music.get("/privacy", **BROWSER)).status
        security = await music.get("/.well-known/security.txt")
        home = (await music.get("/", **BROWSER)).json

    assert "<h2>Terms &lt;b&gt;of use&lt;/b&gt;</h2>" in terms
    assert '<a href="https://music.example/help" rel="nofollow' in terms
    assert "Run by Tide Records." in about
    assert '<a href="mailto:abuse@music.example">abuse@music.example</a>' in about
    assert privacy == 404
    assert '<a href="/terms">Terms</a>' in home
    lines = dict(line.split(": ", 1) for line in security.json.splitlines())
    assert security.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert lines["Contact"] == "mailto:abuse@music.example"
    assert lines["Canonical"] == f"{music.address}/.well-known/security.txt"
    left = datetimes.parse_datetime(lines["Expires"]) - datetimes.this_minute()
    assert timedelta(days=28) < left < timedelta(days=365)


def test_the_sign_in_client_names_them(tmp_path: Path) -> None:
    """The members of RFC 7591, where servers can fetch the document."""
    (tmp_path / "privacy.txt").write_text("We keep little.")
    settings = Settings(data_dir=tmp_path, texts_dir=tmp_path, public_url="https://music.example")
    document = ClientMetadata.of(settings).document()

    assert document["policy_uri"] == "https://music.example/privacy"
    assert "tos_uri" not in document
    assert "policy_uri" not in ClientMetadata.of(Settings(data_dir=tmp_path, texts_dir=tmp_path)).document()


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"x" * (256 * 1024 + 1)])
def test_a_text_that_cannot_be_shown_stops_the_start_with_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "terms.txt").write_bytes(content)
    with pytest.raises(SettingsError, match=r"FMSVC_TEXTS_DIR: .*terms\.txt"):
        OperatorTexts(Settings(data_dir=tmp_path, texts_dir=tmp_path))


@pytest.mark.parametrize("contact", ["nobody", "mailto:a@b.c", "http://a.example", "a b@c.de", "a@b\nc.de"])
def test_a_contact_is_an_address(contact: str) -> None:
    with pytest.raises(SettingsError):
        Settings.from_environment({"FMSVC_CONTACT": contact})


def test_a_page_may_be_the_contact() -> None:
    texts = OperatorTexts(Settings(contact="https://music.example/contact"))
    told = texts.security_txt(Addresses("https://music.example"), datetimes.this_minute())
    assert told is not None
    assert "Contact: https://music.example/contact\n" in told
