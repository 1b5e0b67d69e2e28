"""The head of a page: what link previews, players elsewhere and search engines read."""

import pytest

from readapi.pages.public import metadata
from readapi.pages.public.player import make_player_track
from tests.readapi.pages.examples import (
    ADDRESSES,
    AUDIO,
    BASE_URL,
    COVER,
    DID,
    LIST_ID,
    SHOWN_COVER,
    album,
    artist,
    playlist,
    restricted,
    track,
)

ALBUMS, ARTISTS = (COVER[:-1] + letter for letter in "ab")  # other pictures of the same account
BELONGS = {"id": LIST_ID, "title": "Ninety Nights", "slug": "ninety-nights", "image_url": None}


def shown(url: str) -> str:
    """Where this service shows the picture at a URL."""
    return f"{BASE_URL}/img/{url.rpartition('=')[2]}/800.webp"


def test_a_track_tells_its_preview_its_player_and_its_recording():
    """OpenGraph, Twitter's player and JSON-LD agree."""
    shown = track(album=BELONGS, tags=["rain"], description="One evening.\nTape.")

    head = metadata.of_track(shown, make_player_track(shown, ADDRESSES), ADDRESSES)

    assert head.properties == (
        ("og:type", "music.song"),
        ("og:site_name", "fmsvc"),
        ("og:title", "Slow Water"),
        ("og:description", "One evening. Tape."),
        ("og:url", "https://music.example/track/821909647941949-56pg5pjx"),
        ("og:image", SHOWN_COVER),
        ("og:image:type", "image/webp"),
        ("og:image:alt", "Cover of Slow Water"),
        ("music:musician", "https://music.example/u/mara.example"),
        ("music:duration", "187"),
        ("music:album", "https://music.example/u/mara.example/album/ninety-nights"),
        ("og:audio", AUDIO),
        ("og:audio:type", "audio/mpeg"),
    )
    assert head.names == (
        ("twitter:card", "player"),
        ("twitter:title", "Slow Water"),
        ("twitter:description", "One evening. Tape."),
        ("twitter:image", SHOWN_COVER),
        ("twitter:player", "https://music.example/embed/track/821909647941949-56pg5pjx"),
        ("twitter:player:width", "400"),
        ("twitter:player:height", "165"),
    )
    assert head.json_ld == {
        "@context": "https://schema.org",
        "@type": "MusicRecording",
        "name": "Slow Water",
        "url": "https://music.example/track/821909647941949-56pg5pjx",
        "image": SHOWN_COVER,
        "description": "One evening.\nTape.",
        "identifier": f"at://{DID}/fm.svc.track/3kabcdefghijk",
        "datePublished": "2026-03-12T10:00:00Z",
        "byArtist": {
            "@type": "MusicGroup",
            "name": "Mara Lindqvist",
            "url": "https://music.example/u/mara.example",
        },
        "duration": "PT187S",
        "keywords": ["rain"],
        "inAlbum": {
            "@type": "MusicAlbum",
            "name": "Ninety Nights",
            "url": "https://music.example/u/mara.example/album/ninety-nights",
        },
        "audio": {"@type": "AudioObject", "contentUrl": AUDIO, "encodingFormat": "audio/mpeg"},
    }


@pytest.mark.parametrize(
    ("pictures", "expected"),
    [
        ({"image_url": COVER, "album": {**BELONGS, "image_url": ALBUMS}}, SHOWN_COVER),
        ({"image_url": None, "album": {**BELONGS, "image_url": ALBUMS}}, shown(ALBUMS)),
        ({"image_url": None, "album": BELONGS}, shown(ARTISTS)),
        ({"image_url": "https://elsewhere.example/cover.png", "album": None}, shown(ARTISTS)),
    ],
)
def test_a_track_without_a_picture_shows_its_albums_or_its_artists(pictures, expected):
    """In previews of the track, and of a list that has none itself; sizes are told of its own alone."""
    one = track(artist_avatar_url=ARTISTS, **pictures)
    heard = make_player_track(one, ADDRESSES)

    head = metadata.of_track(one, heard, ADDRESSES, (64, 48))
    of_list = metadata.of_album(album(image_url=None), [heard], ADDRESSES, None)

    told = dict(head.properties)
    assert (told["og:image"], dict(head.names)["twitter:image"], head.json_ld["image"]) == (expected,) * 3
    size = ("64", "48") if expected == SHOWN_COVER else (None, None)
    assert (told.get("og:image:width"), told.get("og:image:height")) == size
    assert dict(of_list.properties)["og:image"] == expected


