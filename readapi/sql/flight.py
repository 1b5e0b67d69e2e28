"""Arrow Flight SQL: the statements of `/sql` for ADBC and other drivers, on a port of its own.

A driver sends its statement (`CommandStatementQuery`), gets a ticket, and fetches the rows with it. The
ticket is the statement, so nothing is kept between two calls. Nothing is prepared, and nothing is written.
https://arrow.apache.org/docs/format/FlightSql.html
"""

import asyncio
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote

import pyarrow
import pyarrow.ipc
import structlog
from pyarrow import flight

from readapi.errors import ApiError, InvalidRequest, RateLimited
from readapi.http.limits.clients import Client, Clients
from readapi.http.limits.rate_limits import Limiter
from readapi.sql.limits import MOST_ROWS
from readapi.sql.queries import Queries
from schemas.api.sql import MOST_CHARACTERS

QUERY: Final = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
_MOST_BYTES: Final = 4 * MOST_CHARACTERS + 1024  # of a command: a statement in UTF-8, and its frame
_FORWARDED: Final = "x-forwarded-for"

log = structlog.get_logger()


class CommandError(ValueError):
    """A command is not in the protocol's form."""


class FlightServer(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Listens from when it is made until `shutdown`. Calls come in threads; statements run in `loop`."""

    def __init__(
        self,
        host: str,
        port: int,
        queries: Queries,
        limiter: Limiter,
        clients: Clients,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(f"grpc://{host}:{port}", middleware={_FORWARDED: _ForwardedFactory()})
        self._queries = queries
        self._limiter = limiter
        self._clients = clients
        self._loop = loop

    def get_flight_info(self, _context: Any, descriptor: Any) -> Any:
        """Where the rows of a statement are: here, with the statement as the ticket."""
        try:
            kind, command = read_any(descriptor.command or b"")
            if kind != QUERY:
                raise CommandError("Only statements are answered (CommandStatementQuery).")
            statement = read_fields(command).get(1, b"")
        except CommandError as error:
            raise flight.FlightServerError(str(error)) from None
        return flight.FlightInfo(None, descriptor, [flight.FlightEndpoint(statement, [])], -1, -1)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """The rows of the statement that the ticket is."""
        forwarded = context.get_middleware(_FORWARDED)
        client = self._clients.identify(_host(context.peer()), forwarded.values if forwarded else ())
        try:
            table = asyncio.run_coroutine_threadsafe(self._run(client, ticket.ticket), self._loop).result()
        except InvalidRequest as error:
            raise flight.FlightServerError(error.message) from None
        except ApiError as error:
            raise flight.FlightUnavailableError(error.message) from None
        return flight.RecordBatchStream(table)

    async def _run(self, client: Client, statement: bytes) -> pyarrow.Table:
        allowance = self._limiter.hit(client)
        if not allowance.allowed:
            raise RateLimited(f"Too many statements; try again in {allowance.wait_seconds} seconds.")
        if len(statement) > _MOST_BYTES:
            raise InvalidRequest(f"A statement has at most {MOST_CHARACTERS:,} characters.")
        try:
            text = statement.decode()
        except UnicodeDecodeError:
            raise InvalidRequest("A statement is text in UTF-8.") from None
        answer = await self._queries.run(text, "arrow", client)
        if answer.truncated:  # the protocol has no word for an answer that is cut
            raise InvalidRequest(f"The answer has more than {MOST_ROWS:,} rows; add a LIMIT.")
        return pyarrow.ipc.open_stream(io.BytesIO(answer.body)).read_all()


def read_any(message: bytes) -> tuple[bytes, bytes]:
    """The type and the content of a `google.protobuf.Any`. Raises CommandError."""
    fields = read_fields(message)
    return fields.get(1, b""), fields.get(2, b"")


def read_fields(message: bytes) -> dict[int, bytes]:
    """The fields of a protobuf message that holds texts and bytes alone, by number. Raises CommandError.

    https://protobuf.dev/programming-guides/encoding/
    """
    if len(message) > _MOST_BYTES:
        raise CommandError("The command is too long.")
    fields, rest = {}, iter(message)
    for tag in rest:
        if tag & 7 != 2 or tag > 127:
            raise CommandError("The command is not in the form of Flight SQL.")
        length = _varint(rest)
        content = bytes(islice(rest, length))
        if len(content) != length:
            raise CommandError("The command ends too soon.")
        fields[tag >> 3] = content
    return fields


def _varint(rest: Iterator[int]) -> int:
    value = 0
    for place, byte in enumerate(rest):
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value
        if place == 4:
            break
    raise CommandError("The command ends too soon.")


def _host(peer: str) -> str:
    """The address in gRPC's name of a peer: `ipv4:127.0.0.1:1234`, `ipv6:%5B::1%5D:1234`."""
    _, _, address = unquote(peer).partition(":")
    return address.rpartition(":")[0].strip("[]")


class _Forwarded(flight.ServerMiddleware):  # type: ignore[misc]
    """The values of X-Forwarded-For of one call."""

    def __init__(self, values: list[str]) -> None:
        self.values = values


class _ForwardedFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    def start_call(self, _info: Any, headers: dict[str, list[str]]) -> _Forwarded:
        return _Forwarded([str(value) for value in headers.get(_FORWARDED, ())])
