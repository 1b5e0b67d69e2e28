"""SQL over HTTP: off unless turned on; over the newest export; each form; on a page."""

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import pytest
import pytest_asyncio

from readapi.sql.limits import MOST_ROWS
from tests.indexer.changes import put, uri
from tests.readapi.music import PRIVATE, UNLISTED, Music, playing

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = "select count(*) as n from tracks"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def queried(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Music]:
    async with playing(tmp_path_factory.mktemp("sql"), sql=True) as music:
        music.export()
        yield music


async def ask(music: Music, query: str, **more: Any) -> tuple[int, bytes, Any]:
    """Status, body and headers."""
    async with music.client.post(f"{music.address}/sql", json={"query": query, **more}) as answer:
        return answer.status, await answer.read(), answer.headers


async def test_it_is_off_unless_the_operator_turns_it_on(music: Music) -> None:
    """The same sentence everywhere."""
    for status, body, _ in [await ask(music, COUNT)]:
        assert (status, orjson.loads(body)["message"]) == (404, "This service does not offer SQL.")
    assert (await music.get("/sql/schema")).status == 404
    assert (await music.get("/data/sql")).status == 404


async def test_before_the_first_export_there_is_nothing_to_ask(tmp_path: Path) -> None:
    """It says so."""
    async with playing(tmp_path, sql=True) as music:
        status, body, _ = await ask(music, COUNT)

    assert (status, orjson.loads(body)["message"]) == (503, "No export has been made yet.")


async def test_each_form_has_the_same_rows(queried: Music) -> None:
    """Times in UTC; unlisted and private tracks in none."""
    query = "select uri, title, created_at, labels from tracks order by uri"
    forms = {form: await ask(queried, query, format=form) for form in ("json", "csv", "arrow", "parquet")}
    assert {status for status, _, _ in forms.values()} == {200}
    as_json = orjson.loads(forms["json"][1])
    as_csv = list(csv.reader(io.StringIO(forms["csv"][1].decode())))
    as_arrow = pyarrow.ipc.open_stream(forms["arrow"][1]).read_all()
    as_parquet = pyarrow.parquet.read_table(io.BytesIO(forms["parquet"][1]))

    uris = [row[0] for row in as_json["rows"]]
    assert str(uri("mara", "track", 2)) in uris
    assert not {str(uri("mara", "track", number)) for number in (UNLISTED, PRIVATE)} & set(uris)
    assert [column["name"] for column in as_json["columns"]] == ["uri", "title", "created_at", "labels"]
    assert as_json["rows"][0][2].endswith("Z")
    assert [row[0] for row in as_csv[1:]] == uris
    assert as_arrow["uri"].to_pylist() == as_parquet["uri"].to_pylist() == uris
    assert {headers["X-Rows"] for _, _, headers in forms.values()} == {str(len(uris))}


async def test_an_answer_ends_at_its_most_rows(queried: Music) -> None:
    """And says that there were more, and what the limits are."""
    _, body, headers = await ask(
        queried, "select a.uri from tracks a, tracks b, tracks c, tracks d, tracks e"
    )
    answer = orjson.loads(body)

    assert len(answer["rows"]) == answer["limits"]["rows"] == MOST_ROWS
    assert answer["truncated"]
    assert headers["X-Truncated"] == "true"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select nothing from tracks", 'Referenced column "nothing" not found'),
        ("drop table tracks", "Only a SELECT statement is allowed."),
        ("from 'catalog.duckdb'", "There is no table"),
        ("select 'infinity'::timestamp", "cannot be written in this form"),
        ("select " + "title || " * 500 + "title from tracks", "nested too deeply"),
    ],
)
async def test_a_refusal_is_a_sentence(queried: Music, query: str, said: str) -> None:
    """On the page as in the API."""
    status, body, _ = await ask(queried, query)
    answer = orjson.loads(body)

    assert (status, answer["detail"]) == (422, "invalid_request")
    assert said in answer["message"]
    if len(query) < 4000:
        async with queried.client.get(f"{queried.address}/data/sql", params={"query": query}) as page:
            assert page.status == 200
            assert 'role="alert"' in await page.text()


async def test_the_page_shows_rows_and_escapes_them(queried: Music) -> None:
    """Texts of records are text."""
    await queried.add(put("ben", "track", 40, at=90, title="<script>alert(1)</script>"))
    queried.export()
    query = "select title from tracks where title like '<%'"
    async with queried.client.get(f"{queried.address}/data/sql", params={"query": query}) as answer:
        page = await answer.text()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


async def test_statements_are_counted_by_themselves(tmp_path: Path) -> None:
    """Fewer than other requests are allowed, which go on."""
    async with playing(tmp_path, sql=True, sql_rate_limit="2/minute") as music:
        music.export()
        statuses = [(await ask(music, COUNT))[0] for _ in range(3)]

        assert statuses == [200, 200, 429]
        assert (await music.get("/stats")).status == 200
