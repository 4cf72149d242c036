"""Where a server is: its URL taken apart, with errors that never show any of it, and its TLS."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from diagnosis.errors import SourceError
from diagnosis_prometheus.settings import PrometheusSettings

_SECTION = "[plugins.prometheus]"
# what no URL holds; urlsplit would drop some of it in silence
_NO_URL = re.compile(r"[\s\x00-\x1f\x7f\\]")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """One server, one account.

    Attributes:
        product: as people know it: Prometheus.
        setting: which one names it: url.
        base: the URL without credentials and without a slash at its end.
        label: host, port and path prefix: what messages may show.
        user, password: of basic authentication, or None.
        token: sent as a bearer token, or None.
        tls: what the server must prove, or None for an unencrypted connection.
    """

    product: str
    setting: str
    base: str
    label: str
    user: str | None = None
    password: SecretStr | None = None
    token: SecretStr | None = None
    tls: ssl.SSLContext | None = None

    @property
    def token_setting(self) -> str:
        """The setting of the token."""
        return "bearer_token" if self.setting == "url" else "alertmanager_bearer_token"


def prometheus_address(settings: PrometheusSettings) -> ServerAddress | None:
    """The configured Prometheus, or None.

    Raises:
        SourceError: its URL, its credentials or `tls_ca` cannot be used.
    """
    return _address("Prometheus", "url", settings.url, settings.bearer_token, settings.tls_ca)


def alertmanager_address(settings: PrometheusSettings) -> ServerAddress | None:
    """The configured Alertmanager, or None.

    Raises:
        SourceError: its URL, its credentials or `tls_ca` cannot be used.
    """
    return _address(
        "Alertmanager",
        "alertmanager_url",
        settings.alertmanager_url,
        settings.alertmanager_bearer_token,
        settings.tls_ca,
    )


def _address(
    product: str, setting: str, url: SecretStr | None, token: SecretStr | None, tls_ca: Path | None
) -> ServerAddress | None:
    if url is None:
        return None
    text = url.get_secret_value().strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _malformed(product, setting) from None
    if (
        _NO_URL.search(text)
        or parts.scheme not in {"http", "https"}
        or not host
        or port == 0
        or parts.query
        or parts.fragment
    ):
        raise _malformed(product, setting)
    user = unquote(parts.username) if parts.username else None
    if user is not None and token is not None:
        address = ServerAddress(product, setting, "", "")
        raise SourceError(
            f"The {product} server has a user in its URL and a token in {address.token_setting}.",
            f"Keep one of the two in {_SECTION}.",
        )
    _check_token(product, setting, token)
    place = f"[{host}]" if ":" in host else host
    label = (place if port is None else f"{place}:{port}") + parts.path.rstrip("/")
    return ServerAddress(
        product=product,
        setting=setting,
        base=f"{parts.scheme}://{label}",
        label=label,
        user=user,
        password=None if user is None else SecretStr(unquote(parts.password or "")),
        token=token,
        tls=_trust(tls_ca) if parts.scheme == "https" else None,
    )


def _check_token(product: str, setting: str, token: SecretStr | None) -> None:
    """A token goes into a header line, which holds visible ASCII only."""
    if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token.get_secret_value()):
        address = ServerAddress(product, setting, "", "")
        raise SourceError(
            f"The {address.token_setting} of {_SECTION} is empty or holds what no token has.",
            "Give the token alone: visible ASCII characters, without spaces or line ends.",
        )


def _trust(tls_ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=tls_ca)
    except (OSError, ValueError):
        raise SourceError(
            f"The file tls_ca = {str(tls_ca)!r} of {_SECTION} cannot be read as certificates.",
            "Name a readable PEM file with the certificate of the server's authority.",
        ) from None


def _malformed(product: str, setting: str) -> SourceError:
    # quotes nothing: any part of a malformed URL may be a piece of the password
    form = "https://user:password@host:9090/prefix"
    return SourceError(
        f"The {product} URL is malformed.",
        f"Write {setting} of {_SECTION} like {form}, special characters percent-encoded.",
    )
