"""Made-up records, their links as bytes: what people's applications would write."""

import hashlib
import random
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import libipld

from tests.bench.words import Words

Document = dict[str, Any]

# (share, access): most music is simply public.
_POLICIES: Final = (
    (0.92, None),
    (0.95, {"listening": "public", "downloads": "open", "visibility": "unlisted"}),
    (0.97, {"listening": "public", "downloads": "off", "visibility": "private"}),
    (1.00, {"listening": "supporters", "downloads": "supporters", "visibility": "public"}),
)


class Subject(NamedTuple):
    """A record that others point at."""

    uri: str
    cid: str

    @property
    def strong(self) -> Document:
        return {"uri": self.uri, "cid": self.cid}


class Records:
    """Draws records of every type; the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = Words(self.rng)

    def profile(self, at: datetime) -> Document:
        return {
            "displayName": self.words.name(),
            "bio": self.words.sentence(3, 20),
            "avatar": _blob(f"face {self.rng.random()}", "image/jpeg", 40_000),
            "createdAt": iso(at),
        }

    def track(self, at: datetime, artist: str, album: str | None, image: str | None) -> Document:
        """A track; `image` names its picture, so that several can share one."""
        rng, words = self.rng, self.words
        document: Document = {
            "title": words.title(),
            "artist": artist,
            "fileType": "mp3",
            "audioBlob": _blob(f"audio {rng.random()}", "audio/mpeg", rng.randint(1 << 20, 12 << 20)),
            "duration": rng.randint(60, 600),
            "createdAt": iso(at),
        }
        if album is not None:
            document["album"] = album
        if image is not None:
            document["image"] = _blob(image, "image/jpeg", 90_000)
        if tags := words.tags():
            document["tags"] = tags
        if rng.random() < 0.4:
            document["description"] = words.sentence(8, 40)
        drawn = rng.random()
        access = next(access for share, access in _POLICIES if drawn <= share)
        return document if access is None else document | {"access": access}

    def like(self, at: datetime, subject: Subject) -> Document:
        return {"subject": subject.strong, "createdAt": iso(at)}

    def comment(self, at: datetime, subject: Subject) -> Document:
        return {
            "subject": subject.strong,
            "text": self.words.sentence(2, 16),
            "timestampMs": self.rng.randrange(300_000),
            "createdAt": iso(at),
        }

    def collection(self, at: datetime, kind: str, name: str, items: list[Subject]) -> Document:
        """A list: an album or a playlist."""
        held = [{"subject": item.strong} for item in items]
        return {"listType": kind, "name": name, "items": held, "createdAt": iso(at)}


def image_cid(name: str) -> str:
    """The CID of the picture of this name."""
    cid: str = libipld.encode_multibase("b", _cid(name))
    return cid


def iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _blob(content: str, mime_type: str, size: int) -> Document:
    return {"$type": "blob", "ref": _cid(content), "mimeType": mime_type, "size": size}


def _cid(content: str) -> bytes:
    return b"\x01\x55\x12\x20" + hashlib.sha256(content.encode()).digest()
