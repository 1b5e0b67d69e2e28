"""Lexicons become records of an account at a real server, as they are in the files."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

import lexicons
from readapi.pds.lexicon_records import COLLECTION
from tests.network.pds import password_of
from tests.network.testnet import Testnet

pytestmark = pytest.mark.network


@pytest.mark.slow
async def test_lexicons_are_published_and_published_again(net: Testnet, tmp_path: Path) -> None:
    """By the command, with a password on standard input; a wrong one publishes nothing."""
    account = await net.pds[0].create_account("lexicons.test")

    async def publish(password: str) -> tuple[int | None, str, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "readapi", "publish-lexicons", account.did),
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("FMSVC_")},
                "FMSVC_DATA_DIR": str(tmp_path),
                "FMSVC_PLC_URL": net.plc_url,
                "FMSVC_HANDLE_RESOLVER": net.pds[0].url,
                "FMSVC_ALLOW_LOOPBACK": "true",
            },
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        told, refused = await process.communicate(f"{password}\n".encode())
        return process.returncode, told.decode(), refused.decode()

    code, told, refused = await publish("wrong")
    assert (code, told) == (1, "")
    assert "createSession" in refused
    published = [await publish(password_of(account.handle)) for _ in range(2)]
    asked = {"repo": account.did, "collection": COLLECTION, "limit": "100"}
    found = await net.pds[0].get("com.atproto.repo.listRecords", account.login, **asked)

    assert published[0][0] == 0, published[0][2]
    assert published[0] == published[1]
    assert sorted(published[0][1].split()) == sorted(one["uri"] for one in found["records"])
    assert {one["value"]["id"]: {**one["value"]} for one in found["records"]} == {
        lexicon["id"]: {"$type": COLLECTION, **lexicon} for lexicon in lexicons.read_all()
    }
