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
    "adult-shown",
    "adult-hidden",
    "playing-shown",
    "playing-hidden",
    "webhook-resumed",
    "webhook-deleted",
    "profile-saved",
    "profile-saved-not-shown",
    "template-saved",
    "upload-begun",
    "uploads-begun",
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
    "permissions-changed": "Your server answered. The permissions that it granted are listed below.",
    "token-revoked": "The token was revoked. Programs that use it are refused from now on.",
    "likes-shown": "Others see on your profile which tracks you like.",
    "likes-hidden": "Others do not see on your profile which tracks you like.",
    "adult-shown": "Lists and pages show you what labels say is for adults.",
    "adult-hidden": "Lists and pages leave out what labels say is for adults.",
    "playing-shown": "Others see what you are listening to.",
    "playing-hidden": "Others do not see what you are listening to.",
    "webhook-resumed": "The webhook goes on from where it was.",
    "webhook-deleted": "The webhook was deleted. Nothing is sent to it from now on.",
    "profile-saved": "Your profile was saved.",
    "profile-saved-not-shown": "Your profile was saved on your server, but is not shown here yet. "
    "Reload this page in a minute.",
    "template-saved": "The Portal template was saved. It applies to new tracks.",
    "upload-begun": "The file was received and is being processed.",
    "uploads-begun": "The files were received and are being processed, one after the other.",
    "track-saved": "The track was saved.",
    "track-deleted": "The track was deleted.",
    "restoring-begun": "The earlier recording is being restored.",
    "change-begun": "The change has started. It takes effect when it is completed.",
    "album-created": "The album was created.",
    "album-saved": "The album was saved.",
    "order-saved": "The order was saved.",
    "rights-saved": "Your rights metadata was saved. It is attached where a template says so.",
    "album-deleted": "The album was deleted. Its tracks were kept.",
}
_BAD: dict[str, str] = {
    "sign-in-first": "You are not signed in, so nothing was changed. Sign in to go on.",
    "permission-missing": "You have not granted the permission for this, so nothing was changed. "
    "Request it in the settings.",
    "expired": "This sign-in was completed already, or took too long. If something is missing, start again.",
    "access_denied": "You declined on your server’s page, so nothing changed.",
    "identity_not_found": "There is no account with this name on the network.",
    "account_not_found": "There is no account with this name on the network.",
    "identity_mismatch": "A different account signed in than the one you named, or the account has moved.",
    "callback_mismatch": "This took too long, or was not started in this browser. Start again.",
    "server_unsuitable": "Your server does not support what signing in here requires.",
    "server_unavailable": "Your server is unavailable at the moment. Try again later.",
    "server_refused": "Your server refused. Start again.",
    "client_refused": "Your server does not accept this service. Its operator has to resolve that.",
    "invalid_grant": "This sign-in has expired at your server. Start again.",
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
