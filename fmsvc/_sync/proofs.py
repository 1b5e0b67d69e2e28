"""Fetches a track's proof and its account's DID document, and holds one to the other."""

import json
import re
from typing import Any
from urllib.parse import quote

import httpx2

from fmsvc._sync.http import Http, open_pool, read_bounded
from fmsvc.answers import make_unreachable
from fmsvc.errors import ProofError
from fmsvc.models import VerifiedRecord

_MAX_PROOF_BYTES = 2_000_000
_MAX_DOCUMENT_BYTES = 256_000
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(%3[aA][0-9]+)?")


def verify_track(http: Http, track_id: object, uri: str, plc_url: str) -> VerifiedRecord:
    """The record at an at-uri, proved by its account's signature. Raises ProofError and FmsvcError."""
    try:
        from fmsvc.verify import verify_record  # libipld and cryptography are an extra
    except ImportError as error:
        raise ProofError("Verifying needs the extra: pip install 'fmsvc[verify]'.") from error
    accept = "application/vnd.ipld.car"
    proof = http.bytes_of("tracks", track_id, "proof", accept=accept, max_bytes=_MAX_PROOF_BYTES)
    did = uri.removeprefix("at://").partition("/")[0]
    return verify_record(proof, uri, fetch_document(document_url(did, plc_url)))


def document_url(did: str, plc_url: str) -> str:
    """Where a DID document is. Raises ProofError for other methods than plc and web."""
    if re.fullmatch(r"did:plc:[a-z2-7]{24}", did):
        return f"{plc_url.rstrip('/')}/{quote(did)}"
    host = did.removeprefix("did:web:")
    if did.startswith("did:web:") and _HOST.fullmatch(host):
        return f"https://{host.replace('%3A', ':').replace('%3a', ':')}/.well-known/did.json"
    raise ProofError("The account's DID is of no method that is known.")


def fetch_document(url: str) -> dict[str, Any]:
    """A DID document. Asked without any credential; redirects are not followed. Raises FmsvcError."""
    try:
        with (
            open_pool(timeout=10.0) as client,
            client.stream("GET", url) as response,
        ):
            body = read_bounded(response, _MAX_DOCUMENT_BYTES)
            found = json.loads(body) if response.status_code == 200 else None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise make_unreachable(url, error) from error
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProofError(f"{url} is no DID document.")
    return found
