"""Keys are read as operators keep them, published without their secret, and sign what servers can check."""

import orjson
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OKPKey

from readapi.oauth import keys
from readapi.oauth.keys import Keys

ONE, OTHER = keys.generate_key(), keys.generate_key()
PEM = keys.read_private_key(ONE).as_pem(private=True).decode()


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        f"[{ONE}]",
        f'{{"keys": [{ONE}]}}',
        PEM,
        f"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n{PEM}",
        orjson.dumps({**orjson.loads(ONE), "kid": "mine", "key_ops": ["verify"], "alg": "none"}).decode(),
    ],
)
def test_a_key_is_the_same_however_it_is_written(text: str) -> None:
    """Its name is its thumbprint."""
    assert Keys.read(text).names == (keys.read_private_key(ONE).thumbprint(),)


def test_the_first_key_is_the_newest() -> None:
    other = keys.read_private_key(OTHER).as_pem(private=True).decode()
    names = tuple(keys.read_private_key(key).thumbprint() for key in (OTHER, ONE))

    assert Keys.read(f"[{OTHER}, {ONE}]").names == names
    assert Keys.read(other + PEM).names == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither private keys in PEM nor JSON"),
        ("a password", "neither private keys in PEM nor JSON"),
        (keys.read_private_key(ONE).as_pem(private=False).decode(), "neither private keys in PEM nor JSON"),
        ("[]", "there is no key"),
        ('{"keys": []}', "there is no key"),
        ('"key"', "there is no key"),
        ("{}", "not the key of an elliptic curve"),
        ("[1]", "not the key of an elliptic curve"),
        ('{"kty": "EC", "crv": "P-256", "x": "a", "y": "b", "d": "c"}', "not the key of an elliptic curve"),
        (orjson.dumps(OKPKey.generate_key("Ed25519").as_dict(private=True)).decode(), "not "),
        (orjson.dumps(ECKey.generate_key("P-384").as_dict(private=True)).decode(), "P-256"),
        (orjson.dumps(keys.public_jwk(keys.read_private_key(ONE))).decode(), "not a private key"),
    ],
)
def test_what_is_no_key_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Keys.read(text)


def test_only_the_public_half_is_published() -> None:
    published = Keys.read(f"[{ONE},{OTHER}]").published()

    assert [set(key) for key in published["keys"]] == [{"kty", "crv", "x", "y", "kid", "use", "alg"}] * 2
    assert KeySet.import_key_set(published)


def test_what_we_say_of_ourselves_can_be_checked() -> None:
    """With the published keys, by the one server that it is for, once."""
    ours = Keys.read(f"[{ONE},{OTHER}]")
    older = ours.names[1]
    form = ours.authentication(older, "https://music.example/client", "https://server.example")
    again = ours.authentication(older, "https://music.example/client", "https://server.example")

    token = jwt.decode(form["client_assertion"], KeySet.import_key_set(ours.published()))

    assert token.header["kid"] == older
    assert token.claims["iss"] == token.claims["sub"] == "https://music.example/client"
    assert token.claims["aud"] == "https://server.example"
    assert token.claims["exp"] - token.claims["iat"] == 60
    assert form["client_assertion"] != again["client_assertion"]
