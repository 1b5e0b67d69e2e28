"""What one indexer has on this machine, and whether a manifest is newer."""

from pathlib import Path

from indexer.replication.follow.node import Node
from indexer.replication.objects import Objects
from tests.indexer.replication.origin import Origin, current


async def test_a_manifest_of_a_later_epoch_is_newer_whatever_its_number(
    origin: Origin, objects: Objects, tmp_path: Path
) -> None:
    """An indexer whose clock was set back may count from a smaller number."""
    await origin.write("one")
    await origin.publish()
    shown = await current(objects)
    node = Node(objects, tmp_path / "node", shown.node)
    await node.follow(shown.model_copy(update={"number": 2 * shown.number}))

    assert not node.is_behind(shown)
    assert node.is_behind(shown.model_copy(update={"epoch": shown.epoch + 1}))
