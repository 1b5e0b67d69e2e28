"""A repo that went quiet is compared once, soon, and no host is asked more than it should be."""

from datetime import UTC, datetime, timedelta

from indexer.sync import quiet_repos
from indexer.sync.audit import Audited
from indexer.sync.quiet_repos import QuietRepos
from schemas.ids import Did, Tid
from schemas.settings import Settings
from tests import documents
from tests.indexer.running import following, until
from tests.network.forge import ForgedRepo
from tests.network.forged_network import ForgedNetwork
from tests.network.relay import Relay

TRACK = "fm.svc.track"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def _never(_: object) -> None:
    raise AssertionError


def did(number: int) -> Did:
    return Did(f"did:plc:{number}")


def of(clock: Clock, hosts: int = 1000) -> QuietRepos:
    """Repos in step, spread over so many hosts."""
    return QuietRepos(
        lambda did: Audited(
            did, f"https://{int(did.rpartition(':')[2]) % hosts}.example", Tid("2222222222222")
        ),
        _never,
        clock,
    )


def asked(repos: list[Audited]) -> list[Did]:
    return [repo.did for repo in repos]


def test_a_repo_is_compared_once_after_it_went_quiet() -> None:
    """Not while it writes; and soon after the last commit, whenever that was."""
    clock = Clock()
    looked = of(clock)
    for _ in range(100):
        looked.heard(did(1))
        clock.now += quiet_repos.QUIET_SECONDS / 2
        assert looked.due() == []
    clock.now += quiet_repos.QUIET_SECONDS / 2

    assert asked(looked.due()) == [did(1)]
    clock.now += 100_000
    assert looked.due() == []


def test_one_that_writes_now_and_then_rests_between() -> None:
    """A commit a minute does not cost a question a minute, and the last of them is not forgotten."""
    clock = Clock()
    looked = of(clock)
    questions = 0
    for _ in range(60):
        looked.heard(did(1))
        clock.now += quiet_repos.QUIET_SECONDS + 1
        questions += len(looked.due())
    clock.now += quiet_repos.REST_SECONDS

    assert (
        questions + len(looked.due()) <= 60 * (quiet_repos.QUIET_SECONDS + 1) // quiet_repos.REST_SECONDS + 2
    )


def test_few_are_compared_at_a_time_and_fewer_of_a_host() -> None:
    """A wave of thousands takes minutes; all are compared in the end."""
    clock = Clock()
    many, one_host = of(clock), of(clock, hosts=1)
    for number in range(200):
        many.heard(did(number))
        one_host.heard(did(number))
    clock.now += quiet_repos.QUIET_SECONDS

    assert len(many.due()) == quiet_repos.AT_A_LOOK
    assert len(one_host.due()) == quiet_repos.AT_A_HOST
    rest = [looked for _ in range(100) for looked in asked(one_host.due())]
    assert len(set(rest)) == len(rest) == 200 - quiet_repos.AT_A_HOST


def test_what_waits_is_bounded() -> None:
    """Beyond that there is the daily audit."""
    clock = Clock()
    looked = of(clock)

    for number in range(quiet_repos.MOST + 100):
        looked.heard(did(number))

    assert len(looked._due) == quiet_repos.MOST


async def test_the_last_commit_that_the_relay_lost_is_found(
    impatient_settings: Settings, forged_network: ForgedNetwork
) -> None:
    """One question to the server of a repo that wrote, and the fetch that follows from it."""
    repo = ForgedRepo(seed="quiet", start=datetime.now(UTC) - timedelta(minutes=30))
    forged_network.add(repo)
    repo.create(TRACK, documents.least("track") | {"title": "Heard"})
    heard = repo.commit_frame(1)
    async with (
        Relay([heard]) as relay,
        following(impatient_settings, relay) as indexer,
    ):
        await indexer.reach(1)
        repo.create(TRACK, documents.least("track") | {"title": "Lost"})
        repo.commit_frame(2)  # which no relay tells of
        looked = indexer.indexer.upkeep.quiet
        assert looked.due() == []
        looked._clock = Clock()
        looked._clock.now = 1e12  # type: ignore[attr-defined]

        await looked._check(looked.due())

        await until(lambda: indexer.rows("select count(*) from tracks") == [(2,)])
        assert forged_network.asked["getLatestCommit"] == 1
