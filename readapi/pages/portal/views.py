"""Template variables of the Portal's pages. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from readapi.pages import choices
from readapi.pages.form_errors import FormErrors
from readapi.pages.notices import Notice
from readapi.pages.portal import rights_form
from readapi.pages.portal.forms import NO_ALBUM, read_shown_texts
from readapi.pages.portal.permissions import Permissions
from readapi.pages.public.player import make_player_track
from readapi.pages.urls import Addresses
from readapi.publishing.access.policies import NOT_MOVED
from readapi.publishing.access.run_job import NO_RECALL
from readapi.state.publishing.jobs import Job, Outcome
from readapi.state.publishing.preferences import Preferences
from readapi.state.publishing.revisions import Revision
from readapi.state.publishing.uploads import Upload
from readapi.state.sign_in.sessions import Session
from schemas.api.albums import AlbumMetadata
from schemas.api.artists import Artist
from schemas.api.tracks import Track
from schemas.publishing import DEFAULT, PolicyOrigin, Template

View = dict[str, object]

UNANSWERED = "As the album’s or the Portal template says"
NO_PRIVATE_ALBUM = "An album cannot be private; its tracks can."

_ORIGINS: Mapping[PolicyOrigin | None, str] = {
    "portal": "As your Portal template said when it was published.",
    "album": "As its album’s template said when it was published.",
    "track": "As you chose for this track alone.",
    None: "As its record says.",
}
_OUTCOMES: Mapping[Outcome, str] = {
    "pending": "waits",
    "updated": "changed",
    "failed": "failed",
    "preserved": "keeps its own",
}


@dataclass(frozen=True, slots=True)
class Publisher:
    """The signed-in artist. `reasons`: why audiences are unavailable to them, by audience."""

    session: Session
    profile: Artist | None
    permissions: Permissions
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Work:
    """An upload or a change as the list of them shows it."""

    title: str
    page: str
    words: str
    has_failed: bool


@dataclass(frozen=True, slots=True)
class PortalLists:
    """An artist's tracks (one page, with the cursor to older ones), albums, uploads and jobs."""

    tracks: Sequence[Track]
    older: str | None
    albums: Sequence[AlbumMetadata]
    templates: Mapping[str, Template]  # of albums that have one, by the at-uris of their lists
    works: Sequence[Work]


def of_front(
    who: Publisher, shelf: PortalLists, chosen: Preferences, note: Notice | None, attempt: FormErrors
) -> View:
    """For the Portal's first page: tracks, and the form to publish one."""
    template = chosen.publishing_defaults or DEFAULT
    return {
        **_of_section("tracks", who, note, attempt),
        "may_publish": who.permissions.complete,
        "tracks": shelf.tracks,
        "older": shelf.older,
        "album_options": _upload_options(shelf, template),
        "works": shelf.works,
        "of_upload": _own_template(who.reasons, attempt),
        "portal_template": template,
    }


def of_albums(
    who: Publisher, albums: Sequence[AlbumMetadata], note: Notice | None, attempt: FormErrors
) -> View:
    """For the page of the artist's albums."""
    return {**_of_section("albums", who, note, attempt), "albums": albums}


def of_defaults(who: Publisher, chosen: Preferences, note: Notice | None, attempt: FormErrors) -> View:
    """For the page of the Portal template and rights metadata."""
    template = chosen.publishing_defaults or DEFAULT
    return {
        **_of_section("defaults", who, note, attempt),
        "rights": rights_form.rights_values(chosen.rights),
        "of_portal": _template(template, who.reasons, "template", attempt),
    }


def of_profile(who: Publisher, note: Notice | None, attempt: FormErrors, *, shows_likes: bool) -> View:
    """For the page of the artist's profile. `shows_likes`: whether others see the account's likes there."""
    return {**_of_section("profile", who, note, attempt), "shows_likes": shows_likes}


def _of_section(section: str, who: Publisher, note: Notice | None, attempt: FormErrors) -> View:
    """What the pages of the Portal's sections have in common."""
    return {
        "section": section,
        "note": attempt.note or note,
        "attempt": attempt,
        "session": who.session,
        "is_artist": who.profile is not None,
        "profile": {} if who.profile is None else who.profile.model_dump(),
    }


def of_track(
    who: Publisher,
    track: Track,
    albums: Sequence[AlbumMetadata],
    revisions: Sequence[Revision],
    note: Notice | None,
    attempt: FormErrors,
    addresses: Addresses,
) -> View:
    """For the page of one track."""
    shown = read_shown_texts(track)
    return {
        "section": "tracks",
        "sound": make_player_track(track, addresses),
        "note": attempt.note or note,
        "attempt": attempt,
        "track": track,
        "shown": shown,
        "shown_json": orjson.dumps(shown).decode(),
        "album_options": _shelves(track, albums),
        "origin": _ORIGINS[track.policy_origin],
        "of_track": _template(track.publishing, {"space": NOT_MOVED, **who.reasons}, "publishing", attempt),
        "revisions": revisions,
        "cannot_recall": NO_RECALL,
    }


