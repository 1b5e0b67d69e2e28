"""Records are written, changed and deleted."""

from tests.network.pds import Ref, Write
from tests.promises.scenarios.truth import COLLECTIONS
from tests.promises.scenarios.world import World
from tests.promises.scenarios.writing import (
    ANY_CID,
    ELSEWHERE,
    album,
    comment,
    everything,
    like,
    playlist,
    profile,
    publish,
    track,
)


async def a_track_is_created_changed_and_deleted(world: World) -> None:
    """One goes through all three, one stays as it was made, one as it was changed."""
    ada = world.ada
    await publish(ada, "Stays")
    changed, gone = await publish(ada, "Changes"), await publish(ada, "Goes")
    await world.settled()

    await ada.put_record(COLLECTIONS.track, changed.rkey, track("Changed", tags=["dub"]))
    await ada.put_record(COLLECTIONS.track, gone.rkey, track("Goes Soon"))
    await ada.delete_record(COLLECTIONS.track, gone.rkey)


async def a_like_is_created_moved_and_deleted(world: World) -> None:
    """From one track to another, and away."""
    ada, bob = world.ada, world.bob
    one, two = await publish(ada, "One"), await publish(ada, "Two")
    await ada.create_record(COLLECTIONS.like, like(one))
    moved = await bob.create_record(COLLECTIONS.like, like(one))
    gone = await bob.create_record(COLLECTIONS.like, like(two))
    await world.settled()

    await bob.put_record(COLLECTIONS.like, moved.rkey, like(two))
    await bob.delete_record(COLLECTIONS.like, gone.rkey)


async def a_comment_is_created_changed_and_deleted(world: World) -> None:
    """By somebody on another server than the track's."""
    ada, bob = world.ada, world.bob
    song = await publish(ada, "Discussed")
    changed = await bob.create_record(COLLECTIONS.comment, comment(song, "here"))
    gone = await bob.create_record(COLLECTIONS.comment, comment(song, "not here"))
    await world.settled()

    await bob.put_record(COLLECTIONS.comment, changed.rkey, comment(song, "there"))
    await bob.delete_record(COLLECTIONS.comment, gone.rkey)


async def a_playlist_is_created_changed_and_deleted(world: World) -> None:
    """Its order changes, an item that is nowhere is passed over, another list goes."""
    ada = world.ada
    one, two = await publish(ada, "One"), await publish(ada, "Two")
    nowhere = Ref(f"at://{ada.did}/{COLLECTIONS.track}/3zzzzzzzzzzzz", ANY_CID)
    changed = await ada.create_record(COLLECTIONS.list, playlist("Evening", one, nowhere, two))
    gone = await ada.create_record(COLLECTIONS.list, playlist("Night", one))
    await world.settled()

    await ada.put_record(COLLECTIONS.list, changed.rkey, playlist("Morning", two, one))
    await ada.delete_record(COLLECTIONS.list, gone.rkey)


async def an_album_is_created_changed_and_deleted(world: World) -> None:
    """And what was on it stays."""
    ada = world.ada
    song = await publish(ada, "On It")
    changed = await ada.create_record(COLLECTIONS.list, album("Tidewater", song))
    gone = await ada.create_record(COLLECTIONS.list, album("Ebb", song))
    await world.settled()

    await ada.put_record(COLLECTIONS.list, changed.rkey, album("Headland"))
    await ada.delete_record(COLLECTIONS.list, gone.rkey)


async def a_profile_is_created_changed_and_deleted(world: World) -> None:
    """One person ends with one, another without."""
    ada, bob = world.ada, world.bob
    for account in (ada, bob):
        await publish(account, "Signed")
        await account.put_record(COLLECTIONS.profile, "self", profile("First Name"))
    await world.settled()

    await ada.put_record(COLLECTIONS.profile, "self", profile("Second Name"))
    await bob.delete_record(COLLECTIONS.profile, "self")


