"""Templates: whatever strangers write, the page keeps its structure and runs nothing of theirs."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import orjson
import pytest

from readapi.index.lookups import Index
from readapi.index.queries.tags import UsedTag
from readapi.index.search.execute import Found, Search
from readapi.index.search.parameters import KINDS
from readapi.index.search.query import QueryWords
from readapi.pages import form_errors, text
from readapi.pages.assets import Assets
from readapi.pages.notices import Notice
from readapi.pages.portal import account_views
from readapi.pages.portal.numbers import Total
from readapi.pages.portal.permissions import Permissions
from readapi.pages.portal.views import (
    PortalLists,
    Publisher,
    Work,
    of_album,
    of_albums,
    of_defaults,
    of_front,
    of_job,
    of_profile,
    of_track,
    of_upload,
)
from readapi.pages.public import browsing_views, library_views, metadata
from readapi.pages.public.browsing import Home
from readapi.pages.public.found import of_found
from readapi.pages.public.look import Look
from readapi.pages.public.player import PlayerTrack, iframe_html, make_player_track
from readapi.pages.public.reactions import Reactions
from readapi.pages.render import Renderer
from readapi.pds.signing_in import TokenMade
from readapi.state.publishing.jobs import Job, JobRequest, JobTrack
from readapi.state.publishing.preferences import Preferences
from readapi.state.publishing.uploads import Audio, Upload, Wanted
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.sign_in.linked_accounts import LinkedAccount
from readapi.state.sign_in.sessions import Session
from schemas.api.comments import Comment
from schemas.api.tags import TagHead
from schemas.api.tracks import Liker
from schemas.api.webhooks import Webhook
from schemas.collections import Collections
from schemas.ids import AtUri, Did
from schemas.publishing import DEFAULT
from schemas.rights import Owner, Party, Rights
from tests.readapi.pages.examples import (
    ADDRESSES,
    AUDIO,
    COVER_CID,
    DID,
    HOSTILE,
    LIST_ID,
    album,
    artist,
    playlist,
    restricted,
    track,
)

RENDERER = Renderer(ADDRESSES, Assets())
TRACK = AtUri.parse(f"at://{DID}/fm.svc.track/3kabcdefghijk")
LATER = datetime(2026, 5, 3, tzinfo=UTC)
TYPED = {  # the fields of the forms of the settings
    "account": ("handle",),
    "token": ("name", "expires_in_days"),
    "webhook": ("url", "token_id", "wanted_collections", "artists", "tags", "cards"),
}
FEATURE = {"did": DID, "handle": "handle.invalid", "avatar_url": None}


class Structure(HTMLParser):
    """The elements of a page in order, its attributes by name, and the text of its scripts."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "mark":  # as many as there are words of a search
            self.elements.append(tag)
        self.attributes.extend((name, value or "") for name, value in attrs)

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1] == "script" and data.strip():
            self.scripts.append(data)


def song(**changes: Any) -> dict[str, Any]:
    """What a track's page is rendered from."""
    shown = track(**changes)
    heard = make_player_track(shown, ADDRESSES)
    head = metadata.of_track(shown, heard, ADDRESSES)
    embed = iframe_html(ADDRESSES.track_player(shown.uri), shown.title, 400, 165)
    sign_in = ADDRESSES.sign_in(shown.title)
    return {
        "head": head, "sound": heard, "track": shown, "embed_html": embed, "sign_in": sign_in, "start": 0,
        "around": reactions(shown.title), "waveform": "M0 40v-9",
        "own_did": DID, "look": Look("dark", "0af"),
        "notice": None, "download": heard.source, "embed_sizes": [("Normal", (400, 165))],
        "attempt": refused("comment-1", text=shown.title),
    }  # fmt: skip


def refused(form: str, **values: str) -> form_errors.FormErrors:
    """A form that was refused, with what was typed, and an error with it at each field and in the note."""
    told = Notice(next(iter(values.values())), is_bad=True)
    return form_errors.FormErrors(form, values, values, told)


def reactions(text: str) -> Reactions:
    """What strangers have written about a track."""
    said = {
        "id": 1, "uri": f"at://{DID}/fm.svc.comment/3kabcdefghijk", "user_did": DID, "user_handle": text,
        "user_display_name": text, "user_avatar_url": None, "text": text, "timestamp_ms": 67_000,
        "created_at": "2026-05-03T00:00:00Z", "updated_at": None, "labels": [text], "label_details": [],
    }  # fmt: skip
    liker = {"did": DID, "handle": text, "display_name": text, "avatar_url": None}
    return Reactions(
        [Comment.model_validate(said)],
        [Liker.model_validate({**liker, "liked_at": "2026-05-03T00:00:00Z"})],
        [make_player_track(track(title=text), ADDRESSES)],
        [playlist(name=text)],
        "https://support.example",
        is_liked=False,
        is_open=True,
    )


