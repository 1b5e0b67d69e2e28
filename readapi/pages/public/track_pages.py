"""Builds a track's page, with the reason where one of its forms was refused."""

from typing import ClassVar

from readapi.answers import Answer
from readapi.audio.select import AudioSelection
from readapi.http.supporters import Supporters
from readapi.http.viewer import SignedIn
from readapi.index.lookups import Index
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors
from readapi.pages.notices import Notice
from readapi.pages.public import content, reactions, views
from readapi.pages.public.adult import shows_adult
from readapi.pages.render import Renderer
from readapi.spaces.find_track import SpaceTrackFinder
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.state import State


class TrackPages:
    """The pages of tracks, each as the viewer may see it."""

    BESIDE_STORES: ClassVar = True  # waveforms and Spaces are not in the index

    def __init__(
        self,
        renderer: Renderer,
        index: Index,
        finder: SpaceTrackFinder,
        supporters: Supporters,
        showing: ProfileVisibility,
        sources: AudioSelection,
        state: State,
    ) -> None:
        self._renderer = renderer
        self._index = index
        self._finder = finder
        self._supporters = supporters
        self._showing = showing
        self._sources = sources
        self._state = state

    async def show(
        self,
        who: SignedIn | None,
        track_id: str,
        start: int = 0,
        attempt: FormErrors = FRESH,
        note: Notice | None = None,
    ) -> Answer[str]:
        """The page, whose player begins at `start`, in seconds. Raises NotFound."""
        addresses = self._renderer.addresses
        card, viewer = await self._finder.show(track_id, who)
        (track,) = await content.load_tracks(self._supporters, [card], viewer)
        around = await reactions.load_reactions(
            self._index,
            self._supporters,
            self._showing,
            card,
            viewer,
            addresses,
            adult=await shows_adult(self._state, who),
        )
        view = {
            **views.of_track(track, card.thumb, addresses, start),
            "around": around,
            "waveform": views.draw_waveform(await self._sources.peaks(card, viewer)),
            "own_did": None if who is None else who.did,
        }
        return responses.form_page(self._renderer, "track.html", view, who, attempt, note)
