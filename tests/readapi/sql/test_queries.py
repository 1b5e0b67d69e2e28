"""Attempts to escape from the sandbox of /sql, to exhaust it and to make it tell what it should not.

Each attempt is one SQL text. It must be refused, be stopped, or be answered without a secret, and leave
the folder of the database, the processes and the next query as they were. FOLDER stands for that folder.
SQL_ATTACKS_STRIDE sets how many are tried: every fifth (5; CI 4; 1, of make test-long, tries all).
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import duckdb
import pytest
import pytest_asyncio

from readapi.errors import RateLimited
from readapi.sql.queries import Queries, QueryRefused, QueryStopped
from schemas.api.sql import SqlForm
from schemas.exports import TABLES

pytestmark = pytest.mark.asyncio(loop_scope="module")

STRIDE: Final = int(os.environ.get("SQL_ATTACKS_STRIDE", "5"))
SECRET: Final = "Zq7-hidden-Xw9"

READING: Final = [
    "select * from read_csv('secret.csv')",
    "select * from read_csv('FOLDER/secret.csv')",
    "select * from read_csv_auto('FOLDER/secret.csv')",
    "select * from read_csv(['FOLDER/secret.csv'], header = false)",
    "select * from sniff_csv('FOLDER/secret.csv')",
    "select * from read_json('FOLDER/secret.json')",
    "select * from read_json_auto('secret.json')",
    "select * from read_json_objects('FOLDER/secret.json')",
    "select * from read_ndjson('FOLDER/secret.json')",
    "select * from read_ndjson_objects('FOLDER/secret.json')",
    "select * from read_parquet('FOLDER/secret.parquet')",
    "select * from parquet_scan('secret.parquet')",
    "select * from parquet_metadata('FOLDER/secret.parquet')",
    "select * from parquet_schema('FOLDER/secret.parquet')",
    "select * from parquet_file_metadata('FOLDER/secret.parquet')",
    "select * from parquet_kv_metadata('FOLDER/secret.parquet')",
    "select * from parquet_bloom_probe('FOLDER/secret.parquet', 'secret', 'x')",
    "select content from read_text('FOLDER/secret.txt')",
    "select content from read_text('FOLDER/*')",
    "select content from read_blob('FOLDER/secret.txt')",
    "select content from read_blob('FOLDER/open.duckdb')",
    "select content from read_blob('../*/secret.txt')",
    "select * from glob('FOLDER/*')",
    "select * from glob('*')",
    "select * from read_duckdb('FOLDER/secret.duckdb', table_name = 'secret')",
    "select * from 'secret.csv'",
    "select * from 'FOLDER/secret.csv'",
    'select * from "FOLDER/secret.csv"',
    "select * from 'FOLDER/secret.json'",
    "select * from 'FOLDER/secret.parquet'",
    "select * from 'FOLDER/secret.duckdb'",
    "select * from 'FOLDER/secret.db'",
    "select * from 'FOLDER/secret.*'",
    "from 'secret.csv'",
    "from 'file://FOLDER/secret.csv'",
    "from '/proc/self/environ'",
    "select content from read_text('/proc/self/environ')",
    "select content from read_blob('/proc/self/environ')",
    "select * from read_csv('/proc/self/environ', header = false)",
    "select content from read_text('/proc/self/cmdline')",
    "select content from read_text('/proc/self/maps')",
    "select * from glob('/proc/self/fd/*')",
    "select content from read_blob('/proc/self/fd/3')",
    "select content from read_blob('/dev/fd/3')",
    "select * from read_csv('/dev/stdin')",
    "select content from read_text('/etc/passwd')",
    "from 'http://127.0.0.1:9/secret.csv'",
    "from 'https://example.org/secret.parquet'",
    "from 's3://bucket/secret.parquet'",
    "from 'hf://datasets/a/b/secret.parquet'",
    "from 'gs://bucket/secret.csv'",
    "select * from read_csv('http://127.0.0.1:9/?' || (select title from tracks limit 1))",
    "select getenv('SQL_SECRET')",
    "select getenv('PATH')",
    "attach 'FOLDER/secret.duckdb' as other",
    "attach 'FOLDER/secret.duckdb' as other (read_only); select * from other.secret",
    "attach 'secret.duckdb'",
    "attach ':memory:' as m",
    "attach 'FOLDER/secret.db' (type sqlite)",
    "attach 'host=127.0.0.1' as p (type postgres)",
    "attach or replace 'FOLDER/secret.duckdb' as open",
    "detach open",
    "use memory",
    "import database 'FOLDER'",
    "load 'FOLDER/secret.txt'",
    "load httpfs",
    "install httpfs",
    "force install httpfs from community",
    "install spatial from 'http://127.0.0.1:9'",
    "update extensions",
    "select * from sqlite_scan('FOLDER/secret.db', 'secret')",
    "select * from postgres_scan('host=127.0.0.1', 'public', 'secret')",
    "select * from iceberg_scan('FOLDER')",
    "select * from delta_scan('FOLDER')",
    "select * from st_read('FOLDER/secret.json')",
    "select * from read_xlsx('FOLDER/secret.xlsx')",
    "select * from read_parquet('FOLDER/secret.parquet', filename = true)",
    "select * from which_secret('s3://bucket', 's3')",
]

SETTINGS: Final = [
    "set enable_external_access = true",
    "set global enable_external_access = true",
    "set session lock_configuration = false",
    "set disabled_filesystems = ''",
    "set memory_limit = '100GB'",
    "set threads = 64",
    "set temp_directory = 'FOLDER'",
    "set allowed_directories = ['FOLDER']",
    "set allowed_paths = ['FOLDER/secret.csv']",
    "set file_search_path = 'FOLDER'",
    "set python_enable_replacements = true",
    "set log_query_path = 'FOLDER/escaped.log'",
    "set profiling_output = 'FOLDER/escaped.json'",
    "set home_directory = 'FOLDER'",
    "set search_path = 'pg_catalog'",
    "set variable x = 1",
    "set variable x = (select content from read_text('FOLDER/secret.txt'))",
    "select getvariable('x')",
    "reset enable_external_access",
    "reset lock_configuration",
    "reset all",
    "pragma enable_external_access",
    "pragma memory_limit = '100GB'",
    "pragma enable_profiling = 'json'",
    "pragma profiling_output = 'FOLDER/escaped.json'",
    "pragma enable_logging",
    "call enable_logging(storage = 'file', storage_config = {'path': 'FOLDER/escaped'})",
    "select * from enable_logging()",
    "select * from duckdb_logs",
    "select current_setting('temp_directory')",
    "select current_setting('secret_directory')",
    "select current_setting('extension_directory')",
    "select current_setting('home_directory')",
    "select * from duckdb_settings()",
    "select name, value from duckdb_settings where value like '%/%'",
    "show all",
    "from duckdb_secrets()",
    "from duckdb_secrets(redact = false)",
    "create secret s (type s3, key_id 'a', secret 'b')",
    "create persistent secret s (type http, bearer_token 'b')",
    "drop secret s",
]

WRITING: Final = [
    "insert into tracks (uri) values ('at://escaped')",
    "insert into tracks by name select 'at://escaped' as uri",
    "insert or replace into tracks (uri) values ('x') returning *",
    "update tracks set title = 'escaped'",
    "delete from tracks",
    "delete from tracks returning *",
    "truncate tracks",
    "merge into tracks using likes on true when matched then delete",
    "drop table tracks",
    "drop schema main cascade",
    "alter table tracks add column escaped int",
    "alter table tracks rename to escaped",
    "comment on table tracks is 'escaped'",
    "create table escaped as select 1",
    "create temp table escaped as select * from tracks",
    "create or replace temp view tracks as select 1",
    "create temp macro f(a) as a",
    "create macro count(a) as 0",
    "create sequence escaped",
    "create type escaped as enum ('a')",
    "create schema escaped",
    "create index escaped on tracks (title)",
    "copy tracks to 'escaped.csv'",
    "copy tracks to 'FOLDER/escaped.csv'",
    "copy tracks to 'FOLDER/secret.csv'",
    "copy (select 1) to 'FOLDER/escaped.parquet' (format parquet)",
    "copy (select 1) to '/tmp/escaped.json'",
    "copy (select 1) to 'FOLDER/escaped' (format csv, partition_by (a))",
    "copy (select 1) to '/dev/stdout'",
    "copy (select 1) to '/dev/stderr'",
    "copy tracks from 'FOLDER/secret.csv'",
    "copy from database open to memory",
    "export database 'FOLDER/escaped'",
    "explain select * from tracks",
    "explain analyze copy tracks to 'FOLDER/escaped.csv'",
    "explain analyze insert into tracks (uri) values ('x')",
    "explain analyze select content from read_text('FOLDER/secret.txt')",
    "explain (format json) copy tracks to 'FOLDER/escaped.csv'",
    "checkpoint",
    "force checkpoint open",
    "select * from checkpoint()",
    "select * from force_checkpoint('open')",
    "vacuum",
    "vacuum analyze tracks",
    "analyze",
    "begin",
    "begin transaction; delete from tracks; commit",
    "rollback",
    "prepare p as delete from tracks",
    "execute p",
    "deallocate p",
    "call pragma_version()",
    "call checkpoint()",
    "select nextval('escaped')",
    "select write_log('escaped')",
    "with gone as (delete from tracks returning *) select * from gone",
]

NESTED: Final = [
    "select * from query('select content from read_text(''FOLDER/secret.txt'')')",
    "select * from query('from ''FOLDER/secret.csv''')",
    "select * from query('select 1')",
    "select * from query_table('FOLDER/secret.csv')",
    "select * from query_table(['tracks', 'FOLDER/secret.csv'])",
    "select (select content from read_text('FOLDER/secret.txt'))",
    "select * from tracks where title in (select content from read_text('FOLDER/secret.txt'))",
    "select 1 where exists (from 'FOLDER/secret.csv')",
    "with tracks as (from 'FOLDER/secret.csv') select * from tracks",
    'with "FOLDER/secret.csv" as (select 1) select * from \'FOLDER/secret.csv\', "FOLDER/secret.json"',
    "with a as (with b as (from 'FOLDER/secret.csv') from b) from a",
    "with recursive r as (select 1 n union all from 'FOLDER/secret.csv') from r",
    "with a as materialized (select content from read_text('FOLDER/secret.txt')) from a",
    "with x as (select 1) select * from (with y as (select 1) from y), 'FOLDER/secret.csv'",
    'with "secret.csv" as (select 1) from \'secret.csv\' union all (select 2 from (from main."secret.csv"))',
    "select (with s as (select 1) select 1), * from (from 'FOLDER/secret.csv') s",
    "select * from tracks, lateral (select content from read_text('FOLDER/secret.txt'))",
    "select list_transform([1], x -> (select content from read_text('FOLDER/secret.txt')))",
    "select list_transform(['SQL_SECRET'], lambda x: getenv(x))",
    "select ['SQL_SECRET'].list_transform(x -> getenv(x))",
    "select [getenv(x) for x in ['SQL_SECRET']]",
    "select 'SQL_SECRET'.getenv()",
    "select list_aggregate(['FOLDER/secret.txt'], 'read_text')",
    "select list_aggr([1], 'getenv')",
    "select array_apply(['SQL_SECRET'], x -> main.getenv(x))",
    "select system.main.getenv('SQL_SECRET')",
    "select * from system.main.read_text('FOLDER/secret.txt')",
    "select * from \"read_text\"('FOLDER/secret.txt')",
    "SELECT * FROM ReAd_TeXt('FOLDER/secret.txt')",
    "select * from read_text /* a */ ( -- b\n'FOLDER/secret.txt')",
    "select\u00a0*\u00a0from\u00a0read_text('FOLDER/secret.txt')",
    "select * from read_\u200btext('FOLDER/secret.txt')",
    "\ufeffselect * from read_text('FOLDER/secret.txt')",
    "select * from \uff52ead_text('FOLDER/secret.txt')",
    "select * from read_text(e'\\x2fetc\\x2fpasswd')",
    "select * from read_text($$FOLDER/secret.txt$$)",
    "select * from read_text('FOLDER/' || 'secret.txt')",
    "select * from read_text($1)",
    "select $file, ? from tracks",
    "select 1; select * from 'FOLDER/secret.csv'",
    "select 1; delete from tracks",
    "; ; copy tracks to 'FOLDER/escaped.csv'; select 1",
    "select 1 -- \n; attach 'FOLDER/secret.duckdb' as o",
    "select 1\x00; from 'FOLDER/secret.csv'",
    "select '\ud800'",
    "select 1 union all (from 'FOLDER/secret.csv')",
    "select 1 order by (select content from read_text('FOLDER/secret.txt'))",
    "select 1 limit (select length(content) from read_text('FOLDER/secret.txt'))",
    "select sum(1) over (order by (select size from read_text('FOLDER/secret.txt')))",
    "select count(*) filter (where getenv('SQL_SECRET') like 'Z%') from tracks",
    "select case when true then getenv('SQL_SECRET') end",
    "select error(getenv('SQL_SECRET'))",
    "select getenv('SQL_SECRET')::int",
    "select try(getenv('SQL_SECRET'))",
    "select {'a': getenv('SQL_SECRET')}.a",
    "select map {'a': getenv('SQL_SECRET')}",
    "values (getenv('SQL_SECRET'))",
    "select * from (values (getenv('SQL_SECRET'))) v",
    "select * replace (getenv('SQL_SECRET') as title) from tracks",
    "select columns(c -> c = getenv('SQL_SECRET')) from tracks",
    "select * from tracks join 'FOLDER/secret.csv' on true",
    "select * from tracks semi join read_csv('FOLDER/secret.csv') on true",
    "select * from tracks tablesample (getenv('SQL_SECRET'))",
    "select * from tracks group by all having getenv('SQL_SECRET') <> ''",
    "select * from tracks qualify row_number() over (partition by getenv('SQL_SECRET')) = 1",
    "select unnest([getenv('SQL_SECRET')])",
    "from range(1) select getenv('SQL_SECRET')",
    "from tracks at (version => 1)",
    "pivot 'FOLDER/secret.csv' on secret",
    "unpivot (from 'FOLDER/secret.csv') on columns(*)",
    "describe from 'FOLDER/secret.csv'",
    "summarize 'FOLDER/secret.csv'",
    "select * from (summarize 'FOLDER/secret.csv')",
    "select * from (describe 'FOLDER/secret.csv')",
    "select * from (show databases)",
    "select json_execute_serialized_sql(json_serialize_sql('from ''FOLDER/secret.csv'''))",
    "from json_execute_serialized_sql(json_serialize_sql('from ''FOLDER/secret.csv'''))",
    "pragma json_execute_serialized_sql('{}')",
    "select json_serialize_plan('from ''FOLDER/secret.csv''')",
    "select * from secret",
    "select * from other.secret",
    "select * from secret.main.secret",
    "select * from sql_auto_complete('select * from ''FOLDER/')",
]

PYTHON: Final = [
    "from queries",
    "from os",
    "from SECRET",
    "from frame",
    "from self",
    "from connection",
    "from database",
    "select * from environ",
    "select * from pandas_scan(null)",
    "select * from pandas_scan(140000000000000)",
    "select * from pandas_scan(0::pointer)",
    "select * from python_map_function(null)",
    "select * from python_map_function(1, (select 1))",
    "select * from arrow_scan(1, 2, 3)",
    "select * from arrow_scan(null, null, null)",
    "select * from arrow_scan_dumb(1::pointer, 2::pointer, 3::pointer)",
    "select * from seq_scan()",
    "select * from repeat_row(1, num_rows = 3)",
    "select * from test_all_types()",
    "select * from test_vector_types(null::int)",
    "select * from summary((select 1))",
    "select * from unnest(null::pointer)",
]

CATALOG: Final = [
    "select * from information_schema.tables",
    "select * from information_schema.schemata",
    "select * from duckdb_tables()",
    "select * from duckdb_tables",
    "select * from duckdb_columns()",
    "select path from duckdb_databases()",
    "select * from duckdb_databases",
    "select * from pragma_database_list()",
    "select * from pragma_database_list",
    "pragma database_list",
    "pragma database_size",
    "select * from pragma_database_size()",
    "pragma show_tables",
    "pragma table_info('tracks')",
    "pragma storage_info('tracks')",
    "select * from pragma_storage_info('tracks')",
    "select * from pragma_metadata_info()",
    "select * from pragma_user_agent()",
    "select * from pragma_platform()",
    "pragma version",
    "select version()",
    "show databases",
    "show tables",
    "show all tables",
    "describe tracks",
    "select * from pg_catalog.pg_tables",
    "select * from pg_catalog.pg_database",
    "select * from pg_settings",
    "select * from sqlite_master",
    "select * from sqlite_schema",
    "select * from duckdb_extensions()",
    "select install_path from duckdb_extensions",
    "select * from duckdb_functions()",
    "select * from duckdb_views()",
    "select * from duckdb_memory()",
    "select * from duckdb_temporary_files()",
    "select * from duckdb_variables()",
    "select * from duckdb_prepared_statements()",
    "select * from duckdb_external_file_cache()",
    "select * from duckdb_connection_count()",
    "select * from duckdb_log_contexts()",
    "select * from duckdb_approx_database_count()",
    "select current_database(), current_schema(), current_user, current_catalog",
    "select current_query()",
    "select current_schemas(true)",
    "select pg_get_viewdef(0)",
    "select rowid, * from tracks",
    "select txid_current()",
    "select md5_number('x'), random(), uuid(), now(), current_connection_id()",
    "select is_histogram_other_bin(1), in_search_path('open', 'main')",
]

ERRORS: Final = [
    "selec",
    "",
    ";",
    "--",
    "/*",
    "'",
    '"',
    "(",
    "select",
    "select (",
    "\x00",
    "select 1 from",
    "select * from nothing",
    "select nothing from tracks",
    "select nothing('FOLDER')",
    "select 'x'::int",
    "select 1 / 'FOLDER/secret.csv'::int",
    "select error('FOLDER')",
    "select * from read_csv('nothing.csv')",
    "select * from 'nothing.parquet'",
    "select strptime('x', '%')",
    "select '{'::json",
    "select 'x'::json -> '$.a'",
    "select cast('2020-13-13' as date)",
    "select 170141183460469231731687303715884105727 + 1",
    "select regexp_matches('a', '(')",
    "select [1][1:'a']",
    "select decode('\\xff'::blob)",
    "select chr(55296), chr(-1)",
    "select 'nan'::double, 'infinity'::timestamp, '-infinity'::date, 'inf'::float",
    "select '\\x00\\xff'::blob, 1::bit, interval '1000 years', null, uuid()",
    'select \'a\nb\rc\' as "x\ny", 1 as "x\ny"',
]

EXHAUSTION: Final = [
    "select repeat('x', 10000000000)",
    "select length(repeat(repeat('x', 1000000), 4000))",
    "select length(repeat('x', 2000000000) || repeat('y', 2000000000))",
    "select lpad('x', 2000000000, 'y')",
    "select sum(length(lpad('x', 1000000, 'y' || i))) from range(100000) t(i)",
    "select rpad('x', 4000000000::int, 'y')",
    "select range(1000000000000)",
    "select len(range(500000000))",
    "select list(i) from range(1000000000) t(i)",
    "select generate_series(0, 9000000000)",
    "select count(*) from generate_series(1, 9000000000000000)",
    "select unnest(range(1000000000))",
    "select array_agg(repeat('x', 10000)) from range(10000000)",
    "select string_agg(i::varchar, ',') from range(1000000000) t(i)",
    "select histogram(i) from range(1000000000) t(i)",
    "select count(distinct i) from range(1000000000) t(i)",
    "select i from range(1000000000) t(i) order by hash(i)",
    "select i, row_number() over (order by hash(i)) from range(300000000) t(i)",
    "select quantile_cont(hash(i), 0.5) from range(300000000) t(i)",
    "select i, count(*) from range(300000000) t(i) group by i",
    "select count(*) from range(1000000) a, range(1000000) b, range(1000000) c where hash(a.range) = b.range",
    "select * from range(10000000) a(i) join range(10000000) b(i) on a.i < b.i order by 1, 2",
    "select * from range(100000000) a(i) join range(100000000) b(i) using (i)",
    "with recursive r as (select 1 n union all select n + 1 from r) select count(*) from r",
    "with recursive r as (select 1 n union select n + 1 from r) select * from r",
    "with recursive r as (select 'x' n union all select n || n from r) select max(length(n)) from r",
    "with recursive r as (select 1 n union all select n from r, range(2)) select count(*) from r",
    "with recursive r(a, n) using key (a) as (select 1, 1 union select a, n + 1 from r) from r",
    "select list_reduce(range(100000000), (a, b) -> a + b)",
    "select list_transform(range(1000000), x -> list_transform(range(1000000), y -> x * y))",
    "select list_sort(list_transform(range(100000000), x -> hash(x)))",
    "select flatten(list_transform(range(100000), x -> range(100000)))",
    "select levenshtein(repeat('ab', 500000), repeat('ba', 500000))",
    "select damerau_levenshtein(repeat('ab', 50000), repeat('ba', 50000))",
    "select jaccard(repeat('ab', 50000000), repeat('ba', 50000000))",
    "select jaro_similarity(repeat('ab', 1000000), repeat('ba', 1000000))",
    "select editdist3(repeat('ab', 500000), repeat('ba', 500000))",
    "select regexp_matches(repeat('a', 100000000) || '!', '^(a+)+$')",
    "select regexp_replace(repeat('ab', 50000000), '(a|b)', '\\1\\1\\1\\1', 'g')",
    "select regexp_matches('a', '((a{0,100}){0,100}){0,100}')",
    "select len(regexp_extract_all(repeat('a', 100000000), 'a'))",
    "select len(string_split(repeat('a,', 100000000), ','))",
    "select repeat('a', 10000000) like repeat('%a', 5000)",
    "select replace(repeat('a', 100000000), 'a', repeat('b', 1000))",
    "select translate(repeat('a', 500000000), 'a', 'b')",
    "select printf('%1000000000d', 1), format('{:1000000000d}', 1)",
    "select bar(1, 0, 1, 1000000000)",
    "select factorial(100000), 2 ** 100000, gamma(1e308)",
    "select bitstring('1', 2000000000)",
    "select sum(length(sha256(repeat('x', 1000000)))) from range(1000000)",
    "select sum(length(md5(i::varchar))) from range(100000000000) t(i)",
    "select sleep_ms(100000)",
    "select pg_sleep(100)",
    "select sleep(100)",
    "select json_extract(repeat('[', 1000000) || repeat(']', 1000000), '$[0]')",
    "select (repeat('[', 1000000) || repeat(']', 1000000))::json",
    "select (repeat('[', 100000) || '1' || repeat(']', 100000))::int[]",
    "select json_group_array(i) from range(1000000000) t(i)",
    "select json_structure(repeat('[', 100000) || repeat(']', 100000))",
    "select to_base64(repeat('x', 1000000000)::blob)",
    "select unnest(range(1, 100000000, 1)) a, unnest(range(100000000)) b",
    "select map_from_entries(list_transform(range(50000000), x -> (x, x)))",
    "select approx_top_k(i, 1000000000) from range(1000000000) t(i)",
    "select reservoir_quantile(i, 0.5, 2000000000) from range(10) t(i)",
    "select max(i, 1000000000) from range(1000000000) t(i)",
    "select * from range(timestamp '0001-01-01', timestamp '9999-01-01', interval '1 microsecond')",
    "select * from tracks positional join range(10000000000)",
    "select count(*) from range(10000000000) t(i) tablesample reservoir(1000000000)",
    "from range(100000) a group by cube (a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7, a + 8, a + 9)",
]

# What comes before, what is inside, what comes after; both ends as often as the statement has room.
_NESTS: Final = (
    ("(", "1", ")"), ("[", "1", "]"), ("not ", "true", ""), ("- ", "1", ""), ("1 + ", "1", ""),
    ("abs(", "1", ")"), ("case when true then ", "1", " end"), ("(select ", "1", ")"),
    ("x.", "x from tracks x", ""), ("", "null::int", "[]"), ("", "null::", "struct(a "),
    ("true and (", "true", ")"), ("'a' || ", "'a'", ""), ("1, ", "1", ""), ("", "1", " union select 1"),
    ("* from (select ", "1", ")"), ("cast(", "1", " as int)"), ("1 in (", "1", ")"),
    ("coalesce(", "1", ")"), ("{'a': ", "1", "}"),
)  # fmt: skip
STATEMENTS: Final = [
    f"select {before * times}{inner}{after * times}"
    for size in (9_900, 1_000_000)  # the longest that is read, and longer
    for before, inner, after in _NESTS
    for times in [(size - 20) // len(before + after)]
] + [
    f"with {', '.join(f'a{n} as (select * from a{n - 1}, a{n - 1})' for n in range(1, 40))} from a39",
    "with a0 as (select 1), "
    f"{', '.join(f'a{n} as (from a{n - 1} union all from a{n - 1})' for n in range(1, 30))}"
    " select count(*) from a29",
    f"select '{'x' * 1_000_000}'",
    f"select 1 /*{'x' * 1_000_000}*/",
    f"select {'9' * 1_000_000}",
    f'select 1 as "{"x" * 1_000_000}"',
    f"select {', '.join(f'{n} as c{n}' for n in range(50_000))}",
    f"select 1 in ({', '.join(map(str, range(100_000)))})",
    f"values {', '.join(f'({n})' for n in range(100_000))}",
    f"select * from {', '.join(f'tracks t{n}' for n in range(1000))}",
]

FLOODS: Final = [
    "select * from range(100000000)",
    "select i, repeat('x', 1000) from range(10000000) t(i)",
    "select repeat('x', 100000000)",
    "select repeat('x', 10000) from range(1000000)",
    "select repeat(chr(1), 50000000)",
    "select range(10000000)",
    "select a.*, b.*, c.* from tracks a, tracks b, tracks c, range(10000000)",
    "select {'a': range(100000)} from range(10000)",
    "select t, t, t, t, t, t, t, t from tracks t, range(10000000)",
    "select cast(repeat('x', 50000000) as blob)",
    "select map([1], [range(1000000)]) from range(1000)",
]


def _crossed(times: int) -> str:
    """The tracks, three of them, in all combinations."""
    return ", ".join(f"tracks t{n}" for n in range(times))


def _doubled(start: str, step: str, times: int, end: str) -> str:
    """Common table expressions, of which each takes the one before."""
    steps = ", ".join(
        f"a{n} as materialized ({step.replace('PREVIOUS', f'a{n - 1}')})" for n in range(1, times)
    )
    return f"with a0 as ({start}), {steps} {end.replace('LAST', f'a{times - 1}')}"


# Only published tables and plain functions: what an allow list of functions does not stop.
PLAIN: Final = [
    f"select count(*) from {_crossed(30)}",
    f"select * from {_crossed(20)}",
    f"select t0.uri from {_crossed(20)} order by hash(t0.uri || t1.uri || t19.uri)",
    f"select t0.uri from {_crossed(20)} order by md5(concat(t0, t1, t2, t19))",
    f"select distinct {', '.join(f't{n}.uri' for n in range(20))} from {_crossed(20)}",
    f"select string_agg(t0.uri, t1.uri) from {_crossed(20)}",
    f"select array_agg(t0) from {_crossed(20)}",
    f"select list(concat(t0, t1)) from {_crossed(20)}",
    f"select len(list(t0.uri order by md5(t19.uri || t18.uri))) from {_crossed(20)}",
    f"select histogram(concat(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)) from {_crossed(16)}",
    f"select quantile_cont(length(t0.uri), 0.5) from {_crossed(20)}",
    f"select mode(concat(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)) from {_crossed(16)}",
    f"select row_number() over (order by md5(t0.uri || t19.uri)) from {_crossed(20)}",
    f"select sum(length(t0.uri)) over (partition by t1.uri) from {_crossed(20)}",
    f"select count(distinct concat(t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11)) from {_crossed(14)}",
    f"select t0.uri, count(*) from {_crossed(18)} group by cube (t0.uri, t1.uri, t2.uri, t3.uri, t4.uri)",
    f"select max(sha256(concat({', '.join(f't{n}' for n in range(20))}))) from {_crossed(20)}",
    f"select product(2), stddev(length(t0.uri)), entropy(t1.uri) from {_crossed(20)}",
    _doubled("select 'xxxxxxxx' x", "select x || x as x from PREVIOUS", 40, "select length(x) from LAST"),
    _doubled(
        "select 'xxxxxxxx' x",
        "select x || x as x from PREVIOUS",
        27,
        "select length(upper(reverse(x))) from LAST",
    ),
    _doubled("select 'xxxxxxxx' x", "select x || x as x from PREVIOUS", 24, "select x from LAST"),
    _doubled(
        "select 'xxxxxxxx' x",
        "select x || x as x from PREVIOUS",
        16,
        "select x from LAST, tracks a, tracks b, tracks c",
    ),
    _doubled(
        "select 'x' x",
        "select replace(x, 'x', 'xxxxxxxx') as x from PREVIOUS",
        12,
        "select length(x) from LAST",
    ),
    _doubled(
        "select 'a' x",
        "select x || x as x from PREVIOUS",
        25,
        "select regexp_matches(x, '^(a+)+b$') from LAST",
    ),
    _doubled(
        "select 'a' x",
        "select x || x as x from PREVIOUS",
        25,
        "select regexp_replace(x, '(a)', '\\1\\1\\1\\1', 'g') from LAST",
    ),
    _doubled(
        "select 'a' x",
        "select x || x as x from PREVIOUS",
        25,
        "select len(regexp_extract_all(x, 'a')) from LAST",
    ),
    _doubled(
        "select 'a,' x", "select x || x as x from PREVIOUS", 25, "select len(string_split(x, ',')) from LAST"
    ),
    _doubled("select 'a%' x", "select x || x as x from PREVIOUS", 20, "select x like x || 'b' from LAST"),
    _doubled(
        "select 'ab' x",
        "select x || x as x from PREVIOUS",
        22,
        "select position(x || 'c' in x || x) from LAST",
    ),
    _doubled(
        "select '[' x", "select x || x as x from PREVIOUS", 22, "select json_valid(x), json_type(x) from LAST"
    ),
    _doubled(
        "select '[' x",
        "select x || x as x from PREVIOUS",
        18,
        "select (x || replace(x, '[', ']'))::json from LAST",
    ),
    _doubled(
        "select '[' x",
        "select x || x as x from PREVIOUS",
        12,
        "select (x || replace(x, '[', ']'))::int[] from LAST",
    ),
    _doubled(
        "select '%Y' x", "select x || x as x from PREVIOUS", 24, "select length(strftime(now(), x)) from LAST"
    ),
    _doubled("select [1] x", "select x || x as x from PREVIOUS", 34, "select len(x) from LAST"),
    _doubled(
        "select [1] x",
        "select x || x as x from PREVIOUS",
        26,
        "select len(list_sort(list_distinct(x))) from LAST",
    ),
    _doubled("select [1] x", "select [x, x] as x from PREVIOUS", 24, "select x from LAST"),
    _doubled("select 1 x", "select {'a': x, 'b': x} as x from PREVIOUS", 24, "select x from LAST"),
    _doubled("select 1 x", "from PREVIOUS union all from PREVIOUS", 50, "select count(*) from LAST"),
    _doubled(
        "select 1 x",
        "select a.* from PREVIOUS a, PREVIOUS b union all from PREVIOUS",
        12,
        "select count(*) from LAST",
    ),
    _doubled(
        "select 'xxxxxxxx' x",
        "select x || x as x from PREVIOUS",
        18,
        "select unnest(string_split(x, '')) from LAST",
    ),
    "select regexp_matches(title, '((((a{0,30}){0,30}){0,30}){0,30}){0,30}') from tracks",
    "select unnest(string_split(string_agg(t0.uri, ','), '')), unnest(['a']) from " + _crossed(15),
    "select to_years(2000000000), make_date(999999999, 1, 1), 10.0 ** 400, exp(1e308)",
    "select (-9223372036854775808)::bigint // -1, abs((-9223372036854775808)::bigint), 1 << 63, 5 % 0",
    "select substr('x', -9223372036854775808, 9223372036854775807), left('x', -9223372036854775808)",
    "select array_extract([1], -9223372036854775808), element_at([1], 9223372036854775807), chr(1114112)",
    "select time_bucket(interval '-1 microsecond', now()), date_trunc('', now()), timezone('../../x', now())",
    "select timezone('/etc/passwd', now()), strftime(now(), '%z%Z%'), make_timestamp(9223372036854775807)",
    "select * from tracks limit 9223372036854775807 offset 9223372036854775807",
    "select current_catalog, current_schema, current_user, user, session_user, current_role",
    "select (with duckdb_databases as (select 1) select 1), * from duckdb_databases",
    "select (with pg_class as (select 1) select 1), * from pg_class",
    "select (with tables as (select 1) select 1), * from tables",
    "select (with secret as (select 1) select 1), * from secret",
    "select (with environ as (select 1) select 1), * from environ",
    "select 'tracks'::regclass, 'x'::open.main.tracks",
    "select '1'::varint, '1'::bignum, 1::variant, 'a'::enum('a'), 'x'::geometry",
    'select title collate "../../x" from tracks',
    "select * from tracks tablesample 1 rows",
    "select * from meta",
]

KINDS: Final = {
    "reading": READING, "settings": SETTINGS, "writing": WRITING, "nested": NESTED, "python": PYTHON,
    "catalog": CATALOG, "errors": ERRORS, "exhaustion": EXHAUSTION, "statements": STATEMENTS,
    "plain": PLAIN, "floods": FLOODS,
}  # fmt: skip
ATTACKS: Final = [
    pytest.param(kind, sql, id=f"{kind}-{n}-{re.sub('[^a-z0-9]+', '-', sql.lower()[:60])}")
    for kind, attacks in KINDS.items()
    for n, sql in enumerate(attacks)
][::STRIDE]


def _files(folder: Path) -> dict[str, str]:
    """The files under a folder, each with the hash of its bytes."""
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _children(pid: int) -> set[int]:
    """The processes that a process has started itself: services of other tests start more of their own."""
    found: set[int] = set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            found |= {int(child) for child in children.read_text().split()}
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the published database and, beside it, secrets in files of many formats."""
    folder = tmp_path_factory.mktemp("attacked")
    with duckdb.connect(folder / "open.duckdb") as made:
        for table in TABLES:
            made.execute(
                f"create table {table.name} ({', '.join(f'{c.name} {c.type}' for c in table.columns)})"
            )
            made.executemany(
                f"insert into {table.name} ({table.columns[0].name}) values (?)",
                [[f"row {n}"] for n in range(3)],
            )
    with duckdb.connect(folder / "secret.duckdb") as made:
        made.execute(f"create table secret as select '{SECRET}' as secret")
        for ending in ("csv", "json", "parquet"):
            made.execute(f"copy secret to '{folder / 'secret'}.{ending}'")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "secret.db").write_bytes(b"SQLite format 3\0" + SECRET.encode())
    (folder / "schema.sql").write_text(f"create table secret as select '{SECRET}' as secret;")
    (folder / "load.sql").write_text("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQL_SECRET", SECRET)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        yield folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def queries(folder: Path) -> AsyncIterator[Queries]:
    """With time enough that refusals are the check's and not the clock's."""
    queries = Queries(folder / "open.duckdb", seconds=30)
    yield queries
    await queries.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hurried(folder: Path) -> AsyncIterator[Queries]:
    queries = Queries(folder / "open.duckdb", seconds=3)
    yield queries
    await queries.close()


