"""The stream loses, repeats, reorders and damages events, and breaks off in every way."""

import random
from typing import Any

from tests.network.meddling import (
    Drop,
    Meddler,
    Repeat,
    Rewrite,
    Shuffle,
    Spoil,
    flipped,
    noise,
    of,
    truncated,
)
from tests.network.pds import Account
from tests.network.relay import Cut, Refuse
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import publish, track

CLOSE_CODES = (1000, 1001, 1008, 1011, 1012, 1013, 4000)


async def _writes_through(world: World, account: Account, *meddlers: Meddler) -> None:
    """A track is made, changed and deleted, another stays, while the stream is meddled with."""
    async with world.relay.meddling(*meddlers):
        await publish(account, "Stays")
        song = await publish(account, "Goes")
        await account.put_record(COLLECTIONS.track, song.rkey, track("Goes Soon"))
        await account.delete_record(COLLECTIONS.track, song.rkey)
        await world.relay.has_seen_all()


async def commits_are_lost(world: World) -> None:
    """The next one that arrives does not chain."""
    await _writes_through(world, world.ada, Drop(of(world.ada.did, kinds=("#commit",))))

    await publish(world.ada, "After The Gap")


async def a_delete_is_lost(world: World) -> None:
    """What is not there any more is found out with the rest."""
    song = await publish(world.bob, "Deleted Unheard")
    await world.settled()
    async with world.relay.meddling(Drop(of(world.bob.did))):
        await world.bob.delete_record(COLLECTIONS.track, song.rkey)
        await world.relay.has_seen_all()

    await publish(world.bob, "After The Delete")


async def the_newest_commit_is_lost(world: World) -> None:
    """Nothing comes after it that could tell: the comparison with the server does."""
    async with world.relay.meddling(Drop(of(world.ada.did))):
        await publish(world.ada, "Nobody Heard")
        await world.relay.has_seen_all()

    await world.lose_sight()


async def commits_are_lost_and_a_sync_follows(world: World) -> None:
    """As when a server has lost track of what it sent."""
    carol = await world.person("carol")
    await publish(carol, "Before")
    await world.settled()
    await _writes_through(world, carol, Drop(of(carol.did, kinds=("#commit",))))

    await carol.pds.rotate_key(carol.did)


async def events_are_repeated(world: World) -> None:
    """Each three times, under numbers of their own."""
    await _writes_through(world, world.ada, Repeat(of(world.ada.did), 3))


async def commits_of_one_repo_are_reordered(world: World) -> None:
    """The newest comes before those that it follows."""
    dice = random.Random(7)

    await _writes_through(world, world.ada, Shuffle(of(world.ada.did), 3, dice))


async def commits_of_several_repos_are_reordered(world: World) -> None:
    """Each repo's own among others'."""
    dice = random.Random(8)
    async with world.relay.meddling(Shuffle(of(world.ada.did, world.bob.did), 6, dice)):
        for number in range(6):
            await publish(world.ada, f"Ada's {number}")
            await publish(world.bob, f"Bob's {number}")
        await world.relay.has_seen_all()


async def frames_end_too_early(world: World) -> None:
    """Nobody can read whose they were."""
    await _writes_through(world, world.ada, Spoil(of(world.ada.did), truncated))

    await publish(world.ada, "Whole Again")


async def a_block_is_not_what_its_cid_says(world: World) -> None:
    """One bit is wrong; the frame says whose repo to mend."""
    await _writes_through(world, world.ada, Spoil(of(world.ada.did, kinds=("#commit",)), flipped))


async def frames_are_noise(world: World) -> None:
    """They have no number, and are stepped over."""
    await _writes_through(world, world.ada, Spoil(of(world.ada.did), noise))

    await publish(world.ada, "Words Again")


async def a_relay_lies_about_operations(world: World) -> None:
    """It says that a record was deleted which the signed tree holds."""

    def lie(body: dict[str, Any]) -> dict[str, Any]:
        deleted = [operation | {"action": "delete", "cid": None} for operation in body["ops"]]
        return body | {"ops": deleted}

    song = await publish(world.ada, "Still There")
    await world.settled()
    async with world.relay.meddling(Rewrite(of(world.ada.did, kinds=("#commit",)), lie)):
        await world.ada.put_record(COLLECTIONS.track, song.rkey, track("Still There, Changed"))
        await world.relay.has_seen_all()


