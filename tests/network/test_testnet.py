"""The network that other tests stand on does what they take for granted."""

import asyncio
import json
import subprocess
from pathlib import Path

import aiohttp
import pytest

from tests.network.pds import Json, Write, XrpcError
from tests.network.testnet import NODE, PROJECT, NetworkMissing, Testnet, running_network

pytestmark = pytest.mark.network

THING = "fm.svc.thing"


@pytest.mark.slow
async def test_records_are_written_read_changed_and_deleted(net: Testnet) -> None:
    """What an account writes is what the server gives back, with or without a lexicon that it knows."""
    ada = await net.pds[0].create_account("ada-writes.test")

    made = await ada.create_record(THING, {"name": "one"})
    changed = await ada.put_record(THING, made.rkey, {"name": "two"})
    seen = await net.pds[0].get("com.atproto.repo.getRecord", repo=ada.did, collection=THING, rkey=made.rkey)
    await ada.delete_record(THING, made.rkey)

    assert changed.uri == made.uri
    assert changed.cid != made.cid
    assert seen == {"uri": made.uri, "cid": changed.cid, "value": {"$type": THING, "name": "two"}}
    with pytest.raises(XrpcError, match="RecordNotFound"):
        await net.pds[0].get("com.atproto.repo.getRecord", repo=ada.did, collection=THING, rkey=made.rkey)


async def test_several_writes_make_one_commit(net: Testnet) -> None:
    """apply_writes answers with what it wrote, in order; deletes leave nothing to answer with."""
    ada = await net.pds[0].create_account("ada-batch.test")
    first = await ada.create_record(THING, {}, rkey="first")

    refs = await ada.apply_writes(
        Write("create", THING, "second", {"name": "b"}),
        Write("delete", THING, "first"),
        Write("create", THING, "third", {"name": "c"}),
    )

    assert [ref.rkey for ref in refs] == ["second", "third"]
    assert first.rkey == "first"


async def test_a_blob_that_a_record_holds_is_served(net: Testnet) -> None:
    """Uploaded bytes come back by getBlob once a record refers to them."""
    ada = await net.pds[0].create_account("ada-blob.test")

    blob = await ada.upload_blob(b"RIFF....WAVE", "audio/wav")
    await ada.create_record(THING, {"sound": blob})

    address = f"{net.pds[0].url}/xrpc/com.atproto.sync.getBlob"
    async with net.pds[0].session.get(
        address, params={"did": ada.did, "cid": blob["ref"]["$link"]}
    ) as response:
        assert await response.read() == b"RIFF....WAVE"


async def test_accounts_are_renamed_hidden_and_deleted(net: Testnet) -> None:
    """The directory follows a rename, and the server says what state an account is in."""
    pds = net.pds[0]
    ada = await pds.create_account("ada-account.test")

    async def status() -> str:
        return str((await pds.get("com.atproto.sync.getRepoStatus", did=ada.did)).get("status", "active"))

    await ada.change_handle("ada-renamed.test")
    seen = [await status()]
    await ada.deactivate()
    seen.append(await status())
    await ada.activate()
    await pds.set_takedown(ada.did, True)
    seen.append(await status())
    await pds.set_takedown(ada.did, False)
    seen.append(await status())
    await ada.delete_account()

    assert seen == ["active", "deactivated", "takendown", "active"]
    assert (await _document(net, ada.did))["alsoKnownAs"] == ["at://ada-renamed.test"]
    with pytest.raises(XrpcError, match="RepoNotFound"):
        await status()


@pytest.mark.slow
async def test_two_servers_share_one_directory() -> None:
    """Accounts of either server are in the one directory, each pointing at its own."""
    async with Testnet.start(pdses=2) as net:
        ada, bob = await asyncio.gather(*(pds.create_account("ada.test") for pds in net.pds))

        for account in (ada, bob):
            document = await _document(net, account.did)
            assert document["service"][0]["serviceEndpoint"] == account.pds.url
        assert ada.pds.url != bob.pds.url


@pytest.mark.slow
async def test_an_account_rotates_its_key_and_moves() -> None:
    """The directory names the new key, then the new server, which has the records and takes more of them."""
    async with Testnet.start(pdses=2) as net:
        ada = await net.pds[0].create_account("ada.test")
        made = await ada.create_record(THING, {"name": "one"})
        keys = [(await _document(net, ada.did))["verificationMethod"][0]["publicKeyMultibase"]]

        await ada.pds.rotate_key(ada.did)
        keys.append((await _document(net, ada.did))["verificationMethod"][0]["publicKeyMultibase"])
        moved = await ada.migrate(net.pds[1])
        added = await moved.create_record(THING, {"name": "two"})

        document = await _document(net, ada.did)
        keys.append(document["verificationMethod"][0]["publicKeyMultibase"])
        listed = await net.pds[1].get("com.atproto.repo.listRecords", repo=ada.did, collection=THING)
        assert len(set(keys)) == 3
        assert document["service"][0]["serviceEndpoint"] == net.pds[1].url
        assert [record["uri"] for record in listed["records"]] == [added.uri, made.uri]
        status = await net.pds[0].get("com.atproto.sync.getRepoStatus", did=ada.did)
        assert status["status"] == "deactivated"


@pytest.mark.slow
def test_the_network_does_not_outlive_whoever_started_it() -> None:
    """When its standard input closes, it ends by itself and takes its data along."""
    with subprocess.Popen(
        [NODE, "start.mjs"], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        address = json.loads(process.stdout.readline())["plc"]
        process.stdin.close()

        assert process.wait(10) == 0
    with pytest.raises(aiohttp.ClientConnectorError):
        asyncio.run(_fetch(address))


def test_a_network_that_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    """The one sentence names the command."""
    with pytest.raises(NetworkMissing, match="make network"), running_network(project=tmp_path):
        pass


async def _document(net: Testnet, did: str) -> Json:
    async with net.pds[0].session.get(f"{net.plc_url}/{did}") as response:
        document: Json = await response.json(content_type=None)
        return document


async def _fetch(address: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(address):
        pass