def lists(text: str) -> dict[str, dict[str, Any]]:
    """What the pages that list and find music are rendered from."""
    tag, heard = UsedTag(name=text, track_count=2, total_plays=3), [track(title=text, artist=text)]
    return {
        "home.html": browsing_views.of_home(Home(heard, heard, [tag], None), ADDRESSES),
        "browse.html": browsing_views.of_tag(TagHead(name=text, track_count=2), heard, None, None, ADDRESSES),
        "tags.html": browsing_views.of_tags([tag], text, ADDRESSES),
        "search.html": found(text),
        "playlists.html": {
            **library_views.of_playlists([playlist(name=text)], None, ADDRESSES),
            "attempt": refused("playlist", name=text),
        },
        "playlist_edit.html": {
            **library_views.of_playlist(playlist(name=text), heard * 2, heard, ADDRESSES),
            "attempt": refused("playlist", name=text),
        },
    }


def found(text: str) -> dict[str, Any]:
    """What the page of a search for this text is rendered from, with a result of each kind."""
    artist_of = {"artist_handle": "a.example", "artist_display_name": text}
    owner_of = {"owner_handle": "a.example", "owner_display_name": text, "track_count": 2}
    results = (
        {"type": "track", "id": 1, "title": text, **artist_of},
        {"type": "artist", "did": DID, "handle": "a.example", "display_name": text},
        {"type": "album", "id": LIST_ID, "title": text, "slug": text, **artist_of},
        {"type": "playlist", "id": LIST_ID, "name": text, **owner_of},
        {"type": "tag", "id": 2, "name": text, "track_count": 2},
    )
    of_each = dict.fromkeys(KINDS.values(), 1)
    rendered = [orjson.dumps(result) for result in results]
    hits = Found(QueryWords.read(text), rendered, of_each, None, is_exact=True)
    unused = Index.__new__(Index)  # asked only about artists without a handle
    return of_found(Search(text, tag=text), hits, None, None, unused, ADDRESSES)


def collection(text: str, heard: list[PlayerTrack]) -> dict[str, Any]:
    """What an album's page is rendered from."""
    head = metadata.of_album(album(title=text, description=text, artist=text), heard, ADDRESSES)
    return {
        "head": head, "kind": "Album", "title": text, "description": text, "seconds": 187,
        "picture": COVER_CID, "labels": [text], "notice": text,
        "archive": "https://x", "kept": 1, "embed_sizes": [("Normal", (400, 380))],
        "owner": text, "owner_page": ADDRESSES.artist("mara.example", DID),
        "sounds": heard, "first": heard[0] if heard else None,
        "created_at": "2026-03-12T10:00:00Z", "embed_html": iframe_html("https://x", text, 1, 1),
        "sign_in": ADDRESSES.sign_in(text), "look": Look(), "start": 0,
    }  # fmt: skip


def person(text: str, heard: list[PlayerTrack]) -> dict[str, Any]:
    """What an artist's page is rendered from."""
    shown = artist(display_name=text, bio=text, labels=[text])
    head = metadata.of_artist(shown, heard, ADDRESSES)
    made = {
        "embed_html": iframe_html("https://x", text, 1, 1),
        "artist": shown,
        "embed_sizes": [("Normal", (400, 380))],
        "notice": text,
        "sign_in": ADDRESSES.sign_in(text),
        "albums": [album(title=text)],
        "playlists": [playlist(name=text)],
        "likes": [track(title=text, artist=text)],
    }
    return {"head": head, "sounds": heard, "first": heard[0], "older": f"?cursor={text}", **made}


def settings(text: str, form: str) -> dict[str, Any]:
    """What the settings are rendered from, with this form refused."""
    session = Session(b"", text, text, "grant", frozenset({text}), LATER, text)  # type: ignore[arg-type]
    accounts = [LinkedAccount(text, text, "grant", active) for active in (True, False)]  # type: ignore[arg-type]
    permissions = Permissions.of(frozenset({text}), Collections())
    token = DeveloperToken(text, text, text, text, text, "grant", frozenset(), LATER, LATER, LATER, text)  # type: ignore[arg-type]
    valid = replace(token, id="2", ended_because=None)
    webhook = Webhook.model_construct(
        id="1", url=text, token_id=text, state="paused", delivered_at=text, paused_because=text
    )
    return account_views.of_settings(
        session,
        accounts,
        permissions,
        Preferences(),
        [token, valid],
        {text: text},
        [webhook],
        attempt=refused(form, **dict.fromkeys(TYPED[form], text)),
    )


