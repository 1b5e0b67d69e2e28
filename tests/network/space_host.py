"""A server with private Spaces as the draft lexicons have them: PDS, Space host and directory in one.

No released server has them. It believes nobody: each token and proof is held to the draft, and what is wrong
is refused as the draft says.

https://github.com/bluesky-social/proposals/tree/main/0016-permissioned-data
"""

import base64
import hashlib
import time
from secrets import token_urlsafe
from typing import Any
from urllib.parse import unquote

import libipld
import orjson
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from schemas import data_model
from tests.network.doubles import Loopback

Json = dict[str, Any]
CODECS = {"P-256": b"\x80\x24", "secp256k1": b"\xe7\x01"}
DELEGATION, CREDENTIAL = "atproto-space-delegation+jwt", "atproto-space-credential+jwt"
SERVICE = "JWT"  # the type of service tokens
SECONDS = {DELEGATION: 60, CREDENTIAL: 7200, SERVICE: 60}
SIMPLE = "com.atproto.simplespace.defs"
PAGE = 2  # of a list, so that there are several


def cid_of(content: bytes, codec: int = 0x55) -> str:
    """The CID of a blob's bytes, or of a record's."""
    digest = hashlib.sha256(content).digest()
    return "b" + base64.b32encode(bytes((1, codec, 0x12, 0x20)) + digest).decode().lower().rstrip("=")


def multikey(key: ECKey) -> str:
    """A public key as DID documents write it."""
    public = key.public_key
    assert isinstance(public, EllipticCurvePublicKey)
    point = public.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    written: str = libipld.encode_multibase("z", CODECS[key.curve_name] + point)
    return written


class Refused(Exception):
    """An answer that is none of those that were hoped for."""

    def __init__(self, status: int, error: str, message: str = "") -> None:
        super().__init__(error)
        self.status, self.error, self.message = status, error, message


