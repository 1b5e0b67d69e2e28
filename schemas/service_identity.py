"""The DID of a service, and the document that names its address: https://atproto.com/specs/did. Pure."""

from typing import Any
from urllib.parse import quote, urlsplit

from schemas.ids import Did

SERVICE = "#fmsvc"  # of the DID: the name that `atproto-proxy` headers give after it
SERVICE_TYPE = "FmsvcAppView"
MENTIONS = ("#mention_search", "MentionSearchService")  # by which editors find `parts.page.mention.search`
DOCUMENT_PATH = "/.well-known/did.json"
_CONTEXT = "https://www.w3.org/ns/did/v1"
_LOOPBACK = ("127.0.0.1", "::1")


def service_did(base_url: str) -> Did:
    """The did:web of a service at this origin. On loopback it is `localhost`: no other name may be http."""
    parts = urlsplit(base_url)
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return Did(f"did:web:{quote(host + port, safe='')}")


def service_document(base_url: str) -> dict[str, Any]:
    """The DID document: a service without keys of its own."""
    kinds = ((SERVICE, SERVICE_TYPE), MENTIONS)
    entries = [{"id": name, "type": kind, "serviceEndpoint": base_url} for name, kind in kinds]
    return {"@context": [_CONTEXT], "id": service_did(base_url), "service": entries}
