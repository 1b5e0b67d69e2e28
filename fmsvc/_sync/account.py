"""The account's preferences, linked accounts, sessions and developer tokens."""

from typing import Any

from fmsvc._sync.http import Http
from fmsvc.answers import parse_model, parse_object
from fmsvc.models import Preferences as Values
from fmsvc.models import PublishingDefaults


class Preferences:
    """The account's preferences."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self) -> Values:
        """The preferences. Needs a token."""
        return self._http.get(Values, "preferences", "", signed_in=True)

    def update(
        self,
        *,
        publishing: PublishingDefaults | None = None,
        scrobbling: bool | None = None,
        rights: dict[str, Any] | None = None,
        show_playing: bool | None = None,
    ) -> Values:
        """Change preferences; None stays. Needs a token."""
        sent = (self.get()).model_dump(mode="json")
        if publishing is not None:
            sent["publishing_defaults"] = publishing.model_dump()
        if scrobbling is not None:
            sent["scrobbling"] = scrobbling
        if rights is not None:
            sent["rights"] = rights
        if show_playing is not None:
            sent["show_playing"] = show_playing
        found = self._http.ask("PUT", "preferences", "", sent=sent, signed_in=True)
        return parse_model(Values, found)


class Session:
    """The session or developer token in use, and the account's others."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def logout(self) -> None:
        """End the session."""
        self._http.ask("POST", "auth", "logout", signed_in=True)

    def switch_account(self, did: str) -> dict[str, Any]:
        """Make a linked account the active one."""
        sent = {"target_did": did}
        return parse_object(self._http.ask("POST", "auth", "switch-account", sent=sent, signed_in=True))

    def drop_account(self, did: str) -> None:
        """Unlink an account."""
        self._http.ask("DELETE", "auth", "accounts", did, signed_in=True)

    def developer_tokens(self) -> dict[str, Any]:
        """The account's developer tokens, without their values."""
        return parse_object(self._http.ask("GET", "auth", "developer-tokens", signed_in=True))

    def revoke_developer_token(self, token_id: str) -> None:
        """Revoke one."""
        self._http.ask("DELETE", "auth", "developer-tokens", token_id, signed_in=True)
