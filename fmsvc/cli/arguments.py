"""Arguments that several commands take, and how their texts are read. Each refusal is a sentence."""

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from fmsvc.errors import FmsvcError

if TYPE_CHECKING:
    from fmsvc.models import PublishingDefaults, TrackRef

TYPES = ("tracks", "artists", "albums", "playlists", "tags")
_MAX_BYTES = 64 << 10

Ref = Annotated[str, Parameter(help="The track's id or at-uri.")]
PlaylistId = Annotated[str, Parameter(help="The playlist's id.")]
AlbumId = Annotated[str, Parameter(help="The album's id.")]
Artist = Annotated[str, Parameter(help="The account's handle or DID.")]
Limit = Annotated[int, Parameter(name="--limit", validator=Number(gte=1), help="The most to list.")]
PerKind = Annotated[
    int, Parameter(name="--limit", validator=Number(gte=1, lte=50), help="The most to list of each kind.")
]
Yes = Annotated[
    bool, Parameter(name=("--yes", "-y"), negative="", show_default=False, help="Ask no question.")
]
ArchiveFile = Annotated[
    Path | None,
    Parameter(
        name=("--output", "-o"),
        help="A file, which is replaced, or a folder for one named after the id.",
    ),
]
Image = Annotated[Path | None, Parameter(name="--image", help="A picture: JPEG, PNG or WebP.")]
Settings = Annotated[
    str | None,
    Parameter(
        name="--publishing",
        allow_leading_hyphen=True,
        help="Complete publishing settings as JSON, @FILE, or - for standard input.",
    ),
]
Features = Annotated[
    str | None, Parameter(name="--features", help="Featured artists: a JSON list of handles or DIDs.")
]


def read_ref(text: str) -> "TrackRef":
    """A track's id or at-uri. Raises FmsvcError."""
    if text.startswith("at://"):
        return text
    if not (text.isascii() and text.isdecimal()):
        raise FmsvcError(f"{text} is no track: give its id or its at-uri.", code="usage")
    return int(text)


def read_types(text: str) -> str:
    """Kinds of results with commas between. Raises FmsvcError."""
    wrong = [kind for kind in text.split(",") if kind.strip() not in TYPES]
    if wrong:
        raise FmsvcError(
            f"--type takes some of {', '.join(TYPES)}, not {wrong[0].strip() or 'nothing'}.", code="usage"
        )
    return text


def read_settings(given: str) -> "PublishingDefaults":
    """Publishing settings: JSON, or @ and a file of it, or - for standard input. Raises FmsvcError."""
    from pydantic import ValidationError

    from fmsvc.models import PublishingDefaults

    try:
        return PublishingDefaults.model_validate_json(_read_text(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise FmsvcError(
            f"The publishing settings are not usable: {where + ': ' if where else ''}{first['msg']}.",
            code="usage",
        ) from None


def read_features(given: str) -> list[str]:
    """A JSON list of handles and DIDs. Raises FmsvcError."""
    found: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(given)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise FmsvcError("--features is no JSON list of handles or DIDs.", code="usage")
    return found


def split_tags(given: str) -> list[str]:
    """`a, b` -> its tags."""
    return [tag.strip() for tag in given.split(",") if tag.strip()]


def _read_text(given: str) -> bytes:
    if given == "-":
        text = sys.stdin.buffer.read(_MAX_BYTES + 1)
    elif given.startswith("@"):
        try:
            with Path(given[1:]).expanduser().open("rb") as file:
                text = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise FmsvcError(f"{given[1:]} cannot be read.", code="usage") from error
    else:
        text = given.encode()
    if len(text) > _MAX_BYTES:
        raise FmsvcError("The publishing settings are too long.", code="usage")
    return text
