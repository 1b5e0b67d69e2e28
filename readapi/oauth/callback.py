"""Checks the parameters of the OAuth callback, which may be forged by anyone. Pure."""

import hmac
from collections.abc import Mapping

from readapi.oauth.errors import Denied, OAuthError, OAuthRefused, Unavailable, quote_upstream
from readapi.oauth.grant import PendingAuthorization

_PASSING = ("server_error", "temporarily_unavailable")


def check_code(pending: PendingAuthorization, params: Mapping[str, str]) -> str:
    """The authorization code, if the callback belongs to this authorization. Raises OAuthError."""
    if not hmac.compare_digest(params.get("state", "").encode(), pending.state.encode()):
        raise OAuthRefused("callback_mismatch", "This answer does not belong to a sign-in of this service.")
    # RFC 9207: a mismatch means a mix-up attack, in which another server's code would be sent to this one.
    if params.get("iss") != pending.server.issuer:
        raise OAuthRefused(
            "callback_mismatch", "This answer is not from the server that was used to sign in."
        )
    if "error" in params:
        raise _refusal(params["error"], params.get("error_description", ""))
    if not params.get("code"):
        raise OAuthRefused("callback_mismatch", "This answer contains no authorization code.")
    return params["code"]


def _refusal(error: str, description: str) -> OAuthError:
    if error == "access_denied":
        return Denied()
    if error in _PASSING:
        return Unavailable("Your server cannot sign you in at the moment.")
    return OAuthRefused(
        "server_refused", "Your server refused to sign you in.", upstream=quote_upstream(error, description)
    )
