"""The form of the URL of a MySQL or MariaDB server."""

from __future__ import annotations

from pydantic import SecretStr

from diagnosis_mysql.settings import MysqlSettings
from diagnosis_sql import url
from diagnosis_sql.url import ServerAddress

FORM = url.UrlForm(
    product="MySQL",
    section="plugins.mysql",
    schemes=("mysql", "mariadb"),
    default_port=3306,
    database_length=64,
    socket_option="unix_socket",
)


def server_address(settings: MysqlSettings) -> ServerAddress:
    """The server of the settings, with its TLS.

    Raises:
        SourceError: there is no URL, it is malformed, or `tls_ca` cannot be used.
    """
    return url.server_address(FORM, settings.url, tls=settings.tls, tls_ca=settings.tls_ca)


def parse_url(text: SecretStr) -> ServerAddress:
    """Take a `mysql://` or `mariadb://` URL apart.

    Raises:
        SourceError: it is malformed.
    """
    return url.parse_url(FORM, text)
