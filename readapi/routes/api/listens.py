"""Listens: who is listening now, and ListenBrainz's interface, by which scrobblers send what was heard.

https://listenbrainz.readthedocs.io/en/latest/users/api/core.html; `/1/` is the prefix that its clients use.
"""

from datetime import timedelta
from typing import Annotated, Any

import orjson
from pydantic import Field

from readapi.answers import Answer, render_json
from readapi.audio.select import check_listening
from readapi.errors import ApiError, InvalidRequest, NotFound, PdsDown, RateLimited
from readapi.http.endpoint import Routes
from readapi.http.limits.clients import Client
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index import present
from readapi.index.lookups import Index
from readapi.index.queries import artists, listening, tracks
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from readapi.pds.records import listens, reactions
from readapi.pds.repo import REFUSALS
from readapi.pds.writing import Writing
from readapi.state.state import State
from schemas import datetimes
from schemas.api.listens import PlayingNow, SubmittedListen, SubmittedListens
from schemas.datetimes import now
from schemas.ids import Did, Handle, is_did, is_handle
from schemas.settings import Settings
from schemas.stored import Card

routes = Routes("reactions")

MOST_LISTENING = 50
EARLY_SECONDS = 300  # that a scrobbler's clock may be ahead
LATE = timedelta(hours=1)  # a listen that began longer ago is not counted as a play
User = Annotated[str, Field(max_length=2048)]
Count = Annotated[int, Field(ge=1, le=listens.MOST_READ)]


@routes.get("/playing-now", acts=True)
async def who_is_listening(index: Index, state: State) -> Answer[PlayingNow]:
    """List who is listening to which track now: accounts that chose to show it, the latest first."""
    listeners = []
    for one in await state.playing_now.latest(MOST_LISTENING):
        if (card := listening.find_heard_track(index, one)) is None:
            continue
        track = present.join_parts(present.render_track(card, None, ()))
        told = {"did": one.did, "handle": one.handle, "started_at": datetimes.render(one.started_at)}
        listeners.append({**told, "track": orjson.Fragment(track)})
    return Answer(orjson.dumps({"listeners": listeners}))


@routes.get("/1/validate-token", described=False, acts=True)
async def validate_token(who: SignedIn | None) -> Answer[Any]:
    """Tell whether the token of the request is valid, and whose it is."""
    told: dict[str, object] = {"code": 200, "message": "Token invalid.", "valid": False}
    if who is not None:
        told |= {"message": "Token valid.", "valid": True, "user_name": who.handle}
    return Answer(render_json(told))


@routes.post("/1/submit-listens", described=False, raises=(InvalidRequest, *REFUSALS))
async def submit_listens(
    sent: SubmittedListens,
    who: SignedIn,
    client: Client,
    index: Index,
    state: State,
    settings: Settings,
    supporters: Supporters,
    writing: Writing,
) -> Answer[Any]:
    """Take what an account has heard, or is hearing: `single`, `import` or `playing_now`.

    Each becomes a record of the account, if it granted scrobbling. A `single` of a track of this service
    counts as a play of it.
    """
    if sent.listen_type == "playing_now":
        await _note_playing(sent.payload[0], who, index, state, settings)
        return Answer(render_json({"status": "ok"}))
    _check_times(sent.payload)
    if sent.listen_type == "single":
        await state.playing_now.end(who.did)
    found = [(listen, _find_own(listen, index, settings)) for listen in sent.payload]
    await listens.write_listens(writing, who, [(listen, _origin(listen, card)) for listen, card in found])
    if sent.listen_type == "single":
        for listen, card in found:
            if card is not None and (listen.listened_at or 0) >= now().timestamp() - LATE.total_seconds():
                await _count(card, who, client, state, supporters)
    return Answer(render_json({"status": "ok"}))


