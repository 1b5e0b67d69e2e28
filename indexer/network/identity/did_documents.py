"""DID documents: the URL of each, and a parser. Pure: untrusted bytes in, checked values out."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import libipld
import orjson

from indexer.network.ssrf import NotPermitted, check_url
from schemas.ids import Did, Handle, is_handle

_PLC = re.compile(r"did:plc:[a-z2-7]{24}")
_LOOPBACK_HOST = re.compile(r"localhost(:\d{1,5})?")
_MULTIBASE = re.compile(r"z[1-9A-HJ-NP-Za-km-z]{8,126}")
_DID_KEY = "did:key:"
MAX_ENTRIES = 100
MAX_KEYS = 20

# Types of keys from before Multikey, which some directories still write: the bare point, mostly uncompressed.
_BARE: Final = {
    "EcdsaSecp256k1VerificationKey2019": b"\xe7\x01",
    "EcdsaSecp256r1VerificationKey2019": b"\x80\x24",
}


@dataclass(frozen=True, slots=True)
class Document:
    """The fields of a DID document that we use. `handle` is only a claim; `pds` is an origin.

    `space_host`, `space_key`: the host of private Spaces and its signing key; by default `pds` and
    `signing_key`. `labeler`, `label_key`: where the account answers as a labeler, and the key of its labels.
    """

    handle: Handle | None
    pds: str | None
    signing_key: str | None
    space_host: str | None
    space_key: str | None
    labeler: str | None
    label_key: str | None


def document_url(did: Did, plc_url: str, *, allow_loopback: bool = False) -> str | None:
    """The URL of the DID's document; None for methods and forms that atproto does not use."""
    if _PLC.fullmatch(did):
        return f"{plc_url}/{did}"
    method, _, name = did.removeprefix("did:").partition(":")
    if method != "web":
        return None
    host = unquote(name)
    if allow_loopback and _LOOPBACK_HOST.fullmatch(host):
        return f"http://{host}/.well-known/did.json"
    return f"https://{host}/.well-known/did.json" if is_handle(host) else None


def parse_document(did: Did, body: bytes, *, allow_loopback: bool = False) -> Document:
    """Parse a document. Malformed parts count as absent. Raises ValueError when it is not this DID's."""
    document = orjson.loads(body)
    if not isinstance(document, dict) or document.get("id") != did:
        raise ValueError("the document is not about this DID")
    pds = _service(did, document, "atproto_pds", "AtprotoPersonalDataServer", allow_loopback)
    key = _key(did, document, "atproto")
    return Document(
        handle=_handle(document),
        pds=pds,
        signing_key=key,
        space_host=_origin(_named(did, document, "service", "atproto_space_host"), allow_loopback) or pds,
        space_key=_key(did, document, "atproto_space") or key,
        labeler=_service(did, document, "atproto_labeler", "AtprotoLabeler", allow_loopback),
        label_key=_key(did, document, "atproto_label"),
    )


def former_keys(log: bytes) -> tuple[str, ...]:
    """The signing keys in a did:plc's log of operations, newest first. Raises ValueError."""
    operations = orjson.loads(log)
    if not isinstance(operations, list):
        raise ValueError("the log is not a list")
    found = [_key_of(operation) for operation in reversed(operations)]
    return tuple(dict.fromkeys(key for key in found if key is not None))[:MAX_KEYS]


def _key_of(operation: object) -> str | None:
    methods = operation.get("verificationMethods") if isinstance(operation, dict) else None
    key = methods.get("atproto") if isinstance(methods, dict) else None
    if not isinstance(key, str) or not key.startswith(_DID_KEY):
        return None
    multibase = key.removeprefix(_DID_KEY)
    return multibase if _MULTIBASE.fullmatch(multibase) else None


def _entries(document: dict[str, object], name: str) -> list[object]:
    entries = document.get(name)
    return entries[:MAX_ENTRIES] if isinstance(entries, list) else []


def _named(did: Did, document: dict[str, object], list_name: str, fragment: str) -> dict[str, object] | None:
    """The first entry of a list with this id, which may be written relative to the DID."""
    for entry in _entries(document, list_name):
        if isinstance(entry, dict) and entry.get("id") in (f"#{fragment}", f"{did}#{fragment}"):
            return entry
    return None


def _handle(document: dict[str, object]) -> Handle | None:
    for alias in _entries(document, "alsoKnownAs"):
        if isinstance(alias, str) and alias.startswith("at://"):
            name = alias.removeprefix("at://")
            return Handle(name.lower()) if is_handle(name) else None
    return None


def _service(
    did: Did, document: dict[str, object], fragment: str, kind: str, allow_loopback: bool
) -> str | None:
    service = _named(did, document, "service", fragment)
    if service is None or service.get("type") != kind:
        return None
    return _origin(service, allow_loopback)


def _origin(service: dict[str, object] | None, allow_loopback: bool) -> str | None:
    endpoint = service.get("serviceEndpoint") if service is not None else None
    if not isinstance(endpoint, str) or len(endpoint) > 512:
        return None
    try:
        url = check_url(endpoint, allow_loopback=allow_loopback)
    except NotPermitted:
        return None
    if url.path not in ("", "/") or url.query_string or url.fragment:
        return None
    return str(url.origin())


def _key(did: Did, document: dict[str, object], fragment: str) -> str | None:
    """One of the account's keys as a Multikey; the key `atproto` signs its commits."""
    method = _named(did, document, "verificationMethod", fragment) or {}
    key, codec = method.get("publicKeyMultibase"), _BARE.get(str(method.get("type")))
    if not isinstance(key, str) or not _MULTIBASE.fullmatch(key):
        return None
    return key if codec is None else _as_multikey(codec, key)


def _as_multikey(codec: bytes, bare: str) -> str | None:
    _, point = libipld.decode_multibase(bare)
    if len(point) == 65:
        point = bytes([2 + point[-1] % 2]) + point[1:33]
    key: str = libipld.encode_multibase("z", codec + point)
    return key
