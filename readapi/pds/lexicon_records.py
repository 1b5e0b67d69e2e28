"""Publishes the lexicons of this service as records of an account. https://atproto.com/specs/lexicon"""

from collections.abc import AsyncIterator
from typing import Any, Final

import orjson

import lexicons
from readapi.oauth.errors import Unavailable
from readapi.oauth.network import Network
from schemas.ids import AtUri, Did, Handle, Nsid, Rkey, is_did

COLLECTION: Final = Nsid("com.atproto.lexicon.schema")
_MOST_BYTES: Final = 64 << 10
_TIMEOUT_SECONDS: Final = 15.0


class NotPublished(Exception):
    """The account's server refused, or cannot be found; the message is a sentence."""


async def publish_lexicons(network: Network, account: str, password: str) -> AsyncIterator[AtUri]:
    """Write each lexicon to the account's repo, and yield its at-uri. Raises NotPublished.

    `account`: a DID or a handle. `password`: an app password, or the account's own.
    """
    try:
        did = Did(account) if is_did(account) else Did(await network.find(Handle(account)) or "")
        server = (await network.resolve(did)).pds if did else None
    except Unavailable as error:
        raise NotPublished(str(error)) from error
    if server is None:
        raise NotPublished(f"There is no account {account}.")
    session = await _tell(
        network, server, "com.atproto.server.createSession", {"identifier": did, "password": password}
    )
    login = {"Authorization": f"Bearer {session.get('accessJwt', '')}"}
    for lexicon in lexicons.read_all():
        record = {"$type": COLLECTION, **lexicon}
        where = {"repo": did, "collection": COLLECTION, "rkey": lexicon["id"], "validate": False}
        await _tell(network, server, "com.atproto.repo.putRecord", {**where, "record": record}, login)
        yield AtUri(did, COLLECTION, Rkey(lexicon["id"]))


async def _tell(
    network: Network, server: str, method: str, body: dict[str, Any], login: dict[str, str] | None = None
) -> dict[str, Any]:
    try:
        answer = await network.send(
            "POST",
            f"{server}/xrpc/{method}",
            headers={"Content-Type": "application/json", **(login or {})},
            body=orjson.dumps(body),
            max_bytes=_MOST_BYTES,
            timeout_seconds=_TIMEOUT_SECONDS,
        )
    except Unavailable as error:
        raise NotPublished(str(error)) from error
    try:
        told = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        told = {}
    if answer.status != 200 or not isinstance(told, dict):
        reason = str(told.get("message", "")) if isinstance(told, dict) else ""
        raise NotPublished(f"{method} was answered with status {answer.status}: {reason[:200]!r}")
    return told
