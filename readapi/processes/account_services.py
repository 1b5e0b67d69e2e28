"""Composition of a worker's account services (sign-in, sessions, grants) and of its refresh process."""

import asyncio
from typing import Any, Self

from readapi.oauth.client import OAuthClient
from readapi.oauth.metadata import ClientMetadata
from readapi.oauth.network import Network
from readapi.pages.sign_in_start import SignInStart
from readapi.pds import refresh_process as keeping
from readapi.pds.grants import Grants
from readapi.pds.refresh import TokenRefresh
from readapi.pds.refresh_process import RefreshProcess
from readapi.pds.repo import Pds
from readapi.pds.revocation import Revocation
from readapi.pds.sessions import OwnSessions
from readapi.pds.signing_in import SignIn
from readapi.pds.xrpc import Xrpc
from readapi.processes.periodic import repeat
from readapi.state.state import State, open_state
from schemas.settings import Settings

SWEEP_SECONDS = 600.0


class AccountServices:
    """The account services that handlers use, and their periodic clean-up. Raises SettingsError."""

    def __init__(
        self, settings: Settings, state: State, network: Network, keeper: RefreshProcess | None
    ) -> None:
        self.state = state
        self._keeper = keeper
        self._network = network
        self._client = ClientMetadata.of(settings)
        oauth = _speaking(self._client, settings, network)
        renewal = TokenRefresh(state.grants, state.locks, oauth)
        self._grants = Grants(state.grants, keeper or renewal)
        self.pds = Pds(Xrpc(self._grants, oauth))
        self._revoking = Revocation(state, renewal)
        self._signing_in = SignIn(oauth, state, self._revoking, settings.collections)
        self._starts = SignInStart(self._signing_in, settings)

    async def __aenter__(self) -> Self:
        self._sweeping = asyncio.create_task(repeat(SWEEP_SECONDS, self._revoking.sweep))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Finishes the operations that are running."""
        self._sweeping.cancel()
        await asyncio.gather(self._sweeping, return_exceptions=True)
        await self._grants.close()
        await self._revoking.close()
        if self._keeper is not None:
            await self._keeper.close()

    def services(self) -> dict[type, Any]:
        """The services by their types, as handlers request them."""
        belongings = OwnSessions(self.state, self._revoking)
        signing_in = (self._network, self._client, self._grants, self._signing_in, self._starts, belongings)
        return {type(service): service for service in (self.state, self.state.showing, self.pds, *signing_in)}


async def run_keeper(settings: Settings, network: Network) -> None:
    """Run the refresh process, which refreshes grants for the worker at standard input."""
    async with open_state(settings) as state:
        oauth = _speaking(ClientMetadata.of(settings), settings, network)
        await keeping.run_refresh_process(TokenRefresh(state.grants, state.locks, oauth))


def _speaking(client: ClientMetadata, settings: Settings, network: Network) -> OAuthClient:
    return OAuthClient(client, network, allow_loopback=settings.allow_loopback)
