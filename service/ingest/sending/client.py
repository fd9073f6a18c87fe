"""The HTTP client of a run: retries, backs off, and tells errors of an input from errors that end the run.

The only module of `service` that imports httpx: ingest runs on the user's machine, never inside the server.
"""

import ipaddress
from urllib.parse import urlsplit

import httpx

from service.ingest.errors import CommandLineError, IngestError
from service.ingest.pause import Pause, backoff_s, retry_after_s
from service.ingest.sending.answers import ItemError, read_error

READ_TIMEOUT_S = 330.0
"""Slightly more than the server's own `request_timeout_s`."""
CONNECT_TIMEOUT_S = 10.0
MAX_ATTEMPTS = 4
"""Attempts of a request that fails while the server answers others, before the request counts as the cause."""
WAIT_STATUSES = frozenset({429, 503})
"""The server is busy: retried until the time to give up."""
PASSING_STATUSES = frozenset({408, 500, 502, 504})
"""The server or a proxy failed, because of this request or not."""
INPUT_STATUSES = frozenset({400, 409, 422})
"""One or several inputs are invalid. Any other status ends the run."""


JSON = {"content-type": "application/json"}


class RefusedError(Exception):
    """A request fails on every attempt; `error` says why, and its index which input is at fault."""

    def __init__(self, error: ItemError) -> None:
        super().__init__(error.message)
        self.error = error


class TooLargeError(RefusedError):
    """A request is too large for the server or a proxy."""


class Client:
    """Client of one server. httpx reads TLS and proxy settings from the environment (`SSL_CERT_FILE`, `HTTPS_PROXY`).

    Attributes:
        known_good: a request to it that was answered before; it tells a failing server from a failing request.
        fingerprint: of the model that must have made the answers; empty accepts any.
    """

    def __init__(self, url: str, key: str, pause: Pause, num_connections: int) -> None:
        """Connect to the server at `url`, with an API key unless it is empty.

        Raises:
            CommandLineError: `url` is not a URL, or has a password in it.
        """
        self.pause = pause
        self.path = ""
        self.known_good = b""
        self.fingerprint = ""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandLineError(f"--server {url}: expected http://HOST:PORT or https://HOST")
        if parts.username or parts.password:
            raise CommandLineError(
                "--server: every user of the machine can read a password on a command line; use --api-key-env"
            )
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=num_connections + 1, keepalive_expiry=20),
            trust_env=not _is_loopback(parts.hostname),
        )

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def models(self) -> bytes:
        """The body of `/v1/models`, once the server is ready.

        Raises:
            IngestError: the server does not become ready, or refuses.
        """
        return (await self._ask("GET", "/v1/models", b"", may_blame=False)).content

    async def embed(self, body: bytes) -> httpx.Response:
        """The answer to a request for vectors.

        Raises:
            RefusedError: the request fails on every attempt while the server answers others.
            IngestError: the server answers nothing, or with another model.
        """
        answer = await self._ask("POST", self.path, body, may_blame=True)
        made_by = answer.headers.get("x-model-fingerprint")
        if self.fingerprint and made_by not in (None, self.fingerprint):
            raise IngestError(
                f"the model has changed since the run began: its fingerprint was {self.fingerprint} and is {made_by}"
            )
        return answer

    async def ask(self, path: str, body: bytes) -> httpx.Response:
        """The answer to a question that makes no vector.

        Raises:
            RefusedError: the server refuses it.
            IngestError: the server answers nothing.
        """
        return await self._ask("POST", path, body, may_blame=False)

    async def until_healthy(self) -> None:
        """Wait until the server answers a request that it answered before, for instance after an engine's restart.

        Raises:
            IngestError: it takes too long.
        """
        if self.known_good:
            await self._ask("POST", self.path, self.known_good, may_blame=False)

    async def _ask(self, method: str, path: str, body: bytes, *, may_blame: bool) -> httpx.Response:
        """Retry until a 200. With `may_blame`, a request that keeps failing while others succeed is refused."""
        attempt = 0
        while True:
            try:
                async with self.pause.turn():
                    response = await self._http.request(method, path, content=body, headers=JSON if body else {})
            except httpx.TransportError as error:
                why = f"--server {self._http.base_url}: {type(error).__name__}: {error}"
                if may_blame and attempt + 1 >= MAX_ATTEMPTS and await self._is_healthy():
                    # A server that refuses a body may close the connection while it is being sent.
                    raise TooLargeError(ItemError("connection_lost", why)) from None
                self.pause.failed(backoff_s(attempt), why)
            else:
                if response.status_code == 200:
                    self.pause.succeeded()
                    return response
                is_tried = may_blame and attempt + 1 >= MAX_ATTEMPTS and response.status_code in PASSING_STATUSES
                self._fail(response, attempt, is_to_blame=is_tried and await self._is_healthy())
            attempt += 1

    def _fail(self, response: httpx.Response, attempt: int, *, is_to_blame: bool) -> None:
        """Back off if a retry may help.

        Raises:
            RefusedError: this request will always fail.
            IngestError: every request will fail.
        """
        status = response.status_code
        error = read_error(response.content, status)
        why = f"{status} {error.code}: {error.message}"
        if status == 413:
            raise TooLargeError(error)
        if status in INPUT_STATUSES or is_to_blame:
            raise RefusedError(error)
        if status not in WAIT_STATUSES | PASSING_STATUSES:
            raise IngestError(f"the server refuses: {why}")
        told_s = retry_after_s(response.headers)
        self.pause.failed(backoff_s(attempt) if told_s is None else told_s, why)

    async def _is_healthy(self) -> bool:
        """True if the server now answers the request that it answered before."""
        if not self.known_good:
            return False
        try:
            return (await self._http.post(self.path, content=self.known_good, headers=JSON)).status_code == 200
        except httpx.TransportError:
            return False


def _is_loopback(host: str) -> bool:
    """True for loopback, which needs no proxy."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
