"""Template variables of the sign-in and settings pages."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from readapi.pages.form_errors import FRESH, FormErrors
from readapi.pages.notices import Notice
from readapi.pages.portal.permissions import Permissions
from readapi.pages.return_address import Landing
from readapi.pds.signing_in import TokenMade
from readapi.state.publishing.preferences import Preferences
from readapi.state.sign_in.developer_tokens import DeveloperToken
from readapi.state.sign_in.linked_accounts import LinkedAccount
from readapi.state.sign_in.sessions import Session
from schemas.api.auth import DEFAULT_DAYS, MOST_DAYS
from schemas.api.webhooks import Webhook

View = dict[str, object]


def of_login(to: Landing, note: Notice | None = None, attempt: FormErrors = FRESH) -> View:
    """For the sign-in page, which leads on to the page `to`."""
    return {"to": to, "note": note, "attempt": attempt}


def of_arrival(exchange_token: str) -> View:
    """For the page with the exchange token, after a sign-in that a program began."""
    return {"note": None, "exchange_token": exchange_token}


def of_start(name: str, parameter: str) -> View:
    """For the page that confirms a sign-in begun by a link; `parameter`: the name's query parameter."""
    return {"note": None, "name": name, "parameter": parameter}


def of_settings(
    session: Session,
    accounts: Sequence[LinkedAccount],
    permissions: Permissions,
    chosen: Preferences,
    tokens: Sequence[DeveloperToken],
    collections: Mapping[str, str],
    webhooks: Sequence[Webhook],
    note: Notice | None = None,
    attempt: FormErrors = FRESH,
) -> View:
    """For the settings page. `collections`: names of record types by their NSIDs."""
    return {
        "note": attempt.note or note,
        "attempt": attempt,
        "session": session,
        "accounts": accounts,
        "permissions": permissions,
        "shows_adult": chosen.show_adult,
        "shows_playing": chosen.show_playing,
        "tokens": tokens,
        "webhooks": webhooks,
        "token_choices": [(token.id, token.name, None) for token in tokens if token.ended_because is None],
        "token_names": {token.id: token.name for token in tokens},
        "collections": collections,
        "default_days": DEFAULT_DAYS,
        "most_days": MOST_DAYS,
    }


def of_webhook_secret(url: str, secret: str, previous_until: datetime | None = None) -> View:
    """For the page that shows a webhook's new secret, once."""
    return {"note": None, "url": url, "secret": secret, "previous_until": previous_until}


def of_token(made: TokenMade) -> View:
    """For the page that shows a new developer token, once."""
    return {"note": None, "made": made}
