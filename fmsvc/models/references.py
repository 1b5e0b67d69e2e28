"""Identifiers that methods take: a track by its id or at-uri, an artist by DID or handle."""

from typing import TypeAlias

TrackId: TypeAlias = int
TrackUri: TypeAlias = str
TrackRef: TypeAlias = int | str
PlaylistId: TypeAlias = str
AlbumId: TypeAlias = str
ArtistDid: TypeAlias = str
ArtistHandle: TypeAlias = str
ArtistRef: TypeAlias = str
