"""The schemas of records and query methods as published, in the Lexicon language: JSON, and its reader.

A file is named after the end of its NSID: `actor/profile.json` is `fm.svc.actor.profile`.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


def read(name: str) -> dict[str, Any]:
    """One lexicon by the end of its NSID, such as `actor.profile`."""
    text = files(__name__).joinpath(f"{name.replace('.', '/')}.json").read_text("utf-8")
    lexicon: dict[str, Any] = json.loads(text)
    return lexicon


def read_all() -> list[dict[str, Any]]:
    """All lexicons, in the order of their NSIDs."""
    found: list[dict[str, Any]] = [json.loads(file.read_text("utf-8")) for file in _files(files(__name__))]
    return sorted(found, key=lambda lexicon: str(lexicon["id"]))


def _files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry)
        elif entry.name.endswith(".json"):
            yield entry
