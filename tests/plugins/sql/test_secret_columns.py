"""Secrets in tables: masked wherever they are selected, and never compared, in both languages."""

from __future__ import annotations

import pytest

from diagnosis.errors import QueryRejected
from diagnosis_mysql.language import LANGUAGE as MYSQL
from diagnosis_postgresql.language import LANGUAGE as POSTGRESQL
from diagnosis_sql.language import SqlLanguage
from diagnosis_sql.policy import QueryPolicy, VettedStatement

BOTH = pytest.mark.parametrize("language", [MYSQL, POSTGRESQL], ids=lambda each: each.name)


def vet(sql: str, language: SqlLanguage) -> VettedStatement:
    return QueryPolicy(language, ("shop",)).vet(sql, "shop" if language is MYSQL else None)


def reason(sql: str, language: SqlLanguage) -> str | None:
    try:
        vet(sql, language)
    except QueryRejected as rejected:
        return rejected.reason
    return None


@BOTH
@pytest.mark.parametrize(
    ("sql", "labels", "hidden"),
    [
        ("SELECT id, password FROM u", "id password", "password"),
        ("SELECT id, password AS p FROM u", "id p", "p"),
        ("SELECT u.api_key AS k, u.id FROM u", "k id", "k"),
        ("SELECT * FROM u", "id name password", "password"),
        ("SELECT u.*, o.id FROM u JOIN o ON o.u = u.id", "id apiKey id2", "apiKey"),
        ("SELECT CONCAT('x', password) AS c, id FROM u", "c id", "c"),
        ("SELECT SUBSTRING(password, 1, 1) AS s, ASCII(token) AS a FROM u", "s a", "s a"),
        ("SELECT LENGTH(password) FROM u", "n", "n"),
        ("SELECT UPPER(COALESCE(secret, '')) AS x, id FROM u", "x id", "x"),
        ("SELECT MAX(password) AS m, COUNT(*) AS c FROM u", "m c", "m"),
        ("SELECT p FROM (SELECT password AS p FROM u) AS x", "p", "p"),
        ("SELECT x.q FROM (SELECT MD5(password) AS q, id FROM u) AS x", "q", "q"),
        ("WITH x AS (SELECT password AS p, id FROM u) SELECT id, p AS y FROM x", "id y", "y"),
        ("WITH x (a, b) AS (SELECT id, password FROM u) SELECT b, a FROM x", "b a", "b"),
        ("SELECT * FROM (SELECT id, MD5(password) AS h FROM u) AS x", "id h", "h"),
        ("SELECT id, name FROM u UNION SELECT id, password FROM u", "id name", "name"),
        ("SELECT id, (SELECT password FROM u LIMIT 1) AS s FROM u", "id s", "s"),
        ("SELECT CASE WHEN id = 1 THEN password ELSE '' END AS c FROM u", "c", "c"),
        ("SELECT COUNT(password) AS c, COUNT(DISTINCT token) AS d FROM u", "c d", ""),
        ("SELECT id, password IS NULL AS e FROM u WHERE token IS NOT NULL", "id e", ""),
        ("SELECT token_count, tokens_used, password_changed_at FROM u", "a b c", ""),
        ("SELECT id FROM u WHERE name = 'password' ORDER BY token_count", "id", ""),
        ("SELECT data->>'$.password' AS v, data->>'$.name' AS n FROM u", "v n", "v"),
    ],
)
def test_what_a_query_shows_of_a_secret_is_hidden(
    language: SqlLanguage, sql: str, labels: str, hidden: str
) -> None:
    secrets = vet(sql, language).secrets
    found = [
        label for number, label in enumerate(labels.split()) if secrets.hides(number, label, "v")
    ]
    assert found == hidden.split()


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM u WHERE password LIKE 'a%'",
        "SELECT id FROM u WHERE SUBSTRING(password, 1, 1) = 'a'",
        "SELECT id FROM u WHERE id = 1 AND u.token > 'm'",
        "SELECT id FROM u WHERE password IN ('a', 'b')",
        "SELECT id FROM u WHERE 'a' = (SELECT password FROM u WHERE id = 1)",
        "SELECT id FROM u WHERE EXISTS (SELECT 1 FROM u AS v WHERE v.password BETWEEN 'a' AND 'b')",
        "SELECT id FROM u ORDER BY password",
        "SELECT COUNT(*) FROM u GROUP BY api_key",
        "SELECT COUNT(*) FROM u GROUP BY id HAVING MAX(password) > 'a'",
        "SELECT u.id FROM u JOIN v ON u.token = v.token",
        "SELECT u.id FROM u JOIN v USING (token)",
        "SELECT id, password > 'a' AS g FROM u",
        "SELECT CASE WHEN password LIKE 'a%' THEN 1 ELSE 0 END FROM u",
        "SELECT CASE password WHEN 'a' THEN 1 END FROM u",
        "SELECT p FROM (SELECT password AS p FROM u) AS x WHERE p > 'a'",
        "SELECT id FROM (SELECT id, MD5(password) AS h FROM u) AS x ORDER BY h",
        "WITH x AS (SELECT password AS p FROM u) SELECT COUNT(*) FROM x WHERE p < 'm'",
        "WITH x (a) AS (SELECT password FROM u) SELECT 1 FROM x WHERE a < 'm'",
        "WITH x (a, b) AS (SELECT * FROM u) SELECT b FROM x",
        "SELECT x.b FROM (SELECT * FROM u) AS x (a, b)",
        "SELECT id, name FROM t UNION SELECT * FROM u",
        "SELECT *, CONCAT(password, 'x') FROM u",
        "SELECT id FROM u WHERE data->>'$.token' = 'x'",
        "EXPLAIN SELECT id FROM u WHERE password = 'a'",
    ],
)
def test_nobody_can_ask_what_a_secret_is(language: SqlLanguage, sql: str) -> None:
    assert reason(sql, language) == "COLUMN_NOT_ALLOWED"


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, ROW_NUMBER() OVER (ORDER BY password) FROM u",
        "SELECT id, RANK() OVER (PARTITION BY id ORDER BY LENGTH(api_key) DESC) FROM u",
        "SELECT COUNT(*) OVER (PARTITION BY password) FROM u",
        "SELECT MAX(password) OVER (ORDER BY password) FROM u",
        "SELECT id, LAG(id) OVER w FROM u WINDOW w AS (ORDER BY token)",
        "SELECT p, ROW_NUMBER() OVER (ORDER BY p) FROM (SELECT password AS p FROM u) AS x",
    ],
)
def test_a_window_is_neither_ordered_nor_parted_by_a_secret(
    language: SqlLanguage, sql: str
) -> None:
    assert reason(sql, language) == "COLUMN_NOT_ALLOWED"


