"""`fmsvc tokens`: developer tokens. They are made on a page of the service."""

from fmsvc.cli.arguments import Yes
from fmsvc.cli.confirm import confirm
from fmsvc.cli.output import PLAIN, Output
from fmsvc.cli.service import THE_SERVICE, Service


def list_tokens(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """List your developer tokens, without their values."""
    with service.open_signed_in() as client:
        found = client.session.developer_tokens().get("tokens")
    tokens = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    output.rows(tokens, ("id", "name", "prefix", "created_at", "last_used_at", "expires_at"))


def revoke(
    token_id: str, *, yes: Yes = False, service: Service = THE_SERVICE, output: Output = PLAIN
) -> None:
    """Revoke a developer token.

    Parameters
    ----------
    token_id
        The token's id.
    """
    with service.open_signed_in() as client:
        confirm(f"Revoke the developer token {token_id}?", yes)
        client.session.revoke_developer_token(token_id)
    output.say(f"Revoked the developer token {token_id}.")
