"""What comes back with a person from their server's page. Pure: whoever likes can send anything here."""

import hmac
from collections.abc import Mapping

from readapi.oauth.errors import Denied, OAuthError, Refused, Unavailable, told
from readapi.oauth.grant import Flight

_PASSING = ("server_error", "temporarily_unavailable")


def code(flight: Flight, params: Mapping[str, str]) -> str:
    """The code that came back, if this is the answer to what was begun. Raises OAuthError."""
    if not hmac.compare_digest(params.get("state", "").encode(), flight.state.encode()):
        raise Refused("callback_mismatch", "This answer is to something that was not asked here.")
    # Another server's answer, led here to have its code shown to this one, says so.
    if params.get("iss") != flight.server.issuer:
        raise Refused("callback_mismatch", "This answer is not from the server that was asked.")
    if "error" in params:
        raise _refusal(params["error"], params.get("error_description", ""))
    if not params.get("code"):
        raise Refused("callback_mismatch", "This answer has no code in it.")
    return params["code"]


def _refusal(error: str, description: str) -> OAuthError:
    if error == "access_denied":
        return Denied()
    if error in _PASSING:
        return Unavailable("Your server cannot sign you in just now.")
    return Refused("server_refused", "Your server refused to sign you in.", upstream=told(error, description))
