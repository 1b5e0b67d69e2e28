"""The directory and the servers do not answer, or not as they should."""

import itertools

from tests.network.gate import Corrupt, Stall
from tests.network.meddling import Drop, of
from tests.network.pds import Account
from tests.network.relay import Cut, Refuse
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import everything, publish, track


async def _falls_behind(world: World, account: Account) -> None:
    """A change of theirs is lost, and the next one shows it: the repo has to be fetched."""
    async with world.relay.meddling(Drop(of(account.did))):
        await publish(account, "Lost On The Way")
        await world.relay.has_seen_all()
    await publish(account, "After The Gap")


async def the_directory_is_down_when_somebody_appears(world: World) -> None:
    """Who they are cannot be told until it is back."""
    world.plc.faults = itertools.repeat(Refuse(503))
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()

    world.plc.faults = iter(())


async def the_directory_is_down_when_a_key_is_rotated(world: World) -> None:
    """Commits that cannot be verified are kept until they can."""
    carol = await world.person("carol")
    song = await everything(carol)
    await world.settled()
    world.plc.faults = itertools.repeat(Refuse(500))
    await carol.pds.rotate_key(carol.did)
    await carol.put_record(COLLECTIONS.track, song.rkey, track("Signed Anew"))
    await publish(carol, "Also Signed Anew")
    await world.settled()

    world.plc.faults = iter(())


async def the_directory_is_down_while_an_account_moves(world: World) -> None:
    """And still when it writes at its new place."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()
    world.plc.faults = itertools.repeat(Stall(0.3))
    moved = await carol.migrate(world.net.pds[1])
    world.plc.faults = itertools.repeat(Refuse(503))
    await publish(moved, "At The New Place")
    await world.settled()

    world.plc.faults = iter(())


async def handles_cannot_be_resolved(world: World) -> None:
    """A change of name waits."""
    carol = await world.person("carol")
    await publish(carol, "By Carol")
    await world.settled()
    world.names.faults = itertools.repeat(Refuse(502))
    await carol.change_handle(f"later-{carol.handle}")
    await world.settled()

    world.names.faults = iter(())


async def a_server_is_down_during_a_resync(world: World) -> None:
    """The repo is tried again until it answers; what is written meanwhile is kept."""
    world.servers[0].faults = itertools.repeat(Refuse(500))
    await _falls_behind(world, world.ada)
    await world.settled()
    await publish(world.ada, "While It Is Down")
    await world.settled()

    world.servers[0].faults = iter(())


async def a_server_asks_for_a_pause(world: World) -> None:
    """Too many requests: it is left alone for a second."""
    world.servers[1].faults = iter([Refuse(429, "1")])

    await _falls_behind(world, world.bob)


async def a_server_sends_a_broken_repo(world: World) -> None:
    """Wrong bytes first, then half of it, then all."""
    world.servers[0].faults = iter([Corrupt(), Cut(200), Corrupt()])

    await _falls_behind(world, world.ada)


async def a_server_is_slow_while_more_is_written(world: World) -> None:
    """What is fetched is older than what has arrived meanwhile."""
    world.servers[1].faults = iter([Stall(0.8), Stall(0.8)])

    await _falls_behind(world, world.bob)
    for number in range(4):
        song = await publish(world.bob, f"Meanwhile {number}")
        await world.bob.put_record(COLLECTIONS.track, song.rkey, track(f"Meanwhile {number}, changed"))


ALL = (
    the_directory_is_down_when_somebody_appears,
    the_directory_is_down_when_a_key_is_rotated,
    the_directory_is_down_while_an_account_moves,
    handles_cannot_be_resolved,
    a_server_is_down_during_a_resync,
    a_server_asks_for_a_pause,
    a_server_sends_a_broken_repo,
    a_server_is_slow_while_more_is_written,
)
