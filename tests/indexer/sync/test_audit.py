"""The audit finds every repo that is not what its server has, and troubles nobody about the others."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from indexer.network.http.client import Outbound
from indexer.network.http.throttle import HostTurns
from indexer.network.identity.dns import Dns
from indexer.sync import audit
from indexer.sync.audit import Audit, Audited
from schemas.ids import Did, Tid
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Refuse
from tests.network.testnet import Testnet

LIKE = "fm.svc.like"
OLDER, NEWER = Tid("2222222222222"), Tid("7zzzzzzzzzzzz")


class Ours:
    """What we have, and what we were told has drifted."""

    def __init__(self) -> None:
        self.repos: dict[Did, Audited] = {}
        self.drifted: list[Did] = []
        self.meanwhile: Callable[[], object] = lambda: None  # called from the second look at a repo on
        self._listed: set[Did] = set()

    def take(self, url: str, *repos: ForgedRepo) -> None:
        """As of now."""
        for repo in repos:
            self.have(url, repo, Tid(repo.rev or ""))

    def have(self, url: str, repo: ForgedRepo, rev: Tid) -> None:
        self.repos[Did(repo.did)] = Audited(Did(repo.did), url, rev)

    def now(self, did: Did) -> Audited | None:
        if did in self._listed:
            self.meanwhile()
        self._listed.add(did)
        return self.repos.get(did)

    @asynccontextmanager
    async def audited(self) -> AsyncIterator[Audit]:
        async with Outbound(Dns(), allow_loopback=True) as outbound:
            yield Audit(
                outbound,
                HostTurns(),
                repos=self.repos,
                ours=self.now,
                drifted=self.drifted.append,
                grace_seconds=0.01,
            )

    async def check(self) -> Counter[audit.Outcome]:
        async with self.audited() as audit_:
            return await audit_.check_all()


@pytest.fixture
def ours() -> Ours:
    return Ours()


def repos(count: int) -> list[ForgedRepo]:
    made = [ForgedRepo(seed=f"audited {number}") for number in range(count)]
    for repo in made:
        repo.create(LIKE, {})
        repo.commit_frame(1)
    return made


async def test_only_what_differs_is_fetched_again(ours: Ours) -> None:
    behind, *others = repos(20)
    async with ForgedNetwork([behind, *others]) as net:
        ours.take(net.url, behind, *others)
        behind.create(LIKE, {})
        behind.commit_frame(2)

        found = await ours.check()

    assert found == {"same": 19, "drifted": 1}
    assert ours.drifted == [behind.did]
    assert net.asked == {"getLatestCommit": 20, "getBlocks": 1}


async def test_a_server_that_fell_behind_has_drifted_too(ours: Ours) -> None:
    """Restored from a backup, it says something else than we show."""
    [repo] = repos(1)
    async with ForgedNetwork([repo]) as net:
        ours.have(net.url, repo, NEWER)

        assert await ours.check() == {"drifted": 1}


@pytest.mark.parametrize("delivered", [lambda rev: rev, lambda _: NEWER])
async def test_what_the_stream_brings_in_the_meantime_is_no_drift(
    ours: Ours, delivered: Callable[[Tid], Tid]
) -> None:
    """The very commit that the server told of, or that and more."""
    [repo] = repos(1)
    async with ForgedNetwork([repo]) as net:
        ours.have(net.url, repo, OLDER)
        looks = itertools.count()

        def deliver() -> None:
            if next(looks):
                ours.have(net.url, repo, delivered(Tid(repo.rev or "")))

        ours.meanwhile = deliver

        assert await ours.check() == {"same": 1}

    assert ours.drifted == []


async def test_a_repo_that_is_being_mended_is_left_to_that(ours: Ours) -> None:
    [repo] = repos(1)
    async with ForgedNetwork([repo]) as net:
        ours.have(net.url, repo, OLDER)
        ours.meanwhile = ours.repos.clear

        assert await ours.check() == {"in repair": 1}

    assert ours.drifted == []


async def test_a_server_that_an_account_has_left_says_nothing_about_it(ours: Ours) -> None:
    """That it moved is heard of while the server that it was on answers."""
    [repo] = repos(1)
    async with ForgedNetwork([repo]) as left, ForgedNetwork([repo]) as there:
        ours.take(left.url, repo)
        left.status[repo.did] = "deactivated"
        looks = itertools.count()
        ours.meanwhile = lambda: next(looks) and ours.take(there.url, repo)

        assert await ours.check() == {"moved": 1}

    assert ours.drifted == []


async def test_a_repo_that_is_gone_has_drifted(ours: Ours) -> None:
    """The stream should have told us of the account."""
    gone, there = repos(2)
    async with ForgedNetwork([gone, there]) as net:
        ours.take(net.url, gone, there)
        net.status[gone.did] = "takendown"

        assert await ours.check() == {"gone": 1, "same": 1}

    assert ours.drifted == [gone.did]


async def test_a_server_that_cannot_be_asked_says_nothing_about_its_repos(ours: Ours) -> None:
    first, second, third = repos(3)
    async with ForgedNetwork([first, second, third]) as net:
        ours.take(net.url, first, second, third)
        net.faults["getLatestCommit"] = iter([Refuse(500), Refuse(404)])

        assert await ours.check() == {"unreachable": 2, "same": 1}

    assert ours.drifted == []


async def test_a_pause_is_kept_and_then_all_is_compared(ours: Ours) -> None:
    made = repos(6)
    async with ForgedNetwork(made) as net:
        ours.take(net.url, *made)
        net.faults["getLatestCommit"] = iter([None, Refuse(429, retry_after="0")])

        assert await ours.check() == {"same": 6}


def test_every_repo_has_one_hour_of_the_day() -> None:
    """However the day is cut into looks."""
    dids = [Did(f"did:plc:{number}") for number in range(500)]
    start = 1_767_225_600.0 + 12_345
    for looks in (1, 24, 1440):
        step = audit.PERIOD_SECONDS / looks
        found = Counter(
            did
            for look in range(looks)
            for did in dids
            if audit.is_due(did, start + look * step, start + (look + 1) * step)
        )
        assert found == Counter(dids)


async def test_others_have_their_turns_while_many_repos_are_looked_at(ours: Ours) -> None:
    """None of these is active, so nothing is asked of any host."""
    ours.repos = dict.fromkeys(map(Did, map("did:plc:{}".format, range(20 * audit.AT_A_TIME))))  # type: ignore[arg-type]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    outcomes = await ours.check()
    beside.cancel()

    assert not outcomes
    assert turns >= 20


def test_the_work_is_spread_over_the_day() -> None:
    dids = [Did(f"did:plc:{number}") for number in range(2400)]

    hours = [sum(audit.is_due(did, hour * 3600, (hour + 1) * 3600) for did in dids) for hour in range(24)]

    assert min(hours) > 60
    assert max(hours) < 140


async def test_a_commit_that_cannot_be_had_is_as_new_as_is_said(ours: Ours) -> None:
    """Not every server gives single blocks."""
    [repo] = repos(1)
    async with ForgedNetwork([repo]) as net:
        net.missing.add("getBlocks")
        ours.have(net.url, repo, OLDER)

        assert await ours.check() == {"drifted": 1}


@pytest.mark.network
async def test_a_real_server_is_asked_for_its_newest_commit(ours: Ours, net: Testnet) -> None:
    account = await net.pds[0].create_account("audited.test")
    latest = await net.pds[0].get("com.atproto.sync.getLatestCommit", did=account.did)
    did = Did(account.did)
    ours.repos[did] = Audited(did, net.pds[0].url, Tid(latest["rev"]))
    assert await ours.check() == {"same": 1}

    await account.create_record("fm.svc.thing", {})
    assert await ours.check() == {"drifted": 1}

    await account.deactivate()
    assert await ours.check() == {"gone": 1}
