"""The Portal's forms as browsers send them, and their translation into API requests. Pure.

A form accepts any text, so that invalid input is shown again for correction; the API's shapes validate it.
"""

import re
from collections.abc import Mapping

import orjson
from pydantic import Field, InstanceOf

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import LeftOut, PageForm
from readapi.pages import choices
from schemas.api.albums import AlbumChange, Cover, NewAlbum
from schemas.api.artists import ProfileChange
from schemas.api.publishing import NewAudio, NewTrack, WantedAlbumSettings
from schemas.api.shape import File, LargeFile, Received
from schemas.api.tracks import Track, TrackChange
from schemas.publishing import Template

_LINE_BREAK = re.compile(r"\r\n?|\n")
NO_ALBUM = "none"  # an upload's choice beside the albums; an empty one leaves the album to the file


class ProfileForm(PageForm):
    """An artist's profile. Without a chosen picture the present one stays, unless it is to be removed."""

    display_name: str = ""
    bio: str = ""
    support_url: str = ""
    image: File = b""
    remove_image: str | None = None

    def wanted(self) -> ProfileChange:
        """Raises InvalidRequest."""
        return self.fitted(ProfileChange, self.values())

    def avatar(self) -> bytes | None:
        """The chosen picture; empty: the present one is removed, None: it stays."""
        return self.image or (None if self.remove_image is None else b"")


class LikesForm(PageForm):
    """Whether the profile shows what the account likes."""

    show_liked_on_profile: str | None = None


class TemplateForm(PageForm):
    """The questions of a template."""

    listening: str | None = None
    downloads: str | None = None
    visibility: str | None = None
    attach_rights: str | None = None

    def template(self) -> Template:
        """Raises InvalidRequest."""
        return self.fitted(Template, choices.template_of(self.values()))


class AlbumTemplateForm(TemplateForm):
    """The same for an album and the tracks on it."""

    replace_overrides: str | None = None

    def wanted(self) -> WantedAlbumSettings:
        """Raises InvalidRequest."""
        replacing = self.replace_overrides is not None
        return WantedAlbumSettings(settings=self.template(), replace_overrides=replacing)


class UploadForm(TemplateForm):
    """A track to publish. It has a template of its own as soon as any question of a template is answered.

    `once` is another on each page, so that a form that is sent twice uploads once.
    """

    file: LargeFile | None = None
    title: str = ""
    album_id: str = ""
    description: str = ""
    tags: str = ""
    features: str = ""
    isrc: str = ""
    iswc: str = ""
    image: File = b""
    once: str = ""

    def wanted(self) -> NewTrack:
        """Raises InvalidRequest."""
        texts = {"title": self.title, "album_id": self.album_id, "description": self.description}
        told: dict[str, object] = {name: text for name, text in texts.items() if text.strip()}
        if self.album_id == NO_ALBUM:
            told |= {"album_id": None, "album": ""}
        told |= {"tags": _separated(self.tags), "features": _separated(self.features)}
        codes = {"isrc": self.isrc.strip(), "iswc": self.iswc.strip()}
        told["rights"] = {name: code for name, code in codes.items() if code}
        if choices.is_answered(self.values()):
            told["publishing"] = self.template()
        return self.fitted(NewTrack, told | _chosen("file", self.file) | _chosen("image", self.image))


class TracksForm(PageForm):
    """Several tracks for one album, each with the title in its file, else its file's name.

    `once`: as in `UploadForm`; each file has an upload of its own.
    """

    recordings: list[LargeFile | InstanceOf[LeftOut]] = Field(default_factory=list)
    tags: str = ""
    once: str = ""

    def chosen(self) -> list[Received | LeftOut]:
        """The files, in their order. Raises InvalidRequest when there are none."""
        if not self.recordings:
            raise InvalidRequest.of_field("recordings", "must be at least one file")
        return list(self.recordings)

    def wanted(self, file: Received, album_id: str) -> NewTrack:
        """Raises InvalidRequest."""
        told = {"album_id": album_id, "tags": _separated(self.tags)}
        return self.fitted(NewTrack, told | _chosen("file", file))


