"""What an authorization is for, carried from its start to the exchange that ends it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Purpose = Literal["sign_in", "scope_upgrade", "add_account", "developer_token"]


@dataclass(frozen=True, slots=True)
class Errand:
    """`session_key`: of the session that began it, in hex, if one did.

    `details` belong to the purpose: the name and the life of a developer token, where to go afterwards.
    """

    purpose: Purpose
    session_key: str | None = None
    details: Mapping[str, str | int] = field(default_factory=dict)