@pytest.mark.parametrize(("kind", "sql"), ATTACKS)
async def test_an_attack_gets_nothing_and_changes_nothing(
    kind: str, sql: str, folder: Path, queries: Queries, hurried: Queries
) -> None:
    files, processes = _files(folder), _children(os.getpid())
    sql = sql.replace("FOLDER", str(folder))
    is_refused = False
    try:
        async with asyncio.timeout(60):
            told = (await (hurried if kind == "plain" else queries).run(sql, "json", sql)).body
    except (QueryRefused, QueryStopped) as refusal:
        is_refused = isinstance(refusal, QueryRefused)
        told = str(refusal).encode("utf-8", "replace")
        assert told.strip()
        assert len(told) < 4096, "a refusal is a sentence"
        assert b"Traceback" not in told
    assert SECRET.encode() not in told
    assert str(folder) in sql or str(folder).encode() not in told, "the path of the database was told"
    if kind == "writing" or not is_refused:
        counted = await queries.run("select count(*) as n from tracks", "json", sql)
        assert json.loads(counted.body)["rows"] == [[3]]
    assert _files(folder) == files
    assert not [*Path.cwd().glob("escaped*"), *Path("/tmp").glob("escaped*")]
    for _ in range(200):
        if _children(os.getpid()) <= processes:
            break
        await asyncio.sleep(0.05)
    assert _children(os.getpid()) <= processes, "a process is left"


