"""What there is to find, in parts of some hundreds each, for search engines.

A record's part follows from the hash of its address: a part changes only with what is in it, until the
number of parts doubles.
"""

from datetime import datetime
from typing import Literal, NamedTuple, get_args

from readapi.errors import NotFound
from readapi.index.snapshots.interface import Row, Snapshots
from readapi.state.publishing.profile_visibility import ProfileVisibility

Kind = Literal["tracks", "artists", "albums", "playlists"]

PART = 500  # of a kind in one part, at most on average
MOST_PARTS = 16_384  # of each kind: with more, parts grow
PUBLIC = "select * from listed_tracks"
_ARTISTS = f"select did, max(least(created_at, indexed_at)) as since from ({PUBLIC}) group by did"

COUNTS = f"""
    select
        (select count(*) from ({PUBLIC})),
        (select count(*) from ({_ARTISTS})),
        (select count(*) from listed_lists where list_type = 'album'),
        (select count(*) from listed_lists where list_type = 'playlist')
"""
_IS_IN_PART = "(((key >> 32) & 4294967295) * $parts) >> 32 = $part"
TRACKS = f"""
    select uri, coalesce(updated_at, least(created_at, indexed_at))
    from ({PUBLIC}) where {_IS_IN_PART} order by uri
"""
ARTISTS = f"""
    select did, accounts.handle, since
    from ({_ARTISTS}) join accounts using (did)
    where hash(did) % $parts = $part order by did
"""
ALBUMS = f"""
    select did, accounts.handle, name, coalesce(updated_at, least(created_at, indexed_at))
    from listed_lists join accounts using (did)
    where list_type = 'album' and {_IS_IN_PART} order by created_at, uri
"""


PLAYLISTS = f"""
    select uri, coalesce(updated_at, least(created_at, indexed_at))
    from listed_lists where list_type = 'playlist' and {_IS_IN_PART} order by uri
"""


class TrackPlace(NamedTuple):
    """A track, and when it changed last."""

    uri: str
    changed: datetime


class ArtistPlace(NamedTuple):
    """An account with public tracks, and when the newest one came."""

    did: str
    handle: str | None
    changed: datetime


class AlbumPlace(NamedTuple):
    """An album, and when it changed last."""

    did: str
    handle: str | None
    name: str | None
    changed: datetime


class PlaylistPlace(NamedTuple):
    """A playlist, and when it changed last."""

    uri: str
    changed: datetime


async def count_parts(catalog: Snapshots) -> dict[Kind, int]:
    """How many parts each kind has: a power of two, or none."""
    (counts,), _ = await catalog.rows(COUNTS)
    return {kind: _parts(count) for kind, count in zip(get_args(Kind), counts, strict=True)}


async def find_tracks(catalog: Snapshots, part: int) -> list[TrackPlace]:
    """The public tracks of a part. Raises NotFound."""
    return [TrackPlace(*row) for row in await _rows(catalog, "tracks", TRACKS, part)]


async def find_artists(catalog: Snapshots, part: int) -> list[ArtistPlace]:
    """The accounts with public tracks of a part. Raises NotFound."""
    return [ArtistPlace(*row) for row in await _rows(catalog, "artists", ARTISTS, part)]


async def find_albums(catalog: Snapshots, part: int) -> list[AlbumPlace]:
    """The albums of a part. Raises NotFound."""
    return [AlbumPlace(*row) for row in await _rows(catalog, "albums", ALBUMS, part)]


async def find_playlists(catalog: Snapshots, showing: ProfileVisibility, part: int) -> list[PlaylistPlace]:
    """The playlists of a part that profiles show. Raises NotFound."""
    found = [PlaylistPlace(*row) for row in await _rows(catalog, "playlists", PLAYLISTS, part)]
    chosen = await showing.among([playlist.uri for playlist in found])
    return [playlist for playlist in found if chosen.get(playlist.uri, True)]


async def _rows(catalog: Snapshots, kind: Kind, sql: str, part: int) -> list[Row]:
    parts = (await count_parts(catalog))[kind]
    if not 0 <= part < parts:
        raise NotFound("There is no such part of the site map.")
    return (await catalog.rows(sql, parts=parts, part=part)).rows


def _parts(count: int) -> int:
    return min(1 << ((count - 1) // PART).bit_length(), MOST_PARTS) if count else 0