def upload(text: str) -> Upload:
    """An upload that has failed."""
    audio = Audio("0" * 64, 9, "wav", "audio/wav", 1)
    whose = ("1", DID, "grant", "publish", TRACK, Wanted(audio))
    return Upload(*whose, "failed", "received", 0, text, None, 1, LATER)  # type: ignore[arg-type]


def job(text: str) -> Job:
    """A change that has failed."""
    asked = JobRequest(Did(DID), "grant", DEFAULT, "track")  # type: ignore[arg-type]
    return Job("1", asked, "failed", text, LATER, LATER, (JobTrack(TRACK, 7, "failed", "conflict", text),))


def rights(text: str) -> Rights:
    """All that they can say, and more."""
    told = {"name": text, "did": text, "ipi": text, "role": text, "society": text}
    party = Party.model_construct(mechanical_share=1, performance_share=2, **told)
    owner = Owner.model_construct(name=text, did=text)
    return Rights.model_construct(isrc=text, iswc=text, master_owner=owner, parties=(party,))


def portal(text: str) -> dict[str, dict[str, Any]]:
    """What the pages of the Portal are rendered from."""
    session = Session(b"", text, text, "grant", frozenset(), LATER, None)  # type: ignore[arg-type]
    permissions = Permissions.of(frozenset({text}), Collections())
    who = Publisher(session, artist(display_name=text, bio=text), permissions, {"supporters": text})
    shown = track(title=text, description=text, tags=[text], features=[FEATURE | {"display_name": text}])
    shown = shown.model_copy(update={"rights": rights(text)})
    belongs = album(title=text, description=text)
    works = [Work(text, "/portal/uploads/1", text, has_failed=True)]
    shelf = PortalLists([shown], "/portal?cursor=x", [belongs], {}, works)
    forms = {
        form: form_errors.FormErrors(
            form, {"title": text, "owner": text}, {"title": text, "recordings 0": text}
        )
        for form in ("upload", "details", "album", "rights", "profile", "uploads")
    }
    return {
        "portal.html": of_front(who, shelf, Preferences(rights=rights(text)), None, forms["upload"]),
        "portal_albums.html": of_albums(who, [belongs], None, forms["album"]),
        "portal_defaults.html": of_defaults(who, Preferences(rights=rights(text)), None, forms["rights"]),
        "portal_profile.html": of_profile(who, None, forms["profile"], shows_likes=True),
        "portal_numbers.html": {
            "section": "numbers",
            "note": None,
            "track": None,
            "older": "?cursor=x",
            "charts": [],
            "totals": [Total(7, text, 1, 2, 3)],
            "as_of": None,
        },
        "portal_track.html": {
            **of_track(who, shown, [belongs], [], None, forms["details"], ADDRESSES),
            "charts": [],
        },
        "portal_album.html": of_album(who, belongs, [shown], None, None, works, None, forms["uploads"]),
        "portal_upload.html": of_upload(upload(text), None, None),
        "portal_job.html": of_job(job(text), {7: text}, None),
    }


def pages(text: str) -> dict[str, bytes]:
    """Every page there is, with one text in every place that strangers can fill."""
    label = {"labels": [text], "tags": [text], "description": text, "title": text, "artist": text}
    belongs = {"id": LIST_ID, "title": text, "slug": text, "image_url": None}
    shown = song(**label, features=[FEATURE | {"display_name": text}], album=belongs)
    heard = [shown["sound"], make_player_track(restricted("supporters", title=text, artist=text), ADDRESSES)]
    return {
        "embed_track.html": RENDERER.page("embed_track.html", **shown),
        "track.html": RENDERER.page("track.html", **shown),
        "embed_list.html": RENDERER.page("embed_list.html", **collection(text, heard)),
        "list.html": RENDERER.page("list.html", **collection(text, heard)),
        "artist.html": RENDERER.page("artist.html", **person(text, heard)),
        "embed_gone.html": RENDERER.page(
            "embed_gone.html", message=text, errors=[{"field": text, "message": text}]
        ),
        "error.html": RENDERER.page(
            "error.html", status=404, detail="not_found", message=text, errors=[], form_on="/track/1"
        ),
        "onward.html": RENDERER.page("onward.html", address=f"https://pds.example/?request={text}"),
        "login.html": RENDERER.page(
            "login.html", **account_views.of_login("portal", None, refused("sign-in", handle=text))
        ),
        **{
            f"settings.html, {form} refused": RENDERER.page("settings.html", **settings(text, form))
            for form in TYPED
        },
        "arrived.html": RENDERER.page("arrived.html", **account_views.of_arrival(text)),
        "start.html": RENDERER.page("start.html", **account_views.of_start(text, "handle")),
        "token.html": RENDERER.page("token.html", **account_views.of_token(TokenMade(text, text, LATER))),
        **{template: RENDERER.page(template, **view) for template, view in portal(text).items()},
        **{template: RENDERER.page(template, **view) for template, view in lists(text).items()},
    }


