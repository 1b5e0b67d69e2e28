"""Accounts come, change their names, keys and servers, hide, return and go."""

import itertools

from tests.network.meddling import Drop, Rewrite, deleted, of
from tests.network.relay import Refuse
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import ELSEWHERE, everything, like, publish, track


async def an_account_writes_its_first_record(world: World) -> None:
    """Right after it was made."""
    carol = await world.person("carol", pds=1)

    await publish(carol, "First")


async def an_accounts_beginnings_were_lost(world: World) -> None:
    """What it wrote before was never heard of; its first commit that arrives brings the rest."""
    carol = await world.person("carol", pds=1)
    async with world.relay.meddling(Drop(of(carol.did))):
        await everything(carol)
        await world.relay.has_seen_all()

    await publish(carol, "First That Arrives")


async def an_account_has_only_others_records_at_first(world: World) -> None:
    """Of them nothing is stored; ours begin in the middle of its chain."""
    carol = await world.person("carol")
    for number in range(3):
        await carol.create_record(ELSEWHERE, {"number": number})
    await world.settled()

    await publish(carol, "First Of Ours")


async def a_handle_changes(world: World) -> None:
    """And changes again at once."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()

    handle = carol.handle
    await carol.change_handle(f"new-{handle}")
    await carol.change_handle(f"newer-{handle}")


async def a_handle_moves_to_somebody_else(world: World) -> None:
    """Who had it goes by another name, who has it is known by it."""
    carol, dave = await world.person("carol"), await world.person("dave")
    await publish(carol, "Carol's")
    await publish(dave, "Dave's")
    await world.agrees()
    handle = carol.handle

    await carol.change_handle(f"former-{handle}")
    await dave.change_handle(handle)


async def an_account_is_deactivated(world: World) -> None:
    """All that it wrote is hidden, and its likes do not count."""
    carol = await world.person("carol")
    await everything(carol)
    await carol.create_record(COLLECTIONS.like, like(await publish(world.ada, "Liked For A While")))
    await world.settled()

    await carol.deactivate()


async def an_account_is_deactivated_and_comes_back(world: World) -> None:
    """With a change that it makes right afterwards."""
    carol = await world.person("carol", pds=1)
    song = await everything(carol)
    await carol.deactivate()
    await world.agrees()

    await carol.activate()
    await carol.put_record(COLLECTIONS.track, song.rkey, track("Back Again"))


async def an_account_comes_back_with_changes_that_were_lost(world: World) -> None:
    """What it wrote while nothing of it arrived is found when it is active again."""
    carol = await world.person("carol")
    song = await everything(carol)
    await carol.deactivate()
    await world.agrees()
    async with world.relay.meddling(Drop(of(carol.did))):
        await carol.activate()
        await carol.delete_record(COLLECTIONS.track, song.rkey)
        await publish(carol, "Written Unheard")
        await carol.deactivate()
        await world.relay.has_seen_all()

    await carol.activate()


async def an_account_comes_back_and_only_that_is_heard(world: World) -> None:
    """The #sync that follows an activation is lost; the status alone leads to what was missed."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()
    async with world.relay.meddling(Drop(of(carol.did, kinds=("#commit", "#sync", "#identity")))):
        await carol.deactivate()
        await world.settled()
        await carol.activate()
        await publish(carol, "Written Unheard")
        await world.relay.has_seen_all()
        await carol.deactivate()
        await world.settled()
        await carol.activate()
        await world.relay.has_seen_all()


async def an_account_comes_back_unheard(world: World) -> None:
    """With nothing new; only whoever asks learns of it."""
    carol = await world.person("carol")
    await everything(carol)
    await carol.deactivate()
    await world.agrees()
    async with world.relay.meddling(Drop(of(carol.did))):
        await carol.activate()
        await world.relay.has_seen_all()

    await world.lose_sight()


