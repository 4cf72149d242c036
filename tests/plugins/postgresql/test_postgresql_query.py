"""What a call brings back from a real server: rows, types, scope, and exactly what was cut."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from diagnosis.errors import QueryRejected
from diagnosis.plugin import Truncation
from diagnosis.testing.conformance import check_evidence_tool
from diagnosis_postgresql.settings import SERVER_SCHEMAS, PostgresqlSettings
from diagnosis_postgresql.tool import PostgresqlTool

pytestmark = pytest.mark.service("postgresql")


async def test_rows_are_objects_and_the_scope_says_what_was_asked(ask) -> None:
    result = await ask("select N as 数, n * 1.5 x from Numbers where n < 2 -- comment")
    assert [item.fields for item in result.items] == [{"数": 0, "x": "0.0"}, {"数": 1, "x": "1.5"}]
    assert result.scope.pop("time_zone")
    assert result.scope == {
        "database": "test",
        "sql": 'SELECT "n" AS "数", "n" * 1.5 AS "x" FROM "numbers" WHERE "n" < 2',
        "columns": {"数": "integer", "x": "numeric"},
        "limit": 200,
    }
    assert (result.matched, result.truncated) == (2, None)


async def test_no_rows_still_tell_the_columns(ask) -> None:
    result = await ask("SELECT n FROM numbers WHERE n < 0")
    assert (result.items, result.matched) == ((), 0)
    assert result.scope["columns"] == {"n": "integer"}


async def test_every_type_of_value_comes_back_whole(ask, server) -> None:
    await server.run(
        "CREATE TYPE mood AS ENUM ('好', 'bad')",
        "CREATE TYPE address AS (city text, zip int)",
        "CREATE TABLE kinds (big bigint, money numeric(30,2), whole numeric, odd numeric, f float8,"
        " inf float8, yes boolean, d date, ts timestamp, tz timestamptz, far timestamptz,"
        " old date, span interval, tags text[], prices numeric[], nested int[][], doc jsonb,"
        " raw json, bin bytea, id uuid, ip inet, r int4range, home address, feel mood, txt text,"
        ' c char(3), one "char", x xml, b bit(3), nothing int, o oid, t time)',
        "INSERT INTO kinds VALUES (9223372036854775807, 1234567890123456789012345678.01, 42, 'NaN',"
        " 0.1, '-Infinity', true, '2024-02-29', '2024-02-29 23:59:59.000001',"
        " '2024-07-01 00:00:00+02', 'infinity', '0044-03-15 BC', '1 mon 2 days 03:00:00',"
        " '{\"a,b\", NULL}', '{1.50,2}', '{{1,2},{3,4}}', '{\"键\": [1, null]}', '{\"a\" : 1}',"
        " '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.1/8', '[1,5)',"
        " ROW('北京', 100000), '好', '数据库连接池耗尽 🚨', 'ab', 'x', '<a/>', B'101', NULL, 17,"
        " '10:00')",
    )
    [row] = await ask.fields("SELECT * FROM kinds")
    far = row.pop("tz")
    assert datetime.fromisoformat(far) == datetime(2024, 6, 30, 22, tzinfo=UTC)
    assert row == {
        "big": 9223372036854775807,
        "money": "1234567890123456789012345678.01",
        "whole": 42,
        "odd": "NaN",
        "f": 0.1,
        "inf": "-Infinity",
        "yes": True,
        "d": "2024-02-29",
        "ts": "2024-02-29T23:59:59.000001",
        "far": "infinity",
        "old": "0044-03-15 BC",
        "span": "1 mon 2 days 03:00:00",
        "tags": ["a,b", None],
        "prices": ["1.50", 2],
        "nested": [[1, 2], [3, 4]],
        "doc": '{"键": [1, null]}',
        "raw": '{"a" : 1}',
        "bin": {"bytes": 2, "sha256": hashlib.sha256(b"\x00\xff").hexdigest()},
        "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "ip": "10.0.0.1/8",
        "r": "[1,5)",
        "home": '{"city":"北京","zip":100000}',
        "feel": "好",
        "txt": "数据库连接池耗尽 🚨",
        "c": "ab",
        "one": "x",
        "x": "<a/>",
        "b": "101",
        "nothing": None,
        "o": 17,
        "t": "10:00:00",
    }


async def test_values_that_only_an_expression_has(ask) -> None:
    [row] = await ask.fields(
        "SELECT ROW(1, 'a') AS r, NULL AS n, 'x' AS u, 1 AS a, 2 AS a, '{}'::int[] AS e, "
        "'NaN'::float8 AS nan, true AND NULL AS unknown"
    )
    assert row == {
        "r": '{"f1":1,"f2":"a"}', "n": None, "u": "x", "a": 1, "a (2)": 2, "e": [], "nan": "NaN",
        "unknown": None,
    }  # fmt: skip


async def test_literals_arrive_on_the_server_as_they_were_meant(ask) -> None:
    text = "quote ' double \" back \\ newline \n tab \t percent % 中文 🚨 /* */ -- $1 :x $$"
    doubled = text.replace("'", "''")
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    for literal in (f"'{doubled}'", f"$q${text}$q$", f"E'{escaped}'"):
        assert await ask.fields(f"SELECT {literal} AS x") == [{"x": text}]


@pytest.mark.parametrize(
    "literal",
    [
        r"E'\x41\101'",
        r"E'\u4e2d\U0001F6A8'",
        r"E'\xe4\xb8\xad'",
        r"E'a\q\\\t'",
        r"e'it\'s ''so'''",
        "$$ \\x41 ' $$",
    ],
)
async def test_escapes_mean_what_the_server_takes_them_for(ask, server, literal: str) -> None:
    expected = await server.value(f"SELECT {literal}")
    assert await ask.fields(f"SELECT {literal} AS x") == [{"x": expected}]


async def test_the_row_cap_is_exact(open_tool) -> None:
    ask = await open_tool(row_limit=10)
    exact = await ask("SELECT n FROM numbers WHERE n < 10")
    assert (len(exact.items), exact.matched, exact.truncated) == (10, 10, None)
    more = await ask("SELECT n FROM numbers WHERE n < 11 ORDER BY n DESC")
    assert (len(more.items), more.matched, more.truncated) == (10, None, Truncation.ITEMS)
    assert more.items[0].fields == {"n": 10}
    own = await ask("SELECT n FROM numbers LIMIT 50")
    assert (len(own.items), own.truncated) == (10, Truncation.ITEMS)
    assert (await ask("SELECT count(*) AS c FROM numbers")).items[0].fields == {"c": 1000}
    assert len((await ask("SHOW ALL")).items) == 10


async def test_the_byte_budget_stops_the_reading(ask) -> None:
    result = await ask("SELECT n, repeat('x', 1000) AS t FROM numbers", byte_budget=5_000)
    assert (len(result.items), result.matched, result.truncated) == (5, None, Truncation.ITEMS)
    exact = await ask("SELECT repeat('x', 1000) AS t FROM numbers LIMIT 5", byte_budget=5_000)
    assert (exact.matched, exact.truncated) == (5, None)


async def test_a_huge_text_is_cut_on_the_server_with_a_mark(ask, server) -> None:
    await server.run("CREATE TABLE big (t text, j jsonb, a int[])")
    await server.run(
        "INSERT INTO big SELECT repeat('中', 1000000), jsonb_build_object('k', repeat('x', 9000)), "
        "array_agg(i) FROM generate_series(1, 100000) i"
    )
    [row] = await ask.fields("SELECT t, j, a FROM big")
    assert row["t"] == "中" * 1365 + "…[cut: 4095 of 3000000 bytes]"
    assert row["j"].endswith("…[cut: 4096 of 9009 bytes]")
    assert row["a"].startswith("[1,2,3,")
    assert "…[cut: 4096 of " in row["a"]


async def test_a_table_of_a_million_rows_is_never_fetched_whole(ask, server) -> None:
    before = await server.value("SELECT count(*) FROM numbers a, numbers b")
    assert before == 1_000_000
    result = await ask("SELECT a.n, repeat('g', 3000) AS giant FROM numbers a, numbers b")
    assert result.truncated == Truncation.ITEMS
    assert len(result.items) < 10


async def test_discovery_and_description(ask, server) -> None:
    tables = await ask.fields(
        f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{server.schema}'"
    )
    assert tables == [{"table_name": "numbers"}]
    [version] = await ask.fields("SHOW server_version")
    assert version["server_version"].split(".")[0].isdigit()
    plan = await ask.fields("EXPLAIN SELECT * FROM numbers WHERE n = 5")
    assert "numbers" in plan[0]["QUERY PLAN"]
    [as_json] = await ask.fields("EXPLAIN (FORMAT JSON) SELECT * FROM numbers")
    assert '"Relation Name": "numbers"' in as_json["QUERY PLAN"]
    assert {"state": "active"} in await ask.fields("SELECT DISTINCT state FROM pg_stat_activity")
    assert await ask.fields("SELECT setting FROM pg_settings WHERE name = 'port'")


async def test_a_call_may_name_another_listed_database(open_tool, server) -> None:
    ask = await open_tool(databases=("postgres",), connections=1)
    for database in ("postgres", "test", "postgres", None):
        result = await ask("SELECT current_database() AS d", database)
        assert result.items[0].fields == {"d": database or "test"}
        assert result.scope["database"] == (database or "test")
    with pytest.raises(QueryRejected) as rejected:
        await ask("SELECT 1", "template1")
    assert rejected.value.reason == "SCHEMA_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM no_such_table", "UNKNOWN_TABLE"),
        ("SELECT no_such_column FROM numbers", "UNKNOWN_COLUMN"),
        # of information_schema, whose views must be named in full
        ("SELECT * FROM user_mapping_options", "UNKNOWN_TABLE"),
        ("SELECT * FROM _pg_foreign_servers", "UNKNOWN_TABLE"),
        ("SELECT n FROM numbers GROUP BY count(*)", "QUERY_FAILED"),
        ("SELECT 1 / (n - n) FROM numbers", "QUERY_FAILED"),
        ("SELECT 'x'::int", "QUERY_FAILED"),
        ("SHOW no_such_setting", "QUERY_FAILED"),
    ],
)
async def test_what_the_server_refuses_is_a_reason_and_the_session_goes_on(
    ask, sql: str, reason: str
) -> None:
    pid = (await ask.fields("SELECT pg_backend_pid() AS p"))[0]["p"]
    with pytest.raises(QueryRejected) as rejected:
        await ask(sql)
    assert rejected.value.reason == reason
    assert await ask.fields("SELECT pg_backend_pid() AS p") == [{"p": pid}]


async def test_the_session_is_read_only_and_names_mean_what_the_settings_say(ask, server) -> None:
    [row] = await ask.fields(
        "SELECT setting AS s FROM pg_settings WHERE name = 'transaction_read_only'"
    )
    assert row == {"s": "on"}
    [path] = await ask.fields("SHOW search_path")
    assert path["search_path"].startswith("pg_catalog, ")
    assert path["search_path"].endswith("pg_temp")


async def test_a_schema_may_have_any_name_and_ends_no_statement(open_tool, server) -> None:
    """The names stand in the session's own SET: a quote in one is doubled."""
    ask = await open_tool(schemas=(server.schema, 'a"; DROP TABLE numbers; --', "pg_catalog"))
    assert await ask.fields("SELECT count(*) AS c FROM numbers") == [{"c": 1000}]
    only = await open_tool(schemas=("pg_catalog",))
    assert await only.fields("SELECT 1 AS one") == [{"one": 1}]


