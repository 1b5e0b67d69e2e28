"""How a request's shape may be encoded: its media types, and which members are lists or files. Pure."""

from dataclasses import dataclass
from typing import Final, get_args, get_origin

from readapi.answers import JSON
from readapi.http.request.page_forms import PageForm
from schemas.api.shape import Asked, AskedInParts, AskedWithFile, Received
from schemas.settings import Settings

FORM: Final = "application/x-www-form-urlencoded"
PARTS: Final = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a body reader needs to know of a shape. The `large` file goes to disk, not to memory.

    `lists`: members that a form may repeat. The limits are for one small file, and for the large one.
    `of_page`: a member over a limit is left out, where elsewhere the whole body is refused. `several`: the
    large member is a list of files, each within the limits of one.
    """

    kinds: tuple[str, ...]
    lists: frozenset[str]
    small: frozenset[str]
    large: frozenset[str]
    most_bytes: int
    most_large_bytes: int
    of_page: bool
    several: bool = False

    @classmethod
    def of(cls, asked: type[Asked], settings: Settings) -> "Encoding":
        """Derive it from the settings and the types of the shape's members."""
        small, several = _members(asked, bytes), _file_lists(asked)
        large = _members(asked, Received) | several
        if len(large) > 1:
            raise TypeError(f"{asked.__name__} has more than one member of large files")
        lists = _members(asked, list) - several
        of_page, limits = issubclass(asked, PageForm), (settings.image_bytes, settings.upload_bytes)
        return cls(media_types(asked), lists, small, large, *limits, of_page, bool(several))


def media_types(asked: type[Asked]) -> tuple[str, ...]:
    """The media types in which a shape may be sent."""
    if issubclass(asked, AskedWithFile):
        return (PARTS,)
    return (JSON, FORM, PARTS) if issubclass(asked, AskedInParts) else (JSON, FORM)


def file_members(asked: type[Asked]) -> frozenset[str]:
    """The members that are files, which only multipart forms can carry."""
    return _members(asked, bytes) | _members(asked, Received) | _file_lists(asked)


def list_members(asked: type[Asked]) -> frozenset[str]:
    """The members that are lists."""
    return _members(asked, list)


def read_form_list(texts: list[str]) -> object:
    """The value of a list in a form: one text per item, or one text that is a JSON array.

    A single empty text is an empty list. JSON stays text: the member's type parses it.
    """
    if len(texts) != 1:
        return texts
    text = texts[0].strip()
    if text == "null" or text.startswith("["):
        return text
    return texts if text else []


def _members(asked: type[Asked], kind: type) -> frozenset[str]:
    return frozenset(name for name, field in asked.model_fields.items() if _allows(field.annotation, kind))


def _file_lists(asked: type[Asked]) -> frozenset[str]:
    """The members that are lists of large files."""
    return frozenset(
        name
        for name in _members(asked, list)
        if any(_allows(part, Received) for part in get_args(asked.model_fields[name].annotation))
    )


def _allows(annotation: object, kind: type) -> bool:
    if kind in (annotation, get_origin(annotation)):
        return True
    # A list of lists is one member; what it holds is no member of its own.
    return get_origin(annotation) is not list and any(_allows(part, kind) for part in get_args(annotation))
