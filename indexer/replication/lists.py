"""Lists of blocks and of files in the object store: packed, and named by their hashes."""

import asyncio
from typing import TypeVar

import orjson
import structlog
from pydantic import BaseModel

from indexer.replication.blocks import hash_block, inflate, pack
from indexer.replication.manifest import node_prefix
from indexer.replication.objects import Objects

Model = TypeVar("Model", bound=BaseModel)

log = structlog.get_logger()


def named(node: str, content: BaseModel) -> tuple[str, bytes]:
    """The key and the bytes of a list of this node's."""
    packed = pack(orjson.dumps(content.model_dump()))
    return f"{node_prefix(node)}/lists/{hash_block(packed)}", packed


async def load(objects: Objects, key: str, model: type[Model]) -> Model | None:
    """A CopySet or BlockList; None when it is not there, or damaged. Raises ObjectsAway."""
    found = await objects.find(key)
    if found is None or hash_block(found.content) != key.rpartition("/")[2]:
        return None
    try:
        return model.model_validate_json(await asyncio.to_thread(inflate, found.content))
    except ValueError as error:
        log.warning("list of blocks not read", key=key, reason=str(error)[:200])
        return None


def block_key(node: str, block: str) -> str:
    """The key of a block."""
    return f"{node_prefix(node)}/blocks/{block}"
