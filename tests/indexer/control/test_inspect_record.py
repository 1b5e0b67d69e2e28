"""Each check on a record is told by itself, and the first that fails says why."""

from collections.abc import AsyncIterator
from itertools import repeat
from pathlib import Path

import pytest

from indexer.control.inspect_record import NAMES, Check, inspect_record
from indexer.repo.proof import CHECKS
from schemas.ids import tid_at
from schemas.settings import Settings
from tests import documents
from tests.network.doubles import KEY
from tests.network.forge import START, ForgedRepo, Written
from tests.network.forged_network import Corrupt, ForgedNetwork
from tests.network.relay import Refuse

TRACK = "fm.svc.track"


@pytest.fixture
def ana() -> ForgedRepo:
    return ForgedRepo(seed="ana", start=START)


@pytest.fixture
def track(ana: ForgedRepo) -> Written:
    written = ana.create(TRACK, documents.least("track"))
    ana.commit_frame(1)
    return written


@pytest.fixture
async def network_of_ana(ana: ForgedRepo) -> AsyncIterator[ForgedNetwork]:
    async with ForgedNetwork([ana]) as network:
        yield network


async def checks(network: ForgedNetwork, uri: str) -> list[Check]:
    settings = Settings(
        data_dir=Path("nowhere"), plc_url=network.url, handle_resolver=network.url, allow_loopback=True
    )
    return [check async for check in inspect_record(settings, uri)]


async def failure(network: ForgedNetwork, uri: str) -> Check:
    """The one check that fails, all before it holding."""
    made = await checks(network, uri)
    failed = [check for check in made if not check.holds]
    assert [check.name for check in made] == list(NAMES[: len(made)])
    assert failed == made[-1:]
    return failed[0]


async def test_all_checks_of_a_sound_record_hold(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """One after another, each saying what it found."""
    made = await checks(network_of_ana, track.uri)
    told = {check.name: check.sentence for check in made}

    assert [check.name for check in made if check.holds] == list(NAMES)
    assert told["address"] == track.uri
    assert told["identity"] == f"{ana.did} lives at {network_of_ana.url}"
    assert (
        told["handle"] == f"{network_of_ana.handle(ana.did)}, claimed by the account and leading back to it"
    )
    assert told["key"] == f"{ana.key.multibase}, on k256"
    assert told["commit"] == f"rev {ana.rev}, of 2025-01-01 00:00:00 UTC"
    assert told["record"] == f"{track.cid}, in canonical form"


async def test_an_account_may_go_by_its_handle(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """The handle is resolved first."""
    by_handle = track.uri.replace(ana.did, network_of_ana.handle(ana.did))

    [first, *_] = await checks(network_of_ana, by_handle)

    assert first == Check("address", True, track.uri)


@pytest.mark.parametrize(
    "uri", ["", "at://", "at://nobody.example/fm.svc.track/self", "https://a.example", "at://x"]
)
async def test_what_is_no_address_is_told(network_of_ana: ForgedNetwork, uri: str) -> None:
    """Nothing else is asked then."""
    assert (await failure(network_of_ana, uri)).name == "address"


async def test_a_handle_that_names_nobody_is_not_called_malformed(network_of_ana: ForgedNetwork) -> None:
    """What is wrong is told, not what follows from it."""
    failed = await failure(network_of_ana, "at://nobody.test/fm.svc.track/self")

    assert failed.sentence.endswith("no account has the handle nobody.test")


async def test_an_account_that_is_not_there_is_told(network_of_ana: ForgedNetwork, track: Written) -> None:
    """The directory does not know it."""
    network_of_ana.repos.clear()

    assert (await failure(network_of_ana, track.uri)).name == "identity"


async def test_a_handle_that_leads_elsewhere_does_not_stop_the_rest(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """The record may be sound all the same; the whole is not."""
    bea = ForgedRepo(seed="bea")
    network_of_ana.add(bea)
    network_of_ana.handles |= {bea.did: "same.example", ana.did: "same.example"}
    network_of_ana.repos = {bea.did: bea, ana.did: ana}

    made = await checks(network_of_ana, track.uri)

    assert [check.name for check in made if not check.holds] == ["handle"]
    assert len(made) == len(NAMES)


async def test_another_key_does_not_verify(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """Blocks and commit hold; who signed is the question."""
    network_of_ana.keys[ana.did] = KEY

    assert await failure(network_of_ana, track.uri) == Check(
        "signature", False, "the signature is not the account's"
    )


async def test_an_unusable_key_is_told(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """Without it there is nothing to ask a server for."""
    network_of_ana.keys[ana.did] = "zQ3shNotAKey1111111111"

    assert (await failure(network_of_ana, track.uri)).name == "key"


async def test_a_server_that_refuses_is_told(network_of_ana: ForgedNetwork, track: Written) -> None:
    """With what it said."""
    network_of_ana.faults["getRecord"] = repeat(Refuse(503))

    failed = await failure(network_of_ana, track.uri)

    assert (failed.name, failed.sentence) == (
        "server",
        f"{network_of_ana.url} does not give the proof: the server answered 503",
    )


async def test_a_changed_byte_is_found(network_of_ana: ForgedNetwork, track: Written) -> None:
    """Wherever it is, some check fails."""
    network_of_ana.faults["getRecord"] = repeat(Corrupt())

    assert (await failure(network_of_ana, track.uri)).name in CHECKS


async def test_a_record_that_is_not_there_is_told(
    network_of_ana: ForgedNetwork, ana: ForgedRepo, track: Written
) -> None:
    """Proven: the signed tree has no place for it."""
    absent = track.uri.replace(track.rkey, tid_at(START))

    failed = await failure(network_of_ana, absent)

    assert (failed.name, failed.sentence) == ("path", f"the signed tree has no {TRACK}/{tid_at(START)}")


async def test_a_record_against_its_lexicon_is_told(network_of_ana: ForgedNetwork, ana: ForgedRepo) -> None:
    """And one of another collection, which we know no lexicon of."""
    untitled = ana.create(TRACK, {"artist": "Ana"})
    post = ana.create("app.bsky.feed.post", {"text": "hi"})
    ana.commit_frame(1)

    assert "title" in (await failure(network_of_ana, untitled.uri)).sentence
    assert (await failure(network_of_ana, post.uri)).name == "lexicon"