async def test_one_client_does_not_take_the_queue(queries: Queries) -> None:
    """Two of its statements are run or wait; the third is refused, and another client's is run."""
    slow = "select count(*) as n from range(30000) a, range(30000) b where a.range * b.range % 7 = 3"
    two = [asyncio.create_task(queries.run(slow, "json", "greedy")) for _ in range(2)]
    await asyncio.sleep(0.1)
    with pytest.raises(RateLimited, match="Your other statements are still running"):
        await queries.run("select 1 as n", "json", "greedy")
    other = asyncio.create_task(queries.run("select 1 as n", "json", "another"))
    ended = await asyncio.gather(*two, other, return_exceptions=True)
    again = await queries.run("select 1 as n", "json", "greedy")

    assert [type(one) for one in ended[:2]] != [RateLimited, RateLimited]
    assert json.loads(ended[2].body)["rows"] == [[1]]  # type: ignore[union-attr]
    assert json.loads(again.body)["rows"] == [[1]]


async def test_without_the_sandbox_the_attacks_read_the_secret(folder: Path) -> None:
    """Else the attempts would show nothing."""
    read = 0
    for sql in (sql for sql in READING if "FOLDER/secret." in sql and "*" not in sql.partition("from")[2]):
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as open_to_all:
            try:
                rows = open_to_all.execute(sql.replace("FOLDER", str(folder))).fetchall()
            except duckdb.Error:
                continue
            read += SECRET in str(rows)
    assert read > 15


@pytest.mark.parametrize(
    ("sql", "form", "said"),
    [
        ("select 1\0; select 2", "json", "has no NUL character"),
        ("select '\ud800'", "json", "is text in Unicode"),
        ("select '-infinity'::date", "json", "cannot be written in this form"),
        ("select interval '1 month'", "parquet", "cannot be written in this form"),
    ],
)
async def test_what_cannot_be_sent_or_written_is_said(
    queries: Queries, sql: str, form: SqlForm, said: str
) -> None:
    """Rather than cut, or taken for a query that takes too long."""
    with pytest.raises(QueryRefused, match=said):
        await queries.run(sql, form, sql)
