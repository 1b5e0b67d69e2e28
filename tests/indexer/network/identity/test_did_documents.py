"""A DID document's signing key is read in the forms that directories write it."""

import libipld
import orjson
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from indexer.network.identity import did_documents
from indexer.repo import signing_keys
from tests.network.doubles import ALICE, HOSTED, document, service
from tests.network.forge import Curve, SigningKey

NAMES = {"k256": "EcdsaSecp256k1VerificationKey2019", "p256": "EcdsaSecp256r1VerificationKey2019"}


@pytest.mark.parametrize("curve", ["k256", "p256"])
def test_a_key_from_before_multikey_is_read_as_one(curve: Curve) -> None:
    """A bare point without the name of its curve, compressed or not."""
    key = SigningKey("alice", curve)
    compressed = libipld.decode_multibase(key.multibase)[1][2:]

    for point in (compressed, uncompressed(compressed, curve)):
        bare = libipld.encode_multibase("z", point)
        method = {"id": f"{ALICE}#atproto", "type": NAMES[curve], "publicKeyMultibase": bare}
        found = did_documents.parse_document(ALICE, document(verificationMethod=[method]))

        assert found.signing_key == key.multibase
        assert signing_keys.parse_key(found.signing_key).verifies(key.sign(b"message"), b"message")


def test_spaces_have_a_host_and_a_key_of_their_own_or_those_of_the_account() -> None:
    """An address that nobody should be led to counts for none."""
    account, apart = SigningKey("alice").multibase, SigningKey("spaces").multibase
    keys_of_both = [
        {"id": f"#{name}", "type": "Multikey", "publicKeyMultibase": key}
        for name, key in (("atproto", account), ("atproto_space", apart))
    ]

    def served(endpoint: str) -> list[dict[str, object]]:
        entry: dict[str, object] = {"id": f"{ALICE}#atproto_space_host", "serviceEndpoint": endpoint}
        return [*service(HOSTED), entry]

    plain = did_documents.parse_document(ALICE, document(verificationMethod=keys_of_both[:1]))
    whole = document(verificationMethod=keys_of_both, service=served("https://spaces.example.com"))
    declared = did_documents.parse_document(ALICE, whole)
    inward = did_documents.parse_document(ALICE, document(service=served("https://169.254.169.254")))

    assert (plain.space_host, plain.space_key) == (HOSTED, account)
    assert (declared.space_host, declared.space_key) == ("https://spaces.example.com", apart)
    assert (declared.pds, declared.signing_key) == (HOSTED, account)
    assert inward.space_host == HOSTED


def uncompressed(point: bytes, curve: Curve) -> bytes:
    """Both coordinates."""
    known: ec.EllipticCurve = ec.SECP256K1() if curve == "k256" else ec.SECP256R1()
    key = ec.EllipticCurvePublicKey.from_encoded_point(known, point)
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def test_former_keys_are_read_from_the_log() -> None:
    """Newest first, each once, whatever else the log holds."""
    new, old = SigningKey("new").multibase, SigningKey("old").multibase
    log = [
        {"type": "create", "signingKey": "did:key:zOld", "handle": "ana.test"},
        *(
            {"type": "plc_operation", "verificationMethods": {"atproto": f"did:key:{key}"}}
            for key in (old, new)
        ),
        {"type": "plc_operation", "verificationMethods": {"atproto": f"did:key:{new}"}},
        {"type": "plc_operation", "verificationMethods": {"atproto": 7}},
        None,
    ]

    assert did_documents.former_keys(orjson.dumps(log)) == (new, old)
    with pytest.raises(ValueError, match="not a list"):
        did_documents.former_keys(b'{"message": "DID not registered"}')
