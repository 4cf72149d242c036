"""The configured server: its sessions, and what is wrong with it in two sentences."""

from __future__ import annotations

from diagnosis.errors import SourceError
from diagnosis_mysql.session import CONNECT_FAILURES, Session, error_number
from diagnosis_mysql.settings import MysqlSettings
from diagnosis_mysql.url import server_address
from diagnosis_sql.pool import SessionPool
from diagnosis_sql.url import ServerAddress


def session_pool(address: ServerAddress, settings: MysqlSettings) -> SessionPool:
    """An empty pool of sessions on the server."""
    timeout_s = settings.connect_timeout_s

    async def connect(_database: str | None) -> Session:
        return await Session.open(address, timeout_s)

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


async def server_version(settings: MysqlSettings) -> str:
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
            f"MySQL at {where} does not answer.",
            "Check the host and port, or raise connect_timeout_s of [plugins.mysql].",
        ) from None
    except RuntimeError:
        raise SourceError(
            f"MySQL at {where} asks this user to log in in a way that needs a further package.",
            "Install cryptography (for caching_sha2_password) or pynacl (for client_ed25519).",
        ) from None
    except CONNECT_FAILURES as error:
        number = error_number(error)
    if number in {1045, 1698}:
        raise SourceError(
            f"MySQL at {where} refuses the user {address.user!r} or the password.",
            "Correct the user and password in the URL; special characters are percent-encoded.",
        )
    if number in {1044, 1049}:
        raise SourceError(
            f"MySQL at {where} has no database {address.database!r} that this user may read.",
            "Correct the database in the URL, or grant the user SELECT on it.",
        )
    raise SourceError(
        f"MySQL at {where} cannot be used (error {number}).",
        "Check that the server runs, listens there and accepts connections from this host"
        + (", and that its certificate fits tls_ca and the URL's host." if address.tls else "."),
    )
