"""A full and a least record of every type, as documents and as DAG-CBOR."""

import hashlib
from typing import Any

import cbrrr

from schemas.collections import Collections
from schemas.ids import Nsid

COLLECTIONS = Collections("fm.svc")

Document = dict[str, Any]

DATETIME = "2026-03-01T12:30:00.250Z"
TRACK_URI = "at://did:plc:ewvi7nxzyoun6zhxrhs64oiz/fm.svc.track/3kznmn7xqxl22"
TRACK_CID = "bafyreiclp443lavogvhj3d2ob2cxbfuscni2k5jk7bebjzg7khl3esabwq"
AUDIO_CID = "bafkreibnoelefnzgwbcacyt4vh52ymxvzbjq7mmqhtcnwarfq4lzegsiqe"


def encode(document: object) -> bytes:
    """The DAG-CBOR of a document."""
    return cbrrr.encode_dag_cbor(document)


def link(content: bytes) -> cbrrr.CID:
    """A link to some bytes: `link(b"x")` is AUDIO_CID."""
    return cbrrr.CID(b"\x01\x55\x12\x20" + hashlib.sha256(content).digest())


def blob(mime_type: str = "audio/mpeg", size: int = 4096, content: bytes = b"x") -> Document:
    """A blob reference."""
    return {"$type": "blob", "ref": link(content), "mimeType": mime_type, "size": size}


def strong_ref(uri: str = TRACK_URI) -> Document:
    """A strong reference to a track."""
    return {"uri": uri, "cid": TRACK_CID}


def least(name: str) -> Document:
    """A record of the named type with only the required fields, as another client may write it."""
    return dict(_LEAST[name])


def full(name: str) -> Document:
    """A record of the named type with every field."""
    return {**_LEAST[name], **_OPTIONAL[name]}


def collection(name: str) -> Nsid:
    """The collection of the named type."""
    nsid: Nsid = getattr(COLLECTIONS, name)
    return nsid


NAMES = ("track", "like", "comment", "list", "profile")

_LEAST: dict[str, Document] = {
    "track": {
        "$type": "fm.svc.track",
        "title": "Überfahrt",
        "artist": "Ada",
        "fileType": "mp3",
        "createdAt": DATETIME,
    },
    "like": {"$type": "fm.svc.like", "subject": strong_ref(), "createdAt": DATETIME},
    "comment": {
        "$type": "fm.svc.comment",
        "subject": strong_ref(),
        "text": "that drop",
        "timestampMs": 61_000,
        "createdAt": DATETIME,
    },
    "list": {"$type": "fm.svc.list", "items": [], "createdAt": DATETIME},
    "profile": {"$type": "fm.svc.actor.profile", "createdAt": DATETIME},
}

_OPTIONAL: dict[str, Document] = {
    "track": {
        "audioBlob": blob(),
        "audioUrl": "https://audio.example/a.mp3",
        "duration": 184,
        "album": "Wasser",
        "description": "Recorded on the ferry.",
        "tags": ["#Ambient", "field recording", "AMBIENT"],
        "features": [{"did": "did:plc:44ybard66vv44zksje25o7dz"}],
        "image": blob("image/png", 900, b"cover"),
        "imageUrl": "https://images.example/a.png",
        "labels": {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "explicit"}]},
        "access": {"listening": "supporters", "downloads": "off", "visibility": "unlisted"},
        "policyOrigin": "album",
        "rights": {
            "isrc": "DEABC2600001",
            "iswc": "T-345.246.800-1",
            "masterOwner": {"name": "Ada Records", "did": "did:web:ada.example"},
            "parties": [
                {
                    "name": "Ada",
                    "did": "did:plc:ewvi7nxzyoun6zhxrhs64oiz",
                    "ipi": "00052210040",
                    "role": "composer",
                    "society": "GEMA",
                    "mechanicalShare": 6000,
                    "performanceShare": 5000,
                },
                {"name": "Bo", "mechanicalShare": 4000, "performanceShare": 5000},
            ],
        },
        "updatedAt": DATETIME,
    },
    "like": {},
    "comment": {"updatedAt": DATETIME},
    "list": {
        "items": [{"subject": strong_ref()}],
        "name": "Wasser",
        "listType": "album",
        "description": "Four crossings.",
        "image": blob("image/jpeg", 900, b"cover"),
        "updatedAt": DATETIME,
    },
    "profile": {
        "displayName": "Ada",
        "bio": "Ferries and tape.",
        "avatar": blob("image/jpeg", 900, b"face"),
        "supportUrl": "https://ada.example/support",
        "updatedAt": DATETIME,
    },
}