def file_title(name: str) -> str | None:
    """The title that a file's name gives: without its extension and what cannot be printed."""
    stem = name.rpartition(".")[0] or name
    return "".join(letter for letter in stem if letter.isprintable()).strip() or None


class AudioForm(PageForm):
    """Another recording. `once`: as in `UploadForm`."""

    file: LargeFile | None = None
    once: str = ""

    def wanted(self) -> NewAudio:
        """Raises InvalidRequest."""
        return self.fitted(NewAudio, _chosen("file", self.file))


class TrackForm(PageForm):
    """A track's metadata. Only what differs from what the page showed is changed.

    So a value that a form cannot hold stays when another field is saved: a tag with a comma, the name of an
    album without a list. `shown`: the texts that the page showed, by `read_shown_texts`; without it, all
    fields are changes.
    """

    title: str = ""
    album: str = ""
    description: str = ""
    tags: str = ""
    features: str = ""
    isrc: str | None = None
    iswc: str | None = None
    image: File = b""
    remove_image: str | None = None
    shown: str = ""

    def wanted(self) -> TrackChange:
        """Raises InvalidRequest."""
        told: dict[str, object] = {
            "title": self.title,
            "album": self.album,
            "description": self.description,
            "tags": _separated(self.tags),
            "features": _separated(self.features),
            "isrc": None if self.isrc is None else self.isrc.strip(),
            "iswc": None if self.iswc is None else self.iswc.strip(),
        }
        shown, sent = _read_texts(self.shown), self.values()
        changed = {name: value for name, value in told.items() if _differs(name, sent, shown)}
        changed["remove_image"] = self.remove_image is not None
        return self.fitted(TrackChange, changed | _chosen("image", self.image))


def read_shown_texts(track: Track) -> dict[str, str]:
    """The texts that the form of a track shows, by field."""
    return {
        "title": track.title,
        "album": track.album.title if track.album else "",
        "description": track.description or "",
        "tags": ", ".join(track.tags),
        "features": ", ".join(feature.handle for feature in track.features),
        "isrc": (track.rights and track.rights.isrc) or "",
        "iswc": (track.rights and track.rights.iswc) or "",
    }


class AlbumForm(PageForm):
    """An album's metadata."""

    title: str = ""
    description: str = ""

    def new(self) -> NewAlbum:
        """Raises InvalidRequest."""
        return self.fitted(NewAlbum, self.values())

    def change(self) -> AlbumChange:
        """Raises InvalidRequest."""
        return self.fitted(AlbumChange, self.values())


class CoverForm(PageForm):
    """A picture for an album."""

    image: File = b""

    def wanted(self) -> Cover:
        """Raises InvalidRequest."""
        return self.fitted(Cover, _chosen("image", self.image))


class MoveForm(PageForm):
    """A change of an album's order: move `track` right before `before`."""

    track: str
    before: str


def _read_texts(shown: str) -> dict[str, object]:
    """The member `shown` of a form; empty for anything that this service's page did not send."""
    try:
        texts = orjson.loads(shown)
    except orjson.JSONDecodeError:
        return {}
    return texts if isinstance(texts, dict) else {}


def _differs(name: str, sent: Mapping[str, str], shown: Mapping[str, object]) -> bool:
    """Whether a text was edited. Browsers send each line break as CRLF, and none from a field of one line."""
    before, line_break = shown.get(name), "\n" if name == "description" else ""
    if not isinstance(before, str):
        return True
    return _LINE_BREAK.sub(line_break, sent.get(name, "")) != _LINE_BREAK.sub(line_break, before)


def _separated(text: str) -> list[str]:
    """Split a text at its commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _chosen(name: str, file: Received | bytes | None) -> dict[str, object]:
    """A file, if one was chosen: browsers send an empty one for a field that was left alone.

    Raises InvalidRequest for an empty recording: without one there is nothing to send.
    """
    if isinstance(file, Received) and file.bytes == 0:
        raise InvalidRequest.of_field(name, "must be a file that is not empty")
    return {name: file} if file else {}
