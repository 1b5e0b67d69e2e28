"""Dead letters for the operator: listed by the running indexer, else read from the catalogue's file."""

import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import duckdb
import orjson
from aiohttp import web

from indexer.catalog.database import Database, require_catalogue
from indexer.catalog.store_errors import explain_errors
from indexer.catalog.tables import dead_letters
from indexer.catalog.tables.dead_letters import DeadLetter, LetterFilter, Summary
from indexer.control.replay import Replay, ReplayProgress
from indexer.stores import Stores
from schemas import control_socket, data_folder
from schemas.settings import Settings

PATH: Final = "/dead-letters"
ANSWER_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 256 << 20  # a letter in base64: it may be as large as a frame of the stream

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class DeadLetterList:
    """The newest dead letters that match a filter, and the number of all that match."""

    total: int
    letters: list[Summary]


def letter_routes(stores: Stores, retrial: Replay) -> list[web.RouteDef]:
    """The routes that a running indexer serves on its control socket."""

    async def listed(request: web.Request) -> web.Response:
        wanted, limit = _wanted(request), int(request.query.get("limit", "50"))
        return _json(await stores.read(lambda con: _listing(con, wanted, limit)))

    async def found(request: web.Request) -> web.Response:
        letter = await stores.read(lambda con: dead_letters.find_letter(con, request.match_info["name"]))
        return _json(letter and asdict(letter) | {"raw": base64.b64encode(letter.raw).decode()})

    async def replayed(request: web.Request) -> web.StreamResponse:
        lines = web.StreamResponse()
        await lines.prepare(request)
        async for outcome in retrial.run(_wanted(request)):
            await lines.write(orjson.dumps(outcome) + b"\n")
        return lines

    return [
        web.get(PATH, listed),
        web.get(f"{PATH}/{{name}}", found),
        web.post(f"{PATH}/replay", replayed),
    ]


async def list_letters(settings: Settings, wanted: LetterFilter, limit: int) -> DeadLetterList:
    """The newest letters. Raises StoreError or Unanswered."""
    if not control_socket.is_listening(_socket(settings)):
        with _read(settings) as con:
            return _listing(con, wanted, limit)
    answer = await _ask(settings, PATH, _query(wanted) | {"limit": str(limit)})
    return DeadLetterList(answer["total"], [Summary(**_dated(letter)) for letter in answer["letters"]])


async def find_letter(settings: Settings, name: str) -> DeadLetter | None:
    """The newest letter with a name that begins with this. Raises StoreError or Unanswered."""
    if not control_socket.is_listening(_socket(settings)):
        with _read(settings) as con:
            return dead_letters.find_letter(con, name)
    answer = await _ask(settings, f"{PATH}/{quote(name, safe='')}", {})
    return answer and DeadLetter(**_dated(answer) | {"raw": base64.b64decode(answer["raw"])})


async def replay_letters(settings: Settings, wanted: LetterFilter) -> AsyncIterator[ReplayProgress]:
    """Have a running indexer process letters again. Raises Unanswered."""
    lines = control_socket.ask_lines(_socket(settings), "POST", f"{PATH}/replay", query=_query(wanted))
    async with aclosing(lines):
        async for line in lines:
            yield ReplayProgress(**orjson.loads(line))


async def _ask(settings: Settings, path: str, query: dict[str, str]) -> Any:
    answer = await control_socket.ask(
        _socket(settings), "GET", path, query=query, seconds=ANSWER_SECONDS, most_bytes=ANSWER_BYTES
    )
    return orjson.loads(answer.body)


def _socket(settings: Settings) -> Path:
    return settings.data_dir / data_folder.CONTROL_SOCKET


@contextmanager
def _read(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    require_catalogue(settings)
    catalogue = Database.open(settings)
    try:
        with explain_errors(catalogue.path):
            yield catalogue.con
    finally:
        catalogue.close()


def _listing(con: duckdb.DuckDBPyConnection, wanted: LetterFilter, limit: int) -> DeadLetterList:
    return DeadLetterList(
        dead_letters.count_letters(con, wanted), dead_letters.list_summaries(con, wanted, limit)
    )


def _wanted(request: web.Request) -> LetterFilter:
    return LetterFilter(*(request.query.get(field) for field in ("did", "reason", "name")))


def _query(wanted: LetterFilter) -> dict[str, str]:
    return {field: value for field, value in asdict(wanted).items() if value is not None}


def _dated(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"received_at": datetime.fromisoformat(str(fields["received_at"]))}


def _json(answer: object) -> web.Response:
    return web.Response(body=orjson.dumps(answer), content_type="application/json")
