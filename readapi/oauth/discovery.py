"""Handle or DID -> identity -> the authorization server that its personal data server trusts."""

import re
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from yarl import URL

from readapi.oauth import responses
from readapi.oauth.errors import OAuthRefused, Unavailable
from readapi.oauth.grant import AccountIdentity, AuthorizationServer
from readapi.oauth.keys import ALGORITHM
from readapi.oauth.network import Network
from readapi.oauth.responses import ProtectedResource, ServerMetadata
from schemas.collections import ATPROTO
from schemas.ids import INVALID_HANDLE, Did, Handle, is_did, is_handle

DOCUMENT_BYTES = 64 << 10
DOCUMENT_SECONDS = 8.0
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"

# Invisible characters that come along when a handle is copied from a page.
_INVISIBLE = re.compile(r"[\s\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Document = TypeVar("Document", bound=BaseModel)


class Discovery:
    """Resolves identities and servers. `confidential`: servers must support authentication by private key."""

    def __init__(self, network: Network, *, confidential: bool, allow_loopback: bool) -> None:
        self._network = network
        self._confidential = confidential
        self._allow_loopback = allow_loopback

    async def identity(self, who: str) -> AccountIdentity:
        """The identity of a handle or DID, verified both ways. Raises OAuthError."""
        name = _INVISIBLE.sub("", who).removeprefix("at://").removeprefix("@")
        handle = None if is_did(name) else _handle(name)
        did = Did(name) if handle is None else await self._named_by(handle)
        known = await self._network.resolve(did, anew=True)
        if known.pds is None:
            raise OAuthRefused("account_not_found", f"There is no account {did}, or it has no server.")
        if handle is not None and known.handle is None:
            raise Unavailable(f"The handle {handle} of {did} could not be checked.")
        if handle is not None and known.handle != handle:
            raise OAuthRefused("identity_mismatch", f"The account that {handle} leads to does not go by it.")
        return AccountIdentity(did, None if known.handle == INVALID_HANDLE else known.handle, known.pds)

    async def server(self, pds: str) -> AuthorizationServer:
        """The authorization server of a PDS, verified in both documents. Raises OAuthError."""
        resource = await self._document(pds + RESOURCE_PATH, ProtectedResource)
        if resource.resource.rstrip("/") != pds or len(resource.authorization_servers) != 1:
            raise _unsuitable("does not name the one server to sign in at")
        issuer = resource.authorization_servers[0]
        if not self._is_origin(issuer):
            raise _unsuitable("names a server to sign in at that has no proper address")
        metadata = await self._document(issuer + SERVER_PATH, ServerMetadata)
        if metadata.issuer != issuer:
            raise _unsuitable("names a server to sign in at that calls itself otherwise")
        if metadata.protected_resources is not None and pds not in metadata.protected_resources:
            raise _unsuitable("names a server to sign in at that does not know it")
        return self._checked(metadata)

    async def _named_by(self, handle: Handle) -> Did:
        named = await self._network.find(handle)
        if named is None or not is_did(named):
            raise OAuthRefused("identity_not_found", f"There is no account with the handle {handle}.")
        return Did(named)

    async def _document(self, url: str, model: type[Document]) -> Document:
        response = await self._network.send(
            "GET",
            url,
            headers={"Accept": "application/json"},
            max_bytes=DOCUMENT_BYTES,
            timeout_seconds=DOCUMENT_SECONDS,
        )
        if response.status == 429 or response.status >= 500:
            raise Unavailable("Your server is unavailable at the moment.", f"[{response.status}]")
        if response.status != 200:
            raise _unsuitable("does not say how to sign in", f"[{response.status}]")
        try:
            return model.model_validate_json(response.body)
        except ValidationError as error:
            raise _unsuitable("does not say how to sign in", responses.describe_fault(error)) from None

    def _checked(self, metadata: ServerMetadata) -> AuthorizationServer:
        """The server, if it supports all that we need."""
        lacking = next((name for name, is_there in self._needed(metadata).items() if not is_there), None)
        if lacking is not None:
            raise _unsuitable(f"does not offer {lacking}")
        assert metadata.pushed_authorization_request_endpoint is not None
        return AuthorizationServer(
            issuer=metadata.issuer,
            authorization_endpoint=metadata.authorization_endpoint,
            token_endpoint=metadata.token_endpoint,
            par_endpoint=metadata.pushed_authorization_request_endpoint,
            revocation_endpoint=metadata.revocation_endpoint,
        )

    def _needed(self, metadata: ServerMetadata) -> dict[str, bool]:
        """The features that we rely on, and whether the server has each."""
        method = "private_key_jwt" if self._confidential else "none"
        algorithms = metadata.token_endpoint_auth_signing_alg_values_supported
        addresses = (
            metadata.authorization_endpoint,
            metadata.token_endpoint,
            metadata.pushed_authorization_request_endpoint,
            metadata.revocation_endpoint or metadata.token_endpoint,
        )
        return {
            "pushed authorization requests": metadata.pushed_authorization_request_endpoint is not None,
            "proper addresses": all(self._is_address(url) for url in addresses if url is not None),
            "authorization codes": "code" in metadata.response_types_supported
            and {"authorization_code", "refresh_token"} <= set(metadata.grant_types_supported),
            "PKCE with S256": "S256" in metadata.code_challenge_methods_supported,
            f"DPoP with {ALGORITHM}": ALGORITHM in metadata.dpop_signing_alg_values_supported,
            f"{method} for clients": method in metadata.token_endpoint_auth_methods_supported,
            f"{ALGORITHM} for clients": not self._confidential or ALGORITHM in algorithms,
            "its name in its answers": metadata.authorization_response_iss_parameter_supported,
            "clients that describe themselves": metadata.client_id_metadata_document_supported,
            "AT Protocol accounts": ATPROTO in metadata.scopes_supported,
        }

    def _is_address(self, text: str) -> bool:
        """A web address that browsers may be redirected to, and forms posted to."""
        try:
            url = URL(text)
        except ValueError:
            return False
        is_loopback = self._allow_loopback and url.host in _LOOPBACK
        return bool(
            url.host
            and (url.scheme == "https" or (url.scheme == "http" and is_loopback))
            and url.user is None
            and not url.fragment
        )

    def _is_origin(self, text: str) -> bool:
        return self._is_address(text) and str(URL(text).origin()) == text


def _handle(name: str) -> Handle:
    if not is_handle(name):
        raise OAuthRefused("identity_not_found", "This is neither a handle nor a DID.")
    return Handle(name.lower())


def _unsuitable(what: str, said: str = "") -> OAuthRefused:
    return OAuthRefused("server_unsuitable", f"Your server {what}.", said)
