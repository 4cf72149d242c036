"""Settings and URL: every mistake is two clear lines, and none of them shows the password."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from diagnosis.errors import SourceError
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.tool import MysqlTool
from diagnosis_mysql.url import parse_url


def test_a_url_is_taken_apart_and_decoded() -> None:
    address = parse_url(SecretStr("mysql://app%40x:p%40ss%2Fw%C3%B6rd@db.example:3307/shop"))
    assert (address.host, address.port, address.user) == ("db.example", 3307, "app@x")
    assert address.password.get_secret_value() == "p@ss/wörd"
    assert address.database == "shop"
    assert address.label == "db.example:3307"
    assert "wörd" not in repr(address)


def test_port_password_and_database_may_be_left_out() -> None:
    address = parse_url(SecretStr("mariadb://root@localhost"))
    assert (address.port, address.password.get_secret_value()) == (3306, "")
    assert address.database is None


def test_a_socket_stands_in_for_host_and_port() -> None:
    address = parse_url(SecretStr("mysql://root@localhost/x?unix_socket=/run/mysqld/mysqld.sock"))
    assert address.unix_socket == "/run/mysqld/mysqld.sock"
    assert address.label == "/run/mysqld/mysqld.sock"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "s3cr3t",
        "postgresql://u:s3cr3t@h/d",
        "mysql://u:s3cr3t@/d",
        "mysql://:s3cr3t@h/d",
        "mysql://u:s3cr3t@h:port/d",
        "mysql://u:s3cr3t@h:99999/d",
        "mysql://u:s3/cr3t@h/d",
        "mysql://u:12/s3cr3t@h/d",
        "mysql://u:s3#cr3t@h/d",
        "mysql://u:s3?cr3t@h/d",
        "mysql://u:s3cr3t%FF@h/d",
        "mysql://u:s3cr3t@h/d/e",
        "mysql://u:s3cr3t@h/d?ssl=1",
        "mysql://u:s3cr3t@h/d?unix_socket=",
        "mysql://u:s3cr3t@[::1/d",
    ],
)
def test_a_malformed_url_is_told_without_quoting_it(url: str) -> None:
    with pytest.raises(SourceError) as error:
        MysqlTool(MysqlSettings(url=SecretStr(url)))
    assert error.value.problem.startswith("The MySQL URL cannot be read: ")
    assert error.value.mend.startswith("Write mysql://")
    assert "\n" not in error.value.problem + error.value.mend
    for piece in ("s3cr3t", "cr3t", "s3/", "FF"):
        assert piece not in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": 5},
        {"urls": "mysql://u:s3cr3t@h/d"},
        {"row_limit": 0},
        {"timeout_s": float("nan")},
        {"schemas": ["mysql"]},
        {"schemas": ["MySQL"]},
        {"schemas": [""]},
    ],
)
def test_wrong_settings_are_refused_and_their_values_not_printed(wrong: dict[str, object]) -> None:
    given = {"url": "mysql://u:s3cr3t@h/d"} | wrong
    with pytest.raises(ValidationError) as error:
        MysqlSettings.model_validate(given)
    assert "s3cr3t" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "schemas"),
    [
        ("mysql://root@h/mysql", None),
        ("mysql://root@h/MySQL", None),
        ("mysql://root@h/shop", ("other",)),
    ],
)
def test_a_default_database_that_may_not_be_read_stops_the_start(
    url: str, schemas: tuple[str, ...] | None
) -> None:
    with pytest.raises(SourceError, match="may not be read"):
        MysqlTool(MysqlSettings(url=SecretStr(url), schemas=schemas))


def test_the_description_names_the_schemas_and_no_credentials() -> None:
    tool = MysqlTool(MysqlSettings(url=SecretStr("mysql://someone:s3cr3t@h/shop")))
    assert tool.describe() == (
        "Default database: shop. Readable schemas: shop, information_schema, performance_schema."
    )


def test_the_description_stays_within_one_kibibyte() -> None:
    schemas = tuple(f"数据库{number:04}" for number in range(200))
    tool = MysqlTool(MysqlSettings(url=SecretStr("mysql://u@h"), schemas=schemas))
    assert 900 < len(tool.describe().encode()) <= 1_024


def test_a_missing_or_wrong_certificate_file_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    for path in (tmp_path / "none.pem", empty):
        with pytest.raises(SourceError, match="cannot be read as certificates"):
            MysqlTool(MysqlSettings(url=SecretStr("mysql://u:s3cr3t@h/d"), tls_ca=path))
