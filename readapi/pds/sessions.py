"""An account's actions on its own session, linked accounts and developer tokens."""

from readapi.errors import NotAuthenticated, NotFound
from readapi.http.viewer import InSession, SignedIn
from readapi.pds.revocation import Revocation
from readapi.state.sign_in.linked_accounts import LinkedAccount
from readapi.state.state import State
from schemas.ids import Did

_NOT_LINKED = "This account is not linked in your session."


class OwnSessions:
    """Each ended session, account or token has its grant revoked as well."""

    def __init__(self, state: State, revoking: Revocation) -> None:
        self._state = state
        self._revoking = revoking

    async def sign_out(self, who: SignedIn | None) -> None:
        """End the session with all its accounts; without a session it does nothing.

        Raises NotAuthenticated for a developer token.
        """
        if isinstance(who, InSession):
            await self._revoking.revoke(await self._state.sessions.end(who.key))
        elif who is not None:
            raise NotAuthenticated("A developer token has no session; it can be revoked.")

    async def switch(self, who: InSession, did: str) -> LinkedAccount:
        """Make another linked account the active one. Raises NotFound."""
        active = await self._state.accounts.switch(who.key, Did(did))
        if active is None:
            raise NotFound(_NOT_LINKED)
        return active

    async def drop(self, who: InSession, did: str) -> bool:
        """Unlink an account; False: it was the last one, so the session ended. Raises NotFound."""
        dropped = await self._state.accounts.drop(who.key, Did(did))
        if dropped is None:
            raise NotFound(_NOT_LINKED)
        await self._revoking.revoke([dropped])
        return bool(await self._state.accounts.of(who.key))

    async def revoke_token(self, who: InSession, token_id: str) -> None:
        """Revoke a developer token. Raises NotFound."""
        grant_id = await self._state.developer_tokens.remove(who.did, token_id)
        if grant_id is None:
            raise NotFound("You have no such developer token.")
        await self._revoking.revoke([grant_id])
