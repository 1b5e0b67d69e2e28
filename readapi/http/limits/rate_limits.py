"""How many requests one client may send: exact moving windows, kept in this process."""

import math
import re
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from schemas.settings import Settings

SIGNING_IN = ("/auth/", "/login", "/settings/")
_UPLOAD = re.compile(  # requests whose purpose is to send a file
    r"POST /(tracks/?|(portal/)?albums/[^/]+/cover|portal/uploads|portal/albums/[^/]+/uploads"
    r"|portal/tracks/[^/]+/audio)"
    r"|PUT /tracks/[^/]+/audio"
)
_PICTURES = "/img/"  # of which a page shows many
_SQL = ("/sql", "/sql/", "/data/sql", "/data/sql/")
_LOOKING = {  # pages that only show something: the form, and a program's token at the end of a sign-in
    (method, path) for method in ("GET", "HEAD") for path in ("/login", "/login/arrived")
}
ACCOUNTS = 10  # a server may send as much as so many accounts together
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests within a number of seconds."""

    count: int
    seconds: int

    @classmethod
    def read(cls, text: str) -> "Rate":
        """Read `100/minute`."""
        count, _, period = text.partition("/")
        return cls(int(count), _SECONDS[period])


class Allowance(NamedTuple):
    """What a client has left, and the seconds until it has more."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int

    @property
    def wait_seconds(self) -> int:
        """How long a client with nothing left must wait: the value of Retry-After."""
        return max(self.reset_seconds, 1)

    def lines(self) -> str:
        """The RateLimit header lines, with Retry-After when nothing is left."""
        lines = (
            f"RateLimit-Limit: {self.limit}\r\n"
            f"RateLimit-Remaining: {self.remaining}\r\n"
            f"RateLimit-Reset: {self.reset_seconds}\r\n"
        )
        return lines if self.allowed else f"{lines}Retry-After: {self.wait_seconds}\r\n"


class Spent(Exception):
    """A client has reached its limit; `allowance` says until when."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__("too many requests")
        self.allowance = allowance


class RateLimits:
    """Few requests for signing in, uploading and SQL, more elsewhere, most for pictures; each has a counter.

    `guesses` limits look-ups of unknown credentials per client. `servers` limits the requests of one address
    over all accounts that it speaks for: accounts are free, and each has a limit of its own.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        rate = Rate.read(settings.rate_limit)
        self.guesses = Limiter(rate, clock, "guesses")
        self.servers = Limiter(Rate(ACCOUNTS * rate.count, rate.seconds), clock, "servers")
        self._of_signing_in = Limiter(Rate.read(settings.auth_rate_limit), clock, "signing in")
        self._of_uploads = Limiter(Rate.read(settings.upload_rate_limit), clock, "uploads")
        self._of_sql = Limiter(Rate.read(settings.sql_rate_limit), clock, "sql")
        self._of_pictures = Limiter(Rate.read(settings.picture_rate_limit), clock, "pictures")
        self._of_the_rest = Limiter(rate, clock)

    @property
    def refused(self) -> int:
        """How many requests were refused."""
        few = (self._of_signing_in, self._of_uploads, self._of_sql)
        kinds = (self.guesses, self.servers, *few, self._of_pictures, self._of_the_rest)
        return sum(kind.refused for kind in kinds)

    def hit(self, client: str, path: str, method: str = "GET") -> Allowance | Awaitable[Allowance]:
        """Count one request. In `path` only slashes within names are still escaped."""
        return self.limiter_of(method, path).hit(client)

    def limiter_of(self, method: str, path: str) -> "Limiter":
        """The limiter for such requests. Loading the sign-in page is not an attempt to sign in."""
        if path.startswith(SIGNING_IN) and (method, path) not in _LOOKING:
            return self._of_signing_in
        if path in _SQL:
            return self._of_sql
        if path.startswith(_PICTURES):
            return self._of_pictures
        is_upload = method in ("POST", "PUT") and _UPLOAD.fullmatch(f"{method} {path}")
        return self._of_uploads if is_upload else self._of_the_rest


class Limiter:
    """Counts each client's requests. Clients without a request for a whole window are forgotten."""

    def __init__(self, rate: Rate, clock: Callable[[], float], name: str = "all") -> None:
        self.rate = rate
        self.name = name
        self.refused = 0
        self._clock = clock
        self._windows: dict[str, deque[float]] = {}
        self._swept_at = clock()

    def hit(self, client: str) -> Allowance:
        """Count one request. Refused requests are not counted, so waiting always helps."""
        now = self._clock()
        begin = now - self.rate.seconds
        if self._swept_at < begin:
            self._sweep(begin, now)
        window = self._windows.get(client)
        if window is None:
            window = self._windows[client] = deque()
        while window and window[0] <= begin:
            window.popleft()
        allowed = len(window) < self.rate.count
        if allowed:
            window.append(now)
        else:
            self.refused += 1
        reset = math.ceil(window[0] - begin)
        return Allowance(allowed, self.rate.count, self.rate.count - len(window), reset)

    def take_back(self, client: str) -> None:
        """Uncount the newest request of this client."""
        if window := self._windows.get(client):
            window.pop()

    def _sweep(self, begin: float, now: float) -> None:
        self._windows = {
            client: window for client, window in self._windows.items() if window and window[-1] > begin
        }
        self._swept_at = now