async def test_functions_of_the_schema_do_not_stand_in_for_the_servers(ask, server) -> None:
    """A better match in the schema would be called where names are not qualified."""
    await server.run(
        "CREATE TABLE words (w varchar(10))",
        "INSERT INTO words VALUES ('Abc')",
        "CREATE FUNCTION lower(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'hijacked' $$",
    )
    assert await server.value("SELECT lower(w) FROM words") == "hijacked"
    assert await ask.fields("SELECT lower(w) AS l FROM words") == [{"l": "abc"}]


async def test_the_plugin_keeps_the_contract_of_evidence_tools(server, reader) -> None:
    await server.run(
        "CREATE TABLE 订单 (id int, 备注 text)",
        "INSERT INTO 订单 SELECT n, repeat('超时', 500) FROM numbers",
        f"GRANT SELECT ON 订单 TO {reader}",
    )
    settings = PostgresqlSettings(
        url=server.as_user(reader, "s3cr3t"), schemas=(server.schema, *SERVER_SCHEMAS)
    )
    gone = settings.model_copy(
        update={"url": SecretStr("postgresql://reader:s3cr3t@127.0.0.1:9/shop")}
    )

    async def is_working() -> bool:
        running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE "
        return (
            await server.value(
                f"{running} '%numbers%numbers%numbers%numbers%' AND usename = '{reader}'"
            )
            > 0
        )

    report = await check_evidence_tool(
        PostgresqlTool(settings),
        requests=[
            {"sql": "SELECT * FROM 订单"},
            {"sql": "SHOW server_version"},
            {"sql": "SELECT n FROM numbers WHERE n < 3", "database": "test"},
        ],
        empty_request={"sql": "SELECT n FROM numbers WHERE n < 0"},
        rejected_requests=[
            {"sql": "DROP TABLE numbers"},
            {"sql": "SELECT 1", "database": "template1"},
            {"sql": ""},
            {"sql": "SELECT 1", "unknown": 1},
        ],
        large_request={"sql": "SELECT 备注, n FROM 订单, numbers WHERE n < 100"},
        slow_request={"sql": "SELECT count(*) FROM numbers a, numbers b, numbers c, numbers d"},
        is_working=is_working,
        unavailable_tool=PostgresqlTool(gone),
        settings=settings,
        secrets=["s3cr3t"],
    )
    assert report.not_run == ("paging",)  # SQL has its own LIMIT
