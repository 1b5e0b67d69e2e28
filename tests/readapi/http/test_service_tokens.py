"""A service token is of one account, for one service and method, for a while, and is used once."""

import asyncio
import base64
import time
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import ECKey

from indexer.events import IdentityFact
from readapi.errors import NotAuthenticated, PdsDown
from readapi.http.limits.rate_limits import Limiter, Rate, Spent
from readapi.http.service_tokens import LONGEST, SKEW, ServiceTokens, read_token
from readapi.oauth.network import Network
from readapi.state.state import State, open_state
from schemas.ids import INVALID_HANDLE, Did
from schemas.settings import Settings
from tests.network.space_host import multikey
from tests.readapi.state.people import MARA, START, HandClock

SERVICE = Did("did:web:music.example")
METHOD = "fm.svc.getTrack"
CLIENT = "198.51.100.7"
KEYS = {curve: ECKey.generate_key(curve) for curve in ("P-256", "secp256k1")}
ALGORITHMS = {"P-256": "ES256", "secp256k1": "ES256K"}


class NoAnswer(Exception):
    """No identity can be looked up."""


class Identities:
    """A resolver of identities that has one: Mara's, whose key was changed. `known`: what it remembers."""

    def __init__(self, present: ECKey, known: ECKey | None = None) -> None:
        self._present = present
        self._known = known or present
        self.asked = 0
        self.fails = False

    async def resolve(self, did: Did) -> IdentityFact:
        self.asked += 1
        if self.fails:
            raise NoAnswer
        return IdentityFact(did, INVALID_HANDLE, None, multikey(self._known) if did == MARA else None)

    def doubt(self, _: Did) -> None:
        self._known = self._present


def verifier(state: State, identities: Identities, most: int = 100) -> ServiceTokens:
    """`most`: tokens a minute from one address."""
    nobody: Any = None
    network = Network(nobody, identities, nobody, NoAnswer)
    return ServiceTokens(SERVICE, network, state.service_tokens, Limiter(Rate(most, 60), time.monotonic))


def signed(key: ECKey, header: dict[str, Any] | None = None, **changes: Any) -> str:
    """A good token of Mara's, but for the changes; a claim that is None is left out."""
    seconds = int(START.timestamp())
    claims = {"iss": MARA, "aud": SERVICE, "lxm": METHOD, "exp": seconds + 60, "iat": seconds, "jti": "one"}
    kept = {name: value for name, value in (claims | changes).items() if value is not None}
    algorithm = ALGORITHMS[key.curve_name]
    return jwt.encode({"alg": algorithm, "typ": "JWT", **(header or {})}, kept, key, algorithms=[algorithm])


def after(**duration: float) -> int:
    return int((START + timedelta(**duration)).timestamp())


@pytest.mark.parametrize("curve", KEYS)
async def test_a_token_names_its_account_once(state: State, curve: str) -> None:
    """On both curves of atproto."""
    tokens = verifier(state, Identities(KEYS[curve]))

    assert await tokens.verify(signed(KEYS[curve]), METHOD, CLIENT, START) == MARA
    with pytest.raises(NotAuthenticated, match="used before"):
        await tokens.verify(signed(KEYS[curve]), METHOD, CLIENT, START)
    assert await tokens.verify(signed(KEYS[curve], jti="two"), METHOD, CLIENT, START) == MARA


async def test_of_concurrent_uses_one_succeeds(state: State) -> None:
    tokens = verifier(state, Identities(KEYS["P-256"]))
    token = signed(KEYS["P-256"])

    told = await asyncio.gather(
        *(tokens.verify(token, METHOD, CLIENT, START) for _ in range(5)), return_exceptions=True
    )

    assert told.count(MARA) == 1
    assert sum(isinstance(one, NotAuthenticated) for one in told) == 4


async def test_an_address_may_send_only_so_many_whoever_they_are_of(state: State) -> None:
    """Each account has a limit of its own, and accounts are for nothing."""
    identities = Identities(KEYS["P-256"])
    tokens = verifier(state, identities, most=2)
    for number in range(2):
        await tokens.verify(signed(KEYS["P-256"], jti=str(number)), METHOD, CLIENT, START)

    with pytest.raises(Spent):
        await tokens.verify(signed(KEYS["P-256"], jti="three"), METHOD, CLIENT, START)

    assert identities.asked == 2
    assert await tokens.verify(signed(KEYS["P-256"], jti="four"), METHOD, "198.51.100.8", START) == MARA


async def test_a_token_that_was_used_is_known_to_every_process_until_it_expires(
    state: State, state_settings: Settings, clock: HandClock
) -> None:
    """Then nothing is kept of it."""
    key = KEYS["P-256"]
    await verifier(state, Identities(key)).verify(signed(key), METHOD, CLIENT, clock())
    async with open_state(state_settings, clock) as other:
        clock.forward(seconds=60 + SKEW.total_seconds() - 1)
        with pytest.raises(NotAuthenticated, match="used before"):
            await verifier(other, Identities(key)).verify(signed(key), METHOD, CLIENT, clock())
        clock.forward(seconds=1)
        with pytest.raises(NotAuthenticated, match="expired"):
            await verifier(other, Identities(key)).verify(signed(key), METHOD, CLIENT, clock())

        assert await other.service_tokens.use(f"{MARA} one", clock() + LONGEST)


