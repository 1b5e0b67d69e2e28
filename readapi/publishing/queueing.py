"""Changes of access, queued: for one track, or for an album with those of its tracks that follow it."""

import hashlib
from collections.abc import Sequence

from readapi.errors import Conflict, InvalidRequest
from readapi.pds import Author
from readapi.publishing.policies import Policies
from readapi.publishing.quota import Quota
from readapi.queries import lists, tracks
from readapi.resuming import IdempotencyKey
from readapi.search import Index
from readapi.state.jobs import Asked, Job, JobTrack, KeyTaken
from readapi.state.state import State
from readapi.viewer import SignedIn
from schemas.access import Viewer
from schemas.api.publishing import WantedAlbumSettings, WantedSettings
from schemas.ids import AtUri
from schemas.publishing import TemplateAccess
from schemas.stored import Card

KEY_TAKEN = "This Idempotency-Key stands for another request; choose a new one."
MOST_KEY_LETTERS = 255


class Queueing:
    """What is decided when somebody asks stays decided, whatever is saved until the job's turn comes."""

    def __init__(self, state: State, policies: Policies, quota: Quota, index: Index) -> None:
        self._state = state
        self._policies = policies
        self._quota = quota
        self._index = index

    async def track(self, who: SignedIn, card: Card, sent: WantedSettings, key: IdempotencyKey) -> Job:
        """One track."""
        said = f"{tracks.uri_of(card)} {sent.model_dump_json()}"
        if (made := await self._made(who, key, said)) is not None:
            return made
        known = tracks.told(card)
        album = known["album"] and lists.uri_of(lists.find(self._index, "album", known["album"]["id"]))
        asked = await self._policies.of_track(
            who, sent.settings, album or None, _access(card), has_rights=known["rights"] is not None
        )
        return await self._queued(asked, [JobTrack(AtUri.parse(known["uri"]), known["id"])], key, said)

    async def album(self, who: SignedIn, card: Card, sent: WantedAlbumSettings, key: IdempotencyKey) -> Job:
        """An album: of its tracks those that have settings of their own keep them, unless told otherwise."""
        uri = lists.uri_of(card)
        said = f"{uri} {sent.model_dump_json()}"
        if (made := await self._made(who, key, said)) is not None:
            return made
        cards = [
            card for card in lists.album_tracks(self._index, card, Viewer(who.did)) if card.did == who.did
        ]
        steps = [_step(tracks.told(card), sent.replace_overrides) for card in cards]
        selected = [card for card, step in zip(cards, steps, strict=True) if step.outcome == "pending"]
        asked = await self._policies.of_album(
            who,
            sent.settings,
            uri,
            [_access(card) for card in selected],
            replace_overrides=sent.replace_overrides,
            all_have_rights=all(tracks.told(card)["rights"] is not None for card in selected),
        )
        return await self._queued(asked, steps, key, said)

    async def _made(self, author: Author, key: str, said: str) -> Job | None:
        """The job that this key made before. Raises Conflict when it was for another request."""
        if not key:
            return None
        if len(key) > MOST_KEY_LETTERS:
            raise InvalidRequest.of_field("Idempotency-Key", f"has {MOST_KEY_LETTERS} letters at most")
        try:
            job_id = await self._state.jobs.made_by(author.did, key, _hash(said))
        except KeyTaken:
            raise Conflict(KEY_TAKEN) from None
        return None if job_id is None else await self._state.jobs.find(job_id)

    async def _queued(self, asked: Asked, steps: Sequence[JobTrack], key: str, said: str) -> Job:
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
