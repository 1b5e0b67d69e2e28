"""A proof is for one request, by whoever holds the key."""

import time

from joserfc import jwt
from joserfc.jwk import ECKey
from yarl import URL

from readapi.oauth import dpop, keys

KEY = keys.generate_key()
ADDRESS = URL("https://pds.example.com/xrpc/app.do?what=this#there")


def test_a_proof_names_the_request_and_carries_the_key() -> None:
    """But not the query, and only the public half."""
    token = dpop.make_proof(KEY, "POST", ADDRESS, "nonce", "access")

    header = jwt.decode(token, keys.read_private_key(KEY)).header
    proven = jwt.decode(token, ECKey.import_key(header["jwk"]))

    assert header["typ"] == "dpop+jwt"
    assert set(header["jwk"]) == {"kty", "crv", "x", "y"}
    assert proven.claims["htm"] == "POST"
    assert proven.claims["htu"] == "https://pds.example.com/xrpc/app.do"
    assert proven.claims["nonce"] == "nonce"
    assert proven.claims["ath"] == dpop.hash_text("access")
    assert abs(proven.claims["iat"] - time.time()) < 5


def test_no_two_proofs_are_the_same() -> None:
    """And what is not known is not in them."""
    one, other = (
        jwt.decode(dpop.make_proof(KEY, "GET", ADDRESS, None, None), keys.read_private_key(KEY)) for _ in "ab"
    )

    assert one.claims["jti"] != other.claims["jti"]
    assert set(one.claims) == {"jti", "htm", "htu", "iat"}


def test_digests_are_those_of_the_rfc() -> None:
    """The example of https://www.rfc-editor.org/rfc/rfc7636#appendix-B."""
    challenge = dpop.hash_text("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")

    assert challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
