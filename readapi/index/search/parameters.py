"""The query parameters of a search, for its JSON and its page."""

from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from schemas.search_index import Kind

ORDER = "search"
KINDS: dict[str, Kind] = {f"{kind}s": kind for kind in get_args(Kind)}


def _split(given: Any) -> Any:
    """Accept `type=tracks,tags` as well as `type=tracks&type=tags`."""
    return [name.strip() for text in given for name in text.split(",")] if isinstance(given, list) else given


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in KINDS:
            raise ValueError(f"must be some of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(names))


Text = Annotated[str, Field(min_length=2, max_length=100, description="What to look for.")]
Types = Annotated[
    tuple[str, ...],
    BeforeValidator(_split),
    AfterValidator(_known),
    Field(description=f"Some of {', '.join(KINDS)}, separated by commas. Default: all."),
]
