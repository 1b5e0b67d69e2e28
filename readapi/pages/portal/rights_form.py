"""Rights metadata as a form: who owns recordings, and how their shares are split, a line a party. Pure."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from readapi.errors import InvalidRequest
from readapi.http.request.page_forms import PageForm
from schemas.rights import Ownership, Party

_PERCENT = 100  # basis points
_MOST_PERCENT = 1000  # far over what fits, and small enough to be counted in
_TOLD = ("role", "society", "ipi", "did")  # of a party, behind its shares


class RightsForm(PageForm):
    """All of it empty: no rights metadata."""

    owner: str = ""
    owner_did: str = ""
    parties: str = ""

    def wanted(self) -> Ownership | None:
        """Raises InvalidRequest."""
        told: dict[str, object] = {}
        if owner := _filled({"name": self.owner, "did": self.owner_did}):
            told["masterOwner"] = owner
        if lines := [line for line in self.parties.splitlines() if line.strip()]:
            told["parties"] = [_party(line) for line in lines]
        return self.fitted(Ownership, told) if told or self.left_out else None


def rights_values(rights: Ownership | None) -> Mapping[str, str]:
    """The form's values for saved rights."""
    if rights is None:
        return {}
    owner = rights.master_owner
    return {
        "owner": "" if owner is None else owner.name,
        "owner_did": "" if owner is None else owner.did or "",
        "parties": "\n".join(map(_line, rights.parties or ())),
    }


def _filled(texts: Mapping[str, str]) -> dict[str, object]:
    return {name: text.strip() for name, text in texts.items() if text.strip()}


def _party(line: str) -> dict[str, object]:
    """Name; mechanical %; performance %; role; society; IPI; DID."""
    name, *rest = (part.strip() for part in line.split(";"))
    if len(rest) < 2 or len(rest) > 2 + len(_TOLD):
        raise InvalidRequest.of_field("parties", "each line is a name and two percentages, with ; between")
    mechanical, performance, *told = rest
    shares = {"mechanicalShare": _points(mechanical), "performanceShare": _points(performance)}
    return {"name": name, **shares, **_filled(dict(zip(_TOLD, told, strict=False)))}


def _points(percent: str) -> int:
    """Basis points."""
    try:
        share = Decimal(percent.removesuffix("%").strip())
    except InvalidOperation:
        share = Decimal(-1)
    if not 0 <= share <= _MOST_PERCENT or share * _PERCENT % 1:
        raise InvalidRequest.of_field("parties", "a percentage has two digits at most behind its point")
    return int(share * _PERCENT)


def _line(party: Party) -> str:
    shares = (party.mechanical_share, party.performance_share)
    told = [party.role, party.society, party.ipi, party.did]
    parts = [party.name, *(f"{Decimal(share) / _PERCENT}" for share in shares), *(one or "" for one in told)]
    return "; ".join(parts).rstrip("; ")
