"""Where a server is: the URL taken apart, with errors that never show any of it, and its TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from diagnosis.errors import SourceError


@dataclass(frozen=True, slots=True)
class UrlForm:
    """How the URLs of one kind of server look.

    Attributes:
        product: as people know it: MySQL.
        section: of the settings file: `plugins.mysql`.
        schemes: what may stand before `://`; the first is the one to recommend.
        default_port: where it listens unless told.
        database_length: characters of a database's name at most.
        socket_option: the option after `?` that names a unix socket.
        tls_option: the option after `?` that may ask for TLS, and the values that do and do not.
    """

    product: str
    section: str
    schemes: tuple[str, ...]
    default_port: int
    database_length: int
    socket_option: str
    tls_option: str = ""
    tls_values: frozenset[str] = frozenset()
    plain_values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One server, one account.

    Attributes:
        host, port: where it listens; the host is unused with a `unix_socket`.
        user: the account's name.
        password: masked wherever it is printed.
        database: the default one, or None.
        unix_socket: path of a socket (PostgreSQL: of its folder), or None.
        wants_tls: whether the URL itself asks for TLS.
        tls: what the server must prove, or None for an unencrypted connection.
    """

    host: str
    port: int
    user: str
    password: SecretStr
    database: str | None
    unix_socket: str | None
    wants_tls: bool = False
    tls: ssl.SSLContext | None = None

    @property
    def label(self) -> str:
        """`host:port` or the socket's path: what messages may show."""
        return self.unix_socket or f"{self.host}:{self.port}"


def server_address(
    form: UrlForm, url: SecretStr | None, *, tls: bool, tls_ca: Path | None
) -> ServerAddress:
    """The server of the settings, with its TLS.

    Raises:
        SourceError: there is no URL, it is malformed, or `tls_ca` cannot be used.
    """
    address = parse_url(form, url or SecretStr(""))
    if not tls and tls_ca is None and not address.wants_tls:
        return address
    try:
        context = ssl.create_default_context(cafile=tls_ca)
    except (OSError, ValueError):
        raise SourceError(
            f"The file tls_ca = {str(tls_ca)!r} of [{form.section}] cannot be read as "
            "certificates.",
            "Name a readable PEM file with the certificate of the server's authority.",
        ) from None
    return replace(address, tls=context)


def parse_url(form: UrlForm, url: SecretStr) -> ServerAddress:
    """Take a URL apart.

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
        raise _malformed(form, "its host, port, query or percent-encoding is not valid") from None
    if parts.scheme not in form.schemes:
        expected = " or ".join(f"{scheme}://" for scheme in form.schemes)
        raise _malformed(form, f"it does not start with {expected}")
    # an unencoded '/', '#' or '?' in a password moves its '@' behind the host
    if parts.fragment or "@" in parts.path or "@" in parts.query:
        raise _malformed(form, "a special character in it is not percent-encoded")
    if not parts.hostname:
        raise _malformed(form, "it names no host")
    if not user:
        raise _malformed(form, "it names no user")
    if "/" in database or "\0" in database or len(database) > form.database_length:
        raise _malformed(form, "the part after the host is not one database name")
    unix_socket, wants_tls = _options(form, options)
    return ServerAddress(
        host=parts.hostname,
        port=port or form.default_port,
        user=user,
        password=SecretStr(password),
        database=database or None,
        unix_socket=unix_socket,
        wants_tls=wants_tls,
    )


def _options(form: UrlForm, options: list[tuple[str, str]]) -> tuple[str | None, bool]:
    unix_socket, wants_tls = None, False
    for name, value in options:
        if name == form.socket_option and value:
            unix_socket = value
        elif name == form.tls_option and value in form.tls_values:
            wants_tls = True
        elif name != form.tls_option or value not in form.plain_values:
            known = f"{form.socket_option}=PATH"
            if form.tls_option:
                shown = "|".join(sorted(form.tls_values | form.plain_values))
                raise _malformed(
                    form,
                    f"of the options after '?' only {known} and {form.tls_option}={shown} "
                    "are known",
                )
            raise _malformed(form, f"of the options after '?' only {known} is known")
    return unix_socket, wants_tls


def _malformed(form: UrlForm, detail: str) -> SourceError:
    return SourceError(
        f"The {form.product} URL cannot be read: {detail}.",
        f"Write {form.schemes[0]}://USER:PASSWORD@HOST:{form.default_port}/DATABASE and "
        "percent-encode special characters in the parts (@ is %40, / is %2F, # is %23, : is %3A).",
    )