def test_the_type_is_that_of_what_is_heard():
    """A file of ours that may not be kept is heard as a rendition."""
    heard = make_player_track(track(file_type="flac", audio_storage="managed", downloadable=False), ADDRESSES)
    kept = make_player_track(track(file_type="flac", audio_storage="managed"), ADDRESSES)
    strange = make_player_track(track(file_type="xyz"), ADDRESSES)

    assert [one.media_type for one in (heard, kept, strange)] == ["audio/mp4", "audio/flac", None]


def test_a_silent_track_tells_nobody_where_its_audio_is():
    """Neither og:audio nor an AudioObject."""
    hidden = restricted("owner", stream_url=AUDIO)

    head = metadata.of_track(hidden, make_player_track(hidden, ADDRESSES), ADDRESSES)

    assert "og:audio" not in dict(head.properties)
    assert "audio" not in head.json_ld


def test_lists_name_their_songs():
    """Albums and playlists point to each track's page, and to a player of the taller size."""
    harbour = track(8, title="Harbour", uri=f"at://{DID}/fm.svc.track/3kharbour")
    heard = [make_player_track(track(7), ADDRESSES), make_player_track(harbour, ADDRESSES)]

    heads = [
        metadata.of_album(album(), heard, ADDRESSES),
        metadata.of_playlist(playlist(track(7), track(8)), heard, ADDRESSES),
    ]

    assert [dict(head.properties)["og:type"] for head in heads] == ["music.album", "music.playlist"]
    assert [dict(head.names)["twitter:player:height"] for head in heads] == ["380", "380"]
    assert [head.description for head in heads] == [
        "An album by Mara Lindqvist, 2 tracks",
        "A playlist by Mara Lindqvist, 2 tracks",
    ]
    for head in heads:
        songs = [content for name, content in head.properties if name == "music:song"]
        assert songs == [
            "https://music.example/track/821909647941949-56pg5pjx",
            "https://music.example/track/7783222408338137-ydwt2pp6",
        ]
        assert head.json_ld["numTracks"] == 2


def test_an_artist_has_a_player_of_the_newest_tracks():
    """Whoever has no display name goes by the handle."""
    heard = make_player_track(track(), ADDRESSES)
    head = metadata.of_artist(artist(display_name=None), [heard], ADDRESSES)

    assert head.title == "mara.example"
    assert dict(head.names)["twitter:player"] == head.player == f"{BASE_URL}/embed/artist/mara.example"
    assert head.json_ld["@type"] == "MusicGroup"
    assert head.json_ld["track"] == [{"@type": "MusicRecording", "name": "Slow Water", "url": heard.page}]


def test_the_home_page_describes_the_search():
    """As search engines ask for it: https://schema.org/SearchAction."""
    head = metadata.of_home("Music", "All of it.", ADDRESSES)

    assert head.json_ld == {
        "@context": "https://schema.org",
        "@type": "WebSite",
        "name": "fmsvc",
        "url": f"{BASE_URL}/",
        "description": "All of it.",
        "potentialAction": {
            "@type": "SearchAction",
            "target": {"@type": "EntryPoint", "urlTemplate": f"{BASE_URL}/search?q={{query}}"},
            "query-input": "required name=query",
        },
    }


def test_what_is_not_public_is_not_for_search_engines():
    """An unlisted track's page works for those who have its address."""
    shown = track(visibility="unlisted", unlisted=True)

    assert metadata.of_track(track(), make_player_track(track(), ADDRESSES), ADDRESSES).indexed
    assert not metadata.of_track(shown, make_player_track(shown, ADDRESSES), ADDRESSES).indexed
