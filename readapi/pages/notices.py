"""Notices that a page shows after a form's action. URLs contain only their names, so no text is injected."""

from dataclasses import dataclass
from typing import Literal

from readapi.pages import return_address
from readapi.pages.return_address import Landing

Deed = Literal[
    "signed-in",
    "signed-out",
    "account-added",
    "account-switched",
    "account-removed",
    "permissions-changed",
    "token-revoked",
    "profile-saved",
    "template-saved",
    "upload-begun",
    "track-saved",
    "track-deleted",
    "restoring-begun",
    "change-begun",
    "album-created",
    "album-saved",
    "order-saved",
    "rights-saved",
    "album-deleted",
]
RETURN = "/login/return"
ARRIVED = "/login/arrived"

_GOOD: dict[str, str] = {
    "signed-in": "You are signed in.",
    "signed-out": "You are signed out.",
    "account-added": "The account was added.",
    "account-switched": "You are using another account.",
    "account-removed": "The account was removed.",
    "permissions-changed": "Your server’s answer was noted: below is what it granted.",
    "token-revoked": "The token was revoked: programs that use it are refused from this moment on.",
    "profile-saved": "Your profile was saved.",
    "template-saved": "The Portal template was saved: new tracks get it.",
    "upload-begun": "The file has arrived, and is being worked on.",
    "track-saved": "The track was saved.",
    "track-deleted": "The track was deleted.",
    "restoring-begun": "The earlier recording is being restored.",
    "change-begun": "The change was begun; it holds once it is completed.",
    "album-created": "The album was created.",
    "album-saved": "The album was saved.",
    "order-saved": "The order was saved.",
    "rights-saved": "Your rights metadata was saved: it is attached where a template says so.",
    "album-deleted": "The album was deleted; its tracks are there still.",
}
_BAD: dict[str, str] = {
    "expired": "That was finished already, or took too long. If something is missing, start again.",
    "access_denied": "You did not agree on your server’s page, so nothing changed.",
    "identity_not_found": "There is no account of this name on the network.",
    "account_not_found": "There is no account of this name on the network.",
    "identity_mismatch": "Somebody else signed in than the account that was named, or it has moved.",
    "callback_mismatch": "That took too long, or was not begun here. Start again.",
    "server_unsuitable": "Your server does not do what signing in here needs.",
    "server_unavailable": "Your server cannot be asked just now. Try again later.",
    "server_refused": "Your server refused. Start again.",
    "client_refused": "Your server does not accept this service. Whoever runs it must see to that.",
    "invalid_grant": "Your server does not know this sign-in any more. Start again.",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence, and whether it reports a failure."""

    sentence: str
    is_bad: bool


def find_notice(name: str | None, account: str | None = None) -> Notice | None:
    """The notice of this name; None for unknown names. `account`: the signed-in account, as pages name it."""
    if name == "signed-in" and account is not None:
        return Notice(f"You are signed in as {account}.", is_bad=False)
    if name in _BAD:
        return Notice(_BAD[name], is_bad=True)
    return Notice(_GOOD[name], is_bad=False) if name in _GOOD else None


def return_url(deed: Deed, to: Landing = "settings") -> str:
    """The return URL of an authorization for this action, which then leads to the page `to`."""
    return f"{RETURN}?{return_address.return_query(to, done=deed)}"
