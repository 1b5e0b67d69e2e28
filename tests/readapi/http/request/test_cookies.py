"""Cookies are written as safely as the address allows, and read only as they were written."""

from readapi.http.request.cookies import Browser, Cookies
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
    assert SECURE.secret(Browser("leaving=forged")) != "forged"
    assert SECURE.proof(Browser("leaving=forged")) is None
    assert PLAIN.proof(Browser("theme=dark; leaving=abc")) == "abc"
    assert PLAIN.proof(Browser("not-leaving=abc")) is None


def test_tabs_that_leave_together_share_what_proves_their_browser() -> None:
    """A second tab that begins to sign in does not put an end to the first."""
    first = PLAIN.secret(Browser(""))

    assert PLAIN.secret(Browser(f"leaving={first}")) == first
    assert PLAIN.secret(Browser("")) != first


def test_the_way_back_may_take_as_long_as_its_parts() -> None:
    """Ten minutes at the server, and the minute that an exchange token is good for."""
    assert "; Max-Age=660; " in SECURE.leaving("abc")["Set-Cookie"]
