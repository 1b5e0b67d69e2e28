"""The forms of the settings page, and their translation into API requests. Pure."""

from pydantic import Field

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from schemas.api.auth import AddAccount, WantedToken
from schemas.api.webhooks import WantedWebhook


class AccountForm(PageForm):
    """The handle or DID of an account that is to sign in."""

    handle: str = ""

    def wanted(self) -> AddAccount:
        """Raises InvalidRequest."""
        if not self.handle.strip():
            raise InvalidRequest.of_field("handle", "Write a handle, such as ada.example.com.")
        return self.fitted(AddAccount, self.values())


class TokenForm(PageForm):
    """A new developer token. Without days it has the default lifetime."""

    name: str = ""
    expires_in_days: str = ""

    def wanted(self) -> WantedToken:
        """Raises InvalidRequest."""
        return self.fitted(WantedToken, self.values())


class WebhookForm(PageForm):
    """A new webhook. Names of artists and tags are separated by commas or spaces."""

    url: str = ""
    token_id: str = ""
    wanted_collections: list[str] = Field(default_factory=list)
    artists: str = ""
    tags: str = ""
    cards: str | None = None

    def wanted(self) -> WantedWebhook:
        """Raises InvalidRequest."""
        lists = {"artists": _words(self.artists), "tags": _words(self.tags)}
        told = {"url": self.url, "token_id": self.token_id, "wanted_collections": self.wanted_collections}
        return self.fitted(WantedWebhook, {**told, **lists, "cards": self.cards is not None})

    def values(self) -> dict[str, str]:
        """As for other forms; the chosen collections are one text, with spaces between."""
        return {**super().values(), "wanted_collections": " ".join(self.wanted_collections)}


def _words(text: str) -> list[str]:
    """The names in a field, which commas and spaces separate."""
    return text.replace(",", " ").split()
