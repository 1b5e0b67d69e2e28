"""The Portal's forms as browsers send them, and what each asks of the API. Pure.

A form takes any text, so that whatever does not fit comes back to be mended; the API's own shapes judge it.
"""

from readapi.binding import fit
from readapi.errors import InvalidRequest
from readapi.pages import choices
from schemas.api.albums import AlbumChange, Cover, NewAlbum
from schemas.api.artists import ProfileChange
from schemas.api.publishing import NewAudio, NewTrack, WantedAlbumSettings
from schemas.api.shape import AskedInParts, File, LargeFile, Received
from schemas.api.tracks import TrackChange
from schemas.publishing import Template


class Form(AskedInParts):
    """Texts, files, and boxes, which are there when they are ticked."""

    def values(self) -> dict[str, str]:
        """Everything but the files, as it was typed."""
        members = self.model_dump(exclude_unset=True)
        return {name: value for name, value in members.items() if isinstance(value, str)}


class ProfileForm(Form):
    """How an artist presents themselves."""

    display_name: str = ""
    bio: str = ""
    support_url: str = ""

    def wanted(self) -> ProfileChange:
        """Raises InvalidRequest."""
        return fit(ProfileChange, self.values())


class TemplateForm(Form):
    """The questions of a template."""

    listening: str | None = None
    downloads: str | None = None
    visibility: str | None = None
    attach_rights: str | None = None

    def template(self) -> Template:
        """Raises InvalidRequest."""
        return fit(Template, choices.template_of(self.values()))


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
    image: File = b""
    once: str = ""

    def wanted(self) -> NewTrack:
        """Raises InvalidRequest."""
        texts = {"title": self.title, "album_id": self.album_id, "description": self.description}
        told: dict[str, object] = {name: text for name, text in texts.items() if text.strip()}
        told |= {"tags": _separated(self.tags), "features": _separated(self.features)}
        if choices.is_answered(self.values()):
            told["publishing"] = self.template()
        return fit(NewTrack, told | _chosen("file", self.file) | _chosen("image", self.image))


class AudioForm(Form):
    """Another recording. `once`: as in `UploadForm`."""

    file: LargeFile | None = None
    once: str = ""

    def wanted(self) -> NewAudio:
        """Raises InvalidRequest."""
        return fit(NewAudio, _chosen("file", self.file))


class TrackForm(Form):
    """What is told of a track."""

    title: str = ""
    album: str = ""
    description: str = ""
    tags: str = ""
    features: str = ""
    image: File = b""
    remove_image: str | None = None

    def wanted(self) -> TrackChange:
        """Raises InvalidRequest."""
        told: dict[str, object] = {
            "title": self.title,
            "album": self.album,
            "description": self.description,
            "tags": _separated(self.tags),
            "features": _separated(self.features),
            "remove_image": self.remove_image is not None,
        }
        return fit(TrackChange, told | _chosen("image", self.image))


class AlbumForm(Form):
    """What is told of an album."""

    title: str = ""
    description: str = ""

    def new(self) -> NewAlbum:
        """Raises InvalidRequest."""
        return fit(NewAlbum, self.values())

    def change(self) -> AlbumChange:
        """Raises InvalidRequest."""
        return fit(AlbumChange, self.values())


class CoverForm(Form):
    """A picture for an album."""

    image: File = b""

    def wanted(self) -> Cover:
        """Raises InvalidRequest."""
        return fit(Cover, _chosen("image", self.image))


class MoveForm(Form):
    """Two tracks of an album: one that is to stand before the other."""

    track: str
    before: str


def _separated(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _chosen(name: str, file: Received | bytes | None) -> dict[str, object]:
    """A file, if one was chosen: browsers send an empty one for a field that was left alone.

    Raises InvalidRequest for an empty recording: without one there is nothing to send.
    """
    if isinstance(file, Received) and file.bytes == 0:
        raise InvalidRequest.of_field(name, "must be a file that is not empty")
    return {name: file} if file else {}
