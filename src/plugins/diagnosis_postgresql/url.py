"""The form of the URL of a PostgreSQL server."""

from __future__ import annotations

from diagnosis_postgresql.settings import PostgresqlSettings
from diagnosis_sql import url
from diagnosis_sql.url import ServerAddress

FORM = url.UrlForm(
    product="PostgreSQL",
    section="plugins.postgresql",
    schemes=("postgresql", "postgres"),
    default_port=5432,
    database_length=63,
    socket_option="host",
    tls_option="sslmode",
    tls_values=frozenset({"require", "verify-ca", "verify-full"}),
    plain_values=frozenset({"disable", "allow", "prefer"}),
)


def server_address(settings: PostgresqlSettings) -> ServerAddress:
    """The server of the settings, with its TLS.

    Raises:
        SourceError: there is no URL, it is malformed, or `tls_ca` cannot be used.
    """
    return url.server_address(FORM, settings.url, tls=settings.tls, tls_ca=settings.tls_ca)
