"""Builds the Portal's pages for an artist from the index and the state database."""

from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from readapi.answers import Answer
from readapi.errors import NotFound
from readapi.http.viewer import InSession
from readapi.index import cursors, present
from readapi.index.lookups import Index
from readapi.index.queries import library, lists, tracks
from readapi.index.snapshots.interface import SeriesFiles
from readapi.pages import responses
from readapi.pages.form_errors import FRESH, FormErrors
from readapi.pages.notices import Notice
from readapi.pages.portal import views, weeks
from readapi.pages.portal.permissions import Permissions
from readapi.pages.portal.views import PortalLists, Publisher, View, Work
from readapi.pages.render import Renderer
from readapi.pds.records import profiles
from readapi.publishing.access.capabilities import Capabilities
from readapi.state.db.claims import UNFINISHED
from readapi.state.publishing.jobs import Job
from readapi.state.publishing.profile_visibility import ProfileVisibility
from readapi.state.publishing.uploads import Upload
from readapi.state.state import State
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.tracks import Track
from schemas.ids import AtUri
from schemas.settings import Settings
from schemas.stored import Card

MOST_TRACKS = 50  # on one page
MOST_ALBUMS = 200
MOST_WORKS = 10
MOST_OF_ALBUM = 100  # uploads that are looked through for those of one album

_ORDER = "portal"
_TRACKS = TypeAdapter(list[Track])


