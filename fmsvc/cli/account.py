"""`fmsvc login`, `logout` and `me`."""

import base64
import hashlib
import secrets
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

from cyclopts import Parameter

from fmsvc import __version__
from fmsvc.cli.output import PLAIN, Output, print_error, safe
from fmsvc.cli.service import THE_SERVICE, Service, is_web_address
from fmsvc.errors import FmsvcError
from fmsvc.tokens import forget_token, keep_token, kept_token

_TIMEOUT_SECONDS = 30.0
_WAIT_SECONDS = 600.0  # as long as the service remembers that a sign-in began


def login(
    handle: str,
    /,
    *,
    paste: Annotated[
        bool,
        Parameter(
            negative="", show_default=False, help="Paste a code, where no browser can open on this machine."
        ),
    ] = False,
    service: Service = THE_SERVICE,
    output: Output = PLAIN,
) -> None:
    """Sign in with a browser, and keep the session.

    Parameters
    ----------
    handle
        The handle or DID of your account.
    """
    address = service.address
    before = kept_token(address)
    session = _sign_in_by_paste(address, handle) if paste else _sign_in_by_listener(address, handle)
    place = keep_token(address, _text(session, "session_id"))
    if before is not None:
        _end_former(address, before)
    output.say(f"Signed in as {session.get('handle')}. The session is kept in {place}.")
    if output.json:
        output.item({name: session.get(name) for name in ("did", "handle")}, ())


def logout(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """End the kept session, here and at your own server."""
    address = service.address
    token = kept_token(address)
    if token is None:
        output.say("No session is kept.")
        return
    _end_session(address, token)
    forget_token(address)
    output.say("Signed out.")


def me(*, service: Service = THE_SERVICE, output: Output = PLAIN) -> None:
    """Show the account that is signed in."""
    with service.open_signed_in() as client:
        output.item(client.me(), ("did", "handle", "display_name"))


@dataclass(frozen=True, slots=True)
class _Proof:
    """The secrets of one sign-in."""

    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    state: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)

    def query(self, handle: str) -> dict[str, str]:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        named = {"did" if handle.startswith("did:") else "handle": handle}
        return named | {"state": self.state, "code_challenge": challenge, "code_challenge_method": "S256"}


def _sign_in_by_listener(address: str, handle: str) -> dict[str, Any]:
    import webbrowser

    from fmsvc.cli.listener import listening

    proof = _Proof()
    with listening(proof.state) as listener:
        page = _start(address, proof.query(handle) | {"redirect_uri": listener.redirect_uri})
        print(f"Open this page, if your browser does not:\n{page}", file=sys.stderr, flush=True)
        webbrowser.open(page)
        answer = listener.wait(_WAIT_SECONDS)
    if answer is None:
        raise FmsvcError("Nothing came back from the browser in ten minutes. Run fmsvc login again.")
    if "code" not in answer:
        raise FmsvcError(answer.get("error_description") or "The sign-in was refused.", status=401)
    return _exchange(address, answer["code"], proof)


def _sign_in_by_paste(address: str, handle: str) -> dict[str, Any]:
    proof = _Proof()
    page = _start(address, proof.query(handle))
    print(f"Open this page in any browser:\n{page}", file=sys.stderr, flush=True)
    print("Code: ", end="", file=sys.stderr, flush=True)
    code = sys.stdin.readline().strip()
    if not code:
        raise FmsvcError("No code was given.", code="usage")
    return _exchange(address, code, proof)


def _start(address: str, query: dict[str, str]) -> str:
    """The page to visit. What the service names is opened only when it is a web address."""
    page = _text(_request(address, "auth", "start", query=query), "auth_url")
    if not is_web_address(page):
        raise FmsvcError("The service named no page to sign in at.")
    return safe(page)


def _exchange(address: str, code: str, proof: _Proof) -> dict[str, Any]:
    sent = {"exchange_token": code, "code_verifier": proof.verifier}
    session = _request(address, "auth", "exchange", sent=sent)
    _text(session, "session_id")
    found: dict[str, Any] = session
    return found


def _end_former(address: str, session: str) -> None:
    try:
        _end_session(address, session)
    except FmsvcError as error:
        print_error(f"The former session was not ended: {error.message}")


def _request(
    address: str, *path: str, query: dict[str, str] | None = None, sent: dict[str, str] | None = None
) -> Any:
    """The JSON that a step of the sign-in is answered with. Sent once, and as no account."""
    from fmsvc._sync.http import Http

    service = Http(
        token="",
        api_url=address,
        timeout=_TIMEOUT_SECONDS,
        user_agent=f"fmsvc/{__version__}",
        transport=None,
        max_retries=0,
    )
    try:
        return service.ask("POST", *path, query=query, sent=sent)
    finally:
        service.close()


def _end_session(address: str, session: str) -> None:
    from fmsvc import Client

    with Client(api_url=address, token=session) as client:
        client.session.logout()


def _text(found: object, name: str) -> str:
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, str):
        raise FmsvcError(f"The service's answer has no {name}.")
    return value