class SpaceHost(Loopback):
    """Its people hold access tokens (`token`) for what they granted; it counts what it was asked.

    `lies`: what it says wrongly, by name of the method: claims of a credential, or members of an answer.
    `forges_with`: signs credentials instead of the authority's key. `fails`: with which status it answers.
    """

    def __init__(self, curve: str = "secp256k1") -> None:
        super().__init__(
            web.get("/xrpc/{method}", self._answer),
            web.post("/xrpc/{method}", self._answer),
            web.get("/{did}", self._document),
        )
        self.key = ECKey.generate_key(curve)
        self.space_keys: dict[str, ECKey] = {}  # of authorities that have one for their Spaces alone
        self.forges_with: ECKey | None = None
        self.granted: dict[str, str] = {}  # scopes by DID
        self.members: dict[str, set[str]] = {}  # by Space
        self.public: dict[tuple[str, str, str], Json] = {}
        self.records: dict[tuple[str, str, str, str], Json] = {}
        self.blobs: dict[str, bytes] = {}
        self.lies: dict[str, Json] = {}
        self.fails: dict[str, int] = {}
        self.asked: list[str] = []
        self.exchanged_at: list[str] = []
        self._proofs: set[str] = set()
        self._tokens: set[str] = set()

    @property
    def apart(self) -> str:
        """The same server by another name, at which Spaces answer that have a host of their own."""
        return f"http://127.0.0.1:{self.port}"

    def token(self, did: str) -> str:
        """What somebody's requests are authorized with."""
        return f"access-token-of-{did}"

    def times(self, method: str) -> int:
        """How often it was asked for something."""
        return sum(asked.endswith(f".{method}") for asked in self.asked)

    async def _document(self, request: web.Request) -> web.Response:
        did = unquote(request.match_info["did"])
        keys = {"#atproto": self.key}
        services = {"#atproto_pds": ("AtprotoPersonalDataServer", self.url)}
        if did in self.space_keys:
            keys["#atproto_space"] = self.space_keys[did]
            services["#atproto_space_host"] = ("AtprotoSpaceHost", self.apart)
        whole = {
            "id": did,
            "verificationMethod": [
                {"id": name, "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(key)}
                for name, key in keys.items()
            ],
            "service": [
                {"id": name, "type": kind, "serviceEndpoint": url} for name, (kind, url) in services.items()
            ],
        }
        return web.json_response(whole)

    async def _answer(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        name = method.rpartition(".")[2]
        self.asked.append(method)
        if name in self.fails:
            return web.json_response({"error": "Failed"}, status=self.fails[name])
        answer = getattr(self, f"_{method.split('.')[2]}_{name}", None)
        try:
            if answer is None:
                raise Refused(501, "MethodNotImplemented")
            told = await answer(request)
        except Refused as refused:
            return web.json_response(
                {"error": refused.error, "message": refused.message}, status=refused.status
            )
        if isinstance(told, bytes):
            return web.Response(body=told)
        return web.json_response(told | self.lies.get(name, {}))

    # Who asks

    def _proven(self, request: web.Request, token: str | None) -> str:
        """The thumbprint of the key that a request is proven with."""
        try:
            proof = request.headers["DPoP"]
            key = ECKey.import_key(_header(proof)["jwk"])
            claims = jwt.decode(proof, key, algorithms=["ES256"]).claims
        except (KeyError, JoseError, ValueError) as error:
            raise Refused(401, "InvalidDpopProof") from error
        expected = {"htm": request.method, "htu": f"http://{request.host}{request.path}"}
        hashed = None if token is None else _b64(hashlib.sha256(token.encode()).digest())
        is_fresh = abs(claims["iat"] - time.time()) < 60 and claims["jti"] not in self._proofs
        if (
            not is_fresh
            or expected != {name: claims[name] for name in expected}
            or claims.get("ath") != hashed
        ):
            raise Refused(401, "InvalidDpopProof")
        self._proofs.add(claims["jti"])
        return key.thumbprint()

    def _person(self, request: web.Request, scope: str = "space:") -> str:
        """Whose access token it is, if they granted this."""
        token = request.headers.get("Authorization", "").removeprefix("DPoP ")
        did = token.removeprefix("access-token-of-")
        if token == did or did not in self.granted:
            raise Refused(401, "InvalidToken")
        self._proven(request, token)
        if scope not in self.granted[did]:
            raise Refused(403, "ScopeMissingError", f"Missing required scope {scope}")
        return did

    def _reader(self, request: web.Request) -> None:
        """Somebody who may read the repo: its owner, or whoever has a credential of the Space."""
        token, asked = request.headers.get("Authorization", "").removeprefix("DPoP "), request.query
        if token.startswith("access-token-of-"):
            if self._person(request) != asked["repo"]:
                raise Refused(403, "Forbidden")
            return
        thumbprint = self._proven(request, token)
        try:
            key = self._key_of(asked["space"])
            claims = jwt.decode(token, key, algorithms=["ES256", "ES256K"]).claims
        except (JoseError, ValueError) as error:
            raise Refused(401, "InvalidCredential") from error
        if (claims["sub"], claims["cnf"]["jkt"]) != (asked["space"], thumbprint) or claims[
            "exp"
        ] < time.time():
            raise Refused(401, "InvalidCredential")

    # What it does

    async def _space_listSpaces(self, request: web.Request) -> Json:
        did = self._person(request)
        return {"spaces": [{"uri": space} for space in self.members if space.startswith(f"at://{did}/")]}

    async def _simplespace_createSpace(self, request: web.Request) -> Json:
        did, sent = self._person(request, "manage=create"), await request.json()
        assert sent["readPolicy"] == sent["writePolicy"] == {"$type": f"{SIMPLE}#memberListPolicy"}
        assert sent["appAccess"] == {"$type": f"{SIMPLE}#open"}
        space = f"at://{did}/space/{sent['spaceType']}/{sent['skey']}"
        if space in self.members:
            raise Refused(400, "SpaceAlreadyExists")
        self.members[space] = {did}
        return {"uri": space}

    async def _space_putRecord(self, request: web.Request) -> Json:
        did, sent = self._person(request), await request.json()
        key = sent["space"], sent["repo"], sent["collection"], sent["rkey"]
        if sent["repo"] != did or sent["space"] not in self.members:
            raise Refused(400, "SpaceNotFound")
        self.records[key] = sent["record"]
        return self._record(key)

    async def _space_deleteRecord(self, request: web.Request) -> Json:
        did, sent = self._person(request), await request.json()
        assert sent["repo"] == did
        self.records.pop((sent["space"], sent["repo"], sent["collection"], sent["rkey"]), None)
        return {}

    async def _space_getRecord(self, request: web.Request) -> Json:
        self._reader(request)
        asked = request.query
        return self._record((asked["space"], asked["repo"], asked["collection"], asked["rkey"]))

    async def _space_listRecords(self, request: web.Request) -> Json:
        self._reader(request)
        asked = request.query["space"], request.query["repo"], request.query["collection"]
        found = [key for key in sorted(self.records, reverse=True) if key[:3] == asked]
        start, limit = int(request.query.get("cursor", 0)), min(int(request.query["limit"]), PAGE)
        rows = [{**self._record(key), "collection": key[2], "rkey": key[3]} for key in found[start:][:limit]]
        for row in rows:
            del row["uri"]
        more = {"cursor": str(start + limit)} if len(found) > start + limit else {}
        return {"records": rows, **more}

    async def _space_getBlob(self, request: web.Request) -> bytes:
        self._reader(request)
        asked = request.query
        for (space, repo, _, _), value in self.records.items():
            is_held = value.get("audioBlob", {}).get("ref", {}).get("$link") == asked["cid"]
            if (space, repo, is_held) == (asked["space"], asked["repo"], True):
                return self.blobs[asked["cid"]]
        raise Refused(400, "BlobNotFound")

    async def _space_getDelegationToken(self, request: web.Request) -> Json:
        did, space = self._person(request), request.query["space"]
        audience = f"{_authority(space)}#atproto_space_host"
        return {"token": signed(DELEGATION, {"iss": did, "sub": space, "aud": audience}, self.key)}

    async def _space_getSpaceCredential(self, request: web.Request) -> Json:
        token, space = (
            request.headers["Authorization"].removeprefix("Bearer "),
            (await request.json())["space"],
        )
        thumbprint = self._proven(request, None)
        said = jwt.decode(token, self.key, algorithms=["ES256", "ES256K"])
        if token in self._tokens or said.header["typ"] != DELEGATION or said.claims["sub"] != space:
            raise Refused(401, "InvalidDelegationToken")
        self._tokens.add(token)
        self.exchanged_at.append(f"http://{request.host}")
        if space not in self.members:
            raise Refused(400, "SpaceNotFound")
        if said.claims["iss"] not in self.members[space]:
            raise Refused(403, "UserNotAuthorized")
        claims = {"iss": _authority(space), "sub": space, "cnf": {"jkt": thumbprint}}
        lies = self.lies.get("credential", {})
        return {"credential": signed(CREDENTIAL, claims | lies, self.forges_with or self._key_of(space))}

    async def _repo_getRecord(self, request: web.Request) -> Json:
        asked = request.query
        value = self.public.get((asked["repo"], asked["collection"], asked["rkey"]))
        if value is None:
            raise Refused(400, "RecordNotFound")
        uri = f"at://{asked['repo']}/{asked['collection']}/{asked['rkey']}"
        return {"uri": uri, "cid": cid_of(uri.encode(), 0x71), "value": value}

    async def _sync_getLatestCommit(self, request: web.Request) -> Json:
        return {"cid": cid_of(b"commit", 0x71), "rev": "3kaaaaaaaaa2a"}

    async def _repo_uploadBlob(self, request: web.Request) -> Json:
        self._person(request, "blob:")
        content = await request.read()
        self.blobs[cid_of(content)] = content
        blob = {"$type": "blob", "ref": {"$link": cid_of(content)}, "mimeType": request.content_type}
        return {"blob": blob | {"size": len(content)}}

    def _key_of(self, space: str) -> ECKey:
        return self.space_keys.get(_authority(space), self.key)

    def _record(self, key: tuple[str, str, str, str]) -> Json:
        if key not in self.records:
            raise Refused(400, "RecordNotFound")
        value = self.records[key]
        cid = cid_of(libipld.encode_dag_cbor(data_model.read_record(value)), 0x71)
        return {"uri": "/".join(key), "cid": cid, "value": value}


def _authority(space: str) -> str:
    return space.removeprefix("at://").partition("/")[0]


def _header(token: str) -> Json:
    head = token.partition(".")[0]
    header: Json = orjson.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    return header


def signed(typ: str, claims: Json, key: ECKey) -> str:
    """A token of one of the kinds, with these claims."""
    algorithm = "ES256" if key.curve_name == "P-256" else "ES256K"
    now = int(time.time())
    said = {"iat": now, "exp": now + SECONDS[typ], "jti": token_urlsafe(16), **claims}
    return jwt.encode({"alg": algorithm, "typ": typ, "kid": "#atproto"}, said, key, algorithms=[algorithm])


def _b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