async def several_records_are_written_in_one_commit(world: World) -> None:
    """Created, changed and deleted at once, with others' records between."""
    ada = world.ada
    changed, gone = await publish(ada, "Changes"), await publish(ada, "Goes")

    await ada.apply_writes(
        Write("create", ELSEWHERE, "between", {"text": "nothing of ours"}),
        Write("update", COLLECTIONS.track, changed.rkey, track("Changed")),
        Write("delete", COLLECTIONS.track, gone.rkey),
        Write("create", COLLECTIONS.track, "3mmmmmmmmmmm2", track("New")),
        Write("create", COLLECTIONS.like, "3mmmmmmmmmmm3", like(changed)),
    )


async def a_commit_has_as_many_operations_as_fit(world: World) -> None:
    """Then half of what it made goes in another."""
    ada = await world.person("ada")
    rkeys = [f"3mmmmmmmmm{a}{b}2" for a in "234567abcdefghi" for b in "234567abcd"]

    await ada.apply_writes(*(Write("create", COLLECTIONS.track, rkey, track(rkey)) for rkey in rkeys))
    await ada.apply_writes(*(Write("delete", COLLECTIONS.track, rkey) for rkey in rkeys[::2]))


async def a_record_is_deleted_and_made_again_under_its_key(world: World) -> None:
    """Once as it was, with the same CID, and once as something else."""
    ada = world.ada
    same, other = await publish(ada, "Same"), await publish(ada, "Other")
    for ref in (same, other):
        await ada.delete_record(COLLECTIONS.track, ref.rkey)
    await world.settled()

    await ada.create_record(COLLECTIONS.track, track("Same"), rkey=same.rkey)
    await ada.create_record(COLLECTIONS.track, track("Another"), rkey=other.rkey)


async def a_record_becomes_invalid_and_valid_again(world: World) -> None:
    """Hidden meanwhile; another stays hidden."""
    ada = world.ada
    mended, broken = await publish(ada, "Mended"), await publish(ada, "Broken")
    for ref in (mended, broken):
        await ada.put_record(COLLECTIONS.track, ref.rkey, {"title": 7})
    await world.agrees()

    await ada.put_record(COLLECTIONS.track, mended.rkey, track("Whole"))


async def a_like_comes_before_its_track(world: World) -> None:
    """And a comment and a list item; they count when the track is there."""
    ada, bob = world.ada, world.bob
    awaited = Ref(f"at://{ada.did}/{COLLECTIONS.track}/3mmmmmmmmmmmm", ANY_CID)
    await bob.create_record(COLLECTIONS.like, like(awaited))
    await bob.create_record(COLLECTIONS.comment, comment(awaited, "soon"))
    await bob.create_record(COLLECTIONS.list, playlist("Awaited", awaited))
    await world.settled()

    await ada.create_record(COLLECTIONS.track, track("Awaited"), rkey=awaited.rkey)


async def a_record_changes_many_times_in_a_row(world: World) -> None:
    """Only the last version counts."""
    ada = world.ada
    song = await publish(ada, "Take 0")

    for number in range(1, 20):
        await ada.put_record(COLLECTIONS.track, song.rkey, track(f"Take {number}"))


async def others_records_are_written_between_ours(world: World) -> None:
    """They move the repo on, so that its chain has to be followed through them."""
    ada = world.ada

    for number in range(5):
        await publish(ada, f"Song {number}")
        await ada.create_record(ELSEWHERE, {"number": number})


async def an_account_deletes_all_that_it_wrote(world: World) -> None:
    """Its records go one by one, and nobody is left to show."""
    ada = await world.person("ada")
    await everything(ada)
    await world.settled()

    for uri in (await world.truth.read())[ada.did].records:
        collection, rkey = uri.split("/")[3:]
        await ada.delete_record(collection, rkey)


ALL = (
    a_track_is_created_changed_and_deleted,
    a_like_is_created_moved_and_deleted,
    a_comment_is_created_changed_and_deleted,
    a_playlist_is_created_changed_and_deleted,
    an_album_is_created_changed_and_deleted,
    a_profile_is_created_changed_and_deleted,
    several_records_are_written_in_one_commit,
    a_commit_has_as_many_operations_as_fit,
    a_record_is_deleted_and_made_again_under_its_key,
    a_record_becomes_invalid_and_valid_again,
    a_like_comes_before_its_track,
    a_record_changes_many_times_in_a_row,
    others_records_are_written_between_ours,
    an_account_deletes_all_that_it_wrote,
)
