"""Listens of scrobblers -> fm.scrobbler.feed.play records of their account, and those records -> listens."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from readapi.errors import (
    InvalidRequest,
    PdsRefused,
    PdsUnavailable,
    RateLimited,
    ScopeUpgradeRequired,
)
from readapi.http.viewer import SignedIn
from readapi.oauth import scopes
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.oauth.throttle import KeyedSlots
from readapi.pds.repo import Create, Value
from readapi.pds.writing import Writing
from schemas import datetimes
from schemas.api.listens import AdditionalInfo, SubmittedListen
from schemas.collections import SCROBBLE, SCROBBLING
from schemas.ids import Did, Rkey, record_key, tid_at

MOST_READ: Final = 100
MOST_SECONDS: Final = 1 << 32  # of one play: longer ones are not believed
_MOST_BYTES: Final = 512 << 10
_TIMEOUT_SECONDS: Final = 10.0
_OF_ONE_CLIENT: Final = 2
_OF_ALL: Final = 8
_PATIENCE_SECONDS: Final = 5.0


async def write_listens(
    writing: Writing, author: SignedIn, listens: Sequence[tuple[SubmittedListen, str | None]]
) -> None:
    """Write listens to the account's repo, each with where its track is from; one that is there stays.

    Raises ScopeUpgradeRequired, and what `Pds` raises.
    """
    if not scopes.covers(author.scopes, SCROBBLING, writing.collections):
        raise ScopeUpgradeRequired(
            "Turn scrobbling on, on the settings page, and make a new developer token."
        )
    records = {_rkey(listen): _record(listen, origin) for listen, origin in listens}
    try:
        await writing.commit(author, *(Create(SCROBBLE, rkey, value) for rkey, value in records.items()))
    except (PdsRefused, PdsUnavailable, InvalidRequest):
        # One may be there, which servers tell in several ways: scrobblers repeat what had no answer.
        for rkey, value in records.items():
            await writing.edit(author, SCROBBLE, rkey, lambda found: found, absent=value)


class Turns:
    """Turns to ask other servers about accounts that clients name: few at once for one client, and in all.

    Without them, slow servers would hold the connections that sign-in and writes need.
    """

    def __init__(self) -> None:
        self._of_clients = KeyedSlots(_OF_ONE_CLIENT, _PATIENCE_SECONDS)
        self._of_all = KeyedSlots(_OF_ALL, _PATIENCE_SECONDS)

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it while the block runs. Raises RateLimited."""
        async with AsyncExitStack() as turns:
            try:
                await turns.enter_async_context(self._of_clients.at(client))
                await turns.enter_async_context(self._of_all.at("all"))
            except Unavailable as error:
                raise RateLimited("Too many listens are being read at once; try again later.") from error
            yield


async def read_listens(network: Network, did: Did, most: int) -> list[dict[str, Any]]:
    """An account's newest listens at its own server, in ListenBrainz's form. Raises Unavailable."""
    identity = await network.resolve(did)
    if identity.pds is None:
        raise Unavailable("The account has no server.")
    asked = urlencode({"repo": did, "collection": SCROBBLE, "limit": most}, quote_via=quote)
    answer = await network.send(
        "GET",
        f"{identity.pds}/xrpc/com.atproto.repo.listRecords?{asked}",
        headers={"Accept": "application/json"},
        max_bytes=_MOST_BYTES,
        timeout_seconds=_TIMEOUT_SECONDS,
    )
    if answer.status != 200:
        return []
    try:
        found = orjson.loads(answer.body)["records"]
        records = [one["value"] for one in found[:most]]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise Unavailable("The account's server answers with what makes no sense.") from error
    listens = [describe_play(record) for record in records if isinstance(record, dict)]
    return [listen for listen in listens if listen is not None]


def describe_play(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """A play record as a listen; None of a record that does not say what was heard, and when."""
    credited = value.get("artists")
    artists = [
        one.get("artistName")
        for one in (credited if isinstance(credited, list) else ())
        if isinstance(one, dict)
    ]
    names = [name for name in artists if isinstance(name, str)]
    track, at = value.get("trackName"), value.get("playedTime")
    if not isinstance(track, str) or not isinstance(at, str) or not names:
        return None
    try:
        listened_at = int(datetimes.parse_datetime(at).timestamp())
    except ValueError:
        return None
    metadata: dict[str, Any] = {"track_name": track, "artist_name": ", ".join(names), "additional_info": {}}
    if isinstance(release := value.get("releaseName"), str):
        metadata["release_name"] = release
    if type(duration := value.get("duration")) is int and 0 <= duration < MOST_SECONDS:
        metadata["additional_info"]["duration_ms"] = duration * 1000
    if isinstance(origin := value.get("originUri"), str):
        metadata["additional_info"]["origin_url"] = origin
    return {"listened_at": listened_at, "track_metadata": metadata}


def duration_seconds(info: AdditionalInfo) -> int | None:
    """The length that a scrobbler states."""
    if info.duration_ms is not None:
        return info.duration_ms // 1000
    return None if info.duration is None else int(info.duration)


def _record(listen: SubmittedListen, origin: str | None) -> Value:
    told = listen.track_metadata
    value: Value = {
        "$type": SCROBBLE,
        "trackName": told.track_name,
        "artists": [{"artistName": told.artist_name}],
        "playedTime": datetimes.render(_played_at(listen)),
        "submissionClientAgent": told.additional_info.submission_client or "fmsvc",
    }
    if told.release_name:
        value["releaseName"] = told.release_name
    if (seconds := duration_seconds(told.additional_info)) is not None:
        value["duration"] = seconds
    if origin is not None:
        value["originUri"] = origin
    return value


def _rkey(listen: SubmittedListen) -> Rkey:
    """The same for the same listen, however often it is sent."""
    told = listen.track_metadata
    return Rkey(tid_at(_played_at(listen), record_key(f"{told.artist_name}\n{told.track_name}")))


def _played_at(listen: SubmittedListen) -> datetime:
    return datetime.fromtimestamp(listen.listened_at or 0, UTC)
