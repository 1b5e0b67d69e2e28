"""The indexer is stopped, killed, and installed anew."""

import asyncio
import itertools
import signal

from tests.network.gate import Stall
from tests.network.meddling import Drop, of
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import everything, publish, track


async def it_is_stopped_and_started(world: World) -> None:
    """And finds on the stream what it missed."""
    song = await publish(world.ada, "Before The Stop")
    await world.indexer.end(signal.SIGTERM)
    await world.ada.put_record(COLLECTIONS.track, song.rkey, track("Changed Meanwhile"))
    await publish(world.bob, "Made Meanwhile")

    await world.indexer.start()


async def it_was_stopped_for_longer_than_the_window(world: World) -> None:
    """The stream begins later than it left; accounts that nobody knew are among what was missed."""
    song, gone = await publish(world.ada, "Before The Stop"), await publish(world.bob, "Gone Meanwhile")
    await world.settled()
    await world.indexer.end(signal.SIGTERM)
    await world.ada.put_record(COLLECTIONS.track, song.rkey, track("Changed Meanwhile"))
    await world.bob.delete_record(COLLECTIONS.track, gone.rkey)
    await world.relay.has_seen_all()
    world.relay.forget()

    await world.indexer.start()


async def it_is_killed_while_much_is_written(world: World) -> None:
    """Again and again."""
    for number in range(3):
        for take in range(5):
            await publish(world.ada, f"Round {number}, take {take}")
        await world.restart()


async def it_is_killed_during_a_resync(world: World) -> None:
    """The repo is still out of step at the next start, and mended then."""
    world.servers[0].faults = itertools.repeat(Stall(0.5))
    async with world.relay.meddling(Drop(of(world.ada.did))):
        await publish(world.ada, "Lost On The Way")
        await world.relay.has_seen_all()
    await publish(world.ada, "After The Gap")
    await world.settled()
    await world.restart()
    await publish(world.ada, "After The Kill")

    world.servers[0].faults = iter(())


async def a_new_install_says_the_same(world: World) -> None:
    """Without history, it ends as one that has followed from the start."""
    await everything(await world.person("carol", pds=1))
    moved = await (await world.person("dave")).migrate(world.net.pds[1])
    await publish(moved, "After The Move")
    world.relay.forget()

    async with world.newcomer("new") as newcomer:
        await newcomer.start()
        await world.agrees_with(newcomer)


async def a_new_install_is_killed_while_it_reads_what_there_is(world: World) -> None:
    """And goes on; changes arrive meanwhile."""
    world.relay.forget()
    for gate in world.servers:
        gate.faults = itertools.repeat(Stall(0.05))

    async with world.newcomer("killed") as newcomer:
        for pause in (1.5, 2.0):
            await newcomer.start()
            song = await publish(world.bob, "Meanwhile")
            await asyncio.sleep(pause)
            await newcomer.end(signal.SIGKILL)
            await world.bob.put_record(COLLECTIONS.track, song.rkey, track("Meanwhile, Changed"))
        for gate in world.servers:
            gate.faults = iter(())
        await newcomer.start()
        await world.agrees_with(newcomer)


ALL = (
    it_is_stopped_and_started,
    it_was_stopped_for_longer_than_the_window,
    it_is_killed_while_much_is_written,
    it_is_killed_during_a_resync,
    a_new_install_says_the_same,
    a_new_install_is_killed_while_it_reads_what_there_is,
)