async def an_account_is_taken_down(world: World) -> None:
    """Its server gives out nothing of it any more."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()

    await carol.pds.set_takedown(carol.did, True)


async def an_account_is_taken_down_and_restored(world: World) -> None:
    """As it was."""
    carol = await world.person("carol")
    await everything(carol)
    await carol.pds.set_takedown(carol.did, True)
    await world.agrees()

    await carol.pds.set_takedown(carol.did, False)


async def an_account_is_deleted(world: World) -> None:
    """For good, with everything that it wrote and liked."""
    carol = await world.person("carol")
    await everything(carol)
    await carol.create_record(COLLECTIONS.like, like(await publish(world.bob, "Liked By Nobody")))
    await world.settled()

    await carol.delete_account()


async def an_account_is_deleted_unseen(world: World) -> None:
    """That it is gone comes out when every repo is compared with its server."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()
    async with world.relay.meddling(Drop(of(carol.did))):
        await carol.delete_account()
        await world.relay.has_seen_all()

    await world.lose_sight()


async def an_account_is_falsely_said_to_be_deleted(world: World) -> None:
    """The relay says so while the account's server is down; that has it still."""
    carol = await world.person("carol")
    await everything(carol)
    await world.agrees()
    world.servers[0].faults = itertools.repeat(Refuse(500))
    lie = Rewrite(of(carol.did, kinds=("#account",)), deleted)
    async with world.relay.meddling(lie):
        await carol.deactivate()
        await carol.activate()
        await world.settled()

    world.servers[0].faults = iter(())


async def a_key_is_rotated(world: World) -> None:
    """And what is written afterwards is signed with the new one."""
    carol = await world.person("carol")
    song = await everything(carol)
    await world.settled()

    await carol.pds.rotate_key(carol.did)
    await carol.put_record(COLLECTIONS.track, song.rkey, track("Signed Anew"))


async def a_key_is_rotated_unheard(world: World) -> None:
    """Neither #identity nor #sync arrive; the next commit's signature tells."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()
    async with world.relay.meddling(Drop(of(carol.did))):
        await carol.pds.rotate_key(carol.did)
        await world.relay.has_seen_all()

    await publish(carol, "Signed Anew")


async def an_account_moves(world: World) -> None:
    """To the other server, and writes nothing there: its newest commit is signed with a key it had before."""
    carol = await world.person("carol")
    await everything(carol)
    await world.settled()

    await carol.migrate(world.net.pds[1])


async def an_account_moves_and_writes_on(world: World) -> None:
    """Changing what it brought along."""
    carol = await world.person("carol")
    song = await everything(carol)
    await world.settled()

    moved = await carol.migrate(world.net.pds[1])
    await moved.put_record(COLLECTIONS.track, song.rkey, track("Changed At The New Place"))
    await publish(moved, "New At The New Place")


async def an_account_moves_unheard(world: World) -> None:
    """Its first commit at the new server is the first that arrives."""
    carol = await world.person("carol", pds=1)
    song = await everything(carol)
    await world.settled()
    async with world.relay.meddling(Drop(of(carol.did))):
        moved = await carol.migrate(world.net.pds[0])
        await moved.delete_record(COLLECTIONS.track, song.rkey)
        await world.relay.has_seen_all()

    await publish(moved, "Heard Again")


ALL = (
    an_account_writes_its_first_record,
    an_accounts_beginnings_were_lost,
    an_account_has_only_others_records_at_first,
    a_handle_changes,
    a_handle_moves_to_somebody_else,
    an_account_is_deactivated,
    an_account_is_deactivated_and_comes_back,
    an_account_comes_back_with_changes_that_were_lost,
    an_account_comes_back_and_only_that_is_heard,
    an_account_comes_back_unheard,
    an_account_is_taken_down,
    an_account_is_taken_down_and_restored,
    an_account_is_deleted,
    an_account_is_deleted_unseen,
    an_account_is_falsely_said_to_be_deleted,
    a_key_is_rotated,
    a_key_is_rotated_unheard,
    an_account_moves,
    an_account_moves_and_writes_on,
    an_account_moves_unheard,
)
