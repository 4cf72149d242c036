"""One bounded GET at a time: no proxies, no redirects, no more bytes than allowed."""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from pydantic_core import from_json

from diagnosis.plugin import QueryRejected, QueryRejection
from diagnosis_prometheus.address import ServerAddress
from diagnosis_prometheus.settings import PrometheusSettings
from diagnosis_prometheus.trouble import ServerTrouble, Trouble

_CONNECTIONS = 8
_OF_STATUS = {
    401: Trouble.CREDENTIALS,
    403: Trouble.CREDENTIALS,
    407: Trouble.CREDENTIALS,
    404: Trouble.NOT_FOUND,
    405: Trouble.NOT_FOUND,
    410: Trouble.NOT_FOUND,
}
_URL_TOO_LONG = {413, 414, 431}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: of HTTP.
        body: unpacked, at most the allowed bytes.
    """

    status: int
    body: bytes


class ApiClient:
    """Reads from one server. `open()` before the first `get`, `close()` after the last."""

    def __init__(self, address: ServerAddress, settings: PrometheusSettings) -> None:
        self.address = address
        self.limit_s = settings.timeout_s
        self._connect_s = settings.connect_timeout_s
        self._most_bytes = settings.response_bytes
        self._http: httpx.AsyncClient | None = None

    async def open(self) -> None:
        """Make ready; nothing is contacted yet."""
        address = self.address
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "User-Agent": "diagnosis-harness",
        }
        if address.token is not None:
            headers["Authorization"] = f"Bearer {address.token.get_secret_value()}"
        auth = None
        if address.user is not None and address.password is not None:
            auth = httpx.BasicAuth(address.user, address.password.get_secret_value())
        self._http = httpx.AsyncClient(
            headers=headers,
            auth=auth,
            verify=address.tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=False,
            follow_redirects=False,
            # the caller's clock bounds the whole, so that a server that drips is bounded too
            timeout=httpx.Timeout(None, connect=self._connect_s),
            limits=httpx.Limits(max_connections=_CONNECTIONS),
        )

    async def close(self) -> None:
        """Close every connection."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def get(self, path: str, params: Sequence[tuple[str, str]] = ()) -> Answer:
        """Ask once.

        Args:
            path: below the server's URL, without a slash before it.
            params: names and values of the query.

        Raises:
            ServerTrouble: no answer, none of this API, or one of HTTP that tells of trouble; not
                for 400, 422 and 503, with which this API answers a query.
            QueryRejected: RESULT_TOO_LARGE.
        """
        if self._http is None:
            raise RuntimeError("the client is not open")
        try:
            request = self._http.build_request(
                "GET", f"{self.address.base}/{path}", params=httpx.QueryParams(tuple(params))
            )
            response = await self._http.send(request, stream=True)
            try:
                self._check(response)
                body = await self._read(response)
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
            raise self._trouble_of(error) from None
        return Answer(response.status_code, body)

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if 300 <= status < 400:
            raise ServerTrouble(self.address, Trouble.REDIRECT, status=status)
        if status in _URL_TOO_LONG:
            raise QueryRejected(QueryRejection.QUERY_FAILED)
        if status not in {200, 400, 422, 503}:
            trouble = _OF_STATUS.get(status, Trouble.FAILING if status >= 429 else Trouble.STRANGE)
            raise ServerTrouble(self.address, trouble, status=status)

    async def _read(self, response: httpx.Response) -> bytes:
        """The body as it arrives, unpacked no further than the allowed bytes."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"identity", "gzip"}:
            raise ServerTrouble(self.address, Trouble.STRANGE)
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
        body = bytearray()
        async for chunk in response.aiter_raw():
            try:
                room = self._most_bytes + 1 - len(body)
                body += unpacker.decompress(chunk, room) if unpacker else chunk
            except zlib.error:
                raise ServerTrouble(self.address, Trouble.STRANGE) from None
            if len(body) > self._most_bytes:
                raise QueryRejected(QueryRejection.RESULT_TOO_LARGE)
        if unpacker is not None and not unpacker.eof:
            raise ServerTrouble(self.address, Trouble.STRANGE)
        return bytes(body)

    def _trouble_of(self, error: Exception) -> ServerTrouble:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLError):
                return ServerTrouble(self.address, Trouble.TLS)
            cause = cause.__cause__ or cause.__context__
        strange = isinstance(error, httpx.ProtocolError | httpx.InvalidURL | ValueError)
        # the client's own words for a server that hung up, maybe because it restarts
        gone = "disconnected" in str(error) or "closed connection" in str(error)
        strange = strange and not gone
        return ServerTrouble(self.address, Trouble.STRANGE if strange else Trouble.UNREACHABLE)


def parsed(address: ServerAddress, body: bytes) -> object:
    """Strict JSON: no NaN, no deep nesting, no invalid UTF-8.

    Raises:
        ServerTrouble: it is none.
    """
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise ServerTrouble(address, Trouble.STRANGE) from None
    return value
