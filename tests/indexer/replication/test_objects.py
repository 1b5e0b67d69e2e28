"""Object stores: what is written on a condition is written once, in a folder as in S3."""

import asyncio

import pytest

from indexer.replication.objects import Changed, Objects, ObjectsAway


async def test_an_object_is_created_once_and_replaced_by_who_knows_its_version(each_objects: Objects) -> None:
    """Whoever knows an older version changes nothing."""
    first = await each_objects.put_if("lease.json", b"1", None)
    with pytest.raises(Changed):
        await each_objects.put_if("lease.json", b"2", None)
    second = await each_objects.put_if("lease.json", b"3", first)
    with pytest.raises(Changed):
        await each_objects.put_if("lease.json", b"4", first)

    found = await each_objects.find("lease.json")
    assert found is not None
    assert (found.content, found.tag) == (b"3", second)
    assert await each_objects.find("lease.json", second) is None


async def test_of_many_that_replace_a_version_at_once_one_succeeds(each_objects: Objects) -> None:
    """The others are told."""
    tag = await each_objects.put_if("lease.json", b"0", None)
    tries = (each_objects.put_if("lease.json", b"%d" % number, tag) for number in range(1, 9))

    outcomes = await asyncio.gather(*tries, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes].count(Changed) == 7


async def test_parts_of_objects_are_read_listed_and_deleted(each_objects: Objects) -> None:
    """A large one is sent in parts; deleting what is not there is no error."""

    async def pieces():
        for number in range(10):
            yield bytes([number]) * (1 << 20)

    await each_objects.put("index/a/1/x.bundle", pieces())
    await each_objects.put("index/b/2/y.bundle", b"y")

    assert await each_objects.ranges("index/a/1/x.bundle", [(0, 2), ((9 << 20) - 1, 2)]) == [
        b"\0\0",
        b"\x08\x09",
    ]
    assert sorted(await each_objects.folders("index")) == ["a", "b"]
    assert [one.key for one in await each_objects.keys("index/a/")] == ["index/a/1/x.bundle"]
    with pytest.raises(KeyError):
        await each_objects.ranges("index/a/1/z.bundle", [(0, 1)])
    await each_objects.delete(["index/a/1/x.bundle", "index/a/1/none"])
    assert await each_objects.keys("index/a/") == []
    assert not await each_objects.has_any("index/a/")
    assert await each_objects.has_any("index/b/")


async def test_a_store_that_does_not_answer_is_said_to_be_away() -> None:
    """After few tries: others decide whether to go on."""
    url = "s3://bucket/x?region=us-east-1&endpoint=http://127.0.0.1:9&access_key_id=a&secret_access_key=b"

    with pytest.raises(ObjectsAway, match=r"127\.0\.0\.1:9"):
        await Objects.open(url).find("lease.json")
