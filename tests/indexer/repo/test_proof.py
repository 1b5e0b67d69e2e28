"""A server's proof of one record is read only as far as its hashes, its commit and its tree agree."""

from datetime import timedelta

import libipld
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.control import prove
from indexer.network.http.client import Answered, Outbound
from indexer.network.identity.dns import Dns
from indexer.repo import car, proof, signing_keys
from indexer.repo.proof import ProofError
from indexer.repo.signing_keys import Key
from schemas.ids import AtUri
from tests.network.doubles import Pages
from tests.network.forge import START, ForgedRepo

PROFILE = "fm.svc.actor.profile"
NOW = START + timedelta(hours=1)
ANYBODY = ForgedRepo(seed="anybody")


@pytest.fixture
def repo() -> ForgedRepo:
    forged = ForgedRepo(seed="proof")
    forged.create(PROFILE, {"createdAt": "2025-01-01T00:00:00Z"}, rkey="self")
    forged.commit_frame(1)
    return forged


def uri(repo: ForgedRepo, rkey: str = "self") -> AtUri:
    return AtUri.parse(f"at://{repo.did}/{PROFILE}/{rkey}")


def key(repo: ForgedRepo) -> Key:
    return signing_keys.parse_key(repo.key.multibase)


def with_commit(repo: ForgedRepo, **changes: object) -> bytes:
    """The proof of the profile under a commit that says something else, and is signed."""
    opened = car.read_car(repo.record_proof(PROFILE, "self"))
    commit = libipld.decode_dag_cbor(opened.blocks.pop(opened.roots[0])) | changes
    del commit["sig"]
    commit["sig"] = repo.key.sign(libipld.encode_dag_cbor(commit))
    block = libipld.encode_dag_cbor(commit)
    return car.write_car([car.cid_of(block)], [(car.cid_of(block), block), *opened.blocks.items()])


def test_a_record_is_read_with_the_commits_rev(repo: ForgedRepo) -> None:
    found = proof.verify_proof(repo.record_proof(PROFILE, "self"), uri(repo), NOW, key(repo))

    assert found.rev == repo.rev
    assert found.block is not None
    assert libipld.decode_dag_cbor(found.block)["createdAt"] == "2025-01-01T00:00:00Z"
    assert found.cid == libipld.encode_multibase("b", car.cid_of(found.block))


def test_absence_is_read_with_the_commits_rev(repo: ForgedRepo) -> None:
    found = proof.verify_proof(repo.record_proof(PROFILE, "other"), uri(repo, "other"), NOW, key(repo))

    assert (found.rev, found.cid, found.block) == (repo.rev, None, None)


def test_a_proof_that_somebody_else_signed_is_refused(repo: ForgedRepo) -> None:
    with pytest.raises(ProofError, match="signature"):
        proof.verify_proof(repo.record_proof(PROFILE, "self"), uri(repo), NOW, key(ANYBODY))


def test_another_accounts_proof_is_refused(repo: ForgedRepo) -> None:
    other = ForgedRepo(seed="other")

    with pytest.raises(ProofError, match="another account"):
        proof.verify_proof(repo.record_proof(PROFILE, "self"), uri(other), NOW, key(repo))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"version": 2}, "version 3"),
        ({"rev": "x"}, "not a TID"),
        ({"rev": None}, "not a TID"),
        ({"data": None}, "no tree"),
        ({"data": car.cid_of(b"elsewhere")}, "missing"),
    ],
)
def test_a_commit_that_does_not_hold_is_refused(
    repo: ForgedRepo, changes: dict[str, object], why: str
) -> None:
    with pytest.raises(ProofError, match=why):
        proof.verify_proof(with_commit(repo, **changes), uri(repo), NOW, key(repo))


def test_a_rev_of_the_future_is_refused(repo: ForgedRepo) -> None:
    """Such a rev would win against every honest version for ever."""
    with pytest.raises(ProofError, match="future"):
        proof.verify_proof(
            repo.record_proof(PROFILE, "self"), uri(repo), START - timedelta(hours=1), key(repo)
        )


def test_a_flipped_byte_anywhere_is_refused(repo: ForgedRepo) -> None:
    whole = repo.record_proof(PROFILE, "self")
    for at in range(60, len(whole), 7):
        flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        with pytest.raises(ProofError):
            proof.verify_proof(flipped, uri(repo), NOW, key(repo))


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused(answer: bytes) -> None:
    with pytest.raises(ProofError):
        proof.verify_proof(answer, uri(ANYBODY), NOW, key(ANYBODY))


async def test_the_proof_is_fetched_from_the_accounts_server(repo: ForgedRepo) -> None:
    """did:web identifiers keep their percent signs on the way."""
    repo.did = "did:web:localhost%3A2583"
    repo.commit_frame(2)
    async with Pages() as server, Outbound(Dns(), allow_loopback=True) as outbound:
        ask = (
            f"/xrpc/com.atproto.sync.getRecord?did=did:web:localhost%253A2583&collection={PROFILE}&rkey=self"
        )
        server.answers[ask] = (200, repo.record_proof(PROFILE, "self"))

        sent = await prove.fetch_proof(outbound, server.url, uri(repo))
        with pytest.raises(Answered):
            await prove.fetch_proof(outbound, server.url, uri(repo, "other"))

    assert sent == repo.record_proof(PROFILE, "self")