@routes.get("/1/user/{user}/playing-now", described=False, acts=True, raises=(NotFound, RateLimited))
async def playing_now_of(
    user: User, client: Client, index: Index, state: State, network: Network, turns: listens.Turns
) -> Answer[Any]:
    """Tell what an account that chose to show it is listening to, unless that is not public."""
    async with turns.of(client):
        did = await _account(user, index, network)
    playing = await state.playing_now.of(did)
    if playing is not None and not listening.is_told(index, playing):
        playing = None
    heard = [] if playing is None else [{"playing_now": True, "track_metadata": orjson.loads(playing.listen)}]
    return _payload(user, {"count": len(heard), "playing_now": True, "listens": heard})


@routes.get("/1/user/{user}/listens", described=False, acts=True, raises=(NotFound, PdsDown, RateLimited))
async def listens_of(
    user: User,
    client: Client,
    index: Index,
    network: Network,
    turns: listens.Turns,
    count: Count = 25,
) -> Answer[Any]:
    """Tell an account's newest scrobbles, whichever program wrote them: read from its own server."""
    async with turns.of(client):
        did = await _account(user, index, network)
        if index.takedowns.now.covers_any((did,)):
            raise NotFound
        try:
            heard = await listens.read_listens(network, did, count)
        except Unavailable as error:
            raise PdsDown(str(error)) from error
    heard.sort(key=lambda listen: -int(listen["listened_at"]))
    return _payload(user, {"count": len(heard), "listens": heard})


def _payload(user: str, told: dict[str, object]) -> Answer[Any]:
    return Answer(render_json({"payload": {**told, "user_id": user}}))


async def _account(user: str, index: Index, network: Network) -> Did:
    """The DID of a user's name: a DID or a handle. Raises NotFound."""
    if is_did(user):
        return Did(user)
    try:
        return artists.find_artist(index, user).did
    except NotFound:
        pass
    try:
        found = await network.find(Handle(user.lower())) if is_handle(user) else None
    except Unavailable:
        found = None
    if found is None:
        raise NotFound("There is no such account.")
    return Did(found)


def _check_times(payload: list[SubmittedListen]) -> None:
    latest = now().timestamp() + EARLY_SECONDS
    for listen in payload:
        if listen.listened_at is None or listen.listened_at > latest:
            raise InvalidRequest.of_field("listened_at", "must be Unix seconds, not in the future")


async def _note_playing(
    listen: SubmittedListen, who: SignedIn, index: Index, state: State, settings: Settings
) -> None:
    """Others are told of it if the account chose so; otherwise nothing is kept."""
    if not (await state.preferences.of(who.did)).show_playing:
        return
    told = listen.track_metadata
    card = _find_own(listen, index, settings)
    lasts = timedelta(seconds=listens.duration_seconds(told.additional_info) or 0)
    text = orjson.dumps(told.model_dump(exclude_none=True)).decode()
    uri = None if card is None else _origin(listen, card)
    await state.playing_now.put(who.did, who.handle, uri, text, lasts)


async def _count(card: Card, who: SignedIn, client: Client, state: State, supporters: Supporters) -> None:
    """Count a play of a track that the account may hear."""
    try:
        check_listening(card.access, await supporters.among(who.viewer, [card]))
    except ApiError:
        return
    await reactions.count_listen(state, who, client, card)


def _origin(listen: SubmittedListen, card: Card | None) -> str | None:
    """Where the track is from: its at-uri, if it is of this index."""
    if card is not None:
        return str(tracks.parse_card(card)["uri"])
    return listen.track_metadata.additional_info.origin_url


def _find_own(listen: SubmittedListen, index: Index, settings: Settings) -> Card | None:
    """The track of this index that a scrobbler names by its page or its at-uri."""
    origin = listen.track_metadata.additional_info.origin_url or ""
    name = origin.removeprefix(f"{settings.base_url}/track/")
    if name == origin and not origin.startswith("at://"):
        return None
    try:
        return tracks.find_track(index, name.partition("?")[0], None)
    except ApiError:
        return None
