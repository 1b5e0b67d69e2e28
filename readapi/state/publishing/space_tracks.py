"""Addresses of tracks in private Spaces, by their public ids. The records themselves are not stored."""

from sqlalchemy import delete, exists, select

from readapi.state.db.database import Database
from readapi.state.db.tables import space_tracks
from schemas import spaces
from schemas.ids import AtUri, Did, record_id
from schemas.spaces import InSpace


class SpaceTracks:
    """The tracks that this service published into Spaces; it does not learn of others."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, track: InSpace) -> None:
        """Store a track's address. Idempotent."""
        row = {"id": record_id(str(track)), "did": track.did, "uri": str(track)}
        async with self._database.writing() as connection:
            await connection.execute(self._database.upsert(space_tracks, row))

    async def find(self, track_id: int) -> AtUri | None:
        """The address of the track with an id, if known."""
        found = select(space_tracks.c.uri).where(space_tracks.c.id == track_id)
        async with self._database.reading() as connection:
            uri = (await connection.execute(found)).scalar_one_or_none()
        return None if uri is None else spaces.parse_address(uri)

    async def any_of(self, did: Did) -> bool:
        """Has the account published any track into a Space?"""
        having = exists().where(space_tracks.c.did == did)
        async with self._database.reading() as connection:
            return bool((await connection.execute(select(having))).scalar_one())

    async def remove(self, track: InSpace) -> None:
        """Delete a track's address."""
        async with self._database.writing() as connection:
            await connection.execute(delete(space_tracks).where(space_tracks.c.uri == str(track)))
