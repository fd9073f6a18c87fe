"""The run's one HTTP client: asks, waits as it is told, asks again, and tells a run's end from an input's.

The one module of `service` that imports httpx: this program runs where the user is, never inside the server.
"""

import ipaddress
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from service.ingest.answers import Answer, ItemError, read_answer, read_refusal
from service.ingest.errors import CommandLineError, IngestError
from service.ingest.pause import Pause, retry_after_s

READ_TIMEOUT_S = 330.0
"""A little more than the server's own `request_timeout_s`."""
CONNECT_TIMEOUT_S = 10.0
MAX_ATTEMPTS = 4
"""Of a request that fails while another is answered, before it is taken for the request's own fault."""
WAIT_STATUSES = frozenset({429, 503})
"""The server cannot now. Tried for as long as patience lasts."""
PASSING_STATUSES = frozenset({408, 500, 502, 504})
"""The server, or a proxy before it, failed: because of this request, or of itself."""
INPUT_STATUSES = frozenset({400, 409, 422})
"""An input is at fault, or several. Every other status means that nothing would be taken."""


JSON = {"content-type": "application/json"}


class RefusedError(Exception):
    """A request fails whenever it is asked; `error` says why, and with an index which input is at fault."""

    def __init__(self, error: ItemError) -> None:
        super().__init__(error.message)
        self.error = error


class TooLargeError(RefusedError):
    """A request is larger than the server, or a proxy before it, takes."""


class Client:
    """One server. TLS and proxies as httpx takes them from the environment (`SSL_CERT_FILE`, `HTTPS_PROXY`).

    Attributes:
        pause: what it waits for.
        known_good: a request that was answered once: says later whether the server or a request is at fault.
        fingerprint: of the model that answers are to be made by; None takes any.
    """

    def __init__(self, url: str, key: str | None, pause: Pause, num_connections: int) -> None:
        """Ask the server at `url`, with an API key if there is one.

        Raises:
            CommandLineError: `url` is none, or has a password in it.
        """
        self.pause = pause
        self.known_good: bytes | None = None
        self.fingerprint: str | None = None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandLineError(f"--server {url}: expected http://HOST:PORT or https://HOST")
        if parts.username or parts.password:
            raise CommandLineError("--server: a password on a command line is seen by everybody; use --api-key-env")
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={} if key is None else {"authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=num_connections + 1, keepalive_expiry=20),
            trust_env=not _is_here(parts.hostname),
        )

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def models(self) -> bytes:
        """The body of `/v1/models`, as soon as the server is ready to answer.

        Raises:
            IngestError: it does not become so, or refuses.
        """
        return (await self._ask("GET", "/v1/models", None, may_blame=False)).content

    async def embed(self, body: bytes, num_inputs: int) -> Answer:
        """The answer to a request of so many inputs.

        Raises:
            RefusedError: it fails whenever it is asked, while others are answered.
            IngestError: nothing is taken, or another model answers.
        """
        answer = await self._ask("POST", "/v1/embeddings", body, may_blame=True)
        made_by = answer.headers.get("x-model-fingerprint")
        if self.fingerprint is not None and made_by not in (None, self.fingerprint):
            raise IngestError(f"the model is another one since the run began: {was(self.fingerprint, made_by)}")
        return read_answer(answer.content, num_inputs)

    async def until_well(self) -> None:
        """Wait until the server answers a request that it answered before: an engine that restarts takes a while.

        Raises:
            IngestError: it takes too long.
        """
        if self.known_good is not None:
            await self._ask("POST", "/v1/embeddings", self.known_good, may_blame=False)

    async def _ask(self, method: str, path: str, body: bytes | None, *, may_blame: bool) -> httpx.Response:
        """A 200, whenever it comes. `may_blame`: a request that keeps failing is at fault once another is answered."""
        attempt = 0
        while True:
            try:
                async with self.pause.turn():
                    response = await self._http.request(method, path, content=body, headers=JSON if body else {})
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
                if may_blame and attempt + 1 >= MAX_ATTEMPTS and await self._is_well():
                    # Who refuses a body may hang up while it is still being sent.
                    raise TooLargeError(ItemError("connection_lost", why)) from None
                self.pause.failed(attempt, None, why)
            else:
                if response.status_code == 200:
                    self.pause.succeeded()
                    return response
                is_tried = may_blame and attempt + 1 >= MAX_ATTEMPTS and response.status_code in PASSING_STATUSES
                self._fail(response, attempt, is_to_blame=is_tried and await self._is_well())
            attempt += 1

    def _fail(self, response: httpx.Response, attempt: int, *, is_to_blame: bool) -> None:
        """Wait where waiting helps.

        Raises:
            RefusedError: it does not, for this request.
            IngestError: it does not, for any.
        """
        status = response.status_code
        error = read_refusal(response.content, status)
        why = f"{status} {error.code}: {error.message}"
        if status == 413:
            raise TooLargeError(error)
        if status in INPUT_STATUSES or is_to_blame:
            raise RefusedError(error)
        if status not in WAIT_STATUSES | PASSING_STATUSES:
            raise IngestError(f"the server refuses: {why}")
        self.pause.failed(attempt, retry_after_s(response.headers), why)

    async def _is_well(self) -> bool:
        """Whether the server answers, at this moment, what it answered before."""
        if self.known_good is None:
            return False
        try:
            return (await self._http.post("/v1/embeddings", content=self.known_good, headers=JSON)).status_code == 200
        except httpx.TransportError:
            return False


def was(before: str, now: str) -> str:
    """That two fingerprints differ."""
    return f"its fingerprint was {before} and is {now}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine, for which no proxy is asked."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