class PortalPages:
    """Shows only what belongs to the signed-in account; anything else is not found."""

    def __init__(
        self,
        renderer: Renderer,
        index: Index,
        state: State,
        showing: ProfileVisibility,
        capabilities: Capabilities,
        files: SeriesFiles,
        settings: Settings,
    ) -> None:
        self._renderer = renderer
        self._index = index
        self._state = state
        self._showing = showing
        self._capabilities = capabilities
        self._files = files
        self._collections = settings.collections

    async def front(
        self,
        who: InSession,
        attempt: FormErrors = FRESH,
        note: Notice | None = None,
        cursor: str | None = None,
    ) -> Answer[str]:
        """The artist's tracks, and the form to publish one; to others, the form for a profile."""
        publisher = await self._publisher(who)
        if publisher.profile is None:
            return await self.profile(who, attempt, note)
        after = cursors.read_position(cursor, _ORDER)
        found = library.own_tracks(self._index, who.viewer, "", "recent", after, MOST_TRACKS).page
        older = cursors.write_cursor(found.after, _ORDER)
        albums = self._albums(who)
        shelf = PortalLists(
            _read(found.items, who),
            None if older is None else f"/portal?cursor={older}#tracks",
            albums,
            await self._state.album_templates.among([album.uri for album in albums]),
            await self._works(who),
        )
        chosen = await self._state.preferences.of(who.did)
        view = views.of_front(publisher, shelf, chosen, note, attempt)
        return self._page(who, "portal.html", view, attempt)

    async def albums(
        self, who: InSession, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """The artist's albums, and the form for another."""
        view = views.of_albums(await self._publisher(who), self._albums(who), note, attempt)
        return self._page(who, "portal_albums.html", view, attempt)

    async def defaults(
        self, who: InSession, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """What new tracks get: the Portal template, and rights metadata."""
        chosen = await self._state.preferences.of(who.did)
        view = views.of_defaults(await self._publisher(who), chosen, note, attempt)
        return self._page(who, "portal_defaults.html", view, attempt)

    async def profile(
        self, who: InSession, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """The artist's profile."""
        shown = await profiles.shows_likes(self._showing, self._collections, who.did)
        view = views.of_profile(await self._publisher(who), note, attempt, shows_likes=shown)
        return self._page(who, "portal_profile.html", view, attempt)

    def is_artist(self, who: InSession) -> bool:
        """Whether the index has a profile of the account."""
        return self._profile(who) is not None

    async def track(
        self, who: InSession, name: str, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """One track. Raises NotFound and NotOwner."""
        card = tracks.find_own_track(self._index, name, who.viewer)
        revisions = await self._state.revisions.of(tracks.track_uri(card))
        [track] = _read([card], who)
        albums, addresses = self._albums(who), self._renderer.addresses
        view = views.of_track(await self._publisher(who), track, albums, revisions, note, attempt, addresses)
        drawn = {"charts": await weeks.draw_track(self._files, card.key)}
        return self._page(who, "portal_track.html", {**view, **drawn}, attempt)

    async def album(
        self, who: InSession, name: str, attempt: FormErrors = FRESH, note: Notice | None = None
    ) -> Answer[str]:
        """One album with what is on it. Raises NotFound and NotOwner."""
        card = lists.find_own_list(self._index, "album", name, who.did)
        template = await self._state.album_templates.get(lists.list_uri(card))
        chosen = await self._state.preferences.of(who.did)
        view = views.of_album(
            await self._publisher(who),
            AlbumMetadata.model_validate_json(card.card),
            _read(lists.album_tracks(self._index, card, who.viewer), who),
            template,
            chosen.publishing_defaults,
            await self._works_of_album(who, lists.list_uri(card)),
            note,
            attempt,
        )
        return self._page(who, "portal_album.html", view, attempt)

    async def upload(self, who: InSession, upload_id: str, note: Notice | None = None) -> Answer[str]:
        """The progress of an upload. Raises NotFound."""
        upload = await self._state.uploads.find(upload_id)
        if upload is None or upload.did != who.did:
            raise NotFound("You have no such upload.")
        news = None if upload.is_settled else note
        return self._page(who, "portal_upload.html", views.of_upload(upload, self._track_id(upload), news))

    async def job(self, who: InSession, job_id: str, note: Notice | None = None) -> Answer[str]:
        """The progress of a publishing job. Raises NotFound."""
        job = await self._state.jobs.find(job_id)
        if job is None or job.asked.did != who.did:
            raise NotFound("You have no such job.")
        titles = {track.id: self._title(track.uri) for track in job.tracks}
        news = note if job.status in UNFINISHED else None
        return self._page(who, "portal_job.html", views.of_job(job, titles, news))

    def _page(self, who: InSession, template: str, view: View, attempt: FormErrors = FRESH) -> Answer[str]:
        return responses.portal_page(self._renderer, template, view, who.name, attempt.status)

    async def _publisher(self, who: InSession) -> Publisher:
        reasons = await self._capabilities.listening(who)
        return Publisher(
            who.account,
            self._profile(who),
            Permissions.of(who.scopes, self._collections),
            {audience: reason for audience, reason in reasons.items() if reason is not None},
        )

    def _profile(self, who: InSession) -> Artist | None:
        card = self._index.artist(who.did)
        artist = None if card is None else Artist.model_validate_json(card.card)
        return artist if artist is not None and artist.created_at is not None else None

    def _albums(self, who: InSession) -> list[AlbumMetadata]:
        page = self._index.list_page("album", None, MOST_ALBUMS, artist_did=who.did)
        return [AlbumMetadata.model_validate_json(card.card) for card in page.items]

    async def _works(self, who: InSession) -> list[Work]:
        """The last uploads and changes, newest first."""
        uploads = await self._state.uploads.newest(who.did, MOST_WORKS)
        jobs = await self._state.jobs.newest(who.did, MOST_WORKS)
        made = [(upload.created_at, self._of_upload(upload)) for upload in uploads]
        made += [(job.created_at, self._of_job(job)) for job in jobs]
        return [work for _, work in sorted(made, key=lambda one: one[0], reverse=True)[:MOST_WORKS]]

    async def _works_of_album(self, who: InSession, album: AtUri) -> list[Work]:
        """Those of the last uploads that are to the album, newest first."""
        uploads = await self._state.uploads.newest(who.did, MOST_OF_ALBUM)
        ours = [one for one in uploads if one.wanted.album is not None and one.wanted.album.uri == album]
        return [self._of_upload(upload) for upload in ours if upload.status != "completed"]

    def _of_upload(self, upload: Upload) -> Work:
        record = upload.wanted.record
        title = self._title(upload.track) if record is None else _title_of(upload, record)
        return views.work_of_upload(upload, str(title))

    def _of_job(self, job: Job) -> Work:
        if job.asked.album is None:
            return views.work_of_job(job, self._title(job.tracks[0].uri))
        album = self._index.find_list("album", str(job.asked.album))
        return views.work_of_job(job, "An album that is gone" if album is None else lists.album_title(album))

    def _track_id(self, upload: Upload) -> int | None:
        """The id of the published track, once the index shows it."""
        card = self._index.track_at(str(upload.track)) if upload.is_there else None
        return None if card is None else int(tracks.parse_card(card)["id"])

    def _title(self, uri: AtUri) -> str:
        card = self._index.track_at(str(uri))
        return "A track that is gone" if card is None else str(tracks.parse_card(card)["title"])


def _title_of(upload: Upload, record: Mapping[str, object]) -> object:
    """What a new track is called, as far as it is known."""
    unexamined = upload.wanted.unexamined
    return record.get("title") or (unexamined and unexamined.file_title) or "A new track"


def _read(cards: Sequence[Card], who: InSession) -> list[Track]:
    return _TRACKS.validate_json(present.join_parts(present.render_tracks(cards, who.viewer, ())))
