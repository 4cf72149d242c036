"""What a call brings back from a real server: rows, types, scope, and exactly what was cut."""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path

import pytest
from pydantic import SecretStr

from diagnosis.errors import QueryRejected
from diagnosis.plugin import Truncation
from diagnosis_mysql.request import QueryMysqlRequest

pytestmark = pytest.mark.service("mysql")


async def test_rows_are_objects_and_the_scope_says_what_was_asked(ask, server) -> None:
    result = await ask("select n as 数, n * 1.5 x from numbers where n < 2 -- comment")
    assert [item.fields for item in result.items] == [{"数": 0, "x": "0.0"}, {"数": 1, "x": "1.5"}]
    assert result.scope.pop("time_zone")
    assert result.scope == {
        "database": server.schema,
        "sql": "SELECT `n` AS `数`, `n` * 1.5 AS `x` FROM `numbers` WHERE `n` < 2",
        "columns": {"数": "INT", "x": "DECIMAL"},
        "limit": 200,
    }
    assert (result.matched, result.truncated) == (2, None)


async def test_no_rows_still_tell_the_columns(ask) -> None:
    result = await ask("SELECT n FROM numbers WHERE n < 0")
    assert result.items == ()
    assert result.matched == 0
    assert result.scope["columns"] == {"n": "INT"}


async def test_every_type_of_value_comes_back_whole(ask, server) -> None:
    await server.rows(
        "CREATE TABLE kinds (big BIGINT UNSIGNED, money DECIMAL(30,2), whole DECIMAL(20,0), "
        "f DOUBLE, d DATE, dt DATETIME(6), ts TIMESTAMP NULL, t TIME(3), y YEAR, b BIT(9), "
        "bin VARBINARY(10), bl BLOB, txt TEXT, e ENUM('是','no'), s SET('a','b'), j JSON, "
        "nothing INT, l1 VARCHAR(10) CHARACTER SET latin1)"
    )
    await server.rows(
        "INSERT INTO kinds VALUES (18446744073709551615, 1234567890123456789012345678.01, 42, "
        "0.1, '2024-02-29', '2024-02-29 23:59:59.000001', '2024-01-01 00:00:00', '-12:30:00.5', "
        "2024, b'100000001', x'00ff', x'', '数据库连接池耗尽 🚨', '是', 'a,b', "
        "'{\"键\": [1, null]}', NULL, 'café')"
    )
    await server.rows("COMMIT")
    [row] = await ask.fields("SELECT * FROM kinds")
    assert row == {
        "big": 18446744073709551615,
        "money": "1234567890123456789012345678.01",
        "whole": 42,
        "f": 0.1,
        "d": "2024-02-29",
        "dt": "2024-02-29T23:59:59.000001",
        "ts": "2024-01-01T00:00:00",
        "t": "-12:30:00.500",
        "y": 2024,
        "b": 257,
        "bin": {"bytes": 2, "sha256": hashlib.sha256(b"\x00\xff").hexdigest()},
        "bl": {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()},
        "txt": "数据库连接池耗尽 🚨",
        "e": "是",
        "s": "a,b",
        "j": '{"键": [1, null]}',
        "nothing": None,
        "l1": "café",
    }


async def test_values_beyond_what_most_clients_can_hold(ask, server) -> None:
    await server.rows("SET SESSION sql_mode = ''")
    await server.rows(
        "CREATE TABLE odd (z DATE, zt DATETIME, ts TIMESTAMP NULL, t TIME, t2 TIME(6), g GEOMETRY, "
        "b BIT(64), f FLOAT, tiny DECIMAL(38,30), e ENUM('a'), blob_ MEDIUMBLOB)"
    )
    await server.rows(
        "INSERT INTO odd VALUES ('0000-00-00', '0000-00-00 00:00:00', NULL, '838:59:59', "
        "'-100:00:00.000001', ST_GeomFromText('POINT(1 2)'), b'1', 1.5, "
        "12345678.123456789012345678901234567891, 'none', REPEAT('x', 100000))"
    )
    await server.rows("COMMIT")
    point = await server.raw("SELECT g FROM odd")
    [row] = await ask.fields("SELECT * FROM odd")
    assert row == {
        "z": "0000-00-00",
        "zt": "0000-00-00T00:00:00",
        "ts": None,
        "t": "838:59:59",
        "t2": "-100:00:00.000001",
        "g": {"bytes": 25, "sha256": hashlib.sha256(point[0][0] or b"").hexdigest()},
        "b": 1,
        "f": 1.5,
        "tiny": "12345678.123456789012345678901234567891",
        "e": "",
        "blob_": {"bytes": 100_000, "sha256": hashlib.sha256(b"x" * 100_000).hexdigest()},
    }
    assert await ask.fields("SELECT ST_ASTEXT(g) AS w FROM odd") == [{"w": "POINT(1 2)"}]


