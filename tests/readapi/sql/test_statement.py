"""What a statement may contain is decided by its tree; what is not known is refused."""

import duckdb
import orjson
import pytest

from readapi.sql.statement import StatementRefused, check_statement

TABLES = frozenset({"tracks", "likes"})
RESERVED = frozenset({"duckdb_databases"})
ALLOWED = [
    "select 1",
    "from tracks",
    "table tracks",
    "select count(*), max(title) from Tracks where title ilike '%a%' group by all order by 1 desc limit 3",
    "with a as (select uri from tracks), b as (from a) select * from b join likes using (uri)",
    "select * from (select 1 as n) as s, lateral (select n + 1)",
    "select row_number() over (partition by did order by uri) as n from tracks qualify n = 1",
    "select case when 1 in (1, 2) then null else -1 end, try_cast('1' as integer), date '2026-01-01'",
    "select list_value(1, 2)[1], {'a': 1}.a, extract(dow from now()), title similar to 'a.*' from tracks",
    "select did from tracks union all select did from likes except select 'x' intersect select 'y'",
    "values (1, 'a'), (2, 'b')",
    "select * from tracks asof join likes on tracks.did >= likes.did",
    "select exists (select 1 from likes), (select count(*) from tracks), not true, 1 between 0 and 2",
    "select unnest([1, 2]), interval 1 day, 1::decimal(5, 2), 'a' || 'b', columns('u.*') from tracks",
]
REFUSED = [
    ("select 1; select 2", "one statement"),
    ("", "one statement"),
    ("insert into tracks values (1)", "Only a SELECT"),
    ("copy tracks to 'x'", "Only a SELECT"),
    ("selec 1", "cannot be read"),
    ("from 'file.csv'", "no table"),
    ("from secrets", "no table"),
    ("from main.tracks", "without schema"),
    ("from information_schema.tables", "without schema"),
    ("from range(3)", "no functions in their place"),
    ("from read_csv('x')", "no functions in their place"),
    ("select getenv('HOME')", "'getenv' is not allowed"),
    ("select repeat('a', 10)", "'repeat' is not allowed"),
    ("select system.main.count(1)", "without schema"),
    ("select list_transform([1], lambda x: x)", "is not allowed|not allowed"),
    ("with recursive r as (select 1 union all select 1 from r) from r", "Recursive|such a part"),
    ("with duckdb_databases as (select 1) select 2", "cannot be named"),
    ('with "/etc/passwd" as (select 1) select 2', "cannot be named"),
    ("summarize tracks", "such a part"),
    ("show tables", "such a part"),
    ("select ?", "PARAMETER"),
    ("select " + "(" * 150 + "1" + ")" * 150 + " + " + "+".join("1" * 150), "too deeply"),
]


def tree_of(statement: str) -> object:
    """The tree, as the process that runs statements gets it."""
    query = "select json_serialize_sql(?, skip_null := true, skip_default := true)"
    with duckdb.connect() as con:
        [(tree,)] = con.execute(query, [statement]).fetchall()
    return orjson.loads(tree)


@pytest.mark.parametrize("statement", ALLOWED)
def test_a_select_of_the_tables_is_allowed(statement: str) -> None:
    """With joins, windows, subqueries, sets and the usual functions."""
    check_statement(tree_of(statement), TABLES, RESERVED)


@pytest.mark.parametrize(("statement", "said"), REFUSED)
def test_everything_else_is_refused_with_a_sentence(statement: str, said: str) -> None:
    """Which says what."""
    with pytest.raises(StatementRefused, match=said):
        check_statement(tree_of(statement), TABLES, RESERVED)
