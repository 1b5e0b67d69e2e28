"""A labeler's message or answer -> labels, with what their signatures are of. Pure; untrusted values in.

https://atproto.com/specs/label: the signature is of the SHA-256 of the label's DAG-CBOR without `sig`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import libipld

from indexer.repo.limits import MAX_AHEAD
from indexer.repo.signing_keys import SIGNATURE_BYTES, Key
from schemas.datetimes import parse_datetime
from schemas.ids import AtUri, Nsid, is_cid, is_did
from schemas.labels import Label, check_value

MOST_BYTES: Final = 8 << 10  # of one label
_UNSIGNED: Final = ("sig", "$type")


class BadLabel(Exception):
    """A label that cannot be used, for this reason."""


class SignedLabel(NamedTuple):
    """A label, and what its labeler signed."""

    label: Label
    message: bytes
    signature: bytes

    def is_signed_by(self, key: Key) -> bool:
        """True for the labeler's own label."""
        return key.verifies(self.signature, self.message)


def is_ours(given: object, collections: frozenset[Nsid]) -> bool:
    """Is this a label of an account, or of a record of our collections?"""
    subject = given.get("uri") if isinstance(given, Mapping) else None
    if not isinstance(subject, str):
        return True  # to be refused with a reason
    if not subject.startswith("at://"):
        return True
    parts = subject.split("/", 4)
    return len(parts) > 3 and parts[3] in collections


def read_label(given: object, source: str, now: datetime) -> SignedLabel:
    """Check the fields of one label of a labeler. Raises BadLabel."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise BadLabel("the label is not an object")
    if given.get("ver") != 1 or type(given.get("ver")) is not int:
        raise BadLabel("the label's version is not 1")
    if given.get("src") != source:
        raise BadLabel("the label is from another labeler")
    signature = given.get("sig")
    if not isinstance(signature, bytes) or len(signature) != SIGNATURE_BYTES:
        raise BadLabel("the label is not signed")
    return SignedLabel(_read(given, source, now), _message(given), signature)


def _read(given: Mapping[str, Any], source: str, now: datetime) -> Label:
    cid, negated = given.get("cid"), given.get("neg", False)
    if cid is not None and not (isinstance(cid, str) and is_cid(cid)):
        raise BadLabel("cid is not a CID")
    if type(negated) is not bool:
        raise BadLabel("neg is not true or false")
    cts = _time(given, "cts")
    if cts - now > MAX_AHEAD:
        raise BadLabel("cts lies in the future")
    expires_at = None if given.get("exp") is None else _time(given, "exp")
    return Label(source, _subject(given), cid, _value(given), cts, expires_at, negated)


def _subject(given: Mapping[str, Any]) -> str:
    subject = given.get("uri")
    if not isinstance(subject, str):
        raise BadLabel("uri is not a text")
    if is_did(subject):
        return subject
    try:
        return str(AtUri.parse(subject))
    except ValueError:
        raise BadLabel("uri is neither a DID nor a record's at-uri") from None


def _value(given: Mapping[str, Any]) -> str:
    value = given.get("val")
    try:
        if isinstance(value, str):
            return check_value(value)
    except ValueError:
        pass
    raise BadLabel("val is not a label's value")


def _time(given: Mapping[str, Any], field: str) -> datetime:
    text = given.get(field)
    try:
        if isinstance(text, str):
            return parse_datetime(text)
    except ValueError:
        pass
    raise BadLabel(f"{field} is not a datetime")


def _message(given: Mapping[str, Any]) -> bytes:
    try:
        encoded: bytes = libipld.encode_dag_cbor(
            {name: value for name, value in given.items() if name not in _UNSIGNED}
        )
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadLabel("the label is not DAG-CBOR") from error
    if len(encoded) > MOST_BYTES:
        raise BadLabel("the label is too large")
    return encoded
