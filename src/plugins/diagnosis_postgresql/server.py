"""The configured server: its sessions, and what is wrong with it in two sentences."""

from __future__ import annotations

import ssl

from diagnosis.errors import SourceError
from diagnosis_postgresql.session import CONNECT_FAILURES, Session, sqlstate
from diagnosis_postgresql.settings import SERVER_SCHEMAS, PostgresqlSettings
from diagnosis_postgresql.url import server_address
from diagnosis_sql.pool import SessionPool
from diagnosis_sql.url import ServerAddress

_WRONG_ACCOUNT = frozenset({"28P01", "28000"})
_NO_DATABASE = frozenset({"3D000", "42501"})


def session_pool(address: ServerAddress, settings: PostgresqlSettings) -> SessionPool:
    """An empty pool of sessions on the server."""
    timeout_s = settings.connect_timeout_s
    # pg_catalog stands first in every session's path; information_schema must be named, so that
    # the policy sees which of its views are meant
    schemas = [name for name in settings.schemas if name not in SERVER_SCHEMAS]

    async def connect(database: str | None) -> Session:
        return await Session.open(address, database, schemas, timeout_s)

    async def stop(session: Session) -> None:
        await session.stop(address, timeout_s)

    return SessionPool(
        address.label,
        connect=connect,
        stop=stop,
        failures=CONNECT_FAILURES,
        connections=settings.connections,
        begin_timeout_s=timeout_s,
    )


async def server_version(settings: PostgresqlSettings) -> str:
    """Connect once, close again, and tell the server's version and address.

    Raises:
        SourceError: as `check_server`.
    """
    address = server_address(settings)
    pool = session_pool(address, settings)
    version = await check_server(pool, address)
    await pool.close()
    return f"{version} at {address.label}"


async def check_server(pool: SessionPool, address: ServerAddress) -> str:
    """Connect and return the server's version.

    Raises:
        SourceError: with what is wrong and how to mend it; never a password.
    """
    where = address.label
    try:
        return (await pool.open(address.database)).server_version
    except TimeoutError:
        raise SourceError(
            f"PostgreSQL at {where} does not answer.",
            "Check the host and port, or raise connect_timeout_s of [plugins.postgresql].",
        ) from None
    except CONNECT_FAILURES as error:
        state = sqlstate(error)
        problem = "with TLS " if isinstance(error, ssl.SSLError | ConnectionError) else ""
        needs_tls = "encryption" in str(error)
    if needs_tls:
        raise SourceError(
            f"PostgreSQL at {where} takes this user over TLS only.",
            "Set tls = true, and tls_ca where the authority is your own, under "
            "[plugins.postgresql].",
        )
    if state in _WRONG_ACCOUNT:
        raise SourceError(
            f"PostgreSQL at {where} refuses the user {address.user!r} or the password.",
            "Correct the user and password in the URL (special characters are percent-encoded), "
            "and see that pg_hba.conf lets this user in.",
        )
    if state in _NO_DATABASE:
        raise SourceError(
            f"PostgreSQL at {where} has no database {address.database!r} that this user may read.",
            "Correct the database in the URL, or grant the user CONNECT on it.",
        )
    raise SourceError(
        f"PostgreSQL at {where} cannot be used{f' (error {state})' if state else ''}.",
        "Check that the server runs, listens there and accepts connections from this host"
        + (
            ", and that its certificate fits tls_ca and the URL's host."
            if address.tls and problem
            else "."
        ),
    )