async def test_literals_arrive_on_the_server_as_they_were_meant(ask) -> None:
    text = "quote ' double \" back \\ newline \n tab \t percent % 中文 🚨 /*! */ -- #"
    literal = text.replace("\\", "\\\\").replace("'", "''")
    assert await ask.fields(f"SELECT '{literal}' AS x") == [{"x": text}]


async def test_the_row_cap_is_exact(open_tool) -> None:
    ask = await open_tool(row_limit=10)
    exact = await ask("SELECT n FROM numbers WHERE n < 10")
    assert (len(exact.items), exact.matched, exact.truncated) == (10, 10, None)
    one_more = await ask("SELECT n FROM numbers WHERE n < 11 ORDER BY n")
    assert (len(one_more.items), one_more.matched) == (10, None)
    assert one_more.truncated == Truncation.ITEMS
    assert one_more.items[-1].fields == {"n": 9}
    own_limit = await ask("SELECT n FROM numbers LIMIT 50")
    assert (len(own_limit.items), own_limit.truncated) == (10, Truncation.ITEMS)


async def test_the_servers_row_limit_touches_no_subquery(open_tool) -> None:
    ask = await open_tool(row_limit=3)
    assert await ask.fields("SELECT COUNT(*) AS c FROM (SELECT * FROM numbers) AS x") == [
        {"c": 1000}
    ]
    assert await ask.fields("SELECT 1 AS c WHERE 999 IN (SELECT n FROM numbers)") == [{"c": 1}]
    assert await ask.fields(
        "WITH x AS (SELECT n FROM numbers UNION ALL SELECT n FROM numbers) "
        "SELECT SUM(n) AS c FROM x"
    ) == [{"c": 999_000}]
    union = await ask("SELECT n FROM numbers WHERE n > 997 UNION SELECT 0")
    assert union.matched == 3


async def test_the_byte_budget_stops_the_reading(ask) -> None:
    result = await ask("SELECT n, REPEAT('x', 1000) AS t FROM numbers", byte_budget=5_000)
    assert len(result.items) == 5
    assert (result.matched, result.truncated) == (None, Truncation.ITEMS)
    exact = await ask("SELECT REPEAT('x', 1000) AS t FROM numbers LIMIT 5", byte_budget=5_000)
    assert (exact.matched, exact.truncated) == (5, None)


async def test_a_giant_result_is_never_read_whole(ask, server) -> None:
    started = time.monotonic()
    result = await ask(
        "SELECT REPEAT('g', 100000) AS giant FROM numbers a, numbers b, numbers c LIMIT 1000000"
    )
    assert time.monotonic() - started < 5
    assert result.truncated == Truncation.ITEMS
    assert 3 < len(result.items) < 10
    assert await server.running("giant") == []


async def test_a_huge_text_is_cut_with_a_mark(ask, server) -> None:
    await server.rows("CREATE TABLE big (t LONGTEXT)")
    await server.rows("INSERT INTO big VALUES (REPEAT('中', 1000000))")
    await server.rows("COMMIT")
    [row] = await ask.fields("SELECT t FROM big")
    assert row["t"] == "中" * 1365 + "…[cut: 4095 of 3000000 bytes]"


async def test_show_keeps_as_much_of_its_one_text_as_can_be_shown(open_tool, server) -> None:
    columns = ", ".join(f"column_number_{n} INT COMMENT 'comment'" for n in range(100))
    await server.rows(f"CREATE TABLE wide ({columns})")
    ask = await open_tool(text_bytes=100)
    [row] = await ask.fields("SHOW CREATE TABLE wide")
    assert "column_number_99" in row["Create Table"]
    [status] = await ask.fields("SHOW ENGINE INNODB STATUS")
    assert "INNODB MONITOR OUTPUT" in status["Status"]


async def test_discovery(ask, server) -> None:
    tables = await ask.fields("SHOW TABLES")
    assert [list(row.values()) for row in tables] == [["numbers"]]
    assert (await ask.fields("DESCRIBE numbers"))[0]["Type"].startswith("int")
    assert {"Database": server.schema} in await ask.fields("SHOW DATABASES")
    explained = await ask.fields("EXPLAIN SELECT * FROM numbers WHERE n = 5")
    assert explained[0]["key"] == "PRIMARY"


