"""A proof is held to the key that the account has now; what proves nothing is told in a sentence."""

from collections.abc import AsyncIterator
from itertools import repeat

import pytest

from indexer.control.prove import NotProven, Prover
from indexer.network.http.client import Outbound
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.dns import Dns
from indexer.network.identity.handles import Handles
from indexer.network.identity.resolver import Resolver
from schemas.ids import AtUri
from tests import documents
from tests.network.doubles import KEY
from tests.network.forge import ForgedRepo
from tests.network.forged_network import Corrupt, ForgedNetwork
from tests.network.relay import Refuse

TRACK = "fm.svc.track"


@pytest.fixture
def ana() -> ForgedRepo:
    repo = ForgedRepo(seed="ana")
    repo.create(TRACK, documents.least("track"), rkey="3kznmn7xqxl22")
    repo.commit_frame(1)
    return repo


@pytest.fixture
async def network_of_ana(ana: ForgedRepo) -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork([ana]) as network:
        yield network


@pytest.fixture
async def prover(network_of_ana: ForgedNetwork) -> AsyncIterator[Prover]:
    dns = Dns()
    async with Outbound(dns, allow_loopback=True) as outbound:
        handles = Handles(outbound, dns, service=network_of_ana.url, allow_test=True)
        # Doubts are obeyed at once.
        resolver = Resolver(
            outbound, handles, plc_url=network_of_ana.url, allow_loopback=True, retry_seconds=0.0001
        )
        yield Prover(resolver, outbound, HostTurns(own=[network_of_ana.url]))


def uri(repo: ForgedRepo, rkey: str = "3kznmn7xqxl22") -> AtUri:
    return AtUri.parse(f"at://{repo.did}/{TRACK}/{rkey}")


async def test_a_proof_comes_with_its_car(prover: Prover, ana: ForgedRepo) -> None:
    """The bytes are those that the server sent."""
    proven = await prover.prove(uri(ana))

    assert proven.proof.rev == ana.rev
    assert proven.car == ana.record_proof(TRACK, "3kznmn7xqxl22")


async def test_absence_is_proven_too(prover: Prover, ana: ForgedRepo) -> None:
    """No CID, but a rev: as of then it is not there."""
    proven = await prover.prove(uri(ana, "absent"))

    assert (proven.proof.cid, proven.proof.rev) == (None, ana.rev)


async def test_a_new_key_is_asked_for_when_the_old_one_fails(
    prover: Prover, network_of_ana: ForgedNetwork, ana: ForgedRepo
) -> None:
    """The directory was right the second time."""
    network_of_ana.keys[ana.did] = KEY
    with pytest.raises(NotProven, match="does not hold"):
        await prover.prove(uri(ana))
    network_of_ana.keys.clear()

    assert (await prover.prove(uri(ana))).proof.rev == ana.rev


@pytest.mark.parametrize(
    ("fault", "told", "missing"),
    [
        (Refuse(500), "does not give the record: the server answered 500", False),
        (Refuse(404), "does not give the record: the server answered 404", True),
        (Corrupt(), "sent a proof that does not hold", False),
    ],
)
async def test_a_server_that_fails_is_told_of(
    prover: Prover, network_of_ana: ForgedNetwork, ana: ForgedRepo, fault: object, told: str, missing: bool
) -> None:
    """And whether that means that the record is not there."""
    network_of_ana.faults["getRecord"] = repeat(fault)

    with pytest.raises(NotProven, match=told) as failed:
        await prover.prove(uri(ana))

    assert failed.value.missing is missing


async def test_an_account_without_a_server_has_no_records(
    prover: Prover, network_of_ana: ForgedNetwork
) -> None:
    """Nobody knows the DID."""
    with pytest.raises(NotProven, match="has no personal data server") as failed:
        await prover.prove(uri(ForgedRepo(seed="nobody")))

    assert failed.value.missing
