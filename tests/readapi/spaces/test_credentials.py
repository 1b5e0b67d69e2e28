"""A credential is good for one Space, one key and a while, and only if the Space's authority signed it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey

from readapi.spaces import credentials
from readapi.spaces.credentials import LONGEST, InvalidCredential
from schemas.ids import Did, Nsid
from schemas.spaces import Space
from tests.network.space_host import CREDENTIAL, DELEGATION, multikey, signed

SPACE = Space.own(Did("did:plc:mara"), Nsid("fm.svc.privateTracks"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
END = NOW + timedelta(hours=2)
KEYS = {curve: ECKey.generate_key(curve) for curve in ("P-256", "secp256k1")}


def claims(**changes: Any) -> dict[str, Any]:
    """Those of a good one."""
    whole = {"iss": SPACE.authority, "sub": str(SPACE), "cnf": {"jkt": "thumbprint"}}
    return {**whole, "exp": int(END.timestamp()), **changes}


def read(token: str, key: ECKey) -> datetime:
    return credentials.verify_credential(token, SPACE, "thumbprint", multikey(key), NOW)


@pytest.mark.parametrize("curve", KEYS)
def test_it_says_until_when_it_is_good(curve: str) -> None:
    """On both curves of atproto; not for longer than a day, whatever it says."""
    key = KEYS[curve]

    assert read(signed(CREDENTIAL, claims(), key), key) == END
    assert read(signed(CREDENTIAL, claims(exp=9_999_999_999), key), key) == NOW + LONGEST


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"iss": "did:plc:ben"}, "another Space"),
        ({"sub": f"{SPACE}-too"}, "another Space"),
        ({"cnf": {"jkt": "another"}}, "another key"),
        ({"cnf": {}}, "no credential"),
        ({"exp": int(NOW.timestamp())}, "out of date"),
        ({"exp": "tomorrow"}, "no credential"),
        ({"exp": 10**30}, "no credential"),
    ],
)
def test_one_for_something_else_is_unfit(changes: dict[str, Any], reason: str) -> None:
    key = KEYS["secp256k1"]

    with pytest.raises(InvalidCredential, match=reason):
        read(signed(CREDENTIAL, claims(**changes), key), key)


def test_one_that_somebody_else_signed_is_unfit() -> None:
    """By another key of either curve; or signed well, but as another kind of token."""
    key = KEYS["P-256"]

    for other in (ECKey.generate_key("P-256"), KEYS["secp256k1"]):
        with pytest.raises(InvalidCredential, match="not signed"):
            read(signed(CREDENTIAL, claims(), other), key)
    with pytest.raises(InvalidCredential, match="another kind"):
        read(signed(DELEGATION, claims(), key), key)


@given(st.text(max_size=200), st.text(max_size=60))
def test_whatever_is_no_credential_is_unfit(token: str, key: str) -> None:
    """And whatever is no key verifies nothing."""
    for multibase in (key, multikey(KEYS["P-256"])):
        with pytest.raises(InvalidCredential):
            credentials.verify_credential(token, SPACE, "thumbprint", multibase, NOW)
