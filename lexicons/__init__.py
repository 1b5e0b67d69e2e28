"""The schemas of records and query methods as published, in the Lexicon language: JSON, and its reader.

A file is named after the end of its NSID: `actor/profile.json` is `fm.svc.actor.profile`.
"""

import json
from importlib.resources import files
from typing import Any


def read(name: str) -> dict[str, Any]:
    """One lexicon by the end of its NSID, such as `actor.profile`."""
    text = files(__name__).joinpath(f"{name.replace('.', '/')}.json").read_text("utf-8")
    lexicon: dict[str, Any] = json.loads(text)
    return lexicon
