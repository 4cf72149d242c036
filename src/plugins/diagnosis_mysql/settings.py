"""The plugin's settings: one server, what may be read from it, and how much."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

NEVER_READABLE = frozenset({"mysql"})
"""Schemas that hold accounts and password hashes."""

SERVER_SCHEMAS = ("information_schema", "performance_schema")
"""Read by default beside the URL's database: where a server describes itself."""


class MysqlSettings(BaseModel):
    """`[plugins.mysql]`. Without a URL the plugin brings no tool.

    Attributes:
        url: `mysql://user:password@host:3306/database`, parts percent-encoded; a socket instead
            of host and port: `mysql://user@localhost/database?unix_socket=/run/mysqld/mysqld.sock`.
        tls: whether the connection must be encrypted and the server prove its name.
        tls_ca: PEM file of the authority that signed the server's certificate; by default those
            the system trusts. Naming one turns `tls` on.
        schemas: the schemas that may be read, and no others; by default the URL's database,
            `information_schema` and `performance_schema`. `sys` where it is named, `mysql` never.
        row_limit: rows of one result at most.
        text_bytes: UTF-8 bytes that one text value keeps; the rest is cut with a mark. SHOW and
            EXPLAIN keep as much as the model can be shown, as one text is all they bring.
        timeout_s: seconds one statement may run on the server.
        connect_timeout_s: seconds until a server that does not answer counts as unreachable.
        connections: connections held at most; further calls wait.
        mend_unconfigured: how to give it a server, told where it has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    mend_unconfigured: ClassVar[str] = (
        "Set DIAGNOSIS_PLUGINS__MYSQL__URL, give --mysql URL, or set url under [plugins.mysql]."
    )

    url: SecretStr | None = None
    tls: bool = False
    tls_ca: Path | None = None
    schemas: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] | None = None
    row_limit: int = Field(default=200, ge=1, le=10_000)
    text_bytes: int = Field(default=4_096, ge=64)
    timeout_s: float = Field(default=10, gt=0, le=600, allow_inf_nan=False)
    connect_timeout_s: float = Field(default=5, gt=0, le=60, allow_inf_nan=False)
    connections: int = Field(default=4, ge=1, le=32)

    @field_validator("schemas")
    @classmethod
    def _none_that_holds_accounts(cls, schemas: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in schemas or ():
            if name.casefold() in NEVER_READABLE:
                raise ValueError(f"the schema {name!r} can never be read; remove it from the list")
        return schemas
