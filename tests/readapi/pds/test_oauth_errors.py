"""What a person's own server refuses is told in our words, with its own beside them."""

import orjson
import pytest

from indexer.network.http.client import Reply
from readapi.errors import InvalidRequest, NotFound, PdsDown, PdsRefused
from readapi.oauth import responses
from readapi.oauth.errors import OAuthError, OAuthRefused, Unavailable
from readapi.pds import oauth_errors


def refused(error: str, description: str) -> OAuthError:
    """As an authorization server says it."""
    said = {"error": error, "error_description": description}
    return responses.read_refusal(Reply(400, {}, orjson.dumps(said)))


def test_a_refusal_has_the_servers_own_words() -> None:
    """Its error and its message, under `upstream`; whether somebody was to leave or came back."""
    error = refused("invalid_scope", "No such scope.")

    for refusal in (oauth_errors.start_refusal(error), oauth_errors.callback_refusal(error)):
        assert orjson.loads(refusal.answer().body) == {
            "detail": "pds_refused",
            "message": "Your server refused this application.",
            "upstream": {"error": "invalid_scope", "message": "No such scope."},
        }


def test_where_no_server_spoke_there_are_no_words() -> None:
    """It lacks something, or cannot be asked."""
    unsuitable = oauth_errors.start_refusal(
        OAuthRefused("server_unsuitable", "Your server does not say how.")
    )

    assert orjson.loads(unsuitable.answer().body).keys() == {"detail", "message"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OAuthRefused("identity_not_found", "Nobody."), InvalidRequest),
        (OAuthRefused("account_not_found", "No such account."), NotFound),
        (Unavailable("Down."), PdsDown),
        (OAuthRefused("client_refused", "Unknown."), PdsRefused),
    ],
)
def test_a_start_that_fails_is_refused(error: OAuthError, kind: type[Exception]) -> None:
    """By whatever leads somebody to their server."""
    with pytest.raises(kind), oauth_errors.translate_start():
        raise error
