"""What somebody has here, and how they give it back: a session, the accounts in it, developer tokens."""

from readapi.errors import NotAuthenticated, NotFound
from readapi.revoking import Revoking
from readapi.state.accounts import LinkedAccount
from readapi.state.state import State
from readapi.viewer import InSession, SignedIn
from schemas.ids import Did

_NOT_LINKED = "This account is not linked in your session."


class Belongings:
    """Whatever is given back ends at its server too."""

    def __init__(self, state: State, revoking: Revoking) -> None:
        self._state = state
        self._revoking = revoking

    async def sign_out(self, who: SignedIn | None) -> None:
        """End the session with all its accounts; who has none any more is signed out already.

        Raises NotAuthenticated when it is a program that asks.
        """
        if isinstance(who, InSession):
            await self._revoking.revoke(await self._state.sessions.end(who.key))
        elif who is not None:
            raise NotAuthenticated("A developer token has no session; it can be revoked.")

    async def switch(self, who: InSession, did: str) -> LinkedAccount:
        """Be another account of the session from now on. Raises NotFound."""
        active = await self._state.accounts.switch(who.key, Did(did))
        if active is None:
            raise NotFound(_NOT_LINKED)
        return active

    async def drop(self, who: InSession, did: str) -> bool:
        """Take an account out of the session; False: with this last one it ended. Raises NotFound."""
        dropped = await self._state.accounts.drop(who.key, Did(did))
        if dropped is None:
            raise NotFound(_NOT_LINKED)
        await self._revoking.revoke([dropped])
        return bool(await self._state.accounts.of(who.key))

    async def revoke_token(self, who: InSession, token_id: str) -> None:
        """Take a developer token away. Raises NotFound."""
        grant_id = await self._state.developer_tokens.remove(who.did, token_id)
        if grant_id is None:
            raise NotFound("You have no such developer token.")
        await self._revoking.revoke([grant_id])
