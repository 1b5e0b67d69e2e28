"""Whose labels an answer has: `atproto-accept-labelers` of requests, `atproto-content-labelers` of answers.

https://atproto.com/specs/label: a request may choose among the labelers of this service. That narrows what
answers tell of labels, not what follows from them: that is this service's policy for everybody.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from readapi.answers import JSON, Answer
from readapi.errors import InvalidRequest
from schemas.ids import is_did
from schemas.labels import label_members
from schemas.service_identity import service_did
from schemas.settings import Settings

ACCEPTED: Final = "atproto-accept-labelers"
CONTENT: Final = "atproto-content-labelers"
MOST: Final = 20  # labelers in a request
MOST_LETTERS: Final = 4_096
_DETAILS: Final = "label_details"


class Labelers:
    """The labelers of this service: those of the settings, and the operator."""

    def __init__(self, settings: Settings) -> None:
        self._known = (*settings.labelers, service_did(settings.base_url))

    @property
    def constant_header(self) -> dict[str, str]:
        """The header of answers to requests that choose none."""
        return {CONTENT: _written(self._known)}

    def choose(self, header: str) -> tuple[str, ...]:
        """Those of the labelers that a request's header asks for. Raises InvalidRequest."""
        named = [part.strip() for part in header.split(",") if part.strip()]
        dids = [_did_of(part) for part in named] if len(header) <= MOST_LETTERS else []
        if len(header) > MOST_LETTERS or len(named) > MOST or None in dids:
            raise InvalidRequest.of_field(ACCEPTED, f"must be {MOST} DIDs at most, with ;redact or without")
        return tuple(did for did in self._known if did in dids)


def narrow_labels(answer: Answer[Any], chosen: tuple[str, ...]) -> Answer[Any]:
    """The answer with labels of these labelers alone, besides records' labels of themselves."""
    answer = answer._replace(headers={**answer.headers, CONTENT: _written(chosen)})
    if answer.media_type != JSON or b'"label_details":[{' not in answer.body:
        return answer
    told = orjson.loads(answer.body)
    _narrow(told, frozenset(chosen))
    return answer._replace(body=orjson.dumps(told), tag=b"")


def _narrow(told: Any, chosen: frozenset[str]) -> None:
    rest = [told]
    while rest:
        one = rest.pop()
        if isinstance(one, dict):
            if isinstance(one.get(_DETAILS), list):
                kept = [label for label in one[_DETAILS] if label["src"] in chosen or _is_own(label)]
                one.update(label_members(kept))
            rest.extend(one.values())
        elif isinstance(one, list):
            rest.extend(one)


def _is_own(label: dict[str, Any]) -> bool:
    return bool(label["uri"].startswith(f"at://{label['src']}/"))


def _did_of(part: str) -> str | None:
    did, _, flag = part.partition(";")
    return did.strip() if is_did(did.strip()) and flag.strip() in ("", "redact") else None


def _written(dids: Iterable[str]) -> str:
    return ",".join(f"{did};redact" for did in dids)
