"""A labeler on loopback that signs as https://atproto.com/specs/label says, and misbehaves as a relay does.

    async with Labeler() as labeler:
        settings = {"FMSVC_LABELERS": labeler.did, "FMSVC_ALLOW_LOOPBACK": "true"}
        await labeler.label("at://did:plc:ana/fm.svc.track/3k…", "porn")

`said` is the labels that queryLabels tells: by default all that were sent and stand.
"""

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote

from aiohttp import web
from cbrrr import encode_dag_cbor

from tests.network import forge
from tests.network.forge import Curve, SigningKey
from tests.network.relay import Relay

Label = dict[str, Any]
PAGE = 3  # labels in one answer of queryLabels


class Labeler(Relay):
    """Serves its DID document, `subscribeLabels` from a cursor, and `queryLabels` in pages."""

    path = "/xrpc/com.atproto.label.subscribeLabels"

    def __init__(self, curve: Curve = "k256") -> None:
        super().__init__(
            routes=[
                web.get("/.well-known/did.json", self._document),
                web.get("/xrpc/com.atproto.label.queryLabels", self._query),
            ]
        )
        self.key = SigningKey("labeler", curve)
        self.said: dict[tuple[str, str | None, str], Label] = {}
        self.queries = 0
        self.meanwhile: Callable[[], Awaitable[object]] | None = (
            None  # between an answer's making and sending
        )
        self._seq = 0
        self._last = datetime(2026, 1, 1, tzinfo=UTC)

    @property
    def did(self) -> str:
        return f"did:web:localhost{quote(':' + self.url.rpartition(':')[2], safe='')}"

    def make(self, subject: object, value: str, **changes: Any) -> Label:
        """A label that is signed; `changes` are made before."""
        self._last += timedelta(seconds=1)
        label = {"ver": 1, "src": self.did, "uri": str(subject), "val": value, "cts": iso(self._last)}
        label |= {name: given for name, given in changes.items() if given is not None}
        return label | {"sig": self.key.sign(encode_dag_cbor(label))}

    def frame(self, *labels: Label) -> bytes:
        """A message with these labels and the next sequence number."""
        self._seq += 1
        return forge.frame("#labels", {"seq": self._seq, "labels": list(labels)})

    async def label(self, subject: object, value: str, **changes: Any) -> Label:
        """Sign a label and send it."""
        label = self.make(subject, value, **changes)
        self.tell(label)
        await self.send(self.frame(label))
        return label

    def tell(self, label: Label) -> None:
        """Have queryLabels tell it, or no longer."""
        key = label["uri"], label.get("cid"), label["val"]
        self.said.pop(key, None)
        if not label.get("neg"):
            self.said[key] = label

    async def _document(self, _: web.Request) -> web.Response:
        method = {
            "id": f"{self.did}#atproto_label",
            "type": "Multikey",
            "controller": self.did,
            "publicKeyMultibase": self.key.multibase,
        }
        endpoint = self.url.replace("ws", "http", 1)
        service = {"id": "#atproto_labeler", "type": "AtprotoLabeler", "serviceEndpoint": endpoint}
        return web.json_response({"id": self.did, "verificationMethod": [method], "service": [service]})

    async def _query(self, request: web.Request) -> web.Response:
        self.queries += 1
        patterns, begin = request.query.getall("uriPatterns"), int(request.query.get("cursor", "0"))
        found = [
            label for label in self.said.values() if any(fnmatchcase(label["uri"], one) for one in patterns)
        ]
        page = [
            label | {"sig": {"$bytes": base64.b64encode(label["sig"]).decode().rstrip("=")}}
            for label in found[begin : begin + PAGE]
        ]
        if self.meanwhile is not None:
            await self.meanwhile()
        further = {"cursor": str(begin + PAGE)} if begin + PAGE < len(found) else {}
        return web.json_response({"labels": page, **further})


def iso(instant: datetime) -> str:
    """The instant as labels write it."""
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
