"""Queues access changes as jobs: for one track, or for an album and the tracks that follow its template."""

import hashlib
from collections.abc import Sequence

from readapi.errors import Conflict
from readapi.http.limits.quota import Quota
from readapi.http.request.headers import IdempotencyKey
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.index.queries import lists, tracks
from readapi.pds.repo import Author
from readapi.publishing.access.policies import Policies
from readapi.state.publishing.jobs import Job, JobRequest, JobTrack, KeyTaken
from readapi.state.state import State
from schemas.access import Viewer
from schemas.api.publishing import WantedAlbumSettings, WantedSettings
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess
from schemas.stored import Card

KEY_TAKEN = "This Idempotency-Key was used for another request; choose a new one."


class JobQueue:
    """Resolves the template when the request is made; templates saved later do not affect the job."""

    def __init__(self, state: State, policies: Policies, quota: Quota, index: Index) -> None:
        self._state = state
        self._policies = policies
        self._quota = quota
        self._index = index

    async def track(self, who: SignedIn, card: Card, sent: WantedSettings, key: IdempotencyKey) -> Job:
        """Queue a change of one track."""
        said = f"{tracks.track_uri(card)} {sent.model_dump_json()}"
        if (made := await self._made(who, key, said)) is not None:
            return made
        known = tracks.parse_card(card)
        album = known["album"] and lists.list_uri(lists.find_list(self._index, "album", known["album"]["id"]))
        asked = await self._policies.of_track(
            who, sent.settings, album or None, _access(card), has_rights=known["rights"] is not None
        )
        return await self._queued(asked, [JobTrack(AtUri.parse(known["uri"]), known["id"])], key, said)

    async def album(self, who: SignedIn, card: Card, sent: WantedAlbumSettings, key: IdempotencyKey) -> Job:
        """Queue a change of an album. Tracks with own settings keep them, unless these are replaced, too."""
        uri = lists.list_uri(card)
        said = f"{uri} {sent.model_dump_json()}"
        if (made := await self._made(who, key, said)) is not None:
            return made
        cards = [
            card for card in lists.album_tracks(self._index, card, Viewer(who.did)) if card.did == who.did
        ]
        steps = [_step(tracks.parse_card(card), sent.replace_overrides) for card in cards]
        selected = [card for card, step in zip(cards, steps, strict=True) if step.outcome == "pending"]
        asked = await self._policies.of_album(
            who,
            sent.settings,
            uri,
            [_access(card) for card in selected],
            replace_overrides=sent.replace_overrides,
            all_have_rights=all(tracks.parse_card(card)["rights"] is not None for card in selected),
        )
        return await self._queued(asked, steps, key, said)

    async def _made(self, author: Author, key: str, said: str) -> Job | None:
        """The job that was queued with this key. Raises Conflict when that was for another request."""
        if not key:
            return None
        try:
            job_id = await self._state.jobs.made_by(author.did, key, _hash(said))
        except KeyTaken:
            raise Conflict(KEY_TAKEN) from None
        return None if job_id is None else await self._state.jobs.find(job_id)

    async def _queued(self, asked: JobRequest, steps: Sequence[JobTrack], key: str, said: str) -> Job:
        try:
            async with self._quota.job(asked.did):
                job_id = await self._state.jobs.queue(asked, steps, key or None, _hash(said))
        except KeyTaken:
            raise Conflict(KEY_TAKEN) from None
        job = await self._state.jobs.find(job_id)
        assert job is not None
        return job


def _step(known: dict[str, object], replace_overrides: bool) -> JobTrack:
    keeps_its_own = known["policy_origin"] == "track" and not replace_overrides
    uri, track_id = AtUri.parse(str(known["uri"])), int(str(known["id"]))
    return JobTrack(uri, track_id, "preserved" if keeps_its_own else "pending")


def _access(card: Card) -> TemplateAccess:
    access = card.access
    return TemplateAccess(
        listening=access.listening, downloads=access.downloads, visibility=access.visibility
    )


def _hash(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()
