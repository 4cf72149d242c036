"""What goes wrong with a server, in words for the log and for people; never in the server's."""

from __future__ import annotations

from enum import Enum

from diagnosis.errors import SourceError, SourceUnavailable
from diagnosis_prometheus.address import ServerAddress


class Trouble(Enum):
    """One way in which a server cannot be used: what is wrong with it, and how to mend it."""

    def __init__(self, problem: str, mend: str) -> None:
        self.problem = problem
        self.mend = mend

    UNREACHABLE = ("does not answer", "Start it, or correct {setting} of [plugins.prometheus].")
    TLS = (
        "cannot prove who it is: its certificate is not trusted, or it speaks no TLS",
        "Name the PEM file of its authority as tls_ca, or correct {setting}, in "
        "[plugins.prometheus].",
    )
    CREDENTIALS = (
        "refuses the credentials",
        "Correct the user and password in {setting}, or {token}, of [plugins.prometheus].",
    )
    NOT_FOUND = (
        "has no API at this path",
        "Give {setting} with the server's path prefix and without /api.",
    )
    REDIRECT = (
        "answers with a redirect, which is not followed",
        "Give {setting} the address that it leads to, with https and path prefix as they are.",
    )
    FAILING = ("answers with an error", "Look at the server's own log, and try again.")
    STRANGE = (
        "does not speak the HTTP API of {product}",
        "Correct {setting} of [plugins.prometheus].",
    )


class ServerTrouble(SourceUnavailable):
    """A server that cannot be used now.

    Attributes:
        address: which server.
        trouble: what is wrong with it.
        status: its HTTP status, or None.
    """

    def __init__(
        self, address: ServerAddress, trouble: Trouble, *, status: int | None = None
    ) -> None:
        what = trouble.problem.format(product=address.product)
        code = "" if status is None else f" (HTTP {status})"
        self.sentence = f"{address.product} at {address.label} {what}{code}."
        super().__init__(self.sentence)
        self.address = address
        self.trouble = trouble
        self.status = status

    def as_source_error(self) -> SourceError:
        """The same as an error for people."""
        mend = self.trouble.mend.format(
            setting=self.address.setting, token=self.address.token_setting
        )
        return SourceError(self.sentence, mend)
