"""What the model is shown of secrets in tables: by the column's name, and by the value's shape."""

from __future__ import annotations

import json
import secrets
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr

from diagnosis.harness.tool_boundary import ToolCall
from diagnosis.testing import make_boundary, make_context
from diagnosis_mysql.session import connect_raw
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool
from diagnosis_mysql.url import parse_url
from diagnosis_postgresql.settings import SERVER_SCHEMAS, PostgresqlSettings
from diagnosis_postgresql.tool import PostgresqlTool

PLAIN = "correct horse battery"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
AWS = "AKIAIOSFODNN7EXAMPLE"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890\n-----END RSA PRIVATE KEY-----"
BCRYPT = "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"

TABLE = (
    "CREATE TABLE accounts (id INT, name VARCHAR(40), password VARCHAR(90), api_key VARCHAR(90), "
    "token_count INT, note TEXT)"
)
NOTES = {"jwt": f"session {JWT}", "aws": f"key {AWS} used", "pem": KEY}
ROW = f"INSERT INTO accounts VALUES ({{}}, '{{}}', '{BCRYPT}', '{PLAIN}', 7, '{{}}')"
EMPTY = "INSERT INTO accounts VALUES (9, 'Bob', NULL, '', 0, 'plain note')"
QUESTIONS = (
    "SELECT * FROM accounts ORDER BY id DESC",
    "SELECT id, password AS p, api_key AS k FROM accounts ORDER BY id",
    "SELECT CONCAT(name, ':', password, ':', api_key) AS c FROM accounts",
    "SELECT x.h FROM (SELECT UPPER(api_key) AS h FROM accounts) AS x",
    "SELECT name FROM accounts UNION ALL SELECT api_key FROM accounts",
    "SELECT note FROM accounts",
)


async def shown(tool: Any, sql: str) -> str:
    """The very text that a model would be given."""
    arguments = json.dumps({"previous_observation": None, "input": {"sql": sql}})
    call = ToolCall(tool_call_id="c", tool_name=tool.name, arguments=arguments, model_step=1)
    return (await make_boundary(tool).answer(make_context(), call)).text


async def check(tool: Any) -> None:
    await tool.open()
    for sql in QUESTIONS:
        text = await shown(tool, sql)
        assert json.loads(text)["evidence_status"] == "EVIDENCE_FOUND", text
        for secret in (PLAIN, PLAIN.upper(), BCRYPT, JWT, AWS, "MIIEow"):
            assert secret not in text, sql
        assert "[REDACTED:" in text
    whole = json.loads(await shown(tool, QUESTIONS[0]))
    assert whole["scope"]["masked"] == ["password", "api_key"]
    bob = whole["items"][0]
    assert (bob["password"], bob["api_key"], bob["token_count"]) == (None, "", 0)
    refused = json.loads(await shown(tool, "SELECT id FROM accounts WHERE password LIKE 'a%'"))
    assert (refused["error_code"], refused["reason"]) == ("QUERY_REJECTED", "COLUMN_NOT_ALLOWED")
    await tool.close()


@pytest.mark.service("mysql")
async def test_mysql(mysql_url: str) -> None:
    address = parse_url(SecretStr(mysql_url))
    schema = f"diagnosis_test_{secrets.token_hex(6)}"
    connection = await connect_raw(address, 5)
    cursor = connection.cursor()
    for statement in (f"CREATE DATABASE {schema} CHARACTER SET utf8mb4", f"USE {schema}", TABLE):
        await cursor.execute(statement)
    for number, (name, note) in enumerate(NOTES.items()):
        await cursor.execute(ROW.format(number, name, note.replace("\n", "\\n")))
    await cursor.execute(EMPTY)
    await cursor.execute("COMMIT")
    try:
        url = f"{mysql_url.rsplit('/', 1)[0]}/{schema}"
        await check(MysqlTool(MysqlSettings(url=SecretStr(url))))
    finally:
        await cursor.execute(f"DROP DATABASE {schema}")
        await connection.ensure_closed()


@pytest.mark.service("postgresql")
async def test_postgresql(postgresql_url: str) -> None:
    schema = f"diagnosis_test_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(postgresql_url)
    await connection.execute(f"CREATE SCHEMA {schema}; SET search_path = {schema}; {TABLE}")
    for number, (name, note) in enumerate(NOTES.items()):
        await connection.execute(ROW.format(number, name, note))
    await connection.execute(EMPTY)
    try:
        settings = PostgresqlSettings(
            url=SecretStr(postgresql_url), schemas=(schema, *SERVER_SCHEMAS)
        )
        await check(PostgresqlTool(settings))
    finally:
        await connection.execute(f"DROP SCHEMA {schema} CASCADE")
        await connection.close()
