"""A change as it is sent: Jetstream's JSON, in a server-sent event or a WebSocket frame. Made once."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import libipld
import orjson

from readapi.live import wire
from schemas.change_log import Change
from schemas.data_model import write_record
from schemas.datetimes import render
from schemas.takedowns import Takedowns

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Event:
    """One change. Its bytes are made when the first client wants them, and shared by all."""

    __slots__ = ("_card", "_made", "artist", "change", "collection", "did", "position", "subject", "tags")

    def __init__(self, change: Change) -> None:
        entry = change.entry
        is_record = entry.operation not in ("account", "identity")
        self.change = change
        self.position = change.position
        self.did = entry.did
        self.artist = entry.artist
        self.tags = entry.tags
        self.collection: str | None = entry.fields[0] if is_record else None
        self.subject: int | None = entry.fields[4] if is_record else None  # of a like or comment: its track
        self._made: dict[tuple[bool, bool], bytes] = {}
        self._card: bytes | None = None

    @property
    def ends(self) -> bool:
        """Whether the event ends something's being public. Takedowns and replays leave no such event out."""
        entry = self.change.entry
        return entry.operation in ("delete", "hide") or (entry.operation == "account" and not entry.fields[0])

    @property
    def track(self) -> int | None:
        """The key of the track that the change is of, or about."""
        is_track = self.collection is not None and self.collection.endswith(".track")
        return self.change.entry.key if is_track else self.subject

    def is_taken_down(self, takedowns: Takedowns) -> bool:
        """Has the operator taken down the event's subject? False for an event that `ends`."""
        if not len(takedowns) or self.ends:
            return False
        return takedowns.covers_any((self.did, self.artist, self.uri)) or takedowns.covers_document(
            f"track:{self.subject}", self.artist
        )

    @property
    def uri(self) -> str:
        """The at-uri of the record, or of the account."""
        if self.collection is None:
            return f"at://{self.did}"
        return f"at://{self.did}/{self.collection}/{self.change.entry.fields[1]}"

    def with_card(self, card: bytes | None) -> None:
        """Add the card for the clients that want one: JSON."""
        self._card = card

    def sent(self, *, cards: bool, websocket: bool) -> bytes:
        """The bytes for a client."""
        made = self._made.get((cards, websocket))
        if made is None:
            text = self.json(cards)
            made = wire.text_frame(text) if websocket else b"id: %d\ndata: %b\n\n" % (self.position, text)
            self._made[cards, websocket] = made
        return made

    def json(self, cards: bool = False) -> bytes:
        """The change as JSON."""
        content = self._content()
        if cards and self._card is not None:
            content["card"] = orjson.Fragment(self._card)
        return orjson.dumps(content)

    def _content(self) -> dict[str, Any]:
        entry, fields = self.change.entry, self.change.entry.fields
        content: dict[str, Any] = {"did": self.did, "time_us": self.position}
        if self.collection is None:
            told: dict[str, Any] = {
                "did": self.did,
                "seq": self.position,
                "time": render(_EPOCH + timedelta(microseconds=self.position)),
            }
            if entry.operation == "identity":
                told["handle"] = fields[0]
            else:
                told["active"] = fields[0]
                if fields[1] is not None:
                    told["status"] = fields[1]
            return content | {"kind": entry.operation, entry.operation: told}
        commit = {
            "rev": fields[2],
            "operation": entry.operation,
            "collection": self.collection,
            "rkey": fields[1],
        }
        if entry.record:
            commit["record"] = write_record(libipld.decode_dag_cbor(entry.record))
        if fields[3] is not None:
            commit["cid"] = fields[3]
        return content | {"kind": "commit", "commit": commit}
