"""Listens, as ListenBrainz shapes them (https://listenbrainz.readthedocs.io), and who is listening now."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.api.shape import Asked, DidText, Shape, Time
from schemas.api.tracks import Track

MOST_LISTENS = 100  # of one request
MOST_NAME = 500

Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
Text = Annotated[str, Field(max_length=2048)]
ListenType = Literal["single", "playing_now", "import"]


class AdditionalInfo(Asked):
    """What a scrobbler may add. `origin_url`: of the track; this service's pages name tracks of ours."""

    duration_ms: Annotated[int, Field(ge=0, lt=1 << 40)] | None = None
    duration: Annotated[float, Field(ge=0, lt=1 << 30)] | None = None
    origin_url: Text | None = None
    submission_client: Annotated[str, Field(max_length=MOST_NAME)] | None = None


class TrackMetadata(Asked):
    """What was heard."""

    artist_name: Name
    track_name: Name
    release_name: Annotated[str, Field(max_length=MOST_NAME)] | None = None
    additional_info: AdditionalInfo = AdditionalInfo()


class SubmittedListen(Asked):
    """A listen. `listened_at`: when it began, in Unix seconds; absent of what is playing now."""

    listened_at: Annotated[int, Field(ge=0, lt=1 << 40)] | None = None
    track_metadata: TrackMetadata


class SubmittedListens(Asked):
    """The body of `POST /1/submit-listens`."""

    listen_type: ListenType
    payload: Annotated[list[SubmittedListen], Field(min_length=1, max_length=MOST_LISTENS)]


class Listener(Shape):
    """An account that is listening now, and to what."""

    did: DidText
    handle: str
    started_at: Time
    track: Track


class PlayingNow(Shape):
    """Who is listening now, the latest first: accounts that chose to show it."""

    listeners: list[Listener]