PLAIN = {name: Structure(page).elements for name, page in pages("plain").items()}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_changes_no_page(hostile):
    """The elements are those of a page about `plain`; no handler, no style, no script comes in."""
    for name, page in pages(hostile).items():
        structure = Structure(page)
        assert structure.elements == PLAIN[name], name
        assert not [found for found, _ in structure.attributes if found.startswith("on") or found == "style"]
        assert not set(page.decode()) & set("\0\x07\x1b\x7f\x85")


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_the_only_inline_script_is_json_that_says_what_the_page_says(hostile):
    """JSON-LD survives whatever the title holds."""
    page = RENDERER.page("track.html", **song(title=hostile))

    (script,) = Structure(page).scripts
    assert json.loads(script)["@type"] == "MusicRecording"
    assert b"</script>" not in page.split(b"ld+json", 1)[1].split(b"</script>", 1)[0]


def test_links_lead_to_web_addresses_only():
    """A support link of another scheme is left out."""
    shown = person("Mara", [make_player_track(track(), ADDRESSES)])
    shown["artist"] = artist(support_url="javascript:alert(1)", avatar_url="data:text/html,x")

    assert b"javascript:" not in RENDERER.page("artist.html", **shown)
    assert b"data:text" not in RENDERER.page("artist.html", **shown)


@pytest.mark.parametrize("template", ["embed_track.html", "track.html"])
def test_a_silent_track_has_its_sentence_and_no_player(template):
    """Nowhere on the page is the audio's address."""
    hidden = restricted("supporters", stream_url=AUDIO)
    heard = make_player_track(hidden, ADDRESSES)
    head = metadata.of_track(hidden, heard, ADDRESSES)

    view = {
        **song(),
        "head": head,
        "sound": heard,
        "track": hidden,
        "embed_html": "",
        "sign_in": None,
        "download": None,
    }
    page = RENDERER.page(template, **view).decode()

    assert "Only supporters of Mara Lindqvist can listen." in page
    assert "<audio" not in page
    assert "bafkaudio" not in page


def test_an_empty_list_says_so():
    """There is nothing to play, and no player."""
    page = RENDERER.page("embed_list.html", **collection("Empty", [])).decode()

    assert "There are no tracks here yet." in page
    assert "<audio" not in page


def test_unlisted_pages_ask_not_to_be_indexed():
    """Public ones do not; players never want to be found."""
    noindex = b'<meta name="robots" content="noindex">'
    public = song()
    unlisted = {**public, "head": replace(public["head"], indexed=False)}

    assert noindex not in RENDERER.page("track.html", **public)
    assert noindex in RENDERER.page("track.html", **unlisted)
    assert noindex in RENDERER.page("embed_track.html", **public)


def test_pages_show_what_labels_say():
    """Of a track, its comments, a list and an artist."""
    shown = {
        name: page.decode().count('<span class="label">spoken</span>')
        for name, page in pages("spoken").items()
        if name in ("track.html", "list.html", "artist.html")
    }

    assert shown == {"track.html": 2, "list.html": 1, "artist.html": 1}


def test_pages_load_nothing_but_our_files_and_the_records_own():
    """Every address that a browser would fetch by itself is under /static/ or the record's."""
    for name, page in pages("plain").items():
        structure = Structure(page)
        fetched = {value for found, value in structure.attributes if found == "src"}
        ours = {AUDIO, ADDRESSES.picture(COVER_CID, 300), ADDRESSES.page("/tracks/1/stream")}
        assert {address for address in fetched if not address.startswith("/static/")} <= ours, name


def test_what_pages_drop_is_never_printable():
    """So texts that are printable throughout need no second look."""
    dropped = [letter for letter in map(chr, range(0x110000)) if not text.drop_unprintable(letter)]

    assert "\x00" in dropped
    assert not [letter for letter in dropped if letter.isprintable()]
