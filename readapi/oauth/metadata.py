"""This service as an OAuth client: its metadata document and its public keys.

On https the client id is the address of the document. With keys it is a confidential client, without them a
public one, whose grants last two weeks at most. On plain http it is the loopback client for development:
servers fetch nothing, and derive the document from the client id.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from yarl import URL

from readapi.oauth import scopes
from readapi.oauth.keys import ALGORITHM, Keys
from schemas.collections import Collections
from schemas.settings import PREFIX, Settings, SettingsError

DOCUMENT_PATH = "/meta/oauth-client-metadata.json"
JWKS_PATH = "/.well-known/jwks.json"
CALLBACK_PATH = "/auth/callback"
_LOOPBACK_ID = "http://localhost"
_LOOPBACK_HOST = "127.0.0.1"  # the name localhost is refused in a redirect


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """The client metadata. `name` is shown to users when they sign in.

    `texts`: the members of the document about the operator's texts, and where these are.
    """

    name: str
    base_url: str
    keys: Keys
    collections: Collections
    texts: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "ClientMetadata":
        """Build it from the settings. Raises SettingsError when the keys are unusable."""
        keys = Keys()
        if settings.oauth_keys is not None:
            try:
                keys = Keys.read(settings.oauth_keys.get_secret_value())
            except ValueError as error:
                raise SettingsError(f"{PREFIX}OAUTH_KEYS: {error}.") from None
        folder = settings.texts_dir
        texts = [
            (member, f"{settings.base_url}/{name}")
            for member, name in (("tos_uri", "terms"), ("policy_uri", "privacy"))
            if folder is not None and (folder / f"{name}.txt").is_file()
        ]
        return cls(settings.oauth_client_name, settings.base_url, keys, settings.collections, tuple(texts))

    @property
    def is_confidential(self) -> bool:
        return bool(self.keys.names)

    @property
    def is_published(self) -> bool:
        """Whether servers can fetch the document."""
        return self.base_url.startswith("https://")

    @property
    def key_names(self) -> tuple[str | None, ...]:
        """The keys that grants may have begun with, the newest first; None stands for no key."""
        return self.keys.names or (None,)

    @property
    def scope(self) -> str:
        """All scopes that may ever be requested."""
        return " ".join(scopes.all_scopes(self.collections))

    @property
    def client_id(self) -> str:
        if self.is_published:
            return self.base_url + DOCUMENT_PATH
        return f"{_LOOPBACK_ID}?{urlencode({'redirect_uri': self.redirect_uri, 'scope': self.scope})}"

    @property
    def redirect_uri(self) -> str:
        """The address of the callback."""
        if self.is_published:
            return self.base_url + CALLBACK_PATH
        return f"http://{_LOOPBACK_HOST}:{URL(self.base_url).port}{CALLBACK_PATH}"

    def document(self) -> dict[str, Any]:
        """The client metadata document: https://atproto.com/specs/oauth#client-id-metadata-document"""
        return {
            "client_id": self.client_id,
            "client_name": self.name,
            "redirect_uris": [self.redirect_uri],
            "scope": self.scope,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "dpop_bound_access_tokens": True,
            **({"client_uri": self.base_url, **dict(self.texts)} if self.is_published else {}),
            "application_type": "web" if self.is_published else "native",
            **(self._confidential() if self.is_confidential else {"token_endpoint_auth_method": "none"}),
        }

    def authentication(self, key: str | None, issuer: str) -> dict[str, str]:
        """The form fields of client authentication for one server."""
        known = {"client_id": self.client_id}
        return known if key is None else known | self.keys.authentication(key, self.client_id, issuer)

    def _confidential(self) -> dict[str, Any]:
        return {
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_signing_alg": ALGORITHM,
            "jwks_uri": self.base_url + JWKS_PATH,
        }
