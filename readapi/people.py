"""Everything that a worker has for people who sign in, and the keeper beside it, put together."""

import asyncio
from typing import Any, Self

from readapi import keeper as keeping
from readapi.belongings import Belongings
from readapi.grants import Grants
from readapi.keeper import Keeper
from readapi.oauth.client import OAuthClient
from readapi.oauth.metadata import ClientMetadata
from readapi.oauth.network import Network
from readapi.pds import Pds
from readapi.renewal import Renewal
from readapi.repeating import repeat
from readapi.revoking import Revoking
from readapi.signing_in import SigningIn
from readapi.starts import Starts
from readapi.state.state import State, open_state
from readapi.xrpc import Xrpc
from schemas.settings import Settings

SWEEP_SECONDS = 600.0


class People:
    """What handlers ask for, and the sweeping that goes on beside them. Raises SettingsError."""

    def __init__(self, settings: Settings, state: State, network: Network, keeper: Keeper | None) -> None:
        self.state = state
        self._keeper = keeper
        self._network = network
        self._client = ClientMetadata.of(settings)
        oauth = _speaking(self._client, settings, network)
        renewal = Renewal(state.grants, state.locks, oauth)
        self._grants = Grants(state.grants, keeper or renewal)
        self.pds = Pds(Xrpc(self._grants, oauth))
        self._revoking = Revoking(state, renewal)
        self._signing_in = SigningIn(oauth, state, self._revoking, settings.collections)
        self._starts = Starts(self._signing_in, settings)

    async def __aenter__(self) -> Self:
        self._sweeping = asyncio.create_task(repeat(SWEEP_SECONDS, self._revoking.sweep))
        return self

    async def __aexit__(self, *_: object) -> None:
        """What has begun is finished."""
        self._sweeping.cancel()
        await asyncio.gather(self._sweeping, return_exceptions=True)
        await self._grants.close()
        await self._revoking.close()
        if self._keeper is not None:
            await self._keeper.close()

    def services(self) -> dict[type, Any]:
        """By their types."""
        belongings = Belongings(self.state, self._revoking)
        signing_in = (self._network, self._client, self._grants, self._signing_in, self._starts, belongings)
        return {type(service): service for service in (self.state, self.state.showing, self.pds, *signing_in)}


async def keep(settings: Settings, network: Network) -> None:
    """Refresh grants for the worker at standard input."""
    async with open_state(settings) as state:
        oauth = _speaking(ClientMetadata.of(settings), settings, network)
        await keeping.keep(Renewal(state.grants, state.locks, oauth))


def _speaking(client: ClientMetadata, settings: Settings, network: Network) -> OAuthClient:
    return OAuthClient(client, network, allow_loopback=settings.allow_loopback)