REFUSED = {
    "audience": ({"aud": "did:web:elsewhere.example"}, "not for did:web:music.example"),
    "another entry": ({"aud": f"{SERVICE}#another"}, "not for did:web:music.example"),
    "method": ({"lxm": "fm.svc.getLikes"}, "another method"),
    "no method": ({"lxm": None}, "malformed"),
    "no id": ({"jti": None}, "malformed"),
    "empty id": ({"jti": ""}, "malformed"),
    "no end": ({"exp": None}, "malformed"),
    "an end that is no number": ({"exp": "tomorrow"}, "malformed"),
    "an end beyond time": ({"exp": 10**30}, "malformed"),
    "expired": ({"exp": after(seconds=-30)}, "expired"),
    "too long": ({"exp": after(hours=2)}, "for too long"),
    "of the future": ({"iat": after(seconds=31)}, "not valid yet"),
    "not yet": ({"nbf": after(seconds=31)}, "not valid yet"),
    "no account": ({"iss": "mara.example"}, "not of an account"),
    "an access token": ({"header": {"typ": "at+jwt"}}, "no service token"),
    "too large": ({"more": "x" * 4096}, "too long"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_token_for_something_else_is_refused_before_anybody_is_asked(state: State, name: str) -> None:
    """Also one that is signed by the account."""
    identities = Identities(KEYS["P-256"])
    changes, reason = REFUSED[name]

    with pytest.raises(NotAuthenticated, match=reason):
        await verifier(state, identities).verify(signed(KEYS["P-256"], **changes), METHOD, CLIENT, START)

    assert identities.asked == 0


async def test_clocks_may_differ_a_little(state: State) -> None:
    key = KEYS["P-256"]
    tokens = verifier(state, Identities(key))

    for number, seconds in enumerate((-29, 30)):
        token = signed(key, exp=after(seconds=seconds), iat=after(seconds=seconds), jti=str(number))
        assert await tokens.verify(token, METHOD, CLIENT, START) == MARA


@pytest.mark.parametrize("curve", KEYS)
async def test_a_token_of_another_key_is_refused_and_its_id_may_still_be_used(
    state: State, curve: str
) -> None:
    """A forger cannot spend the tokens of an account, nor name another algorithm or another account."""
    ours, theirs = KEYS[curve], ECKey.generate_key(curve)
    tokens = verifier(state, Identities(ours))
    unsigned = f"{signed(ours).rpartition('.')[0]}.{'A' * 86}"
    other = KEYS[next(name for name in KEYS if name != curve)]

    for forged in (signed(theirs), unsigned, signed(other), signed(ours, iss="did:plc:ben")):
        with pytest.raises(NotAuthenticated, match="not signed by its account"):
            await tokens.verify(forged, METHOD, CLIENT, START)

    assert await tokens.verify(signed(ours), METHOD, CLIENT, START) == MARA


async def test_a_key_that_was_changed_is_looked_up_again(state: State) -> None:
    former, present = KEYS["P-256"], KEYS["secp256k1"]
    tokens = verifier(state, Identities(present, known=former))

    assert await tokens.verify(signed(present), METHOD, CLIENT, START) == MARA


async def test_an_identity_that_cannot_be_looked_up_is_no_refusal_of_the_token(state: State) -> None:
    """It may be sent again."""
    identities = Identities(KEYS["P-256"])
    identities.fails = True

    with pytest.raises(PdsDown):
        await verifier(state, identities).verify(signed(KEYS["P-256"]), METHOD, CLIENT, START)

    identities.fails = False
    assert await verifier(state, identities).verify(signed(KEYS["P-256"]), METHOD, CLIENT, START) == MARA


HEADERS = (
    *(b"[]", b"null", b"{}", b"\xff", b"[" * 500 + b"]" * 500),
    *(b'{"alg":5}', b'{"alg":"none"}', b'{"alg":"HS256"}', b'{"alg":["ES256"]}', b'{"alg":"ES256","typ":5}'),
    *(b'{"alg":"ES256"}', b'{"alg":"ES256","crit":["b64"],"b64":false}', b'{"alg":"ES256","crit":"x"}'),
    b'{"alg":"ES256","jwk":{"kty":"oct","k":"AA"},"jku":"http://127.0.0.1/"}',
)
MULTIKEYS = (*map(multikey, KEYS.values()), "", "z", "zzz", "mAAAA", None)


@given(st.sampled_from(HEADERS), st.binary(max_size=60), st.text(max_size=100))
def test_any_text_is_refused(header: bytes, payload: bytes, text: str) -> None:
    """When it is read, or by every key that a DID document may have: never a failure."""
    good = signed(KEYS["P-256"]).split(".")[1]
    tokens = [text, f"..{text}"]
    for claims in (good, _b64(payload)):
        tokens += [f"{_b64(header)}.{claims}.{signature}" for signature in (text, "A" * 86)]

    for token in tokens:
        try:
            found = read_token(token, SERVICE, METHOD, START)
        except NotAuthenticated:
            continue
        assert not any(found.is_signed_by(key) for key in MULTIKEYS)


def _b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