def test_an_aggregate_is_not_ordered_by_a_secret() -> None:
    ordered = "SELECT array_agg(id ORDER BY password) FROM u"
    assert reason(ordered, POSTGRESQL) == "COLUMN_NOT_ALLOWED"
    ordered = "SELECT GROUP_CONCAT(id ORDER BY password) FROM u"
    assert reason(ordered, MYSQL) == "COLUMN_NOT_ALLOWED"
    for language in (MYSQL, POSTGRESQL):
        assert reason("SELECT MAX(password) OVER (PARTITION BY id) FROM u", language) is None


@pytest.mark.parametrize(
    ("sql", "allowed"),
    [
        ("SELECT id FROM users x ORDER BY x", False),
        ("SELECT id FROM users x WHERE x = (SELECT y FROM users y LIMIT 1)", False),
        ("SELECT count(*) FROM users AS x GROUP BY x", False),
        ('SELECT x FROM users x WHERE to_jsonb(x) @> \'{"password":"a"}\'', False),
        ('SELECT id FROM users WHERE to_jsonb(users) @> \'{"password":"a"}\'', False),
        ("SELECT id FROM users x ORDER BY row_to_json(x)", False),
        ("SELECT x.id, y.id FROM users x JOIN users y ON x = y", False),
        ("SELECT x FROM users x", True),
        ("SELECT to_jsonb(x) FROM users x", True),
        ("SELECT count(x) FROM users x WHERE x IS NOT NULL", True),
        # a table may have a column of its own name
        ("SELECT status FROM status WHERE status = 'DOWN' ORDER BY status", True),
        ("SELECT status.status, count(*) FROM status GROUP BY status.status", True),
        ("WITH n AS (SELECT count(*) AS n FROM o) SELECT n FROM n WHERE n > 5 ORDER BY n", True),
        ("SELECT n FROM (SELECT count(*) AS n FROM o) AS n WHERE n > 5", True),
        ("SELECT x.x FROM users x WHERE x.x = 1 ORDER BY x.x", True),
    ],
)
def test_a_whole_row_is_selected_and_never_compared(sql: str, allowed: bool) -> None:
    assert reason(sql, POSTGRESQL) == (None if allowed else "COLUMN_NOT_ALLOWED")


def test_the_same_holds_for_json_functions_of_each_server() -> None:
    secrets = vet("SELECT JSON_EXTRACT(data, '$.a.api_key') AS v FROM u", MYSQL).secrets
    assert secrets.hides(0, "v", "x")
    secrets = vet("SELECT data #>> '{a,token}' AS v, data->'password' FROM u", POSTGRESQL).secrets
    assert secrets.hides(0, "v", "x")
    assert secrets.hides(1, "?column?", "x")
    sql = "SELECT id FROM u WHERE jsonb_extract_path_text(data, 'secret') = 'x'"
    assert reason(sql, POSTGRESQL) == "COLUMN_NOT_ALLOWED"


def test_numbers_of_an_ordinary_name_stay_and_what_was_computed_does_not() -> None:
    secrets = vet("SELECT token, LENGTH(token) FROM u", MYSQL).secrets
    assert not secrets.hides(0, "token", 3)
    assert secrets.hides(0, "token", "abc")
    assert not secrets.hides(0, "token", None)
    assert secrets.hides(1, "LENGTH(token)", 3)


@BOTH
def test_tables_of_one_shape_may_be_united_whole(language: SqlLanguage) -> None:
    sql = "SELECT * FROM orders_2023 UNION ALL SELECT * FROM orders_2024"
    assert reason(sql, language) is None
