"""A signature holds under the key that made it, in one form only."""

import base64
import hashlib

import coincurve
import libipld
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.network.identity import did_documents
from indexer.repo import signing_keys
from indexer.repo.signing_keys import KeyFault
from tests import interop
from tests.network.doubles import ALICE, document
from tests.network.forge import Curve, SigningKey

MESSAGE = b"Lua"
ORDERS = {
    "k256": 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141,
    "p256": 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
}
CURVES: tuple[Curve, ...] = ("k256", "p256")


def unpadded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4))


def test_the_public_signatures_hold_or_not_as_they_say() -> None:
    """Of both curves, and with high-S and DER among those that do not."""
    for case in interop.cases("crypto/signature-fixtures.json"):
        key = signing_keys.parse_key(case["publicKeyDid"].removeprefix("did:key:"))
        signature, message = unpadded(case["signatureBase64"]), unpadded(case["messageBase64"])

        assert key.verifies(signature, message) is case["validSignature"], case["comment"]


def test_the_public_keys_are_the_same_in_a_did_document() -> None:
    """Where they stand without the name of their curve."""
    for case in interop.cases("crypto/signature-fixtures.json"):
        method = {
            "id": "#atproto",
            "type": case["didDocSuite"],
            "publicKeyMultibase": case["publicKeyMultibase"],
        }
        found = did_documents.parse_document(ALICE, document(verificationMethod=[method]))

        assert found.signing_key == case["publicKeyDid"].removeprefix("did:key:")


def test_the_public_k256_keys_are_read() -> None:
    """Signed with the private half, verified with what is published."""
    for case in interop.cases("crypto/w3c_didkey_K256.json"):
        private = coincurve.PrivateKey(bytes.fromhex(case["privateKeyBytesHex"]))
        key = signing_keys.parse_key(case["publicDidKey"].removeprefix("did:key:"))

        assert key.curve == "k256"
        assert key.verifies(private.sign_recoverable(MESSAGE)[:64], MESSAGE)


def test_the_public_p256_keys_are_read() -> None:
    for case in interop.cases("crypto/w3c_didkey_P256.json"):
        _, secret = libipld.decode_multibase(f"z{case['privateKeyBytesBase58']}")
        private = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
        point = private.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
        )
        key = signing_keys.parse_key(case["publicDidKey"].removeprefix("did:key:"))

        assert key.curve == "p256"
        assert libipld.decode_multibase(key.multibase)[1][2:] == point


@pytest.mark.parametrize("curve", CURVES)
def test_a_signature_holds_for_its_message_and_its_key_only(curve: Curve) -> None:
    signer, other = SigningKey("ana", curve), SigningKey("ben", curve)
    signature = signer.sign(MESSAGE)

    assert signing_keys.parse_key(signer.multibase).verifies(signature, MESSAGE)
    assert not signing_keys.parse_key(signer.multibase).verifies(signature, b"Sol")
    assert not signing_keys.parse_key(other.multibase).verifies(signature, MESSAGE)


@pytest.mark.parametrize("curve", CURVES)
def test_the_other_signature_of_the_same_key_is_refused(curve: Curve) -> None:
    """Mathematics lets two hold for each message; atproto takes the one with the lower S."""
    signer = SigningKey("ana", curve)
    signature = signer.sign(MESSAGE)
    high = ORDERS[curve] - int.from_bytes(signature[32:], "big")

    assert not signing_keys.parse_key(signer.multibase).verifies(
        signature[:32] + high.to_bytes(32, "big"), MESSAGE
    )


@pytest.mark.parametrize("curve", CURVES)
def test_a_signature_in_another_form_is_refused(curve: Curve) -> None:
    key = signing_keys.parse_key(SigningKey("ana", curve).multibase)
    signature = SigningKey("ana", curve).sign(MESSAGE)

    for other in (b"", signature[:-1], signature + b"\0", bytes(64), bytes(32) + signature[32:]):
        assert not key.verifies(other, MESSAGE)
    assert not key.verifies(ORDERS[curve].to_bytes(32, "big") + signature[32:], MESSAGE)


@pytest.mark.parametrize("curve", CURVES)
@settings(max_examples=50)
@given(signature=st.binary(min_size=64, max_size=64))
def test_random_signatures_do_not_hold(curve: Curve, signature: bytes) -> None:
    assert not signing_keys.parse_key(SigningKey("ana", curve).multibase).verifies(signature, MESSAGE)


def test_both_libraries_are_asked_about_the_same_hash() -> None:
    """SHA-256 of the message."""
    private = coincurve.PrivateKey(hashlib.sha256(b"key ana").digest())
    signed = private.sign_recoverable(hashlib.sha256(MESSAGE).digest(), hasher=None)[:64]

    assert signing_keys.parse_key(SigningKey("ana").multibase).verifies(signed, MESSAGE)


K256, P256 = b"\xe7\x01", b"\x80\x24"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "base58"),
        ("did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", "base58"),
        ("z0OIl", "base58"),
        ("mAQIDBA", "base58"),
        ("z", "curve"),
        (libipld.encode_multibase("z", b"\xed\x01" + bytes(32)), "curve"),
        (libipld.encode_multibase("z", K256 + b"\x02" + bytes(31)), "compressed point"),
        (libipld.encode_multibase("z", K256 + b"\x04" + bytes(64)), "compressed point"),
        (libipld.encode_multibase("z", K256 + b"\x02" + bytes(32)), "not a point"),
        (libipld.encode_multibase("z", K256 + b"\x02" + b"\xff" * 32), "not a point"),
        (libipld.encode_multibase("z", P256 + b"\x02" + b"\xff" * 32), "not a point"),
        (libipld.encode_multibase("z", P256 + b"\x05" + bytes(32)), "not a point"),
        ("z" + "2" * 10_000, "base58|curve"),
    ],
)
def test_what_is_no_key_says_why(written: str, why: str) -> None:
    with pytest.raises(KeyFault, match=why):
        signing_keys.parse_key(written)


def test_a_key_is_parsed_once() -> None:
    written = SigningKey("kept").multibase

    assert signing_keys.parse_key(written) is signing_keys.parse_key(written)
