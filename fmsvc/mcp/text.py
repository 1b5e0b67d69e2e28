"""Text that accounts wrote, made fit for models: bounded, and without characters that are not visible. Pure.

Invisible characters can carry instructions that a person who looks at the same text does not see: tag
characters and variation selectors spell whole sentences, direction marks show words in another order.
"""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

LONGEST: Final = 4_000  # characters of one text
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # not joiners: scripts need them
    "\U000e0000-\U000e0fff]"  # tags and the supplement of variation selectors
)


def clean(text: str) -> str:
    """The text as a person would see it."""
    seen = _UNSEEN.sub("", text)
    return seen if len(seen) <= LONGEST else f"{seen[:LONGEST]}…"


def clean_deeply(found: Any) -> Any:
    """JSON with all its texts cleaned."""
    if isinstance(found, str):
        return clean(found)
    if isinstance(found, dict):
        return {clean(str(name)): clean_deeply(value) for name, value in found.items()}
    return [clean_deeply(value) for value in found] if isinstance(found, list) else found


Untrusted = Annotated[str, AfterValidator(clean), Field(description="Untrusted: written by an account.")]
UntrustedObject = Annotated[
    dict[str, Any], AfterValidator(clean_deeply), Field(description="Untrusted texts.")
]