def of_album(
    who: Publisher,
    album: AlbumMetadata,
    tracks: Sequence[Track],
    own: Template | None,
    portal: Template | None,
    works: Sequence[Work],
    note: Notice | None,
    attempt: FormErrors,
) -> View:
    """For the page of one album. `own`: its template, if it has one. `works`: uploads to it."""
    template = own or portal or DEFAULT
    reasons = {**who.reasons, "space": NO_PRIVATE_ALBUM}
    return {
        "section": "albums",
        "note": attempt.note or note,
        "attempt": attempt,
        "works": works,
        "album": album,
        "tracks": tracks,
        "has_own": own is not None,
        "of_album": _template(template, reasons, "publishing", attempt),
        "cannot_recall": NO_RECALL,
    }


def of_upload(upload: Upload, track_id: int | None, note: Notice | None) -> View:
    """For the progress page of an upload. `track_id`: of the published track, once the index shows it."""
    return {"section": "tracks", "note": note, "upload": upload, "track_id": track_id}


def of_job(job: Job, titles: Mapping[int, str], note: Notice | None) -> View:
    """For the progress page of a job. `titles`: of its tracks, by their ids."""
    told = {"titles": titles, "outcomes": _OUTCOMES, "words": _progress(job), "percent": _percent(job)}
    return {"section": "tracks", "note": note, "job": job, **told}


def work_of_upload(upload: Upload, title: str) -> Work:
    """An upload among others."""
    words = upload.message if upload.is_settled else f"{upload.message} {upload.progress_pct} %"
    return Work(title, f"/portal/uploads/{upload.id}", words, upload.status == "failed")


def work_of_job(job: Job, title: str) -> Work:
    """A change among others."""
    words = f"Who may listen: {_progress(job)}"
    return Work(title, f"/portal/jobs/{job.id}", words, job.status == "failed")


def _progress(job: Job) -> str:
    """How many tracks are done, not counting those that keep their own settings."""
    outcomes = _outcomes(job)
    told = f"{outcomes.total() - outcomes['pending']} of {outcomes.total()} tracks"
    return f"{told}, {outcomes['failed']} failed" if outcomes["failed"] else told


def _percent(job: Job) -> int:
    outcomes = _outcomes(job)
    return 100 - 100 * outcomes["pending"] // max(1, outcomes.total())


def _outcomes(job: Job) -> Counter[Outcome]:
    return Counter(track.outcome for track in job.tracks if track.outcome != "preserved")


def _shelves(track: Track, albums: Sequence[AlbumMetadata]) -> list[tuple[str, str, str]]:
    """The albums to choose from for a track; its current album is always among them."""
    own = [] if track.album is None else [track.album.title]
    titles = dict.fromkeys([*(album.title for album in albums), *own])
    return [("", "None", ""), *((title, title, "") for title in titles)]


def _upload_options(shelf: PortalLists, portal: Template) -> list[tuple[str, str, str]]:
    """The album choices for an upload. Its access is undecided while the file may name an album."""
    open_yet = f"{choices.heard_by(portal)}, or as the file’s album says" if shelf.templates else ""
    named = [_option(album, shelf.templates.get(album.uri)) for album in shelf.albums]
    return [("", "As the file says", open_yet), (NO_ALBUM, "None", ""), *named]


def _option(album: AlbumMetadata, template: Template | None) -> tuple[str, str, str]:
    """An album to choose for an upload: its id, its title with its own template, and who hears its tracks."""
    if template is None:
        return album.id, album.title, ""
    return album.id, f"{album.title} (its template: {choices.in_short(template)})", choices.heard_by(template)


def _own_template(reasons: Mapping[str, str], attempt: FormErrors) -> View:
    """The questions of an upload's own template, which may be left to its album's or the Portal template."""
    chosen = attempt.values if attempt.form == "upload" else {}
    return {
        "questions": choices.build_questions(chosen, reasons, UNANSWERED),
        "attaches_rights": "attach_rights" in chosen,
    }


def _template(template: Template, reasons: Mapping[str, str], form: str, attempt: FormErrors) -> View:
    """The questions of a template, with its answers or those of a refused form."""
    chosen = attempt.values if attempt.form == form else choices.form_values(template)
    return {
        "questions": choices.build_questions(chosen, reasons),
        "attaches_rights": "attach_rights" in chosen,
    }