async def a_relay_hides_operations(world: World) -> None:
    """It sends commits on without saying what is in them."""
    await publish(world.bob, "In Full Sight")
    await world.settled()

    await _writes_through(
        world, world.bob, Rewrite(of(world.bob.did, kinds=("#commit",)), lambda body: body | {"ops": []})
    )


async def a_relay_sends_a_commit_under_a_false_name(world: World) -> None:
    """One account's arrives as another's."""
    async with world.relay.meddling(
        Rewrite(of(world.ada.did, kinds=("#commit",)), lambda body: body | {"repo": world.bob.did})
    ):
        await publish(world.ada, "Under A False Name")
        await world.relay.has_seen_all()

    await publish(world.ada, "Under Her Own")


async def the_relay_closes_with_every_code(world: World) -> None:
    """And each time goes on where it was."""
    for code in CLOSE_CODES:
        await world.relay.disconnect(code)
        await publish(world.ada, f"After {code}")
        await world.settled()


async def a_frame_is_cut_in_the_middle(world: World) -> None:
    """At once, and again after two more frames."""
    world.relay.faults = [Cut(after=2)]
    world.relay.cut()
    for number in range(4):
        await publish(world.bob, f"Around The Cut {number}")


async def the_relay_refuses_to_be_asked(world: World) -> None:
    """Unwell, and too busy."""
    world.relay.faults = [Refuse(503), Refuse(429, "1"), Refuse(500)]
    await world.relay.disconnect(1012)
    await publish(world.ada, "Meanwhile")


async def the_relay_forgets_what_was_not_read(world: World) -> None:
    """OutdatedCursor: creates, changes and deletes fall into the gap."""
    song, gone = await publish(world.ada, "Before The Gap"), await publish(world.bob, "Gone In The Gap")
    await world.settled()
    await world.relay.stall()
    await world.ada.put_record(COLLECTIONS.track, song.rkey, track("Changed In The Gap"))
    await world.bob.delete_record(COLLECTIONS.track, gone.rkey)
    await publish(world.bob, "Made In The Gap")
    carol = await world.person("carol")
    await publish(carol, "By Somebody New, In The Gap")

    await world.lose_sight()


async def the_relay_begins_to_count_anew(world: World) -> None:
    """FutureCursor: its window and its numbers are gone, and with them what was not read."""
    await world.settled()
    await world.relay.stall()
    await publish(world.ada, "Before The Loss")
    await world.relay.has_seen_all()
    await world.relay.renumber()
    await world.relay.stall(False)

    await publish(world.bob, "After The Loss")


async def the_relay_goes_back(world: World) -> None:
    """It sends again what it sent long ago."""
    song = await publish(world.ada, "Deleted Once")
    await world.ada.delete_record(COLLECTIONS.track, song.rkey)
    await world.settled()
    world.relay.rewind(60)
    await world.relay.disconnect(1011)

    await publish(world.ada, "After The Return")


async def the_relay_falls_silent(world: World) -> None:
    """And says all of it afterwards."""
    await world.relay.stall()
    await _writes_through(world, world.ada)
    await world.relay.stall(False)


async def the_relay_has_a_lot_to_say(world: World) -> None:
    """Ten thousand events of others before ours."""
    await world.relay.flood(10_000)

    await publish(world.ada, "After The Flood")


ALL = (
    commits_are_lost,
    a_delete_is_lost,
    the_newest_commit_is_lost,
    commits_are_lost_and_a_sync_follows,
    events_are_repeated,
    commits_of_one_repo_are_reordered,
    commits_of_several_repos_are_reordered,
    frames_end_too_early,
    a_block_is_not_what_its_cid_says,
    frames_are_noise,
    a_relay_lies_about_operations,
    a_relay_hides_operations,
    a_relay_sends_a_commit_under_a_false_name,
    the_relay_closes_with_every_code,
    a_frame_is_cut_in_the_middle,
    the_relay_refuses_to_be_asked,
    the_relay_forgets_what_was_not_read,
    the_relay_begins_to_count_anew,
    the_relay_goes_back,
    the_relay_falls_silent,
    the_relay_has_a_lot_to_say,
)
