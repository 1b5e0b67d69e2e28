"""What feeds and playlist files are made of: the subject, and its public tracks as everybody may see them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from readapi.pages import text
from readapi.pages.public.player import choose_picture_url, make_player_track
from readapi.pages.urls import Addresses
from schemas.api.tracks import Track


@dataclass(frozen=True, slots=True)
class Channel:
    """The subject of a feed. `path`: of the feed, without the form; `page`: of the page about the same.

    `language`: of the title and the description, where it is known.
    """

    title: str
    description: str
    path: str
    page: str
    author: str
    picture: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A track in a feed. `audio`, and what is known of it, only where everybody may listen."""

    uri: str
    title: str
    artist: str
    artist_page: str
    album: str | None
    page: str
    description: str
    published: datetime
    tags: list[str]
    is_explicit: bool
    seconds: int | None
    picture: str | None
    audio: str | None
    media_type: str | None
    audio_bytes: int | None


def read_items(
    tracks: Iterable[Track], addresses: Addresses, sizes: Mapping[tuple[str, str], int]
) -> list[Item]:
    """The tracks that everybody may find, as an anonymous viewer got them.

    `sizes`: the bytes of originals, by track and file id, where they are known.
    """
    return [
        _item(track, addresses, sizes.get((track.uri, track.file_id)) if track.downloadable else None)
        for track in tracks
        if track.visibility == "public"
    ]


def _item(track: Track, addresses: Addresses, original_bytes: int | None) -> Item:
    sound = make_player_track(track, addresses)
    published = min(_instant(track.created_at), _instant(track.indexed_at))
    return Item(
        uri=track.uri,
        title=text.one_line(track.title),
        artist=text.one_line(track.artist),
        artist_page=sound.artist_page,
        album=text.one_line(track.album.title) if track.album else None,
        page=sound.page,
        description=text.drop_unprintable(track.description or f"A track by {track.artist}"),
        published=published,
        tags=[text.one_line(tag) for tag in track.tags],
        is_explicit="explicit" in track.labels,
        seconds=track.duration,
        picture=_address(choose_picture_url(track)),
        audio=_address(sound.source),
        media_type=sound.media_type,
        audio_bytes=original_bytes if sound.source else None,
    )


def _address(found: str | None) -> str | None:
    return None if found is None else text.drop_unprintable(found)


def _instant(told: str) -> datetime:
    return datetime.fromisoformat(told).astimezone(UTC)
