"""Arrow Flight SQL, asked by the ADBC driver: the rows and refusals of /sql, and nothing else."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pyarrow
import pytest
import pytest_asyncio
from adbc_driver_flightsql import dbapi
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import flight

from readapi.http.limits.clients import Clients
from readapi.http.limits.rate_limits import Limiter, Rate
from readapi.sql.flight import CommandError, FlightServer, read_any
from readapi.sql.limits import MOST_ROWS
from readapi.sql.queries import Queries
from schemas import data_folder
from tests.network.server import free_port, running_server
from tests.patience import PATIENCE_SECONDS
from tests.promises import documented

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = MOST_ROWS + 1
HEADER = "adbc.flight.sql.rpc.call_header.x-forwarded-for"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file as `/sql` reads one."""
    file = tmp_path_factory.mktemp("flight") / "published.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("create table meta as select 1 as version")
        con.execute("create table track_tags as select 'jazz' as tag from range(3)")
        con.execute(f"create table likes as select i as id, 'café ' || i as track from range({ROWS}) r(i)")
    return file


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def address(published: Path) -> AsyncIterator[str]:
    """Where a server listens that trusts this machine's proxy; a client sends 8 statements a minute."""
    limiter = Limiter(Rate(8, 60), time.monotonic)
    clients, loop = Clients(["127.0.0.1"]), asyncio.get_running_loop()
    server = FlightServer("127.0.0.1", 0, Queries(published), limiter, clients, loop)
    yield f"grpc://127.0.0.1:{server.port}"
    await asyncio.to_thread(server.shutdown)


async def ask(address: str, statement: str, client: str = "192.0.2.1") -> pyarrow.Table:
    """The rows, by the driver."""

    def fetch() -> pyarrow.Table:
        options = {HEADER: client}
        with (
            dbapi.connect(address, db_kwargs=options, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
            return cursor.fetch_arrow_table()

    return await asyncio.to_thread(fetch)


async def test_a_driver_gets_the_rows_that_sql_gives(address: str) -> None:
    """With their types, in order, and none at all."""
    found = await ask(address, "select id, track from likes order by id desc limit 2")
    none = await ask(address, "select id, track from likes where id < 0")

    assert found.to_pylist() == [
        {"id": ROWS - 1, "track": f"café {ROWS - 1}"},
        {"id": ROWS - 2, "track": f"café {ROWS - 2}"},
    ]
    assert (none.num_rows, none.schema) == (0, found.schema)


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("drop table likes", "Only a SELECT statement is allowed."),
        ("select * from read_csv('/etc/passwd')", "Only the published tables can be read"),
        ("select * from nothing", "There is no table 'nothing'."),
        ("select id from likes", f"more than {MOST_ROWS:,} rows; add a LIMIT"),
        ("select '" + "x" * 11_000 + "'", "at most 10,000 characters"),
    ],
)
async def test_a_refusal_is_a_sentence_and_tells_no_path(address: str, statement: str, sentence: str) -> None:
    """The jail's own, and that of an answer which would be cut."""
    with pytest.raises(dbapi.Error, match="FlightSQL") as refused:
        await ask(address, statement, "192.0.2.2")

    assert sentence in str(refused.value)
    assert "Traceback" not in str(refused.value)
    assert ".py" not in str(refused.value)


async def test_the_documented_program_prints_what_is_there(address: str) -> None:
    """That of docs/exports.md, with another address."""
    [block] = [one for one in documented.blocks() if one.language == "python" and "flightsql" in one.text]
    assert "grpc://127.0.0.1:8815" in block.text
    program = block.text.replace("grpc://127.0.0.1:8815", address)
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    printed, _ = await ran.communicate()

    assert ran.returncode == 0
    assert "jazz" in printed.decode()


@pytest.mark.slow
async def test_each_client_has_its_limit(address: str) -> None:
    """Clients behind a trusted proxy are told apart."""
    for _ in range(8):
        await ask(address, "select 1 as one", "192.0.2.3")
    with pytest.raises(dbapi.Error, match="Too many statements; try again in"):
        await ask(address, "select 1 as one", "192.0.2.3")
    assert (await ask(address, "select 1 as one", "192.0.2.4")).num_rows == 1


async def test_other_commands_are_refused_and_break_nothing(address: str) -> None:
    """Tables are not listed, nothing is prepared or put, and bytes that are no command stop nothing."""

    def refuse_all() -> list[str]:
        told = []
        with flight.connect(address) as client:
            for command in (
                b"",
                b"\xff" * 100,
                b"\n\xff\xff\xff\xff\x7f",
                b"\x00" * 100_000,
                any_of(b"type.googleapis.com/arrow.flight.protocol.sql.CommandGetTables", b""),
            ):
                with pytest.raises(flight.FlightServerError) as refused:
                    client.get_flight_info(flight.FlightDescriptor.for_command(command))
                told.append(str(refused.value))
            with pytest.raises(flight.FlightServerError):
                client.do_get(flight.Ticket(b"\xff\xfe")).read_all()
            with pytest.raises(pyarrow.ArrowNotImplementedError):
                list(client.do_action(flight.Action("CreatePreparedStatement", b"")))
            with pytest.raises(pyarrow.ArrowNotImplementedError):
                list(client.list_flights())
        return told

    told = await asyncio.to_thread(refuse_all)

    assert all("command" in sentence or "statements" in sentence for sentence in told), told
    assert not [sentence for sentence in told if "Traceback" in sentence]
    assert (await ask(address, "select 1 as one", "192.0.2.5")).num_rows == 1


@given(st.binary())
@example(b"\n")
async def test_no_bytes_are_an_error_of_ours(message: bytes) -> None:
    """They are a command, or a CommandError."""
    try:
        kind, content = read_any(message)
    except CommandError:
        return
    assert len(kind) + len(content) <= len(message)


@given(st.binary(max_size=60), st.binary(max_size=20_000))
async def test_a_command_is_read_as_it_was_written(kind: bytes, content: bytes) -> None:
    """Of lengths of one byte and of more."""
    assert read_any(any_of(kind, content)) == (kind, content)


@pytest.mark.network
async def test_the_command_answers_until_it_is_stopped(tmp_path: Path, published: Path) -> None:
    """As a part of the service: from the newest file, with a sentence before there is one."""
    port = free_port()
    variables = {
        "FMSVC_DATA_DIR": str(tmp_path),
        "FMSVC_PORT": "1",
        "FMSVC_SQL": "true",
        "FMSVC_FLIGHT_PORT": str(port),
    }
    async with running_server(variables, "flight") as server:
        before = await until_it_listens(f"grpc://127.0.0.1:{port}")
        link = tmp_path / data_folder.NEWEST_PUBLISHED
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(published)
        found = await ask(f"grpc://127.0.0.1:{port}", "select count(*) as n from likes")
        server.process.terminate()
        code = await server.process.wait()

    assert "No export has been made yet." in before
    assert found.to_pylist() == [{"n": ROWS}]
    assert code == 0


async def until_it_listens(address: str) -> str:
    """What the server says once it answers at all."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await ask(address, "select 1")
            except dbapi.Error as error:
                if "No export" in str(error):
                    return str(error)
            await asyncio.sleep(0.1)


def any_of(kind: bytes, content: bytes) -> bytes:
    """A `google.protobuf.Any`."""
    return b"\n" + _length(kind) + kind + b"\x12" + _length(content) + content


def _length(content: bytes) -> bytes:
    value, written = len(content), bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])
