"""The table of labels, and of what follows from them: what is withheld, and what is for adults."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from indexer.catalog.database import LISTED, Database, join_keys, join_words
from indexer.catalog.projections import Row
from schemas import label_policy
from schemas.datetimes import to_utc
from schemas.ids import AtUri, Did, is_did
from schemas.label_policy import Effect
from schemas.labels import MOST_OF_A_SOURCE, MOST_OF_A_SUBJECT, MOST_WITH_OTHERS, Label, LabelKey

_ROW: Final = "source, subject, cid, value, cts, expires_at, state"
_Versions = dict[int, frozenset[str | None]]  # of subjects, by their keys; None: every version
_Effects = dict[str | None, Effect]  # by the version that they are about; None: every version


class Statement(NamedTuple):
    """All that a source says of these accounts and their records at a time. `dids`: None for all accounts.

    `streamed`: labels that the source's stream brought after the question. They stay, whatever their time:
    the source's clock may be behind ours.
    """

    source: str
    dids: frozenset[Did] | None
    labels: Sequence[Label]
    asked_at: datetime
    streamed: frozenset[LabelKey] = frozenset()


class _Stored(NamedTuple):
    label: Label
    state: str

    @property
    def order(self) -> tuple[datetime, bool]:
        """The later one holds; of two from one instant the negation."""
        return self.label.cts, self.label.negated


@dataclass(slots=True)
class Labelled:
    """What a change of labels is about.

    `changed`: accounts that are withheld or for adults, and were not, or the other way round. `named`: other
    accounts with changed labels. `refused`: labels above a limit.
    """

    changed: set[Did] = field(default_factory=set)
    named: set[Did] = field(default_factory=set)
    records: set[AtUri] = field(default_factory=set)
    refused: list[Label] = field(default_factory=list)


class LabelTable:
    """The tables `labels` and `label_effects`; the latter in memory too, as `accounts` and `withholds`.

    `operator`: the source of the operator's own labels. What it negates, no labeler says with effect.
    `is_tracked`: whether an account ever wrote a record of ours. The labels of others leave room for theirs.
    """

    def __init__(
        self,
        catalogue: Database,
        key_of: Callable[[str], int],
        operator: str,
        is_tracked: Callable[[Did], bool],
    ) -> None:
        self._catalogue = catalogue
        self._is_tracked = is_tracked
        self._key_of = key_of
        self._operator = operator
        self.accounts: set[Did] = set()  # that are withheld; the same set for its life
        self._withheld: _Versions = {}
        self._adult: _Versions = {}
        self._adult_before: _Versions = {}  # of the subjects that this transaction changed
        self._held: Counter[str] = Counter()
        self.next_expiry: datetime | None = None
        self.load()

    def load(self) -> None:
        """Load the memory from the tables: at the start, and after a transaction was rolled back."""
        rows = self._catalogue.rows
        self.accounts.clear()
        hidden = "select account from label_effects where effect = 'hidden' and account is not null"
        self.accounts.update(Did(did) for (did,) in rows(hidden))
        self._withheld = self._versions("effect = 'hidden' and account is null")
        self._adult, self._adult_before = self._versions("effect = 'adult'"), {}
        self._held = Counter(dict(rows("select source, count(*) from labels group by source")))
        self._plan()

    def withholds(self, key: int, cid: str | None) -> bool:
        """Do labels withhold this version of a record?"""
        return _has(self._withheld, key, cid)

    def is_adult(self, row: Row) -> bool:
        """Do labels say that this version of a record is for adults, or all of its account?"""
        return self._says_adult(row, {})

    def was_adult(self, row: Row) -> bool:
        """Did they say so before this transaction?"""
        return self._says_adult(row, self._adult_before)

    def is_due(self, now: datetime) -> bool:
        """Has a label expired that still has its effect?"""
        return self.next_expiry is not None and self.next_expiry <= now

    def store(self, labels: Iterable[Label], statements: Sequence[Statement], now: datetime) -> Labelled:
        """Store labels, of those with one key the newest; what a source no longer says is removed."""
        self._adult_before = {}
        labels = [*labels, *(label for statement in statements for label in statement.labels)]
        if not labels and not statements and not self.is_due(now):
            return Labelled()
        subjects = {label.subject for label in labels} | self._expired(now) | self._told(statements)
        places = self._stored(subjects)
        result = Labelled()
        before = {subject: dict(of) for subject, of in places.items()}
        self._withdraw(places, statements)
        for label in labels:
            self._merge(places[label.subject], label, now, result)
        self._age(places, now)
        changed = [subject for subject in places if places[subject] != before.get(subject, {})]
        self._replace(changed, places, before)
        for subject in changed:
            self._follow(subject, places[subject], result)
        self._plan()
        return result

    def _says_adult(self, row: Row, before: Mapping[int, frozenset[str | None]]) -> bool:
        if label_policy.self_effect_of(row.get("labels") or ()) == "adult":
            return True
        if not self._adult and not before:
            return False
        of_account = self._key_of(row["did"])
        return any(
            _has(before if key in before else self._adult, key, row.get("cid"))
            for key in (row["key"], of_account)
        )

    def _versions(self, condition: str) -> _Versions:
        """The versions of each subject of which an effect is stored."""
        cids: defaultdict[int, set[str | None]] = defaultdict(set)
        for key, cid in self._catalogue.rows(f"select key, cid from label_effects where {condition}"):
            cids[key].add(cid)
        return {key: frozenset(of) for key, of in cids.items()}

    def _expired(self, now: datetime) -> set[str]:
        query = "select distinct subject from labels where state = 'stands' and expires_at <= ?"
        return {subject for (subject,) in self._catalogue.rows(query, [to_utc(now)])}

    def _told(self, statements: Sequence[Statement]) -> set[str]:
        """The stored subjects that these statements are about."""
        found: set[str] = set()
        for statement in statements:
            query, values = "select distinct subject from labels where source = ?", [statement.source]
            if statement.dids is not None:
                query, values = f"{query} and did in {LISTED}", [*values, join_words(statement.dids)]
            found.update(subject for (subject,) in self._catalogue.rows(query, values))
        return found

    def _stored(self, subjects: Iterable[str]) -> defaultdict[str, dict[LabelKey, _Stored]]:
        found: defaultdict[str, dict[LabelKey, _Stored]] = defaultdict(dict)
        keys = {self._key_of(subject): subject for subject in subjects}
        query = f"select {_ROW} from labels where key in ({join_keys(keys)})"
        for source, subject, cid, value, cts, expires_at, state in (
            self._catalogue.rows(query) if keys else ()
        ):
            at, until = cts.replace(tzinfo=UTC), expires_at and expires_at.replace(tzinfo=UTC)
            label = Label(source, subject, cid, value, at, until, state == "negated")
            found[subject][label.key] = _Stored(label, state)
        return found

    def _withdraw(
        self, places: Mapping[str, dict[LabelKey, _Stored]], statements: Sequence[Statement]
    ) -> None:
        if not statements:
            return
        by_account: defaultdict[Did, list[dict[LabelKey, _Stored]]] = defaultdict(list)
        for subject, of in places.items():
            by_account[account_of(subject)].append(of)
        for statement in statements:
            told = {label.key for label in statement.labels} | statement.streamed
            about = by_account.keys() if statement.dids is None else by_account.keys() & statement.dids
            for of in (of for did in about for of in by_account[did]):
                gone = [
                    key
                    for key, stored in of.items()
                    if key.source == statement.source
                    and key not in told
                    and stored.label.cts < statement.asked_at
                ]
                for key in gone:
                    del of[key]
                self._held[statement.source] -= len(gone)

    def _merge(self, of: dict[LabelKey, _Stored], label: Label, now: datetime, result: Labelled) -> None:
        known, new = of.get(label.key), _Stored(label, _state_of(label, now))
        if known is not None:
            if known.order < new.order:
                of[label.key] = new
            return
        mine = sum(key.source == label.source for key in of)
        most = MOST_OF_A_SOURCE if self._is_tracked(account_of(label.subject)) else MOST_WITH_OTHERS
        if mine >= MOST_OF_A_SUBJECT or self._held[label.source] >= most:
            result.refused.append(label)
            return
        of[label.key] = new
        self._held[label.source] += 1

    def _age(self, places: Mapping[str, dict[LabelKey, _Stored]], now: datetime) -> None:
        for of in places.values():
            of.update(
                {key: stored._replace(state=_state_of(stored.label, now)) for key, stored in of.items()}
            )

    def _replace(
        self,
        changed: Sequence[str],
        places: Mapping[str, Mapping[LabelKey, _Stored]],
        before: Mapping[str, object],
    ) -> None:
        known = [self._key_of(subject) for subject in changed if subject in before]
        if known:
            self._catalogue.con.execute(f"delete from labels where key in ({join_keys(known)})")
        rows = [self._row(stored) for subject in changed for stored in places[subject].values()]
        self._catalogue.insert("labels", rows)

    def _row(self, stored: _Stored) -> dict[str, Any]:
        label = stored.label
        return {
            "key": self._key_of(label.subject),
            "did": account_of(label.subject),
            "subject": label.subject,
            "source": label.source,
            "cid": label.cid,
            "value": label.value,
            "cts": to_utc(label.cts),
            "expires_at": to_utc(label.expires_at),
            "state": stored.state,
        }

    def _follow(self, subject: str, of: Mapping[LabelKey, _Stored], result: Labelled) -> None:
        """Store what follows from a subject's labels now."""
        key, effects = self._key_of(subject), self._effects(of.values())
        query = "select cid, effect from label_effects where key = ?"
        is_same = dict(self._catalogue.rows(query, [key])) == effects
        if not is_same:
            account = subject if is_did(subject) else None
            self._catalogue.con.execute("delete from label_effects where key = ?", [key])
            rows = [
                {"key": key, "account": account, "cid": cid, "effect": effect}
                for cid, effect in effects.items()
            ]
            self._catalogue.insert("label_effects", rows)
        self._adult_before[key] = self._adult.get(key, frozenset())
        _put(self._adult, key, (cid for cid, effect in effects.items() if effect == "adult"))
        if not is_did(subject):
            _put(self._withheld, key, (cid for cid, effect in effects.items() if effect == "hidden"))
            result.records.add(AtUri.parse(subject))
            return
        did = Did(subject)
        (result.named if is_same else result.changed).add(did)
        if effects.get(None) == "hidden":
            self.accounts.add(did)
        else:
            self.accounts.discard(did)

    def _effects(self, stored: Iterable[_Stored]) -> _Effects:
        values: defaultdict[str | None, set[str]] = defaultdict(set)
        overruled: set[str] = set()
        for label, state in stored:
            if state == "stands":
                values[label.cid].add(label.value)
            elif state == "negated" and label.source == self._operator:
                overruled.add(label.value)
        always = values[None]
        effects = {cid: label_policy.effect_of((of | always) - overruled) for cid, of in values.items()}
        return {cid: effect for cid, effect in effects.items() if effect != "none"}

    def _plan(self) -> None:
        [(first,)] = self._catalogue.rows("select min(expires_at) from labels where state = 'stands'")
        self.next_expiry = first and first.replace(tzinfo=UTC)


def _has(versions: Mapping[int, frozenset[str | None]], key: int, cid: str | None) -> bool:
    cids = versions.get(key)
    return cids is not None and (None in cids or cid in cids)


def _put(versions: _Versions, key: int, cids: Iterable[str | None]) -> None:
    """Replace the versions of a subject."""
    versions.pop(key, None)
    if found := frozenset(cids):
        versions[key] = found


def account_of(subject: str) -> Did:
    """The account of a subject: itself, or the one whose record it is."""
    return Did(subject) if is_did(subject) else AtUri.parse(subject).did


def _state_of(label: Label, now: datetime) -> str:
    if label.negated:
        return "negated"
    return "stands" if label.stands(now) else "expired"
