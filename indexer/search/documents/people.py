"""Accounts as cards name them: handle, display name, picture."""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import duckdb

from indexer.catalog.database import join_words
from schemas import pictures, search_text
from schemas.ids import INVALID_HANDLE

# As the view `hidden_accounts`, which costs three times as much; without those that labels hide.
HIDDEN = (
    "select did from away_accounts union select did from accounts where refusal is not null "
    "union select subject from takedowns"
)
WITHHELD = "select account from label_effects where effect = 'hidden' and account is not null"

# Rows are picked by their number, so that only the DIDs of all others are unpacked.
PEOPLE = """
    with known as materialized (
        select did, handle, pds
        from accounts
        where rowid in (select rowid from accounts where did in (select unnest(string_split($dids, ' '))))
    ),
    presented as materialized (
        select did, display_name, avatar_cid, bio, support_url, created_at, updated_at, indexed_at
        from profiles
        where rowid in (select rowid from profiles where did in (select unnest(string_split($dids, ' '))))
          and state = 'live'
    )
    select known.*, presented.* exclude (did) from known left join presented using (did)
"""


@dataclass(frozen=True, slots=True)
class Person:
    """A visible account. `indexed_at` is null when it has no profile."""

    did: str
    handle: str
    pds: str | None = None
    display_name: str | None = None
    avatar_cid: str | None = None
    bio: str | None = None
    support_url: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    indexed_at: datetime | None = None

    @property
    def known_handle(self) -> str | None:
        """The handle, if it was verified in both directions."""
        return None if self.handle == INVALID_HANDLE else self.handle

    @property
    def name(self) -> str:
        """The display name, else the handle."""
        return self.display_name or self.handle

    @property
    def avatar_url(self) -> str | None:
        return self.blob_url(self.avatar_cid)

    @property
    def names(self) -> list[str]:
        """The names to find the account by: its display name, its handle, the handle's first part."""
        handle = self.known_handle or ""
        spellings = (self.display_name or "", search_text.squeeze_name(handle), handle.partition(".")[0])
        return [name for name in spellings if name]

    def blob_url(self, cid: str | None) -> str | None:
        """The URL of one of the account's blobs at its PDS."""
        if cid is None or self.pds is None:
            return None
        return pictures.blob_url(self.pds, self.did, cid)

    def record_url(self, collection: str, rkey: str) -> str | None:
        """The URL of one of the account's records at its PDS."""
        if self.pds is None:
            return None
        return f"{self.pds}/xrpc/com.atproto.repo.getRecord?repo={self._place(collection, rkey)}"

    def proof_url(self, collection: str, rkey: str) -> str | None:
        """The URL of the proof of one of the account's records at its PDS."""
        if self.pds is None:
            return None
        return f"{self.pds}/xrpc/com.atproto.sync.getRecord?did={self._place(collection, rkey)}"

    def _place(self, collection: str, rkey: str) -> str:
        return f"{quote(self.did, safe=':')}&collection={collection}&rkey={quote(rkey, safe=':')}"


def load_hidden(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The DIDs of accounts whose records are not shown at all."""
    return frozenset(did for (did,) in con.execute(HIDDEN).fetchall())


def load_withheld(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """The DIDs of accounts hidden by labels: only the account itself sees its records."""
    return frozenset(did for (did,) in con.execute(WITHHELD).fetchall())


def load_people(con: duckdb.DuckDBPyConnection, dids: Iterable[str], hidden: Set[str]) -> dict[str, Person]:
    """The visible ones among these accounts."""
    rows = con.execute(PEOPLE, {"dids": join_words(set(dids) - hidden)}).fetchall()
    return {row[0]: _person(*row) for row in rows}


def _person(did: str, handle: str | None, pds: str | None, display_name: str | None, *profile: Any) -> Person:
    name = (display_name or "").strip() or None
    return Person(did, handle or INVALID_HANDLE, pds, name, *profile)


def unknown_person(did: str) -> Person:
    """The row of an account of which only the DID is known, or may be shown."""
    return Person(did, INVALID_HANDLE)
