"""The plugin's settings: one server, what may be read from it, and how much."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

SERVER_SCHEMAS = ("pg_catalog", "information_schema")
"""Where a server describes itself; of pg_catalog a list of tables and views."""

Name = Annotated[str, Field(min_length=1, max_length=63)]


class PostgresqlSettings(BaseModel):
    """`[plugins.postgresql]`. Without a URL the plugin brings no tool.

    Attributes:
        url: `postgresql://user:password@host:5432/database`, parts percent-encoded;
            `?sslmode=verify-full` is `tls`; a socket's folder instead of the host:
            `postgresql://user@localhost/database?host=/run/postgresql`.
        tls: whether the connection must be encrypted and the server prove its name.
        tls_ca: PEM file of the authority that signed the server's certificate; by default those
            the system trusts. Naming one turns `tls` on.
        databases: the databases of the server that a call may name; by default the URL's.
        schemas: the schemas that may be read, and no others, in the order in which unqualified
            names are looked up.
        row_limit: rows of one result at most.
        text_bytes: UTF-8 bytes that one text value keeps; the rest is cut with a mark. SHOW and
            EXPLAIN keep as much as the model can be shown.
        timeout_s: seconds one statement may run on the server.
        connect_timeout_s: seconds until a server that does not answer counts as unreachable.
        connections: connections held at most; further calls wait.
        mend_unconfigured: how to give it a server, told where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    mend_unconfigured: ClassVar[str] = (
        "Set DIAGNOSIS_PLUGINS__POSTGRESQL__URL, give --postgresql URL, "
        "or set url under [plugins.postgresql]."
    )

    url: SecretStr | None = None
    tls: bool = False
    tls_ca: Path | None = None
    databases: tuple[Name, ...] | None = None
    schemas: tuple[Name, ...] = ("public", *SERVER_SCHEMAS)
    row_limit: int = Field(default=200, ge=1, le=10_000)
    text_bytes: int = Field(default=4_096, ge=64)
    timeout_s: float = Field(default=10, gt=0, le=600, allow_inf_nan=False)
    connect_timeout_s: float = Field(default=5, gt=0, le=60, allow_inf_nan=False)
    connections: int = Field(default=4, ge=1, le=32)

    @field_validator("schemas")
    @classmethod
    def _none_of_the_servers_own(cls, schemas: tuple[str, ...]) -> tuple[str, ...]:
        for name in schemas:
            if name.casefold().startswith("pg_") and name != "pg_catalog":
                raise ValueError(f"the schema {name!r} can never be read; remove it from the list")
        return schemas