async def test_a_call_may_name_another_allowed_database(ask, server) -> None:
    result = await ask("SELECT DATABASE() AS d", "information_schema")
    assert result.items[0].fields == {"d": "information_schema"}
    assert result.scope["database"] == "information_schema"
    assert await ask.fields("SELECT DATABASE() AS d") == [{"d": server.schema}]


async def test_without_a_default_database_one_must_be_named(open_tool, server) -> None:
    url = SecretStr(server.url().get_secret_value().rsplit("/", 1)[0])
    ask = await open_tool(url, schemas=(server.schema,))
    assert (await ask("SELECT COUNT(*) AS c FROM numbers", server.schema)).items[0].fields == {
        "c": 1000
    }
    with pytest.raises(QueryRejected) as rejected:
        await ask("SELECT * FROM numbers")
    assert rejected.value.reason == "SCHEMA_NOT_ALLOWED"
    assert await ask.fields(f"SELECT MAX(n) AS m FROM {server.schema}.numbers") == [{"m": 999}]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM no_such_table", "UNKNOWN_TABLE"),
        ("SELECT * FROM information_schema.no_such_table", "UNKNOWN_TABLE"),
        ("SELECT no_such_column FROM numbers", "UNKNOWN_COLUMN"),
        ("SELECT n FROM numbers GROUP BY COUNT(*)", "QUERY_FAILED"),
        ("SELECT n FROM numbers a, numbers b", "QUERY_FAILED"),
        ("SELECT n FROM numbers FOR SYSTEM_TIME ALL", "SYNTAX_ERROR"),
    ],
)
async def test_what_the_server_refuses_is_a_reason_and_the_session_goes_on(
    ask, server, sql: str, reason: str
) -> None:
    before = await server.connections()
    with pytest.raises(QueryRejected) as rejected:
        await ask(sql)
    assert rejected.value.reason == reason
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]
    assert await server.connections() == before


async def test_an_allowed_schema_that_does_not_exist(open_tool, server) -> None:
    ask = await open_tool(schemas=(server.schema, "diagnosis_test_missing"))
    with pytest.raises(QueryRejected) as rejected:
        await ask("SELECT 1", "diagnosis_test_missing")
    assert rejected.value.reason == "SCHEMA_NOT_ALLOWED"
    assert await ask.fields("SELECT 1 AS one") == [{"one": 1}]


async def test_a_row_keeps_its_identity_when_others_come_and_go(ask, server) -> None:
    sql = "SELECT n % 2 AS parity FROM numbers WHERE n BETWEEN 4 AND 7 ORDER BY n"
    first = [item.identity for item in (await ask(sql)).items]
    assert len(set(first)) == 4
    await server.rows("DELETE FROM numbers WHERE n = 4")
    await server.rows("COMMIT")
    again = [item.identity for item in (await ask(sql)).items]
    assert set(again) < set(first)


async def test_spacing_and_comments_make_no_new_scope(ask, server) -> None:
    def normal(sql: str, database: str | None = None) -> dict[str, object]:
        scope: dict[str, object] = ask.tool.normalise(QueryMysqlRequest(sql=sql, database=database))
        return scope

    assert normal("select  n from numbers") == normal("SELECT n\nFROM numbers; -- again")
    assert normal("SELECT n FROM numbers") == normal("SELECT n FROM numbers", server.schema)
    assert normal("SELECT 1") != normal("SELECT 1", "information_schema")
    assert normal("DROP TABLE x") == {"sql": "DROP TABLE x", "database": server.schema}


async def test_a_socket_works_as_well_as_a_port(open_tool, server) -> None:
    path = await server.value("SELECT @@socket")
    if not await asyncio.to_thread(Path(str(path)).is_socket):
        pytest.skip("the server's socket is not on this machine")
    url = server.url().get_secret_value() + f"?unix_socket={path}"
    ask = await open_tool(SecretStr(url))
    assert await ask.fields("SELECT COUNT(*) AS c FROM numbers") == [{"c": 1000}]


async def test_each_call_sees_what_was_committed_since(ask, server) -> None:
    assert await ask.fields("SELECT COUNT(*) AS c FROM numbers") == [{"c": 1000}]
    await server.rows("DELETE FROM numbers WHERE n < 10")
    await server.rows("COMMIT")
    assert await ask.fields("SELECT COUNT(*) AS c FROM numbers") == [{"c": 990}]
