"""Checks a statement: one SELECT, over the published tables, with functions that are allowed. Pure.

What is checked is the tree that DuckDB's `json_serialize_sql` gives. It serializes SELECT statements only.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MOST_DEPTH: Final = 100  # of the statement's tree

Tree = Any  # of JSON: objects, lists, and plain values

_AGGREGATES: Final = """
    any_value approx_count_distinct approx_quantile arbitrary arg_max arg_min avg bool_and bool_or corr count
    count_if count_star covar_pop covar_samp entropy first histogram kurtosis last list mad max max_by mean
    median min min_by mode product quantile quantile_cont quantile_disc regr_slope skewness stddev stddev_pop
    stddev_samp string_agg sum var_pop var_samp variance array_agg group_concat
"""
_WINDOWS: Final = (
    "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number"
)
_NUMBERS: Final = """
    + - * / // % ** ^ & | ~ << >> abs cbrt ceil ceiling degrees even exp floor greatest isfinite isinf isnan
    least ln log log10 log2 mod pi pow power radians round sign sqrt trunc
"""
_TEXT: Final = """
    || ~~ !~~ ~~* !~~* ~~~ ascii chr concat concat_ws contains ends_with instr left length lower ltrim
    not_ilike_escape not_like_escape ilike_escape like_escape position prefix replace reverse right
    rtrim split split_part starts_with str_split string_split strip_accents strlen strpos substr
    substring suffix trim upper
"""
_TIMES: Final = """
    age century current_date date_add date_diff date_part date_sub date_trunc datediff datepart datesub
    datetrunc day dayname dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_us hour isodow
    isoyear last_day make_date make_timestamp minute month monthname now quarter second strftime
    time_bucket timezone to_days to_hours to_minutes to_months to_seconds to_timestamp to_weeks to_years
    today week weekday weekofyear year yearweek
"""
_LISTS: Final = """
    array_contains array_extract array_length array_position cardinality element_at json_extract
    json_extract_string json_keys json_type json_valid -> ->> len list_contains list_distinct
    list_extract list_has_any list_position list_sort list_sum list_unique list_value regexp_extract
    regexp_extract_all regexp_full_match regexp_matches regexp_replace row struct_extract struct_pack
    unnest list_has list_element array_has
"""
_CHOICES: Final = "coalesce constant_or_null ifnull nullif if hash md5 sha256 typeof"
FUNCTIONS: Final = frozenset(
    f"{_AGGREGATES} {_WINDOWS} {_NUMBERS} {_TEXT} {_TIMES} {_LISTS} {_CHOICES}".split()
)
# What the objects of the tree are: expressions by their class; all others by their type.
_EXPRESSIONS: Final = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT"),
        *("FUNCTION", "OPERATOR", "STAR", "SUBQUERY", "WINDOW"),
    }
)
_NODES: Final = frozenset(
    {
        *("SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE"),
        *("BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST"),
        *("LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER"),
        *("ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
        *("DECIMAL_TYPE_INFO", "LIST_TYPE_INFO", "STRUCT_TYPE_INFO", "STRING_TYPE_INFO"),
    }
)


_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class StatementRefused(Exception):
    """The statement may not be run; the message is one sentence."""


def check_statement(tree: Tree, tables: frozenset[str], reserved: frozenset[str]) -> None:
    """Raises StatementRefused unless the tree is that of one SELECT of these tables.

    `tree`: as json_serialize_sql gives it, with `statements`. `reserved`: names of other relations, which a
    common table expression may not have: where it is out of scope, the name would be theirs.
    """
    if not isinstance(tree, dict) or tree.get("error") is not False:
        raise StatementRefused(_parse_error(tree))
    statements = tree.get("statements")
    if not isinstance(statements, list) or len(statements) != 1:
        raise StatementRefused("Send one statement.")
    named = {name.lower() for name in _names_of_ctes(statements[0])}
    if taken := named & reserved or {name for name in named if not _PLAIN_NAME.fullmatch(name)}:
        raise StatementRefused(f"A common table expression cannot be named {min(taken)[:50]!r}.")
    known = tables | named
    for node in _objects(statements[0], 0):
        _check(node, known)


def _check(node: Mapping[str, Tree], tables: frozenset[str]) -> None:
    kind, class_ = node.get("type"), node.get("class")
    if class_ is not None:
        if class_ not in _EXPRESSIONS:
            raise StatementRefused(f"Expressions of the kind {str(class_)[:50]} are not allowed.")
        if class_ in ("FUNCTION", "WINDOW"):
            _check_function(node)
    elif kind == "TABLE_FUNCTION":
        raise StatementRefused("Only the published tables can be read, no functions in their place.")
    elif isinstance(kind, str):
        if kind not in _NODES:
            raise StatementRefused("Statements with such a part are not allowed: use SELECT over tables.")
        if kind == "BASE_TABLE":
            _check_table(node, tables)


def _check_function(node: Mapping[str, Tree]) -> None:
    name = str(node.get("function_name", "")).lower()
    if node.get("schema", "main") != "main" or node.get("catalog"):
        raise StatementRefused("Functions are named without schema and catalogue.")
    if name not in FUNCTIONS:
        raise StatementRefused(f"The function {name[:50]!r} is not allowed.")


def _check_table(node: Mapping[str, Tree], tables: frozenset[str]) -> None:
    name = str(node.get("table_name", "")).lower()
    if node.get("schema_name") or node.get("catalog_name"):
        raise StatementRefused("Tables are named without schema and catalogue.")
    if name not in tables:
        raise StatementRefused(f"There is no table {name[:50]!r}.")


def _names_of_ctes(tree: Tree) -> Iterator[str]:
    for node in _objects(tree, 0):
        ctes = node.get("cte_map")
        if isinstance(ctes, dict):
            for entry in ctes.get("map", ()):
                yield str(entry.get("key", ""))
        if node.get("type") == "RECURSIVE_CTE_NODE":
            raise StatementRefused("Recursive queries are not allowed.")


def _objects(tree: Tree, depth: int) -> Iterator[Mapping[str, Tree]]:
    if depth > MOST_DEPTH:
        raise StatementRefused("The statement is nested too deeply.")
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _objects(value, depth + 1)
    elif isinstance(tree, list):
        for value in tree:
            yield from _objects(value, depth + 1)


def _parse_error(tree: Tree) -> str:
    said = tree.get("error_message") if isinstance(tree, dict) else None
    if isinstance(said, str) and "Only SELECT statements" not in said:
        return f"The statement cannot be read: {' '.join(said.split())[:300]}"
    return "Only a SELECT statement is allowed."
