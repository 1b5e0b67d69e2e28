"""Labels -> what cards show of them, and what follows from them for search documents."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import duckdb

from indexer.catalog.database import join_keys
from schemas import label_policy
from schemas.ids import record_key
from schemas.label_policy import Effect

_Label = dict[str, Any]  # as https://atproto.com/specs/label has it, without the signature

GIVEN = """
    select key, subject, source, cid, value, cts, expires_at
    from labels
    where key in ({keys}) and state = 'stands'
    order by cts, source, value
"""
EFFECTS = "select key, cid, effect from label_effects where key in ({keys})"

# Of rows with `key`, `did`, `cid` and `labels` of a track: whether the view `adult_tracks` has it.
# For queries that narrow the tracks before; the view reads all of them, however few are wanted.
IS_ADULT = f"""
    coalesce(
        list_has_any(labels, {sorted(label_policy.ADULT)})
            or did in (select account from label_effects where effect = 'adult' and account is not null)
            or key in (select key from label_effects where effect = 'adult' and cid is null)
            or (key, cid) in (
                select (key, cid) from label_effects where effect = 'adult' and cid is not null
            ),
        false
    )
"""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of some accounts and records, by the key of the subject."""

    given: Mapping[int, list[_Label]] = field(default_factory=dict)
    effects: Mapping[int, list[tuple[str | None, Effect]]] = field(default_factory=dict)

    def of(self, did: str, key: int | None = None, cid: str | None = None) -> list[_Label]:
        """What labelers say of an account, and of this version of one of its records."""
        if not self.given:
            return []
        both = [*self.given.get(record_key(did), ()), *(self.given.get(key, ()) if key is not None else ())]
        return [label for label in both if label["cid"] in (None, cid)]

    def effect(self, did: str, key: int | None = None, cid: str | None = None) -> Effect:
        """What follows from them."""
        found: Effect = "none"
        if not self.effects:
            return found
        both = [
            *self.effects.get(record_key(did), ()),
            *(self.effects.get(key, ()) if key is not None else ()),
        ]
        for about, effect in both:
            if about in (None, cid):
                found = label_policy.stricter(found, effect)
        return found


def load_labels(con: duckdb.DuckDBPyConnection, dids: Collection[str], keys: Collection[int]) -> Labels:
    """The labels of these accounts, and of the records with these keys."""
    every = join_keys([*map(record_key, dids), *keys])
    given: defaultdict[int, list[_Label]] = defaultdict(list)
    for key, subject, source, cid, value, cts, expires_at in con.execute(GIVEN.format(keys=every)).fetchall():
        label = {"val": value, "src": source, "uri": subject, "cid": cid, "cts": cts, "exp": expires_at}
        given[key].append(label)
    effects: defaultdict[int, list[tuple[str | None, Effect]]] = defaultdict(list)
    for key, cid, effect in con.execute(EFFECTS.format(keys=every)).fetchall():
        effects[key].append((cid, effect))
    return Labels(given, effects)


def self_labels(did: str, uri: str, cid: str | None, cts: datetime, values: Iterable[str]) -> list[_Label]:
    """The labels that a record gives to itself."""
    return [{"val": value, "src": did, "uri": uri, "cid": cid, "cts": cts, "exp": None} for value in values]
