"""Cookies are written as safely as the address allows, and read only as they were written."""

from readapi.cookies import Browser, Cookies
from schemas.settings import Settings

PLAIN = Cookies(Settings(public_url="http://music.example"))
SECURE = Cookies(Settings(public_url="https://music.example"))


def test_cookies_are_not_for_scripts_nor_other_sites() -> None:
    """Nor for plain HTTP, where the service has more than that."""
    assert PLAIN.session("abc")["Set-Cookie"] == (
        "session_id=abc; Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax"
    )
    assert SECURE.session("abc")["Set-Cookie"] == (
        "session_id=abc; Max-Age=1209600; Path=/; HttpOnly; SameSite=Lax; Secure"
    )


def test_no_neighbour_can_write_who_left() -> None:
    """On https the cookie has a name that browsers take from this very host only; no other is believed."""
    assert SECURE.leaving("abc")["Set-Cookie"].startswith("__Host-leaving=abc; ")
    assert SECURE.proof(Browser("leaving=forged; __Host-leaving=abc")) == "abc"
    assert SECURE.proof(Browser("leaving=forged")) is None
    assert PLAIN.proof(Browser("theme=dark; leaving=abc")) == "abc"
    assert PLAIN.proof(Browser("not-leaving=abc")) is None
