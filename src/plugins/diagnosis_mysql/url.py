"""Where the server is: the URL taken apart, with errors that never show any of it, and its TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from diagnosis.errors import SourceError
from diagnosis_mysql.settings import MysqlSettings

DEFAULT_PORT = 3306


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One server, one account.

    Attributes:
        host, port: where it listens; unused with a `unix_socket`.
        user: the account's name.
        password: masked wherever it is printed.
        database: the default one, or None.
        unix_socket: path of a socket, or None.
        tls: what the server must prove, or None for an unencrypted connection.
    """

    host: str
    port: int
    user: str
    password: SecretStr
    database: str | None
    unix_socket: str | None
    tls: ssl.SSLContext | None = None

    @property
    def label(self) -> str:
        """`host:port` or the socket's path: what messages may show."""
        return self.unix_socket or f"{self.host}:{self.port}"


def _malformed(detail: str) -> SourceError:
    return SourceError(
        f"The MySQL URL cannot be read: {detail}.",
        "Write mysql://USER:PASSWORD@HOST:3306/DATABASE and percent-encode special characters in "
        "the parts (@ is %40, / is %2F, # is %23, : is %3A).",
    )


def server_address(settings: MysqlSettings) -> ServerAddress:
    """The server of the settings, with its TLS.

    Raises:
        SourceError: there is no URL, it is malformed, or `tls_ca` cannot be used.
    """
    address = parse_url(settings.url or SecretStr(""))
    if not settings.tls and settings.tls_ca is None:
        return address
    try:
        context = ssl.create_default_context(cafile=settings.tls_ca)
    except (OSError, ValueError):
        raise SourceError(
            f"The file tls_ca = {str(settings.tls_ca)!r} of [plugins.mysql] cannot be read as "
            "certificates.",
            "Name a readable PEM file with the certificate of the server's authority.",
        ) from None
    return replace(address, tls=context)


def parse_url(url: SecretStr) -> ServerAddress:
    """Take a `mysql://` or `mariadb://` URL apart.

    Raises:
        SourceError: it is malformed. The message quotes nothing of it, since any part of a
            malformed URL may be a piece of the password.
    """
    text = url.get_secret_value().strip()
    try:
        parts = urlsplit(text)
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        user = unquote(parts.username or "", errors="strict")
        password = unquote(parts.password or "", errors="strict")
        database = unquote(parts.path.removeprefix("/"), errors="strict")
    except ValueError:
        raise _malformed("its host, port, query or percent-encoding is not valid") from None
    if parts.scheme not in {"mysql", "mariadb"}:
        raise _malformed("it does not start with mysql:// or mariadb://")
    # an unencoded '/', '#' or '?' in a password moves its '@' behind the host
    if parts.fragment or "@" in parts.path or "@" in parts.query:
        raise _malformed("a special character in it is not percent-encoded")
    if not parts.hostname:
        raise _malformed("it names no host")
    if not user:
        raise _malformed("it names no user")
    if "/" in database or len(database) > 64:
        raise _malformed("the part after the host is not one database name")
    unix_socket = None
    for name, value in options:
        if name != "unix_socket" or not value:
            raise _malformed("of the options after '?' only unix_socket=PATH is known")
        unix_socket = value
    return ServerAddress(
        host=parts.hostname,
        port=port or DEFAULT_PORT,
        user=user,
        password=SecretStr(password),
        database=database or None,
        unix_socket=unix_socket,
    )
