"""`publish-lexicons`: writes the lexicons of this service to an account's repo."""

import asyncio
import getpass
import sys

from readapi.commands.network import open_network
from readapi.commands.start import FAILED, begin, stop
from readapi.pds import lexicon_records


def publish_lexicons(account: str) -> None:
    """Write the lexicons as com.atproto.lexicon.schema records, for programs to find.

    Asks for an app password of the account, or reads a line of standard input. The domain of the lexicons
    has to name the account too: a TXT record `did=DID` at `_lexicon.` before it.

    Parameters
    ----------
    account
        The DID or handle of the account whose records they become.
    """
    settings = begin("publish-lexicons")
    password = getpass.getpass("App password: ") if sys.stdin.isatty() else sys.stdin.readline().strip()

    async def publish() -> None:
        async with open_network(settings) as network:
            async for uri in lexicon_records.publish_lexicons(network, account, password):
                print(uri)

    try:
        asyncio.run(publish())
    except lexicon_records.NotPublished as error:
        stop(FAILED, str(error))
