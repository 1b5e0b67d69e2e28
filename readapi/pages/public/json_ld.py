"""JSON-LD of public pages, with schema.org's types, for search engines."""

from collections.abc import Sequence

from readapi.pages import text
from readapi.pages.public.player import PlayerTrack
from readapi.pages.urls import Addresses
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.tracks import Track

JsonLd = dict[str, object]
MOST_SONGS = 50


def of_track(track: Track, sound: PlayerTrack, image: str | None, addresses: Addresses) -> JsonLd:
    """A recording. The URL of its audio is included only if anyone may listen."""
    told = _thing("MusicRecording", track.title, sound.page, image, track.description)
    told["identifier"] = track.uri
    told["datePublished"] = track.created_at
    told["byArtist"] = _group(track.artist, sound.artist_page)
    if sound.seconds:
        told["duration"] = text.iso_duration(sound.seconds)
    if track.tags:
        told["keywords"] = [text.drop_unprintable(tag) for tag in track.tags]
    if track.album:
        title = text.drop_unprintable(track.album.title)
        told["inAlbum"] = {"@type": "MusicAlbum", "name": title, "url": addresses.album_of(track)}
    if sound.source:
        kind = {"encodingFormat": sound.media_type} if sound.media_type else {}
        told["audio"] = {"@type": "AudioObject", "contentUrl": sound.source, **kind}
    return told


def of_album(
    album: AlbumMetadata, page: str, artist_page: str, image: str | None, sounds: Sequence[PlayerTrack]
) -> JsonLd:
    """An album and its songs."""
    told = _thing("MusicAlbum", album.title, page, image, album.description)
    return {**told, **_songs(sounds), "byArtist": _group(album.artist, artist_page)}


def of_playlist(
    name: str, page: str, owner: str, owner_page: str, image: str | None, sounds: Sequence[PlayerTrack]
) -> JsonLd:
    """A playlist and its songs."""
    creator = {"@type": "Person", "name": text.drop_unprintable(owner), "url": owner_page}
    return {**_thing("MusicPlaylist", name, page, image), **_songs(sounds), "creator": creator}


def of_artist(
    artist: Artist, name: str, page: str, image: str | None, sounds: Sequence[PlayerTrack]
) -> JsonLd:
    """An artist, as schema.org's MusicGroup, which may be one person."""
    return {
        **_thing("MusicGroup", name, page, image, artist.bio),
        "identifier": artist.did,
        **_tracks(sounds),
    }


def of_site(name: str, description: str, home: str, search: str) -> JsonLd:
    """The home page: the site, and the template of the addresses of its searches."""
    action = {
        "@type": "SearchAction",
        "target": {"@type": "EntryPoint", "urlTemplate": f"{search}?q={{query}}"},
        "query-input": "required name=query",
    }
    return {**_thing("WebSite", name, home, None, description), "potentialAction": action}


def of_page(title: str, description: str, page: str) -> JsonLd:
    """A page that is about no record."""
    return _thing("WebPage", title, page, None, description)


def _thing(kind: str, name: str, page: str, image: str | None, description: str | None = None) -> JsonLd:
    told: JsonLd = {
        "@context": "https://schema.org",
        "@type": kind,
        "name": text.drop_unprintable(name),
        "url": page,
    }
    if image:
        told["image"] = image
    if description:
        told["description"] = text.drop_unprintable(description)
    return told


def _group(name: str, page: str) -> JsonLd:
    return {"@type": "MusicGroup", "name": text.drop_unprintable(name), "url": page}


def _songs(sounds: Sequence[PlayerTrack]) -> JsonLd:
    return {"numTracks": len(sounds), **_tracks(sounds)}


def _tracks(sounds: Sequence[PlayerTrack]) -> JsonLd:
    songs = [
        {"@type": "MusicRecording", "name": text.drop_unprintable(sound.title), "url": sound.page}
        for sound in sounds[:MOST_SONGS]
    ]
    return {"track": songs}
