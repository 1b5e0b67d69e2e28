"""Servers are told who we are: by a document on https, else by the id of the loopback client."""

import pytest

from readapi.oauth import keys
from readapi.oauth.metadata import ClientMetadata
from schemas.settings import Settings, SettingsError

KEY = keys.generate_key()


def metadata(**variables: str) -> ClientMetadata:
    return ClientMetadata.of(
        Settings.from_environment({f"FMSVC_{n}": value for n, value in variables.items()})
    )


def test_with_keys_it_is_a_confidential_client() -> None:
    """Everything that servers ask for, spelled out."""
    told = metadata(PUBLIC_URL="https://music.example", OAUTH_KEYS=KEY, OAUTH_CLIENT_NAME="Music")

    assert told.document() == {
        "client_id": "https://music.example/meta/oauth-client-metadata.json",
        "client_name": "Music",
        "client_uri": "https://music.example",
        "redirect_uris": ["https://music.example/auth/callback"],
        "scope": "atproto repo:fm.svc.track repo:fm.svc.like repo:fm.svc.comment repo:fm.svc.list "
        "repo:fm.svc.actor.profile blob:*/* repo:fm.scrobbler.feed.play include:fm.svc.authFullApp "
        "space:fm.svc.privateTracks?authority=*&collection=fm.svc.track&manage=create",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "web",
        "dpop_bound_access_tokens": True,
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_signing_alg": "ES256",
        "jwks_uri": "https://music.example/.well-known/jwks.json",
    }
    assert len(told.keys.published()["keys"]) == 1


def test_without_keys_it_is_a_public_client() -> None:
    """On https servers fetch its document all the same, and ask for no proof of who it is."""
    told = metadata(PUBLIC_URL="https://music.example").document()

    assert told["client_id"] == "https://music.example/meta/oauth-client-metadata.json"
    assert told["redirect_uris"] == ["https://music.example/auth/callback"]
    assert (told["application_type"], told["token_endpoint_auth_method"]) == ("web", "none")
    assert not {"jwks_uri", "token_endpoint_auth_signing_alg"} & told.keys()


def test_on_plain_http_it_is_the_loopback_client() -> None:
    """People come back to this machine, by its address. A variable with nothing in it is none."""
    told = metadata(PORT="9000", OAUTH_KEYS="")

    assert told.client_id.startswith(
        "http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%3A9000%2Fauth%2Fcallback&scope=atproto+repo"
    )
    assert told.document()["redirect_uris"] == ["http://127.0.0.1:9000/auth/callback"]
    assert told.document()["token_endpoint_auth_method"] == "none"
    assert told.keys.published() == {"keys": []}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OAUTH_KEYS": KEY}, "FMSVC_OAUTH_KEYS needs an FMSVC_PUBLIC_URL that begins with https://"),
        (
            {"OAUTH_KEYS": "a secret", "PUBLIC_URL": "https://music.example"},
            "FMSVC_OAUTH_KEYS: neither private keys in PEM nor JSON.",
        ),
    ],
)
def test_keys_that_cannot_be_used_stop_the_start(variables: dict[str, str], said: str) -> None:
    """With a sentence that does not show them."""
    with pytest.raises(SettingsError) as refused:
        metadata(**variables)

    assert said in str(refused.value)
    assert not any(secret in str(refused.value) for secret in (KEY, "a secret"))


def test_settings_do_not_show_keys() -> None:
    told = Settings.from_environment({"FMSVC_PUBLIC_URL": "https://music.example", "FMSVC_OAUTH_KEYS": KEY})

    assert KEY not in repr(told)
