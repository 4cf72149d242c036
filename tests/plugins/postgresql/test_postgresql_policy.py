"""What may be asked of PostgreSQL: real questions pass and keep their meaning; harm does not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnosis.errors import QueryRejected
from diagnosis_postgresql.allowed import BEFORE_PARENTHESIS, FUNCTIONS, NEVER_WORDS
from diagnosis_postgresql.language import LANGUAGE
from diagnosis_sql.policy import QueryPolicy
from diagnosis_sql.sent_text import check_sent_text

POLICY = QueryPolicy(LANGUAGE, ("shop", "pg_catalog", "information_schema"))

TABLES = (
    "CREATE TYPE stage AS ENUM ('OPEN', 'PAID')",
    "CREATE TABLE orders (id int PRIMARY KEY, customer text, status text, amount numeric(10,2), "
    "created_at timestamptz, data jsonb, note text, tags text[], at stage, price float8)",
    'CREATE TABLE "Order" ("Key" int PRIMARY KEY, "select" text)',
    "CREATE VIEW open_orders AS SELECT id FROM orders WHERE status = 'OPEN'",
    "INSERT INTO orders VALUES (1, '李雷', 'OPEN', 12.50, '2024-05-01 10:00+00', "
    "'{\"a\": {\"b\": [1, 2]}, \"2\": \"two\"}', 'please update me', '{x,y}', 'OPEN', 2.5), "
    "(2, 'Ann', 'PAID', 3, '2024-05-02 11:30+00', '{}', NULL, '{}', 'PAID', -1)",
    "INSERT INTO \"Order\" VALUES (1, 'drop')",
)

# every one of these also runs on the real server, where it must bring what the original brings
ALLOWED = (
    "SELECT 1",
    "select * from orders ORDER BY id;",
    "SELECT ID, Customer FROM Orders ORDER BY 1",
    "SELECT id FROM shop.orders AS o WHERE o.status = 'DROP TABLE orders; DELETE FROM x'",
    "SELECT 'insert into t', 'it''s', E'a\\'b\\n', $$it's$$, $q$a $$ b$q$, 'a\\b', 'a'\n'b'",
    'SELECT 1 AS update, 2 AS "drop table", 3 AS "DELETE"',
    'SELECT "Key", "Order"."select" FROM "Order" WHERE "select" IS NOT NULL',
    "/* which /* nested */ orders? */ SELECT id FROM orders -- the open ones\n ORDER BY id",
    "SELECT replace(note, 'update', 'x'), trunc(amount), strpos(note, 'm') FROM orders",
    "SELECT count(*), count(DISTINCT customer), sum(amount), avg(DISTINCT id) FROM orders",
    "SELECT count(*) FILTER (WHERE amount > 5) AS big FROM orders",
    "SELECT status, count(*) FROM orders GROUP BY ROLLUP (status) HAVING count(*) > 0 ORDER BY 1",
    "SELECT status, id, count(*) FROM orders GROUP BY GROUPING SETS ((status), (id), ()) "
    "ORDER BY 1, 2",
    "SELECT string_agg(customer, '; ' ORDER BY id DESC), array_agg(id ORDER BY id) FROM orders",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders",
    "SELECT CASE status WHEN 'OPEN' THEN 1 ELSE 0 END, coalesce(note, customer) FROM orders",
    "SELECT amount::int, CAST(id AS numeric(8,2)), '{1}'::int[], 'OPEN'::stage FROM orders",
    "SELECT 'orders'::regclass::text, '5 days'::interval, 'NaN'::float8, '{1,2}'::int4[]",
    "SELECT now() - interval '5 min' < now(), interval '1 day 02:03:04', interval 'P1Y2M', "
    "interval '1' day, '2 hours'::interval * 2",
    "SELECT * FROM orders WHERE created_at >= timestamptz '2024-05-01 00:00:00+00' ORDER BY id",
    "SELECT created_at AT TIME ZONE 'Asia/Shanghai', date_trunc('hour', created_at), "
    "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'), extract(epoch FROM created_at), "
    "date_part('day', created_at), age(created_at, created_at) FROM orders ORDER BY id",
    "SELECT date '2024-02-29' + 1, make_interval(hours => 2), to_timestamp(1700000000)",
    "SELECT id, row_number() OVER (PARTITION BY status ORDER BY created_at DESC) FROM orders "
    "ORDER BY id",
    "SELECT id, lag(amount, 1) OVER w, sum(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) FROM orders WINDOW w AS (ORDER BY id) ORDER BY id",
    "WITH big AS MATERIALIZED (SELECT * FROM orders WHERE amount > 5) SELECT count(*) FROM big",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n",
    'SELECT id FROM orders UNION ALL SELECT "Key" FROM "Order" ORDER BY 1 LIMIT 5 OFFSET 1',
    "SELECT 1 UNION SELECT 2 EXCEPT SELECT 3 INTERSECT ALL SELECT 4 ORDER BY 1",
    "SELECT id FROM orders ORDER BY id FETCH FIRST 1 ROWS ONLY",
    "SELECT DISTINCT ON (status) status, id FROM orders ORDER BY status, id DESC NULLS LAST",
    "SELECT data->'a'->'b'->0, data->>'2', data->'a'->'b'->>-1, data #>> '{a,b,1}', data #> '{a}', "
    "data @> '{\"a\": {}}', data ? 'a', data ?| array['x', 'a'], data - 'a', data || '{\"z\": 1}' "
    "FROM orders ORDER BY id",
    "SELECT jsonb_path_query(data, '$.a.b[*] ? (@ > 1)'), jsonb_typeof(data), "
    "jsonb_build_object('k', id), data @? '$.a' FROM orders",
    "SELECT id, k FROM orders, jsonb_object_keys(data) AS k ORDER BY 1, 2",
    'SELECT x.a, x.b FROM jsonb_to_recordset(\'[{"a": 1, "b": "z"}]\') AS x(a int, b text)',
    "SELECT customer ~ '^A', customer !~ 'x', customer ~* 'a', customer ILIKE 'a%', note LIKE "
    "'%50!%' ESCAPE '!', customer SIMILAR TO '(A|B)%' FROM orders ORDER BY id",
    "SELECT * FROM orders WHERE id IN (SELECT id FROM open_orders) AND EXISTS (SELECT 1)",
    'SELECT o.id, p."Key" FROM orders o LEFT JOIN "Order" p ON o.id = p."Key" NATURAL JOIN '
    "open_orders",
    "SELECT o.id, l.n FROM orders o CROSS JOIN LATERAL (SELECT o.id + 1 AS n) AS l ORDER BY 1",
    "SELECT g.n FROM generate_series(1, 10, 3) AS g(n)",
    "SELECT * FROM unnest(ARRAY[1,2], ARRAY['a','b']) WITH ORDINALITY AS u(x, y, o)",
    "SELECT id, tags[1], tags[1:1], array_length(tags, 1), 'x' = ANY(tags), tags && ARRAY['y'], "
    "tags @> ARRAY['x'], cardinality(tags) FROM orders ORDER BY id",
    "SELECT ARRAY(SELECT id FROM orders ORDER BY id), 1 <> ALL (SELECT id FROM orders), 3 > SOME "
    "(ARRAY[1])",
    "SELECT (id, customer) = (1, 'x'), ROW(1, NULL) IS NOT NULL, id IS DISTINCT FROM NULL, id "
    "BETWEEN SYMMETRIC 3 AND 1, NOT id = 1, note IS NULL FROM orders ORDER BY id",
    "SELECT 7 / 2, 7 % 2, 2 ^ 3 ^ 2, -2 ^ 2, 5 # 3, ~5, 1 << 4, 6 & 3, 6 | 1, |/ 25.0, ||/ 27.0, "
    "x'1F', b'101', 1e3, .5, 'a' || 'b' || 1",
    'SELECT customer COLLATE "C" FROM orders ORDER BY customer COLLATE "C"',
    "SELECT substring(note FROM 2 FOR 3), substring(note from '[a-z]+'), position('e' IN note), "
    "trim(both 'p' from note), overlay(note placing 'X' from 1 for 2), left(note, 3) FROM orders "
    "ORDER BY id",
    "SELECT regexp_replace(note, 'e', 'E', 'g'), split_part(note, ' ', 2), md5(note) FROM orders",
    "SELECT '李雷', 客户 FROM (SELECT customer AS 客户 FROM orders) AS 表 ORDER BY 客户",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT * FROM pg_catalog.generate_series(1, 2) AS g",
    "TABLE orders",
    "SELECT v.a FROM (VALUES (1), (2)) AS v(a)",
    "SELECT row_to_json(o), to_jsonb(o) FROM orders o ORDER BY id",
    "SELECT current_user, session_user, user, current_database(), current_schema, "
    "current_date = current_date, current_timestamp(0) IS NULL, current_catalog, localtime IS NULL",
    "SELECT pid, now() - query_start AS running, state, wait_event_type, query FROM "
    "pg_stat_activity WHERE state = 'no such state' ORDER BY 2 DESC",
    "SELECT pid, pg_blocking_pids(pid) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids("
    "pid)) > 5",
    "SELECT locktype, mode, granted FROM pg_locks WHERE NOT granted AND pid < 0",
    "SELECT c.relname, pg_size_pretty(pg_total_relation_size(c.oid)) FROM pg_catalog.pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND n.nspname = "
    "'shop' ORDER BY 1",
    "SELECT relname, n_dead_tup, last_autovacuum FROM pg_stat_user_tables WHERE relid < 0",
    "SELECT application_name, state, pg_wal_lsn_diff(sent_lsn, replay_lsn) AS lag FROM "
    "pg_stat_replication",
    "SELECT name, setting, unit FROM pg_settings WHERE name IN ('max_connections', 'work_mem')",
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema "
    "= 'shop' ORDER BY 1, 2",
    "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = "
    "'orders'::regclass AND a.attnum > 0 ORDER BY a.attnum",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'shop' ORDER BY 1",
    "SELECT pg_get_viewdef('open_orders'::regclass), pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE conname = 'orders_pkey' AND connamespace = 'shop'::regnamespace",
    "SELECT * FROM orders TABLESAMPLE SYSTEM (100) ORDER BY id",
    "SHOW server_version",
    "SHOW max_connections;",
    "SHOW TIME ZONE",
    "EXPLAIN SELECT * FROM orders WHERE id = 1",
    "EXPLAIN (FORMAT JSON, VERBOSE, COSTS off) SELECT * FROM orders",
    "EXPLAIN (ANALYZE false, SETTINGS) WITH x AS (SELECT 1) SELECT * FROM x",
)

REFUSED = (
    ("SELECT 1; SELECT 2", "MULTIPLE_STATEMENTS"),
    ("SELECT 1; DROP TABLE orders", "MULTIPLE_STATEMENTS"),
    ("SHOW work_mem; SHOW port", "MULTIPLE_STATEMENTS"),
    ("EXPLAIN SELECT 1; DELETE FROM orders", "MULTIPLE_STATEMENTS"),
    ("SELEC 1", "SYNTAX_ERROR"),
    ("\\d orders", "SYNTAX_ERROR"),
    ("\\! id", "SYNTAX_ERROR"),
    ("SELECT FROM WHERE (", "SYNTAX_ERROR"),
    ("SELECT 'open", "SYNTAX_ERROR"),
    ("SELECT $x$ open", "SYNTAX_ERROR"),
    ("  ; ", "SYNTAX_ERROR"),
    ("SELECT 1 /* open", "SYNTAX_ERROR"),
    ("SHOW", "SYNTAX_ERROR"),
    ("INSERT INTO orders VALUES (1)", "STATEMENT_NOT_ALLOWED"),
    ("UPDATE orders SET status = 'x'", "STATEMENT_NOT_ALLOWED"),
    ("DELETE FROM orders RETURNING *", "STATEMENT_NOT_ALLOWED"),
    ("MERGE INTO orders USING x ON true WHEN MATCHED THEN DELETE", "STATEMENT_NOT_ALLOWED"),
    ("TRUNCATE orders", "STATEMENT_NOT_ALLOWED"),
    ("DROP TABLE orders", "STATEMENT_NOT_ALLOWED"),
    ("CREATE TEMP TABLE x AS SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x", "STATEMENT_NOT_ALLOWED"),
    ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "STATEMENT_NOT_ALLOWED"),
    ("WITH x AS (SELECT 1) UPDATE orders SET id = 1", "STATEMENT_NOT_ALLOWED"),
    ("SELECT * INTO copy FROM orders", "STATEMENT_NOT_ALLOWED"),
    ("SELECT * FROM orders FOR UPDATE", "STATEMENT_NOT_ALLOWED"),
    ("SELECT * FROM orders FOR SHARE NOWAIT", "STATEMENT_NOT_ALLOWED"),
    ("SELECT * FROM (SELECT * FROM orders FOR NO KEY UPDATE) x", "STATEMENT_NOT_ALLOWED"),
    ("COPY orders TO '/tmp/x'", "STATEMENT_NOT_ALLOWED"),
    ("COPY (SELECT 1) TO PROGRAM 'id'", "STATEMENT_NOT_ALLOWED"),
    ("DO $$ BEGIN PERFORM pg_sleep(5); END $$", "STATEMENT_NOT_ALLOWED"),
    ("CALL p()", "STATEMENT_NOT_ALLOWED"),
    ("LISTEN x", "STATEMENT_NOT_ALLOWED"),
    ("NOTIFY x", "STATEMENT_NOT_ALLOWED"),
    ("SET statement_timeout = 0", "STATEMENT_NOT_ALLOWED"),
    ("RESET ALL", "STATEMENT_NOT_ALLOWED"),
    ("BEGIN", "STATEMENT_NOT_ALLOWED"),
    ("COMMIT", "STATEMENT_NOT_ALLOWED"),
    ("PREPARE s AS SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("EXECUTE s", "STATEMENT_NOT_ALLOWED"),
    ("LOCK TABLE orders", "STATEMENT_NOT_ALLOWED"),
    ("VACUUM FULL", "STATEMENT_NOT_ALLOWED"),
    ("GRANT ALL ON orders TO public", "STATEMENT_NOT_ALLOWED"),
    ("LOAD 'x'", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN ANALYZE SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN (ANALYZE) SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN (BUFFERS, ANALYZE true) SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN DELETE FROM orders", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN EXECUTE s", "STATEMENT_NOT_ALLOWED"),
    ("EXPLAIN CREATE TABLE x AS SELECT 1", "STATEMENT_NOT_ALLOWED"),
    ("SELECT $1", "STATEMENT_NOT_ALLOWED"),
    ("SELECT U&'d\\0061t'", "STATEMENT_NOT_ALLOWED"),
    ("SHOW app.jwt_secret", "STATEMENT_NOT_ALLOWED"),
    ("SHOW primary_conninfo", "STATEMENT_NOT_ALLOWED"),
    ("SELECT pg_sleep(5)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_catalog.pg_sleep(5)", "FUNCTION_NOT_ALLOWED"),
    ('SELECT "pg_sleep"(5)', "FUNCTION_NOT_ALLOWED"),
    # column notation is a call
    ("SELECT (x.y).pg_sleep FROM (SELECT 5.0::float8 AS y) x", "FUNCTION_NOT_ALLOWED"),
    ("SELECT ('5'::float8).pg_sleep", "FUNCTION_NOT_ALLOWED"),
    ("SELECT (ARRAY['/etc/passwd'])[1].pg_read_file", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM orders ORDER BY pg_sleep(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM pg_sleep(5)", "FUNCTION_NOT_ALLOWED"),
    ("EXPLAIN SELECT pg_sleep(5)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_read_file('/etc/passwd')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM pg_ls_dir('/')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_stat_file('x')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT lo_import('/etc/passwd')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT lo_export(1, '/tmp/x')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM dblink('host=x', 'DROP TABLE y') AS t(a int)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_terminate_backend(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_cancel_backend(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_advisory_lock(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_try_advisory_xact_lock(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT set_config('statement_timeout', '0', false)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT current_setting('app.jwt_secret')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT nextval('s')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT setval('s', 1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT query_to_xml('DELETE FROM orders', true, true, '')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT table_to_xml('pg_authid', true, true, '')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT database_to_xml(true, true, '')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT ts_stat('SELECT 1')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_logical_emit_message(true, 'a', 'b')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_reload_conf()", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_stat_reset()", "FUNCTION_NOT_ALLOWED"),
    ("SELECT pg_switch_wal()", "FUNCTION_NOT_ALLOWED"),
    ("SELECT my_function(1)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT shop.lower('x')", "FUNCTION_NOT_ALLOWED"),
    ("SELECT shop.count(1) FILTER (WHERE true)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT shop.rank() OVER ()", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM shop.generate_series(1, 2)", "FUNCTION_NOT_ALLOWED"),
    ("SELECT * FROM pg_authid", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM PG_AuthID", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_catalog.pg_shadow", "SCHEMA_NOT_ALLOWED"),
    ('SELECT * FROM "pg_catalog"."pg_hba_file_rules"', "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_stats", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_statistic", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_user_mappings", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_subscription", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_largeobject", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_file_settings", "SCHEMA_NOT_ALLOWED"),
    ("TABLE pg_authid", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM information_schema.user_mapping_options", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM payroll.salaries", "SCHEMA_NOT_ALLOWED"),
    ('SELECT * FROM "Shop".orders', "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM pg_toast.pg_toast_1", "SCHEMA_NOT_ALLOWED"),
    ("SELECT * FROM other.shop.orders", "SCHEMA_NOT_ALLOWED"),
    ("SELECT payroll.salaries.x FROM orders", "SCHEMA_NOT_ALLOWED"),
    ("SELECT 'x'::payroll.kind", "SCHEMA_NOT_ALLOWED"),
    ("WITH x AS (SELECT * FROM pg_authid) SELECT * FROM x", "SCHEMA_NOT_ALLOWED"),
    ("SELECT 1 UNION SELECT 1 FROM pg_shadow", "SCHEMA_NOT_ALLOWED"),
    ("EXPLAIN SELECT * FROM pg_authid", "SCHEMA_NOT_ALLOWED"),
    ("SELECT o::text FROM orders o", "COLUMN_NOT_ALLOWED"),
    ("SELECT x.b FROM orders AS x (a, b)", "COLUMN_NOT_ALLOWED"),
    ("SELECT concat(o, '') FROM orders o", "COLUMN_NOT_ALLOWED"),
)


def reason(sql: str, policy: QueryPolicy = POLICY) -> str | None:
    try:
        policy.vet(sql)
    except QueryRejected as rejected:
        return rejected.reason
    return None


def test_the_table_is_large() -> None:
    assert min(len(set(ALLOWED)), len(set(REFUSED))) >= 40


@pytest.mark.parametrize("sql", ALLOWED)
def test_a_real_question_is_allowed(sql: str) -> None:
    assert reason(sql) is None


@pytest.mark.parametrize(("sql", "expected"), REFUSED, ids=lambda value: value[:60])
def test_what_could_do_harm_is_refused(sql: str, expected: str) -> None:
    assert reason(sql) == expected


@pytest.mark.service("postgresql")
async def test_every_allowed_question_keeps_its_meaning_on_the_server(server, open_tool) -> None:
    """The rendered statement brings the very rows of the one that was written."""
    await server.run(*TABLES)
    policy = QueryPolicy(LANGUAGE, (server.schema, "pg_catalog", "information_schema"))
    ask = await open_tool()
    for sql in (re.sub(r"\bshop\b", server.schema, sql) for sql in ALLOWED):
        sent = policy.vet(sql).sql
        assert policy.vet(sent).sql == sent, sql
        expected = await server.connection.fetch(sql)
        # as text: a NaN is not equal to itself
        assert repr(await server.connection.fetch(sent)) == repr(expected), sent
        result = await ask(sql)
        assert len(result.items) == min(len(expected), 200), sql


@pytest.mark.service("postgresql")
async def test_nothing_refused_reaches_the_server(server, open_tool, reader) -> None:
    """Not even to be parsed: the one session of the tool never begins a transaction."""
    ask = await open_tool(server.as_user(reader, "s3cr3t"), connections=1)
    seen = "SELECT query, xact_start, query_start FROM pg_stat_activity WHERE usename = $1"
    before = await server.connection.fetch(seen, reader)
    for sql, _ in REFUSED:
        with pytest.raises(QueryRejected):
            await ask(sql.replace("shop", server.schema))
    assert len(before) == 1
    assert await server.connection.fetch(seen, reader) == before


def test_only_rendered_text_is_sent_with_names_quoted_and_calls_qualified() -> None:
    sent = POLICY.vet("select  Lower(O.Id) /* x */ from Orders o where o.a=$$b'$$ -- y").sql
    assert sent == (
        'SELECT pg_catalog.lower("o"."id") FROM "orders" AS "o" WHERE "o"."a" = \'b\'\'\''
    )


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("SELECT 1; SELECT 2", "SYNTAX_ERROR"),
        ("SELECT 1 /* x */", "SYNTAX_ERROR"),
        ("SELECT 1 -- x", "SYNTAX_ERROR"),
        ("SELECT $$x$$", "SYNTAX_ERROR"),
        ("SELECT $1", "SYNTAX_ERROR"),
        ("SELECT 'a\x00b", "SYNTAX_ERROR"),
        ('SELECT ("x")."pg_sleep"', "FUNCTION_NOT_ALLOWED"),
        ('SELECT "x"[1]."pg_sleep"', "FUNCTION_NOT_ALLOWED"),
        ("SELECT pg_catalog.pg_sleep(1)", "FUNCTION_NOT_ALLOWED"),
        ('SELECT 1 INTO "x"', "STATEMENT_NOT_ALLOWED"),
        ("EXPLAIN ANALYZE SELECT 1", "STATEMENT_NOT_ALLOWED"),
        ('COPY "x" TO STDOUT', "STATEMENT_NOT_ALLOWED"),
    ],
)
def test_the_last_look_does_not_depend_on_the_tree(sent: str, expected: str) -> None:
    with pytest.raises(QueryRejected) as rejected:
        check_sent_text(sent, LANGUAGE)
    assert rejected.value.reason == expected


def test_no_word_is_both_allowed_and_never_needed() -> None:
    assert not NEVER_WORDS & (FUNCTIONS | BEFORE_PARENTHESIS)


@pytest.mark.service("postgresql")
async def test_every_listed_function_is_the_servers_and_none_changes_state(server) -> None:
    """Of the listed names, those this server has; volatile ones only compute or look."""
    harmless = {
        "clock_timestamp", "current_query", "gen_random_uuid", "random", "timeofday",
        "pg_blocking_pids", "pg_safe_snapshot_blocking_pids", "pg_partition_ancestors",
        "pg_partition_tree", "pg_sequence_last_value", "pg_xact_commit_timestamp",
        "pg_is_in_recovery", "pg_is_wal_replay_paused", "pg_current_wal_lsn",
        "pg_last_wal_receive_lsn", "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp",
        "pg_database_size", "pg_indexes_size", "pg_relation_size", "pg_table_size",
        "pg_tablespace_size", "pg_total_relation_size",
    }  # fmt: skip
    rows = await server.connection.fetch(
        "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace "
        "AND provolatile = 'v' AND upper(proname) = ANY($1::text[])",
        sorted(FUNCTIONS),
    )
    assert {row["proname"] for row in rows} <= harmless


@given(st.text(max_size=40).filter(lambda text: "\0" not in text))
def test_any_text_in_a_literal_stays_in_the_literal(text: str) -> None:
    sql = "SELECT '" + text.replace("'", "''") + "' AS x"
    assert reason(sql) is None
    sent = POLICY.vet(sql).sql
    assert sent == sql.replace(" AS x", ' AS "x"')


@given(st.text(alphabet="SELECT '\"\\/*$-#;@():=\n\x0babxU&e.1,[]", max_size=60))
def test_any_text_is_judged_and_judging_its_rendering_again_changes_nothing(text: str) -> None:
    try:
        sent = POLICY.vet(f"SELECT {text}").sql
    except QueryRejected:
        return
    assert POLICY.vet(sent).sql == sent
